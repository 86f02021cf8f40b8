"""`why --ask`: plan and make the runs that combine settings of two runs, such as the model of the
first with the prompt of the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from snellen.analysis.causes.factors import (
    DECODING_FACTS,
    MEDIA_FACTS,
    PARSING_PARAMETERS,
    SCORING_PARAMETERS,
    Cause,
    RunRecords,
    cause_keys,
    comparable_settings,
    prompt_media,
    prompt_text,
    role_cause,
)
from snellen.analysis.causes.sample_changes import passes_of
from snellen.analysis.causes.why import DifferenceSplit, open_combinations
from snellen.analysis.comparison.reopened_data import benchmark_as_recorded
from snellen.api.budget import Prices, request_limits
from snellen.api.options import AskOptions
from snellen.api.plan_table import Planned
from snellen.api.planning import plan_runs
from snellen.api.report_page import write_page
from snellen.api.resolve_models import resolve_served_model
from snellen.api.why import CROSSED_FOLDER
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import CheckableModel, Identity, Model
from snellen.core.output import Generated, Output, Ranked
from snellen.core.record import Record
from snellen.core.request import Sampling
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.plan import RunPlan, build_flow
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.engine.loop.request_broker import MAIN
from snellen.engine.loop.run import run
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.models.naming.custom import load_files
from snellen.models.naming.spec import split_options
from snellen.store.responses import STORE_FILE, ResponseStore
from snellen.store.runs import RunFolder

_MEDIA_PARAMETERS = (CONTROL, "images", "frames")
"""Parameters of a run that change the media of a prompt."""
_MAX_CHECKED_PROMPTS = 20
"""Samples whose prompts are compared before anything is asked."""


class CrossedRuns:
    """The runs that tell the causes of a difference apart, ready to be made.

    A context manager: entering it opens models and plans the runs, leaving it ends servers. `plan`
    is what the runs would ask and cost. Raises UsageError if a run cannot be made: a model cannot
    be opened as it was, data changed, or a prompt would differ.
    """

    def __init__(
        self,
        pair: tuple[RunRecords, RunRecords],
        why: DifferenceSplit,
        folder: Path,
        options: AskOptions,
        *,
        moved: Sequence[str] = (),
        serving: Notify | None = None,
    ) -> None:
        """`folder` is that of the first run: without `options.out`, runs and replies are kept in
        the same place."""
        self._pair, self._options, self._moved = pair, options, moved
        self._infos = _run_infos(pair)
        neighbourhood = folder.resolve().parent
        self._out = Path(options.out) if options.out is not None else neighbourhood / CROSSED_FOLDER
        self._store = (
            Path(options.store)
            if options.store is not None
            else ((neighbourhood if options.out is None else self._out) / STORE_FILE)
        )
        self._prices = Prices(options.prices)
        self._limits = request_limits(options.retries, options.max_failures, options.budget)
        self._combinations = open_combinations(why)
        self._stack = ExitStack()
        self._servers = Servers(self._out, None, options.serve_timeout, serving)
        self._custom_models: Mapping[str, Model] = {}
        self._opened_models: dict[str, tuple[str, Model]] = {}

    def __enter__(self) -> Self:
        self._stack.__enter__()
        try:
            self._stack.enter_context(self._servers)
            self._custom_models = load_files(self._options.load).models
            self._responses = self._stack.enter_context(ResponseStore(self._store))
            for side in self._pair:
                self._store_replies(side)
            self._plans = [self._run_plan(switched) for switched in self._combinations]
            named_models = [(plan.model_name, plan.model) for plan in self._plans]
            named_models += [("", model) for plan in self._plans for model in plan.roles.values()]
            self._prices.check(named_models, self._limits.budget)
            self.plan: Planned = plan_runs(self._plans, self._responses, self._prices, self._limits.budget, self._out)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def max_requests(self) -> int:
        """How many requests may have to be sent, those to judges and extractors included."""
        estimates = [line.estimate for line in self.plan.lines if line.estimate is not None]
        return sum(estimate.most_requests + sum(estimate.asked_of_others.values()) for estimate in estimates)

    def ask(self, command: str = "", progress: Progress | None = None) -> list[RunFolder]:
        """Make the runs. Raises UsageError before anything is asked if a server does not answer,
        and `RunInterrupted` on Ctrl-C."""
        for plan, line in zip(self._plans, self.plan.lines, strict=True):
            if line.skipped:
                raise UsageError(f"{plan.model_name} on {plan.benchmark.name}: {line.skipped}")
            has_requests = line.estimate is not None and line.estimate.most_requests > 0
            if has_requests and isinstance(plan.model, CheckableModel):
                run_coroutine(plan.model.check())
        runs = []
        for plan in self._plans:
            plan = replace(plan, command=command, progress=progress or NoProgress(), limits=self._limits)
            plan = replace(plan, prices=self._prices.plan_prices(plan))
            self._servers.keep_only(plan.model, *plan.roles.values())
            runs.append(run(plan, self._responses))
            write_page(runs[-1], plan.benchmark, self._responses)
        return runs

    def _run_plan(self, switched: frozenset[Cause]) -> RunPlan:
        """The run that is as the second in the causes `switched`, and else as the first."""
        first, second = self._infos
        sides = {
            cause: second if cause in switched else first for cause in frozenset[Cause]().union(*self._combinations)
        }
        model_run = sides.get("model", first)
        prompt_run = sides.get("prompt", first)
        media_run = sides.get("media", prompt_run)
        # Decoding settings go with the model, whose profile has the longest reply, unless they
        # are a cause of their own.
        decoding_run = sides.get("decoding", model_run)
        name, model = self._model_with_settings(model_run, decoding_run, sides.get("media", model_run))
        # Extractors and judges, and how they are asked, come from the run that they belong to.
        readers = dict(self._readers(sides))
        roles = {role: side.config.roles[role] for role, side in readers.items()}
        benchmark = self._crossed_benchmark(prompt_run, media_run, decoding_run, sides.get("extraction", first), roles)
        smaller = min(self._pair, key=lambda side: len(side.records)).info
        assert smaller is not None
        plan = RunPlan(
            model=model,
            model_name=name,
            benchmark=benchmark,
            out=self._out,
            roles={role: self._open_role(role, identity) for role, identity in roles.items()},
            limit=smaller.config.limit,
            seed=smaller.config.seed,
            failures=first.failures,
            # Requests that the model's own run made already are then in the store.
            fresh=model_run.config.fresh,
            repeats=min(first.config.repeats, second.config.repeats),
            sampling={
                **{role: side.config.sampling[role] for role, side in readers.items() if role in side.config.sampling},
                **_model_sampling(decoding_run.config),
            },
            extend_truncated=decoding_run.config.extend_truncated,
        )
        self._check_prompts(plan, prompt_run, media_run)
        return plan

    def _readers(self, sides: Mapping[Cause, RunInfo]) -> Iterator[tuple[str, RunInfo]]:
        """The roles of a crossed run, each with the run that its model is taken from."""
        first, second = self._infos
        for role in dict.fromkeys([*first.config.roles, *second.config.roles]):
            cause = role_cause(role)
            side = first if cause is None else sides.get(cause, first)
            if role in side.config.roles:
                yield role, side

    def _store_replies(self, side: RunRecords) -> None:
        """Store the replies of a run, wherever it was made, so that none is asked for again."""
        assert side.info is not None
        model = self._responses.model_key(side.info.config.identity)
        for record in side.records.values():
            for digest, output in recorded_replies(record):
                self._responses.put(bytes.fromhex(digest), output, model)

    def _model_with_settings(self, run_info: RunInfo, decoding: RunInfo, media: RunInfo) -> tuple[str, Model]:
        """The model of `run_info` with the decoding and media settings of other runs, and its name.

        Each name by which the model may be reached is tried; the model must then have the same
        cause keys as the runs the settings come from. Raises UsageError if none has."""
        first, second = (info.config for info in self._infos)
        settings = comparable_settings(first, second)
        model_key = cause_keys(run_info.config, settings)["model"]
        decoding_key = cause_keys(decoding.config, settings)["decoding"]
        media_key = cause_keys(media.config, settings)["media"]
        problems = []
        for spec in self._model_specs(run_info):
            try:
                name, model = self._open_model(_with_settings(spec, run_info, decoding, media, settings))
            except UsageError as error:
                problems.append(str(error))
                continue
            config = structs.replace(
                decoding.config,
                identity=model.identity,
                sampling=_model_sampling(decoding.config),
                parameters=media.config.parameters,
            )
            key = cause_keys(config, settings)
            if (key["model"], key["decoding"], key["media"]) == (model_key, decoding_key, media_key):
                return name, model
        raise UsageError(
            f"the model {run_info.model} cannot be opened as it was when it was run"
            f"{f' ({problems[0]})' if problems else ''}; say how it is reached, e.g. with "
            "-m http://localhost:8000/v1#NAME or --load FILE.py"
        )

    def _open_model(self, spec: str) -> tuple[str, Model]:
        """Open a model; the same one for all runs."""
        if spec not in self._opened_models:
            self._opened_models[spec] = resolve_served_model(spec, self._custom_models, self._servers)
        return self._opened_models[spec]

    def _model_specs(self, run_info: RunInfo) -> Iterator[str]:
        """Names by which a run's model may be opened: first those that the user gave."""
        yield from self._options.models
        yield run_info.model
        yield f"{run_info.config.identity.provider}/{run_info.config.identity.name}"

    def _open_role(self, role: str, identity: Identity) -> Model:
        """The judge or extractor of the first run. Raises UsageError if none is identical."""
        for spec in (*self._options.models, f"{identity.provider}/{identity.name}", identity.name):
            try:
                _, model = self._open_model(spec)
            except UsageError:
                continue
            if model.identity == identity:
                return model
        raise UsageError(
            f"the {role} {identity.provider}/{identity.name} cannot be asked again as it was; say "
            "how it is reached with -m"
        )

    def _crossed_benchmark(
        self, prompt: RunInfo, media: RunInfo, decoding: RunInfo, extraction: RunInfo, roles: dict[str, Identity]
    ) -> Benchmark:
        """The benchmark with the prompt, media, longest reply and rules of extraction of these
        runs, and these models in other roles. Answers are scored as in the first run."""
        parameters, media_parameters = dict(prompt.config.parameters), media.config.parameters
        for name in _MEDIA_PARAMETERS:
            parameters.pop(name, None)
            if name in media_parameters:
                parameters[name] = media_parameters[name]
        first = self._infos[0]
        for source, names in ((extraction, PARSING_PARAMETERS), (first, SCORING_PARAMETERS)):
            for name in names:
                parameters.pop(name, None)
                if name in source.config.parameters:
                    parameters[name] = source.config.parameters[name]
        config = structs.replace(prompt.config, parameters=parameters, roles=roles)
        info = structs.replace(prompt, config=config, failures=first.failures)
        limit = decoding.config.max_new_tokens
        return benchmark_as_recorded(info, self._moved, max_new_tokens=limit)

    def _check_prompts(self, plan: RunPlan, prompt: RunInfo, media: RunInfo) -> None:
        """Raises UsageError if a prompt or its media differ from the runs they are taken from."""
        prompt_records, media_records = (self._records(info) for info in (prompt, media))
        flow = build_flow(plan)
        shared_samples = (
            sample
            for sample in plan.benchmark.samples(plan.benchmark.open())
            if sample.id in prompt_records and sample.id in media_records
        )
        for sample in islice(shared_samples, _MAX_CHECKED_PROMPTS):
            passes = prompt_records[sample.id].passes, media_records[sample.id].passes
            request = next(flow(sample), None)
            if request is None or not all(passes):
                continue
            if (prompt_text(request.messages), prompt_media(request.messages)) != (
                prompt_text(passes[0][0].prompt),
                prompt_media(passes[1][0].prompt),
            ):
                raise UsageError(
                    f"{plan.model_name} with the prompt of {prompt.name} would not be asked what "
                    f"that run asked (sample {sample.id}), so that the two cannot be crossed"
                )

    def _records(self, info: RunInfo) -> Mapping[str, Record]:
        return next(side.records for side in self._pair if side.info is info)


def recorded_replies(record: Record) -> Iterator[tuple[str, Output]]:
    """The replies of the measured model, with the digests (hex) of their requests: only the first
    where the requests cannot be matched with what the record holds, such as repeated ones."""
    outputs: list[Output | None] = []
    for one in passes_of(record):
        outputs += [] if one.cut_reply is None else [one.cut_reply.output]
        outputs += [one.output, *([] if one.extraction is None else [None])]
        outputs += [None] * sum(verdict.tries for verdict in one.verdicts)
    matched = len(outputs) == len(record.requests)
    for digest, output in zip(record.requests, outputs if matched else outputs[:1], strict=matched):
        if isinstance(output, Generated | Ranked):
            yield digest, output


def _run_infos(pair: tuple[RunRecords, RunRecords]) -> tuple[RunInfo, RunInfo]:
    """The two runs' own records of how they were made. Raises UsageError if they cannot be
    crossed: one is a file of predictions, or their data differ."""
    for side in pair:
        if side.info is None:
            raise UsageError(
                f"{side.name} holds replies alone: which model was asked, and what, is not known, "
                "so nothing can be crossed; give two run folders to --ask"
            )
    first, second = pair[0].info, pair[1].info
    assert first is not None
    assert second is not None
    if first.config.data != second.config.data:
        raise UsageError(
            f"{pair[0].name} and {pair[1].name} were made on different data, which cannot be "
            "crossed; run one of them on the data of the other first"
        )
    return first, second


def _with_settings(spec: str, run_info: RunInfo, decoding: RunInfo, media: RunInfo, settings: frozenset[str]) -> str:
    """A model's name, with decoding and media settings of other runs as its options."""
    if decoding is run_info and media is run_info:
        return spec
    stem, options = split_options(spec)
    for names, info in ((DECODING_FACTS, decoding), (MEDIA_FACTS, media)):
        if info is run_info or _have_same_facts(run_info.config, info.config, names & settings):
            continue
        other_options = split_options(info.model)[1]
        for name in names & settings:
            options.pop(name, None)
            if name in other_options:
                options[name] = other_options[name]
    option_text = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{stem}:{option_text}" if option_text else stem


def _model_sampling(config: RunConfig) -> dict[str, Sampling]:
    return {role: sampling for role, sampling in config.sampling.items() if role == MAIN}


def _have_same_facts(first: RunConfig, second: RunConfig, names: frozenset[str]) -> bool:
    facts = first.identity.facts, second.identity.facts
    return all(facts[0].get(name) == facts[1].get(name) for name in names)
