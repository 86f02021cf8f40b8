"""Our numbers beside official ones, over the same recorded replies.

    python docs/reproduce.py GOLDEN_FOLDER   counts everything anew into docs/data/reproduction.json
    python docs/generate.py                  writes docs/reproduction.md from that file

The golden folder holds published predictions with their official scores; it is not part of the
repository, because its sets have licences of their own. The page is made from the counts alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec import json as msgjson

from snellen.api import score
from snellen.core.benchmark import Variant
from snellen.core.record import Record
from snellen.core.summary import Summary

FOLDER = Path(__file__).parent
COUNTS = FOLDER / "data" / "reproduction.json"
NOTE = (
    "<!-- Written by docs/generate.py from docs/data/reproduction.json, which docs/reproduce.py "
    "counts. -->"
)
_LAVIN = "MME's evaluation tool (branch Evaluation, tools/eval_tool.zip), LaVIN"
_ZOO = "LLaVA, docs/MODEL_ZOO.md"


class Entry(Struct, frozen=True):
    """One number: ours and the official one, both as they are compared."""

    benchmark: str
    system: str
    number: str
    ours: float
    official: float
    digits: int
    """Decimals to which the official number is known; ours is rounded to as many."""
    source: str
    count: str = ""
    """The whole numbers behind ours, e.g. 101/211."""

    @property
    def agrees(self) -> bool:
        return round(self.ours, self.digits) == round(self.official, self.digits)


def counted(golden: Path) -> list[Entry]:
    """Every entry, from the recorded replies."""
    sets: tuple[Callable[[Path], Iterable[Entry]], ...] = (
        _scienceqa,
        _mmbench,
        _seed,
        _blink,
        _mme,
        _pope,
    )
    return [entry for entries in sets for entry in entries(golden)]


def read_counts() -> list[Entry]:
    return msgjson.decode(COUNTS.read_bytes(), type=list[Entry])


def page() -> str:
    """docs/reproduction.md."""
    entries = read_counts()
    agreeing = sum(entry.agrees for entry in entries)
    lines = [
        "# Numbers reproduced",
        "",
        NOTE,
        "",
        "Published predictions of real models, scored by Snellen, beside the number their authors "
        "or the official script give for the same predictions. Ours are rounded to the digits of "
        f"the official number; {agreeing} of {len(entries)} agree.",
        "",
    ]
    for benchmark in dict.fromkeys(entry.benchmark for entry in entries):
        of_it = [entry for entry in entries if entry.benchmark == benchmark]
        lines += [f"## {benchmark}", "", *_rows(of_it), ""]
        lines += [f"Official numbers: {text}." for text in dict.fromkeys(e.source for e in of_it)]
        lines.append("")
    return "\n".join(lines)


def _rows(entries: Sequence[Entry]) -> Iterator[str]:
    yield "| predictions | number | Snellen | official | |"
    yield "| --- | --- | ---: | ---: | --- |"
    for one in entries:
        ours, official = (f"{value:.{one.digits}f}" for value in (one.ours, one.official))
        count = f" ({one.count})" if one.count else ""
        sign = "=" if one.agrees else "**differs**"
        yield f"| {one.system} | {one.number} | {ours}{count} | {official} | {sign} |"


def _scored(
    golden: Path, benchmark: str, file: str, rule: str | None = None, **columns: str
) -> tuple[Summary, Sequence[Record]]:
    found = score(benchmark, golden / file, variant=Variant(rule=rule), columns=columns or None)
    return found.summary, found.records


def _value(summary: Summary, name: str) -> float:
    value = summary.metrics[name].value
    assert value is not None, f"{name} has no value"
    return value


def _official(golden: Path, folder: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((golden / folder / "official_scores.json").read_bytes())
    return found


def _right(records: Iterable[Record]) -> str:
    scores = [record.score for record in records if record.score is not None]
    return f"{int(sum(scores))}/{len(scores)}"


def _scienceqa(golden: Path) -> Iterator[Entry]:
    summary, records = _scored(golden, "scienceqa", "scienceqa_img_tsv/predictions_llava15_13b.csv")
    yield Entry(
        "ScienceQA, 211 questions with a picture",
        "LLaVA-1.5-13B",
        "accuracy",
        _value(summary, "accuracy"),
        100 * 101 / 211,
        3,
        "LLaVA's own verdicts on these questions, 101 of 211 right",
        _right(records),
    )


def _mmbench(golden: Path) -> Iterator[Entry]:
    summary, records = _scored(golden, "mmbench", "mmbench_dev_llava15_13b/predictions.csv")
    first = [record.values["vanilla"] for record in records if "vanilla" in record.values]
    name, system = "MMBench dev (2023-07-12)", "LLaVA-1.5-13B"
    circular, count = _value(summary, "circular"), _right(records)
    source = f"{_ZOO} (67.7); CircularEval and VanillaEval counted over the uploaded file"
    yield Entry(name, system, "CircularEval", circular, 67.7, 1, source, count)
    yield Entry(name, system, "CircularEval, three decimals", circular, 67.687, 3, source, count)
    vanilla = f"{int(sum(first))}/{len(first)}"
    yield Entry(name, system, "VanillaEval", _value(summary, "vanilla"), 75.425, 3, source, vanilla)


def _seed(golden: Path) -> Iterator[Entry]:
    file = "seedbench_llava15_13b/predictions.csv"
    summary, records = _scored(golden, "seedbench:version=1,protocol=generate", file, "official")
    pictures = [record for record in records if record.groups.get("media") == "image"]
    name, system = "SEED-Bench, questions about a picture", "LLaVA-1.5-13B"
    ours, count = _value(summary, "image"), _right(pictures)
    exact = _official(golden, "seedbench_llava15_13b")["image"]
    assert isinstance(exact, float)
    source = f"{_ZOO} (68.2, 14,233 questions); equality of letters counted over the uploaded file"
    yield Entry(name, system, "accuracy", ours, 68.2, 1, source, count)
    yield Entry(name, system, "accuracy, three decimals", ours, exact, 3, source, count)


def _blink(golden: Path) -> Iterator[Entry]:
    for system, found in sorted(_official(golden, "blink_val").items()):
        assert isinstance(found, dict)
        file = f"blink_val/{system.replace('* ', '_').replace(' ', '_')}.jsonl.gz"
        summary, records = _scored(golden, "blink", file, "official")
        yield Entry(
            "BLINK validation, mean of the tasks",
            system,
            f"{found['tasks']} tasks",
            _value(summary, "task_mean"),
            float(found["average_over_tasks"]),
            4,
            "BLINK's eval/evaluate.py over the authors' saved outputs (`--rule official`)",
            _right(records),
        )


def _mme(golden: Path) -> Iterator[Entry]:
    summary, _ = _scored(golden, "mme", "mme_lavin/predictions.csv", "official")
    sums = {"perception": 963.6114, "cognition": 249.6429}
    for name, official in sums.items():
        yield Entry("MME", "LaVIN-13B", name, _value(summary, name), official, 4, _LAVIN)
    found = _official(golden, "mme_lavin")["per_category"]
    assert isinstance(found, dict)
    subtasks = summary.groups["category"]
    for name, scores in found.items():
        ours = subtasks[name].value
        assert ours is not None
        yield Entry("MME", "LaVIN-13B", name, ours, float(scores["score"]), 2, _LAVIN)


def _pope(golden: Path) -> Iterator[Entry]:
    file, name, system = "pope_llava15_13b/predictions.csv", "POPE (COCO)", "LLaVA-1.5-13B"
    summary, _ = _scored(golden, "pope", file, "official", id="split+question_id")
    official = _official(golden, "pope_llava15_13b")
    source = f"LLaVA's eval_pope.py over these predictions; mean F1 in {_ZOO} (85.9)"
    yield Entry(name, system, "mean F1", _value(summary, "f1"), 85.9, 1, source)
    for track, metric in summary.groups["category"].items():
        told = official[track]
        assert isinstance(told, dict)
        assert metric.value is not None
        f1 = 100 * float(told["f1"])
        yield Entry(name, system, f"F1, {track}", metric.value, f1, 4, source)


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    entries = counted(Path(argv[0]))
    COUNTS.parent.mkdir(exist_ok=True)
    COUNTS.write_bytes(msgjson.format(msgjson.encode(entries), indent=1) + b"\n")
    for entry in entries:
        if not entry.agrees:
            print(f"{entry.benchmark}, {entry.system}, {entry.number}: "
                  f"{entry.ours} is not {entry.official}")  # fmt: skip
    print(f"{len(entries)} numbers, {sum(entry.agrees for entry in entries)} agree")
    return 0 if all(entry.agrees for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
