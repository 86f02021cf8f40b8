"""`why --ask`: the combinations that two runs leave open, such as the first model under the second
prompt, planned and asked as runs of their own."""

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
    Cause,
    RunRecords,
    cause_keys,
    comparable_settings,
    prompt_media,
    prompt_text,
)
from snellen.analysis.causes.why import DifferenceSplit, open_combinations
from snellen.analysis.comparison.reopened_data import benchmark_as_recorded
from snellen.api._budget import Prices, request_limits
from snellen.api._resolve import resolve_served_model
from snellen.api.options import STORE_FILE, AskOptions
from snellen.api.planning import Planned, plan_runs
from snellen.api.report import write_page
from snellen.api.why import CROSSED_FOLDER
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import CheckableModel, Identity, Model
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
from snellen.models.naming.registry import split_options
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

_MEDIA_PARAMETERS = (CONTROL, "images", "frames")
"""Parameters of a run that say what is shown."""
_MAX_CHECKED_PROMPTS = 20
"""Samples whose prompts are looked at before anything is asked."""


class CrossedRuns:
    """The further runs, ready to be asked. Use as a context manager: servers end with it.

    Raises UsageError where a run cannot be made: a model that cannot be opened as it was, data that
    changed, a prompt that comes out otherwise.
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
        self._pair, self._options, self._moved = pair, options, moved
        self._infos = _run_infos(pair)
        beside = folder.resolve().parent
        self._out = Path(options.out) if options.out is not None else beside / CROSSED_FOLDER
        self._store = Path(options.store) if options.store is not None else (
            (beside if options.out is None else self._out) / STORE_FILE
        )  # fmt: skip
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
            self._plans = [self._run_plan(one) for one in self._combinations]
            everyone = [(plan.model_name, plan.model) for plan in self._plans]
            everyone += [("", model) for plan in self._plans for model in plan.roles.values()]
            self._prices.check(everyone, self._limits.budget)
            self.plan: Planned = plan_runs(
                self._plans, self._responses, self._prices, self._limits.budget, self._out
            )
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def max_requests(self) -> int:
        """The most that may have to be sent, to judges and readers too."""
        lines = [line.estimate for line in self.plan.lines if line.estimate is not None]
        return sum(one.most_requests + sum(one.asked_of_others.values()) for one in lines)

    def ask(self, command: str = "", progress: Progress | None = None) -> list[RunFolder]:
        """Make the runs. Raises UsageError before anything is asked where a server cannot answer,
        and `RunInterrupted` on Ctrl-C."""
        for plan, line in zip(self._plans, self.plan.lines, strict=True):
            if line.skipped:
                raise UsageError(f"{plan.model_name} on {plan.benchmark.name}: {line.skipped}")
            owes = line.estimate is not None and line.estimate.most_requests > 0
            if owes and isinstance(plan.model, CheckableModel):
                run_coroutine(plan.model.check())
        made = []
        for plan in self._plans:
            plan = replace(
                plan, command=command, progress=progress or NoProgress(), limits=self._limits
            )
            plan = replace(plan, prices=self._prices.plan_prices(plan))
            self._servers.keep_only(plan.model, *plan.roles.values())
            made.append(run(plan, self._responses))
            write_page(made[-1], plan.benchmark, self._responses)
        return made

    def _run_plan(self, switched: frozenset[Cause]) -> RunPlan:
        first, second = self._infos
        sides = {
            cause: second if cause in switched else first
            for cause in frozenset[Cause]().union(*self._combinations)
        }
        model_of = sides.get("model", first)
        prompt_of = sides.get("prompt", first)
        media_of_run = sides.get("media", prompt_of)
        # The longest reply belongs to a model's profile, unless it is told apart itself.
        decoding_of = sides.get("decoding", model_of)
        name, model = self._model_with_settings(model_of, decoding_of, sides.get("media", model_of))
        benchmark = self._crossed_benchmark(prompt_of, media_of_run, decoding_of)
        smaller = min(self._pair, key=lambda side: len(side.records)).info
        assert smaller is not None
        plan = RunPlan(
            model=model,
            model_name=name,
            benchmark=benchmark,
            out=self._out,
            roles={role: self._open_role(role, one) for role, one in first.config.roles.items()},
            limit=smaller.config.limit,
            seed=smaller.config.seed,
            failures=first.failures,
            # Where both were asked the same, replies of the model's own run are taken again.
            fresh=model_of.config.fresh,
            repeats=min(first.config.repeats, second.config.repeats),
            sampling=_sampling(first.config, decoding_of.config),
        )
        self._check_prompts(plan, prompt_of, media_of_run)
        return plan

    def _model_with_settings(
        self, run_info: RunInfo, decoding: RunInfo, media: RunInfo
    ) -> tuple[str, Model]:
        """A run's model with the settings of others. Raises UsageError where it cannot be had."""
        first, second = (info.config for info in self._infos)
        settings = comparable_settings(first, second)
        wanted = cause_keys(run_info.config, settings)["model"]
        drawn = cause_keys(decoding.config, settings)["decoding"]
        shown = cause_keys(media.config, settings)["media"]
        problems = []
        for spec in self._model_specs(run_info):
            try:
                name, model = self._open_model(
                    _with_settings(spec, run_info, decoding, media, settings)
                )
            except UsageError as error:
                problems.append(str(error))
                continue
            found = structs.replace(
                decoding.config,
                identity=model.identity,
                sampling=_sampling(run_info.config, decoding.config),
                parameters=media.config.parameters,
            )
            mine = cause_keys(found, settings)
            if (mine["model"], mine["decoding"], mine["media"]) == (wanted, drawn, shown):
                return name, model
        raise UsageError(
            f"the model {run_info.model} cannot be opened as it was when it was run"
            f"{f' ({problems[0]})' if problems else ''}; say how it is reached, e.g. with "
            "-m http://localhost:8000/v1#NAME or --load FILE.py"
        )

    def _open_model(self, spec: str) -> tuple[str, Model]:
        """Each model once, however many runs it is in."""
        if spec not in self._opened_models:
            self._opened_models[spec] = resolve_served_model(
                spec, self._custom_models, self._servers
            )
        return self._opened_models[spec]

    def _model_specs(self, run_info: RunInfo) -> Iterator[str]:
        """Names by which a run's model may be opened: those that were given come first."""
        yield from self._options.models
        yield run_info.model
        yield f"{run_info.config.identity.provider}/{run_info.config.identity.name}"

    def _open_role(self, role: str, identity: Identity) -> Model:
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

    def _crossed_benchmark(self, prompt: RunInfo, media: RunInfo, decoding: RunInfo) -> Benchmark:
        like, shown = dict(prompt.config.parameters), media.config.parameters
        for name in _MEDIA_PARAMETERS:
            like.pop(name, None)
            if name in shown:
                like[name] = shown[name]
        first = self._infos[0]
        for name in ("rule", "rule_commit", "normalisation", "circular"):
            like.pop(name, None)
            if name in first.config.parameters:
                like[name] = first.config.parameters[name]
        config = structs.replace(prompt.config, parameters=like, roles=first.config.roles)
        info = structs.replace(prompt, config=config, failures=first.failures)
        limit = decoding.config.max_new_tokens
        return benchmark_as_recorded(info, self._moved, max_new_tokens=limit)

    def _check_prompts(self, plan: RunPlan, prompt: RunInfo, media: RunInfo) -> None:
        """Raises UsageError where the first prompts are not those of the runs they come from."""
        asked, shown = (self._records(info) for info in (prompt, media))
        flow = build_flow(plan)
        known = (one for one in plan.benchmark.samples(plan.benchmark.open())
                 if one.id in asked and one.id in shown)  # fmt: skip
        for sample in islice(known, _MAX_CHECKED_PROMPTS):
            passes = asked[sample.id].passes, shown[sample.id].passes
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


def _run_infos(pair: tuple[RunRecords, RunRecords]) -> tuple[RunInfo, RunInfo]:
    """What the two runs say of themselves. Raises UsageError where they cannot be crossed."""
    for side in pair:
        if side.info is None:
            raise UsageError(
                f"{side.name} holds replies alone: which model was asked, and what, is not known, "
                "so nothing can be crossed; give two run folders to --ask"
            )
    one, other = pair[0].info, pair[1].info
    assert one is not None
    assert other is not None
    if one.config.data != other.config.data:
        raise UsageError(
            f"{pair[0].name} and {pair[1].name} were made on different data, which cannot be "
            "crossed; run one of them on the data of the other first"
        )
    return one, other


def _with_settings(
    spec: str, run_info: RunInfo, decoding: RunInfo, media: RunInfo, settings: frozenset[str]
) -> str:
    """A model's name with the settings of other runs among its options."""
    if decoding is run_info and media is run_info:
        return spec
    stem, options = split_options(spec)
    for names, info in ((DECODING_FACTS, decoding), (MEDIA_FACTS, media)):
        if info is run_info or _have_same_facts(run_info.config, info.config, names & settings):
            continue
        theirs = split_options(info.model)[1]
        for name in names & settings:
            options.pop(name, None)
            if name in theirs:
                options[name] = theirs[name]
    told = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{stem}:{told}" if told else stem


def _sampling(one: RunConfig, decoding: RunConfig) -> dict[str, Sampling]:
    """How replies are sampled in a run that has the settings of `decoding` for the model's."""
    others = {role: how for role, how in one.sampling.items() if role != MAIN}
    mine = decoding.sampling.get(MAIN)
    return others if mine is None else {**others, MAIN: mine}


def _have_same_facts(one: RunConfig, other: RunConfig, names: frozenset[str]) -> bool:
    facts = one.identity.facts, other.identity.facts
    return all(facts[0].get(name) == facts[1].get(name) for name in names)
