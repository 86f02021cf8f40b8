"""What a search for duplicates finds: one document, as JSON and as Python values."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from snellen.core.summary import Interval
from snellen_curate.duplicates.compare_items import RelationKind, TextRule, TextThresholds
from snellen_curate.duplicates.image_rule import ImageRule

ImageHow = Literal["bytes", "pixels", "near", "overlap", "turned"]
"""`bytes`: the same file; `pixels`: the same pixels in another file; `near`: by perceptual hash;
`overlap`: by local features, one cropped or framed; `turned`: mirrored or turned by quarters."""


class ImageMatch(Struct, frozen=True, omit_defaults=True):
    """How two images match, nearest way first."""

    how: ImageHow
    phash: int | None = None
    """Bits in which the pHashes differ, of 64."""
    dhash: int | None = None
    likeness: float | None = None
    """Correlation of the small copies."""
    points: int | None = None
    """Corners that lie alike in both, of at most 300."""
    share: float | None = None
    """Of the larger image that both show."""

    @property
    def distance(self) -> tuple[int, int]:
        """How far apart the images are, for ordering."""
        return get_args(ImageHow).index(self.how), self.phash or 0


class ImagePair(Struct, frozen=True, omit_defaults=True):
    """Two images of the data set that are near duplicates of each other."""

    left: str
    right: str
    match: ImageMatch
    left_items: tuple[str, ...] = ()
    right_items: tuple[str, ...] = ()


class ItemPair(Struct, frozen=True, omit_defaults=True, rename={"image": "picture"}):
    """Two items about the same image that ask the same."""

    left: str
    right: str
    kind: RelationKind
    rule: TextRule
    similarity: float
    image: ImageMatch | None = None
    """How their images match; None if neither has an image."""
    left_key: str = ""
    right_key: str = ""


class DuplicateCluster(Struct, frozen=True):
    """Items that duplicate one another, directly or through others."""

    items: tuple[str, ...]
    kept: str
    """The one that stays, by the rule of the settings; the others are on the exclusion list."""


class BrokenMedium(Struct, frozen=True, rename={"image": "picture"}):
    """An image that cannot be read, or an item that cannot be asked."""

    items: tuple[str, ...]
    reason: str
    image: str = ""


class Share(Struct, frozen=True):
    """A share of items, with its interval. Items about one image are a cluster."""

    name: str
    """What they share: `image, exact`, `image, near`, `question`, `item`, `any`."""
    count: int
    n: int
    interval: Interval | None

    @property
    def share(self) -> float:
        return self.count / self.n if self.n else 0.0


class OverlapMatch(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"image": "picture", "own_image": "own_picture", "other_image": "other_picture"},
):
    """An item of the data set and something of the other set that match."""

    item: str
    other: str
    """The other item's id, or the name of the entry in the list."""
    image: ImageMatch | None = None
    relation: RelationKind | None = None
    """How the questions are related, if the other set has questions."""
    rule: TextRule | None = None
    similarity: float | None = None
    """Jaccard similarity of the question and the other's question or caption, if compared."""
    own_image: str = ""
    other_image: str = ""
    """Digests of the two images; of an entry of a list, its name."""
    caption: str = ""
    row: int | None = None
    """Place of the entry in the list, from 0."""


class OverlapReport(Struct, frozen=True, omit_defaults=True, rename={"images": "pictures"}):
    """What the data set shares with another benchmark or with training data."""

    name: str
    kind: Literal["benchmark", "list"]
    entries: int
    images: int
    captions: int
    broken: int
    matches: tuple[OverlapMatch, ...]
    shares: tuple[Share, ...]
    left_out: int = 0
    """Matches beyond `MAX_MATCHES` of one item, counted only."""
    notes: tuple[str, ...] = ()


class DuplicateSettings(Struct, frozen=True, rename={"images": "pictures"}):
    """What decides the result."""

    images: ImageRule = ImageRule()
    texts: TextThresholds = TextThresholds()
    keep: Literal["first", "last", "largest"] = "first"
    """Which item of a cluster stays: the first or last of the file, or that with most pixels."""
    against: tuple[str, ...] = ()


class DuplicateReport(
    Struct, frozen=True, omit_defaults=True, rename={"images": "pictures", "image_pairs": "picture_pairs"}
):
    """Duplicates of a data set, within it and against others."""

    data: str
    path: str
    digest: str
    items: int
    images: int
    """Different images, by their bytes."""
    settings: DuplicateSettings
    contradictions: tuple[ItemPair, ...]
    duplicates: tuple[ItemPair, ...]
    possible: tuple[ItemPair, ...]
    """Pairs that may ask the same: for a person to decide, never on the exclusion list."""
    clusters: tuple[DuplicateCluster, ...]
    image_pairs: tuple[ImagePair, ...]
    broken: tuple[BrokenMedium, ...]
    flat: int = 0
    against: tuple[OverlapReport, ...] = ()

    @property
    def exclusions(self) -> tuple[str, ...]:
        """Ids to leave out so that one of each cluster is left."""
        return tuple(name for cluster in self.clusters for name in cluster.items if name != cluster.kept)
