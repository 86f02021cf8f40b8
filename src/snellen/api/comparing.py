"""`parity`: two backends of one model on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snellen.api.evaluating import DEFAULT_OUT, STORE_FILE
from snellen.api.naming import named_benchmark, named_model
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.engine.asking_both import ask_both, first_requests
from snellen.engine.managed import Servers
from snellen.engine.parity import TOLERANCE, Parity, compare
from snellen.engine.run_plan import Plan
from snellen.engine.serving import Say
from snellen.models.custom import load_file
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
    serving: Say | None = None,
    fetching: FetchProgress | None = None,
) -> Parity:
    """Ask two models the same first requests of a benchmark's samples and compare, aspect by
    aspect. They are asked one after the other; replies are stored and used again.

    Raises a UsageError subclass if a name, option or file cannot be used.
    """
    if len(models) != 2:
        raise UsageError(f"parity compares two models; got {len(models)}; name them with -m twice")
    if limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    if tolerance < 0:
        raise UsageError(f"the tolerance is {tolerance:g} nats; expected 0 or more")
    out = Path(out)
    files = [load_file(file) for file in load]
    own = {name: model for file in files for name, model in file.models.items()}
    own_benchmarks = {name: one for file in files for name, one in file.benchmarks.items()}
    chosen = named_benchmark(benchmark, variant, own_benchmarks)
    if chosen.fetch is not None:
        chosen.fetch(fetching)
    with (
        Servers(out, timeout=serve_timeout, say=serving) as servers,
        ResponseStore(Path(store) if store else out / STORE_FILE) as responses,
    ):
        (first, one), (second, other) = (_opened(model, own, servers) for model in models)
        plan = Plan(model=one, model_name=first, benchmark=chosen, out=out, limit=limit, seed=seed)
        asked = first_requests(plan)
        questions = ask_both(chosen, (one, other), asked, responses, servers.keep)
    return compare(first, second, chosen.name, questions, tolerance)


def _opened(model: str | Model, own: dict[str, Model], servers: Servers) -> tuple[str, Model]:
    managed = servers.managed(model) if isinstance(model, str) and model not in own else None
    return (managed.name, managed) if managed is not None else named_model(model, own)
