"""`parity`: two backends of one model on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from snellen.api.options import DEFAULT_OUT
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.resolve_models import resolve_served_model
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.preflight import check_models
from snellen.engine.offline.parity import TOLERANCE, Parity, ask_both, compare, first_requests
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.models.naming.custom import load_files
from snellen.store.responses import STORE_FILE, ResponseStore


def parity(
    models: Sequence[AnyModel],
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
    """Ask two models the same first requests of a benchmark's samples, and compare their replies.

    The models are asked one after the other; replies are stored and reused. Two models of one
    identity, such as one model at two addresses, are both asked anew and nothing is stored: a
    stored reply could be that of the other. `tolerance` is in nats, of the log-probability of one
    token. Raises a UsageError subclass if a name, option or file cannot be used.
    """
    _check(models, limit, tolerance)
    out = Path(out)
    custom = load_files(load)
    resolved = resolve_benchmark(benchmark, variant, custom.benchmarks)
    if resolved.fetch is not None:
        resolved.fetch(fetching)
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(out, timeout=serve_timeout, notify=serving))
        (first_name, first_model), (second_name, second_model) = (
            resolve_served_model(model, custom.models, servers) for model in models
        )
        if first_model.identity.digest() == second_model.identity.digest():
            stores = stack.enter_context(ResponseStore(None)), stack.enter_context(ResponseStore(None))
        else:
            shared_store = stack.enter_context(ResponseStore(Path(store) if store else out / STORE_FILE))
            stores = shared_store, shared_store
        plan = RunPlan(model=first_model, model_name=first_name, benchmark=resolved, out=out, limit=limit, seed=seed)
        requests = first_requests(plan)
        for model, responses in zip((first_model, second_model), stores, strict=True):
            check_models((model,), responses)
        questions = ask_both(resolved, (first_model, second_model), requests, stores, servers.keep_only)
    return compare(*_names(models, first_name, second_name), resolved.name, questions, tolerance)


def _check(models: Sequence[AnyModel], limit: int, tolerance: float) -> None:
    if len(models) != 2:
        raise UsageError(f"parity compares two models; got {len(models)}; name them with -m twice")
    if limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    if tolerance < 0:
        raise UsageError(f"the tolerance is {tolerance:g} nats; expected 0 or more")


def _names(models: Sequence[AnyModel], first: str, second: str) -> tuple[str, str]:
    """Two different names: those of the models, else as typed, else with "again"."""
    if first == second:
        first, second = (
            spec if isinstance(spec, str) else name for spec, name in zip(models, (first, second), strict=True)
        )
    return first, second if second != first else f"{second} again"
