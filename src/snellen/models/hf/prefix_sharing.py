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

from snellen.models.hf.kv_cache import NOTHING, Kept, Latest, PrefixStore, stacked, taken
from snellen.models.hf.tokenise import Row, Unsharable, common

if TYPE_CHECKING:
    from torch import Tensor


WORTH = 16
"""Tokens two prompts must share beyond their heads before it pays to compute them apart."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Rows of a batch that share their first `length` tokens and pictures."""

    places: tuple[int, ...]
    length: int


def clusters(rows: Sequence[Row]) -> Iterator[Cluster]:
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
            shared = min(length or limit_of(row), limit_of(row))
            if together:
                shared = min(shared, common(rows[together[0]].ids, row.ids))
            if together and shared < row.head + WORTH:
                yield from _worthwhile(together, length)
                together, shared = [], limit_of(row)
            together.append(place)
            length = shared
        yield from _worthwhile(together, length)


def _worthwhile(together: Sequence[int], length: int) -> Iterator[Cluster]:
    if len(together) > 1:
        yield Cluster(tuple(together), length)


def shared_length(one: Row, other: Row) -> int:
    """Tokens that can be computed once for two rows."""
    return min(common(one.ids, other.ids), limit_of(one), limit_of(other))


def limit_of(row: Row) -> int:
    """Tokens that may be computed before: the rest must hold one whose logits are asked for."""
    return len(row.ids) - row.scored - 1


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
    positions: Tensor
    """(rows,): of the next token of each, on the model's device, so that no step waits for it."""


class Sharing:
    """Reads prompts with one model. At most `at_once` pictures go through it together."""

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
        self.keeps_prompts = model.num_parameters() > _SMALL
        """Whether what was read of a prompt beyond its head is kept for the next."""
        self.read = 0
        """Tokens of prompts that were computed so far; those of pictures count twice, since the
        vision tower has computed them as well."""

    def begin(self, rows: Sequence[Row], keep: int = 1) -> Begun:
        """Reads the prompts to their end; `keep` last logits of each are given back."""
        known = self._beginnings(rows)
        begun = self._read(rows, known, [len(row.ids) for row in rows], keep)
        if self.keeps_prompts and not any(row.scored for row in rows):
            # The next rotation of a question begins with the same words.
            read = taken(begun.cache, begun.mask, begun.positions.tolist())
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
        given = _flat(begun.positions[None, :, None].expand(self._axes, -1, -1))
        begun.positions = begun.positions + 1
        out = self._forward(tokens[:, None], begun.mask, given, begun.cache, 1)
        logits: Tensor = out.logits[:, -1]
        return logits

    def _beginnings(self, rows: Sequence[Row]) -> list[Kept]:
        """What is already computed of each prompt, after computing what several share."""
        heads: dict[Hashable, Kept] = {}
        longest: dict[int, Kept] = {}
        for batch in self._unread(rows, heads):
            firsts = [rows[cluster.places[0]] for cluster in batch]
            read = self._taken(firsts, [NOTHING] * len(batch), batch)
            for cluster, row, kept in zip(batch, firsts, read, strict=True):
                head = kept.begun(row.head)
                heads[row.head_key()] = head
                self._heads.put(row.head_key(), head)
                longest |= dict.fromkeys(cluster.places, kept)
        self._share(rows, heads, longest)
        return [
            longest.get(place) or self._known(row, limit_of(row), heads)
            for place, row in enumerate(rows)
        ]

    def _unread(
        self, rows: Sequence[Row], heads: dict[Hashable, Kept]
    ) -> Iterator[Sequence[Cluster]]:
        """Rows whose heads are not known, those of one head together with all that they share, in
        batches that fit together; the others' heads are noted."""
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            if row.head:
                alike[row.head_key()].append(place)
        shapes: dict[Hashable, list[Cluster]] = defaultdict(list)
        for key, places in alike.items():
            known = self._heads.get(key)
            if known is not None:
                heads[key] = known
                continue
            first = rows[places[0]]
            length = min(
                (shared_length(first, rows[place]) for place in places[1:]), default=first.head
            )
            shape = tuple((name, tuple(part.shape[1:])) for name, part in first.media.items())
            shapes[shape].append(Cluster(tuple(places), length))
        for group in shapes.values():
            for start in range(0, len(group), self._at_once):
                yield group[start : start + self._at_once]

    def _share(
        self, rows: Sequence[Row], heads: Mapping[Hashable, Kept], longest: dict[int, Kept]
    ) -> None:
        """Computes what several rows share well beyond their heads, where it is not known."""
        found = list(clusters(rows))
        for start in range(0, len(found), self._at_once):
            batch = found[start : start + self._at_once]
            firsts = [rows[cluster.places[0]] for cluster in batch]
            known = [
                longest.get(cluster.places[0]) or self._known(row, cluster.length, heads)
                for row, cluster in zip(firsts, batch, strict=True)
            ]
            if any(kept.length < one.length for kept, one in zip(known, batch, strict=True)):
                known = self._taken(firsts, known, batch)
            for cluster, kept in zip(batch, known, strict=True):
                longest |= dict.fromkeys(cluster.places, kept)

    def _taken(
        self, firsts: Sequence[Row], known: Sequence[Kept], clusters: Sequence[Cluster]
    ) -> list[Kept]:
        """What clusters share, read on from what is known of the first row of each."""
        begun = self._read(firsts, known, [cluster.length for cluster in clusters], 1)
        return taken(begun.cache, begun.mask, begun.positions.tolist())

    def _known(self, row: Row, limit: int, heads: Mapping[Hashable, Kept]) -> Kept:
        """The longest beginning of a row, up to `limit`, that is computed already."""
        head = heads.get(row.head_key(), NOTHING)
        latest = self._latest.get(row.head_key())
        if latest is None:
            return head
        length = min(common(latest.ids, row.ids), limit)
        return latest.kept.cut(length, head) if length >= head.length + WORTH else head

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
        cache, before = stacked(known, width)
        whole = mask if before is None else torch.cat([before, mask], 1)
        whole = whole.to(device)
        fresh = [row for row, kept in zip(rows, known, strict=True) if kept.length < row.head]
        self.read += sum(end - start for start, end in spans) + sum(row.head for row in fresh)
        given = {name: mark.to(device) for name, mark in marks.items()} | self._media(fresh)
        out = self._forward(
            ids.to(device), whole, _flat(positions.to(device)), cache, keep, **given
        )
        after = [int(place.max()) + 1 if place.numel() else kept.next_position
                 for place, kept in zip(places, known, strict=True)]  # fmt: skip
        if getattr(out, "past_key_values", None) is None:
            raise Unsharable("it does not give back the keys and values of a prompt")
        positions = torch.tensor(after, device=device)
        return Begun(out.logits[:, -keep:], out.past_key_values, whole, positions)

    def _places(self, row: Row, kept: Kept, end: int) -> Tensor:
        """Positions of a row's tokens from what is known up to `end`: (axes, tokens)."""
        import torch

        if self._rope is None or kept.length >= row.head:
            places = torch.arange(kept.next_position, kept.next_position + end - kept.length)
            return places[None].expand(self._axes, -1)
        # In main memory, as the pictures' sizes are: these are many small steps. Of the whole row,
        # since some architectures count a picture together with the sign that ends it.
        ids = torch.tensor([row.ids])
        marks = {name: mark[None] for name, mark in row.marks.items()}
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **marks, **row.media}
        wanted = inspect.signature(self._rope).parameters
        found, _ = self._rope(**{name: part for name, part in given.items() if name in wanted})
        rest: Tensor = found[:, 0, kept.length : end]
        return rest

    def _media(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        import torch

        if not rows:
            return {}
        found = {}
        device = self._model.device
        for name in rows[0].media:
            # One by one, since each may lie in memory that the device reads by itself.
            parts = [row.media[name].to(device, non_blocking=True) for row in rows]
            whole = torch.cat(parts)
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


def _flat(positions: Tensor) -> Tensor:
    """(1, rows, tokens) as (rows, tokens); (3, rows, tokens) stays."""
    return positions[0] if positions.shape[0] == 1 else positions
