"""`duplicates.html`: pairs side by side with small pictures, what is in other sets, one file that
loads nothing."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.atomic_write import save
from snellen.core.errors import MediaError
from snellen.core.media import FileSource, Source, decode_image
from snellen.report import format as fmt
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.table import cell_texts
from snellen.settings import max_image_pixels
from snellen_curate.duplicates.descriptions import (
    KEEP,
    describe_entries,
    describe_overlap,
    describe_picture_match,
    describe_rules,
    share_table,
)
from snellen_curate.duplicates.find import DuplicateSearchResult
from snellen_curate.duplicates.hash_index import HashIndex
from snellen_curate.duplicates.index_format import HAS_COPY, Array
from snellen_curate.duplicates.item_facts import ItemFacts, ReadItems
from snellen_curate.duplicates.report import DuplicateReport, ItemPair, OverlapMatch, OverlapReport, PicturePair

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

PAGE_FILE = "duplicates.html"
_HOME = "snellen_curate.duplicates"
_MAX_CARDS = 60
"""Pairs of each section on the page; all are in the JSON file."""
_MAX_ROWS = 20
_SIDE = 200
"""Longer side of a picture on the page, in pixels."""


class Side(NamedTuple):
    """One half of a pair."""

    id: str
    question: str = ""
    key: str = ""
    picture: str = ""
    """A data URL; empty for none."""
    alt: str = ""
    mark: str = ""
    is_small: bool = False
    """Whether the picture is the small copy of an index, of 16 x 16 pixels."""


class Card(NamedTuple):
    """A pair."""

    left: Side
    right: Side
    facts: tuple[str, ...]
    title: str = ""
    tone: str = ""


class Cards(NamedTuple):
    """The pairs of a section that are on the page, and how many are not."""

    cards: tuple[Card, ...]
    left_out: int


def write_page(found: DuplicateSearchResult, path: Path) -> Path:
    """Write the page and return its path. Raises StorageError."""
    save(path, page_text(found))
    return path


def page_text(found: DuplicateSearchResult) -> str:
    """The page as HTML."""
    report, read = found.report, found.read
    writer = _CardWriter(found)
    pairs = (*report.contradictions, *report.duplicates, *report.possible)
    paired = {(pair.left, pair.right) for pair in pairs}
    alike = [pair for pair in report.picture_pairs if not _is_above(pair, paired)]
    against = [writer.against(one) for one in report.against]
    sections = {
        "contradictions": writer.item_cards(report.contradictions),
        "duplicates": writer.item_cards(report.duplicates),
        "possible": writer.item_cards(report.possible),
        "pictures": writer.picture_cards(alike),
    }
    names = ("contradictions", "duplicates", "possible")
    links = [(name, name) for name in names if sections[name].cards]
    links += [(f"against-{n}", Path(one.name).name) for n, one in enumerate(report.against, 1)]
    links += [("how", "How to read it")]
    template = template_environment(_HOME).get_template("duplicates.html")
    return template.render(
        **page_layout(("page.css", "duplicates.css"), ("theme.js",), _HOME),
        **sections,
        report=report,
        links=links,
        counts=_counts(report, len(alike)),
        keep=KEEP[report.settings.keep],
        against=against,
        broken=[(_names(one.items), one.reason) for one in report.broken[:_MAX_ROWS]],
        rule=describe_rules(report.settings),
        count=len(read.items),
    )


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


def _is_above(pair: PicturePair, paired: set[tuple[str, str]]) -> bool:
    """Whether all items of two pictures are pairs of another section."""
    return all(
        (left, right) in paired or (right, left) in paired for left in pair.left_items for right in pair.right_items
    )


class _CardWriter:
    """Makes cards of pairs."""

    def __init__(self, found: DuplicateSearchResult) -> None:
        self._found = found
        self._items = {item.id: item for item in found.read.items}
        self._urls: dict[str, str] = {}
        clusters = found.report.clusters
        self._marks = {
            name: "kept" if name == cluster.kept else "on the exclusion list"
            for cluster in clusters
            for name in cluster.items
        }

    def item_cards(self, pairs: Sequence[ItemPair]) -> Cards:
        cards = []
        for pair in pairs[:_MAX_CARDS]:
            facts = [pair.rule, f"text similarity {pair.similarity:.2f}"]
            facts += describe_picture_match(pair.picture) if pair.picture else ()
            title = pair.kind if "contradiction" in pair.kind else ""
            tone = "possible" if title.startswith("possible") else title
            left, right = (
                self._side(self._items[name], self._found.read, self._marks.get(name, ""))
                for name in (pair.left, pair.right)
            )
            cards.append(Card(left, right, tuple(facts), title, tone))
        return Cards(tuple(cards), len(pairs) - len(cards))

    def picture_cards(self, pairs: Sequence[PicturePair]) -> Cards:
        cards = []
        for pair in pairs[:_MAX_CARDS]:
            sides = []
            for digest, names in ((pair.left, pair.left_items), (pair.right, pair.right_items)):
                item = self._items.get(names[0]) if names else None
                url = self._url(self._found.read, digest)
                question = item.raw_question if item else ""
                sides.append(Side(_names(names), question, "", url, "picture"))
            cards.append(Card(sides[0], sides[1], describe_picture_match(pair.match)))
        return Cards(tuple(cards), len(pairs) - len(cards))

    def against(self, report: OverlapReport) -> dict[str, object]:
        """The values of the section about one other data set."""
        other = self._found.others[report.name]
        theirs = {item.id: item for item in other.items} if isinstance(other, ReadItems) else {}
        cards = []
        for match in report.matches[:_MAX_CARDS]:
            left = self._side(self._items[match.item], self._found.read, "", match.own_picture or None)
            if isinstance(other, HashIndex):
                right = _list_side(match, other)
            else:
                right = self._side(theirs[match.other], other, "", match.other_picture or None)
            cards.append(Card(left, right, describe_overlap(match)))
        return {
            "name": report.name,
            "what": describe_entries(report),
            "rows": cell_texts(share_table(report)),
            "notes": report.notes,
            "list": Cards(tuple(cards), len(report.matches) - len(cards) + report.left_out),
        }

    def _side(self, item: ItemFacts, read: ReadItems, mark: str, digest: str | None = None) -> Side:
        digest = digest or next(iter(item.media), "")
        url = self._url(read, digest) if digest else ""
        alt = "picture" if url else "broken picture" if digest else "no picture"
        return Side(item.id, item.raw_question, item.raw_key, url, alt, mark)

    def _url(self, read: ReadItems, digest: str) -> str:
        """A picture as a data URL, decoded once; empty if there is none or it is broken."""
        if digest not in self._urls:
            ref = read.images.get(digest)
            self._urls[digest] = _small_jpeg(ref.source) if ref else ""
        return self._urls[digest]


def _list_side(match: OverlapMatch, index: HashIndex) -> Side:
    """An entry of a list: its name, its caption, and its picture if it lies in a folder, else the
    small copy that the index holds."""
    if match.picture is None or match.row is None:
        return Side(match.other, match.caption, "", "", "compared by its caption")
    if index.info.kind == "folder":
        file = Path(index.info.source).expanduser() / match.other
        if file.is_file() and (url := _small_jpeg(FileSource(str(file)))):
            return Side(match.other, match.caption, "", url, "picture")
    url = ""
    if int(index.row(match.row, "flags")) & HAS_COPY:
        url = _copy_png(index.row(match.row, "copies"))
    alt = "small copy" if url else "the list holds hashes alone"
    return Side(match.other, match.caption, "", url, alt, "", True)


def _names(names: Sequence[str]) -> str:
    listed = ", ".join(names[:8])
    return f"{listed} and {len(names) - 8} more" if len(names) > 8 else listed


def _small_jpeg(source: Source) -> str:
    """A JPEG of at most `_SIDE` pixels; empty if the picture is broken."""
    try:
        image = decode_image(source.read(), max_image_pixels())
    except MediaError:
        return ""
    image.thumbnail((_SIDE, _SIDE))
    return _data_url(image, "jpeg")


def _copy_png(copy: Array) -> str:
    from PIL import Image

    return _data_url(Image.fromarray(copy), "png")


def _data_url(image: PILImage, form: str) -> str:
    data = io.BytesIO()
    image.save(data, form)
    return f"data:image/{form};base64,{base64.b64encode(data.getvalue()).decode()}"
