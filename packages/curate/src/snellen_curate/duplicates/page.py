"""`duplicates.html`: pairs side by side with small images, what is in other sets, one file that
loads nothing. The template lays out the values of the report; here are the images."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.atomic_write import save
from snellen.core.errors import MediaError
from snellen.core.media import FileSource, Source, decode_image
from snellen.report import format as fmt
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.table import cell_texts
from snellen.settings import max_image_pixels
from snellen_curate.duplicates.against import OtherData
from snellen_curate.duplicates.descriptions import (
    KEEP,
    describe_entries,
    describe_image_match,
    describe_overlap,
    describe_rules,
    share_table,
)
from snellen_curate.duplicates.find import DuplicateSearchResult
from snellen_curate.duplicates.hash_index import HashIndex
from snellen_curate.duplicates.index_format import HAS_COPY
from snellen_curate.duplicates.report import DuplicateReport, ImagePair, OverlapMatch, OverlapReport

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

PAGE_FILE = "duplicates.html"
_HOME = "snellen_curate.duplicates"
_MAX_CARDS = 60
"""Pairs of each section on the page; all are in the JSON file."""
_MAX_ROWS = 20
_SIDE = 200
"""Longer side of an image on the page, in pixels."""


def write_page(found: DuplicateSearchResult, path: Path) -> Path:
    """Write the page and return its path. Raises StorageError."""
    report, read = found.report, found.read
    sections = {"contradictions": report.contradictions, "duplicates": report.duplicates, "possible": report.possible}
    paired = {(pair.left, pair.right) for pairs in sections.values() for pair in pairs}
    alike = [pair for pair in report.image_pairs if not _is_above(pair, paired)]
    links = [(name, name) for name, pairs in sections.items() if pairs]
    links += [(f"against-{n}", Path(one.name).name) for n, one in enumerate(report.against, 1)]
    page = (
        template_environment(_HOME)
        .get_template("duplicates.html")
        .render(
            **page_layout(("page.css", "duplicates.css"), ("theme.js",), _HOME),
            **sections,
            report=report,
            images=alike,
            most=_MAX_CARDS,
            items={item.id: item for item in read.items},
            marks={
                name: "kept" if name == cluster.kept else "on the exclusion list"
                for cluster in report.clusters
                for name in cluster.items
            },
            image=_image_urls(found),
            image_facts=describe_image_match,
            overlap_facts=describe_overlap,
            names=_names,
            links=[*links, ("how", "How to read it")],
            counts=_counts(report, len(alike)),
            keep=KEEP[report.settings.keep],
            against=[_other_data(one, found.others[one.name]) for one in report.against],
            broken=report.broken[:_MAX_ROWS],
            rule=describe_rules(report.settings),
        )
    )
    save(path, page)
    return path


def _image_urls(found: DuplicateSearchResult) -> Callable[[str], str]:
    """Makes a data URL of an image, decoded once; empty if there is none or it is broken."""
    images = dict(found.read.images)
    for other in found.others.values():
        images |= other.read.images if other.read else {}
    return cache(lambda digest: _small_jpeg(images[digest].source) if digest in images else "")


def _counts(report: DuplicateReport, alike: int) -> list[tuple[str, str, str]]:
    certain = sum(pair.kind == "contradiction" for pair in report.contradictions)
    possible = len(report.contradictions) - certain
    rows = [
        (certain, "contradictions", "wrong"),
        (possible, "possible contradictions", ""),
        (len(report.exclusions), f"items repeat another, in {fmt.plural(len(report.clusters), 'cluster')}", ""),
        (len(report.possible), "pairs may ask the same: to be reviewed", ""),
        (alike, "pairs of pictures alike, other questions", ""),
        (len(report.broken), "could not be compared", ""),
    ]
    return [(fmt.count_text(count), name, tone) for count, name, tone in rows]


def _is_above(pair: ImagePair, paired: set[tuple[str, str]]) -> bool:
    """Whether all items of two images are pairs of another section."""
    return all(
        (left, right) in paired or (right, left) in paired for left in pair.left_items for right in pair.right_items
    )


def _other_data(report: OverlapReport, other: OtherData) -> Mapping[str, Any]:
    """The values of the section about one other data set."""
    return {
        "name": report.name,
        "what": describe_entries(report),
        "rows": cell_texts(share_table(report)),
        "notes": report.notes,
        "matches": report.matches,
        "left_out": max(0, len(report.matches) - _MAX_CARDS) + report.left_out,
        "items": {item.id: item for item in other.read.items} if other.read else {},
        "image": partial(_entry_image, other.index),
    }


def _entry_image(index: HashIndex | None, match: OverlapMatch) -> tuple[str, str]:
    """The image of an entry of a list, and what it is: that itself if it lies in a folder, else
    the copy of 16 x 16 pixels that the index holds."""
    if index is None or match.image is None or match.row is None:
        return "", "compared by its caption"
    if index.info.kind == "folder":
        file = Path(index.info.source).expanduser() / match.other
        if file.is_file() and (url := _small_jpeg(FileSource(str(file)))):
            return url, "picture"
    if int(index.row(match.row, "flags")) & HAS_COPY:
        from PIL import Image

        return _data_url(Image.fromarray(index.row(match.row, "copies")), "png"), "small copy"
    return "", "the list holds hashes alone"


def _names(names: Sequence[str], most: int = 8) -> str:
    listed = ", ".join(names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed


def _small_jpeg(source: Source) -> str:
    """A JPEG of at most `_SIDE` pixels; empty if the image is broken."""
    try:
        image = decode_image(source.read(), max_image_pixels())
    except MediaError:
        return ""
    image.thumbnail((_SIDE, _SIDE))
    return _data_url(image, "jpeg")


def _data_url(image: PILImage, form: str) -> str:
    data = io.BytesIO()
    image.save(data, form)
    return f"data:image/{form};base64,{base64.b64encode(data.getvalue()).decode()}"
