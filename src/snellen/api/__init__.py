"""What one does from Python: `evaluate` models, `plan` them, `score` recorded
predictions, report runs."""

from snellen.api.arguments import DEFAULT_OUT, STORE_FILE
from snellen.api.comparing import parity
from snellen.api.evaluating import Results, Skipped, evaluate
from snellen.api.naming import named_benchmark, named_model
from snellen.api.planning import Planned, plan
from snellen.api.reporting import report_of, write_page
from snellen.api.scoring import Scored, score, score_by_rules

__all__ = [
    "DEFAULT_OUT",
    "STORE_FILE",
    "Planned",
    "Results",
    "Scored",
    "Skipped",
    "evaluate",
    "named_benchmark",
    "named_model",
    "parity",
    "plan",
    "report_of",
    "score",
    "score_by_rules",
    "write_page",
]
