"""Which scores of finished runs hold for a new version of the data, and what is left to ask.

A reply is stored by what was asked, so that the same question is never asked twice: a run on the
new version takes from the store whatever it can. This says beforehand how much that is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from snellen.core.output import ParsedAnswer
from snellen.core.record import Record
from snellen.core.run import RunConfig
from snellen.curate.diff.items_diff import GROUP_FIELDS, KEY, DataDiff, ItemChange, compare_tables
from snellen.curate.items import ItemTable, open_items
from snellen.store.runs import RunFolder, distinct_runs

_OTHER_ITEMS = ("wrong-image",)
"""Controls whose prompts hold pictures of other items."""


class StoredScores(Struct, frozen=True):
    """What of one run can be used for the new version, in numbers of questions."""

    run: str
    model: str
    problem: str = ""
    """Why nothing can be said, such as a run on other data; then all numbers are 0."""
    valid: int = 0
    """Prompt and key are the same: the score holds."""
    regrouped: int = 0
    """Of these, questions that count in other means now."""
    rescored: int = 0
    """Only the key changed: scored anew from stored replies."""
    more_passes: int = 0
    """Of these, questions that early stop ended after a wrong pass, which is right now: their
    further rotations have to be asked."""
    ask: list[str] = []
    """Ids to be asked: new, changed, or without a reply so far."""
    removed: int = 0
    """Questions of the run that the new version does not have."""
    notes: list[str] = []
    command: str = ""
    """Makes the run on the new version."""


def find_stored_scores(
    old: str | Path,
    new: str | Path,
    runs: Iterable[Path | str],
    columns: Mapping[str, str] | None = None,
) -> tuple[DataDiff, list[StoredScores]]:
    """Compare two versions, and look at what the runs on the old one are worth for the new one.

    Raises UsageError subclasses for names and folders that cannot be read.
    """
    table, new_table = open_items(old, columns), open_items(new, columns)
    diff = compare_tables(table, new_table, str(old), str(new))
    golds = {item.id: (item.sample.gold, item.sample.options) for item in new_table}
    return diff, [_scores_of(run, diff, new_table, golds) for run in distinct_runs(runs)]


_Golds = Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]]


def _scores_of(run: RunFolder, diff: DataDiff, new: ItemTable, golds: _Golds) -> StoredScores:
    """What of one run holds: its records are sorted by what changed of their items."""
    info = run.info
    if info.data.digest != diff.old_digest:
        problem = (
            f"it was made with {info.data.path} ({info.data.digest[:12]}), not with {diff.old} "
            f"({diff.old_digest[:12]})"
        )
        return StoredScores(str(run.path), info.model, problem)
    changes = {change.id: change for change in diff.changed}
    records = {record.id: record for record in run.records()}
    valid = regrouped = rescored = more_passes = removed = 0
    ask: list[str] = []
    for name, record in records.items():
        change = changes.get(name)
        if name not in golds:
            removed += name not in diff.renamed
        elif record.is_retryable or (change is not None and change.changes_prompt):
            ask.append(name)
        elif change is not None and KEY in change.fields:
            rescored += 1
            more_passes += _needs_more_passes(record, *golds[name])
        else:
            valid += 1
            regrouped += change is not None and _is_regrouped(change)
    # The engine looks replies up by what is asked, not by id.
    valid += sum(name in records for name in diff.renamed)
    known = {*records, *diff.renamed.values()}
    ask += [name for name in golds if name not in known]
    return StoredScores(
        run=str(run.path),
        model=info.model,
        valid=valid,
        regrouped=regrouped,
        rescored=rescored,
        more_passes=more_passes,
        ask=ask,
        removed=removed,
        notes=[*_notes(info.config, diff)],
        command=run_command(run, new.spec),
    )


def _is_regrouped(change: ItemChange) -> bool:
    return any(name in change.fields for name in GROUP_FIELDS)


def _needs_more_passes(record: Record, gold: tuple[str, ...], options: Mapping[str, str]) -> bool:
    """Whether early stop would not have ended the question under the new key."""
    if not record.saved or len(gold) != 1 or gold[0] not in options:
        return False
    text = options[gold[0]]
    # A pass whose options stand as in the question does not repeat them.
    return all(
        isinstance(pass_.answer, ParsedAnswer)
        and (pass_.options or record.options).get(pass_.answer.value) == text
        for pass_ in record.passes
    )


def _notes(config: RunConfig, diff: DataDiff) -> Iterable[str]:
    if config.limit is not None:
        yield (
            f"the run asked {config.limit} questions; with the same --limit, only those of the "
            "new ones are asked that it selects"
        )
    control = config.parameters.get("control", "")
    if control.startswith(_OTHER_ITEMS):
        yield f"the control {control} shows pictures of other items, so that more can be to ask"
    if config.examples is not None and not diff.is_empty:
        yield "the few-shot examples may be others now, and with them every prompt"


def run_command(run: RunFolder, spec: str) -> str:
    """The command that makes a run on another version of its data, with the same flags."""
    info = run.info
    words = shlex.split(info.command) if info.command else []
    start = ["snellen", "run", "-m", _typed_model(words, info.model), "-b", spec]
    if words[:2] != ["snellen", "run"]:
        return shlex.join([*start, "--out", str(run.path.parent)])
    return shlex.join([*start, *_without(words[2:], ("-m", "--model", "-b", "--benchmark"))])


def _typed_model(words: list[str], name: str) -> str:
    """The model as the command of its run named it, e.g. by a server's address; else its name."""
    flags = ("-m", "--model")
    typed = [word for flag, word in pairwise(words) if flag in flags]
    typed += [word.removeprefix("--model=") for word in words if word.startswith("--model=")]
    named = [word for word in typed if word.partition("#")[2].partition(":")[0] == name]
    return next(iter(named), typed[0] if len(typed) == 1 else name)


def _without(words: list[str], flags: tuple[str, ...]) -> list[str]:
    """The words without these flags and their values."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in flags:
            skip = True
        elif not any(word.startswith(f"{flag}=") for flag in flags if flag.startswith("--")):
            kept.append(word)
    return kept
