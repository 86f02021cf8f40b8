"""`snellen curate pictures DATA --out DIR`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import argument, option
from snellen.cli.output import print_line
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    drop_option,
    facts_option,
    parse_folder,
    review_next,
    sentence,
)
from snellen_curate.images import KINDS

if TYPE_CHECKING:
    from snellen.report.document import Block, Document
    from snellen_curate.duplicates.build_index import IndexProgress


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate pictures` takes."""

    data: str = argument(
        "DATA",
        "a folder of pictures or of webdataset .tar files, a .tar file, or a table that "
        "names pictures, with author, license and url where they are known",
    )
    out: str = option(MISSING, "--out", parse=parse_folder)
    drop: tuple[str, ...] = drop_option(KINDS, ("broken", "duplicate"))
    columns: Mapping[str, str] | None = option(None, "--columns")
    facts: Mapping[str, Any] = facts_option(
        {
            "source": "the data set that pictures come from which do not say it themselves",
            "licence": "the SPDX licence of those that do not state their own",
            "author": "the author of those that do not state theirs",
        }
    )
    faces: bool = option(False, "--faces", "look for faces (extra `faces`)", is_switch=True)


def main(options: Options) -> Finished:
    """Check the images, and print what people are to look at."""
    from snellen.data.detect import detect
    from snellen_curate.image_files import find_files
    from snellen_curate.images.check import ImageOptions, check_images
    from snellen_curate.open_data import open_items
    from snellen_curate.questions.sources import ImageFolder

    def on_phase(name: str, progress: IndexProgress) -> None:
        if not options.quiet and progress.entries > progress.reused:
            print_line(f"hashed {progress.entries:,} of {name}", error=True, flush=True)

    try:
        opened = open_items(options.data, options.columns)
    except (UnknownName, DataError):
        path, other = Path(options.data).expanduser(), "name the folder that the pictures lie in"
        # What is wrong with a table or a tar is in the error itself.
        if path.is_dir() and detect(path) is None and not any(find_files(path, (".tar",))):
            raise UsageError(f"{options.data} holds no picture, and no table that names some; {other}") from None
        if path.exists():
            raise
        raise UsageError(f"there is no folder, table or benchmark {options.data}; {other}") from None
    chosen = ImageOptions(drop=options.drop, faces=options.faces, **options.facts)
    counts = check_images(opened, options.out, chosen, on_phase)
    counts["left_out"] = opened.table.left_out if isinstance(opened.table, ImageFolder) else {}
    is_flagged = bool(counts.get("flag"))
    next: tuple[str, ...] = ("curate", "statistics", options.out)
    if counts.get("drop") == counts["pictures"]:
        next = ()
    elif is_flagged:
        next = review_next(options.out)
    document = _document(counts, options.out)
    return Finished("flagged" if is_flagged else "clean", document, next)


def _document(counts: dict[str, Any], out: str) -> Document:
    from snellen.report.document import Column, Document, Table
    from snellen.report.format import plural
    from snellen_curate.images.check import TABLE_FILE
    from snellen_curate.images.quality import MIN_SHARPNESS

    dropped, flagged = counts.get("drop", 0), counts.get("flag", 0)
    blocks: list[Block] = [
        sentence(f"{plural(counts['pictures'], 'picture')}: {flagged:,} flagged, {dropped:,} dropped", "heading")
    ]
    rows = [(kind, count, KINDS[kind]) for kind, count in counts["kinds"].items()]
    if rows:
        columns = [Column("kind"), Column("pictures", "count"), Column("what it is")]
        blocks.append(Table("what was found", columns, rows))
    if "min_sharpness" in counts:
        blocks.append(
            sentence(
                "these pictures are softer than photographs, as slides and scans are: blurred is one of less than "
                f"{counts['min_sharpness']:g} sharpness (photographs: {MIN_SHARPNESS:g}); if they are photographs, "
                "most of them are blurred"
            )
        )
    blocks += [
        sentence(f"not looked at: {what}, {plural(count, 'time')}") for what, count in counts["left_out"].items()
    ]
    if counts["without_licence"]:
        blocks.append(
            sentence(
                f"without a licence: {counts['without_licence']:,}; name it with --facts licence=SPDX, if they have one"
            )
        )
    blocks.append(sentence(f"written: {out}, {Path(out) / TABLE_FILE}"))
    return Document(blocks, counts)
