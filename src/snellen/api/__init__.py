"""What one does from Python: `evaluate` models, `plan` them, `score` recorded
predictions, report runs."""

from snellen.api._resolve import resolve_benchmark, resolve_model
from snellen.api.evaluate import Results, SkippedRun, evaluate
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.api.parity import parity
from snellen.api.plan import Planned, plan
from snellen.api.report import report_of, write_page
from snellen.api.score import Scored, score, score_by_rules

__all__ = [
    "DEFAULT_OUT",
    "STORE_FILE",
    "Planned",
    "Results",
    "Scored",
    "SkippedRun",
    "evaluate",
    "parity",
    "plan",
    "report_of",
    "resolve_benchmark",
    "resolve_model",
    "score",
    "score_by_rules",
    "write_page",
]
