"""`parity`: two backends of one model on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from snellen.api._resolve import resolve_benchmark, resolve_served_model
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.preflight import check_models
from snellen.engine.offline.parity import TOLERANCE, Parity, ask_both, compare, first_requests
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.models.naming.custom import load_files
from snellen.store.responses import ResponseStore


def parity(
    models: Sequence[str | Model],
    benchmark: str | Benchmark,
    *,
    limit: int = 64,
    seed: int = 0,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    variant: Variant = Variant(),  # noqa: B008 - frozen
    load: Sequence[Path | str] = (),
    tolerance: float = TOLERANCE,
    serve_timeout: float | None = None,
    serving: Notify | None = None,
    fetching: FetchProgress | None = None,
) -> Parity:
    """Ask two models the same first requests of a benchmark's samples and compare, aspect by
    aspect. They are asked one after the other; replies are stored and used again. Two of one
    identity, such as one model's name at two addresses, are both asked anew and nothing is
    stored: a stored reply could be the other's.

    Raises a UsageError subclass if a name, option or file cannot be used.
    """
    if len(models) != 2:
        raise UsageError(f"parity compares two models; got {len(models)}; name them with -m twice")
    if limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    if tolerance < 0:
        raise UsageError(f"the tolerance is {tolerance:g} nats; expected 0 or more")
    out = Path(out)
    own = load_files(load)
    chosen = resolve_benchmark(benchmark, variant, own.benchmarks)
    if chosen.fetch is not None:
        chosen.fetch(fetching)
    with ExitStack() as opened:
        servers = opened.enter_context(Servers(out, timeout=serve_timeout, notify=serving))
        (first, one), (second, other) = (
            resolve_served_model(model, own.models, servers) for model in models
        )
        if one.identity.digest() == other.identity.digest():
            stores = (
                opened.enter_context(ResponseStore(None)),
                opened.enter_context(ResponseStore(None)),
            )
        else:
            shared_store = ResponseStore(Path(store) if store else out / STORE_FILE)
            stores = (opened.enter_context(shared_store), shared_store)
        plan = RunPlan(
            model=one, model_name=first, benchmark=chosen, out=out, limit=limit, seed=seed
        )
        requests = first_requests(plan)
        for model, responses in zip((one, other), stores, strict=True):
            check_models((model,), responses)
        questions = ask_both(chosen, (one, other), requests, stores, servers.keep_only)
    return compare(*_names(models, first, second), chosen.name, questions, tolerance)


def _names(models: Sequence[str | Model], first: str, second: str) -> tuple[str, str]:
    """Names that tell the two apart."""
    if first == second:
        first, second = (
            given if isinstance(given, str) else name
            for given, name in zip(models, (first, second), strict=True)
        )
    return first, second if second != first else f"{second} again"
