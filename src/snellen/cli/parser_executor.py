"""Flags about where models run."""

from __future__ import annotations

import argparse

EXECUTORS = ("local", "ray")


def add(run: argparse.ArgumentParser) -> None:
    """To the command that runs models."""
    group = run.add_argument_group("clusters")
    group.add_argument(
        "--executor", choices=EXECUTORS, default="local",
        help="`local`: in this process; `ray`: as replicas on a Ray cluster",
    )  # fmt: skip
    group.add_argument("--replicas", type=_count, metavar="N", help="copies of each model (1)")
    group.add_argument(
        "--gpus-per-replica", type=_amount, metavar="G", help="GPUs of one copy, also 0.5 (0)"
    )
    group.add_argument(
        "--cpus-per-replica", type=_amount, metavar="C", help="CPU cores of one copy (1)"
    )
    group.add_argument(
        "--address", metavar="ADDRESS",
        help="of a running cluster, or `auto`; without it one is started on this machine",
    )  # fmt: skip


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return amount
