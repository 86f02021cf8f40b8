r"""CDM, character detection matching: how many characters of two drawn formulas are the same and stand at the
same place (Wang et al. 2024, https://arxiv.org/abs/2409.03643, Sec. 4.2 and 4.3).

The characters of both are paired so that the sum of costs is least: another token 1, place 0.05 and order
0.15 of the distance. A pair counts if its tokens are the same and it moved as the others did: RANSAC finds
shifts with a scale that most pairs follow, again and again among those that are left. The score is F1.

Numbers and oddities are those of the authors' code (opendatalab/UniMERNet, folder cdm, September 2025): what
looks alike is one token, `\varepsilon` and `\epsilon` too, and all big operators that end in the same letter,
such as `\bigcup` and `\bigcap`. OmniDocBench has an older copy, with a tolerance of 25 for 20 pixels, 3 points
for 2 and 3 rounds for 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_POSITION, _ORDER, _ALIKE = 0.05, 0.15, 0.005
"""Weights of place and order, and the cost of tokens that are spelled otherwise and look alike."""
_POINTS, _TOLERANCE, _TRIALS, _ROUNDS, _SEED = 2, 20.0, 50, 5, 42
"""Of RANSAC; the tolerance is in pixels of 200 to the inch."""
_LOOK_ALIKE = (
    (".", r"\dot", r"\Dot", r"\cdot", r"\cdotp", r"\ldotp"),
    ("|", r"\mid", r"\vert", r"\lvert", r"\rvert"),
    (r"\|", r"\Vert", r"\lVert", r"\rVert", r"\parallel"),
    (r"\to", r"\rightarrow"),
    ("T", r"\top"),
    (r"\tilde", r"\Tilde"),
    (r"\ddot", r"\Ddot"),
    (r"\bar", r"\Bar"),
    (r"\vec", r"\Vec"),
    ("'", r"\prime"),
    ("*", r"\ast"),
    (":", r"\colon"),
    ("/", r"\slash"),
    ("<", r"\textlangle", r"\textless"),
    (">", r"\textrangle", r"\textgreater"),
    ("_", r"\textunderscore", r"\="),
    (r"\langle", r"\left<"),
    (r"\rangle", r"\right>"),
    (r"\{", r"\lbrace"),
    (r"\}", r"\rbrace"),
    ("[", r"\lbrack"),
    ("]", r"\rbrack"),
    (r"\le", r"\leq"),
    (r"\ge", r"\geq"),
    (r"\not=", r"\neq"),
    (r"\lnot", r"\neg"),
    (r"\dagger", r"\dag"),
    (r"\ddagger", r"\ddag"),
)
_SHAPE_OF = {name: names[0] for names in _LOOK_ALIKE for name in names}


class DrawnCharacter(NamedTuple):
    """A character that can be seen, and its box in pixels: left, top, right and bottom."""

    token: str
    box: tuple[float, float, float, float]


class DrawnFormula(NamedTuple):
    """The characters of a formula in the order of its LaTeX, and the size of its picture."""

    characters: Sequence[DrawnCharacter]
    width: float
    height: float


class CdmScore(NamedTuple):
    """How many characters match: of both formulas (F1), of the gold one and of the reply's, 0..1."""

    f1: float
    recall: float
    precision: float


def check_matching_packages() -> None:
    """Raises MissingExtra without scipy."""
    try:
        import scipy.optimize
    except ImportError as error:
        raise MissingExtra("comparing drawn formulas", "documents", error.name or "scipy") from None
    del scipy


def shape_of(token: str) -> str:
    """The token without what does not show: size, variant and the name that it is spelled with."""
    if token.startswith((r"\left", r"\right")) and not any(part in token for part in ("arrow", "<", ">", "harpoon")):
        token = token.replace(r"\left", "").replace(r"\right", "")
    if token.startswith((r"\big", r"\Big")):
        token = "\\" + token.rpartition("\\")[2] if "\\" in token[4:] else token[-1]
    token = _SHAPE_OF.get(token, token)
    for prefix in ("wide", "var"):
        if token.startswith(f"\\{prefix}"):
            return token.replace(prefix, "")
    return token


def match_formulas(gold: DrawnFormula, reply: DrawnFormula) -> CdmScore | None:
    """The score of a formula of a reply; None where nothing of the gold formula can be seen."""
    import numpy as np

    ours, theirs = len(gold.characters), len(reply.characters)
    if not ours or not theirs:
        return CdmScore(0.0, 0.0, 0.0) if ours else None
    pairs, costs = _pair_characters(gold, reply)
    points = np.array([_centre(gold.characters[one]) for one, _ in pairs])
    others = np.array([_centre(reply.characters[other]) for _, other in pairs])
    follows = _pairs_that_follow(points, others)
    matched = sum(bool(ok and costs[one, other] < 1) for ok, (one, other) in zip(follows, pairs, strict=True))
    return CdmScore(*(round(value, 3) for value in (2 * matched / (ours + theirs), matched / ours, matched / theirs)))


def _centre(character: DrawnCharacter) -> tuple[float, float]:
    left, top, right, bottom = character.box
    return (top + bottom) / 2, (left + right) / 2


def _pair_characters(gold: DrawnFormula, reply: DrawnFormula) -> tuple[list[tuple[int, int]], Array]:
    """Pairs of the least sum of costs, and what each pair costs by its tokens."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    formulas = gold, reply
    names = [np.array([one.token for one in formula.characters]) for formula in formulas]
    shapes = [np.array([shape_of(one.token) for one in formula.characters]) for formula in formulas]
    same, alike = (sides[0][:, None] == sides[1] for sides in (names, shapes))
    tokens = np.where(same, 0.0, np.where(alike, _ALIKE, 1.0))
    sizes = [(formula.width, formula.height) * 2 for formula in formulas]
    boxes = [np.array([one.box for one in f.characters]) / size for f, size in zip(formulas, sizes, strict=True)]
    places = np.abs(boxes[0][:, None] - boxes[1]).mean(axis=2)
    longest = max(map(len, names))
    orders = [np.arange(len(side)) / longest for side in names]
    costs = tokens + _POSITION * places + _ORDER * np.abs(orders[0][:, None] - orders[1])
    rows, columns = linear_sum_assignment(costs)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)], tokens


def _pairs_that_follow(points: Array, others: Array) -> NDArray[np.bool_]:
    """Which pairs of points one of a few shifts with a scale explains; all of so few that any would."""
    import numpy as np

    if len(points) <= _POINTS:
        return np.ones(len(points), bool)
    follows = np.zeros(len(points), bool)
    for _ in range(_ROUNDS):
        left = np.flatnonzero(~follows)
        if len(left) <= _POINTS:
            break
        found = _consensus(points[left], others[left])
        if not found.any():
            break
        follows[left[found]] = True
    return follows


def _consensus(points: Array, others: Array) -> NDArray[np.bool_]:
    """The largest set of pairs that follow the shift and scale of two of them (Fischler and Bolles 1981)."""
    import numpy as np

    random, best = np.random.default_rng(_SEED), np.zeros(len(points), bool)
    least, trials, trial = np.inf, float(_TRIALS), 0
    while trial < min(_TRIALS, trials):
        trial += 1
        chosen = random.choice(len(points), _POINTS, replace=False)
        source, target = points[chosen], others[chosen]
        centre, shift = source.mean(axis=0), target.mean(axis=0) - source.mean(axis=0)
        spread = np.linalg.norm(source - centre, axis=1).mean() + 1e-10
        scale = np.linalg.norm(target - target.mean(axis=0), axis=1).mean() / spread
        # The scale is about the centre of all points, not of the two.
        middle = points.mean(axis=0)
        errors = np.sqrt(((scale * (points - middle) + middle + shift - others) ** 2).sum(axis=1))
        inside, total = errors < _TOLERANCE, float(errors @ errors)
        if (inside.sum(), -total) > (best.sum(), -least):
            best, least = inside, total
            missed = max(1 - (inside.sum() / len(points)) ** _POINTS, np.finfo(float).eps)
            trials = np.ceil(np.log(np.finfo(float).eps) / np.log(missed)) if missed < 1 else np.inf
    return best
