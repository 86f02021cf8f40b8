"""`snellen curate questions` of metadata records."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.progress import ProgressChoice
from snellen.cli.flags import read_options
from snellen.cli.printing import print_line
from snellen_curate.commands import Finished, read_fields, refuse_flags
from snellen_curate.commands._table import Status
from snellen_curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen_curate.metadata.question_counts import QuestionCounts

_OF_PICTURES = (
    "extract", "reasoner", "checker", "dimension", "dimensions", "count",
    "per-dimension", "per-picture", "min-nouns", "max-seconds", "max-similarity", "draw",
    "next-image",
)  # fmt: skip
_MEANINGS = {
    "options": "too few wrong options that differ from the right one and from each other",
    "template": "no template asks for what it has",
    "target": "nothing in it can be asked about without ambiguity",
    "not drawn": "there are more than --per-subtask",
    "balance": "enough other questions have its answer as their key",
    "text probe": "its answer can be told from the texts alone",
    "placeholder": "it lacks what every phrasing mentions",
    "licence": "nobody states one",
    "picture": "it cannot be read",
    "size": "its boxes are for a picture of another size",
}
"""What the rules mean by which a record gives no item."""
OF_METADATA = ("per-subtask", "alike-length", "flag-share")
"""Flags that only questions of metadata records have."""


def main_metadata(arguments: Namespace) -> Finished:
    """Make questions of metadata records, and print what was made."""
    from snellen_curate.metadata.build import MetadataQuestionOptions, build_questions
    from snellen_curate.metadata.record_file import find_metadata
    from snellen_curate.metadata.templates import DEFAULT_TEMPLATES

    refuse_flags(arguments, _OF_PICTURES, "these are metadata records, not pictures")
    paths = [Path(name).expanduser() for name in arguments.data]
    counts = build_questions(
        [find_metadata(path) or path for path in paths],
        arguments.templates or DEFAULT_TEMPLATES,
        arguments.out,
        read_fields(
            arguments, MetadataQuestionOptions, require_license=bool(arguments.drop),
            check_share=arguments.flag_share or 0.0,
        ),
        writer=arguments.model,
        asking=read_options(arguments, StepOptions),
        progress=progress(arguments),
    )  # fmt: skip
    is_flagged = bool(counts.without_licence or arguments.flag_share)
    status: Status = "flagged" if is_flagged or counts.findings else "clean"
    if counts.failed or counts.stopped:
        status = "incomplete"
    # What the texts give away is in no single item: people look at all.
    next = ("curate", "review", arguments.out, "--all", "--out", f"{arguments.out}-reviewed")
    return Finished(
        status, counts, lambda: _print_counts(counts, arguments.out),
        next if status == "flagged" and not is_flagged else None,
    )  # fmt: skip


def progress(arguments: Namespace) -> ProgressChoice:
    """Whether progress is shown: as everywhere, unless the command is to be quiet."""
    return False if arguments.quiet else None


def _print_counts(counts: QuestionCounts, out: str) -> None:
    """A line for each subtask, then what holds for all, and what comes next."""
    print_line(
        f"{'subtask':<32} {'items':>6} {'options':>8} {'texts alone':>14} {'chance':>7}  sources"
    )
    for name, subtask in counts.subtasks.items():
        sizes = "-".join(dict.fromkeys([*subtask.options][:1] + [*subtask.options][-1:]))
        sources = ", ".join(f"{source} {count}" for source, count in subtask.sources.items())
        check = subtask.guessing
        chance = "" if check is None or not subtask.items else f"{check.chance:.1f}"
        guessed = "not measured" if chance else ""
        if check is not None and check.right is not None:
            guessed = f"{check.right:.1f} ±{(check.high - check.low) / 2:.1f}"
        print_line(f"{name:<32} {subtask.items:>6} {sizes:>8} {guessed:>14} {chance:>7}  {sources}")
        if check is not None and check.left_out:
            print_line(f"  left out, because the texts alone answered them: {check.left_out}")
    for sentence in counts.findings:
        print_line(f"{sentence}; see snellen curate statistics")
    for rule, count in counts.unused.items():
        meaning = f"{rule}: {_MEANINGS[rule]}" if rule in _MEANINGS else rule
        print_line(f"records without an item: {count} ({meaning})")
    if counts.unused:
        print_line(f"  the reason of each is in {out}/records.jsonl")
    for name, reason in counts.problems.items():
        print_line(f"  {name}: {reason}")
    if counts.without_licence:
        print_line(f"items without a licence: {counts.without_licence}, flagged for review")
    print_line(f"{out}: {counts.items} questions of {counts.records} records")
    if counts.stopped:
        print_line(f"stopped: {counts.stopped}; the same command goes on")
    elif counts.failed:
        print_line(f"{counts.failed} requests failed; the same command asks again")
