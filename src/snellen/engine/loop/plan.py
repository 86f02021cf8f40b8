"""What a run is: its plan, the samples it asks, its name, and the flow of each sample.

Of joined models the drawings are described by the measured text model, and drawn by `DRAWER`: both are roles of the
run, so that their requests are stored, counted and paid for like those of any model. Models that take one image
answer questions of several with the first, which is VLMEvalKit's policy (Duan et al., arXiv 2407.11691, Section 3.2),
and noted with the run.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from snellen.core.benchmark import BLIND_HINT, Benchmark, DataTable
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Capabilities, Model, abilities
from snellen.core.output import Failure, Price
from snellen.core.record import Flow, Pass, Record, change_requests, merge_draws
from snellen.core.request import DRAWER, Compare, Draw, Generate, Generation, Messages, Rank, Request, Sampling
from snellen.core.run import RunConfig, RunInfo
from snellen.core.sample import Row, Sample, sampling_key
from snellen.core.shard import RunShard
from snellen.engine.anytime.early_stop import StopRule
from snellen.engine.forecast.projection import Forecast
from snellen.engine.loop.driving import reclassify_too_long
from snellen.engine.loop.extension import extend_truncated
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.engine.loop.request_broker import MAIN, RequestLimits
from snellen.models.frequent import Frequent
from snellen.models.image_policy import first_image
from snellen.models.joined import (
    DESCRIBE,
    Describe,
    JoinedDrawing,
    description_settings,
    draw_in_steps,
    joined_capabilities,
    role_identity,
)
from snellen.store.runs import find_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Everything that a run is started with."""

    model: Model
    model_name: str
    benchmark: Benchmark
    out: Path
    roles: Mapping[str, Model] = field(default_factory=dict)
    """Other models that flows may ask, by role, e.g. an `extractor`."""
    limit: int | None = None
    """Number of samples to ask; None: all."""
    seed: int = 0
    """Seed of the random subset that a limit selects."""
    shard: RunShard | None = None
    """The part of these samples that is asked; None: all. It does not enter the run's config: the
    shards of a run are one run."""
    failures: str = "exclude"
    command: str = ""
    progress: Progress = field(default_factory=NoProgress)
    limits: RequestLimits = RequestLimits()  # noqa: RUF009 - frozen
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Known prices, by role."""
    stop_rule: StopRule | None = None
    """The rule that may end the run before all samples are asked."""
    fresh: str = ""
    """Replies are stored and looked up under this name only; empty: without a name."""
    repeats: int = 1
    """How often each question is asked."""
    sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """Sampling by role; a role that is absent is sampled as the benchmark declares."""
    setup_sampling: Sampling | None = None
    """How the model is sampled in what `sampling` leaves open, by its maker's set-up."""
    describe: Describe = DESCRIBE[0]
    """With a `DRAWER` among the roles: for which prompts the model describes what is drawn."""
    extend_truncated: int | None = None
    """Token limit with which replies that were cut at a lower one are asked for again."""
    warned: Callable[[str], object] | None = None
    """Called with a sentence that the user should read while the run goes on."""
    on_forecast: Callable[[Forecast], object] | None = None
    """Called once, when the first samples of a new run have ended, with what the others take."""

    @property
    def capabilities(self) -> Capabilities:
        """What is taken and given: of the model, or of it and its drawer."""
        own = self.model.capabilities
        return joined_capabilities(own) if DRAWER in self.roles else own


def bind_to_data(plan: RunPlan) -> RunPlan:
    """The plan with the model for its data: another one only where a baseline reads the answers.
    Opens the data. Raises DataError and UsageError."""
    if not isinstance(plan.model, Frequent):
        return plan
    table = plan.benchmark.open()
    model = plan.model.for_samples(plan.benchmark.samples(table), table.digest)
    return dataclasses.replace(plan, model=model)


_MOST_KEPT = 4_000
"""Samples of a table that are kept until they are asked: some MB, without their media."""


def build_once(plan: RunPlan, table: DataTable) -> RunPlan:
    """The plan with a benchmark that builds the samples of this table once, if they are few. Of
    many each pass builds its own, so that memory does not grow with their number."""
    build = plan.benchmark.samples
    kept: list[Sample] = []

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        if rows is not table:
            return build(rows)
        return iter(kept) if kept else keep(build(rows))

    def keep(built: Iterator[Sample]) -> Iterator[Sample]:
        first = list(islice(built, _MOST_KEPT + 1))
        if len(first) <= _MOST_KEPT:
            kept[:] = first
        return chain(first, built)

    return dataclasses.replace(plan, benchmark=dataclasses.replace(plan.benchmark, samples=samples))


def select_ids(plan: RunPlan, table: DataTable) -> set[str]:
    """Ids of the samples to be asked: those of the shard, if the plan has one (`select_units`)."""
    return _ids_of(plan.shard, select_units(plan, table))


def select_samples(plan: RunPlan, table: DataTable) -> tuple[RunPlan, set[str]]:
    """The plan with the size of the whole run in its shard, and the ids of the samples to be asked."""
    units = select_units(plan, table)
    shard = plan.shard.of_run(units) if plan.shard is not None else None
    return dataclasses.replace(plan, shard=shard), _ids_of(shard, units)


def _ids_of(shard: RunShard | None, units: Sequence[Sequence[str]]) -> set[str]:
    return shard.select(units) if shard is not None else {id for unit in units for id in unit}


def select_units(plan: RunPlan, table: DataTable) -> list[list[str]]:
    """Ids of the samples of the whole run, by unit, in the order of the data or of the limit.

    A limit keeps the units (`Sample.unit`) whose hash with the seed is smallest: a random subset,
    the same for every model, and nested (100 samples are part of 200). Units are kept complete: at
    most `limit` samples, but at least one unit.

    Rows whose question is in the image only are asked as they are. Raises DataError if a row has
    neither question nor media, or no row has a question.
    """
    units: dict[str, list[str]] = {}
    has_question, row_without_question = False, None
    for sample in plan.benchmark.samples(table):
        has_question = has_question or bool(sample.question)
        if not sample.question:
            row_without_question = sample.id
            if not sample.media:
                raise _missing_question_error(row_without_question, table)
        units.setdefault(sample.unit or sample.id, []).append(sample.id)
    if not units:
        raise UsageError(f"{plan.benchmark.name}: no question is left to ask in {table.path}")
    if row_without_question is not None and not has_question:
        raise _missing_question_error(row_without_question, table)

    if plan.limit is None:
        return list(units.values())
    selected: list[list[str]] = []
    left = plan.limit
    for unit in sorted(units, key=partial(sampling_key, plan.seed)):
        if selected and len(units[unit]) > left:
            break
        selected.append(units[unit])
        left -= len(units[unit])
    return selected


def _missing_question_error(row: str, table: DataTable) -> DataError:
    near = difflib.get_close_matches("question", {*table.columns} - {"question"}, 1) or ["..."]
    fill = "fill in the cell, leave the row out, or " if "question" in table.columns else ""
    return DataError(
        f"{table.path}: the row {row!r} has no question to ask; got the columns "
        f"{', '.join(table.columns)}; {fill}name it with --columns question={near[0]}"
    )


def run_config(plan: RunPlan, table: DataTable) -> RunConfig:
    return RunConfig(
        identity=plan.model.identity,
        roles={
            role: role_identity(model.identity, plan.describe) if role == DRAWER else model.identity
            for role, model in plan.roles.items()
        },
        benchmark=plan.benchmark.name,
        version=plan.benchmark.version,
        parameters=dict(plan.benchmark.parameters),
        data=table.digest,
        limit=plan.limit,
        seed=plan.seed if plan.limit is not None or plan.stop_rule is not None else 0,
        until=plan.stop_rule.text if plan.stop_rule is not None else "",
        max_new_tokens=plan.benchmark.max_new_tokens,
        examples=plan.benchmark.few_shot_info() if plan.benchmark.few_shot_info else None,
        repeats=plan.repeats,
        fresh=plan.fresh,
        sampling=recorded_sampling(plan),
        extend_truncated=plan.extend_truncated,
    )


def recorded_sampling(plan: RunPlan) -> dict[str, Sampling]:
    """By role: settings of the command, of the set-up for what these leave open."""
    if plan.setup_sampling is None:
        return dict(plan.sampling)
    own = structs.asdict(plan.sampling.get(MAIN, Sampling()))
    chosen = {name: value for name, value in own.items() if value is not None}
    return {**plan.sampling, MAIN: replace(plan.setup_sampling, **chosen)}


def build_flow(plan: RunPlan) -> Callable[[Sample], Flow]:
    """The flow of each sample: prepared, repeated, and recorded as unsupported without a request
    if the model cannot take it. A recording answers by row, so that it supports every sample."""
    unsupported_reason, prepare = plan.benchmark.unsupported_reason, plan.benchmark.prepare
    asked_flow = plan.benchmark.flow
    # A recording has one reply to each row, whatever the limit.
    if plan.extend_truncated is not None and not abilities(plan.model).by_row:
        asked_flow = extend_truncated(asked_flow, plan.extend_truncated)
    if DRAWER in plan.roles:
        asked_flow = with_drawer(asked_flow, plan.describe, description_settings(plan.model))
    if plan.setup_sampling is not None:
        asked_flow = _sampled_flow(asked_flow, plan.setup_sampling)
    repeated_flow = repeat_flow(asked_flow, plan.repeats, plan.sampling)
    is_recording = abilities(plan.model).by_row
    is_text_only = _is_text_only(plan.capabilities)
    if takes_one_image(plan.model):
        repeated_flow = with_first_image(repeated_flow)
    if is_recording or not (unsupported_reason or prepare or is_text_only):
        return repeated_flow

    def flow(sample: Sample) -> Flow:
        """Ask a sample with its prepared images; a sample that the model cannot take is recorded as
        unsupported."""
        reason = unsupported_reason(sample, plan.capabilities) if unsupported_reason else None
        prepared = prepare(sample) if prepare is not None and reason is None else sample
        if reason is None and is_text_only and prepared.media:
            reason = f"it is asked with images, which the model does not take; {BLIND_HINT}"
        if reason is None:
            if prepare is None:
                return (yield from repeated_flow(sample))
            record: Record = yield from repeated_flow(prepared)
            # The record names the prepared images; the original ones let a resumed run see
            # whether the data have changed.
            data_media = tuple(ref.digest for ref in sample.media)
            return replace(record, data_media=data_media)
        return _unsupported_record(sample, reason)

    return flow


def _unsupported_record(sample: Sample, reason: str) -> Record:
    return Record(
        id=sample.id,
        kind=sample.kind,
        question=sample.question,
        outcome="unsupported",
        unscored="unsupported",
        gold=sample.gold,
        options=dict(sample.options),
        groups=dict(sample.groups),
        metadata=dict(sample.metadata),
        media=tuple(ref.digest for ref in sample.media),
        passes=(Pass((), Failure("unsupported", reason)),),
        failure="unsupported",
    )


def _is_text_only(capabilities: Capabilities) -> bool:
    """Whether a model declares that it takes and gives text only."""
    return not capabilities.inputs & {"image", "video"} and "image" not in capabilities.outputs


def images_reason(plan: RunPlan, table: DataTable, selected: Collection[str]) -> str:
    """Why no selected sample can be asked: all have images, and the model takes none; "" if some
    can. For data files of the user, which may or may not have images."""
    if not _is_text_only(plan.capabilities) or abilities(plan.model).by_row or not selected:
        return ""
    samples = [each for each in plan.benchmark.samples(table) if each.id in selected]
    if not all(any(ref.kind == "image" for ref in each.media) for each in samples):
        return ""
    # A control may remove the images from all samples.
    prepare = plan.benchmark.prepare
    if prepare is not None and not prepare(samples[0]).media:
        return ""
    return f"needs image input, which the model does not take; {BLIND_HINT}"


_DEFAULT_SAMPLING = Sampling()


def repeat_flow(
    flow: Callable[[Sample], Flow], repeats: int, sampling: Mapping[str, Sampling]
) -> Callable[[Sample], Flow]:
    """Run a flow `repeats` times in sequence, with the `sampling` of the role of each request.

    The repeat's index is part of the requests to the measured model, so that each is sent. An
    extractor or judge is asked once about equal replies. The flow raises UsageError if the model
    ranks candidates, because sampling does not change a ranking.
    """
    if repeats == 1 and not sampling:
        return flow

    def change(index: int, request: Request) -> Request:
        role_sampling = sampling.get(request.to)
        if request.to == MAIN:
            _check_repeatable(request, repeats, role_sampling)
        if index and request.to in (MAIN, DRAWER) and isinstance(request, Generate | Draw):
            request = replace(request, repeat=index)
        return _apply_sampling(request, index, role_sampling or _DEFAULT_SAMPLING)

    def draws(sample: Sample) -> Flow:
        records = []
        for index in range(repeats):
            draw = change_requests(flow(sample), partial(change, index))
            records.append(reclassify_too_long((yield from draw)))
        return merge_draws(records)

    return draws


def _check_repeatable(request: Request, repeats: int, sampling: Sampling | None) -> None:
    if isinstance(request, Rank) and (repeats > 1 or sampling is not None):
        raise UsageError(
            "the model ranks the candidates by their likelihood here, which is the same each time; "
            "leave out --repeats, temperature, top_p and seed"
        )
    if isinstance(request, Draw) and sampling is not None:
        raise UsageError(
            "the model draws images here, which have no temperature, top_p or seed of this kind; "
            "leave these out (--repeats alone draws each image several times)"
        )


def _apply_sampling(request: Request, index: int, sampling: Sampling) -> Request:
    if isinstance(request, Rank | Draw | Compare):
        return request
    repeat = index if request.to == MAIN else 0
    settings = sampling.apply_to(request.settings, repeat)
    return request if settings == request.settings else replace(request, settings=settings)


def _sampled_flow(flow: Callable[[Sample], Flow], sampling: Sampling) -> Callable[[Sample], Flow]:
    """A flow whose requests for replies of the model are sampled; texts are ranked, and images
    drawn, as before."""

    def change(request: Request) -> Request:
        return _apply_sampling(request, 0, sampling) if request.to == MAIN else request

    return lambda sample: change_requests(flow(sample), change)


LATEST = ""
"""`--fresh` without a name: continue the latest unfinished fresh command, else start a new one."""
_FRESH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_GENERATED_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


def check_fresh(name: str | None) -> None:
    """Raises UsageError if the name is invalid."""
    if name and not _FRESH_NAME.fullmatch(name):
        raise UsageError(f"--fresh {name!r}: expected a name of letters, digits and . _ -")


def fresh_name(plans: Sequence[RunPlan]) -> str:
    """The name that `LATEST` stands for: that of the last command of these runs if one of its runs
    is unfinished, so that the command continues it; else a new name."""
    supported = [plan for plan in plans if not plan.benchmark.requires(plan.capabilities)]
    named_runs = [dict(_generated_runs(plan)) for plan in supported]
    started = {name: run.created for runs in named_runs for name, run in runs.items()}
    if started:
        last = max(started, key=lambda name: (started[name], name))
        if not all(last in runs and runs[last].status == "complete" for runs in named_runs):
            return last
    # The random part: two commands may start in one second, and a clock may be set back.
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _generated_runs(plan: RunPlan) -> Iterator[tuple[str, RunInfo]]:
    """Existing runs of this plan whose names were generated here, with their names."""
    if not plan.out.is_dir():
        return
    config = _without_name(run_config(plan, plan.benchmark.open()))
    try:
        runs = find_runs(plan.out)
    except UsageError:
        return
    for run in runs:
        name = run.info.config.fresh
        if _GENERATED_NAME.fullmatch(name) and _without_name(run.info.config) == config:
            yield name, run.info


def _without_name(config: RunConfig) -> RunConfig:
    """The config without its name, and without what a stop rule adds when the run starts."""
    seed = config.seed if config.limit is not None else 0
    return replace(config, fresh="", until="", seed=seed)


_Asked = list[tuple[Messages, JoinedDrawing]]


def with_drawer(flow: Callable[[Sample], Flow], describe: Describe, settings: Generation) -> Callable[[Sample], Flow]:
    """The flow with each request to draw in two steps (`draw_in_steps`), both of them passes of its
    record; `settings` are those of the description."""

    def joined_flow(sample: Sample) -> Flow:
        steps = flow(sample)
        asked: _Asked = []
        try:
            request = next(steps)
            while True:
                if isinstance(request, Draw) and request.to != DRAWER:
                    drawing = yield from draw_in_steps(request, describe, settings)
                    asked.append((request.messages, drawing))
                    output = drawing.output
                else:
                    output = yield request
                request = steps.send(output)
        except StopIteration as end:
            record: Record = end.value
            return replace(record, passes=tuple(_asked_passes(record.passes, asked)))

    return joined_flow


def _asked_passes(passes: Sequence[Pass], asked: _Asked) -> Iterator[Pass]:
    """The passes, with what the two models were asked in place of each request to draw."""
    drawings = list(asked)
    for each in passes:
        if not drawings or tuple(each.prompt) != tuple(drawings[0][0]):
            yield each
            continue
        _, drawing = drawings.pop(0)
        if drawing.description is not None:
            yield Pass(tuple(drawing.description.messages), drawing.description.output)
        yield replace(each, prompt=tuple(drawing.messages))


def takes_one_image(model: Model) -> bool:
    """Whether a model takes images, but one of them only. A recording takes whatever it has."""
    capabilities = model.capabilities
    takes_images = "image" in capabilities.inputs
    return takes_images and not capabilities.many_images and not abilities(model).by_row


def with_first_image(flow: Callable[[Sample], Flow]) -> Callable[[Sample], Flow]:
    """A flow whose requests to the model have the first of their images alone."""
    return lambda sample: change_requests(flow(sample), _keep_first_image)


def first_image_remark(records: Iterable[Record]) -> str:
    """How many questions of several images were asked with the first alone, as a sentence; "" if
    none was."""
    several = sum(len(record.media) > 1 and record.outcome != "unsupported" for record in records)
    if not several:
        return ""
    return (
        f"the model takes one image: {several} questions of several were asked with the first alone, their texts joined"
    )


def _keep_first_image(request: Request) -> Request:
    """The request with the first of its images; a comparison of drawn images, and a request to
    another model, as it is."""
    if request.to != MAIN or isinstance(request, Compare):
        return request
    if sum(len(message.media()) for message in request.messages) < 2:
        return request
    messages = first_image(request.messages)
    kept = {part.digest for message in messages for part in message.media()}
    media = {digest: source for digest, source in request.media.items() if digest in kept}
    return replace(request, messages=messages, media=media)
