"""Score a judged set by Snellen, and name the rows where the two scorers differ."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tests.differential.hostile import STRIDE, classes_of
from tests.differential.sets import OWN, STEPS, Case, JudgedSet, Row

from snellen import Scored, score
from snellen.core.benchmark import Variant, final_summary
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Generated, Output
from snellen.core.request import Request
from snellen.core.summary import Summary
from snellen.store.runs import compact_records

# Both sides look synonyms up there: scorers run with this environment.
os.environ["NLTK_DATA"] = str(Path(__file__).parent / "nltk")
EXPLAINED = Path(__file__).parent / "explained.toml"
FAILED = "Failed to obtain answer"
_CLOSE = 1e-6
WHOLE: Mapping[str, Callable[[Case], object]] = {
    "mm-ifeval.vlmevalkit": lambda case: case.cells["id"],
    "dynamath.vlmevalkit": lambda case: case.cells["qid"],
    "wemath.vlmevalkit": lambda case: case.cells["ID"],
    "mmbench*.vlmevalkit": lambda case: int(case.id) % STRIDE,
    "mmvp.vlmevalkit": lambda case: (int(case.id) - 1) // 2,
    "video-mme-v2.*": lambda case: int(case.id) // 4,
    "videomathqa-pairs.*": lambda case: case.cells["question_id"],
    "hrbench*.vlmevalkit": lambda case: int(case.id) // 4,
    "3dsrbench.vlmevalkit": lambda case: case.cells["qid"][:8],
    "naturalbench.authors": lambda case: int(case.id) // 4,
}
"""Sets whose numbers are about several rows together, to what those of one question share: its
rotations, its pictures, its steps."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why some rows of a set differ, and whose verdict is right."""

    cause: str
    right: Literal["snellen", "theirs", "convention"]
    styles: tuple[str, ...] = ()
    """Every differing row of these styles is explained by it."""
    rows: tuple[str, ...] = ()
    """Ids of further rows."""
    classes: tuple[str, ...] = ()
    """And every differing row of these classes (`hostile.classes_of`)."""

    def covers(self, case: Case) -> bool:
        return case.id in self.rows or case.style in self.styles or not classes_of(case).isdisjoint(self.classes)


@dataclass(frozen=True, slots=True)
class Comparison:
    compared: int
    """Rows with a verdict of both."""
    styles: int
    differing: Mapping[str, tuple[float | None, float]]
    """Id to (ours, theirs)."""
    metrics: Mapping[str, tuple[float | None, float]]
    """Our metric to (ours, theirs)."""
    headline: tuple[str, float | None] = ("", None)
    """The name and the value of our headline, over the rows of theirs."""


def compare(judged: JudgedSet, folder: Path) -> Comparison:
    """Score the replies by the set's rule. `folder` takes the files that a user would give."""
    scored = _scored(judged, judged.rows, folder)
    ours = {record.id: record.score for record in scored.records}
    # A missing row has no score of its own here; whether it counts as wrong the headline tells.
    theirs = {row.case.id: row.credit for row in judged.rows if row.credit is not None and not row.case.missing}
    differing = {key: (ours.get(key), credit) for key, credit in theirs.items() if not _same(ours.get(key), credit)}
    styles = {row.case.style for row in judged.rows if row.credit is not None}
    summary = scored.summary
    if len(judged.counted) < len(judged.rows):
        ids = {row.case.id for row in judged.counted}
        records = [record for record in scored.records if record.id in ids]
        summary = final_summary(scored.benchmark, compact_records(records))
    metrics = {metric: (_metric(summary, metric), value) for metric, (_, value) in judged.metrics.items()}
    headline = summary.headline
    number = (headline.name, headline.value)
    return Comparison(len(theirs), len(styles), differing, metrics, number)


def headline_differs(judged: JudgedSet, comparison: Comparison) -> str:
    """Ours beside theirs where the two are not the same to the digit; else empty."""
    if judged.headline is None:
        return ""
    name, ours = comparison.headline
    theirs, value = judged.headline
    same = ours is not None and abs(ours - value) <= judged.close
    return "" if same else f"{name} {ours}, theirs {theirs} {value}"


def headline_row(judged: JudgedSet, comparison: Comparison) -> dict[str, str | int | float]:
    """A line of docs/data/headlines.json about a set that stores a headline: the rows that it is
    over, and the two numbers."""
    if judged.headline is None:
        return {}
    cases = [row.case for row in judged.counted]
    name, ours = comparison.headline
    return {
        "set": judged.name,
        "benchmark": judged.benchmark,
        "rule": judged.rule,
        "replies": len(cases),
        "failed": sum(case.reply.startswith(FAILED) for case in cases),
        "missing": sum(case.missing for case in cases),
        "empty": sum(not case.missing and not case.reply.strip() for case in cases),
        "name": judged.headline.name,
        "theirs": judged.headline.value,
        "metric": name,
        "ours": round(ours or 0, 10),
    }


@cache
def explanations() -> Mapping[str, tuple[Explanation, ...]]:
    """Every explained difference, by the name of a set or a pattern such as `*.vlmevalkit`; a key
    of the file may hold several, parted by blanks."""
    with EXPLAINED.open("rb") as file:
        table = tomllib.load(file)
    found: dict[str, tuple[Explanation, ...]] = {}
    for names, entries in table.items():
        reasons = tuple(
            Explanation(
                entry["cause"],
                entry["right"],
                tuple(entry.get("styles", ())),
                tuple(entry.get("rows", ())),
                tuple(entry.get("classes", ())),
            )
            for entry in entries
        )
        for name in names.split():
            found[name] = (*found.get(name, ()), *reasons)
    return found


def explanations_of(name: str) -> tuple[Explanation, ...]:
    """Those of one set, and of the patterns that it matches."""
    return tuple(reason for pattern, reasons in explanations().items() if fnmatch(name, pattern) for reason in reasons)


def unexplained(
    judged: JudgedSet, comparison: Comparison, reasons: Sequence[Explanation]
) -> dict[str, tuple[float | None, float]]:
    """Differing rows that no explanation covers."""
    case_of = {row.case.id: row.case for row in judged.rows}
    return {
        key: both
        for key, both in comparison.differing.items()
        if not any(reason.covers(case_of[key]) for reason in reasons)
    }


def covered(judged: JudgedSet, comparison: Comparison, reason: Explanation) -> int:
    """How many differing rows an explanation covers."""
    cases = (row.case for row in judged.rows if row.case.id in comparison.differing)
    return sum(map(reason.covers, cases))


def is_idle(judged: JudgedSet, comparison: Comparison, reason: Explanation) -> bool:
    """Whether an explanation covers neither a differing row nor one without a verdict there."""
    open_rows = (row.case for row in judged.rows if _has_no_verdict(row))
    return not covered(judged, comparison, reason) and not any(map(reason.covers, open_rows))


def without_promise(judged: JudgedSet, comparison: Comparison) -> set[str]:
    """Rows that no number of the two sides is about: those that differ; those that an explanation
    covers, if they have no verdict there, or by Snellen's own rule, where they may agree by chance,
    as no mark and a mark of 0; and the other rows of their questions, where these are scored."""
    reasons = explanations_of(judged.name)
    explained = {
        row.case.id
        for row in judged.rows
        if judged.rule == OWN or _has_no_verdict(row)
        if any(one.covers(row.case) for one in reasons)
    }
    found = explained | comparison.differing.keys()
    for pattern, question_of in WHOLE.items():
        if fnmatch(judged.name, pattern):
            cases = [row.case for row in judged.rows]
            questions = {question_of(case) for case in cases if case.id in found}
            found |= {case.id for case in cases if question_of(case) in questions}
    return found


def _has_no_verdict(row: Row) -> bool:
    return row.credit is None and not row.case.missing


def _scored(judged: JudgedSet, rows: Sequence[Row], folder: Path) -> Scored:
    data, predictions = _files(judged, rows, folder)
    verdicts = any(row.case.verdict for row in rows)
    judges: list[str | StepJudge] = []
    if verdicts and judged.role == "judge":
        judges = ["column:verdict"]
    elif judged.role == STEPS:
        judges = [StepJudge(rows)]
    # What programs and judges say is stored in the working folder, and another time is asked anew.
    with contextlib.chdir(folder):
        return score(
            judged.benchmark,
            predictions,
            data=data,
            variant=Variant(rule=judged.rule),
            judges=judges,
            extractor="column:verdict" if verdicts and judged.role == "extractor" else None,
        )


class StepJudge(ModelDefaults):
    """A judge that says of each row what it was given for that step: the turn of the request."""

    by_row = True

    def __init__(self, rows: Sequence[Row]) -> None:
        self._words = {row.case.id: json.loads(row.case.verdict) for row in rows if not row.case.missing}
        # Verdicts are stored by the judge's identity, so that other words are another judge.
        words = hashlib.sha256(json.dumps(self._words).encode()).hexdigest()
        self.identity = Identity("test", "steps", {"words": words})
        self.capabilities = Capabilities(inputs=frozenset({"text", "image"}))

    async def answer(self, request: Request) -> Output:
        # The first request only asks whether it answers at all, and is about no row.
        steps = self._words.get(request.ref.sample, ("",))
        return Generated(steps[request.ref.turn])


def _files(judged: JudgedSet, rows: Sequence[Row], folder: Path) -> tuple[Path | None, Path]:
    replies: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    for row in rows:
        case = row.case
        if case.missing and not judged.alone:
            questions.append({"index": case.id, **case.cells})
        if case.missing:
            continue
        reply: dict[str, Any] = {"index": case.id, "prediction": case.reply}
        if case.verdict:
            reply["verdict"] = case.verdict
        if judged.alone:
            replies.append({**case.cells, **reply})
        else:
            replies.append(reply)
            questions.append({"index": case.id, **case.cells})
    predictions = _lines(folder / "predictions.jsonl", replies)
    return (None if judged.alone else _lines(folder / "data.jsonl", questions)), predictions


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def _same(ours: float | None, theirs: float) -> bool:
    return ours is not None and abs(ours - theirs) < _CLOSE


def _metric(summary: Summary, name: str) -> float | None:
    column, slash, label = name.partition("/")
    if slash:
        return summary.groups[column][label].value
    if name == summary.headline.name:
        return summary.headline.value
    return summary.metrics[name].value
