"""`snellen mcp`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_models
from snellen.core.errors import MissingExtra, UsageError


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="FOLDER",
        help="run folders, or folders of runs: the only ones that are read",
    )  # fmt: skip
    parser.add_argument(
        "--allow-run", action="store_true",
        help="offer a tool that starts runs, of the models of -m, within --budget",
    )  # fmt: skip
    parser.add_argument(
        "--budget", metavar="AMOUNT",
        help="with --allow-run: what all runs together may spend while the server lives, e.g. "
        "5usd, 500ktok",
    )  # fmt: skip
    add_models(parser, "with --allow-run: a model that may be asked; repeat for several")
    parser.add_argument(
        "--out", metavar="DIR", help="with --allow-run: where runs are kept (the first FOLDER)"
    )


def main(arguments: Namespace) -> int:
    """Serve runs over standard input and output until the client closes them. Raises MissingExtra
    without `mcp`, and UsageError."""
    if find_spec("mcp") is None:
        raise MissingExtra("serving runs to other programs", "mcp", "mcp")
    from snellen.engine.limits.spending import Budget
    from snellen.mcp_server.run_starter import RunStarter
    from snellen.mcp_server.served_runs import ServedRuns

    _check_flags(arguments)
    starter = None
    folders = [Path(folder) for folder in arguments.folders]
    if arguments.allow_run:
        out = Path(arguments.out) if arguments.out else folders[0]
        folders = list(dict.fromkeys([*folders, out]))
        out.mkdir(parents=True, exist_ok=True)
        starter = RunStarter(folders, out, arguments.model, Budget.parse(arguments.budget))
    served = ServedRuns(folders)
    from snellen.mcp_server.server import build_server

    build_server(served, starter).run("stdio")
    return COMPLETE


def _check_flags(arguments: Namespace) -> None:
    """Raises UsageError for flags that do not go together."""
    if arguments.allow_run and not (arguments.budget and arguments.model):
        raise UsageError(
            "--allow-run needs what may be spent and who may be asked, e.g. --allow-run --budget "
            "5usd -m openai/gpt-4o"
        )
    alone = [name for name in ("budget", "model", "out") if getattr(arguments, name)]
    if alone and not arguments.allow_run:
        flag = {"model": "-m"}.get(alone[0], f"--{alone[0]}")
        raise UsageError(f"{flag} is for runs that are started; add --allow-run, or leave it out")
