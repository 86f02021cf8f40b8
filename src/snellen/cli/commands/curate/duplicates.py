"""`snellen curate duplicates`: what stands twice in a data set, in other benchmarks, in training
data; and the index of picture hashes to find it in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import VARIANT_FLAGS
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_flag, add_json
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.curate.duplicates.build_index import IndexProgress
    from snellen.curate.duplicates.report import DuplicateSettings

_GROUPS = ("contradictions", "duplicates", "against", "broken")


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen curate duplicates`."""
    parser.add_argument(
        "data", metavar="DATA",
        help="a benchmark, a data file, a data set folder or a folder of pictures; with "
            "--write-index also webdataset .tar files or a manifest (.parquet, .jsonl, .csv)",
    )  # fmt: skip
    parser.add_argument(
        "--against", action="append", default=[], metavar="OTHER",
        help="also look in this benchmark, index, folder of pictures or manifest of training data; "
            "repeat for several",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR",
                        help="write the data set folder, with a decision per item")  # fmt: skip
    add_flag(parser, VARIANT_FLAGS["columns"])
    parser.add_argument(
        "--drop", nargs="?", const=("duplicates",), default=(), type=_groups, metavar="WHAT,...",
        help=f"drop items instead of flagging them: {', '.join(_GROUPS)} (alone: duplicates)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", choices=("first", "last", "largest"), default="first",
        help="the item of a cluster that stays (default: first of the data)",
    )  # fmt: skip
    parser.add_argument("--page", metavar="FILE.html", help="write the page here")
    parser.add_argument("--exclude", metavar="FILE",
                        help="write the ids to leave out here, one a line")  # fmt: skip
    add_json(parser)
    _add_rule(parser)
    parser.add_argument(
        "--write-index", metavar="DIR",
        help="only hash the pictures of DATA into an index for --against; the same command goes on "
            "where it was stopped",
    )  # fmt: skip
    parser.add_argument("--processes", type=int, metavar="N",
                        help="processes that hash (default: one for each core)")  # fmt: skip
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def _add_rule(parser: ArgumentParser) -> None:
    rule = parser.add_argument_group("when pictures and texts count as near duplicates")
    rule.add_argument("--radius", type=int, default=10, metavar="BITS",
                      help="bits in which pHashes may differ, 0 to 16 (default: 10)")  # fmt: skip
    rule.add_argument("--likeness", type=float, default=0.95, metavar="R",
                      help="least correlation of small copies (default: 0.95)")  # fmt: skip
    rule.add_argument(
        "--hash-radius", type=int, default=6, metavar="BITS",
        help="bits in which pHashes may differ where a list has hashes alone (default: 6)",
    )  # fmt: skip
    rule.add_argument("--no-turned", action="store_true",
                      help="no mirrored pictures, nor those turned by quarters")  # fmt: skip
    rule.add_argument("--no-crops", action="store_true",
                      help="no cropped or framed copies, which OpenCV verifies")  # fmt: skip
    rule.add_argument("--text-similarity", type=float, default=0.8, metavar="J",
                      help="least Jaccard similarity of a caption, or of a question to be "
                           "reviewed (default: 0.8)")  # fmt: skip
    rule.add_argument("--clip", default="", metavar="MODEL",
                      help="also compare embeddings of this model, clip/...")  # fmt: skip
    rule.add_argument("--clip-threshold", type=float, default=0.95, metavar="COS",
                      help="least cosine (default: 0.95, not calibrated)")  # fmt: skip


def _groups(text: str) -> tuple[str, ...]:
    groups = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [group for group in groups if group not in _GROUPS]
    if unknown or not groups:
        raise ArgumentTypeError(f"{text!r}: expected some of {', '.join(_GROUPS)}")
    return groups


def main(arguments: Namespace) -> int:
    if arguments.processes is not None and arguments.processes < 1:
        raise UsageError(f"--processes {arguments.processes}: expected 1 or more")
    return _write_index(arguments) if arguments.write_index else _find(arguments)


def _write_index(arguments: Namespace) -> int:
    """Only write an index."""
    import time

    from snellen.cli.printing import print_line
    from snellen.curate.duplicates.find import write_index

    for flag in ("against", "out", "columns", "drop", "page", "exclude", "json"):
        if getattr(arguments, flag):
            raise UsageError(f"--write-index only hashes pictures; leave out --{flag}")
    started = time.perf_counter()
    hashed = 0

    def on_progress(progress: IndexProgress) -> None:
        nonlocal hashed
        hashed = progress.entries - progress.reused
        _print_progress(arguments, arguments.data, progress)

    index = write_index(
        arguments.data, Path(arguments.write_index), clip=arguments.clip,
        processes=arguments.processes, on_progress=on_progress,
    )  # fmt: skip
    info, seconds = index.info, time.perf_counter() - started
    print_line(
        f"{arguments.write_index}: {info.entries:,} entries, {info.pictures:,} pictures, "
        f"{info.captions:,} captions, {info.broken:,} broken, {info.flat:,} without contrast"
    )
    for name, reason in list(index.broken())[:10]:
        print_line(f"  {name}: {reason}")
    if hashed:
        print_line(f"{hashed:,} entries in {seconds:.1f} s, {hashed / seconds:,.0f} a second")
    return COMPLETE


def _find(arguments: Namespace) -> int:
    """Find duplicates, print the report, and write what was asked for."""
    from snellen.cli.printing import print_line, print_next
    from snellen.curate.duplicates.decide import (
        exclusion_list,
        report_json,
        write_folder,
        write_lines,
    )
    from snellen.curate.duplicates.descriptions import duplicates_report
    from snellen.curate.duplicates.find import find_duplicates
    from snellen.curate.duplicates.page import PAGE_FILE, write_page
    from snellen.curate.step_report import print_report
    from snellen.report.console import Terminal

    if arguments.drop and not arguments.out:
        raise UsageError("--drop needs --out DIR, where the data set without them is written")
    found = find_duplicates(
        arguments.data, _settings(arguments), columns=arguments.columns,
        processes=arguments.processes,
        on_phase=lambda name, progress: _print_progress(arguments, name, progress),
    )  # fmt: skip
    written = []
    flagged = 0
    if arguments.out:
        flagged = write_folder(found, arguments.out, arguments.drop).get("flag", 0)
        written += [arguments.out, str(Path(arguments.out) / PAGE_FILE)]
    if arguments.page:
        written.append(str(write_page(found, Path(arguments.page))))
    if arguments.exclude:
        path = write_lines(exclusion_list(found.report), Path(arguments.exclude))
        written.append(str(path))
    if arguments.json:
        sys.stdout.write(report_json(found.report).decode())
        return COMPLETE
    print_report(duplicates_report(found.report), Terminal())
    if written:
        print_line(f"written: {', '.join(written)}")
    if flagged:
        print_next(
            arguments, "curate", "review", arguments.out, "--out", f"{arguments.out}-reviewed"
        )
    return COMPLETE


def _settings(arguments: Namespace) -> DuplicateSettings:
    """The settings that were typed. Raises UsageError for a value out of range."""
    from snellen.curate.duplicates.compare_items import TextThresholds
    from snellen.curate.duplicates.picture_rule import PictureRule
    from snellen.curate.duplicates.report import DuplicateSettings

    for flag in ("radius", "hash_radius"):
        value = getattr(arguments, flag)
        if not 0 <= value <= 16:
            raise UsageError(
                f"--{flag.replace('_', '-')} {value}: expected 0 to 16 of 64 bits; unrelated "
                "pictures differ in about 32"
            )
    for flag in ("likeness", "text_similarity", "clip_threshold"):
        value = getattr(arguments, flag)
        if not 0 < value <= 1:
            raise UsageError(f"--{flag.replace('_', '-')} {value}: expected more than 0, at most 1")
    rule = PictureRule(
        radius=arguments.radius, likeness=arguments.likeness, hash_radius=arguments.hash_radius,
        turned=not arguments.no_turned, crops=not arguments.no_crops,
    )  # fmt: skip
    return DuplicateSettings(
        rule, TextThresholds(arguments.text_similarity), arguments.keep, arguments.clip,
        arguments.clip_threshold, tuple(arguments.against),
    )  # fmt: skip


def _print_progress(arguments: Namespace, name: str, progress: IndexProgress) -> None:
    from snellen.cli.printing import print_line

    if arguments.quiet or progress.entries == progress.reused:
        return
    print_line(f"hashed {progress.entries:,} of {name}", error=True, flush=True)
