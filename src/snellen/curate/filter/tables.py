"""The output of `snellen curate filter`: tables, JSON, Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snellen.curate.filter.judging import NO_ANSWER, NO_PICTURE, UNREADABLE
from snellen.curate.filter.summary import FilterResult, GroupCount, ModelCount, RuleCount
from snellen.report import format as fmt
from snellen.report.markdown import bullets
from snellen.report.terminal.comparison import TextTable, markdown_lines, print_table

if TYPE_CHECKING:
    from rich.console import Console

_NO_VALUE = "(none)"
_PROBLEMS = {
    UNREADABLE: "a row or picture that cannot be read",
    NO_PICTURE: "no picture",
    NO_ANSWER: "no answer",
}


def filter_tables(result: FilterResult, max_rows: int) -> Iterator[TextTable]:
    """Tables of rules, of models, and of the shares by each column."""
    headings = ("rule", "flagged", "share", "undecided", "by guessing", "same text")
    yield TextTable("flagged by rule", 1, headings, [_rule_cells(rule) for rule in result.rules])
    for kind, title in _KINDS.items():
        rows = [_model_cells(count) for count in result.models if count.kind == kind]
        if rows:
            yield TextTable(title, 1, ("model", "right", "share", "no reply", "by guessing"), rows)
    applied = [rule for rule in result.rules if rule.is_applied]
    for column in dict.fromkeys(group.column for group in result.groups):
        groups = [group for group in result.groups if group.column == column]
        # The most doubtful first; of equal ones in the order of the data.
        groups.sort(key=lambda group: -group.by_any / max(1, group.items))
        more = len(groups) - max_rows
        title = f"flagged by {fmt.display_name(column)}"
        title += f", {more} more in --json" if more > 0 else ""
        rows = [_group_cells(group, applied) for group in groups[:max_rows]]
        yield TextTable(title, 1, _group_headings(applied), rows)


_KINDS = {"text-only": "models without pictures", "vision": "models with pictures"}


def _rule_cells(rule: RuleCount) -> tuple[str, ...]:
    expected = same_text = fmt.NONE
    if rule.expected is not None:
        expected = f"{rule.expected:.1f} ({rule.expected_low}–{rule.expected_high})"
    if rule.expected_same_text is not None:
        same_text = f"{rule.expected_same_text:.1f}"
    return (
        rule.rule if rule.is_applied else f"({rule.rule})",
        fmt.count_text(rule.flagged),
        _share(rule.flagged, rule.items),
        fmt.count_text(rule.undecided),
        expected,
        same_text,
    )


def _model_cells(count: ModelCount) -> tuple[str, ...]:
    return (
        count.model,
        fmt.count_text(count.right),
        _share(count.right, count.right + count.wrong),
        fmt.count_text(count.silent),
        f"{count.chance:.1f}",
    )


def _group_headings(applied: list[RuleCount]) -> tuple[str, ...]:
    return ("value", "items", *(head for rule in applied for head in _rule_headings(rule)))


def _rule_headings(rule: RuleCount) -> tuple[str, ...]:
    """What guessing flags is shown of rules that flag what is right: of others it is most items."""
    return (rule.rule, "by guessing") if rule.kind == "text-only" else (rule.rule,)


def _group_cells(group: GroupCount, applied: list[RuleCount]) -> tuple[str, ...]:
    cells = [fmt.display_name(group.value) or _NO_VALUE, fmt.count_text(group.items)]
    for rule in applied:
        flagged = group.flagged[rule.rule]
        cells.append(f"{fmt.count_text(flagged)}, {_share(flagged, group.items)}")
        if rule.kind == "text-only":
            cells.append(f"{group.expected[rule.rule]:.1f}")
    return tuple(cells)


def _share(part: int, whole: int) -> str:
    return fmt.share_text(part / whole if whole else None)


def filter_lines(result: FilterResult) -> Iterator[str]:
    """Sentences before the tables."""
    parts = [f"{fmt.count_text(result.kept)} kept"]
    for count, words in (
        (result.flagged, "flagged"),
        (result.dropped, "dropped"),
        (result.undecided, "undecided (too few replies)"),
        *((count, f"with {_PROBLEMS[rule]}") for rule, count in result.problems.items()),
    ):
        if count:
            parts.append(f"{fmt.count_text(count)} {words}")
    yield f"{result.data}: {fmt.plural(result.items, 'item')}; {', '.join(parts)}"
    for rule in result.rules:
        compared = "" if rule.is_applied else "; to compare"
        yield f"{rule.rule}: {rule.sentence} ({rule.source}{compared})"
    if result.pairs:
        pairs = fmt.plural(result.pairs, "pair")
        yield f"{pairs} of yes/no questions: right only if both questions are"
    yield f"items: {result.folder}/items.jsonl"


def print_filter(result: FilterResult, console: Console, *, max_rows: int) -> None:
    from rich.text import Text

    for notice in result.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    for line in filter_lines(result):
        console.print(Text(line), soft_wrap=True)
    for grid in filter_tables(result, max_rows):
        console.print()
        console.print(Text(grid.title, style="bold"))
        print_table(grid, console)
    console.print()
    console.print(Text(GUESSING))


GUESSING = (
    "by guessing: items that the rule would flag if every model guessed independently in every "
    "pass (in 95 of 100 such data sets from-to); same text: if it kept to the option it drew first"
)


def filter_markdown(result: FilterResult, *, max_rows: int) -> str:
    """The sentences and tables as Markdown."""
    lines = [*bullets(result.notices), *filter_lines(result), ""]
    for grid in filter_tables(result, max_rows):
        lines += [*markdown_lines(grid), ""]
    return "\n".join([*lines, GUESSING, ""])
