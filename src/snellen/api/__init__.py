"""What one does from Python: `evaluate` models, `plan` it, `score` recorded predictions, compare
two backends, explain and report runs. No formula and no request is here: `analysis`, `engine` and
`report` have those, and `cli` only reads arguments and calls these functions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.api.backend_parity import parity
    from snellen.api.comparing import Comparison, compare
    from snellen.api.evaluation import aevaluate, evaluate
    from snellen.api.opening import open_run, open_runs
    from snellen.api.options import DEFAULT_OUT, RunOptions, SourceOptions
    from snellen.api.plan_table import Planned
    from snellen.api.planning import plan
    from snellen.api.report import report_of
    from snellen.api.report_page import write_page
    from snellen.api.resolve_benchmarks import resolve_benchmark
    from snellen.api.resolve_models import resolve_model
    from snellen.api.results import Results, Run, SampleResult, Samples, SkippedRun
    from snellen.api.scored import Scored
    from snellen.api.scoring import score, score_by_rules

_MODULES = {
    "DEFAULT_OUT": "options",
    "Comparison": "comparing",
    "Planned": "plan_table",
    "Results": "results",
    "Run": "results",
    "RunOptions": "options",
    "SampleResult": "results",
    "Samples": "results",
    "Scored": "scored",
    "SkippedRun": "results",
    "SourceOptions": "options",
    "aevaluate": "evaluation",
    "compare": "comparing",
    "evaluate": "evaluation",
    "open_run": "opening",
    "open_runs": "opening",
    "parity": "backend_parity",
    "plan": "planning",
    "report_of": "report",
    "resolve_benchmark": "resolve_benchmarks",
    "resolve_model": "resolve_models",
    "score": "scoring",
    "score_by_rules": "scoring",
    "write_page": "report_page",
}

__all__ = [
    "DEFAULT_OUT",
    "Comparison",
    "Planned",
    "Results",
    "Run",
    "RunOptions",
    "SampleResult",
    "Samples",
    "Scored",
    "SkippedRun",
    "SourceOptions",
    "aevaluate",
    "compare",
    "evaluate",
    "open_run",
    "open_runs",
    "parity",
    "plan",
    "report_of",
    "resolve_benchmark",
    "resolve_model",
    "score",
    "score_by_rules",
    "write_page",
]


def __getattr__(name: str) -> object:
    # Late, so that the command line reads its flags without loading what runs models. No module
    # here may have the name of a function: importing it would hide the function.
    if name in _MODULES:
        return getattr(import_module(f"snellen.api.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'snellen.api' has no attribute {name!r}")
