"""What `snellen why` says: the split of a difference, and examples of each part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from snellen.analysis.causes.attribution import Method
from snellen.analysis.causes.differing_samples import Example
from snellen.analysis.causes.factors import Cause
from snellen.analysis.causes.why import Share, Why, open_combinations
from snellen.report import format as fmt
from snellen.report.markdown import bullets, literal
from snellen.report.terminal.comparison import Grid, markdown_of, table_of

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
_METHOD_WORDS: Mapping[Method, str] = {
    "alone": "alone",
    "read again": "read again",
    "measured": "measured",
    "joint": "together",
}
_NOISE = 1e-9
"""Points by which sums of floats differ."""
_UNKNOWN_ASKING = frozenset({"media", "prompt", "decoding", "model"})
"""All that a file of predictions does not tell."""


def causes_words(causes: Sequence[Cause]) -> str:
    """`prompt or the model`: what is attributed to several causes at once."""
    if set(causes) >= _UNKNOWN_ASKING:
        rest = [CAUSE_WORDS[one] for one in causes if one not in _UNKNOWN_ASKING]
        return " or ".join(["the model or how it was asked", *rest])
    return " or ".join(CAUSE_WORDS[one] for one in causes)


def heading(found: Why) -> str:
    """Both scores and their difference."""
    return (
        f"{found.benchmark}: {found.first} {fmt.points(found.first_score)}, {found.second} "
        f"{fmt.points(found.second_score)}: {fmt.signed(found.observed.difference)} points"
    )


def observed(found: Why) -> Grid:
    """The difference itself."""
    seen = found.observed
    head = ["", "points", "95 % interval", "p", "samples"]
    row = [
        f"{found.second} – {found.first}",
        fmt.signed(seen.difference),
        fmt.signed_span(seen.interval),
        fmt.NONE if seen.p is None else fmt.p_text(seen.p),
        fmt.number(seen.aligned),
    ]
    if seen.anytime is not None:
        head.append("anytime interval")
        row.append(fmt.signed_span(seen.anytime))
    return Grid("observed", 1, tuple(head), [tuple(row)])


def attributed(found: Why) -> Grid:
    """A row for each cause, or for several that cannot be told apart, and their sum. Columns that
    would be empty are left out."""
    heads = ("cause", "points", "least to most", "95 % interval", "samples", "in one only", "how")
    total = ("all", fmt.signed(found.observed.difference), "", "", "", "", "")
    rows = [*(row for one in found.shares for row in _rows(one)), total]
    kept = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    picked = [tuple(row[at] for at in kept) for row in rows]
    return Grid("attributed", 1, [heads[at] for at in kept], picked)


def _rows(one: Share) -> Iterator[tuple[str, ...]]:
    yield (
        causes_words(one.causes),
        fmt.signed(one.points),
        _range(one.least, one.most) if _has_range(one) else "",
        fmt.signed_span(one.interval),
        f"+{fmt.number(one.gained)} –{fmt.number(one.lost)}",
        fmt.number(one.apart) if one.apart else "",
        _how(one),
    )
    if one.method == "joint" and not set(one.causes) >= _UNKNOWN_ASKING:
        for cause in one.causes:
            bracket = _range(min(0.0, one.points), max(0.0, one.points))
            yield (f"  {CAUSE_WORDS[cause]}", fmt.NONE, bracket, "", "", "", "")


def _has_range(one: Share) -> bool:
    """Whether it was switched in several orders, or might have moved otherwise in another."""
    return one.method in ("read again", "measured") or one.most - one.least > _NOISE


def _range(least: float, most: float) -> str:
    return f"{fmt.signed(least)} to {fmt.signed(most)}"


def _how(one: Share) -> str:
    words = _METHOD_WORDS[one.method]
    if one.method in ("measured", "read again") and one.orders < one.possible:
        return f"{words} {one.orders}/{one.possible}"
    return words


def remarks(found: Why) -> Iterator[str]:
    """What the parts rest on, in sentences."""
    for run in found.between:
        switched = " and ".join("the model" if one == "model" else one for one in run.switched)
        yield (
            f"{run.name} tells causes apart: as {found.second} in {switched}, else as {found.first}"
        )
    joint = [share for share in found.shares if share.method == "joint"]
    for share in joint:
        several = len(share.causes)
        far = [(share.points + sign * 100 * (several - 1)) / several for sign in (-1, 1)]
        yield (
            f"{causes_words(share.causes)}: they differ together, so that these runs do not tell "
            f"how much of {fmt.signed(share.points)} is of which. The bounds hold if none works "
            f"against another; without that each may be anything from {_range(*far)}"
        )
    partly = [
        share
        for share in found.shares
        if share.method == "measured" and share.orders < share.possible
    ]
    for share in partly[:1]:
        yield (
            f"of {share.possible} orders in which the causes can be switched {share.orders} "
            f"{'is' if share.orders == 1 else 'are'} measured"
        )
    if open_combinations(found):
        yield "to measure it: the same command with --ask, which tells the price first"
    if found.observed.reason:
        yield found.observed.reason


def made_with(found: Why) -> Grid:
    """What the runs were made with, where it differs."""
    rows = [(one.name, one.first, one.second) for one in found.settings]
    return Grid("made with", 3, ("", found.first, found.second), rows)


def examples(found: Why) -> Iterator[tuple[str, list[str]]]:
    """Examples of each cause, as lines under its name."""
    for share in found.shares:
        lines = [line for one in share.examples for line in _example(one)]
        if lines:
            yield causes_words(share.causes), lines


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
    for grid in (observed(found), attributed(found)):
        console.print(Text(grid.title, style="dim"))
        console.print(table_of(grid))
    for line in remarks(found):
        console.print(Text(line), soft_wrap=True)
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
    lines += [*markdown_of(observed(found)), "", *markdown_of(attributed(found))]
    lines += ["", *bullets(remarks(found))]
    if found.settings:
        lines += ["", *markdown_of(made_with(found))]
    for name, told in examples(found):
        lines += ["", f"**{name}**", "", "```text", *told, "```"]
    return "\n".join(lines).strip() + "\n"


def to_json(found: Why) -> str:
    """One object, unrounded."""
    return msgspec.json.encode(found).decode() + "\n"


WHY_EXPORTS: Mapping[str, Callable[[Why], str]] = {"json": to_json, "markdown": to_markdown}
