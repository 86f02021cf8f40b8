"""Rendered prompts as rows of token ids, with what belongs to their pictures apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from snellen.models.halving import Unsupported

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
