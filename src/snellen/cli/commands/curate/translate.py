"""`snellen curate translate`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import VARIANT_FLAGS
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_flag, add_json, add_options, fraction, read_options
from snellen.cli.printing import JSON, TABLE, exit_interrupted, line_printer, print_result
from snellen.core.errors import UsageError
from snellen.curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen.curate.translate.step import TranslationSummary
    from snellen.curate.translate.translating import TranslationPlan


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen curate translate`."""
    parser.add_argument(
        "data", metavar="DATA", help="a benchmark, a data file or a data set folder"
    )
    parser.add_argument("--to", required=True, metavar="TAG",
                        help="language to translate into: a BCP-47 tag such as zh")  # fmt: skip
    parser.add_argument("--from", default="en", metavar="TAG", dest="source",
                        help="language of the data (default: en)")  # fmt: skip
    parser.add_argument("-m", "--model", metavar="MODEL", help="who translates")
    parser.add_argument("--back", metavar="MODEL",
                        help="who translates back, to compare with the source (chrF)")  # fmt: skip
    parser.add_argument("--judge", metavar="MODEL", help="who compares the meanings")
    parser.add_argument(
        "--check", metavar="SIBLING",
        help="check this translation of DATA by the rules; nothing is asked",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR",
                        help="folder of the translated data (default: NAME-TAG)")  # fmt: skip
    add_flag(parser, VARIANT_FLAGS["columns"])
    parser.add_argument(
        "--fields", default="question,hint,options", metavar="LIST",
        help="what is translated: some of question, hint, options, answer (of open questions); "
            "default: question,hint,options",
    )  # fmt: skip
    parser.add_argument("--keep-term", action="append", default=[], metavar="TERM|FILE",
                        help="a term that stays as it is, or a file of one a line")  # fmt: skip
    parser.add_argument(
        "--glossary", metavar="FILE",
        help="terms and their translation: TOML, JSON, or a tab between the two on each line",
    )  # fmt: skip
    parser.add_argument("--attempts", type=int, default=3, metavar="N",
                        help="how often to ask until the rules pass (default: 3)")  # fmt: skip
    parser.add_argument(
        "--min-chrf", type=fraction, default=0.3, metavar="SHARE",
        help="a way back with less chrF is doubtful (default: 0.3)",
    )  # fmt: skip
    parser.add_argument(
        "--review", default="wrong", choices=("wrong", "doubtful", "all"),
        help="which translations are flagged for `curate review` (default: wrong)",
    )  # fmt: skip
    add_json(parser)
    add_options(parser, StepOptions)


def main(arguments: Namespace) -> int:
    """Translate a data set, or check a translation."""
    from snellen.curate.translate.printing import print_translation, to_json

    plan = _plan(arguments)
    summary = _check(arguments, plan) if arguments.check else _translate(arguments, plan)
    form = JSON if arguments.json else TABLE
    print_result(form, summary, print_translation, {JSON: to_json})
    if arguments.check:
        return INCOMPLETE if summary.flagged_wrong else COMPLETE
    return INCOMPLETE if summary.abort_reason or summary.failures else COMPLETE


def _check(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    from snellen.curate.translate.step import check_sibling

    asked = [name for name in ("model", "back", "judge") if getattr(arguments, name)]
    if asked:
        raise UsageError(f"--check asks nothing; leave out --{asked[0]}, or --check")
    return check_sibling(
        arguments.data, arguments.check, plan, arguments.out, columns=arguments.columns
    )


def _translate(arguments: Namespace, plan: TranslationPlan) -> TranslationSummary:
    """Translate with the named models and show progress; exits where Ctrl-C stops it."""
    from snellen.curate.translate.step import sibling_name, translate_items
    from snellen.curate.translate.translating import BACK, JUDGE, TRANSLATOR
    from snellen.report.console import Terminal
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
        with show_progress(console) as progress:
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
        source=open_language(arguments.source),
        target=open_language(arguments.to),
        fields=parse_fields(arguments.fields),
        keep=read_terms(arguments.keep_term),
        glossary=read_glossary(arguments.glossary) if arguments.glossary else {},
        attempts=arguments.attempts,
        min_chrf=arguments.min_chrf,
        review=arguments.review,
        back=bool(arguments.back),
        judge=bool(arguments.judge),
    )
