"""`snellen items`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument, option, options_field, parse_percent
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, open_runs
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen items` takes."""

    runs: Sequence[str] = argument("RUN", RUNS, "+")
    sources: SourceOptions = options_field(SourceOptions)
    common: bool = option(False, "--common")
    near_copies: bool = option(
        False, "--near-copies", "also look for images that are near copies of others", is_switch=True
    )
    agreement: float = option(
        95.0,
        "--agreement",
        "share of model pairs that the smallest subset must order like the full set",
        metavar="PERCENT",
        parse=parse_percent,
    )
    top: int = option(10, "--top")
    doubtful: str | None = option(
        None,
        "--doubtful",
        "write the ids of the labels in doubt, which `snellen curate review --items` takes",
        metavar="FILE",
    )


def main(options: Options) -> None:
    """Print what many runs show about samples."""
    from snellen.analysis.samples.items import analyse_items, similar_images
    from snellen.core.atomic_write import save
    from snellen.report.documents.comparison import comparison_names
    from snellen.report.documents.items import items_document

    if not 50 <= options.agreement <= 100 or options.top < 1:
        raise UsageError(
            f"--agreement {options.agreement:g} and --top {options.top}: expected 50 to 100 percent, and at least 1"
        )
    runs = open_runs(options.runs, options.sources)
    items = analyse_items(runs, comparison_names(runs), common=options.common, agreement=options.agreement / 100)
    if options.doubtful is not None:
        save(Path(options.doubtful), "".join(f"{suspect.id}\n" for suspect in items.suspects))
    copies = similar_images(runs[0], options.sources.data) if options.near_copies else None
    write_document(items_document(items, copies, options.top), options)
