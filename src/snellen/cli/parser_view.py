"""Flags of `snellen view`."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: argparse._SubParsersAction[Any]) -> None:
    help = "look at runs in a browser, also while they go on"
    view = commands.add_parser("view", help=help, description=help[0].upper() + help[1:] + ".")
    view.set_defaults(module="view", parser=view)
    view.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder of runs")
    view.add_argument(
        "--port", type=int, metavar="N", help="where to serve (default: 8420, or any free port)"
    )
    view.add_argument("--open", action="store_true", help="open the browser")
