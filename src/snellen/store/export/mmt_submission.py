"""A run of MMT-Bench's ALL split, whose answers are hidden, as its evaluation server takes it.

The file is VLMEvalKit's prediction table in the order of the indices, with the parsed option in
`opt` and the parsing rule in `log`. A reply without a parsed option is Z, as in the paper
(Sec. 4.1); VLMEvalKit would choose an option at random.
"""

from __future__ import annotations

from itertools import chain

from snellen.core.errors import UsageError
from snellen.core.output import NoMatch, ParsedAnswer, Refused
from snellen.core.record import Record
from snellen.store.export.vlmevalkit import ExportSheet, vlmevalkit_sheet
from snellen.store.runs import RunFolder

UNREAD = "Z"
"""The pseudo choice for replies without an answer."""


def mmt_sheet(run: RunFolder) -> ExportSheet:
    """One row per question: the columns of the data without images, then prediction, opt, log.

    Raises UsageError for a run that is not complete, or that asked questions more than once.
    """
    records = {record.id: record for record in chain(run.records(), run.failures())}
    failed = sum(record.is_retryable for record in records.values())
    if failed or run.info.status != "complete":
        raise UsageError(
            f"{run.path} is {run.info.status}, {failed} questions failed; the same command asks "
            f"them again: {run.info.command}"
        )
    if any(len(record.passes) > 1 or record.saved for record in records.values()):
        raise UsageError(
            f"{run.path} asked questions in rotations; MMT-Bench takes one reply for each: run "
            "again with --circular off"
        )
    unasked = sum(not record.passes for record in records.values())
    if unasked:
        raise UsageError(
            f"{run.path} did not ask {unasked} questions, which the model cannot take; run again "
            "with images=single or images=stitch"
        )
    sheet = vlmevalkit_sheet(run)
    rows = [
        {**row, "opt": records[row["index"]].answer or UNREAD, "log": _log(records[row["index"]])} for row in sheet.rows
    ]
    return ExportSheet([*sheet.columns, "opt", "log"], rows)


def _log(record: Record) -> str:
    answer = record.passes[0].answer
    if isinstance(answer, ParsedAnswer | NoMatch | Refused):
        verdict = {ParsedAnswer: "read by", NoMatch: "no option fits:", Refused: "refused:"}[type(answer)]
        return f"{verdict} {answer.rule}"
    return record.outcome
