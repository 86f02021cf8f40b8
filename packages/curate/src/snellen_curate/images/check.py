"""Check the images of a folder, table or webdataset before anything is asked about them.

The step writes a data set folder of items without questions, with a decision about each, and
`pictures.tsv`: a line for each image with what was measured and whose it is.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from snellen.core.atomic_write import save
from snellen.core.errors import MediaError
from snellen.core.media import decode_image
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import Decision, Evidence, count_actions
from snellen.data_sets.items import Item, ItemTable, folder_outside
from snellen.data_sets.step import open_step
from snellen.settings import max_image_pixels
from snellen_curate.attribution import AUTHOR_COLUMN, LICENCE_COLUMNS, URL_COLUMN, licence_at, licence_url, own_licence
from snellen_curate.duplicates.decide import decisions as duplicate_decisions
from snellen_curate.duplicates.find import OnPhase, find_duplicates
from snellen_curate.duplicates.report import DuplicateSettings
from snellen_curate.images import KINDS
from snellen_curate.images.quality import (
    MIN_SHARPNESS,
    Measures,
    least_sharpness,
    measure_quality,
    open_face_counter,
    read_file_facts,
)

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

STEP = "pictures"
TABLE_FILE = "pictures.tsv"
_LICENCE = LICENCE_COLUMNS[0]
_OWNER = (_LICENCE, AUTHOR_COLUMN, URL_COLUMN, "source")
_MAX_SAMPLE = 100
Looking = tuple[Callable[["PILImage"], int] | None, float]
"""What counts faces, if they are looked for, and the sharpness below which an image is blurred."""
_FACTS = ("size", "sharpness", "darkest", "brightest", "entropy", "camera", "position", "faces", "copyright")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """What is looked for, and what is said of all images that do not say it themselves."""

    drop: tuple[str, ...] = ()
    """Kinds of `KINDS` that are left out, rather than flagged."""
    faces: bool = False
    source: str = ""
    licence: str = ""
    author: str = ""
    columns: Mapping[str, str] | None = None


def check_images(
    table: ItemTable, out: Path | str, options: ImageOptions, on_phase: OnPhase | None = None
) -> dict[str, Any]:
    """Write the data set folder `out`; started again, it goes on. Returns the counts.

    Raises UsageError if the folder holds something else, MissingExtra, StorageError.
    """
    settings = {name: getattr(options, name) for name in ("faces", "source", "licence", "author")}
    settings["drop"] = list(options.drop)
    roots = [table.root] if table.root else []
    count_faces = open_face_counter() if options.faces else None
    with open_step(out, STEP, settings, table) as step:
        data = table.folder or table.spec
        found = find_duplicates(data, DuplicateSettings(), columns=options.columns, on_phase=on_phase)
        copies = duplicate_decisions(found.report, ())
        min_sharpness = least_sharpness(_sample_images(table))
        for item in table:
            if item.id not in step.decisions:
                step.decide(_decide(item, options, roots, copies.get(item.id), (count_faces, min_sharpness)))
        decided = [(item, step.decisions[item.id]) for item in table]
        save(step.folder / TABLE_FILE, _as_tsv(decided))
        kinds = Counter(kind for _, each in decided for kind in each.rule.split(", "))
        counts: dict[str, Any] = {
            **count_actions(step.decisions),
            "pictures": len(decided),
            "kinds": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
            "without_licence": sum(_LICENCE not in _facts(each) for _, each in decided),
        }
        if min_sharpness < MIN_SHARPNESS:
            counts["min_sharpness"] = round(min_sharpness, 3)
        if counts.get("drop") != len(decided):
            step.write_items(_with_owner(*each) for each in decided if each[1].action != "drop")
        step.finish(counts)
    return counts


def _decide(
    item: Item, options: ImageOptions, roots: Sequence[Path], copy: Decision | None, looking: Looking
) -> Decision:
    """What is wrong with the images of an item, and what they say of themselves."""
    problems = {"broken": item.problem} if item.problem else {}
    if not item.sample.media:
        problems["broken"] = "it names no picture"
    evidence: tuple[Evidence, ...] = ()
    if copy is not None and copy.rule == "duplicate":
        problems["duplicate"], evidence = copy.reason, copy.evidence
    facts: dict[str, str | float] = {}
    for ref in item.sample.media:
        if ref.kind == "image":
            if outside := folder_outside(ref, roots):
                problems["outside"] = f"it is a link that leads out of the folder, to {outside}"
            measures = _measure(ref, looking)
            problems |= measures.problems
            facts |= measures.facts
    facts = {name: facts[name] for name in _FACTS if name in facts} | _owner(item, facts, options)
    named = [kind for kind in KINDS if kind in problems]
    is_dropped = any(kind in options.drop for kind in named)
    return Decision(
        item.id,
        "drop" if is_dropped else "flag" if named else "keep",
        STEP,
        ", ".join(named),
        "; ".join(problems[kind] for kind in named),
        (
            *evidence,
            *(
                Evidence(name, verdict=value) if isinstance(value, str) else Evidence(name, score=round(value, 3))
                for name, value in facts.items()
            ),
        ),
    )


def _sample_images(table: ItemTable) -> Iterator[PILImage]:
    """Up to `_MAX_SAMPLE` images of a table that can be read, evenly spread."""
    for item in islice(table, 0, None, max(1, len(table) // _MAX_SAMPLE)):
        for ref in item.sample.media[:1]:
            if ref.kind == "image":
                with suppress(MediaError):
                    yield decode_image(ref.source.read(), max_image_pixels())


def _measure(ref: MediaRef, looking: Looking) -> Measures:
    """What is known of one image, and what is wrong with it."""
    count_faces, min_sharpness = looking
    try:
        data = ref.source.read()
        image = decode_image(data, max_image_pixels())
        of_pixels, of_file = measure_quality(image, min_sharpness), read_file_facts(data)
    except MediaError as error:
        return Measures({}, {"broken": str(error)})
    facts, problems = of_pixels.facts | of_file.facts, of_pixels.problems | of_file.problems
    if count_faces is not None:
        facts["faces"] = count = count_faces(image)
        if count:
            problems["faces"] = f"people can be recognised: {count} face{'s' * (count > 1)}"
    return Measures(facts, problems)


def _owner(item: Item, facts: Mapping[str, str | float], options: ImageOptions) -> dict[str, str | float]:
    """Licence, author, address and source: of the row, else of the file, else of the options. An
    address of a Creative Commons licence becomes its SPDX identifier."""
    cells = {name.lower(): cell for name, cell in item.cells.items()}
    licence = licence_at(cells.get("license_url", "") or cells.get("licence_url", ""))
    licence = licence or own_licence(cells) or str(facts.get(_LICENCE, "")) or options.licence
    author = cells.get(AUTHOR_COLUMN) or facts.get(AUTHOR_COLUMN) or options.author
    url = cells.get(URL_COLUMN) or cells.get("url", "")
    source = item.label("source") or options.source
    values = zip(_OWNER, (licence_at(licence) or licence, author, url, source), strict=True)
    return {name: value for name, value in values if value}


def _facts(decision: Decision) -> dict[str, str]:
    """The evidence of a decision by name, as one line each."""
    return {
        each.model: " ".join(each.verdict.split()) if each.score is None else f"{each.score:g}"
        for each in decision.evidence
    }


def _with_owner(item: Item, decision: Decision) -> Item:
    """The item with licence, author, address and source as they were found."""
    found = {name: text for name, text in _facts(decision).items() if name in _OWNER and name not in item.sample.groups}
    return replace(item, cells={**item.cells, **found})


def _as_tsv(decided: Sequence[tuple[Item, Decision]]) -> str:
    """A line for each image: what was decided, whose it is, and what was measured."""
    text = io.StringIO()
    columns = ("picture", "file", "decision", "kinds", "license_url", *_OWNER, *_FACTS)
    table = csv.DictWriter(text, columns, "", "ignore", "excel-tab", lineterminator="\n")
    table.writeheader()
    for item, decision in decided:
        ref, facts = next(iter(item.sample.media), None), _facts(decision)
        named = {
            "picture": item.id,
            "decision": decision.action,
            "kinds": decision.rule,
            "file": getattr(ref.source, "path", "") if ref else "",
            "license_url": licence_url(facts.get(_LICENCE, "")),
        }
        table.writerow(facts | named)
    return text.getvalue()
