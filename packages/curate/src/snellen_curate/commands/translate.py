"""`snellen curate translate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from snellen.api.flags import FlagKey, argument, option, options_field
from snellen.cli.output import exit_interrupted, line_printer
from snellen.core.errors import UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    Status,
    flag_option,
    limits_option,
    only_model,
    parse_folder,
    publish_next,
    refuse_flags,
    review_next,
    roles_option,
)
from snellen_curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen_curate.translate.step import TranslationSummary
    from snellen_curate.translate.translating import TranslationPlan


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate translate` takes."""

    data: str = argument("DATA", "a benchmark, a data file or a data set folder")
    out: str | None = option(None, "--out", parse=parse_folder)
    """None: NAME-TAG."""
    model: Sequence[str] = option((), "--model")
    """Who translates."""
    roles: Mapping[str, str] = roles_option({"judge": "compares the meanings"})
    columns: Mapping[str, str] | None = option(None, "--columns")
    language: str = option(
        MISSING,
        "--language",
        "language to translate into, a BCP-47 tag such as zh; FROM where the data are not in English, e.g. de:zh",
        metavar="[FROM:]TO",
    )
    check: str | None = option(
        None, "--check", "check this translation of DATA by the rules; nothing is asked", metavar="SIBLING"
    )
    fields: str = option(
        "question,hint,options",
        "--fields",
        "what is translated: some of question, hint, options, answer (of open questions)",
        metavar="NAME,...",
    )
    terms: Sequence[str] = option(
        (),
        "--terms",
        "a term that stays as it is, a file of such terms, one a line, or a TOML "
        'file of terms with their translation, as in cat = "猫"; repeat for several',
        metavar="TERM|FILE",
        is_repeatable=True,
    )
    limits: Mapping[str, Any] = limits_option({"attempts": FlagKey("how often to ask until the rules pass (3)", int)})
    flag: Literal["wrong", "doubtful", "all"] = flag_option(
        "wrong", "wrong|doubtful|all", choices=("wrong", "doubtful", "all")
    )
    """Translations: those that a rule calls wrong, or doubtful, or all."""
    asking: StepOptions = options_field(StepOptions)


def main(options: Options) -> Finished:
    """Translate a data set, or check a translation."""
    from snellen_curate.translate.step import summary_document

    plan = _plan(options)
    summary = _check(options, plan) if options.check else _translate(options, plan)
    flagged = summary.counts.get("flag", 0) if summary.out else summary.flagged_wrong
    document = summary_document(summary)
    if summary.abort_reason or (summary.failures and not options.check):
        return Finished("incomplete", document, options.again)
    status: Status = "flagged" if flagged else "clean"
    next = review_next(summary.out) if flagged else publish_next(summary.out)
    return Finished(status, document, next)


def _check(options: Options, plan: TranslationPlan) -> TranslationSummary:
    from snellen_curate.translate.step import check_sibling

    refuse_flags({"-m": options.model, "--model-for": options.roles}, "--check asks nothing")
    return check_sibling(options.data, options.check or "", plan, options.out, columns=options.columns)


def _translate(options: Options, plan: TranslationPlan) -> TranslationSummary:
    """Translate with the named models and show progress; exits where Ctrl-C stops it."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.report.console import Terminal
    from snellen.report.progress import show_progress
    from snellen_curate.translate.step import sibling_name, translate_items
    from snellen_curate.translate.translating import JUDGE, TRANSLATOR

    model = only_model(options.model)
    if not model:
        raise UsageError("no model translates: name one with -m MODEL, or an existing translation with --check SIBLING")
    models = {TRANSLATOR: model} | {role: name for role, name in options.roles.items() if role == JUDGE}
    out = Path(options.out or sibling_name(options.data, plan, options.columns))
    console = Terminal(stderr=True)
    try:
        with nullcontext(NoProgress()) if options.quiet else show_progress(console) as progress:
            return translate_items(
                options.data,
                out,
                plan,
                models,
                options.asking,
                columns=options.columns,
                progress=progress,
                notify=line_printer(console),
            )
    except KeyboardInterrupt:
        exit_interrupted(out, console, options.command_line)


def _plan(options: Options) -> TranslationPlan:
    from snellen_curate.translate.languages import open_language
    from snellen_curate.translate.terms import read_glossary, read_terms
    from snellen_curate.translate.translating import TranslationPlan, parse_fields

    source, _, target = options.language.rpartition(":")
    files = [name for name in options.terms if name.endswith(".toml")]
    return TranslationPlan(
        source=open_language(source or "en"),
        target=open_language(target),
        fields=parse_fields(options.fields),
        keep=read_terms(name for name in options.terms if name not in files),
        glossary={term: word for file in files for term, word in read_glossary(file).items()},
        review=options.flag,
        judge="judge" in options.roles,
        **options.limits,
    )
