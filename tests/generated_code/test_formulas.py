"""Formulas drawn by TeX, hostile ones too. Without TeX this is skipped, and the reason says what lacks."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.benchmarks.test_page_benchmarks import annotated, later_scores
from tests.differential.formula_set import FOLDER, SPECS
from tests.differential.sets import read_set

from snellen.benchmarks.protocol.formula_drawing import cdm_scores
from snellen.core.errors import UsageError
from snellen.generated_code import formulas, tex
from snellen.generated_code.formulas import _ALONE, DrawnDisplay, draw_displays
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.tex import TexPrograms, TexRun, check_tex, find_tex, run_tex

PROGRAMS = find_tex()
needs_tex = pytest.mark.skipif(
    PROGRAMS is None or bool(PROGRAMS.missing), reason="no TeX that can draw formulas: see snellen doctor"
)
A = r"\mathcolor[RGB]{0,0,1}{a}"
DOCUMENT = "\\documentclass{article}\\begin{document}\n%s\n\\end{document}\n"


def draw(*displays: str) -> Mapping[str, DrawnDisplay]:
    return draw_displays(dict.fromkeys(displays, 1))


def f1(gold: str, reply: str) -> float:
    score = cdm_scores([(gold, reply)])[0]
    assert score is not None
    return score.f1


@needs_tex
def test_formulas_are_compared_as_they_look() -> None:
    gold = r"\frac{a+b}{2} \geq \sqrt{ab}"
    pairs = [
        (gold, r"\dfrac{a + b}2 \ge \sqrt{a b}"),
        (gold, r"\frac{a+b}{2} \geq \sqrt{ac}"),
        (gold, r"\frac{a+b}{2}"),
        (gold, ""),
        ("", gold),
        (r"\text{速度} = v", r"\text{速度} = v"),
    ]
    scores = [None if one is None else one.f1 for one in cdm_scores(pairs)]
    assert scores == [1.0, 0.889, 0.714, 0.0, None, 1.0]


@needs_tex
def test_places_are_those_of_the_characters() -> None:
    display = r"\mathcolor[RGB]{0,0,1}{a}^{\mathcolor[RGB]{0,0,2}{b}} x"
    drawn = draw(display)[display]
    (left, top, right, bottom), (left_up, top_up, _, bottom_up) = drawn.boxes[1], drawn.boxes[2]
    assert (left, top_up) == (7.0, 7.0)
    assert left_up > right - 2
    assert bottom_up < bottom
    assert drawn.width > left_up
    assert drawn.height > top


@needs_tex
def test_a_formula_that_breaks_a_run_leaves_the_others_alone() -> None:
    broken = (
        r"\begin{array}{l} x",
        r"\left( x",
        r"{ x",
        r"x }",
        r"\foo x",
        r"\end{displaymath} x",
        r"\gdef\mathcolor{}",
    )
    good = [f"{A} + {number}" for number in range(5)]
    alone = draw(good[0])[good[0]]
    drawn = draw(*good[:2], *broken, *good[2:])
    assert all(drawn[text].boxes[1] == pytest.approx(alone.boxes[1], abs=1.0) for text in good)


@needs_tex
@pytest.mark.parametrize(
    "attack",
    [
        r"\input{/etc/passwd}",
        r"\input{../../etc/passwd}",
        r"\openin5=/etc/passwd \read5 to\x \x",
        r"\pdfximage{/etc/passwd}",
        r"\immediate\pdfobj stream file {/etc/passwd}",
        r"\immediate\write18{touch HERE}",
        r"\input{|touch HERE}",
        r"\immediate\openout5=HERE \immediate\write5{x}\immediate\closeout5",
    ],
)
def test_no_file_is_read_or_written_and_no_command_run(attack: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    tmp_path.chmod(0o777)
    run = run_tex(DOCUMENT % f"before {attack.replace('HERE', str(mark))} after", _ALONE)
    assert not mark.exists()
    assert "root:" not in run.log
    assert b"root:" not in run.pdf


@needs_tex
@pytest.mark.parametrize("attack", [r"\def\a{\a}\a", r"\def\a{\a x}\a", r"\loop\iftrue\repeat", "x" * 1_000_000])
def test_formulas_without_end_are_stopped(attack: str) -> None:
    started = time.monotonic()
    assert draw(attack)[attack].boxes.get(1) is None
    assert time.monotonic() - started < 2 * _ALONE.wall_seconds


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[TexRun]:
    """The runs of TeX."""
    done: list[TexRun] = []

    def run(source: str, limits: ProgramLimits) -> TexRun:
        done.append(run_tex(source, limits))
        return done[-1]

    monkeypatch.setattr(formulas, "run_tex", run)
    return done


@needs_tex
def test_a_page_of_endless_formulas_costs_no_more_than_a_few(runs: list[TexRun]) -> None:
    endless = [rf"\def\a{{\a}}\a{number}" for number in range(20)]
    drawn = draw(A, f"{A} + 1", *endless)
    assert [run.is_ended for run in runs] == [False, True, True, True]
    assert drawn[A].boxes
    assert not any(drawn[text].boxes for text in endless)


@needs_tex
def test_a_formula_at_which_tex_gives_up_costs_two_runs(runs: list[TexRun]) -> None:
    good = [f"{A} + {number}" for number in range(20)]
    drawn = draw(*good[:15], "{" * 3000 + "}" * 3000, *good[15:])
    assert all(drawn[text].boxes for text in good)
    assert len(runs) <= 5


@needs_tex
def test_a_long_formula_of_a_reply_costs_nothing() -> None:
    assert f1("a + b", "x" * 1_000_000) == 0.0


def test_without_tex_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tex, "find_tex", lambda: None)
    with pytest.raises(UsageError, match=r"needs pdflatex, which is not installed; install it with: apt install"):
        check_tex("CDM")
    monkeypatch.setattr(tex, "find_tex", lambda: TexPrograms("pdflatex", (), ("CJK.sty",)))
    with pytest.raises(UsageError, match=r"CDM needs CJK\.sty of TeX"):
        check_tex("CDM")


@needs_tex
def test_the_overall_number_of_version_1_5_has_the_cdm_of_its_authors(tmp_path: Path) -> None:
    text = {"category_type": "text_block", "text": "The harbour was rebuilt."}
    displays = [
        {"category_type": "equation_isolated", "latex": latex}
        for latex in ("$$\nE = m c^{2} + \\ln x\n$$", "$$ a_{1} \\leq b $$")
    ]
    replies = {
        "page-1": "The harbour was rebuilt.\n\n\\[ E = m c^{3} + \\ln x \\]\n\n$$a_1 \\le b$$",
        "page-2": "The harbour was rebuilt.",
    }
    pages = [annotated(1, text, *displays), annotated(2, text)]
    scored = later_scores(tmp_path, pages, replies, more=",formulas=cdm")
    values = {record.id: dict(record.values) for record in scored.records}
    # Of eight characters seven: by their copy of CDM the name of an operator is one.
    assert values["page-1"]["cdm"] == pytest.approx((7 / 8 + 1) / 2)
    assert "cdm" not in values["page-2"]
    assert scored.summary.headline.name == "overall"
    assert scored.summary.headline.value == pytest.approx((100 + 93.75) / 2)


@needs_tex
def test_a_formula_is_drawn_as_if_it_were_alone() -> None:
    """`\\tag` in a display leaves TeX another colour for the frame of a later `\\boxed`."""
    boxed, tagged = rf"\boxed{{{A}+x}}", rf"{A} \tag{{3}}"
    assert draw(tagged, boxed)[boxed] == draw(boxed)[boxed]


@needs_tex
@pytest.mark.extended
def test_the_order_of_formulas_changes_no_score() -> None:
    spec = SPECS[0]
    rows = read_set(FOLDER / f"{spec.name}.jsonl.gz").rows
    pairs = [(row.case.cells["gold"], row.case.reply) for row in rows]
    mixed = random.Random(4).sample(range(len(pairs)), len(pairs))
    scores = cdm_scores(pairs)
    assert cdm_scores([pairs[place] for place in mixed]) == [scores[place] for place in mixed]
