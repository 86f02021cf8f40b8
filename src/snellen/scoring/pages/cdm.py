r"""CDM, character detection matching: how many characters of two drawn formulas are the same and stand at the
same place (Wang et al. 2024, https://arxiv.org/abs/2409.03643, Sec. 4.2 and 4.3).

The characters of both are paired so that the sum of costs is least: another token 1, place 0.05 and order
0.15 of the distance. A pair counts if its tokens are the same and it moved as the others did: RANSAC finds
shifts with a scale that most pairs follow, again and again among those that are left. The score is F1.

Numbers and oddities are those of the authors' code (opendatalab/UniMERNet, folder cdm, September 2025): what
looks alike is one token, `\varepsilon` and `\epsilon` too, and all big operators that end in the same letter,
such as `\bigcup` and `\bigcap`. `OMNIDOCBENCH` is the older copy of it that OmniDocBench 1.5 has (folder
metrics/cdm): other numbers of RANSAC, orders over the length of each side, other names that look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_POSITION, _ORDER, _TRIALS, _SEED = 0.05, 0.15, 50, 42
"""Weights of place and order; trials and seed of RANSAC."""


def _groups(text: str) -> dict[str, str]:
    """Tokens that look alike, groups between semicolons, each by the first of its group."""
    return {name: names[0] for group in text.split(" ; ") if (names := group.split()) for name in names}


class CdmRule(NamedTuple):
    """What differs between releases of the authors' code."""

    points: int = 2
    """That a shift with a scale is drawn from, and up to which all pairs count."""
    tolerance: float = 20.0
    """In pixels of 200 to the inch."""
    rounds: int = 5
    alike: float = 0.005
    """The cost of tokens that are spelled otherwise and look alike."""
    is_older: bool = False


CDM_RULE, OMNIDOCBENCH = CdmRule(), CdmRule(points=3, tolerance=25.0, rounds=3, alike=0.05, is_older=True)
_LOOK_ALIKE = _groups(
    r". \dot \Dot \cdot \cdotp \ldotp ; | \mid \vert \lvert \rvert ; \| \Vert \lVert \rVert \parallel ; "
    r"\to \rightarrow ; T \top ; \tilde \Tilde ; \ddot \Ddot ; \bar \Bar ; \vec \Vec ; ' \prime ; * \ast ; : \colon ; "
    r"/ \slash ; < \textlangle \textless ; > \textrangle \textgreater ; _ \textunderscore \= ; \langle \left< ; "
    r"\rangle \right> ; \{ \lbrace ; \} \rbrace ; [ \lbrack ; ] \rbrack ; \le \leq ; \ge \geq ; \not= \neq ; "
    r"\lnot \neg ; \dagger \dag ; \ddagger \ddag"
)
_OLDER_ALIKE = _groups(
    r". \cdot ; | \mid ; \rightarrow \to ; T \top ; \tilde \Tilde ; \dots \cdots ; ' \prime ; * \ast ; "
    r"\langle \left< ; \rangle \right>"
)
_OLDER_SPELLED = _groups(r"\le \leq ; \ge \geq ; \| \Vert \lVert \rVert ; | \vert \lvert \rvert")


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


def shape_of(token: str, *, is_older: bool = False) -> str:
    """The token without what does not show: size, variant and the name that it is spelled with. By the older code
    arrows are alike, and `\\varphi` and `\\phi` are not."""
    if is_older:
        token = _OLDER_ALIKE.get(token, token)
    kept = () if is_older else ("arrow", "<", ">", "harpoon")
    if token.startswith((r"\left", r"\right")) and not any(part in token for part in kept):
        token = token.replace(r"\left", "").replace(r"\right", "")
    if token.startswith((r"\big", r"\Big")):
        token = "\\" + token.rpartition("\\")[2] if "\\" in token[4:] else token[-1]
    token = (_OLDER_SPELLED if is_older else _LOOK_ALIKE).get(token, token)
    arrow = next((name for name in ("rightarrow", "leftarrow") if is_older and token.endswith(name)), "")
    if arrow:
        return f"\\{arrow}"
    for prefix, left_out in ((r"\wide", "wide"), (r"\var", r"\var" if is_older else "var")):
        if token.startswith(prefix):
            return token.replace(left_out, "")
    return token


def match_formulas(gold: DrawnFormula, reply: DrawnFormula, rule: CdmRule = CDM_RULE) -> CdmScore | None:
    """The score of a formula of a reply; None where nothing of the gold formula can be seen."""
    import numpy as np

    ours, theirs = len(gold.characters), len(reply.characters)
    if not ours or not theirs:
        return CdmScore(0.0, 0.0, 0.0) if ours else None
    pairs, costs = _pair_characters(gold, reply, rule)
    points = np.array([_centre(gold.characters[one]) for one, _ in pairs])
    others = np.array([_centre(reply.characters[other]) for _, other in pairs])
    follows = _pairs_that_follow(points, others, rule)
    matched = sum(bool(ok and costs[one, other] < 1) for ok, (one, other) in zip(follows, pairs, strict=True))
    return CdmScore(*(round(value, 3) for value in (2 * matched / (ours + theirs), matched / ours, matched / theirs)))


def _centre(character: DrawnCharacter) -> tuple[float, float]:
    left, top, right, bottom = character.box
    return (top + bottom) / 2, (left + right) / 2


def _pair_characters(gold: DrawnFormula, reply: DrawnFormula, rule: CdmRule) -> tuple[list[tuple[int, int]], Array]:
    """Pairs of the least sum of costs, and what each pair costs by its tokens."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    formulas = gold, reply
    names = [np.array([one.token for one in formula.characters]) for formula in formulas]
    shapes = [
        np.array([shape_of(one.token, is_older=rule.is_older) for one in formula.characters]) for formula in formulas
    ]
    same, alike = (sides[0][:, None] == sides[1] for sides in (names, shapes))
    tokens = np.where(same, 0.0, np.where(alike, rule.alike, 1.0))
    sizes = [(formula.width, formula.height) * 2 for formula in formulas]
    boxes = [np.array([one.box for one in f.characters]) / size for f, size in zip(formulas, sizes, strict=True)]
    places = np.abs(boxes[0][:, None] - boxes[1]).mean(axis=2)
    longest = max(map(len, names))
    orders = [np.arange(len(side)) / (len(side) if rule.is_older else longest) for side in names]
    costs = tokens + _POSITION * places + _ORDER * np.abs(orders[0][:, None] - orders[1])
    rows, columns = linear_sum_assignment(costs)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)], tokens


def _pairs_that_follow(points: Array, others: Array, rule: CdmRule) -> NDArray[np.bool_]:
    """Which pairs of points one of a few shifts with a scale explains; all of so few that any would."""
    import numpy as np

    if len(points) <= rule.points:
        return np.ones(len(points), bool)
    follows = np.zeros(len(points), bool)
    for _ in range(rule.rounds):
        left = np.flatnonzero(~follows)
        if len(left) <= rule.points:
            break
        found = _consensus(points[left], others[left], rule)
        if not found.any():
            break
        follows[left[found]] = True
    return follows


def _consensus(points: Array, others: Array, rule: CdmRule) -> NDArray[np.bool_]:
    """The largest set of pairs that follow the shift and scale of a few of them (Fischler and Bolles 1981)."""
    import numpy as np

    random, best = np.random.default_rng(_SEED), np.zeros(len(points), bool)
    least, trials, trial = np.inf, float(_TRIALS), 0
    while trial < min(_TRIALS, trials):
        trial += 1
        chosen = random.choice(len(points), rule.points, replace=False)
        source, target = points[chosen], others[chosen]
        centre, shift = source.mean(axis=0), target.mean(axis=0) - source.mean(axis=0)
        spread = np.linalg.norm(source - centre, axis=1).mean() + 1e-10
        scale = np.linalg.norm(target - target.mean(axis=0), axis=1).mean() / spread
        # The scale is about the centre of all points, not of these few.
        middle = points.mean(axis=0)
        errors = np.sqrt(((scale * (points - middle) + middle + shift - others) ** 2).sum(axis=1))
        inside, total = errors < rule.tolerance, float(errors @ errors)
        if (inside.sum(), -total) > (best.sum(), -least):
            best, least = inside, total
            missed = max(1 - (inside.sum() / len(points)) ** rule.points, np.finfo(float).eps)
            trials = np.ceil(np.log(np.finfo(float).eps) / np.log(missed)) if missed < 1 else np.inf
    return best
