"""A lab's made-up year: thousands of run folders with all of their samples.

The runs are those of `thousands_of_runs`; each gets `samples.jsonl`, `failures.jsonl` where samples failed, and a
`report.json` with the numbers of these samples. Lines are encoded once for each question and answer, so that tens of
millions are written at the speed of the disk.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.perf.thousands_of_runs import made_runs
from msgspec.structs import replace

from snellen.core.model import Identity
from snellen.core.output import Generated, ParsedAnswer, Usage
from snellen.core.record import Pass, Record
from snellen.core.request import Text, user
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Interval, Metric, Summary
from snellen.stats.intervals import wilson

BENCHMARKS = (
    "mmmu",
    "mmstar",
    "ai2d",
    "mathvista",
    "mathvision",
    "mathverse",
    "logicvista",
    "scienceqa",
    "seedbench",
    "realworldqa",
    "eyechart",
    "video-mme",
    "textvqa",
    "docvqa",
    "chartqa",
    "ocrvqa",
)
"""Those whose numbers are means over samples of any kind."""
_DIGEST = 64
"""Characters of a request's digest."""
_PLACE = "0" * _DIGEST
_CATEGORIES = 12
_encode = msgspec.json.Encoder().encode


class MadeYear(NamedTuple):
    root: Path
    runs: int
    samples: int
    bytes: int


def write_made_year(root: Path, models: int, sets: int, seed: int = 0) -> MadeYear:
    """Write a run of each model on each of `sets` data sets below `root`; the same seed gives the same files."""
    runs = samples = size = 0
    for number in range(sets):
        name, edition = BENCHMARKS[number % len(BENCHMARKS)], number // len(BENCHMARKS)
        for at, (info, report) in enumerate(made_runs(models, seed + number, (name,))):
            info = _of_model(info, f"lab/model-{at:03}", edition)
            rng = np.random.default_rng([seed, number, at])
            size += _write_run(root / info.name, info, report, rng)
            samples += info.counts.done
            runs += 1
        _lines.cache_clear()
    return MadeYear(root, runs, samples, size)


def _of_model(info: RunInfo, model: str, edition: int) -> RunInfo:
    """The run as that of another model, on another edition of the data."""
    digest = hashlib.sha256(f"{info.data.digest} {edition}".encode()).hexdigest()
    config = replace(info.config, identity=Identity("hf", model), data=digest)
    name = f"hf_{model.replace('/', '_')}--{info.benchmark}--{digest[:4]}{model[-4:].strip('-'):0>4}"
    data = replace(info.data, digest=digest)
    return replace(info, name=name, model=f"hf/{model}", config=config, data=data)


def _write_run(folder: Path, info: RunInfo, report: Report | None, rng: np.random.Generator) -> int:
    folder.mkdir(parents=True)
    right = rng.random(info.data.rows) < _ability(info, report)
    size = _write_samples(folder / "samples.jsonl", info, right, rng)
    if info.counts.failed:
        others = range(info.counts.done, info.counts.done + info.counts.failed)
        failed = (replace(made_record(info.benchmark, at, False), **_FAILED) for at in others)
        (folder / "failures.jsonl").write_bytes(b"".join(_encode(record) + b"\n" for record in failed))
    (folder / "run.json").write_bytes(_encode(info))
    if report is not None:
        (folder / "report.json").write_bytes(_encode(_report_of(info, report, right)))
    return size


_FAILED = {"outcome": "failed", "score": None, "unscored": "failed", "answer": None, "passes": ()}


def _ability(info: RunInfo, report: Report | None) -> float:
    """The share of the questions that a run answers rightly."""
    value = None if report is None else next(iter(report.summary.metrics.values())).value
    return 0.5 if value is None else value / 100


def made_record(benchmark: str, number: int, is_right: bool) -> Record:
    """A question of a benchmark with one reply, which is the same for all models."""
    rng = random.Random(f"{benchmark} {number}")
    labels = "ABCD"
    gold = rng.choice(labels)
    label = gold if is_right else labels[(labels.index(gold) + 1) % 4]
    options = {one: f"{rng.randrange(1000)} {rng.choice(('red', 'green', 'blue'))}" for one in labels}
    question = f"Which of these does picture {number} of {benchmark} show?"
    prompt = (user(Text("\n".join([question, *(f"{one}. {text}" for one, text in options.items())]))),)
    output = Generated(label, usage=Usage(900, 9))
    found = ParsedAnswer(label, "bare label", (0, 1))
    return Record(
        id=str(number),
        kind="choice",
        question=question,
        outcome="answered",
        score=float(is_right),
        answer=label,
        gold=(gold,),
        options=options,
        groups={"category": f"part {number % _CATEGORIES}"},
        passes=(Pass(prompt, output, found, (gold,), is_right),),
        requests=(_PLACE,),
        position=number,
    )


@cache
def _lines(benchmark: str, rows: int) -> tuple[Sequence[tuple[bytes, bytes]], Sequence[tuple[bytes, bytes]]]:
    """The lines of each question, answered wrongly and rightly, before and after the digest of the request."""
    wrong, right = (
        [_parts(_encode(made_record(benchmark, number, is_right))) for number in range(rows)]
        for is_right in (False, True)
    )
    return wrong, right


def _parts(line: bytes) -> tuple[bytes, bytes]:
    before, _, after = line.partition(_PLACE.encode())
    return before, after + b"\n"


def _write_samples(path: Path, info: RunInfo, right: np.ndarray, rng: np.random.Generator) -> int:
    """Write the finished samples, in the order of a run with many requests in flight; returns the bytes."""
    lines, column = _lines(info.benchmark, info.data.rows), right.astype(int).tolist()
    done = info.counts.done
    order = np.argsort(np.arange(done) + 64 * rng.random(done)).tolist()
    digests = rng.bytes(done * _DIGEST // 2).hex().encode()
    parts: list[bytes] = []
    for at, number in enumerate(order):
        before, after = lines[column[number]][number]
        parts += before, digests[at * _DIGEST : (at + 1) * _DIGEST], after
    return path.write_bytes(b"".join(parts))


def _report_of(info: RunInfo, report: Report, right: np.ndarray) -> Report:
    """The report with the numbers of the samples that were written."""
    done = info.counts.done
    scored = right[:done]
    name = report.summary.headline.name
    is_withheld = report.summary.headline.value is None
    headline = replace(
        _metric(name, scored), **({"value": None, "interval": None, "note": "withheld"} if is_withheld else {})
    )
    parts = {f"part {at}": _metric(name, scored[at::_CATEGORIES]) for at in range(min(_CATEGORIES, done))}
    metrics = {**report.summary.metrics, name: headline}
    summary = Summary(headline, metrics, {"category": parts}, {"answered": done}, done, info.counts.samples)
    return Report(info, summary)


def _metric(name: str, right: np.ndarray) -> Metric:
    n = len(right)
    interval: Interval = wilson(float(right.sum()), n)
    return Metric(name, 100 * float(right.mean()), n, interval.scale())
