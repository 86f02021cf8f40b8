"""`snellen score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.api.flags import RULES, argument, option, parse_rule
from snellen.api.options import DEFAULT_STORE, read_judges
from snellen.cli.flags import own_models, print_warning
from snellen.cli.output import TABLE, OutputOptions, line_printer, print_line, write_document
from snellen.core.benchmark import Variant
from snellen.core.errors import COMPLETE, INCOMPLETE, MISTAKE, UsageError
from snellen.core.summary import Summary

if TYPE_CHECKING:
    from snellen.api.scored import Scored
    from snellen.core.model import AnyModel
    from snellen.scoring.disagreements import Disagreement

EVERY_RULE = "all"
VIA = "via:"
"""Begins the name of a tool whose code scores the replies as well (`bridge.via`)."""
NO_JUDGE = "off"
LABEL_ROLES = {"label_answer": "answer", "label_right": "right"}
"""Roles of `--columns` that name labels of people, with what they say of a reply."""


def _parse_rule_or_all(text: str) -> str:
    try:
        return text if text == EVERY_RULE or text.startswith(VIA) else parse_rule(text)
    except UsageError:
        choices = ", ".join((*RULES, EVERY_RULE, f"{VIA}TOOL"))
        raise UsageError(f"invalid choice: {text!r} (choose from {choices})") from None


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen score` takes."""

    benchmarks: Sequence[str] = argument(
        "BENCHMARK",
        "a name, a data file, or files that hold questions, answers and predictions: one, several, "
        "or the folder of lmms-eval's sample logs",
        "+",
    )
    predictions: Sequence[str] = option(
        (),
        "--predictions",
        "CSV, TSV, JSONL, JSON or XLSX; also VLMEvalKit's files, lmms-eval's sample logs, logs of "
        "Inspect, MME's result files, SEED-Bench's results.json, or a folder of files; repeat for "
        "several models",
        metavar="FILE",
        is_repeatable=True,
    )
    data: str | None = option(None, "--data")
    columns: Mapping[str, str] = option({}, "--columns")
    """`label_answer` and `label_right` name a column of labels: the answer that each reply gives,
    or whether it is right. The rules, the extractor and the judges are measured against it."""
    where: Mapping[str, str] | None = option(None, "--where")
    rule: str | None = option(
        None, "--rule", metavar="|".join((*RULES, EVERY_RULE, f"{VIA}TOOL")), parse=_parse_rule_or_all
    )
    """`all` puts the rules side by side; `via:TOOL` Snellen's score and that of the tool's own code,
    of a file or of a run."""
    circular: str | None = option(None, "--circular")
    failures: str | None = option(None, "--failures")
    judges: Sequence[str] = option((), "--judge")
    """Models, or `column:NAME` for verdicts in the file (`column:A+B` joins two); `off` leaves out
    verdicts that a published file records."""
    extractors: Sequence[str] = option((), "--extractor")
    """One model, or `column:NAME` for its answers in the file."""
    as_recorded: bool = option(
        False,
        "--as-recorded",
        "repeat the number of the tool that wrote the file: by its column of verdicts, else of the "
        "answers that it read (VLMEvalKit, lmms-eval, Inspect, published files)",
        is_switch=True,
    )
    load: Sequence[str] = option((), "--load")
    store: str = option(DEFAULT_STORE, "--store")
    """For the verdicts of judges and extractors."""
    name: str | None = option(None, "--name")
    """The name of the model; None: that of the file."""
    out: str | None = option(None, "--out")
    """A run folder for every command that takes runs; None: none is written."""

    @property
    def labels(self) -> dict[str, str]:
        """The column of labels, by what it says of a reply."""
        return {LABEL_ROLES[role]: name for role, name in self.columns.items() if role in LABEL_ROLES}

    @property
    def data_columns(self) -> dict[str, str]:
        """The columns but those of labels."""
        return {role: name for role, name in self.columns.items() if role not in LABEL_ROLES}

    @property
    def variant(self) -> Variant:
        """How the benchmark is built, without the rule."""
        return Variant(data=self.data, circular=self.circular, failures=self.failures)


def main(options: Options) -> int:
    """Score recorded predictions and print the numbers."""
    inputs = _inputs(options.benchmarks, options.predictions)
    if len(inputs) > 1:
        _refuse_for_several(options)
        return _score_several(inputs, options)
    if options.rule == EVERY_RULE:
        _refuse_roles(options)
        return _score_by_every_rule(inputs[0], options)
    if (options.rule or "").startswith(VIA):
        return _score_via(inputs[0], options)
    return _write_scored([_score(inputs[0], options)], options)


class _Input(NamedTuple):
    benchmark: str
    predictions: str | None = None
    model: str | None = None
    """Its name, where the file does not give it."""


def _inputs(benchmarks: Sequence[str], predictions: Sequence[str]) -> list[_Input]:
    """The files to score. A folder of lmms-eval stands for its logs."""
    if predictions and len(benchmarks) > 1:
        raise UsageError(f"--predictions are of one benchmark; got {len(benchmarks)}: {', '.join(benchmarks)}")
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


def _refuse_for_several(options: Options) -> None:
    """Raises UsageError for what is said of one file alone."""
    given = {
        "--name": options.name,
        "--columns label_...": options.labels,
        f"--rule {options.rule}": options.rule == EVERY_RULE or (options.rule or "").startswith(VIA),
    }
    flags = [flag for flag, value in given.items() if value]
    if flags:
        raise UsageError(f"{' and '.join(flags)} goes with one file; score them one by one")


def _score_several(inputs: Sequence[_Input], options: Options) -> int:
    """Print the numbers of several files; the mistakes of one keep no other from its score."""
    scored, refused = [], False
    for one in inputs:
        try:
            scored.append(_score(one, options))
        except UsageError as error:
            refused = True
            print_warning(str(error))
    code = _write_scored(scored, options) if scored else COMPLETE
    return MISTAKE if refused else code


def _score(file: _Input, options: Options) -> Scored:
    from snellen.api.scoring import score
    from snellen.data.predictions import NoReplyColumn
    from snellen.report.console import Terminal

    judges, repeats = _judges(options)
    try:
        return score(
            file.benchmark,
            file.predictions,
            variant=replace(options.variant, rule=options.rule),
            columns=options.data_columns,
            where=options.where,
            judges=judges,
            extractor=_extractor(options),
            labels=options.labels,
            name=options.name or file.model,
            store=options.store,
            serving=line_printer(Terminal(stderr=True)) if options.form == TABLE else None,
            judge_repeats=repeats,
            as_recorded=options.as_recorded,
            load=options.load,
        )
    except NoReplyColumn as error:
        if file.predictions is not None:
            raise
        raise UsageError(f"{error}, or name the file of replies with --predictions FILE") from None


def _write_scored(scored: Sequence[Scored], options: Options) -> int:
    """Write the runs, then the numbers; returns the exit code."""
    from snellen.report.documents.scorecard import score_document, scorecard

    runs = [one.save(options.out) for one in scored] if options.out else []
    _print_warnings(dict.fromkeys(warning for one in scored for warning in one.warnings))
    cards = [scorecard(one.benchmark, one.summary, one.warnings, one.data, one.run) for one in scored]
    reports = [one.report for one in scored]
    write_document(score_document(reports, cards, scored[0].readings), options)
    if options.form == TABLE or options.output:
        for run in runs:
            print_line(f"run: {run.path}")
    if "ungraded" in {record.unscored for one in scored for record in one.records}:
        return INCOMPLETE
    return _exit_code([one.summary for one in scored])


def _score_by_every_rule(file: _Input, options: Options) -> int:
    """Print the numbers by each parsing rule, and the replies that the rules parse differently."""
    from snellen.api.scoring import score_by_rules
    from snellen.scoring.disagreements import disagreements

    scored = score_by_rules(
        file.benchmark, file.predictions, variant=options.variant, columns=options.columns, where=options.where
    )
    return _write_rules(scored, disagreements({rule: one.records for rule, one in scored.items()}), options)


def _score_via(file: _Input, options: Options) -> int:
    """Print the numbers by Snellen and by another tool's own code, and the replies that the two score
    differently."""
    from snellen.api.scoring import score
    from snellen.bridge.via import find_differences, find_task, replies_of

    rule = options.rule or ""
    own = _score_native(file, replace(options, rule=None))
    name = own.benchmark.name
    via = find_task(rule, name, own.benchmark.parameters)
    judges, repeats = _judges(options)
    replies = replies_of(own.records, file.predictions or file.benchmark)
    theirs = score(via, replies, judges=judges or (), judge_repeats=repeats, store=options.store)
    scored = {name: own, theirs.benchmark.name: theirs}
    differing = find_differences({rule: one.records for rule, one in scored.items()})
    return _write_rules(scored, differing, options, scores_alone=True)


def _write_rules(
    scored: Mapping[str, Scored], differing: Sequence[Disagreement], options: Options, scores_alone: bool = False
) -> int:
    """Print the numbers by each rule and the replies on which they differ; returns the exit code."""
    from snellen.report.documents.rule_comparison import rules_document

    benchmarks = {rule: one.benchmark for rule, one in scored.items()}
    summaries = {rule: one.summary for rule, one in scored.items()}
    warnings = tuple(dict.fromkeys(text for one in scored.values() for text in one.warnings))
    _print_warnings(warnings)
    data = next(iter(scored.values())).data
    document = rules_document(benchmarks, summaries, differing, warnings, data, scores_alone=scores_alone)
    write_document(document, options)
    return _exit_code(summaries.values())


def _score_native(file: _Input, options: Options) -> Scored:
    """What a file or a run folder scored by Snellen."""
    folder = Path(file.benchmark).expanduser()
    if file.predictions is not None or not (folder / "run.json").is_file():
        return _score(file, options)
    from snellen.analysis.comparison.reopened_data import benchmark_as_recorded
    from snellen.api.scored import Scored
    from snellen.store.runs import open_run

    run = open_run(folder)
    benchmark = benchmark_as_recorded(run.info, [options.data] if options.data else [])
    return Scored(benchmark, run.report().summary, (), tuple(run.records()), run.info.data)


def _judges(options: Options) -> tuple[Sequence[AnyModel] | None, int]:
    """The judges that --judge names, and how often each is asked; no judges for `off`, None without
    the flag. Raises UsageError for `off` beside others, and for what grades no replies."""
    if NO_JUDGE in options.judges:
        others = [name for name in options.judges if name != NO_JUDGE]
        if others:
            raise UsageError(f"--judge {NO_JUDGE} leaves out every judge; leave it out, or {' and '.join(others)}")
        return (), 1
    read = read_judges(options.judges)
    if read["clip"]:
        raise UsageError(f"--judge {read['clip']} compares generated images; score reads replies")
    return own_models(options.load, read["judges"]) or None, read["judge_repeats"]


def _extractor(options: Options) -> AnyModel:
    """The extractor that is named. Raises UsageError for several."""
    if len(options.extractors) > 1:
        raise UsageError(f"score takes one --extractor; got {' and '.join(options.extractors)}: score once with each")
    return own_models(options.load, options.extractors)[0] if options.extractors else None


def _refuse_roles(options: Options) -> None:
    """Raises UsageError for judges, extractor or labels: rules are compared by themselves."""
    given = {
        "--judge": options.judges,
        "--extractor": options.extractors,
        "--columns label_...": options.labels,
        "--name": options.name,
        "--out": options.out,
        "--as-recorded": options.as_recorded,
    }
    flags = [flag for flag, value in given.items() if value]
    if flags:
        raise UsageError(
            f"--rule {EVERY_RULE} compares what the rules read alone; leave out {' and '.join(flags)}, or name one rule"
        )


def _print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print_warning(warning)


def _exit_code(summaries: Iterable[Summary]) -> int:
    incomplete = any(summary.outcomes["failed"] or summary.outcomes["missing"] for summary in summaries)
    return INCOMPLETE if incomplete else COMPLETE
