"""`snellen curate translate`."""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.commands.curate import Finished, refuse_flags
from snellen.cli.commands.curate._table import Status
from snellen.cli.flags import read_options
from snellen.cli.printing import exit_interrupted, line_printer
from snellen.core.errors import UsageError
from snellen.curate.step_options import StepOptions
from snellen.report.console import Terminal

if TYPE_CHECKING:
    from snellen.curate.translate.step import TranslationSummary
    from snellen.curate.translate.translating import TranslationPlan


def main(arguments: Namespace) -> Finished:
    """Translate a data set, or check a translation."""
    from snellen.curate.translate.printing import print_translation

    plan = _plan(arguments)
    summary = _check(arguments, plan) if arguments.check else _translate(arguments, plan)
    arguments.out = summary.out
    flagged = summary.counts.get("flag", 0) if summary.out else summary.flagged_wrong
    status: Status = "flagged" if flagged else "clean"
    if summary.abort_reason or (summary.failures and not arguments.check):
        status = "incomplete"
    return Finished(status, summary, lambda: print_translation(summary, Terminal()))


def _check(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    from snellen.curate.translate.step import check_sibling

    refuse_flags(arguments, ("model", "back", "judge"), "--check asks nothing")
    return check_sibling(
        arguments.data, arguments.check, plan, arguments.out, columns=arguments.columns
    )


def _translate(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    """Translate with the named models and show progress; exits where Ctrl-C stops it."""
    from snellen.curate.translate.step import sibling_name, translate_items
    from snellen.curate.translate.translating import BACK, JUDGE, TRANSLATOR
    from snellen.engine.loop.progress import NoProgress
    from snellen.report.terminal.progress import show_progress

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
    from snellen.curate.translate.languages import open_language
    from snellen.curate.translate.terms import read_glossary, read_terms
    from snellen.curate.translate.translating import TranslationPlan, parse_fields

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
