"""`snellen curate translate`."""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.flags import read_options
from snellen.cli.printing import exit_interrupted, line_printer, print_line
from snellen.core.errors import UsageError
from snellen.report.console import Terminal
from snellen_curate.commands import Finished, refuse_flags
from snellen_curate.commands._table import Status
from snellen_curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen_curate.translate.step import TranslationSummary
    from snellen_curate.translate.translating import TranslationPlan

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


def main(arguments: Namespace) -> Finished:
    """Translate a data set, or check a translation."""
    plan = _plan(arguments)
    summary = _check(arguments, plan) if arguments.check else _translate(arguments, plan)
    arguments.out = summary.out
    flagged = summary.counts.get("flag", 0) if summary.out else summary.flagged_wrong
    status: Status = "flagged" if flagged else "clean"
    if summary.abort_reason or (summary.failures and not arguments.check):
        status = "incomplete"
    return Finished(status, summary, lambda: _print_summary(summary))


def _check(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    from snellen_curate.translate.step import check_sibling

    refuse_flags(arguments, ("model", "back", "judge"), "--check asks nothing")
    return check_sibling(
        arguments.data, arguments.check, plan, arguments.out, columns=arguments.columns
    )


def _translate(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    """Translate with the named models and show progress; exits where Ctrl-C stops it."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.report.terminal.progress import show_progress
    from snellen_curate.translate.step import sibling_name, translate_items
    from snellen_curate.translate.translating import BACK, JUDGE, TRANSLATOR

    if not arguments.model:
        raise UsageError(
            "no model translates: name one with -m MODEL, or an existing translation with "
            "--check SIBLING"
        )
    named = {TRANSLATOR: arguments.model, BACK: arguments.back, JUDGE: arguments.judge}
    models = {role: model for role, model in named.items() if model}
    out = Path(arguments.out or sibling_name(arguments.data, plan, arguments.columns))
    console = Terminal(stderr=True)
    try:
        with nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress:
            return translate_items(
                arguments.data,
                out,
                plan,
                models,
                read_options(arguments, StepOptions),
                columns=arguments.columns,
                progress=progress,
                notify=line_printer(console),
            )
    except KeyboardInterrupt:
        exit_interrupted(out, console, arguments.command_line)


def _plan(arguments: Namespace) -> TranslationPlan:
    from snellen_curate.translate.languages import open_language
    from snellen_curate.translate.terms import read_glossary, read_terms
    from snellen_curate.translate.translating import TranslationPlan, parse_fields

    return TranslationPlan(
        source=open_language(getattr(arguments, "from")),
        target=open_language(arguments.to),
        fields=parse_fields(arguments.fields),
        keep=read_terms(arguments.keep),
        glossary=read_glossary(arguments.glossary) if arguments.glossary else {},
        attempts=arguments.attempts,
        min_chrf=arguments.min_chrf,
        review=arguments.flag,
        back=bool(arguments.back),
        judge=bool(arguments.judge),
    )


def _print_summary(summary: TranslationSummary) -> None:
    """The table of rules, the inconsistent terms, and what comes next."""
    from snellen.report.format import plural
    from snellen.report.terminal.text_table import TextTable, print_table
    from snellen_curate.translate.rules import RULES

    console = Terminal()
    source, target = summary.languages
    title = f"{summary.source} to {summary.name or target} ({source} to {target})"
    titles = _TITLES | {name: rule.title for name, rule in RULES.items()}
    rows = [
        (name, about, str(summary.wrong.get(name, 0)), str(summary.doubtful.get(name, 0)))
        for name, about in titles.items()
        if name in summary.wrong or name in summary.doubtful
    ]
    flagged = summary.counts.get("flag", 0)
    if rows:
        heads = ("rule", "is about", "wrong", "doubtful")
        print_table(TextTable(title, 2, heads, rows), console)
    else:
        print_line(title)
    print_line(
        f"{plural(summary.items, 'item')}: {summary.flagged_wrong} that a rule calls wrong, "
        f"{flagged} flagged for review"
    )
    for use in summary.inconsistent[:_MAX_TERMS]:
        words = ", ".join(f"{word} ({count})" for word, count in use.translations.items())
        print_line(f"not translated alike: {use.term}: {words}")
    more = len(summary.inconsistent) - _MAX_TERMS
    if more > 0:
        print_line(f"and {plural(more, 'more term')} in terms.json")
    if summary.abort_reason:
        print_line(f"stopped: {summary.abort_reason}; the same command goes on")
    elif summary.out:
        if summary.failures:
            print_line(
                f"{plural(summary.failures, 'item')} without a translation: the same command asks "
                "again, with --fresh NAME the model, too, where its reply could not be used"
            )
        print_line(f"data: {summary.out}/items.jsonl")
