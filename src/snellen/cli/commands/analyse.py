"""`snellen analyse`: what is behind the numbers of finished runs. No model is asked but a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.api.flags import argument, option, option_flags, options_field, parse_token_count
from snellen.api.options import DEFAULT_STORE, SourceOptions
from snellen.cli.flags import RUNS, open_runs
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from snellen.analysis.causes.gains import Gain, Leakage
    from snellen.analysis.findings.score_tables import ScoreTable
    from snellen.core.model import AnyModel
    from snellen.report.document import Document
    from snellen.store.runs import RunFolder

_TABLE_SUFFIXES = (".csv", ".tsv")
_LABEL_SUFFIXES = (".json", ".csv")


def _runs(options: Options) -> tuple[list[RunFolder], list[str]]:
    """The runs of all sources without duplicates, and a name for each."""
    from snellen.report.documents.comparison import comparison_names

    runs = open_runs(options.sources, options.reading)
    return runs, comparison_names(runs)


def _single_runs(options: Options) -> tuple[list[RunFolder], list[str]]:
    """Runs whose replies are analysed one by one. Raises UsageError for runs with repeats."""
    from snellen.store.runs import require_single

    runs, names = _runs(options)
    require_single(runs, f"analyse {options.finding}")
    return runs, names


def _tables(options: Options, suffixes: tuple[str, ...]) -> list[str]:
    """The sources that are tables of numbers or labels, by these `suffixes`, and no predictions."""
    from snellen.api.run_sources import holds_replies

    if options.reading.benchmark is not None:
        return []
    files = [path for path in options.sources if Path(path).suffix.lower() in suffixes]
    return [path for path in files if not holds_replies(path)]


def _group(options: Options) -> str:
    return options.group or "category"


def _judge(options: Options) -> AnyModel:
    """The judge, which may be of a file of `--load`. Raises UsageError for several."""
    from snellen.models.naming.custom import load_files

    if len(options.judge) != 1:
        raise UsageError(f"--judge names {len(options.judge)} models; expected one")
    [name] = options.judge
    return load_files(options.load).models.get(name, name)


def _of_runs(finding: str, single: bool = False, grouped: bool = False) -> Callable[[Options], Document]:
    """The finding `MODULE.FUNCTION` of `report.findings` about runs with their names: about `single`
    replies, or `grouped` by a column."""

    def document(options: Options) -> Document:
        runs, names = (_single_runs if single else _runs)(options)
        return _call(finding, runs, names, *([_group(options)] if grouped else []))

    return document


def _of_scores(finding: str) -> Callable[[Options], Document]:
    """The finding about scores by group."""
    return lambda options: _call(finding, _scores(options)[0], _group(options))


def _call(finding: str, *arguments: object) -> Document:
    module, _, name = finding.partition(".")
    document: Document = getattr(import_module(f"snellen.report.findings.{module}"), name)(*arguments)
    return document


def _scores(options: Options) -> tuple[ScoreTable, list[RunFolder]]:
    """Scores from one CSV file, or from runs; the runs come with them."""
    from snellen.analysis.findings.score_tables import scores_from_csv, scores_from_reports, select_scores
    from snellen.api.report import reports_of
    from snellen.data.tables.open_table import open_table

    only = options.only or ""
    if files := _tables(options, _TABLE_SUFFIXES):
        if len(options.sources) > 1:
            raise UsageError("give one CSV of scores, or runs, and not several sources of both")
        return select_scores(scores_from_csv(open_table(files[0])), only), []
    runs, names = _runs(options)
    reports = reports_of(runs)
    table = select_scores(scores_from_reports(reports, names, _group(options)), only)
    return table, [run for run, name in zip(runs, names, strict=True) if name in table.scores]


def _cards(options: Options) -> Document:
    """The document of `abilities`, with samples and their images as its figure."""
    document, table, runs = _hard_abilities(options)
    if not runs:
        raise UsageError("cards shows samples, which a CSV of scores does not hold; give runs")
    return document._replace(plot=partial(_draw_cards, options, table, runs))


def _draw_cards(options: Options, table: ScoreTable, runs: Sequence[RunFolder]) -> Figure:
    from snellen.analysis.findings.abilities import abilities, hard_samples
    from snellen.analysis.samples.error_samples import WrongAnswer
    from snellen.api.error_labels import image_urls
    from snellen.report.plots.hard_cards import build_cards, draw_cards

    top, each = _hardest(options)
    ordered = abilities(table)[:top]
    names = [ability.name for ability in ordered]
    samples = hard_samples(runs, _group(options), names, max(1, each))
    answers = [WrongAnswer(runs[0], sample.ability, sample.record) for sample in samples]
    images = image_urls(answers, options.reading.data)
    cards = build_cards(samples, ordered, list(table.scores), images)
    return draw_cards("Wrong in every run", cards)


def _hard_abilities(options: Options) -> tuple[Document, ScoreTable, list[RunFolder]]:
    from snellen.report.findings.scores import hard_abilities

    top, each = _hardest(options)
    table, runs = _scores(options)
    return hard_abilities(table, runs, _group(options), top, each), table, runs


def _hardest(options: Options) -> tuple[int, int]:
    """How many of the hardest groups are shown, and how many samples of each."""
    each = 3 if options.each is None else options.each
    if options.top < 1 or each < 0:
        raise UsageError("--top must be at least 1 and --each at least 0")
    return options.top, each


def _languages(options: Options) -> Document:
    """English next to Chinese, from runs or from two tables of scores."""
    from snellen.analysis.causes.gains import gains
    from snellen.analysis.findings.score_tables import scores_from_csv
    from snellen.data.tables.open_table import open_table
    from snellen.report.findings.scores import language_tables, languages

    files = _tables(options, _TABLE_SUFFIXES)
    if not files:
        runs, _ = _runs(options)
        pairs = gains(runs, "lang", base="en")
        if not pairs:
            raise UsageError(
                f"no two of the {len(runs)} runs differ in their language alone; give runs of one "
                "model and benchmark, one of them with lang=en"
            )
        return languages(pairs)
    if len(files) != 2 or len(options.sources) != 2:
        raise UsageError("give two CSV files of scores, English first, or runs in both languages")
    first, second = (scores_from_csv(open_table(path)) for path in files)
    return language_tables(first, second, options.group or "overall")


def _gains(options: Options) -> Document:
    """What a setting is worth in these runs."""
    from snellen.report.documents.gains import gain_document

    runs, _ = _runs(options)
    leakages = _leakages(runs, options.language_model)
    return gain_document(_compute_gains(options, runs, required=not leakages), leakages)


def _compute_gains(options: Options, runs: Sequence[RunFolder], required: bool) -> list[Gain]:
    from snellen.analysis.causes.gains import gains

    by, equals, base = (options.by or "").partition("=")
    pairs = gains(runs, by or None, base=base if equals else None, group=options.group or None)
    if pairs or not required:
        return pairs
    what = f"in {by!r} alone" if by else "in a control, cot or shots alone"
    with_base = f", one of them with {base!r}" if equals else ""
    advice = "make such a run, e.g. with --control blind"
    if by:
        advice = "give runs with different settings of it"
        parameters = [run.info.config.parameters for run in runs]
        names = sorted({name for one in parameters for name in one})
        others = [name for name in names if len({one.get(name) for one in parameters}) > 1]
        advice += f"; these differ in {', '.join(others)}" if others else ""
    raise UsageError(
        f"no two runs (of {len(runs)} given) are of one model and benchmark and differ {what}{with_base}; {advice}"
    )


def _leakages(runs: Sequence[RunFolder], language_model: str | None) -> list[Leakage]:
    from snellen.analysis.causes.gains import leakages
    from snellen.store.runs import open_run

    if language_model is None:
        return []
    results = leakages(runs, open_run(language_model))
    if not results:
        raise UsageError(
            "--language-model: none of the runs is blind and of the same benchmark; make one with --control blind"
        )
    return results


def _yes_no(options: Options) -> Document:
    from snellen.report.findings.yes_no import yes_no_problems

    if not options.judge and (options.sheet or options.labels):
        raise UsageError("--sheet and --labels are about the verdicts of a judge; add --judge MODEL")
    if options.each is not None and options.each < 1:
        raise UsageError(f"--each is {options.each}; expected at least 1 explanation")
    runs, names = _single_runs(options)
    document = yes_no_problems(runs, names, options.group or "")
    return _judge_reasoning(options, document, runs, names) if options.judge else document


def _judge_reasoning(options: Options, document: Document, runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Add MME's third problem by a judge to a finding, and write the sheet if one is named."""
    from snellen.analysis.findings.yes_no_problems import reasoned_errors
    from snellen.api.reasoning_judge import judge_reasoning, read_sheet, write_sheet
    from snellen.report.document import titled_document
    from snellen.report.findings.yes_no import broken_reasoning

    labels = read_sheet(Path(options.labels)) if options.labels else {}
    errors = [error for run, name in zip(runs, names, strict=True) for error in reasoned_errors(run.records(), name)]
    verdicts = judge_reasoning(errors, _judge(options), options.store)
    notices = document.notices
    if len(verdicts) < len(errors):
        unread = len(errors) - len(verdicts)
        notices.append(f"{unread} of {len(errors)} replies of the judge have no verdict")
    if options.labels and not labels.keys() & verdicts.keys():
        raise UsageError(f"{options.labels} labels no explanation of these runs")
    if options.sheet:
        sheet, each = Path(options.sheet), options.each or 30
        count = write_sheet(errors, verdicts, sheet, each, options.seed)
        notices.append(
            f"{options.sheet}: {count} explanations to label; write yes where one supports the "
            "right answer, else no, and give the file to --labels"
        )
    elif not labels:
        notices.append("the errors of the judge are not known: --sheet FILE.csv measures them")
    tables = [*document.tables, *broken_reasoning(errors, verdicts, labels)]
    return titled_document(document.title, tables, notices, document.plot)


def _budget(options: Options) -> Document:
    from snellen.report.findings.reply_budgets import reply_budgets

    limits = (options.at or "").split(",")
    return reply_budgets(*_runs(options), [parse_token_count(one) for one in limits if one.strip()])


def _errors(options: Options) -> Document:
    labels = _tables(options, _LABEL_SUFFIXES)
    if not labels:
        if options.labels:
            raise UsageError("--labels corrects a judge's labels; give these, e.g. FILE.judge.json")
        return _error_page(options)
    if len(labels) < len(options.sources):
        raise UsageError("give runs, to write a page, or saved labels, to count them; not both")
    from snellen.analysis.samples.error_samples import read_error_labels
    from snellen.report.findings.errors import error_types, judged_types

    label_sets = [read_error_labels(Path(path)) for path in labels]
    if options.labels:
        return judged_types(label_sets, read_error_labels(Path(options.labels)))
    return error_types(label_sets)


def _error_page(options: Options) -> Document:
    """Write the page to label wrong answers, with the labels of the judge if one is named."""
    from snellen.analysis.samples.error_samples import draw_wrong_answers, write_error_labels
    from snellen.api.error_labels import image_urls, propose_labels
    from snellen.core.atomic_write import save
    from snellen.report.findings.errors import sampled_errors
    from snellen.report.page.error_page import error_page

    runs, _ = _single_runs(options)
    page = Path(options.sheet or "errors.html")
    moved, each = options.reading.data, 5 if options.each is None else options.each
    answers = draw_wrong_answers(runs, _group(options), each, options.seed)
    labels, notices = None, []
    if options.judge:
        proposals = propose_labels(answers, _judge(options), options.store, moved)
        labels, labels_file = proposals.labels, page.with_suffix(".judge.json")
        write_error_labels(labels, labels_file)
        notices = [f"{labels_file}: labels of {labels.labeller}", *proposals.notices]
    save(page, error_page(answers, image_urls(answers, moved), labels))
    return sampled_errors(answers, str(page), notices)


def _readers(options: Options) -> Document:
    from snellen.analysis.parsing.parsing_quality import quality_in_run, stored_qualities
    from snellen.analysis.parsing.unread_replies import extractor_agreement, read_labels
    from snellen.report.findings.parsers import parser_quality

    if not options.sources and options.sheet is None and options.labels is None:
        return parser_quality(stored_qualities())
    if not options.sources or (options.sheet is None) == (options.labels is None):
        raise UsageError(
            "readers writes a sheet of RUN to label with --sheet FILE.csv, or compares RUN with a "
            "filled one with --labels FILE.csv; give one of these, or neither and no run, to "
            "measure the parsing rules on the labels that Snellen has"
        )
    runs, names = _single_runs(options)
    if options.labels is None:
        return _reader_sheet(options, runs)
    labels = read_labels(Path(options.labels))
    agreements = [extractor_agreement(run, labels) for run in runs]
    return parser_quality([quality_in_run(run, labels) for run in runs], agreements, names)


def _reader_sheet(options: Options, runs: Sequence[RunFolder]) -> Document:
    """Write a sample of the replies that no rule could parse for people to label."""
    from snellen.analysis.parsing.unread_replies import sample_replies, unread_replies, write_sheet
    from snellen.report.document import Document, Line

    unread = [reply for run in runs for reply in unread_replies(run.records())]
    distinct = list({(reply.id, reply.pass_index, reply.text): reply for reply in unread}.values())
    if not distinct:
        return Document([Line("every reply was read by a rule: nothing to label")])
    sheet = sample_replies(distinct, options.share, options.seed)
    write_sheet(sheet, Path(options.sheet or ""))
    said = f"{options.sheet}: {len(sheet)} of {len(distinct)} unread replies to label"
    return Document([Line(said, "heading", is_unbroken=True)])


class Finding(NamedTuple):
    """What `snellen analyse` can find, and the flags that only some findings have."""

    help: str
    document: Callable[[Options], Document]
    flags: Sequence[str] = ()


_JUDGED = ("--group", "--judge", "--load", "--store", "--sheet", "--each", "--seed", "--labels")
_SCORES = ("--group", "--only")
FINDINGS: Mapping[str, Finding] = {
    "letters": Finding(
        "letters chosen against gold, and a test of position bias", _of_runs("choices.letters", single=True)
    ),
    "refusals": Finding(
        "refusals by group, and the score without them",
        _of_runs("choices.refusals", single=True, grouped=True),
        ("--group",),
    ),
    "steps": Finding(
        "replies parsed at each step: label, content, language model", _of_runs("choices.steps", single=True)
    ),
    "abilities": Finding(
        "groups by the best score of any model, and samples that all get wrong",
        lambda options: _hard_abilities(options)[0],
        (*_SCORES, "--top", "--each"),
    ),
    "cards": Finding("the same; -o draws these samples with their images", _cards, (*_SCORES, "--top", "--each")),
    "radar": Finding(
        "scores by group for each model, and where it is strong or weak", _of_scores("scores.radar"), _SCORES
    ),
    "profile": Finding("the same; -o draws groups as rows, not around a centre", _of_scores("scores.profile"), _SCORES),
    "languages": Finding("English and Chinese scores of each model, side by side", _languages, ("--group",)),
    "gains": Finding(
        "what a setting contributes to a score: images, thinking, examples, any other",
        _gains,
        ("--group", "--by", "--language-model"),
    ),
    "yes-no": Finding(
        "replies that ignore the instruction, contradictory pairs, bias to yes, and by a judge "
        "wrong answers whose explanation supports the right one",
        _yes_no,
        _JUDGED,
    ),
    "budget": Finding(
        "score, and right answers per million tokens, as if replies had been limited to fewer tokens",
        _budget,
        ("--at",),
    ),
    "errors": Finding("a page to label why answers are wrong, and a summary of the labels", _errors, _JUDGED),
    "documents": Finding(
        "scores of pages, records and long texts by their language, kind of block, length and number of fields, and "
        "how replies ended",
        _of_runs("score_groups.document_failures"),
    ),
    "places": Finding(
        "scores of places by their size, position and label, and how replies ended",
        _of_runs("score_groups.place_failures"),
    ),
    "readers": Finding(
        "precision and recall of the parsing rules on labelled replies, and of the language "
        "models that read what no rule can parse, on a sheet that people fill in",
        _readers,
        ("--sheet", "--share", "--seed", "--labels"),
    ),
}


def findings_with(flag: str) -> list[str]:
    """The findings that have a flag; none for flags of all of them."""
    return [name for name, finding in FINDINGS.items() if flag in finding.flags]


def _finding_option(name: str, help: str = "", default: Any = None, **settings: Any) -> Any:
    """A flag that some findings have."""
    return option(default, name, help, group=f"for {', '.join(findings_with(name))}", **settings)


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen analyse` takes."""

    finding: str = argument(
        "FINDING", "; ".join(f"{name}: {finding.help}" for name, finding in FINDINGS.items()), choices=tuple(FINDINGS)
    )
    sources: Sequence[str] = argument(
        "RUN",
        f"{RUNS}; for abilities, radar and profile also one CSV of scores (model, then a column "
        "for each group, or model, subtask, accuracy); for languages two, English first; for "
        "errors also saved labels (.json, .csv), to count them and see how far labellers agree; "
        "for readers none, to measure the parsing rules on the labels that Snellen has",
        "*",
    )
    reading: SourceOptions = options_field(SourceOptions)
    group: str | None = _finding_option("--group")
    """None: `category`; for yes-no and gains none. For languages the column of CSV files, without
    it `overall`."""
    only: str | None = _finding_option("--only")
    """Models and groups."""
    top: int = _finding_option("--top", default=4)
    """The hardest groups whose samples are shown."""
    each: int | None = _finding_option("--each")
    """Samples of each hard group (None: 3), explanations of each verdict (30), wrong answers of
    each subtask and run (5)."""
    by: str | None = _finding_option(
        "--by",
        "the setting, e.g. images, referring, lang, and its value in the runs to compare with "
        "(default: control, cot and shots, each against the run without it)",
        metavar="SETTING[=BASE]",
    )
    language_model: str | None = _finding_option(
        "--language-model",
        "a blind run of the language model on which the models are based; shows the multi-modal leakage",
        metavar="RUN",
    )
    at: str | None = _finding_option(
        "--at", "the limits to compute, e.g. 512,2k,8k (default: powers of two)", metavar="N,..."
    )
    judge: Sequence[str] = _finding_option("--judge", default=())
    load: Sequence[str] = _finding_option("--load", default=())
    store: str = _finding_option("--store", default=DEFAULT_STORE)
    """Holds the judge's replies."""
    sheet: str | None = _finding_option("--sheet", "write a sheet or page to be labelled", metavar="FILE")
    """None: for errors `errors.html`, else no sheet is written."""
    share: float = _finding_option("--share", default=0.1)
    """The share of the unread replies in the sheet."""
    seed: int = _finding_option("--seed", default=0)
    """Of what a sheet or page samples."""
    labels: str | None = _finding_option(
        "--labels", "labels of people, as a sheet or page that they filled in", metavar="FILE"
    )
    """They measure and correct a judge's errors, or those of a language model that reads
    replies."""


def main(options: Options) -> None:
    """Print, write or draw a finding."""
    _check_flags(options)
    options.texts()
    write_document(FINDINGS[options.finding].document(options), options)


def _check_flags(options: Options) -> None:
    """Raises UsageError for a flag that the finding does not have, and where there is no run."""
    for field, flag, default in option_flags(Options):
        findings = findings_with(flag.name)
        is_foreign = findings and options.finding not in findings
        if is_foreign and getattr(options, field) != default:
            raise UsageError(f"{flag.name} is a flag of {', '.join(findings)}, not of {options.finding}; leave it out")
    if not options.sources and options.finding != "readers":
        raise UsageError(f"analyse {options.finding} needs RUN: {RUNS}")
