"""`why --ask`: the combinations that two runs leave open, such as the first model under the second
prompt, planned and asked as runs of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from msgspec import structs

from snellen.analysis.causes.factors import (
    DECODING,
    SHOWING,
    Cause,
    Side,
    keys,
    media_of,
    settings_of,
    words_of,
)
from snellen.analysis.causes.why import Why, open_combinations
from snellen.analysis.comparison.reopened_data import benchmark_as_recorded
from snellen.api._budget import Prices, terms_of
from snellen.api._resolve import served_model
from snellen.api.options import STORE_FILE
from snellen.api.plan import Planned, planned_runs
from snellen.api.report import write_page
from snellen.api.why import CROSSED_RUNS
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Checked, Identity, Model
from snellen.core.record import Record
from snellen.core.request import Sampling
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.plan import Plan, flow_of
from snellen.engine.loop.progress import Progress, Silent
from snellen.engine.loop.request_broker import MAIN
from snellen.engine.loop.run import run
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Say
from snellen.models.naming.custom import load_files
from snellen.models.naming.registry import split_options
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

_SHOWN_BY = (CONTROL, "images", "frames")
"""Parameters of a run that say what is shown."""
_LOOKED_AT = 20
"""Samples whose prompts are looked at before anything is asked."""


class AskTerms(NamedTuple):
    """How and on what terms further runs are asked."""

    models: Sequence[str] = ()
    """How the models of the two runs are reached now, where their names do not say."""
    load: Sequence[Path | str] = ()
    out: Path | str | None = None
    """Where the runs are kept; None: in the folder `crossed` beside the first of the two."""
    store: Path | str | None = None
    """Where replies are kept; None: where those of the first run are, or in `out`."""
    retries: int | None = None
    max_failures: str | None = None
    budget: str | None = None
    prices: Sequence[str] = ()
    serve_timeout: float | None = None


class Crossing:
    """The further runs, ready to be asked. Use as a context manager: servers end with it.

    Raises UsageError where a run cannot be made: a model that cannot be opened as it was, data that
    changed, a prompt that comes out otherwise.
    """

    def __init__(
        self,
        pair: tuple[Side, Side],
        found: Why,
        folder: Path,
        terms: AskTerms,
        *,
        moved: Sequence[str] = (),
        serving: Say | None = None,
    ) -> None:
        self._pair, self._terms, self._moved = pair, terms, moved
        self._infos = _infos(pair)
        beside = folder.resolve().parent
        self._out = Path(terms.out) if terms.out is not None else beside / CROSSED_RUNS
        self._store = Path(terms.store) if terms.store is not None else (
            (beside if terms.out is None else self._out) / STORE_FILE
        )  # fmt: skip
        self._known = Prices(terms.prices)
        self._asked = terms_of(terms.retries, terms.max_failures, terms.budget)
        self._owed = open_combinations(found)
        self._open = ExitStack()
        self._servers = Servers(self._out, None, terms.serve_timeout, serving)
        self._own: Mapping[str, Model] = {}
        self._models: dict[str, tuple[str, Model]] = {}

    def __enter__(self) -> Self:
        self._open.__enter__()
        try:
            self._open.enter_context(self._servers)
            self._own = load_files(self._terms.load).models
            self._responses = self._open.enter_context(ResponseStore(self._store))
            self._plans = [self._plan(one) for one in self._owed]
            everyone = [(plan.model_name, plan.model) for plan in self._plans]
            everyone += [("", model) for plan in self._plans for model in plan.roles.values()]
            self._known.check(everyone, self._asked.budget)
            self.planned: Planned = planned_runs(
                self._plans, self._responses, self._known, self._asked.budget, self._out
            )
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def requests(self) -> int:
        """The most that may have to be sent, to judges and readers too."""
        lines = [line.estimate for line in self.planned.lines if line.estimate is not None]
        return sum(one.most_requests + sum(one.asked_of_others.values()) for one in lines)

    def ask(self, command: str = "", progress: Progress | None = None) -> list[RunFolder]:
        """Make the runs. Raises UsageError before anything is asked where a server cannot answer,
        and `Interrupted` on Ctrl-C."""
        for plan, line in zip(self._plans, self.planned.lines, strict=True):
            if line.skipped:
                raise UsageError(f"{plan.model_name} on {plan.benchmark.name}: {line.skipped}")
            owes = line.estimate is not None and line.estimate.most_requests > 0
            if owes and isinstance(plan.model, Checked):
                asyncio.run(plan.model.check())
        made = []
        for plan in self._plans:
            plan = replace(plan, command=command, progress=progress or Silent(), terms=self._asked)
            plan = replace(plan, prices=self._known.of_plan(plan))
            self._servers.keep(plan.model, *plan.roles.values())
            made.append(run(plan, self._responses))
            write_page(made[-1], plan.benchmark, self._responses)
        return made

    def _plan(self, switched: frozenset[Cause]) -> Plan:
        first, second = self._infos
        sides = {
            cause: second if cause in switched else first
            for cause in frozenset[Cause]().union(*self._owed)
        }
        model_of = sides.get("model", first)
        prompt_of = sides.get("prompt", first)
        media_of_run = sides.get("media", prompt_of)
        # The longest reply belongs to a model's profile, unless it is told apart itself.
        decoding_of = sides.get("decoding", model_of)
        name, model = self._model(model_of, decoding_of, sides.get("media", model_of))
        benchmark = self._benchmark(prompt_of, media_of_run, decoding_of)
        smaller = min(self._pair, key=lambda side: len(side.records)).info
        assert smaller is not None
        plan = Plan(
            model=model,
            model_name=name,
            benchmark=benchmark,
            out=self._out,
            roles={role: self._role(role, one) for role, one in first.config.roles.items()},
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

    def _model(self, whose: RunInfo, decoding: RunInfo, media: RunInfo) -> tuple[str, Model]:
        """A run's model with the settings of others. Raises UsageError where it cannot be had."""
        first, second = (info.config for info in self._infos)
        settings = settings_of(first, second)
        wanted = keys(whose.config, settings)["model"]
        drawn = keys(decoding.config, settings)["decoding"]
        shown = keys(media.config, settings)["media"]
        problems = []
        for spec in self._specs(whose):
            try:
                name, model = self._opened(_with_settings(spec, whose, decoding, media, settings))
            except UsageError as error:
                problems.append(str(error))
                continue
            found = structs.replace(
                decoding.config,
                identity=model.identity,
                sampling=_sampling(whose.config, decoding.config),
                parameters=media.config.parameters,
            )
            mine = keys(found, settings)
            if (mine["model"], mine["decoding"], mine["media"]) == (wanted, drawn, shown):
                return name, model
        raise UsageError(
            f"the model {whose.model} cannot be opened as it was when it was run"
            f"{f' ({problems[0]})' if problems else ''}; say how it is reached, e.g. with "
            "-m http://localhost:8000/v1#NAME or --load FILE.py"
        )

    def _opened(self, spec: str) -> tuple[str, Model]:
        """Each model once, however many runs it is in."""
        if spec not in self._models:
            self._models[spec] = served_model(spec, self._own, self._servers)
        return self._models[spec]

    def _specs(self, whose: RunInfo) -> Iterator[str]:
        """Names by which a run's model may be opened: those that were given come first."""
        yield from self._terms.models
        yield whose.model
        yield f"{whose.config.identity.provider}/{whose.config.identity.name}"

    def _role(self, role: str, wanted: Identity) -> Model:
        for spec in (*self._terms.models, f"{wanted.provider}/{wanted.name}", wanted.name):
            try:
                _, model = self._opened(spec)
            except UsageError:
                continue
            if model.identity == wanted:
                return model
        raise UsageError(
            f"the {role} {wanted.provider}/{wanted.name} cannot be asked again as it was; say how "
            "it is reached with -m"
        )

    def _benchmark(self, prompt: RunInfo, media: RunInfo, decoding: RunInfo) -> Benchmark:
        like, shown = dict(prompt.config.parameters), media.config.parameters
        for name in _SHOWN_BY:
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

    def _check_prompts(self, plan: Plan, prompt: RunInfo, media: RunInfo) -> None:
        """Raises UsageError where the first prompts are not those of the runs they come from."""
        asked, shown = (self._records(info) for info in (prompt, media))
        flow = flow_of(plan)
        known = (one for one in plan.benchmark.samples(plan.benchmark.open())
                 if one.id in asked and one.id in shown)  # fmt: skip
        for sample in islice(known, _LOOKED_AT):
            passes = asked[sample.id].passes, shown[sample.id].passes
            request = next(flow(sample), None)
            if request is None or not all(passes):
                continue
            if (words_of(request.messages), media_of(request.messages)) != (
                words_of(passes[0][0].prompt),
                media_of(passes[1][0].prompt),
            ):
                raise UsageError(
                    f"{plan.model_name} with the prompt of {prompt.name} would not be asked what "
                    f"that run asked (sample {sample.id}), so that the two cannot be crossed"
                )

    def _records(self, info: RunInfo) -> Mapping[str, Record]:
        return next(side.records for side in self._pair if side.info is info)


def _infos(pair: tuple[Side, Side]) -> tuple[RunInfo, RunInfo]:
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
    spec: str, whose: RunInfo, decoding: RunInfo, media: RunInfo, settings: frozenset[str]
) -> str:
    """A model's name with the settings of other runs among its options."""
    if decoding is whose and media is whose:
        return spec
    stem, options = split_options(spec)
    for names, info in ((DECODING, decoding), (SHOWING, media)):
        if info is whose or _same(whose.config, info.config, names & settings):
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


def _same(one: RunConfig, other: RunConfig, names: frozenset[str]) -> bool:
    facts = one.identity.facts, other.identity.facts
    return all(facts[0].get(name) == facts[1].get(name) for name in names)
