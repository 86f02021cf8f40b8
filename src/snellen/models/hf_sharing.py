"""Prompts that begin alike are computed once: their pictures, their words, their cache.

A prompt's head (up to its last picture) is kept while others with the same pictures may come: the
rotations of a question, the two questions about an MME image. What prompts in one batch share
beyond that is computed once as well: the context of the candidates of a ranking, a question before
its rotated options. Positions are given for every call, since some architectures keep those of the
last prompt to themselves.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snellen.models.hf_cache import NOTHING, Kept, Latest, PrefixStore, stacked, taken
from snellen.models.hf_rows import Row, Unsharable, common

if TYPE_CHECKING:
    from torch import Tensor

_WORTH = 16
"""Tokens two prompts must share beyond their heads before it pays to compute them apart."""

_SMALL = 30_000_000
"""Parameters up to which computing a few words again is cheaper than keeping them."""


@dataclass(slots=True)
class Begun:
    """A batch of prompts that the model has read."""

    logits: Tensor
    """(rows, kept, words): about the token behind each of the last `kept` ones."""
    cache: Any
    mask: Tensor
    """(rows, tokens in the cache): 0 where a row is filled up."""
    positions: list[int]
    """Of the next token of each row."""


class Sharing:
    """Reads prompts with one model. `at_once` prompts, at most, go through it together."""

    def __init__(self, model: Any, budget: int, at_once: int) -> None:
        self._model = model
        self._heads: PrefixStore[Kept] = PrefixStore(2 * budget // 3)
        self._latest: PrefixStore[Latest] = PrefixStore(budget // 3)
        self._at_once = at_once
        self._takes = frozenset(inspect.signature(model.forward).parameters)
        self._rope: Callable[..., Any] | None = next(
            (found for part in model.modules() if (found := getattr(part, "get_rope_index", None))),
            None,
        )
        self._axes = 1 if self._rope is None else _axes(model)
        self._large = model.num_parameters() > _SMALL

    def begin(self, rows: Sequence[Row], keep: int = 1) -> Begun:
        """Reads the prompts to their end; `keep` last logits of each are given back."""
        known = self._beginnings(rows)
        begun = self._read(rows, known, [len(row.ids) for row in rows], keep)
        if self._large and not any(row.scored for row in rows):
            # The next rotation of a question begins with the same words.
            read = taken(begun.cache, begun.mask, begun.positions)
            for row, kept in zip(rows, read, strict=True):
                self._latest.put(row.head_key(), Latest(row.ids, kept))
        return begun

    def plainly(self, row: Row) -> Tensor:
        """The last logits (words) of one prompt read by itself, as transformers would."""
        import torch

        ids = torch.tensor([row.ids], device=self._model.device)
        given = {name: mark[None].to(self._model.device) for name, mark in row.marks.items()}
        with torch.inference_mode():
            out = self._model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                use_cache=False,
                **self._last(1),
                **given,
                **self._media([row]),
            )
        logits: Tensor = out.logits[0, -1]
        return logits

    def forget(self) -> None:
        """Give back the memory of everything kept."""
        self._heads.clear()
        self._latest.clear()

    def step(self, begun: Begun, tokens: Tensor) -> Tensor:
        """Reads one more token of each row, (rows,), and gives the logits (rows, words) behind."""
        import torch

        ones = begun.mask.new_ones((len(tokens), 1))
        begun.mask = torch.cat([begun.mask, ones], 1)
        places = torch.tensor(begun.positions, device=tokens.device)[None, :, None]
        begun.positions = [position + 1 for position in begun.positions]
        given = _flat(places.expand(self._axes, -1, -1))
        out = self._forward(tokens[:, None], begun.mask, given, begun.cache, 1)
        logits: Tensor = out.logits[:, -1]
        return logits

    def _beginnings(self, rows: Sequence[Row]) -> list[Kept]:
        """What is already computed of each prompt, after computing what several share."""
        heads: dict[Hashable, Kept] = {}
        for missing in self._missing_heads(rows, heads):
            ends = [row.head for row in missing]
            begun = self._read(missing, [NOTHING] * len(missing), ends, 1)
            found = taken(begun.cache, begun.mask, begun.positions)
            for row, kept in zip(missing, found, strict=True):
                heads[row.head_key()] = kept
                self._heads.put(row.head_key(), kept)
        longest = self._shared(rows, list(_clusters(rows)), heads)
        return [
            longest.get(place) or self._known(row, _limit(row), heads)
            for place, row in enumerate(rows)
        ]

    def _missing_heads(
        self, rows: Sequence[Row], heads: dict[Hashable, Kept]
    ) -> Iterator[Sequence[Row]]:
        """Rows whose heads are not known, one of each, in batches that fit together; the others'
        heads are noted."""
        alike: dict[Hashable, list[Row]] = defaultdict(list)
        wanted: set[Hashable] = set()
        for row in rows:
            key = row.head_key()
            if row.head == 0 or key in heads or key in wanted:
                continue
            known = self._heads.get(key)
            if known is not None:
                heads[key] = known
                continue
            wanted.add(key)
            shapes = tuple((name, tuple(part.shape[1:])) for name, part in row.media.items())
            alike[shapes].append(row)
        for group in alike.values():
            for start in range(0, len(group), self._at_once):
                yield group[start : start + self._at_once]

    def _shared(
        self, rows: Sequence[Row], clusters: Sequence[_Cluster], heads: Mapping[Hashable, Kept]
    ) -> dict[int, Kept]:
        """By place, what is computed once for several rows beyond their heads."""
        longest: dict[int, Kept] = {}
        for start in range(0, len(clusters), self._at_once):
            batch = clusters[start : start + self._at_once]
            firsts = [rows[cluster.places[0]] for cluster in batch]
            lengths = [cluster.length for cluster in batch]
            known = [
                self._known(row, length, heads) for row, length in zip(firsts, lengths, strict=True)
            ]
            if any(kept.length < length for kept, length in zip(known, lengths, strict=True)):
                begun = self._read(firsts, known, lengths, 1)
                known = taken(begun.cache, begun.mask, begun.positions)
            for cluster, kept in zip(batch, known, strict=True):
                longest |= dict.fromkeys(cluster.places, kept)
        return longest

    def _known(self, row: Row, limit: int, heads: Mapping[Hashable, Kept]) -> Kept:
        """The longest beginning of a row, up to `limit`, that is computed already."""
        head = heads.get(row.head_key(), NOTHING)
        latest = self._latest.get(row.head_key())
        if latest is None:
            return head
        length = min(common(latest.ids, row.ids), limit)
        return latest.kept.cut(length, head) if length >= head.length + _WORTH else head

    def _read(
        self, rows: Sequence[Row], known: Sequence[Kept], ends: Sequence[int], keep: int
    ) -> Begun:
        """Reads each prompt from what is known of it up to its end, as one batch. Pictures are
        handed over where nothing is known."""
        import torch

        device = self._model.device
        spans = [(kept.length, end) for kept, end in zip(known, ends, strict=True)]
        width = max(end - start for start, end in spans)
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        places = [self._places(row, kept, end) for row, kept, end in zip(rows, known, ends)]  # noqa: B905
        positions = torch.zeros((self._axes, len(rows), width), dtype=torch.long)
        marks = {name: torch.zeros((len(rows), width), dtype=mark.dtype)
                 for name, mark in rows[0].marks.items()}  # fmt: skip
        for number, (row, (start, end)) in enumerate(zip(rows, spans, strict=True)):
            at = width - (end - start)
            ids[number, at:] = torch.tensor(row.ids[start:end])
            mask[number, at:] = 1
            positions[:, number, at:] = places[number]
            for name, mark in row.marks.items():
                marks[name][number, at:] = mark[start:end]
        cache, before = stacked(known)
        whole = mask.to(device)
        if before is not None:
            whole = torch.cat([before, whole], 1)
        fresh = [row for row, kept in zip(rows, known, strict=True) if kept.length < row.head]
        given = {name: mark.to(device) for name, mark in marks.items()} | self._media(fresh)
        out = self._forward(
            ids.to(device), whole, _flat(positions.to(device)), cache, keep, **given
        )
        after = [int(place.max()) + 1 if place.numel() else kept.next_position
                 for place, kept in zip(places, known, strict=True)]  # fmt: skip
        if getattr(out, "past_key_values", None) is None:
            raise Unsharable("it does not give back the keys and values of a prompt")
        return Begun(out.logits[:, -keep:], out.past_key_values, whole, after)

    def _places(self, row: Row, kept: Kept, end: int) -> Tensor:
        """Positions of a row's tokens from what is known up to `end`: (axes, tokens)."""
        import torch

        if self._rope is None or kept.length >= row.head:
            places = torch.arange(kept.next_position, kept.next_position + end - kept.length)
            return places[None].expand(self._axes, -1)
        ids = torch.tensor([row.ids[:end]], device=self._model.device)
        marks = {name: mark[None, :end].to(ids.device) for name, mark in row.marks.items()}
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **marks, **row.media}
        wanted = inspect.signature(self._rope).parameters
        found, _ = self._rope(**{name: part for name, part in given.items() if name in wanted})
        places = found[:, 0, kept.length :]
        return places.cpu()

    def _media(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        import torch

        if not rows:
            return {}
        found = {}
        for name in rows[0].media:
            whole = torch.cat([row.media[name] for row in rows]).to(self._model.device)
            found[name] = whole.to(self._model.dtype) if whole.is_floating_point() else whole
        return found

    def _forward(
        self, ids: Tensor, mask: Tensor, places: Tensor, cache: Any, keep: int, **given: Tensor
    ) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=places,
                past_key_values=cache,
                use_cache=True,
                **self._last(keep),
                **given,
            )

    def _last(self, keep: int) -> dict[str, int]:
        return {"logits_to_keep": keep} if "logits_to_keep" in self._takes else {}


def _axes(model: Any) -> int:
    """Axes along which positions are counted: time, height, width, and for some the text's own."""
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    sections = rope.get("xdrope_section") or rope.get("mrope_section") or ()
    return len(sections) or 3


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Rows of a batch that share their first `length` tokens and pictures."""

    places: tuple[int, ...]
    length: int


def _clusters(rows: Sequence[Row]) -> Iterator[_Cluster]:
    """Rows that share enough beyond their heads, next to each other in the order of their ids."""
    by_head: dict[Hashable, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_head[row.head_key()].append(place)
    for places in by_head.values():
        places.sort(key=lambda place: rows[place].ids)
        together: list[int] = []
        length = 0
        for place in places:
            row = rows[place]
            shared = min(length or _limit(row), _limit(row))
            if together:
                shared = min(shared, common(rows[together[0]].ids, row.ids))
            if together and shared < row.head + _WORTH:
                yield from _worthwhile(together, length)
                together, shared = [], _limit(row)
            together.append(place)
            length = shared
        yield from _worthwhile(together, length)


def _worthwhile(together: Sequence[int], length: int) -> Iterator[_Cluster]:
    if len(together) > 1:
        yield _Cluster(tuple(together), length)


def _limit(row: Row) -> int:
    """Tokens that may be computed before: the rest must hold one whose logits are asked for."""
    return len(row.ids) - row.scored - 1


def _flat(positions: Tensor) -> Tensor:
    """(1, rows, tokens) as (rows, tokens); (3, rows, tokens) stays."""
    return positions[0] if positions.shape[0] == 1 else positions
