"""Snellen measures multimodal models: one command, a number you can trust, and the reason."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snellen.api.comparing import Comparison, compare
    from snellen.api.evaluation import aevaluate, evaluate
    from snellen.api.opening import load_annotations, open_run, open_runs
    from snellen.api.options import RunOptions, SourceOptions
    from snellen.api.plan_table import Planned
    from snellen.api.planning import plan
    from snellen.api.results import Results, Run, SampleResult, Samples
    from snellen.api.scored import Scored
    from snellen.api.scoring import score
    from snellen.core.benchmark import Benchmark, Variant
    from snellen.core.errors import SnellenError
    from snellen.core.model import Capabilities, Identity
    from snellen.core.output import Failure, Generated, Usage
    from snellen.core.request import Generate, Rank, Sampling
    from snellen.data.in_memory import Data
    from snellen.engine.loop.run import RunInterrupted
    from snellen.models.naming.wrapping import wrap_model
    from snellen.store.runs import RunFolder

__version__ = "0.1.0"

_HOMES = {
    "Benchmark": "snellen.core.benchmark",
    "Capabilities": "snellen.core.model",
    "Comparison": "snellen.api.comparing",
    "Data": "snellen.data.in_memory",
    "Failure": "snellen.core.output",
    "Generate": "snellen.core.request",
    "Generated": "snellen.core.output",
    "Identity": "snellen.core.model",
    "Planned": "snellen.api.plan_table",
    "Rank": "snellen.core.request",
    "Results": "snellen.api.results",
    "Run": "snellen.api.results",
    "RunFolder": "snellen.store.runs",
    "RunInterrupted": "snellen.engine.loop.run",
    "RunOptions": "snellen.api.options",
    "SampleResult": "snellen.api.results",
    "Samples": "snellen.api.results",
    "Sampling": "snellen.core.request",
    "Scored": "snellen.api.scored",
    "SnellenError": "snellen.core.errors",
    "SourceOptions": "snellen.api.options",
    "Usage": "snellen.core.output",
    "Variant": "snellen.core.benchmark",
    "aevaluate": "snellen.api.evaluation",
    "compare": "snellen.api.comparing",
    "evaluate": "snellen.api.evaluation",
    "open_run": "snellen.api.opening",
    "open_runs": "snellen.api.opening",
    "load_annotations": "snellen.api.opening",
    "plan": "snellen.api.planning",
    "score": "snellen.api.scoring",
    "wrap_model": "snellen.models.naming.wrapping",
}

__all__ = [
    "Benchmark",
    "Capabilities",
    "Comparison",
    "Data",
    "Failure",
    "Generate",
    "Generated",
    "Identity",
    "Planned",
    "Rank",
    "Results",
    "Run",
    "RunFolder",
    "RunInterrupted",
    "RunOptions",
    "SampleResult",
    "Samples",
    "Sampling",
    "Scored",
    "SnellenError",
    "SourceOptions",
    "Usage",
    "Variant",
    "aevaluate",
    "compare",
    "evaluate",
    "load_annotations",
    "open_run",
    "open_runs",
    "plan",
    "score",
    "wrap_model",
]


def __getattr__(name: str) -> object:
    # Late, so that `import snellen` costs nothing; once, because a model of the user's may look
    # up `snellen.Generated` for each reply.
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'snellen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
