"""The flags of `snellen plan` that plan a study of two models."""

from __future__ import annotations

import argparse

from snellen.cli import parser_flags as flags


def add(plan: argparse.ArgumentParser) -> None:
    study = plan.add_argument_group(
        "a study of two models", "how many samples, repeats and dollars it takes to compare them"
    )
    study.add_argument(
        "--detect", type=float, metavar="POINTS",
        help="to find a difference of so many points between the two models",
    )  # fmt: skip
    study.add_argument(
        "--no-worse", type=float, metavar="POINTS",
        help="to show that the second is no worse than the first by so many points, and that "
        "neither is better by as much",
    )  # fmt: skip
    study.add_argument(
        "--from", nargs=2, default=(), dest="like", metavar="RUN",
        help="two finished runs on the benchmark, which tell on how many samples two models differ",
    )  # fmt: skip
    study.add_argument("--power", type=flags.percent, metavar="PERCENT",
                       help="the chance to succeed (default: 80)")  # fmt: skip
    study.add_argument("--level", type=flags.percent, metavar="PERCENT",
                       help="of the intervals and tests (default: 95)")  # fmt: skip
    study.add_argument(
        "--discordance", type=flags.share, metavar="SHARE",
        help="share of samples on which the two are taken to differ (default: as if right "
        "independently of each other at --accuracy)",
    )  # fmt: skip
    study.add_argument(
        "--correlation", type=flags.share, metavar="R",
        help="correlation of the differences on questions about one picture, where no run tells "
        "it (default: 0.2)",
    )  # fmt: skip
    study.add_argument(
        "--draw-share", type=flags.share, metavar="SHARE",
        help="share of the discordance that comes from drawing replies and that --repeats lowers",
    )  # fmt: skip
