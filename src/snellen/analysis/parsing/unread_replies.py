"""Parsing quality on the replies that no rule could parse, labelled by people (MMBench Fig. 5).

A sheet is a CSV file. The labeller writes into `label` the option a reply means, or Z if it fits
none; the extractors' own answers are not in the sheet.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.atomic_write import save
from snellen.core.csv_cells import sheet_rows, sheet_text
from snellen.core.errors import DataError, UsageError
from snellen.core.output import Generated, NoMatch, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.summary import Interval
from snellen.extract.llm import EXTRACTOR, is_unmatched
from snellen.stats.intervals import wilson
from snellen.store.runs import RunFolder

NONE_FITS = "Z"
UNREADABLE = "?"
COLUMNS = ("id", "pass", "question", "options", "reply", "label")


class UnreadReply(NamedTuple):
    """A reply that no rule could parse. `verdict` is the answer of the run's extractor."""

    id: str
    pass_index: int
    question: str
    options: str
    text: str
    verdict: str


class ExtractorAgreement(NamedTuple):
    """Agreement of an extractor with people, over the labelled replies."""

    extractor: str
    labelled: int
    share: float
    interval: Interval


def unread_replies(records: Iterable[Record]) -> Iterator[UnreadReply]:
    """Replies that no rule could parse, in the order of the run."""
    for record in records:
        for pass_index, one_pass in enumerate(record.passes):
            if not isinstance(one_pass.output, Generated):
                continue
            if one_pass.extraction is not None or is_unmatched(one_pass.output, one_pass.answer):
                options = one_pass.options or record.options
                listed = " | ".join(f"{label}. {text}" for label, text in options.items())
                yield UnreadReply(
                    record.id, pass_index, record.question, listed, one_pass.output.text, _verdict(one_pass)
                )


def sample_replies(replies: Sequence[UnreadReply], fraction: float, seed: int) -> list[UnreadReply]:
    """A random fraction of the replies, at least one if there is any, in their original order.

    Raises UsageError for a fraction outside (0, 1].
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"the share is {fraction}; expected more than 0 and at most 1, e.g. 0.1")
    count = min(len(replies), max(1, round(fraction * len(replies))))
    chosen = sorted(random.Random(seed).sample(range(len(replies)), count))
    return [replies[index] for index in chosen]


def write_sheet(replies: Iterable[UnreadReply], path: Path) -> None:
    """Write a labelling sheet with an empty `label` column. Texts that a spreadsheet would evaluate
    as formulas are prefixed with an apostrophe. Raises StorageError."""
    rows = ((reply.id, reply.pass_index, reply.question, reply.options, reply.text, "") for reply in replies)
    save(path, sheet_text(COLUMNS, rows))


def read_labels(path: Path) -> dict[tuple[str, int], str]:
    """Labels by sample id and pass; empty ones are skipped.

    Raises DataError for a file that is not a labelling sheet or contains no label.
    """
    labels: dict[tuple[str, int], str] = {}
    try:
        columns, rows = sheet_rows(path)
        if not {"id", "pass", "label"} <= columns:
            raise DataError(f"{path} is no labelling sheet; expected the columns {', '.join(COLUMNS)}")
        for row in rows:
            if label := row.get("label", "").strip():
                labels[row["id"], int(row["pass"])] = label.capitalize()
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a labelling sheet: {error}") from error
    if not labels:
        raise DataError(f"{path} holds no label yet: fill in its column `label`")
    return labels


def extractor_agreement(run: RunFolder, labels: Mapping[tuple[str, int], str]) -> ExtractorAgreement:
    """Agreement of a run's extractor with the labels. Raises UsageError if no label belongs to the
    run."""
    verdicts = labelled_verdicts(run, labels)
    agreed = sum(verdict == label for verdict, label in verdicts)
    return ExtractorAgreement(extractor_name(run), len(verdicts), agreed / len(verdicts), wilson(agreed, len(verdicts)))


def labelled_verdicts(run: RunFolder, labels: Mapping[tuple[str, int], str]) -> list[tuple[str, str]]:
    """What a run's extractor made of each labelled reply, and its label. Raises UsageError if no
    label belongs to the run."""
    verdicts = {(reply.id, reply.pass_index): reply.verdict for reply in unread_replies(run.records())}
    pairs = [(verdicts[key], label) for key, label in labels.items() if key in verdicts]
    if not pairs:
        raise UsageError(f"{run.name} holds none of the labelled replies")
    return pairs


def extractor_name(run: RunFolder) -> str:
    roles = run.info.config.roles
    return roles[EXTRACTOR].name if EXTRACTOR in roles else "rules alone"


def _verdict(one_pass: Pass) -> str:
    if isinstance(one_pass.answer, ParsedAnswer):
        return one_pass.answer.value
    return NONE_FITS if isinstance(one_pass.answer, NoMatch) else UNREADABLE
