"""Requests as rows of token ids: pictures decoded and resized, words turned into tokens."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from snellen.core.request import Generate, Rank
from snellen.models.hf.generate import is_forced
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.prompt import (
    adds_special_tokens,
    check_length,
    encode,
    render,
    with_reply,
)
from snellen.models.image_cache import LIMIT, PictureCache
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from torch import Tensor


_IMAGE_IDS = (
    "image_token_id",
    "image_token_index",
    "media_placeholder_token_id",
    "visual_indicator_token_ids",
)


class Unsharable(Unsupported):
    """Prompts of this architecture cannot be taken apart."""


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt, as the processor made it, without padding."""

    ids: tuple[int, ...]
    head: int
    """Tokens up to and with the last picture's last one; 0 without pictures."""
    media: Mapping[str, Tensor]
    """What the pictures are to the model: pixel values, grids, sizes."""
    marks: Mapping[str, Tensor]
    """Further inputs with a number per token, e.g. token types, each of shape (length,)."""
    pictures: tuple[str, ...] = ()
    """Names of the pictures."""
    scored: int = 0
    """Tokens at the end whose likelihood is asked for."""

    def head_key(self) -> Hashable:
        """Equal for rows that begin with the same words and pictures."""
        return (self.ids[: self.head], self.pictures)


def row_of(inputs: Mapping[str, Any], model: Any, pictures: Sequence[str], scored: int = 0) -> Row:
    """The row of a processor's output for one prompt.

    Raises Unsharable where the places of the pictures cannot be told.
    """
    ids = inputs["input_ids"]
    if ids.shape[0] != 1:
        raise Unsharable(f"the processor made {ids.shape[0]} rows of one prompt")
    marks, media = {}, {}
    for name, value in inputs.items():
        if name in ("input_ids", "attention_mask"):
            continue
        if getattr(value, "shape", None) == ids.shape:
            marks[name] = value[0]
        else:
            media[name] = value
    numbers = tuple(ids[0].tolist())
    head = _behind_pictures(numbers, model) if pictures else 0
    return Row(numbers, head, media, marks, tuple(pictures), scored)


def _behind_pictures(ids: Sequence[int], model: Any) -> int:
    signs: set[int] = set()
    for part in (model.config, getattr(model.config, "vision_config", None)):
        for name in _IMAGE_IDS:
            found = getattr(part, name, None)
            signs.update([found] if isinstance(found, int) else found or ())
    for place in range(len(ids) - 1, -1, -1):
        if ids[place] in signs:
            return place + 1
    raise Unsharable("the tokens of the pictures cannot be told from the others")


def joined(context: Row, bare: Sequence[int], whole: Sequence[int]) -> Row | None:
    """The row of a prompt that says more than `context` does; `bare` and `whole` are the words of
    the two, to the tokenizer alone. None where the words behind the pictures do not tell it."""
    import torch

    behind = len(context.ids) - context.head
    before = len(bare) - behind
    if before < 0 or tuple(bare[before:]) != context.ids[context.head :]:
        return None
    if bare[:before] != whole[:before]:
        return None
    more = len(whole) - len(bare)
    marks = {}
    for name, mark in context.marks.items():
        words = mark[context.head :]
        if not len(words) or bool((words != words[0]).any()):
            return None
        filled = words[:1].expand(max(0, len(words) + more))
        marks[name] = torch.cat([mark[: context.head], filled])
    ids = context.ids[: context.head] + tuple(whole[before:])
    return replace(context, ids=ids, marks=marks)


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts begin with in common."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


_REMEMBERED = 256_000_000
"""Bytes of processed pictures kept for the next prompts about them."""


class RowMaker:
    """Makes rows, in one thread: a fast tokenizer must not be used by two."""

    def __init__(self, loaded: Loaded, policy: str, joins: dict[int, bool], share: int = 1) -> None:
        """With a processor of its own. `joins` is told, for all makers of a model, whether a
        prompt may be continued without the processor, by its number of pictures. Each of `share`
        makers remembers as large a part of the pictures."""
        processor = copy.deepcopy(loaded.processor)
        if getattr(processor, "image_processor", None) is not None:
            processor.image_processor = RememberingProcessor(
                processor.image_processor, _REMEMBERED // share
            )
        tokenizer = getattr(processor, "tokenizer", processor)
        self._loaded = replace(loaded, processor=processor, tokenizer=tokenizer)
        self._pictures = PictureCache(LIMIT // share)
        self._policy = policy
        self._joins = joins

    def rows(self, request: Generate | Rank) -> list[Row]:
        """The row of a request; of a ranking, one for each candidate.

        Raises MediaError, Unsupported and whatever the processor raises.
        """
        if isinstance(request, Rank) and is_forced(self._loaded):
            raise Unsupported("its replies cannot be read along with the prompt")
        prompt = render(request, self._loaded, self._pictures, self._policy)
        names = [part.digest for message in request.messages for part in message.media()]
        names = names[: len(prompt.images)]

        def row(text: str) -> Row:
            inputs = encode(self._loaded, [text], [prompt.images], "left", to_device=False)
            return self._handy(row_of(inputs, self._loaded.model, names))

        context = row(prompt.text)
        if isinstance(request, Generate):
            rows = [context]
        else:
            replies = [
                with_reply(request, prompt, one, self._loaded, self._policy)
                for one in request.candidates
            ]
            rows = _scored(context, self._continued(context, prompt.text, replies, row))
        check_length(self._loaded, [len(row.ids) for row in rows])
        return rows

    def _continued(
        self, context: Row, text: str, replies: Sequence[str], row: Callable[[str], Row]
    ) -> list[Row]:
        """The rows of prompts with a reply behind them. The pictures are those of the context, so
        that words alone need be read, by the tokenizer; that this gives what the processor would
        is seen once, on the first of a kind."""
        kind = len(context.pictures)
        if self._joins.get(kind, True):
            special = adds_special_tokens(self._loaded, text)
            bare, *whole = self._loaded.tokenizer([text, *replies], add_special_tokens=special)[
                "input_ids"
            ]
            rows = [joined(context, bare, one) for one in whole]
            if kind not in self._joins:
                self._joins[kind] = all(map(_alike, rows, map(row, replies)))
            if self._joins[kind] and None not in rows:
                return [one for one in rows if one is not None]
        return [row(reply) for reply in replies]

    def _handy(self, row: Row) -> Row:
        """The row with its pictures in the model's dtype and, for a GPU, in memory that it reads
        by itself, so that the model's thread waits for neither."""
        import torch

        dtype, on_gpu = self._loaded.model.dtype, self._loaded.device.startswith("cuda")

        def handy(part: Tensor) -> Tensor:
            if not isinstance(part, torch.Tensor):
                return part
            part = part.to(dtype) if part.is_floating_point() else part
            return part.pin_memory() if on_gpu else part

        return replace(row, media={name: handy(part) for name, part in row.media.items()})


def _alike(one: Row | None, other: Row) -> bool:
    """Whether two rows are the same prompt to a model."""
    if one is None or (one.ids, one.head) != (other.ids, other.head):
        return False
    return all(
        mine.keys() == theirs.keys()
        and all(mine[name].equal(part) for name, part in theirs.items())
        for mine, theirs in ((one.marks, other.marks), (one.media, other.media))
    )


def _scored(context: Row, rows: Sequence[Row]) -> list[Row]:
    """What is scored begins behind the longest beginning that the bare context shares with all
    rows, so that candidates whose first letters melt into the context's last token are still
    compared on equal terms."""
    if not rows:
        raise ValueError("a ranking request without candidates")
    shared = min(common(context.ids, row.ids) for row in rows)
    if shared < 1:
        raise Unsupported("the candidates' prompts do not begin like the context")
    return [replace(row, scored=len(row.ids) - shared) for row in rows]


class RememberingProcessor:
    """An image processor that works on the same pictures once while it remembers them."""

    def __init__(self, processor: Any, limit: int = _REMEMBERED) -> None:
        """`limit`: bytes of what it made; the last one is always kept."""
        self._processor = processor
        self._limit = limit
        self._held = 0
        self._made: OrderedDict[Hashable, tuple[Any, Any, int]] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_processor":
            raise AttributeError(name)
        return getattr(self._processor, name)

    def __call__(self, images: Any = None, *rest: Any, **how: Any) -> Any:
        key = (tuple(id(one) for one in _flat(images)), repr(rest), repr(sorted(how.items())))
        if key not in self._made:
            found = self._processor(images, *rest, **how)
            size = sum(getattr(part, "nbytes", 0) for part in found.values())
            # The pictures are held as well, so that their ids stay theirs.
            self._made[key] = (found, images, size)
            self._held += size
            while self._held > self._limit and len(self._made) > 1:
                self._held -= self._made.popitem(last=False)[1][2]
        self._made.move_to_end(key)
        return copy.copy(self._made[key][0])


def _flat(images: Any) -> Iterator[Any]:
    if isinstance(images, list | tuple):
        for one in images:
            yield from _flat(one)
    else:
        yield images
