"""In which coordinate space a model writes, measured from its numbers for known places.

Each space says what the numbers of a place would be. A reply either has these numbers, with an
error that is Laplace distributed on the scale of the picture, or any numbers (a square that was not
found). The scale of the error and the share of such replies are those under which the space
explains all replies best; the certainty of a space is its posterior over all spaces.

The places are red squares, one in each of some pictures of several sizes; the questions for box and centre name no
coordinate space, so that a model answers in its own.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.place import Box, Point, Space, all_spaces, parse_space
from snellen.core.request import Generate, Generation, Media, Ref, Text, user

SIZES = ((320, 240), (270, 480), (640, 360), (600, 600), (450, 820), (1200, 500), (1280, 960), (720, 1440))
"""Width and height in pixels: neither square alone nor near 100, 1000 or 1024, at which two spaces
would be one."""
PER_SIZE = 4
_SIDES = (0.12, 0.3)
"""The square's side, as a share of the shorter edge of the picture."""
_GROUND, _SQUARE = (236, 236, 230), (214, 30, 30)
_QUESTIONS: dict[str, str] = {
    "box": "Where is the red square in this picture? Answer with its bounding box alone, as four numbers.",
    "point": "Where is the centre of the red square in this picture? Answer with this point alone, as two numbers.",
}
Asked = Literal["box", "point"]


class MarkedPlace(NamedTuple):
    """A question about the place of the square, and the place itself in pixels."""

    asked: Asked
    size: tuple[int, int]
    box: Box
    request: Generate

    @property
    def centre(self) -> Point:
        return self.box.centre


def draw_questions(limit: int, seed: int, settings: Generation, role: str) -> list[MarkedPlace]:
    """At most `limit` questions, selected at random by the seed, about pictures of every size."""
    # The pictures are the same for every seed: replies are stored by what was asked.
    places = random.Random("marked pictures")
    questions = [
        _question(asked, size, picture, settings, role)
        for size in SIZES
        for picture in [_picture(size, places) for _ in range(PER_SIZE)]
        for asked in _QUESTIONS
    ]
    return random.Random(seed).sample(questions, min(limit, len(questions)))


def _picture(size: tuple[int, int], places: random.Random) -> tuple[Box, bytes]:
    """The place of the square in whole pixels, and the picture as a PNG."""
    from PIL import Image, ImageDraw

    width, height = size
    side = round(places.uniform(*_SIDES) * min(size))
    left, top = places.randint(0, width - side), places.randint(0, height - side)
    image = Image.new("RGB", size, _GROUND)
    # The last row and column that Pillow paints are those of the second corner.
    ImageDraw.Draw(image).rectangle((left, top, left + side - 1, top + side - 1), fill=_SQUARE)
    out = io.BytesIO()
    image.save(out, "PNG")
    return Box(left, top, left + side, top + side), out.getvalue()


def _question(
    asked: str, size: tuple[int, int], picture: tuple[Box, bytes], settings: Generation, role: str
) -> MarkedPlace:
    box, data = picture
    digest = digest_bytes(data)
    request = Generate(
        messages=(user(Media("image", digest), Text(_QUESTIONS[asked])),),
        media={digest: InlineSource(data)},
        ref=Ref(f"{asked} {size[0]}x{size[1]} {digest[:8]}"),
        settings=settings,
        to=role,
    )
    return MarkedPlace("box" if asked == "box" else "point", size, box, request)


CERTAIN = 0.99
"""Least posterior of a space that is certain."""
_LEAST_NEAR, _LEAST_SHARE = 8, 0.25
"""Replies that must be near the square for a space to be certain: their number, and their share of
those with numbers. By chance one in a hundred points is, and of boxes none."""
_OTHERS = 0.15
"""Share of replies that are near in another space alone from which on a model writes in several."""
_NEAR = 0.05
"""A number is near if it is off by at most this share of the picture's width or height."""
_ERRORS = tuple(0.002 * 1.1**step for step in range(38))
"""Scales of the error that are tried. Fine, so that no unit gains by a scale that happens to suit it."""
_MISSED = (0.01, 0.1, 0.3, 0.6, 0.9)
_WIDEST = 2000.0
"""Numbers of a reply that did not find the square are spread over this range."""

Verdict = Literal["certain", "several spaces", "no space fits", "cannot tell"]


class PlaceReply(NamedTuple):
    """The numbers of a reply about a place, and the size at which the model saw the picture; () if
    it is the picture's own or unknown."""

    question: MarkedPlace
    numbers: tuple[float, ...]
    sent: tuple[int, int] | tuple[()] = ()


class SpaceFit(Struct, frozen=True):
    """How well a space explains the replies."""

    space: str
    certainty: float
    """Posterior over all spaces."""
    near: int
    """Replies all of whose numbers are off by at most 5% of the picture."""
    error: float
    """Median error of these, in per cent of the picture's width or height."""


class ResizedPicture(Struct, frozen=True):
    """A picture's size, and the size of which the replies would be pixels."""

    size: tuple[int, int]
    seen: tuple[float, float]


class SpaceMeasurement(Struct, frozen=True):
    """In which space a model writes, as far as its replies say."""

    model: str
    verdict: Verdict
    questions: int
    failed: int
    with_numbers: int
    fits: tuple[SpaceFit, ...] = ()
    """The likeliest spaces, best first."""
    resized: tuple[ResizedPicture, ...] = ()
    """If no space fits: sizes of which the numbers are pixels, where they agree on such."""
    declared: str = ""
    """The space declared for the model, and by whom."""
    failure: str = ""
    """The first message of a failed request."""

    @property
    def space(self) -> str:
        """The space, if it is certain; else ""."""
        return self.fits[0].space if self.verdict == "certain" else ""


def fit_spaces(replies: Sequence[PlaceReply]) -> tuple[SpaceFit, ...]:
    """All spaces by how well they explain the replies, best first. Of spaces that mean the same for
    all replies the plainest stands for all."""
    if not replies:
        return ()
    numbers = _flat([reply.numbers for reply in replies])
    starts = np.cumsum([0, *(len(reply.numbers) for reply in replies[:-1])])
    columns = np.concatenate([np.arange(len(reply.numbers)) for reply in replies])
    seen: set[tuple[float, ...]] = set()
    scored: list[tuple[float, SpaceFit]] = []
    for space in _candidates(replies):
        expected = _flat([_write(space, reply) for reply in replies])
        key = tuple(expected)
        if key in seen:
            continue
        seen.add(key)
        extents = _flat([_extents(space, reply) for reply in replies])
        errors = (numbers - expected) / extents
        worst = np.maximum.reduceat(np.abs(errors), starts)
        near = worst[worst <= _NEAR]
        error = round(100 * float(np.median(near)), 3) if len(near) else 0.0
        likelihood = _likelihood(_without_offset(errors, columns, space), extents, starts)
        scored.append((likelihood, SpaceFit(space.name, 0.0, len(near), error)))
    scored.sort(key=lambda one: -one[0])
    weights = [math.exp(one[0] - scored[0][0]) for one in scored]
    total = sum(weights)
    return tuple(
        SpaceFit(fit.space, weight / total, fit.near, fit.error)
        for weight, (_, fit) in zip(weights, scored, strict=True)
    )


def judge(replies: Sequence[PlaceReply], fits: Sequence[SpaceFit]) -> tuple[Verdict, tuple[ResizedPicture, ...]]:
    """What the fits say, and, if no space fits, the sizes of which the numbers would be pixels."""
    if not fits or fits[0].near < max(_LEAST_NEAR, _LEAST_SHARE * len(replies)):
        resized = resized_pictures(replies)
        return ("no space fits" if resized else "cannot tell"), resized
    space = parse_space(fits[0].space)
    others = fit_spaces([reply for reply in replies if _worst(space, reply) > _NEAR])
    if max((fit.near for fit in others), default=0) > _OTHERS * len(replies):
        return "several spaces", ()
    return ("certain" if fits[0].certainty >= CERTAIN else "cannot tell"), ()


def _worst(space: Space, reply: PlaceReply) -> float:
    """The largest error of a reply's numbers in a space, as a share of the picture."""
    rows = zip(reply.numbers, _write(space, reply), _extents(space, reply), strict=True)
    return max(abs(number - expected) / extent for number, expected, extent in rows)


def resized_pictures(replies: Sequence[PlaceReply]) -> tuple[ResizedPicture, ...]:
    """For each size of picture the size of which the numbers (corners, x first) are pixels; () if
    most replies agree on none."""
    found: list[ResizedPicture] = []
    agreeing = 0
    for size in dict.fromkeys(reply.question.size for reply in replies):
        own = [reply for reply in replies if reply.question.size == size]
        shares = [np.array(_write(Space("fractions"), reply)) for reply in own]
        seen = []
        for axis in (0, 1):
            ratios = [
                number / share
                for reply, row in zip(own, shares, strict=True)
                for number, share in zip(reply.numbers[axis::2], row[axis::2], strict=True)
                if share > _NEAR
            ]
            seen.append(float(np.median(ratios)) if ratios else 0.0)
        if min(seen) <= 0:
            continue
        found.append(ResizedPicture(size, (round(seen[0], 1), round(seen[1], 1))))
        for reply, row in zip(own, shares, strict=True):
            errors = np.abs(np.array(reply.numbers) / np.tile(seen, len(row) // 2) - row)
            agreeing += bool(np.max(errors) <= _NEAR)
    return tuple(found) if agreeing >= max(_LEAST_NEAR, 0.8 * len(replies)) else ()


def _candidates(replies: Sequence[PlaceReply]) -> list[Space]:
    """All spaces, plainest first; pixels as sent only if it is known at which sizes pictures were seen."""
    are_known = any(reply.sent for reply in replies)
    return [space for space in all_spaces() if are_known or space.unit != "sent-pixels"]


def _write(space: Space, reply: PlaceReply) -> tuple[float, ...]:
    """The numbers of the square in a space."""
    question = reply.question
    sent = reply.sent or question.size
    if question.asked == "point":
        return space.write_point(question.centre, question.size, sent)
    return space.write_box(question.box, question.size, sent)


def _extents(space: Space, reply: PlaceReply) -> tuple[float, ...]:
    """The largest number that each number of a reply could be."""
    question = reply.question
    corner = Point(*question.size)
    whole = space.write_point(corner, question.size, reply.sent or question.size)
    return whole if question.asked == "point" else (*whole, *whole)


def _flat(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    return np.array([number for row in rows for number in row], dtype=np.float64)


def _without_offset(errors: NDArray[np.float64], columns: NDArray[np.int64], space: Space) -> NDArray[np.float64]:
    """Absolute errors, without the offset of each axis that all positions share: a model that is a
    little off to one side would else seem to write in a slightly larger or smaller unit. `columns`
    are the places of the numbers in their replies."""
    corrected = errors.copy()
    positions = (columns < 2) | (space.form == "corners")
    for axis in (0, 1):
        own = positions & (columns % 2 == axis)
        close = errors[own & (np.abs(errors) <= 2 * _NEAR)]
        if len(close) >= _LEAST_NEAR:
            corrected[own] -= np.clip(np.median(close), -_NEAR, _NEAR)
    return np.abs(corrected)


def _likelihood(errors: NDArray[np.float64], extents: NDArray[np.float64], starts: NDArray[np.int64]) -> float:
    """Log-likelihood of all replies at the best scale of the error and the best share of replies
    that did not find the square. `errors` are shares of `extents`; `starts` index each reply's first."""
    lengths = np.diff([*starts, len(errors)])
    missed = -lengths * math.log(_WIDEST)
    best = -math.inf
    for scale in _ERRORS:
        found = np.add.reduceat(-errors / scale - np.log(2 * scale * extents), starts)
        for share in _MISSED:
            total = np.logaddexp(math.log1p(-share) + found, math.log(share) + missed).sum()
            best = max(best, float(total))
    return best
