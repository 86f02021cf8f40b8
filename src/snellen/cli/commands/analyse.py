"""`snellen analyse`: what is behind the numbers of finished runs. No model is asked but a judge."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import DEFAULT_STORE, RunOptions, SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import (
    RUNS,
    add_group,
    add_json,
    add_options,
    add_plot,
    open_runs,
    own_models,
    read_options,
)
from snellen.cli.lazy_parser import add_action
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.analysis.findings.score_tables import ScoreTable
    from snellen.cli.lazy_parser import Actions
    from snellen.report.findings.finding import Finding
    from snellen.store.runs import RunFolder

_TABLE_SUFFIXES = (".csv", ".tsv")
_LABEL_SUFFIXES = (".json", ".csv")


_SOURCES = (
    f"{RUNS}; or one CSV of scores: model, then a column for each group, or model, subtask, "
    "accuracy"
)


def add(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(
        title="analyses", metavar="ANALYSIS", required=True, dest="analysis"
    )
    _add_analysis(actions, "letters", "letters chosen against gold, and a test of position bias")
    refusals = _add_analysis(actions, "refusals", "refusals by group, and the score without them")
    add_group(refusals)
    _add_analysis(actions, "steps", "replies parsed at each step: label, content, language model")
    _add_abilities(actions)
    _add_radar(actions)
    _add_languages(actions)
    pairs = _add_analysis(
        actions,
        "yes-no",
        "replies that ignore the instruction, contradictory pairs, bias to yes, broken reasoning",
    )
    add_group(pairs, default="")
    _add_judge(pairs, "a model that reads whether the explanation of a wrong answer supports the "
        "right one")  # fmt: skip
    pairs.add_argument("--sheet", metavar="FILE.csv",
                       help="with --judge: write explanations for people to label, drawn at "
                       "random, without the verdicts")  # fmt: skip
    pairs.add_argument("--each", type=int, default=30, metavar="N",
                       help="explanations of each verdict in it (default: 30)")  # fmt: skip
    pairs.add_argument("--seed", type=int, default=0, help="seed of the sheet (default: 0)")
    pairs.add_argument("--labels", metavar="FILE.csv",
                       help="with --judge: the filled sheet, which measures and corrects its "
                       "errors")  # fmt: skip
    _add_budget(actions)
    _add_errors(actions)
    _add_readers(actions)


def _add_analysis(
    actions: Actions, name: str, help: str, sources: str = RUNS, least: str = "+"
) -> ArgumentParser:
    parser = add_action(actions, name, help)
    parser.add_argument("sources", nargs=least, metavar="RUN" if sources is RUNS else "SOURCE",
                        help=sources)  # fmt: skip
    add_options(parser, SourceOptions)
    add_plot(parser)
    add_json(parser)
    return parser


def _add_models(parser: ArgumentParser) -> None:
    parser.add_argument("--model", action="append", default=[], metavar="MODEL",
                        help="only this model, in this order; repeat for several")  # fmt: skip
    parser.add_argument("--only", metavar="GROUP,...", default="",
                        help="only these groups, in this order")  # fmt: skip


def _add_abilities(actions: Actions) -> None:
    parser = _add_analysis(
        actions, "abilities", "groups by the best score of any model, and samples that "
            "all get wrong",
        _SOURCES,
    )  # fmt: skip
    add_group(parser)
    _add_models(parser)
    parser.add_argument("--hardest", type=int, default=4, metavar="N",
                        help="show samples of the N hardest groups (default: 4)")  # fmt: skip
    parser.add_argument("--samples", type=int, default=3, metavar="N",
                        help="samples per group (default: 3)")  # fmt: skip
    parser.add_argument("--cards", metavar="FILE.svg",
                        help="draw these samples with their images")  # fmt: skip


def _add_radar(actions: Actions) -> None:
    parser = _add_analysis(actions, "radar", "scores by group for each model, and where "
        "it is strong or weak",
                     _SOURCES)  # fmt: skip
    add_group(parser)
    _add_models(parser)
    parser.add_argument("--rows", action="store_true",
                        help="draw groups as rows, not around a centre")  # fmt: skip


def _add_languages(actions: Actions) -> None:
    parser = _add_analysis(
        actions, "languages", "English and Chinese scores of each model, side by side",
        f"{RUNS}, in both languages; or two CSV files of scores, English first",
    )  # fmt: skip
    parser.add_argument("--of", default="overall", metavar="COLUMN",
                        help="the column of the CSV files (default: overall)")  # fmt: skip


def _add_budget(actions: Actions) -> None:
    parser = _add_analysis(
        actions, "budget", "score, and right answers per million tokens, as if replies had been "
            "limited to fewer tokens",
    )  # fmt: skip
    parser.add_argument("--at", default="", metavar="N,...",
                        help="the limits to compute, e.g. 512,2k,8k (default: powers of "
                            "two)")  # fmt: skip


def _add_errors(actions: Actions) -> None:
    parser = _add_analysis(
        actions, "errors", "a page to label why answers are wrong, and a summary of the "
            "labels",
        f"{RUNS}; or saved labels (.json, .csv), to count them and see how far labellers agree",
    )  # fmt: skip
    add_group(parser)
    parser.add_argument("--page", metavar="FILE.html", default="errors.html",
                        help="the labelling page to write (default: errors.html)")  # fmt: skip
    parser.add_argument("--each", type=int, default=5, metavar="N",
                        help="wrong answers of each subtask and run (default: 5)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    _add_judge(parser, "a model that proposes labels; they are stored next to the page as "
        "FILE.judge.json")  # fmt: skip
    parser.add_argument("--labels", metavar="FILE",
                        help="a person's labels (.json, .csv) of a part of what a judge labelled: "
                        "they measure and correct its errors")  # fmt: skip


def _add_judge(parser: ArgumentParser, help: str) -> None:
    parser.add_argument("--judge", metavar="MODEL", help=help)
    parser.add_argument(
        "--store", metavar="FILE", default=DEFAULT_STORE,
        help=f"store for the judge's replies (default: {DEFAULT_STORE})",
    )  # fmt: skip
    add_options(parser, RunOptions, only=("load",))


def _add_readers(actions: Actions) -> None:
    parser = _add_analysis(
        actions, "readers", "precision and recall of the parsing rules on labelled "
            "replies",
        f"{RUNS}, whose language models that read replies are compared with --labels", least="*",
    )  # fmt: skip
    parser.add_argument("--labels", metavar="FILE.csv",
                        help="a filled sheet of `snellen label`")  # fmt: skip


def main(arguments: Namespace) -> int:
    from snellen.report.findings.finding import print_finding, to_json

    finding = ANALYSES[arguments.analysis](arguments)
    if arguments.output is not None:
        from snellen.report.plots.figure import save_plot

        if finding.plot is None:
            raise UsageError(f"{arguments.analysis} has nothing to draw; leave out -o")
        save_plot(finding.plot(), Path(arguments.output))
    if arguments.json:
        print(to_json(finding))
    else:
        from snellen.report.console import Terminal

        print_finding(finding, Terminal())
    return COMPLETE


def load_runs(arguments: Namespace) -> tuple[list[RunFolder], list[str]]:
    """The runs of all sources without duplicates, and a name for each."""
    from snellen.report.terminal.comparison import comparison_names

    runs = open_runs(arguments.sources, read_options(arguments, SourceOptions))
    return runs, comparison_names(runs)


def _tables(arguments: Namespace, suffixes: tuple[str, ...]) -> list[str]:
    """The sources that are tables of numbers or labels, by these `suffixes`, and no predictions."""
    from snellen.api.run_sources import holds_replies

    if arguments.benchmark is not None:
        return []
    files = [path for path in arguments.sources if Path(path).suffix.lower() in suffixes]
    return [path for path in files if not holds_replies(path)]


def _load_single_runs(arguments: Namespace) -> tuple[list[RunFolder], list[str]]:
    """Runs whose replies are analysed one by one. Raises UsageError for runs with repeats."""
    from snellen.store.runs import require_single

    runs, names = load_runs(arguments)
    require_single(runs, f"analyse {arguments.analysis}")
    return runs, names


def _load_scores(arguments: Namespace) -> tuple[ScoreTable, list[RunFolder]]:
    """Scores from one CSV file, or from runs; the runs come with them."""
    from snellen.analysis.findings.score_tables import (
        scores_from_csv,
        scores_from_reports,
        select_scores,
    )
    from snellen.api import report_of
    from snellen.data.tables.open_table import open_table

    groups = [name.strip() for name in arguments.only.split(",") if name.strip()]
    files = _tables(arguments, _TABLE_SUFFIXES)
    if files:
        if len(arguments.sources) > 1:
            raise UsageError("give one CSV of scores, or runs, and not several sources of both")
        return select_scores(scores_from_csv(open_table(files[0])), arguments.model, groups), []
    runs, names = load_runs(arguments)
    indices = [
        index for index, name in enumerate(names) if not arguments.model or name in arguments.model
    ]
    table = scores_from_reports([report_of(run) for run in runs], names, arguments.group)
    return select_scores(table, arguments.model, groups), [runs[index] for index in indices]


def _letters(arguments: Namespace) -> Finding:
    from snellen.report.findings.choices import letters

    return letters(*_load_single_runs(arguments))


def _refusals(arguments: Namespace) -> Finding:
    from snellen.report.findings.choices import refusals

    return refusals(*_load_single_runs(arguments), arguments.group)


def _steps(arguments: Namespace) -> Finding:
    from snellen.report.findings.choices import steps

    return steps(*_load_single_runs(arguments))


def _abilities(arguments: Namespace) -> Finding:
    from snellen.report.findings.scores import hard_abilities

    if arguments.hardest < 1 or arguments.samples < 0:
        raise UsageError("--hardest must be at least 1 and --samples at least 0")
    table, runs = _load_scores(arguments)
    if arguments.cards is not None:
        _save_cards(arguments, table, runs)
    return hard_abilities(table, runs, arguments.group, arguments.hardest, arguments.samples)


def _save_cards(arguments: Namespace, table: ScoreTable, runs: list[RunFolder]) -> None:
    from snellen.analysis.findings.abilities import abilities, hard_samples
    from snellen.analysis.samples.error_samples import WrongAnswer
    from snellen.api.error_labels import image_urls
    from snellen.report.plots.figure import save_plot
    from snellen.report.plots.hard_cards import build_cards, draw_cards

    if not runs:
        raise UsageError("--cards shows samples, which a CSV of scores does not hold; give runs")
    ordered = abilities(table)[: arguments.hardest]
    names = [ability.name for ability in ordered]
    samples = hard_samples(runs, arguments.group, names, max(1, arguments.samples))
    images = image_urls([WrongAnswer(runs[0], sample.ability, sample.record) for sample in samples])
    cards = build_cards(samples, ordered, list(table.scores), images)
    save_plot(draw_cards("Wrong in every run", cards), Path(arguments.cards))


def _radar(arguments: Namespace) -> Finding:
    from snellen.report.findings.scores import profile, radar

    table, _ = _load_scores(arguments)
    return (profile if arguments.rows else radar)(table, arguments.group)


def _languages(arguments: Namespace) -> Finding:
    """English next to Chinese, from runs or from two tables of scores."""
    from snellen.analysis.causes.gains import gains
    from snellen.analysis.findings.score_tables import scores_from_csv
    from snellen.data.tables.open_table import open_table
    from snellen.report.findings.scores import language_tables, languages

    files = _tables(arguments, _TABLE_SUFFIXES)
    if not files:
        runs, _ = load_runs(arguments)
        pairs = gains(runs, "lang", base="en")
        if not pairs:
            raise UsageError(
                f"no two of the {len(runs)} runs differ in their language alone; give runs of one "
                "model and benchmark, one of them with lang=en"
            )
        return languages(pairs)
    if len(files) != 2 or len(arguments.sources) != 2:
        raise UsageError("give two CSV files of scores, English first, or runs in both languages")
    first, second = (scores_from_csv(open_table(path)) for path in files)
    return language_tables(first, second, arguments.of)


def _yes_no(arguments: Namespace) -> Finding:
    from snellen.report.findings.yes_no import yes_no_problems

    if arguments.judge is None and (arguments.sheet or arguments.labels):
        raise UsageError(
            "--sheet and --labels are about the verdicts of a judge; add --judge MODEL"
        )
    if arguments.each < 1:
        raise UsageError(f"--each is {arguments.each}; expected at least 1 explanation")
    runs, names = _load_single_runs(arguments)
    finding = yes_no_problems(runs, names, arguments.group)
    return finding if arguments.judge is None else _judge_reasoning(arguments, finding, runs, names)


def _judge_reasoning(
    arguments: Namespace, finding: Finding, runs: list[RunFolder], names: list[str]
) -> Finding:
    """Add MME's third problem by a judge to a finding, and write the sheet if one is named."""
    from snellen.analysis.findings.yes_no_problems import reasoned_errors
    from snellen.api.reasoning_judge import judge_reasoning, read_sheet, write_sheet
    from snellen.report.findings.yes_no import broken_reasoning

    labels = read_sheet(Path(arguments.labels)) if arguments.labels else {}
    errors = [
        error
        for run, name in zip(runs, names, strict=True)
        for error in reasoned_errors(run.records(), name)
    ]
    [judge] = own_models(arguments, [arguments.judge])
    verdicts = judge_reasoning(errors, judge, arguments.store)
    notices = [*finding.notices]
    if len(verdicts) < len(errors):
        unread = len(errors) - len(verdicts)
        notices.append(f"{unread} of {len(errors)} replies of the judge have no verdict")
    if arguments.labels and not labels.keys() & verdicts.keys():
        raise UsageError(f"{arguments.labels} labels no explanation of these runs")
    if arguments.sheet:
        count = write_sheet(errors, verdicts, Path(arguments.sheet), arguments.each, arguments.seed)
        notices.append(
            f"{arguments.sheet}: {count} explanations to label; write yes where one supports the "
            "right answer, else no, and give the file to --labels"
        )
    elif not labels:
        notices.append("the errors of the judge are not known: --sheet FILE.csv measures them")
    tables = [*finding.tables, *broken_reasoning(errors, verdicts, labels)]
    return finding._replace(tables=tables, notices=notices)


def _budget(arguments: Namespace) -> Finding:
    from snellen.api.flags import parse_token_count
    from snellen.report.findings.reply_budgets import reply_budgets

    budgets = [parse_token_count(text) for text in arguments.at.split(",") if text.strip()]
    return reply_budgets(*load_runs(arguments), budgets)


def _errors(arguments: Namespace) -> Finding:
    labels = _tables(arguments, _LABEL_SUFFIXES)
    if not labels:
        if arguments.labels:
            raise UsageError("--labels corrects a judge's labels; give these, e.g. FILE.judge.json")
        return _error_page(arguments)
    if len(labels) < len(arguments.sources):
        raise UsageError("give runs, to write a page, or saved labels, to count them; not both")
    from snellen.analysis.samples.error_samples import read_error_labels
    from snellen.report.findings.errors import error_types, judged_types

    label_sets = [read_error_labels(Path(path)) for path in labels]
    if arguments.labels:
        return judged_types(label_sets, read_error_labels(Path(arguments.labels)))
    return error_types(label_sets)


def _error_page(arguments: Namespace) -> Finding:
    """Write the page to label wrong answers, with the labels of the judge if one is named."""
    from snellen.analysis.samples.error_samples import draw_wrong_answers, write_error_labels
    from snellen.api.error_labels import image_urls, propose_labels
    from snellen.core.atomic_write import save
    from snellen.report.findings.errors import sampled_errors
    from snellen.report.page.error_page import error_page

    runs, _ = _load_single_runs(arguments)
    page = Path(arguments.page)
    moved = read_options(arguments, SourceOptions).data
    answers = draw_wrong_answers(runs, arguments.group, arguments.each, arguments.seed)
    proposals, notices = None, []
    if arguments.judge is not None:
        [judge] = own_models(arguments, [arguments.judge])
        proposals, unread, without_images, missing_data = propose_labels(
            answers, judge, arguments.store, moved
        )
        labels_file = page.with_suffix(".judge.json")
        write_error_labels(proposals, labels_file)
        notices.append(f"{labels_file}: labels of {proposals.labeller}")
        if without_images:
            notices.append(
                f"{without_images} of {len(answers)} samples were judged without their pictures"
            )
        notices += missing_data
        if unread:
            notices.append(f"{unread} of {len(answers)} replies of the judge name no type of error")
    save(page, error_page(answers, image_urls(answers, moved), proposals))
    return sampled_errors(answers, str(page), notices)


def _readers(arguments: Namespace) -> Finding:
    from snellen.analysis.parsing.parsing_quality import quality_in_run, stored_qualities
    from snellen.analysis.parsing.unread_replies import read_labels
    from snellen.report.findings.parsers import parser_quality

    if bool(arguments.sources) != (arguments.labels is not None):
        raise UsageError(
            "readers compares runs with --labels FILE.csv; give both, or neither to measure the "
            "parsing rules on the labels that Snellen has"
        )
    if not arguments.sources:
        return parser_quality(stored_qualities())
    labels = read_labels(Path(arguments.labels))
    runs, _ = _load_single_runs(arguments)
    return parser_quality([quality_in_run(run, labels) for run in runs])


ANALYSES: Mapping[str, Callable[[Namespace], Finding]] = {
    "letters": _letters,
    "refusals": _refusals,
    "steps": _steps,
    "abilities": _abilities,
    "radar": _radar,
    "languages": _languages,
    "yes-no": _yes_no,
    "budget": _budget,
    "errors": _errors,
    "readers": _readers,
}
