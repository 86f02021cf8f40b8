"""`snellen hub ACTION`: a file per action (`snellen.cli.command_modules`)."""

from __future__ import annotations

from typing import Any

from snellen.api.flags import argument
from snellen.cli.output import print_document
from snellen.core.errors import UsageError

ACTIONS: dict[str, str] = {
    "init": "make a hub in a folder: configuration, database, storage, first account",
    "benchmark": "add or list benchmarks, replace their data, write what readers flagged",
    "phases": "set phases of a competition; reveal private questions, now or at dates",
    "attack": "measure how many hidden answers many accounts could recover, on a copy",
    "account": "add, change or list accounts; make tokens; name who manages a benchmark",
    "serve": "serve the hub's pages and its API",
    "worker": "score submissions, until stopped",
    "suite": "add, change or delete a suite of benchmarks with its average",
    "import": "put reported numbers or runs on boards: papers, tables of anybody, folders of runs",
    "rescore": "score submissions again after an upgrade of Snellen; earlier numbers are kept",
    "doctor": "check a hub, and say how to fix what is not intact; upgrade its database",
    "backup": "copy a hub, also while it runs, into one file",
    "restore": "make a hub of such a file, in any database and storage",
}
"""Actions and their help lines, in the order in which one needs them. `NAME.py` in this folder
is the action NAME."""

REPLACE = "replace one of this name that exists; the submissions to a benchmark are scored again on the new data"
"""Help line of `--replace`."""

OWNER = "account of an owner: the first one of a new hub, or who imports"
"""Help line of `--owner`."""


def hub_folder() -> Any:
    """The first argument of most actions: the hub's folder."""
    return argument("HUB", "the hub's folder", parse=check_folder)


def is_address(text: str) -> bool:
    """Whether a hub is named by its address, not its folder."""
    return text.lower().startswith(("http://", "https://"))


def check_folder(text: str) -> str:
    """Raises UsageError for an address."""
    if is_address(text):
        raise UsageError(
            f"{text} is an address, and this needs the folder of a hub, on its own machine; hosts "
            "set phases by its address (snellen hub phases), and the rest on its pages"
        )
    return text


def print_done(form: str, line: str, data: object) -> None:
    """Print a line that says what was done; in JSON as `data`."""
    from snellen.report.document import Document, Line

    print_document(Document([Line(line, is_unbroken=True)], data=data), form)
