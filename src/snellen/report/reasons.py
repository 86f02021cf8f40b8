"""What `snellen why` says: the split of a difference, and examples of each part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from snellen.analysis.examples import Example
from snellen.analysis.stages import Cause
from snellen.analysis.why import Why
from snellen.report import format as fmt
from snellen.report.comparison import Grid, markdown_of, table_of
from snellen.report.markdown import bullets, literal

if TYPE_CHECKING:
    from rich.console import Console

CAUSE_WORDS: Mapping[Cause, str] = {
    "data": "data",
    "media": "media",
    "prompt": "prompt",
    "failures": "failures",
    "decoding": "decoding, truncation",
    "model": "the model",
    "chance": "chance",
    "extraction": "extraction",
    "judge": "judge",
    "scoring": "scoring rule",
}


def heading(found: Why) -> str:
    """Both scores and their difference."""
    return (
        f"{found.benchmark}: {found.first} {fmt.points(found.first_score)}, {found.second} "
        f"{fmt.points(found.second_score)}: {fmt.signed(found.difference)} points"
    )


def split(found: Why) -> Grid:
    """A row for each cause, and their sum."""
    rows = [
        (
            CAUSE_WORDS[one.cause],
            fmt.signed(one.points),
            fmt.signed_span(one.interval),
            f"+{fmt.number(one.gained)} –{fmt.number(one.lost)}",
            fmt.number(one.apart) if one.apart else "",
        )
        for one in found.shares
    ]
    total = ("all", fmt.signed(found.difference), fmt.signed_span(found.interval), "", "")
    heads = ("cause", "points", "95 % interval", "samples", "in one only")
    return Grid("", 1, heads, [*rows, total])


def made_with(found: Why) -> Grid:
    """What the runs were made with, where it differs."""
    rows = [(one.name, one.first, one.second) for one in found.settings]
    return Grid("made with", 3, ("", found.first, found.second), rows)


def examples(found: Why) -> Iterator[tuple[str, list[str]]]:
    """Examples of each cause, as lines under its name."""
    for share in found.shares:
        lines = [line for one in share.examples for line in _example(one)]
        if lines:
            yield CAUSE_WORDS[share.cause], lines


def _example(one: Example) -> Iterator[str]:
    yield f"{one.id}: {one.question}"
    yield f"  {one.detail}"
    for score, answer, reply in (
        (one.first_score, one.first_answer, one.first_reply),
        (one.second_score, one.second_answer, one.second_reply),
    ):
        told = "not scored" if score is None else f"{100 * score:.0f}"
        read = f"read as {answer}: " if answer is not None else ""
        yield f"  {told:>10}  {read}{reply!r}"


def print_why(found: Why, console: Console) -> None:
    from rich.text import Text

    for notice in found.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    console.print(Text(heading(found), style="bold"))
    console.print(table_of(split(found)))
    if found.settings:
        console.print()
        console.print(table_of(made_with(found)))
    for name, lines in examples(found):
        console.print()
        console.print(Text(name, style="bold"))
        for line in lines:
            console.print(Text(line), soft_wrap=True)


def to_markdown(found: Why) -> str:
    lines = [*bullets(found.notices), "", literal(heading(found)), ""]
    lines += markdown_of(split(found))
    if found.settings:
        lines += ["", *markdown_of(made_with(found))]
    for name, told in examples(found):
        lines += ["", f"**{name}**", "", "```text", *told, "```"]
    return "\n".join(lines).strip() + "\n"


def to_json(found: Why) -> str:
    """One object, unrounded."""
    return msgspec.json.encode(found).decode() + "\n"


WHY_EXPORTS: Mapping[str, Callable[[Why], str]] = {"json": to_json, "markdown": to_markdown}
