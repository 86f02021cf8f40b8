"""What `snellen curate translate` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.curate.translate.rules import RULES
from snellen.curate.translate.step import TranslationSummary
from snellen.report.format import plural
from snellen.report.terminal.comparison import TextTable, print_table
from snellen.report.terminal.lines import print_text

if TYPE_CHECKING:
    from rich.console import Console

_TITLES = {
    "failed": "no reply that could be used",
    "missing": "only one of the two data sets has the id",
    "kind": "another kind of question",
    "key": "another right answer",
    "option labels": "other labels of options",
    "media": "other pictures or videos",
    "judge": "the judge sees another meaning",
}
_MAX_TERMS = 10


def print_translation(summary: TranslationSummary, console: Console) -> None:
    """The table of rules, the inconsistent terms, and what comes next."""
    source, target = summary.languages
    title = f"{summary.source} to {summary.name or target} ({source} to {target})"
    names = list(dict.fromkeys([*_TITLES, *RULES]))
    rows = [
        (name, _title(name), str(summary.wrong.get(name, 0)), str(summary.doubtful.get(name, 0)))
        for name in names
        if name in summary.wrong or name in summary.doubtful
    ]
    flagged = summary.counts.get("flag", 0)
    if rows:
        heads = ("rule", "is about", "wrong", "doubtful")
        print_table(TextTable(title, 2, heads, rows), console)
    else:
        print_text(console, title)
    print_text(
        console,
        f"{plural(summary.items, 'item')}: {summary.flagged_wrong} that a rule calls wrong, "
        f"{flagged} flagged for review",
    )
    for use in summary.inconsistent[:_MAX_TERMS]:
        words = ", ".join(f"{word} ({count})" for word, count in use.translations.items())
        print_text(console, f"not translated alike: {use.term}: {words}")
    more = len(summary.inconsistent) - _MAX_TERMS
    if more > 0:
        print_text(console, f"and {plural(more, 'more term')} in terms.json")
    if summary.abort_reason:
        print_text(console, f"stopped: {summary.abort_reason}; the same command goes on")
    elif summary.out:
        if summary.failures:
            print_text(
                console,
                f"{plural(summary.failures, 'item')} without a translation: the same command asks "
                "again, with --fresh NAME the model, too, where its reply could not be used",
            )
        print_text(console, f"data: {summary.out}/items.jsonl")


def _title(name: str) -> str:
    return _TITLES.get(name) or RULES[name].title
