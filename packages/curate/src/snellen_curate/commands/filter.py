"""`snellen curate filter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import FlagKey, argument, option, options_field
from snellen.cli.output import download_printer, exit_interrupted, line_printer
from snellen.core.errors import UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    Status,
    drop_option,
    flag_option,
    limits_option,
    parse_folder,
    publish_next,
    review_next,
    sentence,
    skip_option,
)
from snellen_curate.step_options import FilterOptions

if TYPE_CHECKING:
    from snellen.report.document import Document
    from snellen_curate.filter.summary import FilterResult


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate filter` takes."""

    data: str = argument("DATA", "a benchmark, a data file, or a data set folder of a step")
    out: str = option(MISSING, "--out", parse=parse_folder)
    drop: tuple[Any, ...] = drop_option(
        {"text-only": "what models answer without the picture", "vision": "what no model answers with it"}
    )
    vision: Sequence[str] = option((), "--model")
    """Models that are asked with the images."""
    text_only: Sequence[str] = option(
        (),
        "--text-only",
        "a model that is asked without the pictures; repeat for several",
        metavar="MODEL",
        is_repeatable=True,
    )
    runs: Sequence[str] = option((), "--runs")
    """Stored runs, whose `run.json` says whether there were images."""
    flag: Sequence[str] = flag_option(
        (),
        "RULE",
        is_repeatable=True,
        keys={
            "text-majority[:SHARE], text-more-than[:COUNT], text-all": FlagKey(
                "that many models without the pictures are right"
            ),
            "vision-none[:COUNT]": FlagKey("at most that many with them are"),
        },
        parse=str,
    )
    group: Sequence[str] = option((), "--group", is_repeatable=True)
    """Empty: the groups of the data, and their source."""
    top: int = option(20, "--top")
    skip: tuple[str, ...] = skip_option(
        {
            "pairs": "judging both yes/no questions of a pair together",
            "replies": "the replies in the decisions about items that no rule flags",
        }
    )
    limits: Mapping[str, Any] = limits_option(
        {
            "min_replies": FlagKey(
                "judge an item by the models that replied if they are at least this many (only if "
                "the others could change nothing)",
                int,
            )
        }
    )
    asking: FilterOptions = options_field(FilterOptions)


def main(options: Options) -> Finished:
    """Flag items, ask what is missing, and print the tables."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.progress import show_progress
    from snellen_curate.filter.filtering import FilterRules, Reports, filter_items
    from snellen_curate.filter.summary import filter_document

    if options.top < 1:
        raise UsageError(f"--top is {options.top}; expected at least 1")
    console = Terminal(stderr=True)
    rules = FilterRules(
        rules=tuple(options.flag),
        pairs="pairs" not in options.skip,
        drop=options.drop,
        brief="replies" in options.skip,
        by=tuple(options.group),
        **options.limits,
    )
    try:
        with nullcontext(NoProgress()) if options.quiet else show_progress(console) as progress:
            result = filter_items(
                options.data,
                options.out,
                text_only=options.text_only,
                vision=options.vision,
                runs=options.runs,
                rules=rules,
                options=options.asking,
                reports=Reports(progress, line_printer(console), download_printer(console), options.command_line),
            )
    except (RunInterrupted, KeyboardInterrupt):
        exit_interrupted(Path(options.out), console, options.command_line)
    return _finish(options, result, filter_document(result, options.top))


def _finish(options: Options, result: FilterResult, document: Document) -> Finished:
    """How the step ended, and what comes next."""
    if not result.undecided:
        is_flagged = bool(result.flagged or result.problems)
        status: Status = "flagged" if is_flagged else "clean"
        next = review_next(options.out) if is_flagged else publish_next(options.out)
        return Finished(status, document, next)
    if options.text_only or options.vision:
        return Finished("incomplete", document, options.again)
    advice = sentence(
        "finish the runs that lack replies, or judge by those that are there: "
        f"--limits min_replies=N, {result.undecided} undecided"
    )
    return Finished("incomplete", document._replace(blocks=[*document.blocks, advice]))
