"""Batches: the pictures once, then ten independent exchanges that see the pictures, not each other.

A sequence is one prefix (user mark, pictures) and several branches (prompt, reply). A 4-D mask
lets a token see the prefix and its own branch, and positions restart after the prefix in every
branch, so each branch is exactly a conversation of its own at a tenth of the cost.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedTokenizerFast

from training.tiny.drawing import draw
from training.tiny.lessons import Lesson
from training.tiny.network import IMAGE_SIDE, PATCHES
from training.tiny.prompts import Exchange
from training.tiny.several import ORDINALS
from training.tiny.wordpieces import ASSISTANT, END, IMAGE, PICTURE, USER

DRAWN_SIZES = (96, 128, 128, 160, 224)
FILTERS = (Image.Resampling.BILINEAR, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
END_WEIGHT = 0.1
HIDDEN = -1e9


@dataclass(frozen=True)
class Packed:
    """One sequence before padding; `owner` is 0 for the prefix, then the number of the branch."""

    ids: list[int]
    positions: list[int]
    owner: list[int]
    targets: list[int]
    weights: list[float]


@dataclass(frozen=True)
class Batch:
    """Tensors of one training step; `targets` are -1 where nothing is learnt."""

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    owner: torch.Tensor
    pixels: torch.Tensor | None
    exchanges: list[tuple[Exchange, ...]]


def pixels(picture: Image.Image, resample: Image.Resampling) -> torch.Tensor:
    """What the image processor makes of a picture."""
    small = np.asarray(picture.resize((IMAGE_SIDE, IMAGE_SIDE), resample), dtype=np.float32)
    return torch.from_numpy((small / 127.5 - 1.0).transpose(2, 0, 1).copy())


class Packer:
    """Turns lessons into batches."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.pad: int = tokenizer.pad_token_id

    def lessons(self, lessons: list[Lesson], rng: random.Random) -> Batch:
        """A batch of pictures with their exchanges."""
        packed = [self._pack(self._heading(len(le.scenes)), le.exchanges) for le in lessons]
        pictures = [
            pixels(draw(scene, rng.choice(DRAWN_SIZES)), rng.choice(FILTERS)) for le in lessons for scene in le.scenes
        ]
        return self._pad(packed, torch.stack(pictures), [le.exchanges for le in lessons])

    def texts(self, lists: list[tuple[str, list[Exchange]]]) -> Batch:
        """A batch of lists, each followed by look-ups as turns of one conversation.

        Here a turn sees the earlier ones, so a repeated look-up can also be copied.
        """
        packed = [self._pack(USER + listed, tuple(asked)) for listed, asked in lists]
        return self._pad(packed, None, [tuple(asked) for _, asked in lists], chained=True)

    def _heading(self, pictures: int) -> str:
        return USER + "".join(PICTURE + ORDINALS[i] + IMAGE * PATCHES for i in range(pictures))

    def _pack(self, heading: str, exchanges: tuple[Exchange, ...]) -> Packed:
        texts = [heading]
        for exchange in exchanges:
            texts += [exchange.prompt + END + ASSISTANT, exchange.reply + END]
        encoded = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        ids, owner = list(encoded[0]), [0] * len(encoded[0])
        positions = list(range(len(ids)))
        targets, weights = [-1] * len(ids), [0.0] * len(ids)
        for branch in range(len(exchanges)):
            prompt, reply = encoded[1 + 2 * branch], encoded[2 + 2 * branch]
            said = prompt + reply[:-1]
            ids += said
            owner += [branch + 1] * len(said)
            positions += range(len(encoded[0]), len(encoded[0]) + len(said))
            targets += [-1] * (len(prompt) - 1) + reply
            weights += [0.0] * (len(prompt) - 1) + [1.0] * (len(reply) - 1) + [END_WEIGHT]
        return Packed(ids, positions, owner, targets, weights)

    def _pad(
        self,
        packed: list[Packed],
        pictures: torch.Tensor | None,
        exchanges: list[tuple[Exchange, ...]],
        chained: bool = False,
    ) -> Batch:
        length = max(len(p.ids) for p in packed)

        def stack(rows: list[list[int]], fill: int) -> torch.Tensor:
            return torch.tensor([row + [fill] * (length - len(row)) for row in rows])

        owner = stack([p.owner for p in packed], -1)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        same = (owner[:, None, :] == owner[:, :, None]) | (owner[:, None, :] == 0)
        seen = causal if chained else same & causal
        positions = stack([p.positions for p in packed], 0)
        if chained:
            positions = torch.arange(length).expand(len(packed), length)
        return Batch(
            ids=stack([p.ids for p in packed], self.pad),
            positions=positions,
            mask=torch.where(seen, 0.0, HIDDEN).expand(len(packed), length, length)[:, None],
            targets=stack([p.targets for p in packed], -1),
            weights=torch.tensor([p.weights + [0.0] * (length - len(p.ids)) for p in packed]),
            owner=owner,
            pixels=pictures,
            exchanges=exchanges,
        )
