"""Where models run: in this process, or as replicas on a Ray cluster."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.engine.ray.placement import RayCluster

EXECUTORS = ("local", "ray")


def add_executor(parser: ArgumentParser) -> None:
    """Add the flags of a command that runs models."""
    group = parser.add_argument_group("clusters")
    group.add_argument(
        "--executor", choices=EXECUTORS, default="local",
        help="`local`: in this process; `ray`: as replicas on a Ray cluster",
    )  # fmt: skip
    group.add_argument(
        "--replicas", type=_count, metavar="N", help="copies of each model (default: 1)"
    )
    group.add_argument(
        "--gpus-per-replica",
        type=_amount,
        metavar="G",
        help="GPUs for each copy, may be a fraction such as 0.5 (default: 0)",
    )
    group.add_argument(
        "--cpus-per-replica", type=_amount, metavar="C", help="CPU cores for each copy (default: 1)"
    )
    group.add_argument(
        "--address", metavar="ADDRESS",
        help="address of a running cluster, or `auto`; by default, one is started on "
            "this machine",
    )  # fmt: skip


def ray_cluster(arguments: Namespace) -> RayCluster | None:
    """Where replicas run; None: in this process. Raises UsageError for flags of the other
    executor."""
    from snellen.engine.ray.placement import RayCluster

    flags = {
        "address": arguments.address,
        "replicas": arguments.replicas,
        "gpus": arguments.gpus_per_replica,
        "cpus": arguments.cpus_per_replica,
    }
    typed = {name: value for name, value in flags.items() if value is not None}
    if arguments.executor == "local":
        if typed:
            raise UsageError(
                "--replicas, --gpus-per-replica, --cpus-per-replica and --address belong to a "
                "cluster; add --executor ray"
            )
        return None
    if getattr(arguments, "serve", None):
        raise UsageError("--serve starts one server here; on a cluster name vllm/ORG/NAME with -m")
    return RayCluster(**typed)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return amount
