"""`snellen data referring`: clean pictures and boxes for MMT-Bench's visual referring."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_json
from snellen.cli.printing import print_json, print_line, print_next
from snellen.core.errors import UsageError

_SHOWN_PROBLEMS = 3


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen data referring`."""
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="MMT-Bench's file, or mmt-bench for its own"
    )
    parser.add_argument(
        "--source", nargs=3, action="append", default=[], metavar=("LAYOUT", "FILE", "PICTURES"),
        help="annotations of a data set: coco, visual-genome, hico, fsc147, faces or csv, the "
            "file, and the folder of its clean pictures; repeat for several",
    )  # fmt: skip
    parser.add_argument(
        "--links", metavar="FILE.csv",
        help="which picture and boxes belong to a row: the columns index, image, boxes; other rows "
            "are looked for by their picture",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE.tsv", help="data file to write, for --data of a run"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the fourteen subtasks and what each needs"
    )
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Convert the rows, or list what they need."""
    if arguments.list:
        return _list(arguments.json)
    missing = [
        flag
        for flag, value in (
            ("DATA", arguments.data), ("--source", arguments.source), ("-o", arguments.output)
        )
        if not value
    ]  # fmt: skip
    if missing:
        raise UsageError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; see "
            "`snellen data referring --list` for what each subtask needs"
        )
    return _convert(arguments)


def _list(json: bool) -> int:
    from snellen.benchmarks.abilities.mmt_bench.referring.annotations import LAYOUTS
    from snellen.benchmarks.abilities.mmt_bench.referring.subtasks import SUBTASKS

    if json:
        listed = [each._asdict() for each in SUBTASKS]
        print_json(listed)
        return COMPLETE
    for subtask in SUBTASKS:
        print_line(f"{subtask.name}: {subtask.marks}")
        for source, form in subtask.sources:
            print_line(f"  {form}: {source}")
        if subtask.note:
            print_line(f"  ({subtask.note})")
    print_line("layouts:")
    for name, layout in LAYOUTS.items():
        print_line(f"  {name}: {layout.about}")
    return COMPLETE


def _convert(arguments: Namespace) -> int:
    from snellen.benchmarks.abilities.mmt_bench.referring.annotations import read_annotations
    from snellen.benchmarks.abilities.mmt_bench.referring.convert import (
        convert_referring,
        read_links,
    )
    from snellen.cli.commands.data import open_data

    links = read_links(Path(arguments.links).expanduser()) if arguments.links else {}
    table = open_data(arguments.data)
    sources = [
        picture
        for layout, file, pictures in arguments.source
        for picture in read_annotations(
            layout, Path(file).expanduser(), Path(pictures).expanduser()
        )
    ]
    out = Path(arguments.output).expanduser()
    if out.absolute() == Path(str(table.path)).absolute():
        raise UsageError(f"{out} is what is read; choose another file to write")
    counts = convert_referring(table, sources, out, links)
    if arguments.json:
        print_json(counts)
    else:
        for name, subtask in counts.subtasks.items():
            if not subtask.rows:
                continue
            print_line(f"{name}: {subtask.converted} of {subtask.rows} rows have clean pictures")
            shown = list(subtask.problems.items())
            for row, problem in shown[:_SHOWN_PROBLEMS]:
                print_line(f"  {row}: {problem}")
            if len(shown) > _SHOWN_PROBLEMS:
                print_line(f"  and {len(shown) - _SHOWN_PROBLEMS} more; --json lists all")
        if counts.unreadable:
            print_line(f"pictures of the sources that cannot be read: {counts.unreadable}")
        if counts.unknown_links:
            print_line(f"links without a row: {', '.join(counts.unknown_links[:10])}")
        print_line(f"{out}: {counts.clean_rows} rows")
        print_next(arguments, "run", "-m", "MODEL", "-b", "mmt-bench", "--data", str(out))
    return INCOMPLETE if counts.left_out or counts.unknown_links else COMPLETE
