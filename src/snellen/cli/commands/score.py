"""`snellen score`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.api.flags import parse_pairs, parse_rule
from snellen.api.options import DEFAULT_STORE, VARIANT_FLAGS, RunOptions
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE, MISTAKE
from snellen.cli.flags import add_json, add_options, argument_type, own_models
from snellen.cli.printing import line_printer, print_line
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.summary import Summary

if TYPE_CHECKING:
    from snellen.api import Scored
    from snellen.core.model import AnyModel
    from snellen.report.document import Document

EVERY_RULE = "all"
NO_JUDGE = "off"


def _parse_rule_or_all(text: str) -> str:
    return text if text == EVERY_RULE else parse_rule(text)


def add(parser: ArgumentParser) -> None:
    """Predictions, the data they answer, and who grades them."""
    parser.add_argument(
        "benchmark", metavar="BENCHMARK", nargs="+",
        help="a name, a data file, or files that hold questions, answers and predictions: one, "
        "several, or the folder of lmms-eval's sample logs",
    )  # fmt: skip
    parser.add_argument(
        "--predictions", metavar="FILE", action="append", default=[],
        help="CSV, TSV, JSONL, JSON or XLSX; also VLMEvalKit's files, lmms-eval's sample logs, "
        "logs of Inspect, MME's result files, SEED-Bench's results.json, or a folder of files; "
        "repeat for several models",
    )  # fmt: skip
    rule = VARIANT_FLAGS["rule"]
    parser.add_argument(
        "--rule", type=argument_type(_parse_rule_or_all), metavar=f"{rule.metavar}|{EVERY_RULE}",
        help=f"{rule.help}; `{EVERY_RULE}` puts them side by side",
    )  # fmt: skip
    parser.add_argument(
        "--where", type=argument_type(parse_pairs), metavar="COLUMN=VALUE,...",
        help="score only these rows",
    )  # fmt: skip
    parser.add_argument(
        "--judge", action="append", default=[], metavar="MODEL",
        help="a model that grades replies, for benchmarks that need one and open questions of "
            "your own data, or column:NAME for verdicts in the predictions file (column:A+B joins "
            "two); repeat for several; `off` leaves out verdicts that a published file records",
    )  # fmt: skip
    parser.add_argument(
        "--extractor", metavar="MODEL",
        help="a model that reads replies which no rule can parse, or column:NAME for its "
            "answers in the predictions file",
    )  # fmt: skip
    parser.add_argument(
        "--as-recorded", action="store_true",
        help="repeat the number of the tool that wrote the file: by its column of verdicts, else "
        "of the answers that it read (VLMEvalKit, lmms-eval, Inspect, published files)",
    )  # fmt: skip
    parser.add_argument(
        "--labels", type=argument_type(parse_pairs), metavar="answer=COLUMN|right=COLUMN",
        help="a column with the answer that each reply gives, or with whether it is "
            "right; the rules, the extractor and the judges are measured against it",
    )  # fmt: skip
    parser.add_argument(
        "--store", metavar="FILE",
        help=f"store for the verdicts of judges and extractors (default: {DEFAULT_STORE})",
    )  # fmt: skip
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="name of the model in tables and of its run (default: that of the file)",
    )
    parser.add_argument(
        "--out", metavar="DIR",
        help="also write a run folder here, for every command that takes runs: analyse, why, "
            "items, compare, view and others",
    )  # fmt: skip
    add_json(parser)
    add_options(
        parser, RunOptions,
        only=("data", "columns", "ignore_columns", "circular", "failures", "judge_repeats", "load"),
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Score recorded predictions and print the numbers."""
    inputs = _inputs(arguments.benchmark, arguments.predictions)
    variant = Variant(
        data=arguments.data, circular=arguments.circular, failures=arguments.failures,
        ignore_columns=arguments.ignore_column,
    )  # fmt: skip
    if len(inputs) > 1:
        _refuse_for_several(arguments)
        return _score_several(inputs, arguments, variant)
    if arguments.rule == EVERY_RULE:
        _refuse_roles(arguments)
        return _score_by_every_rule(inputs[0], arguments, variant)
    return _print_scored([_score(inputs[0], arguments, variant)], arguments)


class _Input(NamedTuple):
    benchmark: str
    predictions: str | None = None
    model: str | None = None
    """Its name, where the file does not give it."""


def _inputs(benchmarks: Sequence[str], predictions: Sequence[str]) -> list[_Input]:
    """The files to score. A folder of lmms-eval stands for its logs."""
    if predictions and len(benchmarks) > 1:
        raise UsageError(
            f"--predictions are of one benchmark; got {len(benchmarks)}: {', '.join(benchmarks)}"
        )
    if predictions:
        return [_Input(benchmarks[0], file) for file in predictions]
    from snellen.data.foreign.lmms_eval import sample_logs

    files = []
    for benchmark in benchmarks:
        folder = Path(benchmark).expanduser()
        logs = sample_logs(folder) if folder.is_dir() else {}
        files += [_Input(str(log), model=model) for log, model in logs.items()]
        if not logs:
            files.append(_Input(benchmark))
    return files


def _refuse_for_several(arguments: Namespace) -> None:
    """Raises UsageError for what is said of one file alone."""
    flags = [f"--{flag}" for flag in ("name", "labels") if getattr(arguments, flag)]
    if arguments.rule == EVERY_RULE:
        flags.append(f"--rule {EVERY_RULE}")
    if flags:
        raise UsageError(f"{' and '.join(flags)} goes with one file; score them one by one")


def _score_several(inputs: Sequence[_Input], arguments: Namespace, variant: Variant) -> int:
    """Print the numbers of several files; the mistakes of one keep no other from its score."""
    scored, refused = [], False
    for one in inputs:
        try:
            scored.append(_score(one, arguments, variant))
        except UsageError as error:
            refused = True
            print_line(f"snellen: {error}", error=True)
    code = _print_scored(scored, arguments) if scored else COMPLETE
    return MISTAKE if refused else code


def _score(file: _Input, arguments: Namespace, variant: Variant) -> Scored:
    from dataclasses import replace

    from snellen.api import score
    from snellen.data.predictions import NoReplyColumn
    from snellen.report.console import Terminal

    try:
        return score(
            file.benchmark,
            file.predictions,
            variant=replace(variant, rule=arguments.rule),
            columns=arguments.columns,
            where=arguments.where,
            judges=_judges(arguments),
            extractor=own_models(arguments, [arguments.extractor])[0],
            labels=arguments.labels,
            name=arguments.name or file.model,
            store=arguments.store or DEFAULT_STORE,
            serving=None if arguments.json else line_printer(Terminal(stderr=True)),
            judge_repeats=arguments.judge_repeats,
            as_recorded=arguments.as_recorded,
        )
    except NoReplyColumn as error:
        if file.predictions is not None:
            raise
        raise UsageError(f"{error}, or name the file of replies with --predictions FILE") from None


def _print_scored(scored: Sequence[Scored], arguments: Namespace) -> int:
    """Print the numbers, after writing the runs, and return the exit code."""
    from snellen.report.console import Terminal
    from snellen.report.terminal.table import print_runs

    runs = [one.save(arguments.out) for one in scored] if arguments.out else []
    _print_warnings(dict.fromkeys(warning for one in scored for warning in one.warnings))
    measured_parsers = _measured_parsers(scored[0])
    if arguments.json:
        from snellen.report.terminal.scorecard import scorecard

        cards = [
            scorecard(one.benchmark, one.summary, one.warnings, one.data, one.run) for one in scored
        ]
        measured = {}
        if measured_parsers is not None:
            from snellen.report.writers.json_text import document_object

            measured = {"readings": document_object(measured_parsers)}
        document = cards if len(cards) > 1 else {**cards[0], **measured}
        print(json.dumps(document, ensure_ascii=False))
    else:
        reports = [one.report for one in scored]
        print_runs(reports, Terminal(), judges_measured=measured_parsers is not None)
        if measured_parsers is not None:
            from snellen.report.writers.terminal import print_document

            print_line()
            print_document(measured_parsers, Terminal())
        for run in runs:
            print_line(f"run: {run.path}")
    if "ungraded" in {record.unscored for one in scored for record in one.records}:
        return INCOMPLETE
    return _exit_code([one.summary for one in scored])


def _measured_parsers(scored: Scored) -> Document | None:
    """How the parsers did by the labels of the file, if it has any."""
    if scored.readings is None:
        return None
    from snellen.report.findings.parsers import labelled_replies

    return labelled_replies(scored.readings)


def _score_by_every_rule(file: _Input, arguments: Namespace, variant: Variant) -> int:
    """Print the numbers by each parsing rule, and the replies that the rules parse differently."""
    from snellen.api import score_by_rules
    from snellen.report.terminal.rule_comparison import print_rule_scorecard, rule_scorecard
    from snellen.scoring.disagreements import disagreements

    scored = score_by_rules(
        file.benchmark,
        file.predictions,
        variant=variant,
        columns=arguments.columns,
        where=arguments.where,
    )
    benchmarks = {rule: result.benchmark for rule, result in scored.items()}
    summaries = {rule: result.summary for rule, result in scored.items()}
    differing = disagreements({rule: result.records for rule, result in scored.items()})
    warnings = tuple(dict.fromkeys(text for result in scored.values() for text in result.warnings))
    _print_warnings(warnings)
    if arguments.json:
        data = next(iter(scored.values())).data
        card = rule_scorecard(benchmarks, summaries, differing, warnings, data)
        print(json.dumps(card, ensure_ascii=False))
    else:
        from snellen.report.console import Terminal

        print_rule_scorecard(next(iter(benchmarks.values())), summaries, differing, Terminal())
    return _exit_code(summaries.values())


def _judges(arguments: Namespace) -> Sequence[AnyModel] | None:
    """The judges that --judge names; none for `off`, None if it does not stand there. Raises
    UsageError for `off` beside others."""
    named = arguments.judge
    if NO_JUDGE not in named:
        return own_models(arguments, named) or None
    others = [name for name in named if name != NO_JUDGE]
    if others:
        raise UsageError(
            f"--judge {NO_JUDGE} leaves out every judge; leave it out, or {' and '.join(others)}"
        )
    return ()


def _refuse_roles(arguments: Namespace) -> None:
    """Raises UsageError for judges, extractor or labels: rules are compared by themselves."""
    flags = [
        flag
        for flag in ("judge", "extractor", "labels", "name", "out", "as-recorded")
        if getattr(arguments, flag.replace("-", "_"))
    ]
    if flags:
        raise UsageError(
            f"--rule {EVERY_RULE} compares what the rules read alone; leave out "
            f"{' and '.join(f'--{flag}' for flag in flags)}, or name one rule"
        )


def _print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print_line(f"snellen: {warning}", error=True)


def _exit_code(summaries: Iterable[Summary]) -> int:
    incomplete = any(
        summary.outcomes["failed"] or summary.outcomes["missing"] for summary in summaries
    )
    return INCOMPLETE if incomplete else COMPLETE
