"""Tokens that an image counts as, for models whose provider has published the rule."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

_CLAUDE_EDGE, _CLAUDE_TOKENS, _CLAUDE_PATCH = 1568, 1600, 28
_GEMINI_SMALL, _GEMINI_TILE, _GEMINI_TOKENS = 384, 768, 258
_OPENAI_BOX, _OPENAI_SHORT, _OPENAI_TILE = 2048, 768, 512
_OPENAI_BASE, _OPENAI_PER_TILE = 85, 170


class ImageTokenRule(NamedTuple):
    tokens: Callable[[int, int], int]
    """Tokens of an image, by its width and height in pixels."""
    source: str


def openai_tiles(width: int, height: int) -> int:
    """GPT-4o's rule at high detail: shrunk into 2048 x 2048, then to a short side of 768, then
    tiles of 512 pixels."""
    shrink = min(1.0, _OPENAI_BOX / max(width, height))
    shrink *= min(1.0, _OPENAI_SHORT / (min(width, height) * shrink))
    across, down = (math.ceil(round(side * shrink) / _OPENAI_TILE) for side in (width, height))
    return _OPENAI_BASE + _OPENAI_PER_TILE * across * down


def claude_patches(width: int, height: int) -> int:
    """Patches of 28 pixels, after shrinking to a long edge of 1568 and at most 1600 tokens."""
    shrink = min(1.0, _CLAUDE_EDGE / max(width, height))
    across, down = (math.ceil(side * shrink / _CLAUDE_PATCH) for side in (width, height))
    return min(across * down, _CLAUDE_TOKENS)


def gemini_tiles(width: int, height: int) -> int:
    """258 tokens for a small image, and for each tile of 768 pixels of a larger one."""
    if max(width, height) <= _GEMINI_SMALL:
        return _GEMINI_TOKENS
    return _GEMINI_TOKENS * math.ceil(width / _GEMINI_TILE) * math.ceil(height / _GEMINI_TILE)


_RULES = (
    (
        re.compile(r"openai/(gpt-4o(?!-mini)|gpt-4\.1(?!-(mini|nano))|gpt-4-turbo|chatgpt-4o).*"),
        ImageTokenRule(openai_tiles, "https://platform.openai.com/docs/guides/images-vision"),
    ),
    (
        # Later models accept larger images than those the page's numbers are for.
        re.compile(r"anthropic/claude-(?!opus-4-[78]|[a-z]+-5|mythos).*"),
        ImageTokenRule(claude_patches, "https://platform.claude.com/docs/en/build-with-claude/vision"),
    ),
    (
        re.compile(r"(google|gemini)/gemini-2.*"),
        ImageTokenRule(gemini_tiles, "https://ai.google.dev/gemini-api/docs/tokens"),
    ),
)


def image_token_rule(provider: str, name: str) -> ImageTokenRule | None:
    """The published rule for a model, or None."""
    spec = f"{provider}/{name}"
    return next((rule for pattern, rule in _RULES if pattern.fullmatch(spec)), None)
