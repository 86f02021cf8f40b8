"""Snellen measures multimodal models: one command, a number you can trust, and the reason."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.api import Planned, Results, RunOptions, Scored, evaluate, plan, score
    from snellen.core.benchmark import Benchmark, Variant
    from snellen.core.errors import SnellenError
    from snellen.core.model import Capabilities, Identity
    from snellen.core.output import Failure, Generated
    from snellen.core.request import Generate, Rank, Sampling
    from snellen.models.naming.wrapping import wrap_model
    from snellen.store.runs import RunFolder, open_run

__version__ = "0.1.0"

_HOMES = {
    "Benchmark": "snellen.core.benchmark",
    "Capabilities": "snellen.core.model",
    "Failure": "snellen.core.output",
    "Generate": "snellen.core.request",
    "Generated": "snellen.core.output",
    "Identity": "snellen.core.model",
    "Planned": "snellen.api",
    "Rank": "snellen.core.request",
    "Results": "snellen.api",
    "RunFolder": "snellen.store.runs",
    "RunOptions": "snellen.api",
    "Sampling": "snellen.core.request",
    "Scored": "snellen.api",
    "SnellenError": "snellen.core.errors",
    "Variant": "snellen.core.benchmark",
    "evaluate": "snellen.api",
    "open_run": "snellen.store.runs",
    "plan": "snellen.api",
    "score": "snellen.api",
    "wrap_model": "snellen.models.naming.wrapping",
}

__all__ = [
    "Benchmark",
    "Capabilities",
    "Failure",
    "Generate",
    "Generated",
    "Identity",
    "Planned",
    "Rank",
    "Results",
    "RunFolder",
    "RunOptions",
    "Sampling",
    "Scored",
    "SnellenError",
    "Variant",
    "evaluate",
    "open_run",
    "plan",
    "score",
    "wrap_model",
]


def __getattr__(name: str) -> object:
    # Late, so that `import snellen` costs nothing.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'snellen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
