"""Why answers are wrong: samples drawn for labelling, their labels, and the distribution of error
types (MMT-Bench Sec. 4.4, Appendix G, Fig. 4).

Labels are kept in a JSON file, which the labelling page saves and a judge model can write:
`{"format": "snellen error labels 1", "labeller": "...", "samples": [{"run", "model", "sample",
"subtask", "labels": [...], "note", "wrong"}, ...]}`; or in a CSV file with these columns, labels
separated by `;`. `wrong` is the number of wrong answers of the run and subtask from which the
sample was drawn.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct, structs

from snellen.core.atomic_write import save
from snellen.core.csv_cells import sheet_rows, sheet_text
from snellen.core.errors import DataError, UsageError
from snellen.core.grouping import group_by
from snellen.core.output import Failure, Generated, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.summary import Interval
from snellen.stats.agreement import cohen_kappa
from snellen.stats.intervals import SampledStratum, weighted_share
from snellen.store.runs import RunFolder

ErrorType = Literal["perception", "reasoning", "knowledge", "capability", "refusal", "instruction", "annotation"]
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)
MEANINGS: Mapping[ErrorType, tuple[str, str]] = {
    "perception": ("perception error", "what is in the image was not recognised, classified or located"),
    "reasoning": ("reasoning error", "the image was seen correctly, and the wrong conclusion drawn from it"),
    "knowledge": ("lack of knowledge", "the question needs facts that the model does not know"),
    "capability": ("lack of capability", "the model says, or shows, that it cannot do such a task"),
    "refusal": ("refuse to answer", "the model declines, for instance because of people in the image"),
    "instruction": ("fail to follow instruction", "the reply is not what was asked for, such as no option at all"),
    "annotation": ("annotation error", "the question or its stated answer is wrong or unclear"),
}
"""Name of each type in the paper, and its meaning. Several may apply to one answer."""
FORMAT = "snellen error labels 1"
DEFAULT_EACH = 5
_HALF = 0.5
_COLUMNS = ("run", "model", "sample", "subtask", "labels", "note", "wrong", "labeller")


class WrongAnswer(NamedTuple):
    """A wrong answer to label."""

    run: RunFolder
    subtask: str
    record: Record
    wrong_count: int = 0
    """Number of wrong answers of its run and subtask, from which it was drawn."""

    @property
    def wrong_pass(self) -> Pass | None:
        """The first pass that is not right."""
        passes = self.record.passes
        return next((one_pass for one_pass in passes if not one_pass.correct), passes[0] if passes else None)

    @property
    def options(self) -> Mapping[str, str]:
        """The options as they stood in that pass."""
        return (self.wrong_pass.options if self.wrong_pass else {}) or self.record.options

    @property
    def gold(self) -> tuple[str, ...]:
        return (self.wrong_pass.gold if self.wrong_pass else ()) or self.record.gold

    @property
    def answer(self) -> str | None:
        """The answer parsed from that pass's reply."""
        if self.wrong_pass is None:
            return self.record.answer
        return self.wrong_pass.answer.value if isinstance(self.wrong_pass.answer, ParsedAnswer) else None

    @property
    def reply(self) -> str:
        output = self.wrong_pass.output if self.wrong_pass else None
        if isinstance(output, Generated):
            return output.text
        return output.message if isinstance(output, Failure) else ""


class ErrorLabel(Struct, frozen=True, omit_defaults=True):
    """The labels of one sample."""

    run: str
    sample: str
    model: str = ""
    subtask: str = ""
    labels: tuple[ErrorType, ...] = ()
    note: str = ""
    wrong: int = 0
    """Wrong answers of the run and subtask, from which it was drawn; 0 if unknown."""

    @property
    def key(self) -> tuple[str, str]:
        return self.run, self.sample


class ErrorLabels(Struct, frozen=True):
    samples: tuple[ErrorLabel, ...]
    labeller: str = ""
    format: str = FORMAT


class TypeShare(NamedTuple):
    """One error type of one model. `labels` counts its labels; `share` is its fraction of all
    labels, as in the paper's figure, and `of_errors` the fraction of the wrong answers that have
    it, with its interval. Both describe all wrong answers, each subtask weighted by its number of
    wrong answers, if the labels state it (`weighted`); else the `labelled` ones only."""

    model: str
    type: ErrorType
    labels: int
    share: float
    of_errors: float
    labelled: int
    interval: Interval
    weighted: bool


class LabelAgreement(NamedTuple):
    """Two labellers on one type: how often each assigned it, over the samples both labelled."""

    type: ErrorType
    first: int
    second: int
    both: int
    shared: int
    kappa: float | None


def draw_wrong_answers(
    runs: Sequence[RunFolder], group: str = "category", each: int = DEFAULT_EACH, seed: int = 0
) -> list[WrongAnswer]:
    """At most `each` wrong answers of every subtask and run, at random; the same seed draws the
    same. An answer is wrong if it scored less than half.

    Raises UsageError for `each` below 1, and if nothing is wrong.
    """
    if each < 1:
        raise UsageError(f"--each is {each}; expected at least 1 sample of each subtask")
    drawn_answers: list[WrongAnswer] = []
    for run in runs:
        low = (record for record in run.records() if record.score is not None and record.score < _HALF)
        wrong = group_by(low, lambda record: record.label(group))
        for subtask in sorted(wrong):
            members = sorted(wrong[subtask], key=lambda record: record.id)
            generator = random.Random(f"{seed}:{run.info.model}:{subtask}")
            chosen = generator.sample(members, min(each, len(members)))
            drawn_answers += [
                WrongAnswer(run, subtask, wrong_record, len(members))
                for wrong_record in sorted(chosen, key=lambda record: record.id)
            ]
    if not drawn_answers:
        raise UsageError("no run has a wrong answer: there is nothing to label")
    return drawn_answers


def read_error_labels(path: Path) -> ErrorLabels:
    """Labels from a JSON or CSV file. Raises DataError if the file is invalid or has no label."""
    try:
        if path.suffix.lower() == ".csv":
            labels = _from_csv(path)
        else:
            labels = msgspec.json.decode(path.read_bytes(), type=ErrorLabels)
    except (OSError, ValueError, KeyError, csv.Error, msgspec.DecodeError) as error:
        raise DataError(f"{path} cannot be read as error labels: {error}") from error
    if labels.format != FORMAT:
        raise DataError(f"{path} has the format {labels.format!r}; expected {FORMAT!r}")
    if not any(label.labels for label in labels.samples):
        raise DataError(f"{path} holds no label yet: label samples on the page and save them")
    return labels


def write_error_labels(labels: ErrorLabels, path: Path) -> None:
    """Write labels as JSON, or as CSV by the file's suffix. Raises StorageError."""
    if path.suffix.lower() == ".csv":
        save(path, _to_csv(labels))
    else:
        save(path, msgspec.json.format(msgspec.json.encode(labels), indent=1) + b"\n")


def distribution(labels: Iterable[ErrorLabel]) -> list[TypeShare]:
    """Distribution of error types by model; samples without labels are left out. Since at most a
    few samples of each subtask are drawn, samples of a subtask with many wrong answers get a larger
    weight (`weighted_share`)."""
    results = []
    labelled = (label for label in labels if label.labels)
    for model, members in group_by(labelled, lambda label: label.model or label.run).items():
        subtasks = group_by(members, lambda label: (label.run, label.subtask))
        weighted = all(label.wrong for label in members)
        shares = {name: weighted_share(_strata(name, subtasks.values(), weighted)) for name in ERROR_TYPES}
        total = sum(share.share for share in shares.values())
        counts = Counter(name for label in members for name in set(label.labels))
        results += [
            TypeShare(
                model, name, counts[name], share.share / total, share.share, len(members), share.interval, weighted
            )
            for name, share in shares.items()
        ]
    return results


def wrong_answers_each(labels: Sequence[ErrorLabel]) -> dict[tuple[str, str], float]:
    """For how many wrong answers of its run and subtask each sample stands; empty if a sample does
    not say from how many it was drawn."""
    if not all(label.wrong for label in labels):
        return {}
    drawn = Counter((label.run, label.subtask) for label in labels)
    return {label.key: max(1.0, label.wrong / drawn[label.run, label.subtask]) for label in labels}


def _strata(name: ErrorType, subtasks: Iterable[Sequence[ErrorLabel]], weighted: bool) -> list[SampledStratum]:
    if not weighted:
        members = [label for subtask in subtasks for label in subtask]
        return [SampledStratum(len(members), len(members), sum(name in label.labels for label in members))]
    return [
        SampledStratum(
            max(len(members), *(label.wrong for label in members)),
            len(members),
            sum(name in label.labels for label in members),
        )
        for members in subtasks
    ]


def label_agreement(first: ErrorLabels, second: ErrorLabels) -> list[LabelAgreement]:
    """Cohen's kappa of two labellers, type by type. Raises UsageError if they share no labelled
    sample."""
    first_labels = {label.key: set(label.labels) for label in first.samples if label.labels}
    second_labels = {label.key: set(label.labels) for label in second.samples if label.labels}
    shared = [key for key in first_labels if key in second_labels]
    if not shared:
        raise UsageError("the two files of labels have no labelled sample in common")
    agreements = []
    for name in ERROR_TYPES:
        first_has = [float(name in first_labels[key]) for key in shared]
        second_has = [float(name in second_labels[key]) for key in shared]
        both = sum(a and b for a, b in zip(first_has, second_has, strict=True))
        agreements.append(
            LabelAgreement(
                name,
                int(sum(first_has)),
                int(sum(second_has)),
                int(both),
                len(shared),
                cohen_kappa(first_has, second_has),
            )
        )
    return agreements


def _to_csv(labels: ErrorLabels) -> str:
    rows = [
        structs.asdict(label)
        | {"labels": ";".join(label.labels), "wrong": str(label.wrong or ""), "labeller": labels.labeller}
        for label in labels.samples
    ]
    return sheet_text(_COLUMNS, ([row[name] for name in _COLUMNS] for row in rows))


def _from_csv(path: Path) -> ErrorLabels:
    _, rows = sheet_rows(path)
    samples = []
    for row in rows:
        own = {name: row[name] for name in ("run", "sample")} | {
            name: row.get(name, "") for name in ("model", "subtask", "note")
        }
        labels = tuple(_parse_type(name, path) for name in row["labels"].split(";") if name.strip())
        samples.append(ErrorLabel(**own, labels=labels, wrong=int(row.get("wrong") or 0)))
    return ErrorLabels(tuple(samples), rows[0].get("labeller", "") if rows else "")


def _parse_type(name: str, path: Path) -> ErrorType:
    match = next((error_type for error_type in ERROR_TYPES if error_type == name.strip().lower()), None)
    if match is None:
        raise DataError(f"{path}: {name!r} is no type of error; expected {', '.join(ERROR_TYPES)}")
    return match
