"""Small language models as MMBench's second step and as judges, on replies that others labelled.

    make small-judge                       measures into docs/data/small_models.json
    python docs/small_models.py GOLDEN_FOLDER [--models NAME ...] [--sample N] [--seed N]

The models come inside packages and are served by llama.cpp, both in an environment of their own
(release/server_packages.py). Replies are kept in build/small_models.sqlite: a measurement that was
stopped goes on where it was. A set whose licence forbids a copy is read from the golden folder; the
figures of one that is not there are kept as they stand.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from measure_readers import labelled_choices, read_rows, write_choices  # noqa: E402
from release.server_packages import llama_server, make_environment, server_packages, small_models  # noqa: E402

from snellen import score  # noqa: E402
from snellen.analysis.parsing.labelled_replies import ParserAgreement  # noqa: E402
from snellen.analysis.parsing.parsing_quality import ReplyWithOption  # noqa: E402
from snellen.api.scored import Scored  # noqa: E402
from snellen.core.output import ParsedAnswer  # noqa: E402
from snellen.core.watchdog import guard_processes  # noqa: E402
from snellen.engine.servers.process import free_port, get_json  # noqa: E402
from snellen.extract.choice import parse_choice  # noqa: E402
from snellen.stats.intervals import wilson  # noqa: E402

FILE = Path(__file__).parent / "data" / "small_models.json"
STORE = ROOT / "build" / "small_models.sqlite"
SAMPLE, JUDGED, SEED = 100, 96, 39
MAX_TOKENS = 32
"""Of a verdict: a letter, a number or a sentence with one is wanted."""
_CONTEXT = 8192
_SLOTS = 2


class Figures(Struct, frozen=True):
    """How one reader's answers compare with the labels of a sample of replies."""

    task: str
    labelled_by: str
    reader: str
    population: int
    """Replies of which the sample was drawn."""
    replies: int
    with_answer: int
    """Labels that name an answer, or say that the reply is right."""
    read: int
    """Replies that the reader gave an answer, or called right."""
    correct: int
    agreeing: int

    @property
    def shares(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Precision, recall and agreement, as counts: how many of how many."""
        return (self.correct, self.read), (self.correct, self.with_answer), (self.agreeing, self.replies)


class Measurement(Struct, frozen=True):
    """All figures, with what they were measured with."""

    seed: int
    sample: int
    """Replies at most that each model read as second step, of each set."""
    judged: int
    """Replies at most that each model graded, of each benchmark."""
    max_tokens: int
    date: str
    packages: tuple[str, ...]
    figures: tuple[Figures, ...]


class SampledReplies(NamedTuple):
    """Replies of one system to be judged, and what they are scored with."""

    task: str
    labelled_by: str
    population: int
    benchmark: str
    replies: Path
    how: dict[str, Any]
    has_rules: bool = True
    """Whether there are rules that read replies without a judge."""
    asks_all: bool = False
    """Whether the judge is asked about every reply, also those that the rules read."""


@contextmanager
def served(program: Path, model: Path, name: str, log: Path) -> Iterator[str]:
    """The spec of a model behind llama-server, which runs as long as the block."""
    port = free_port()
    command = [program, "-m", model, "--alias", name, "--host", "127.0.0.1", "--port", port]
    command += ["--ctx-size", _CONTEXT, "--parallel", _SLOTS, "--threads", 1, "--seed", 0]
    # One thread: several wait for each other by spinning, which on a busy machine takes seconds a token.
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        watchdog = guard_processes([process.pid], 10.0)
        try:
            base = f"http://127.0.0.1:{port}/v1"
            while (get_json(base, "/health") or {}).get("status") != "ok":
                if process.poll() is not None:
                    raise SystemExit(f"llama-server ended before it was ready; its log is {log}")
                time.sleep(0.5)
            options = f"base_url={base},concurrency={_SLOTS},body.max_tokens={MAX_TOKENS},timeout=600"
            yield f"llamacpp/{name}:{options}"
        finally:
            process.terminate()
            process.wait()
            watchdog.communicate(b"ended\n")


def second_step(golden: Path, spec: str, name: str, sample: int, seed: int) -> Iterator[Figures]:
    """MMBench's two steps: the rules on all replies, the model on a sample of those that they leave,
    and both together, with the model's part scaled to all that the rules leave."""
    task = "MMBench's two steps"
    for labelled_by, replies in labelled_choices(golden).items():
        everything = list(replies)
        left = [one for one in everything if not _read_by_rules(one)]
        read = [one for one in everything if _read_by_rules(one)]
        right = sum(_read_by_rules(one) == one.label for one in read)
        without = sum(one.label is None for one in left)
        meaning = sum(one.label is not None for one in everything)
        count = len(everything)
        rules = Figures(task, labelled_by, "rules", count, count, meaning, len(read), right, right + without)
        drawn = random.Random(seed).sample(left, min(sample, len(left)))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labelled.csv"
            write_choices(path, drawn)
            scored = score(str(path), extractor=spec, labels={"answer": "meant"}, store=STORE)
        own = _figures(task, labelled_by, name, len(left), _combined(scored))
        yield rules
        yield own
        scale = len(left) / len(drawn)
        yield Figures(
            task,
            labelled_by,
            f"rules, then {name}",
            count,
            count,
            meaning,
            rules.read + round(own.read * scale),
            rules.correct + round(own.correct * scale),
            right + round(own.agreeing * scale),
        )


def judged(golden: Path, spec: str, name: str, sample: int, seed: int) -> Iterator[Figures]:
    """Three graded benchmarks with the model as their judge, and the rules where there are any."""
    with tempfile.TemporaryDirectory() as folder:
        for _, parts in groupby(_to_be_judged(golden, Path(folder), sample, seed), lambda part: part.task):
            tables: dict[str, list[Figures]] = {}
            for part in parts:
                for reader, row in _readings(part, spec, name):
                    found = _figures(part.task, part.labelled_by, reader, part.population, row)
                    tables.setdefault(reader, []).append(found)
            yield from map(_sum, tables.values())


def _to_be_judged(golden: Path, folder: Path, sample: int, seed: int) -> Iterator[SampledReplies]:
    home = golden / "mathvista_testmini"
    data = {"data": home / "problems_testmini.jsonl.gz", "columns": {"prediction": "response"}}
    files = sorted(set(home.glob("*.jsonl.gz")) - {data["data"]})
    files = [file for file in files if "response" in next(read_rows(file))]
    for file in files:
        rows = _drawn(read_rows(file), file.name, seed, sample // len(files))
        path = _write_rows(folder / f"mathvista-{file.name.split('.')[0]}.jsonl", rows)
        how = {**data, "labels": {"right": "true_false"}}
        yield SampledReplies("MathVista", "GPT-4's extraction", 1000 * len(files), "mathvista", path, how)
    home = golden / "logicvista"
    every = list(read_rows(home / "model_answers.jsonl.gz"))
    models = sorted({row["model"] for row in every})
    for model in models:
        of_model = [row for row in every if row["model"] == model]
        rows = _drawn(of_model, model, seed, sample // len(models))
        path = _write_rows(folder / f"logicvista-{model.replace('/', '-')}.jsonl", rows)
        how = {"data": home / "questions.jsonl.gz", "columns": {"prediction": "raw"}, "labels": {"answer": "extracted"}}
        yield SampledReplies("LogicVista", "GPT-4's letters", len(every), "logicvista", path, how, asks_all=True)
    home = golden / "mmvet_llava15"
    files = sorted(home.glob("llava-v1.5-*.jsonl"))
    for file in files:
        rows = _drawn(read_rows(file), file.name, seed, sample // len(files))
        graded = [{**row, "gpt4": row["grade_1run"][0]} for row in rows]
        path = _write_rows(folder / f"mmvet-{file.name}", graded)
        how = {"labels": {"right": "gpt4"}}
        yield SampledReplies(
            "MM-Vet", "GPT-4's grades, right from 0.5", 218 * len(files), "mm-vet", path, how, False, True
        )


def _readings(part: SampledReplies, spec: str, name: str) -> Iterator[tuple[str, ParserAgreement]]:
    """The rules on all replies of a part, where the benchmark has rules; the judge on those that it was
    asked about; and both together. Rows of several kinds of question are yielded each."""
    by_judge = score(part.benchmark, part.replies, judges=[spec], store=STORE, **part.how).readings
    assert by_judge is not None
    own = [row for row in by_judge.by_parser if row.parser == name]
    others = [row for row in by_judge.by_parser if row.parser != name]
    # Without a reply that the rules leave, theirs are the only rows.
    together = [row for row in others if ", then " in row.parser] or others
    yield from ((name, row) for row in own)
    if part.has_rules:
        by_rules = score(part.benchmark, part.replies, judges=(), store=STORE, **part.how).readings
        assert by_rules is not None
        yield from (("rules", row) for row in by_rules.by_parser)
        if not part.asks_all:
            yield from ((f"rules, then {name}", row) for row in together)


def _read_by_rules(reply: ReplyWithOption) -> str | None:
    answer = parse_choice(reply.text, reply.options)
    return answer.value if isinstance(answer, ParsedAnswer) else None


def _combined(scored: Scored) -> ParserAgreement:
    assert scored.readings is not None
    return scored.readings.by_parser[-1]


def _figures(task: str, labelled_by: str, reader: str, population: int, row: ParserAgreement) -> Figures:
    counts = (row.replies, row.with_answer, row.parsed, row.correct, row.agreeing)
    return Figures(task, labelled_by, reader, population, *counts)


def _sum(ones: Sequence[Figures]) -> Figures:
    """The figures of several systems together."""
    first = ones[0]
    names = ("replies", "with_answer", "read", "correct", "agreeing")
    sums = (sum(getattr(one, name) for one in ones) for name in names)
    return Figures(first.task, first.labelled_by, first.reader, first.population, *sums)


def _drawn(rows: Iterable[dict[str, Any]], name: str, seed: int, count: int) -> list[dict[str, Any]]:
    """Up to so many rows, of each system at random; of a larger sample they are the first ones."""
    shuffled = list(rows)
    random.Random(f"{seed} {name}").shuffle(shuffled)
    return shuffled[: max(1, count)]


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def measure(golden: Path, names: Sequence[str], sample: int, to_judge: int, seed: int) -> None:
    """Measure the named models, each behind a server of its own, and write each figure as soon as it is
    there. Figures of other models, and of sets that the golden folder does not have, stay as they were."""
    home = make_environment("llamacpp")
    models = small_models(home)
    for name in names:
        log = STORE.with_name(f"llama-server-{name}.log")
        with served(llama_server(home), models[name], name, log) as spec:
            for found in (judged(golden, spec, name, to_judge, seed), second_step(golden, spec, name, sample, seed)):
                for one in found:
                    print(f"{one.task}, {one.labelled_by}, {one.reader}: {_cells(one)}", flush=True)
                    _keep(one, sample, to_judge, seed)


def _keep(figures: Figures, sample: int, to_judge: int, seed: int) -> None:
    """Write one figure among those that are there."""
    kept = msgspec.json.decode(FILE.read_bytes(), type=Measurement).figures if FILE.is_file() else ()
    found = {(one.task, one.labelled_by, one.reader): one for one in (*kept, figures)}
    entry = server_packages()["llamacpp"]
    packages = (*entry["packages"], *(one for one in entry["no_deps"] if "-part" not in one))
    everything = tuple(found[key] for key in sorted(found))
    measured = Measurement(seed, sample, to_judge, MAX_TOKENS, date.today().isoformat(), packages, everything)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")


def _cells(one: Figures) -> str:
    return " | ".join(_percent(count, total) for count, total in one.shares)


def _percent(count: int, total: int) -> str:
    if not total:
        return "–"
    interval = wilson(count, total)
    return f"{100 * count / total:.1f} % ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def section() -> str:
    """The part of docs/evidence.md."""
    measured = msgspec.json.decode(FILE.read_bytes(), type=Measurement)
    packages = ", ".join(f"`{package}`" for package in measured.packages)
    head = _HEAD.format(**{**msgspec.structs.asdict(measured), "packages": packages})
    lines = [*head.splitlines(), "", "| task | labels | reader | of | replies | precision | recall | agreement |"]
    lines.append("| --- | --- | --- | ---: | ---: | --- | --- | --- |")
    order = {"rules": 0}
    figures = sorted(
        measured.figures, key=lambda one: (one.task, one.labelled_by, order.get(one.reader, 1), one.reader)
    )
    lines += [
        f"| {one.task} | {one.labelled_by} | {one.reader} | {one.population:,} | {one.replies:,} | {_cells(one)} |"
        for one in figures
    ]
    return "\n".join(lines) + "\n"


_HEAD = """## A language model as reader and judge

What small open language models add where the rules find no answer, and how they grade, measured and
not assumed. They are the smallest that packages carry, a quantised SmolLM2 of 135 million parameters
and a Gemma 3 of 270 million that was not tuned to instructions, so that these figures are a floor:
nobody should let either grade. `make small-judge` repeats them on a machine without GPU; packages:
{packages}. Measured on {date}.

*MMBench's two steps*: the rules read all replies of two labelled sets; a sample of those that they
leave (up to {sample}, seed {seed}) goes to the model in the words of MMBench's Figure 21, and its
share of right answers is carried over to all that the rules leave. *Judges*: up to {judged} replies of
each benchmark, spread over its systems, graded by the judge's prompt of that benchmark with at most
{max_tokens} tokens for a verdict. Precision: of the replies that the reader gave an answer (or called
right), those that the label gives the same. Recall: of the labels with an answer (or right), those
that the reader found. Agreement: reader and label say the same, no answer included. In parentheses
are Wilson's 95 % intervals over replies; for the two steps together they take the model's part as
counted, and are too narrow. The labels are those of other models (GPT-3.5, GPT-4) or of a parser, no
person's."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("golden", type=Path)
    parser.add_argument("--models", nargs="+", default=["SmolLM2-135M-Instruct", "gemma-3-270m"])
    parser.add_argument("--sample", type=int, default=SAMPLE, help="replies that a model reads as second step")
    parser.add_argument("--judged", type=int, default=JUDGED, help="replies that a model grades, of each benchmark")
    parser.add_argument("--seed", type=int, default=SEED)
    told = parser.parse_args(argv)
    measure(told.golden, told.models, told.sample, told.judged, told.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
