"""`snellen plan`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snellen.api.flags import FlagKey, option, parse_share
from snellen.cli.commands.run import RunCommandOptions
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import COMPLETE, MISTAKE, UsageError

if TYPE_CHECKING:
    from snellen.analysis.comparison.planned_study import Aims
    from snellen.engine.offline.estimate import Assumptions

_OF_RUNS: Mapping[str, FlagKey] = {
    "accuracy": FlagKey("share of correct passes (0.6)", parse_share),
    "reply_tokens": FlagKey("tokens of a reply (64)", int),
    "picture_tokens": FlagKey("tokens of an image (1000)", int),
}
_OF_STUDIES: Mapping[str, FlagKey] = {
    "discordance": FlagKey(
        "share of samples on which two models differ (as if they were right independently of each other)", parse_share
    ),
    "correlation": FlagKey(
        "of the differences on questions that share an image (that of --runs, else 0.2)", parse_share
    ),
    "draw_share": FlagKey(
        "share of the discordance that is due to sampling and that --repeats reduces (that of --runs)", parse_share
    ),
}


@dataclass(frozen=True, kw_only=True)
class Options(RunCommandOptions, OutputOptions):
    """What `snellen plan` takes: every flag of `run`, so that a command is planned by changing its
    first word, and more. `--no-html` and `--track` have no effect."""

    assume: Mapping[str, Any] = option(
        {},
        "--assume",
        "what is assumed where nothing was measured",
        metavar="KEY=VALUE,...",
        keys={**_OF_RUNS, **_OF_STUDIES},
    )
    probe: bool = option(
        False,
        "--probe",
        "send one small request to each extractor, judge and server, then ask the first samples",
        is_switch=True,
    )
    detect: float | None = option(
        None,
        "--detect",
        "plan a study that detects a difference of this many points between the two models",
        metavar="POINTS",
        parse=float,
    )
    no_worse: float | None = option(
        None,
        "--no-worse",
        "plan a study that shows that the second model is at most this many "
        "points worse than the first, and that neither is better by this much",
        metavar="POINTS",
        parse=float,
    )
    runs: Sequence[str] = option((), "--runs")
    """Two finished runs on the benchmark, from which the share of samples on which two models
    differ is taken."""
    power: float | None = option(None, "--power")
    """Of the study; None: 80."""
    level: float | None = option(None, "--level")
    """Of the study's intervals and tests; None: 95."""


def main(options: Options) -> int:
    """Print what a run would ask, cost and need."""
    from snellen.api.plan_table import plan_document
    from snellen.api.planning import plan

    planned = plan(
        options.models,
        options.benchmarks,
        options.run,
        assumed=_assumptions(options.assume),
        probe=options.probe,
        aims=_aims(options),
        like=options.runs,
    )
    write_document(plan_document(planned, options.quiet), options)
    sys.stdout.flush()
    return MISTAKE if planned.missing else COMPLETE


def _assumptions(assume: Mapping[str, Any]) -> Assumptions:
    from snellen.engine.offline.estimate import Assumptions

    typed = {name: value for name, value in assume.items() if name in _OF_RUNS}
    if not 0 <= typed.get("accuracy", 0) <= 1:
        raise UsageError(f"--assume accuracy is {typed['accuracy']}; expected a share from 0 to 1, e.g. 0.6")
    for name in ("reply_tokens", "picture_tokens"):
        if typed.get(name, 0) < 0:
            raise UsageError(f"--assume {name} is {typed[name]}; expected 0 or more")
    return Assumptions(**typed)


def _aims(options: Options) -> Aims | None:
    """The aims of a study; None if no study was asked for. Raises UsageError for flags of a study
    without its aim."""
    from snellen.analysis.comparison.planned_study import Aims

    assumed = {name: value for name, value in options.assume.items() if name in _OF_STUDIES}
    shares = {"power": options.power, "level": options.level}
    percentages = {name: value / 100 for name, value in shares.items() if value is not None}
    if options.detect is None and options.no_worse is None:
        unused = [*(f"--assume {name}" for name in assumed), *(f"--{one}" for one in percentages)]
        if unused:
            raise UsageError(
                f"{unused[0]} belongs to a study of two models: say what it is to tell, e.g. --detect 2 or --no-worse 1"
            )
        return None
    return Aims(detect=options.detect, no_worse=options.no_worse, **percentages, **assumed)
