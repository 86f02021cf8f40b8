"""`snellen mcp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from snellen.api.flags import argument, option
from snellen.core.errors import MissingExtra, UsageError


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen mcp` takes."""

    folders: Sequence[str] = argument("FOLDER", "run folders, or folders of runs: the only ones that are read", "+")
    allow_run: bool = option(
        False, "--allow-run", "offer a tool that starts runs, of the models of -m, within --budget", is_switch=True
    )
    budget: str | None = option(None, "--budget")
    """What all runs may spend together that are asked for in this folder, by this server and later ones."""
    models: Sequence[str] = option((), "--model")
    out: str | None = option(None, "--out")
    """None: the first of the folders."""


def main(options: Options) -> None:
    """Serve runs over standard input and output until the client closes them. Raises MissingExtra
    without `mcp`, and UsageError."""
    if find_spec("mcp") is None:
        raise MissingExtra("serving runs to other programs", "mcp", "mcp")
    from snellen.engine.limits.spending import Budget
    from snellen.mcp_server.run_starter import RunStarter
    from snellen.mcp_server.served_runs import ServedRuns

    _check_flags(options)
    starter = None
    folders = [Path(folder) for folder in options.folders]
    if options.allow_run and options.budget:
        out = Path(options.out) if options.out else folders[0]
        folders = list(dict.fromkeys([*folders, out]))
        out.mkdir(parents=True, exist_ok=True)
        starter = RunStarter(folders, out, options.models, Budget.parse(options.budget))
    served = ServedRuns(folders)
    from snellen.mcp_server.server import build_server

    try:
        build_server(served, starter).run("stdio")
    finally:
        if starter is not None:
            starter.close()


def _check_flags(options: Options) -> None:
    """Raises UsageError for flags that do not go together."""
    if options.allow_run and not (options.budget and options.models):
        raise UsageError(
            "--allow-run needs what may be spent and who may be asked, e.g. --allow-run --budget 5usd -m openai/gpt-4o"
        )
    given = {"--budget": options.budget, "-m": options.models, "--out": options.out}
    alone = [flag for flag, value in given.items() if value]
    if alone and not options.allow_run:
        raise UsageError(f"{alone[0]} is for runs that are started; add --allow-run, or leave it out")
