"""`snellen curate metadata IMPORTER PATH... --out DIR`: metadata records of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.core.errors import UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    fact_values,
    facts_option,
    media_option,
    parse_folder,
    sentence,
)

if TYPE_CHECKING:
    from snellen.report.document import Block, Document
    from snellen_curate.metadata.importers.importer import ImportCounts


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate metadata` takes."""

    importer: str = argument(
        "IMPORTER",
        "coco (LVIS too), image-folder, labelme, open-images, table (Parquet, JSON Lines, "
        "CSV, Hugging Face), visual-genome, voc, yolo, or one of a plug-in",
    )
    paths: Sequence[str] = argument("PATH", "its files or folder; for a table also hf://org/name?split=NAME", "+")
    out: str = option(MISSING, "--out", parse=parse_folder)
    media: Sequence[str] = media_option()
    """A data set folder of `snellen curate pictures` among them leaves out what it dropped."""
    facts: Mapping[str, str] = facts_option(
        {
            "source": "the name of the data set",
            "licence": "the SPDX licence of what does not state its own",
            "url": "where the data set comes from",
            "subtask": "subtask of all records (default: any)",
            "task": "meta-task of all records",
            "image-type": "MMT-Bench's visual prompt types, e.g. Natural Image",
            "capability": "what the questions need, e.g. Counting+Recognition",
        }
    )
    columns: Mapping[str, str] | None = option(None, "--columns")
    """Of a table: which column is which field, e.g. `label=breed,captions=sentence`."""


def main(options: Options) -> Finished:
    """Import a data set."""
    from snellen.data_sets.step import STEP_FILE
    from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata
    from snellen_curate.metadata.records import METADATA_FILE

    folders = [Path(name).expanduser() for name in options.media]
    kept = [folder for folder in folders if (folder / STEP_FILE).is_file()]
    images = [folder for folder in folders if folder not in kept]
    for found in (kept, images):
        if len(found) > 1:
            raise UsageError(
                f"--media {found[1]}: expected one folder of pictures, and one that `snellen curate pictures` wrote"
            )
    facts = options.facts
    request = ImportRequest(
        paths=tuple(options.paths),
        out=Path(options.out).expanduser() / METADATA_FILE,
        images=images[0] if images else None,
        kept=kept[0] if kept else None,
        license=facts.get("licence", ""),
        image_types=fact_values(facts, "image-type"),
        capabilities=fact_values(facts, "capability"),
        columns=options.columns or {},
        **{name: facts.get(name, "") for name in ("source", "url", "subtask", "task")},
    )
    counts = import_metadata(options.importer, request)
    is_clean = not (counts.with_problems or counts.missing_images)
    next = ("curate", "questions", options.out, "--out", f"{options.out}-questions")
    return Finished("clean" if is_clean else "flagged", _document(counts), next)


def _document(counts: ImportCounts) -> Document:
    """How many records were written, and what they lack."""
    from snellen.report.document import Document

    blocks: list[Block] = [sentence(f"{counts.path}: {counts.records} records of {counts.source}")]
    if counts.without_licence:
        blocks.append(
            sentence(f"without a licence: {counts.without_licence}; name it with --facts licence=SPDX, if it has one")
        )
    if counts.missing_images:
        blocks.append(
            sentence(
                f"pictures that are not there: {counts.missing_images}, e.g. "
                f"{counts.missing_image}; name their folder with --media DIR"
            )
        )
    blocks += [sentence(f"left out: {what}, {count} times") for what, count in counts.left_out.items()]
    if counts.with_problems:
        blocks.append(sentence(f"with problems: {counts.with_problems}; no question is made of them"))
    blocks += [sentence(f"  {name}: {reason}") for name, reason in counts.problems.items()]
    return Document(blocks, counts)
