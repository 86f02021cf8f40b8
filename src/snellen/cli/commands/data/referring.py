"""`snellen data referring`: clean pictures and boxes for MMT-Bench's visual referring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.cli.output import FormatOptions, only_file, print_document
from snellen.core.errors import COMPLETE, INCOMPLETE, UsageError
from snellen.report.document import Block, Document, Line, Verbatim

if TYPE_CHECKING:
    from snellen.benchmarks.abilities.mmt_bench.referring.convert import ReferringCounts

_SHOWN_PROBLEMS = 3


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen data referring` takes."""

    data: str | None = argument("DATA", "MMT-Bench's file, or mmt-bench for its own", "?")
    annotations: Sequence[Sequence[str]] = option(
        (),
        "--annotations",
        "annotations of a data set: coco, visual-genome, hico, fsc147, faces or csv, the file, "
        "and the folder of its clean pictures; repeat for several",
        metavar=("LAYOUT", "FILE", "PICTURES"),
        count=3,
        is_repeatable=True,
    )
    links: str | None = option(
        None,
        "--links",
        "which picture and boxes belong to a row: the columns index, image, boxes; other rows are "
        "looked for by their picture",
        metavar="FILE.csv",
    )
    output: Sequence[str] = option((), "--output")
    """One data file, for `--data` of a run."""
    list: bool = option(False, "--list")
    """The fourteen subtasks and what each needs."""


def main(options: Options) -> int:
    """Convert the rows, or list what they need."""
    if options.list:
        print_document(_subtasks_document(), options.form)
        return COMPLETE
    target = only_file(options.output)
    if options.data is None or not options.annotations or target is None:
        given = {"DATA": options.data, "--annotations": options.annotations, "-o": target}
        missing = [flag for flag, value in given.items() if not value]
        raise UsageError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; see "
            "`snellen data referring --list` for what each subtask needs"
        )
    counts = _convert(options.data, Path(target).expanduser(), options)
    print_document(_counts_document(counts), options.form)
    return INCOMPLETE if counts.left_out or counts.unknown_links else COMPLETE


def _subtasks_document() -> Document:
    """The subtasks with the sources of their pictures, and the layouts of annotation files."""
    from snellen.benchmarks.abilities.mmt_bench.referring.annotations import LAYOUTS
    from snellen.benchmarks.abilities.mmt_bench.referring.subtasks import SUBTASKS

    lines = []
    for subtask in SUBTASKS:
        lines.append(f"{subtask.name}: {subtask.marks}")
        lines += [f"  {form}: {source}" for source, form in subtask.sources]
        lines += [f"  ({subtask.note})"] if subtask.note else []
    layouts = [f"  {name}: {layout.about}" for name, layout in LAYOUTS.items()]
    data = [subtask._asdict() for subtask in SUBTASKS]
    return Document([Verbatim([*lines, "layouts:", *layouts])], data=data)


def _convert(data: str, out: Path, options: Options) -> ReferringCounts:
    from snellen.api.data_files import open_data
    from snellen.benchmarks.abilities.mmt_bench.referring.annotations import read_annotations
    from snellen.benchmarks.abilities.mmt_bench.referring.convert import convert_referring, read_links

    links = read_links(Path(options.links).expanduser()) if options.links else {}
    table = open_data(data)
    sources = [
        picture
        for layout, file, pictures in options.annotations
        for picture in read_annotations(layout, Path(file).expanduser(), Path(pictures).expanduser())
    ]
    if out.absolute() == Path(str(table.path)).absolute():
        raise UsageError(f"{out} is what is read; choose another file to write")
    return convert_referring(table, sources, out, links)


def _counts_document(counts: ReferringCounts) -> Document:
    """How many rows of each subtask were converted, and why others were not."""
    file = quote(counts.path)
    blocks: list[Block] = [Verbatim(list(_count_lines(counts)))]
    if counts.unreadable:
        blocks.append(Line(f"pictures of the sources that cannot be read: {counts.unreadable}", "notice"))
    if counts.unknown_links:
        blocks.append(Line(f"links without a row: {', '.join(counts.unknown_links[:10])}", "notice"))
    blocks += [
        Line(f"{counts.path}: {counts.clean_rows} rows", is_unbroken=True),
        Line(f"next: snellen run -m MODEL -b mmt-bench --data {file}", is_unbroken=True),
    ]
    return Document(blocks, data=counts)


def _count_lines(counts: ReferringCounts) -> Iterator[str]:
    for name, subtask in counts.subtasks.items():
        if subtask.rows:
            yield f"{name}: {subtask.converted} of {subtask.rows} rows have clean pictures"
        problems = list(subtask.problems.items())
        yield from (f"  {row}: {problem}" for row, problem in problems[:_SHOWN_PROBLEMS])
        if len(problems) > _SHOWN_PROBLEMS:
            yield f"  and {len(problems) - _SHOWN_PROBLEMS} more; --json lists all"
