"""What is known of how often the judges of a run are right, in one sentence: unless labels are
compared, nothing."""

from __future__ import annotations

from collections.abc import Iterable

from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.run import Report, RunInfo
from snellen.core.sample import is_own_data

_COMMAND = "snellen score {benchmark} --predictions FILE --judge {judge} --columns label_right=COLUMN"
_HOW = "to measure it, mark some of the replies as right or wrong yourself and compare: "


def judge_names(run: RunInfo) -> tuple[str, ...]:
    """Names of the models, or columns, that judged a run."""
    roles = run.config.roles.items()
    return tuple(model.name for role, model in roles if role.partition("-")[0] == JUDGE)


def judges_note(reports: Iterable[Report]) -> str:
    """The sentence to print beside scores that judges gave; "" if no judge gave any."""
    judged = {
        (run.data.path if is_own_data(run.data) else run.benchmark, judge_names(run))
        for run in (each.run for each in reports if each.summary.headline.value is not None)
    }
    judged = {(benchmark, judges) for benchmark, judges in judged if judges}
    if not judged:
        return ""
    names = sorted({judge for _, judges in judged for judge in judges})
    benchmarks = {benchmark for benchmark, _ in judged}
    who = f"the judge {names[0]} is" if len(names) == 1 else f"the judges {', '.join(names)} are"
    command = _COMMAND.format(benchmark=benchmarks.pop() if len(benchmarks) == 1 else "BENCHMARK", judge="MODEL")
    return f"how often {who} right was not measured in this run; {_HOW}{command}"


def card_judges_note(benchmark: str) -> str:
    """The sentence on the card of a benchmark that judges score."""
    command = _COMMAND.format(benchmark=benchmark, judge="MODEL")
    return f"for no judge is it known how often it is right; {_HOW}{command}"
