"""Stage B's lesson: the words that every patch of a picture should read as."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast

from training.tiny.drawing import letter_boxes
from training.tiny.network import FAST, HEADS, IMAGE_SIDE, PATCH, WIDTH
from training.tiny.wordpieces import DIGITS, digit_piece, piece
from training.tiny.world import COLOURS, SHAPES, WORDS, Lettering, Scene, Thing

GRID = IMAGE_SIDE // PATCH
SHARPNESS = 12.0
NORM = 3.0
EMPTY = -1


@dataclass(frozen=True)
class Legend:
    """Piece ids of the words of each group, in the order of the labels."""

    groups: dict[str, torch.Tensor]
    empty: int

    @property
    def everything(self) -> torch.Tensor:
        """All words, the one for "nothing here" last."""
        return torch.cat([*self.groups.values(), torch.tensor([self.empty])])


def new_legend(tokenizer: PreTrainedTokenizerFast) -> Legend:
    """Colours, shapes, the two directions and the glyphs: first digits, later digits, words."""
    words = {
        "colour": [piece(tokenizer, c) for c in COLOURS],
        "shape": [piece(tokenizer, s) for s in SHAPES],
        "across": [piece(tokenizer, w) for w in ("left", "right")],
        "down": [piece(tokenizer, w) for w in ("top", "bottom")],
        "glyph": [piece(tokenizer, d) for d in DIGITS[1:]]
        + [digit_piece(tokenizer, d) for d in DIGITS]
        + [piece(tokenizer, w) for w in WORDS],
    }
    groups = {name: torch.tensor(ids) for name, ids in words.items()}
    return Legend(groups, piece(tokenizer, "empty"))


def labels(scene: Scene) -> torch.Tensor:
    """One row per patch, one column per group of the legend: index of the word, or EMPTY."""
    found = torch.full((GRID * GRID, 5), EMPTY)
    for at in range(GRID * GRID):
        x, y = (at % GRID + 0.5) / GRID, (at // GRID + 0.5) / GRID
        for thing in scene.things:
            if math.hypot(x - thing.x, y - thing.y) < thing.radius:
                found[at, :4] = torch.tensor(_thing_words(thing))
    if scene.lettering is not None:
        _label_glyphs(found, scene.lettering)
    return found


def loss(features: torch.Tensor, words: torch.Tensor, found: torch.Tensor, legend: Legend) -> torch.Tensor:
    """How badly the features read: within each group, and among all words together."""
    norm = features.norm(dim=-1, keepdim=True)
    table = functional.normalize(words, dim=-1)
    logits = SHARPNESS * (features / norm) @ table.T
    total = ((norm - NORM) ** 2).mean()
    masks = []
    for column, ids in enumerate(legend.groups.values()):
        has = found[:, column] != EMPTY
        if has.any():
            total = total + functional.cross_entropy(logits[has][:, ids], found[has, column])
        masks.append(functional.one_hot(found[:, column].clamp(min=0), len(ids)) * has[:, None])
    right = torch.cat([*masks, (found == EMPTY).all(1, keepdim=True)], dim=1).float()
    right = right / right.sum(1, keepdim=True)
    return total + 0.5 * functional.cross_entropy(logits[:, legend.everything], right)


def accuracy(features: torch.Tensor, words: torch.Tensor, found: torch.Tensor, legend: Legend) -> dict[str, float]:
    """Share of patches whose nearest word within a group is right, for every group."""
    logits = features @ functional.normalize(words, dim=-1).T
    shares = {}
    for column, (name, ids) in enumerate(legend.groups.items()):
        has = found[:, column] != EMPTY
        right = logits[has][:, ids].argmax(-1) == found[has, column]
        shares[name] = right.float().mean().item()
    return shares


def _thing_words(thing: Thing) -> list[int]:
    return [list(COLOURS).index(thing.colour), SHAPES.index(thing.shape), int(thing.x >= 0.5), int(thing.y >= 0.5)]


def _label_glyphs(found: torch.Tensor, lettering: Lettering) -> None:
    """Digits are labelled one by one, every part of a word with the whole word."""
    for place, (left, top, right, bottom) in enumerate(letter_boxes(lettering)):
        if lettering.content.isdigit():
            glyph = int(lettering.content[place]) + (9 if place else -1)
        else:
            glyph = 19 + WORDS.index(lettering.content)
        for at in range(GRID * GRID):
            x, y = (at % GRID + 0.5) / GRID, (at // GRID + 0.5) / GRID
            if left <= x < right and top <= y < bottom:
                found[at, 4] = glyph


def plant_sight(layer: nn.Module, words: torch.Tensor, legend: Legend) -> None:
    """Head 3 of the first text layer starts as the eye of a word.

    A colour or shape word looks for patches that read as it (the queries and keys are the words'
    coordinates) and copies what else they read as. Patches of things, and no text, read as two
    places, so the slowest rotary pair prefers them; without that a word would find itself.
    """
    size, first = WIDTH // HEADS, 3 * (WIDTH // HEADS)
    kinds = torch.cat([legend.groups["colour"], legend.groups["shape"]])
    places = torch.cat([legend.groups["across"], legend.groups["down"]])
    unit = functional.normalize(words[torch.cat([kinds, places])], dim=-1)
    attention = layer.self_attn
    with torch.no_grad():
        coordinates = torch.linalg.pinv(unit.T) / layer.input_layernorm.weight
        rows = slice(first, first + size)
        for part in (attention.q_proj, attention.k_proj, attention.v_proj):
            part.weight[rows] = 0.0
            part.bias[rows] = 0.0
        mark = first + size // 2 - 1
        slow = [first + i for i in range(size) if FAST < i % (size // 2) < size // 2 - 1]
        for at, row in zip(slow, coordinates[: len(kinds)], strict=False):
            attention.q_proj.weight[at] = attention.k_proj.weight[at] = 0.8 * row
        attention.q_proj.weight[mark] = coordinates[: len(kinds)].sum(0)
        attention.k_proj.weight[mark] = coordinates[len(kinds) :].sum(0)
        attention.v_proj.weight[first : first + len(unit)] = coordinates
        attention.o_proj.weight[:, rows] = 0.0
        attention.o_proj.weight[:, first : first + len(unit)] = 1.5 * unit.T
