"""`plan`: what a run would ask, take and cost, and what it lacks. Asks and fetches nothing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from msgspec import Struct

from snellen.api.evaluating import DEFAULT_OUT, STORE_FILE
from snellen.api.looking import Look, Missing
from snellen.benchmarks.judged import judge_roles
from snellen.benchmarks.suites import expanded
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import RemoteModel
from snellen.core.output import Usage
from snellen.core.price import Price, cost
from snellen.core.request import CLIP
from snellen.engine.planning import Assumptions, Estimate, estimate
from snellen.engine.run import Plan
from snellen.extract.llm import EXTRACTOR
from snellen.models.custom import load_file
from snellen.models.picture_tokens import picture_rule
from snellen.models.prices import price_of
from snellen.settings import unplugged
from snellen.store.responses import ResponseStore


class Line(Struct, frozen=True, kw_only=True):
    """One model on one benchmark. Where a number is None, nobody can know it here."""

    model: str
    benchmark: str
    estimate: Estimate | None = None
    dollars: float | None = None
    price: Price | None = None
    skipped: str = ""
    """Why the model cannot take the benchmark."""


class Planned(Struct, frozen=True, kw_only=True):
    lines: list[Line]
    missing: list[Missing]
    downloads: list[str]
    """What would be fetched first."""
    notes: list[str]
    dollars: float | None
    """Of all lines; None where the price of one is not known."""
    disk_free: int
    """Bytes, where the runs are kept."""


def plan(
    models: Sequence[str],
    benchmarks: Sequence[str],
    *,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    limit: int | None = None,
    seed: int = 0,
    extractors: Sequence[str] = (),
    judges: Sequence[str] = (),
    clip: str | None = None,
    load: Sequence[Path | str] = (),
    recipes: bool = True,
    assumed: Assumptions = Assumptions(),  # noqa: B008 - frozen
    price: Price | None = None,
    probe: bool = False,
) -> Planned:
    """What `evaluate` would do with the same arguments.

    `price` stands for that of every model named. With `probe`, readers, judges and model servers
    are sent one small request each. Raises UsageError subclasses for names and options that are
    off.
    """
    if not models:
        raise UsageError("no model is named; name one with -m")
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    out = Path(out)
    files = [load_file(file) for file in load]
    own = {name: model for file in files for name, model in file.models.items()}
    made = {name: one for file in files for name, one in file.benchmarks.items()}
    look = Look(own)
    asked = [(name, look.model(name)) for name in models]
    readers = [{EXTRACTOR: look.model(name)} for name in extractors] or [{}]
    roles = dict(zip(judge_roles(len(judges)), map(look.model, judges), strict=True))
    if clip is not None:
        roles[CLIP] = look.model(clip)
    variant = replace(
        variant, extractor=bool(extractors), clip=clip is not None, judges=len(judges)
    )
    chosen = [look.benchmark(name, variant, made) for name in expanded(list(benchmarks))]
    if probe:
        look.probe([model for _, model in asked], [*readers, roles])
    path = Path(store) if store else out / STORE_FILE
    lines: list[Line] = []
    with ResponseStore(path if path.exists() else None) as responses:
        for (name, model), one, reader in product(asked, chosen, readers):
            with unplugged():
                benchmark = one.for_model(name, model, variant, made, recipes)
            wanted = {role: each for role, each in roles.items() if role in benchmark.asks}
            run = Plan(
                model=model,
                model_name=name,
                benchmark=benchmark,
                out=out,
                roles={**reader, **wanted},
                limit=limit,
                seed=seed,
            )
            here = str(one.spec) not in look.absent
            lines.append(_line(run, responses, assumed, price, here))
    return Planned(
        lines=lines,
        missing=look.missing,
        downloads=look.downloads,
        notes=list(look.notes(chosen)),
        dollars=_total(lines),
        disk_free=_free(out),
    )


def _line(
    run: Plan, responses: ResponseStore, assumed: Assumptions, price: Price | None, here: bool
) -> Line:
    name, benchmark = run.model_name, run.benchmark.name
    lacking = run.benchmark.needs(run.model.capabilities)
    if lacking:
        return Line(model=name, benchmark=benchmark, skipped=lacking)
    if not here:
        return Line(model=name, benchmark=benchmark)
    identity = run.model.identity
    at_a_time = run.model.concurrency if isinstance(run.model, RemoteModel) else 1
    with unplugged():
        rule = picture_rule(identity.provider, identity.name)
        found = estimate(run, responses, assumed, rule, at_a_time)
    known = price or price_of(name)
    tokens = Usage(round(found.prompt_tokens), round(found.completion_tokens))
    dollars = cost(tokens, known) if known else None
    return Line(model=name, benchmark=benchmark, estimate=found, dollars=dollars, price=known)


def _total(lines: Sequence[Line]) -> float | None:
    asked = [line for line in lines if not line.skipped]
    known = [line.dollars for line in asked if line.dollars is not None]
    return sum(known) if len(known) == len(asked) else None


def _free(out: Path) -> int:
    out = out.absolute()
    existing = next(parent for parent in (out, *out.parents) if parent.exists())
    return shutil.disk_usage(existing).free
