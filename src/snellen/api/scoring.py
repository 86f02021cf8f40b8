"""`score`: recorded predictions, without asking the model that made them.

Five steps, in `_scoring_steps`: recognise the files, read the replies, match them to the rows of
the data, parse them, score what was parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.api import _scoring_steps as steps
from snellen.api._inputs import BenchmarkLike
from snellen.api._predictions import ColumnNames, PredictionsLike, scoring_inputs
from snellen.api._recorded_roles import RecordedRoles, are_verdicts_recorded, recorded_identity
from snellen.api.mistakes import shorten_tracebacks
from snellen.api.options import DEFAULT_STORE, check_repeats
from snellen.api.scored import Scored
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE, judge_roles
from snellen.core.benchmark import AS_RECORDED, IGNORED, Benchmark, Variant, final_summary
from snellen.core.errors import UsageError
from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.model import AnyModel, Identity
from snellen.core.run import Counts, DataInfo, RunConfig, RunInfo
from snellen.data.columns import canonical_keys, check_column_keys
from snellen.data.match_rows import match_rows
from snellen.data.predictions import read_predictions
from snellen.extract.llm import EXTRACTOR
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from snellen.engine.servers.managed import Servers
    from snellen.engine.servers.process import Notify


@shorten_tracebacks
def score(
    benchmark: BenchmarkLike,
    predictions: PredictionsLike = None,
    *,
    data: BenchmarkLike = None,
    name: str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    judges: Sequence[AnyModel] | None = None,
    extractor: AnyModel = None,
    labels: Mapping[str, str] | None = None,
    store: Path | str = DEFAULT_STORE,
    serving: Notify | None = None,
    judge_repeats: int = 1,
    as_recorded: bool = False,
    ids: Collection[str] | None = None,
    load: Sequence[Path | str] = (),
) -> Scored:
    """Score recorded predictions by the benchmark's own flow. No model is measured, no image read.

    Questions and predictions are names and files, or are in memory: rows as `evaluate` takes them;
    predictions as a dict id -> reply, a list or column of replies in the order of the rows, a frame
    with ids, or the samples of a run. With rows in memory, `predictions` may name their column.
    A predictions file that also has gold answers needs no `data`; one that has everything may be
    given as the `benchmark`. `name` stands for the model in tables; by default it is the name of
    the file, or "predictions" for values in memory. `where` keeps the rows with these values, by
    column. `variant.rule` says whose rules parse the replies. `judges` grade replies if the
    benchmark asks judges, and the `extractor` parses replies that no rule can: models, whose
    replies are kept in `store`, or `column:NAME` for a column of the predictions file. With None
    as `judges`, the verdicts that a published layout records are counted, with a warning; an empty
    sequence leaves all to the rules. Judges that are models are asked `judge_repeats` times for
    each verdict. `labels` names a column that says what each reply answers (`{"answer": NAME}`) or
    whether it is right (`{"right": NAME}`); parsing is compared with it. `as_recorded` repeats the
    number of the tool that wrote the file, from its column of verdicts, else of the answers it
    read. With `ids`, these questions alone are scored. The files of `load` declare benchmarks. A
    judge's server, as of vllm/ORG/NAME, is started and stopped; `serving` gets lines about it.
    Raises UsageError subclasses, also for a judge or extractor that would be asked nothing.
    """
    if name is not None and not (isinstance(name, str) and name):
        raise UsageError(f"name is {name!r}; expected what tables call the model, such as 'mine'")
    inputs = scoring_inputs(benchmark, predictions, data, variant, _named_columns(columns, variant), load)
    check_column_keys(inputs.columns.single)
    check_judge_repeats(judge_repeats, judges or ())
    if as_recorded and (judges or extractor is not None):
        raise UsageError("--as-recorded takes what the file records; leave out --judge and --extractor")
    variant = replace(variant, data=str(inputs.data or "") or variant.data, judge_repeats=judge_repeats)
    with infrequent_gc(), ExitStack() as stack:

        @cache
        def open_servers() -> Servers:
            from snellen.engine.servers.managed import Servers

            return stack.enter_context(Servers(Path(store).parent, notify=serving))

        roles = RecordedRoles(judges or (), extractor, labels or {}, Path(store), as_recorded, open_servers)
        files = steps.recognise(inputs, variant)
        read = steps.read_replies(files, roles, where, counts_verdicts=judges is None)
        scored = steps.score_answers(steps.parse_replies(steps.match_to_rows(read), ids))
    return _with_run(scored, read, inputs.name if name is None else name, variant.failures, where)


def _named_columns(columns: Mapping[str, str] | None, variant: Variant) -> dict[str, str]:
    ignored = {IGNORED: variant.columns[IGNORED]} if IGNORED in variant.columns else {}
    return canonical_keys({**(columns or {}), **ignored})


def score_as_run(
    run: RunFolder,
    predictions: Path | str,
    *,
    moved: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
) -> Scored:
    """Score a file of predictions by the benchmark of a run: on its data, which may have been
    `moved` to one of these files, its samples, and by its settings where `variant` names no other
    `rule` or `circular`.

    No model is asked: an extractor of the run is left out, with a warning. Raises UsageError
    subclasses, also for a run that judges graded.
    """
    path = Path(predictions)
    benchmark = _benchmark_of_run(run, path, moved, variant)
    table = benchmark.open()
    _, reply_columns = ColumnNames(canonical_keys(columns or {})).split(True)
    rows = read_predictions(path, columns=reply_columns, where=where)
    no_roles = RecordedRoles((), None, {}, Path(DEFAULT_STORE))
    matched = match_rows(rows, table).without_repeats()
    read = steps.ReadReplies(replace(benchmark, open=lambda: table), matched, no_roles)
    scored = steps.score_answers(steps.parse_replies(read))
    config = run.info.config
    if config.limit is not None:
        ids = {record.id for record in chain(run.records(), run.failures())}
        records = [record for record in scored.records if record.id in ids]
        scored = scored._replace(records=records, summary=final_summary(scored.benchmark, records, config.examples))
    if EXTRACTOR in config.roles:
        extractor = f"{path.name}: rules alone read it, without the extractor of {run.name}"
        scored = scored._replace(warnings=(*scored.warnings, extractor))
    return _with_run(scored, read, path.name, run.info.failures, where)


def _benchmark_of_run(run: RunFolder, path: Path, moved: Sequence[str], variant: Variant) -> Benchmark:
    """The benchmark of a run without its other roles, for a file of predictions. Raises UsageError
    for a run whose numbers no rule makes."""
    config = run.info.config
    if AS_RECORDED in config.parameters:
        raise UsageError(
            f"{path.name}: {run.name} holds a number as another tool recorded it; first score "
            f"the file: snellen score {run.info.benchmark} --predictions {path.name} --as-recorded "
            "--out DIR"
        )
    if any(role.partition("-")[0] == JUDGE for role in config.roles):
        raise UsageError(
            f"{path.name}: the replies of {run.name} were graded by a judge, which no analysis "
            f"asks; first score the file: snellen score {run.info.benchmark} --predictions "
            f"{path.name} --judge MODEL --out DIR"
        )
    parameters = {name: value for name, value in config.parameters.items() if name != CONTROL}
    changed = {"rule": variant.rule, "circular": variant.circular}
    parameters |= {name: value for name, value in changed.items() if value is not None}
    config = structs.replace(config, parameters=parameters, roles={})
    return benchmark_with_data(run, moved, structs.replace(run.info, config=config))


def check_judge_repeats(repeats: int, judges: Sequence[AnyModel]) -> None:
    """Raise UsageError if verdicts cannot be requested this many times."""
    check_repeats("judge_repeats", repeats)
    if repeats > 1 and (not judges or are_verdicts_recorded(judges)):
        raise UsageError(
            "judge_repeats asks judges again; name a model (judges, or --judge MODEL:repeats=N): "
            "the verdicts of a column are recorded once"
        )


def _with_run(
    scored: Scored, read: steps.ReadReplies, name: str, failures: str | None, where: Mapping[str, str] | None
) -> Scored:
    """The numbers with the notices of their predictions, and these as a run, for code that works on runs."""
    rows = "".join(f", {column}={value}" for column, value in (where or {}).items())
    benchmark, data, roles = scored.benchmark, scored.data, read.roles
    named_roles = dict(zip(judge_roles(len(roles.judges)), roles.judges, strict=True))
    if roles.extractor is not None:
        named_roles[EXTRACTOR] = roles.extractor
    identities = {role: recorded_identity(model) for role, model in named_roles.items()}
    total = scored.summary.total
    facts = {"revision": f"sha256:{scored.digest}"} if scored.digest else {}
    run = RunInfo(
        name="",
        model=f"{name}{rows}",
        benchmark=benchmark.name,
        title=benchmark.title,
        config=RunConfig(
            identity=Identity("recorded", name, facts),
            benchmark=benchmark.name,
            version=benchmark.version,
            parameters=dict(benchmark.parameters),
            data=data.digest if data is not None else "",
            # A length limit does not apply to recorded replies.
            max_new_tokens=0,
            roles=identities,
        ),
        data=data if data is not None else DataInfo("", "", 0),
        status="complete",
        created="",
        counts=Counts(samples=total, done=total),
        failures=failures or benchmark.failures,
        paper=benchmark.paper,
        source=benchmark.provenance,
        headline=benchmark.headline,
    )
    return scored._replace(run=run, warnings=(*read.notices, *scored.warnings))


def score_by_rules(
    benchmark: str,
    predictions: Path | str | None = None,
    *,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> dict[str, Scored]:
    """`score` under every parsing rule of the benchmark, without judges, by the name of the rule.
    Files are read once where all rules take the same rows and columns."""
    inputs = scoring_inputs(benchmark, predictions, None, variant, _named_columns(columns, variant))
    check_column_keys(inputs.columns.single)
    roles, read_file = RecordedRoles((), None, {}, Path(DEFAULT_STORE)), steps.read_once()

    def read_for(rule: str | None) -> steps.ReadReplies:
        files = steps.recognise(inputs, replace(variant, rule=rule))
        return steps.read_replies(files, roles, where, counts_verdicts=False, read_file=read_file)

    def score_read(read: steps.ReadReplies) -> Scored:
        scored = steps.score_answers(steps.parse_replies(steps.match_like(read, default, matched)))
        return _with_run(scored, read, inputs.name, variant.failures, where)

    with infrequent_gc():
        default = read_for(None)
        matched = steps.keep_samples(steps.match_to_rows(default))
        return {rule: score_read(read_for(rule)) for rule in default.benchmark.rules}
