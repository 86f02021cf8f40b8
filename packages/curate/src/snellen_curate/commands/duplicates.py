"""`snellen curate duplicates`: what stands twice in a data set, in other benchmarks, in training
data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from snellen.api.flags import FlagKey, argument, option
from snellen.cli.output import print_line
from snellen.core.errors import UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    drop_option,
    limits_option,
    parse_folder,
    publish_next,
    review_next,
    sentence,
    skip_option,
)

if TYPE_CHECKING:
    from snellen_curate.duplicates.build_index import IndexProgress


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate duplicates` takes."""

    data: str = argument("DATA", "a benchmark, a data file, a data set folder or a folder of pictures")
    out: str | None = option(None, "--out", parse=parse_folder)
    """None: only the report is printed."""
    drop: tuple[Any, ...] = drop_option(
        {
            "contradictions": "the same question with another key",
            "duplicates": "what repeats an item that stays",
            "against": "what is in other sets",
            "broken": "what cannot be read or asked",
        },
        ("duplicates",),
    )
    columns: Mapping[str, str] | None = option(None, "--columns")
    against: Sequence[str] = option(
        (),
        "--against",
        "also look in this benchmark, folder of pictures or of webdataset .tar files, or manifest of training "
        "data (.parquet, .jsonl, .csv); repeat for several",
        metavar="OTHER",
        is_repeatable=True,
    )
    keep: Literal["first", "last", "largest"] = option(
        "first",
        "--keep",
        "the item of a cluster that stays: first or last of the data, or that with the most pixels",
        choices=("first", "last", "largest"),
    )
    skip: tuple[str, ...] = skip_option(
        {
            "turned": "mirrored pictures, and those turned by quarters",
            "crops": "cropped or framed copies, which OpenCV verifies",
        }
    )
    limits: Mapping[str, Any] = limits_option({"processes": FlagKey("processes that hash (one for each core)", int)})


def main(options: Options) -> Finished:
    """Find duplicates, and write the folder that was asked for."""
    from snellen_curate.duplicates.decide import decisions, write_folder
    from snellen_curate.duplicates.find import find_duplicates
    from snellen_curate.duplicates.image_rule import ImageRule
    from snellen_curate.duplicates.report import DuplicateSettings, duplicates_document

    processes = options.limits.get("processes")
    if processes is not None and processes < 1:
        raise UsageError(f"--limits processes={processes}: expected 1 or more")
    if options.drop and not options.out:
        raise UsageError("--drop needs --out DIR, where the data set without them is written")
    settings = DuplicateSettings(
        images=ImageRule(turned="turned" not in options.skip, crops="crops" not in options.skip),
        keep=options.keep,
        against=tuple(options.against),
    )
    found = find_duplicates(
        options.data,
        settings,
        columns=options.columns,
        processes=processes,
        on_phase=lambda name, progress: _print_progress(options, name, progress),
    )
    document = duplicates_document(found.report)
    if options.out:
        flagged = write_folder(found, options.out, options.drop).get("flag", 0)
        written = sentence(f"written: {options.out}")
        document = document._replace(blocks=[*document.blocks, written])
    else:
        flagged = len(decisions(found.report, ()))
    next = review_next(options.out) if flagged else publish_next(options.out)
    return Finished("flagged" if flagged else "clean", document, next)


def _print_progress(options: Options, name: str, progress: IndexProgress) -> None:
    if options.quiet or progress.entries == progress.reused:
        return
    print_line(f"hashed {progress.entries:,} of {name}", error=True, flush=True)
