"""The flags of `snellen taskmap`."""

from __future__ import annotations

import argparse
from fractions import Fraction

from snellen.cli import parser_executor
from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import Commands

LINKAGES = ("average", "complete", "single", "weighted", "ward")
TIES = ("zero", "one")
KINDS = ("choice", "yes_no", "open")
THRESHOLDS = "1,1/2,1/4,1/6,1/8"


def add(commands: Commands) -> None:
    parser = flags.command(
        commands, "taskmap",
        "map tasks by what fine-tuning on them changes, and compare models on the map",
    )  # fmt: skip
    parser.set_defaults(serve=None)
    _map(parser)
    _vectors(parser)
    _scores(parser)
    parser_executor.add(parser)
    flags.as_json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _map(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="MODEL",
                        help="the model that is fine-tuned: hf/... or snellen/...")  # fmt: skip
    parser.add_argument("-b", "--benchmark", metavar="BENCHMARK", help="whose tasks are mapped")
    parser.add_argument("--data", metavar="FILE", help="data to use in place of the benchmark's")
    parser.add_argument("--group", default="category", metavar="NAME",
                        help="what tells tasks apart (default: category)")  # fmt: skip
    parser.add_argument("--kind", action="append", default=[], choices=KINDS,
                        help="only questions of this kind; repeat for several")  # fmt: skip
    parser.add_argument("--task", action="append", default=[], metavar="TASK",
                        help="only this task; repeat for several")  # fmt: skip
    parser.add_argument(
        "--halves", action="store_true",
        help="split each task into two without a picture in common, to see whether the map tells "
        "that they are one",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N",
                        help="train on a random N samples of each task")  # fmt: skip
    parser.add_argument("--fewest", type=int, default=8, metavar="N",
                        help="leave out tasks with fewer samples (default: 8)")  # fmt: skip
    parser.add_argument("--linkage", default="average", choices=LINKAGES,
                        help="how clusters are joined (default: average)")  # fmt: skip
    parser.add_argument(
        "--clusters", default="12", metavar="N|FILE.csv|mmt-bench",
        help="number of clusters (default: 12), a CSV with the columns cluster, subtask, or the "
        "clusters that the paper lists for MMT-Bench",
    )  # fmt: skip
    parser.add_argument("--out", default="snellen-taskmap", metavar="DIR",
                        help="where vectors, taskmap.json and plots are kept")  # fmt: skip


def _vectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=int, default=3, metavar="N",
                        help="times each sample is seen (default: 3)")  # fmt: skip
    parser.add_argument("--rank", type=int, default=8, metavar="N",
                        help="rank of the weight changes (default: 8)")  # fmt: skip
    parser.add_argument("--alpha", type=int, default=16, metavar="N",
                        help="LoRA's scale is alpha / rank (default: 16)")  # fmt: skip
    parser.add_argument("--learning-rate", type=float, default=2e-4, metavar="X",
                        help="of AdamW, constant (default: 2e-4)")  # fmt: skip
    parser.add_argument("--batch-size", type=int, default=16, metavar="N",
                        help="samples per step (default: 16)")  # fmt: skip
    parser.add_argument(
        "--targets", default="language", metavar="REGEX",
        help="layers that are tuned, by their whole names (default: every linear layer of the "
        "language model)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0,
                        help="of first weights, order and drawn samples (default: 0)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=1, metavar="N",
                        help="make a map with each of N seeds and compare them")  # fmt: skip


def _scores(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scores", metavar="FILE.csv",
        help="scores of many models: the columns model, subtask (or task, category), accuracy (or "
        "score, value); without a model and a benchmark, only scores are analysed",
    )  # fmt: skip
    parser.add_argument("--runs", nargs="+", default=[], metavar="RUN",
                        help="run folders to take the scores from")  # fmt: skip
    parser.add_argument(
        "--overall", metavar="FILE.csv",
        help="what each model scores overall: the columns model, overall (default: the plain mean "
        "over tasks; for runs, their headline)",
    )  # fmt: skip
    parser.add_argument(
        "--without", action="append", default=[], metavar="MODEL,...",
        help="models of the scores to leave out; repeat or separate by commas",
    )  # fmt: skip
    parser.add_argument(
        "--thresholds", type=_fractions, default=THRESHOLDS, metavar="X,...",
        help=f"distances, as fractions of the largest, for tau by distance (default: {THRESHOLDS})",
    )  # fmt: skip
    parser.add_argument(
        "--ties", default="zero", choices=TIES,
        help="what two models tied on a task count in tau: zero (default), or one, as the paper's "
        "formula says",
    )  # fmt: skip
    parser.add_argument(
        "--itself", action="store_true",
        help="count each task among its own neighbours, as the paper's formula does",
    )  # fmt: skip
    parser.add_argument("--nearest", type=int, default=3, metavar="N",
                        help="predict a task's scores from so many tasks (default: 3)")  # fmt: skip


def _fractions(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(Fraction(part.strip())) for part in text.split(","))
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is no list such as {THRESHOLDS}") from None
    if any(not 0 < one <= 1 for one in found):
        raise argparse.ArgumentTypeError(f"{text!r}: expected fractions above 0, at most 1")
    return found
