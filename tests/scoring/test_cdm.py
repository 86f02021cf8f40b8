"""Characters of formulas, and how those of two drawn formulas are matched: what needs no TeX."""

import pytest

from snellen.scoring.pages.cdm import CdmScore, DrawnCharacter, DrawnFormula, match_formulas, shape_of
from snellen.scoring.pages.formula_colours import MAX_LENGTH, MAX_TOKENS, colour_formula


def line(text: str, *, step: float = 30.0, drop: dict[int, float] | None = None) -> DrawnFormula:
    """Characters side by side, some of them further down."""
    shifts = drop or {}
    boxes = [
        (place * step, shifts.get(place, 0.0), place * step + 20, 20 + shifts.get(place, 0.0))
        for place in range(len(text))
    ]
    characters = [DrawnCharacter(sign, box) for sign, box in zip(text, boxes, strict=True)]
    return DrawnFormula(characters, len(text) * step, 20 + max(shifts.values(), default=0.0))


@pytest.mark.parametrize(
    ("latex", "tokens"),
    [
        (r"\frac{a}{2}", (r"\frac", "a", "2")),
        (r"\dfrac a2", (r"\frac", "a", "2")),
        (r"{a \over 2}", (r"\frac", "a", "2")),
        (r"x_i^2", ("x", "i", "2")),
        (r"x^2_i", ("x", "i", "2")),
        (r"f''(x)", ("f", r"\prime", r"\prime", "(", "x", ")")),
        (r"\sqrt[3]{x}", (r"\sqrt", "3", "x")),
        (r"\hat x + \overline{yz}", (r"\hat", "x", "+", r"\overline", "y", "z")),
        (r"\text{if } \log x", ("i", "f", "l", "o", "g", "x")),
        (r"a, \ldots, b", ("a", ",", ".", ".", ".", ",", "b")),
        (r"\left( a \right]", (r"\left(", "a", r"\right]")),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", (r"\left(", "a", "b", "c", "d", r"\right)")),
        (r"\begin{cases} 1 & x \\[2pt] 2 & y \end{cases}", (r"\left\{", "1", "x", "2", "y", r"\right.")),
        (r"\begin{align*} a &= b \\ &= c \end{align*}", ("a", "=", "b", "=", "c")),
        (r"x \label{eq:1} % a comment", ("x",)),
        ("$$x$$", ("x",)),
        ("速度 = v", ("速", "度", "=", "v")),
        (r"\boxed{x} \foo", (r"\boxed", "x", r"\foo")),
        (r"\color{red} x \phantom{y} \hspace{3pt}", ("x",)),
        ("", ()),
    ],
)  # fmt: skip
def test_characters_of_a_formula(latex: str, tokens: tuple[str, ...]) -> None:
    assert colour_formula(latex).tokens == tokens


def test_each_character_has_a_colour_of_its_own() -> None:
    coloured = colour_formula("a" * 300)
    assert r"\mathcolor[RGB]{0,0,1}{a}" in coloured.latex
    assert r"\mathcolor[RGB]{0,1,44}{a}" in coloured.latex
    assert len(coloured.tokens) == 300


@pytest.mark.parametrize("latex", [r"a + \frac{b", r"a b} c", r"\left( a", r"\begin{foo} a b \end{foo}", r"a & b {"])
def test_what_cannot_be_read_is_cut_at_its_blanks(latex: str) -> None:
    words = [word for word in latex.split() if word not in ("{", "&") and not word.startswith((r"\begin", r"\end"))]
    assert list(colour_formula(latex).tokens) == words


@pytest.mark.parametrize(
    "latex", ["x" * (MAX_LENGTH + 1), "{" * 9000, r"\frac" * 3000, "x_" * 5000, "a" * (MAX_TOKENS + 1)]
)
def test_formulas_without_end_are_given_up(latex: str) -> None:
    assert len(colour_formula(latex).tokens) <= MAX_TOKENS


def test_the_same_formula_matches_in_full() -> None:
    assert match_formulas(line("a+b=c"), line("a+b=c")) == CdmScore(1.0, 1.0, 1.0)


def test_f1_recall_and_precision() -> None:
    assert match_formulas(line("a+b=c"), line("a+b=d")) == CdmScore(0.8, 0.8, 0.8)
    assert match_formulas(line("a+b=c"), line("a+b=")) == CdmScore(0.889, 0.8, 1.0)
    assert match_formulas(line("a+b="), line("a+b=c")) == CdmScore(0.889, 1.0, 0.8)


def test_a_formula_that_is_shifted_and_scaled_matches() -> None:
    assert match_formulas(line("a+b=c"), line("a+b=c", step=33.0)) == CdmScore(1.0, 1.0, 1.0)


def test_a_character_that_moved_alone_does_not_match() -> None:
    """In the middle, where no shift of the few that are left explains it."""
    moved = match_formulas(line("a+b=c+d"), line("a+b=c+d", drop={2: 90.0}))
    assert moved is not None
    assert moved.f1 < 1.0


def test_what_looks_alike_is_one_token() -> None:
    assert shape_of(r"\left(") == shape_of(r"\big(") == "("
    assert shape_of(r"\geq") == shape_of(r"\ge")
    assert shape_of(r"\left\Vert") == shape_of(r"\|")
    assert shape_of(r"\widehat") == r"\hat"
    assert shape_of(r"\leftarrow") == r"\leftarrow"
    assert shape_of("a") != shape_of("b")


def test_nothing_drawn() -> None:
    empty = DrawnFormula((), 0.0, 0.0)
    assert match_formulas(empty, line("a")) is None
    assert match_formulas(line("a"), empty) == CdmScore(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (r"\leftarrow", r"\to", True),
        (r"\longrightarrow", r"\xrightarrow", True),
        (r"\big\lVert", r"\|", True),
        (r"\varphi", r"\phi", False),
        (r"\neg", r"\lnot", False),
        (r"\leq", r"\le", True),
    ],
)
def test_what_looks_alike_by_omnidocbench(one: str, other: str, alike: bool) -> None:
    assert (shape_of(one, is_older=True) == shape_of(other, is_older=True)) == alike


def test_characters_by_omnidocbench() -> None:
    latex = r"\ln x \not= \sin y, \dotsc, \cdots"
    assert colour_formula(latex, is_older=True).tokens == (
        *(r"\ln", "x", r"\not=", "s", "i", "n", "y", ",", r"\dotsc", ",", ".", ".", "."),
    )
