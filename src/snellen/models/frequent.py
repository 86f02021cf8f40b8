"""`frequent`: always gives the answer that is right most often in the subtask of a question.

MMT-Bench's baseline Frequent Choice (section 4.2): it sees the answers of the data and no question,
so its score is what knowing the distribution of answers is worth.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from statistics import median

from msgspec.structs import replace

from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import CandidateScore, Failure, Generated, Output, Ranked
from snellen.core.place import Box, Places, Point, Span, load_places
from snellen.core.request import Generate, Rank, Request, Sampling
from snellen.core.sample import Sample
from snellen.models.naming.provider import ModelListing, ModelOption, Provider, read_options

_BY = "category"
OPTIONS = (
    ModelOption(
        "by",
        f"the column of the data whose groups have an answer each (default: {_BY}, where the data "
        "have it), or `all` for one answer",
    ),
)
_ALL = "all"


class Frequent(ModelDefaults):
    """Answers by the most frequent gold answer of the question's group, the first of those that are
    equally frequent; where places are asked for, by their median, with the most frequent label; where pages
    or records are, by their most frequent words or values.
    Of candidates to be ranked it prefers the one in the most frequent place."""

    concurrency = 64
    by_row = True

    def __init__(self, by: str = "", replies: Mapping[str, str] | None = None, data: str = "") -> None:
        """`replies` by sample, for the data with the digest `data`; `for_samples` makes them."""
        self._by, self._replies = by, replies
        facts = {"by": by or _BY} | ({"data": data} if data else {})
        self.identity = Identity("frequent", "frequent", facts)
        self.capabilities = Capabilities(inputs=frozenset({"text", "image", "video", "audio"}), log_likelihood=True)

    def cannot_sample(self, sampling: Sampling) -> str | None:
        if sampling.temperature is None and sampling.top_p is None:
            return None
        return "it gives the same reply each time, without a temperature or top_p; leave them out"

    def for_samples(self, samples: Iterable[Sample], data: str) -> Frequent:
        """The model for the samples of these data.

        Raises DataError if they have no gold answers, UsageError if they lack the column `by`.
        """
        groups: dict[tuple[str, str], list[Sample]] = defaultdict(list)
        has_column = self._by in {"", _ALL}
        for sample in samples:
            label = "" if self._by == _ALL else sample.groups.get(self._by or _BY, "")
            has_column = has_column or (self._by in sample.groups)
            # Kinds answer differently: a letter is no reply to an open question.
            groups[label, sample.kind].append(sample)
        if not has_column:
            columns = sorted({name for one in groups.values() for name in one[0].groups})
            raise UsageError(
                f"option by={self._by} of frequent: the data have no groups of that name; expected "
                f"one of {', '.join([*columns, _ALL])}"
            )
        replies: dict[str, str] = {}
        for (_, kind), members in groups.items():
            if kind == "place":
                replies |= _median_places(members)
                continue
            if kind in ("page", "fields"):
                replies |= _frequent_document(kind, members)
                continue
            counts = Counter(one.gold[0] for one in members if one.gold)
            if counts:
                reply = counts.most_common(1)[0][0]
                replies |= dict.fromkeys((one.id for one in members), reply)
        if not replies:
            raise DataError("frequent needs the answers, and these data have none; use a split with answers")
        return Frequent(self._by, replies, data)

    async def answer(self, request: Request) -> Output:
        if self._replies is None:
            return Failure("unsupported", "frequent answers the questions of a benchmark only")
        reply = self._replies.get(request.ref.sample)
        if reply is None:
            return Failure("missing", f"no answer is known in the group of {request.ref.sample}")
        if isinstance(request, Rank):
            place = ord(reply) - ord("A") if len(reply) == 1 else -1
            scores = (float(index == place) for index in range(len(request.candidates)))
            return Ranked(tuple(CandidateScore(score, 1) for score in scores))
        if not isinstance(request, Generate):
            return Failure("unsupported", "frequent answers with text alone")
        return Generated(reply)


def _frequent_document(kind: str, members: Sequence[Sample]) -> dict[str, str]:
    """The same page of frequent words, or record of frequent values, for every sample."""
    from snellen.models.frequent_documents import frequent_page, frequent_record

    golds = [one.gold[0] for one in members if one.gold]
    if not golds:
        return {}
    return dict.fromkeys((one.id for one in members), (frequent_page if kind == "page" else frequent_record)(golds))


def _median_places(members: Sequence[Sample]) -> dict[str, str]:
    """The same place in every picture or video, by sample, in the space in which it is asked for: the
    median of each edge of the first gold places, in fractions of the picture or the duration. Samples
    without a size have none."""
    gold = [load_places(one.gold[0]) for one in members if one.gold]
    fractions = [_fractions(places) for places in gold if len(places) and places.extent]
    if not fractions:
        return {}
    middle = [median(edge) for edge in zip(*fractions, strict=True)]
    labels = Counter(label for places in gold for label in places.labels)
    label = labels.most_common(1)[0][:1] if labels else ()
    is_region = any(places.polygons or places.masks for places in gold) and not members[0].asks_points
    answers = {one.id: replace(_place_of(middle, one.extent, is_region), labels=label) for one in members if one.extent}
    return {one.id: one.written_gold(answers[one.id].text(), exact=False) for one in members if one.extent}


def _fractions(places: Places) -> list[float]:
    """The edges of the first place, in fractions of what it is in."""
    if places.masks:
        edges: Sequence[float] = places.masks[0].bounds()
    elif places.polygons:
        columns, rows = zip(*places.polygons[0], strict=True)
        edges = (min(columns), min(rows), max(columns), max(rows))
    else:
        edges = (places.boxes or places.points or places.spans)[0]
    return [edge / side for edge, side in zip(edges, cycle(places.extent), strict=False)]


def _place_of(fractions: Sequence[float], extent: Sequence[float], is_region: bool) -> Places:
    """The place with these edges in a picture or a video of a size; a box as a polygon where regions are
    asked for."""
    edges = [fraction * side for fraction, side in zip(fractions, cycle(extent), strict=False)]
    size = tuple(extent)
    if len(size) == 1:
        return Places(spans=(Span(*edges),), extent=size)
    if len(edges) == 2:
        return Places(points=(Point(*edges),), extent=size)
    box = Box(*edges)
    return Places(polygons=(box.corners,), extent=size) if is_region else Places(boxes=(box,), extent=size)


def open_frequent(name: str, options: Mapping[str, str]) -> Frequent:
    """Open `frequent`. Raises UnknownName for a model behind it, UsageError for other options."""
    if name:
        raise UnknownName("model", f"frequent/{name}", ["frequent"])
    return Frequent(read_options("frequent", options, OPTIONS).get("by", ""))


PROVIDER = Provider(
    name="frequent",
    open=open_frequent,
    options=OPTIONS,
    models=(ModelListing("frequent", "Gives the most frequent answer of each subtask; option by (default category)."),),
)
