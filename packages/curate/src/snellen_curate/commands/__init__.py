"""`snellen curate ACTION`: `NAME.py` has the `Options` of an action, whose fields are its flags.

`main(options)` does the work and returns a `Finished`; here it is printed, with the command that
comes next, and becomes an exit code: 0 clean, 1 something to look at, 2 a mistake.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.flags import read_options
from snellen.cli.output import TABLE, print_line, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE

if TYPE_CHECKING:
    from snellen.report.document import Document, Line
    from snellen_curate.commands._action import Finished, Status

ACTIONS: Mapping[str, str] = {
    "questions": "make questions from pictures, videos, captions or metadata records",
    "pictures": "look at a folder of pictures first: quality, copies, places, faces, licences",
    "metadata": "write what is known about the pictures of a data set as metadata records",
    "statistics": "count words, options and media, and test what can be guessed without looking",
    "duplicates": "find items, pictures and texts that stand twice, or in other sets",
    "filter": "flag items that models answer without the picture, or that no model answers with it",
    "review": "have people decide about items, on a page for several annotators",
    "translate": "make a sibling of a data set in another language, or check one",
    "publish": "write a data set as a benchmark: files, card, licences, checksums, sealed answers",
    "run": "run the steps of a recipe, one after the other; goes on after any stop",
}
"""Actions and their help lines. `NAME.py` in this folder is the action NAME."""


def main(arguments: Namespace) -> int:
    """Do the action that was typed; returns its exit code."""
    return COMPLETE if run_action(arguments) == "clean" else INCOMPLETE


def run_action(arguments: Namespace, *, in_recipe: bool = False) -> Status:
    """Do an action and print what came of it; also what comes next, unless a recipe goes on by
    itself."""
    module = import_module(f"{__name__}.{arguments.action}")
    options = read_options(arguments, module.Options, command_line=arguments.command_line)
    out = getattr(options, "out", None)
    try:
        finished: Finished = module.main(options)
    except KeyboardInterrupt:
        # What goes on where it was has begun a data set folder.
        if out and not in_recipe and _has_step(Path(out).expanduser()):
            print_line(f"what was finished is kept in {out}; continue with: {options.command_line}", error=True)
        raise
    document = finished.document
    if note := _outside_note(out):
        document = document._replace(blocks=[*document.blocks, note])
    if document.blocks or document.data is not None:
        write_document(_with_records(document), options)
    if finished.next and options.form == TABLE and not in_recipe:
        print_line(f"next: {shlex.join(['snellen', *finished.next])}")
    return finished.status


def _with_records(document: Document) -> Document:
    """A document whose CSV has its sentences, where it has no table."""
    from snellen.report.document import Column, Table

    if document.tables or document.records is not None:
        return document
    rows = [(line.text,) for line in document.lines()]
    return document._replace(records=Table("", [Column("sentence")], rows))


def _has_step(folder: Path) -> bool:
    """Whether a step of curation has begun to write a folder."""
    from snellen.data_sets.step import STEP_FILE

    return (folder / STEP_FILE).is_file()


def _outside_note(out: str | None) -> Line | None:
    """What to know of images that paths or links of the data led to elsewhere."""
    from snellen.data_sets.step import read_step
    from snellen.report.format import plural
    from snellen_curate.commands._action import sentence

    folder = Path(out or "/")
    outside = read_step(folder).outside if _has_step(folder) else ()
    if not outside:
        return None
    more = f" and {plural(len(outside) - 1, 'more folder')}" if len(outside) > 1 else ""
    return sentence(
        f"note: the data name pictures outside of their own folder, in {outside[0]}{more}; they "
        f"are copied into {folder}, and `snellen curate publish` asks for --media"
    )
