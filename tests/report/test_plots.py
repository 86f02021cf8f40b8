"""The figures that stand alone: what they say as text, where their marks are, and their files."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from paper_files import paper_table
from synthetic import build_report

from snellen.benchmarks.abilities.seedbench.levels import DimensionGroup, dimensions, group_by_subpart
from snellen.core.errors import UsageError
from snellen.core.summary import Interval
from snellen.report.plots.figure import DASHES, HATCHES, MARKERS, PALETTE, ink_on, plot_style, shades, to_svg
from snellen.report.plots.hard_cards import HardSampleCard, draw_cards
from snellen.report.plots.lines import LinePoint, line_plot
from snellen.report.plots.ranks import heat_map, leaderboard_plot, rank_share
from snellen.report.plots.series import Value, dot_plot, radar_plot, results_plot, stacked_bars
from snellen.report.plots.taskmap import dendrogram, distance_map, tau_curve
from snellen.scoring.leaderboard import rank_models
from snellen.taskmap.agreement import NearTau
from snellen.taskmap.clusters import build_tree

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {
    "a & b": {"x": 50.0, "y": 10.0, "z": None},
    "c": {"x": 70.0, "y": 10.0},
    "d": {"x": 60.0, "y": 5.0, "z": None},
}
GROUPS = [DimensionGroup("first <group>", ("x", "y")), DimensionGroup("second", ("z",))]
SERIES = {
    "one": {"p": Value(40.0, Interval(30.0, 50.0, "wilson")), "q": Value(90.0), "r": Value(5.0)},
    "$two_": {"p": Value(60.0), "q": Value(10.0), "r": Value(99.0)},
}
DISTANCES = np.array([[0.0, 0.2, 0.9, 1.0], [0.2, 0.0, 0.8, 0.9], [0.9, 0.8, 0.0, 0.3], [1.0, 0.9, 0.3, 0.0]])
NAMES = ["north", "east", "south", "west"]


def texts(figure: Figure) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ET.fromstring(to_svg(figure)).iter(f"{SVG}text")]


def tooltips(figure: Figure) -> list[str]:
    return [node.text or "" for node in ET.fromstring(to_svg(figure)).iter(f"{SVG}title")]


def tree_figure() -> Figure:
    return dendrogram(build_tree(DISTANCES), NAMES, [["north", "east"], ["south", "west"]], "tree")


FIGURES = {
    "dots": lambda: dot_plot("dots", SERIES),
    "radar": lambda: radar_plot("radar", SERIES),
    "stacked": lambda: stacked_bars("stacked", {"m": {"A": 3.0, "B": 1.0}, "n": {"B": 2.0}}),
    "ranks": lambda: heat_map(VALUES, GROUPS, "ranks"),
    "tree": tree_figure,
    "distances": lambda: distance_map(NAMES, DISTANCES.tolist(), "distances"),
    "tau": lambda: tau_curve([NearTau(1.0, 0.2, 4, 6), NearTau(0.25, 0.6, 2, 1)], "tau"),
    "boards": lambda: leaderboard_plot({"boards": [rank_models("t", {"m": 1.0, "n": 2.0}, 9)]}),
    "cards": lambda: draw_cards("cards", [HardSampleCard("ocr", 9.0, "q?", {"A": "b"}, "A", {})]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_reproducible_and_self_contained(name: str) -> None:
    text = to_svg(FIGURES[name]())
    assert text == to_svg(FIGURES[name]())
    root = ET.fromstring(text)
    assert (root.get("role"), root.get("aria-label")) == ("img", name)
    assert "http" not in text.replace("http://www.w3.org", "")
    assert name in texts(FIGURES[name]())


def test_names_are_text_and_neither_markup_nor_mathematics() -> None:
    figure = dot_plot("<b>&", {"$a_1$": {"x < y": Value(1.0)}, "语言": {"x < y": Value(2.0)}})
    assert {"<b>&", "$a_1$", "x < y", "语言"} <= set(texts(figure))
    assert "$a_1$, x < y: 1.0" in tooltips(figure)


def test_series_differ_in_more_than_colour() -> None:
    for kinds in (PALETTE, DASHES, MARKERS, HATCHES):
        assert len(set(kinds)) == len(PALETTE) == 8


def test_a_mark_is_where_its_value_is() -> None:
    axes = dot_plot("dots", SERIES, connect=False).axes[0]
    marks = {line.get_gid().removeprefix("tooltip:"): line.get_xdata()[0] for line in axes.lines if line.get_gid()}
    assert marks["one, q: 90.0"] == 90.0
    assert len(marks) == 6
    (interval,) = [line for line in axes.lines if list(line.get_xdata()) == [30.0, 50.0]]
    assert not interval.get_gid()
    assert axes.get_xlabel() == "points, with 95 % intervals"


def test_scores_of_runs_have_intervals_and_what_guessing_scores() -> None:
    reports = [
        build_report(model, benchmark, count=count)[0]
        for model, count in (("a/long-name", 60), ("b", 20))
        for benchmark in ("x", "y")
    ]
    figure = results_plot(reports)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["x, accuracy", "y, accuracy"]
    for axes in figure.axes:
        assert [label.get_text() for label in axes.get_yticklabels()] == ["a/long-name", "b"]
        lines = [list(line.get_xdata()) for line in axes.lines]
        for report in reports:
            headline = report.summary.headline
            assert headline.interval is not None
            assert [headline.interval.low, headline.interval.high] in lines
            assert [headline.value] in lines
        assert [25.0, 25.0] in lines
    assert figure.axes[-1].get_xlabel() == "points, with 95 % intervals"
    assert "chance" in texts(figure)


LONG = ["hf/Qwen/Qwen2.5-VL-72B-Instruct-AWQ", "hf/llava-hf/llava-onevision-qwen2-7b-ov-hf (seed 1)"]
TITLE = "Scores by ability of two models on a benchmark with a name that is longer than the axes"


def long_series(rows: int) -> dict[str, dict[str, Value]]:
    return {
        model: {f"a long name of row {row}": Value(40.0, Interval(30, 50, "w")) for row in range(rows)}
        for model in LONG
    }


def crowded_boards() -> Figure:
    board = rank_models("category: a long name of a group", dict.fromkeys(LONG, 50.0), 9)
    return leaderboard_plot({TITLE: [board] * 5, "other": [board]})


CROWDED = {
    "dots": lambda: dot_plot(TITLE, long_series(9)),
    "dots of one row": lambda: dot_plot(TITLE, long_series(1)),
    **{f"radar of {n}": (lambda n=n: radar_plot(TITLE, long_series(n))) for n in (1, 3, 8, 20, 40)},
    "bars": lambda: stacked_bars(TITLE, {m: {"A" * 30: 3.0, "B" * 30: 1.0} for m in LONG}),
    "boards": crowded_boards,
    "results": lambda: results_plot([build_report(model, bench, count=9)[0] for model in LONG for bench in ("x", "y")]),
    "lines": lambda: line_plot(TITLE, {m: [LinePoint(100, 40.0)] for m in LONG}, label="step"),
}


@pytest.mark.parametrize("name", CROWDED)
def test_plot_texts_do_not_overlap(name: str) -> None:
    figure = CROWDED[name]()
    canvas = FigureCanvasAgg(figure)
    with plot_style():
        canvas.draw()
        shown = [
            text
            for text in figure.findobj(Text)
            if text.get_visible() and text.get_text().strip() and not text.get_rotation()
        ]
        boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in shown]
    # Ticks that are not drawn have their labels at the origin.
    boxes = [(text, box) for text, box in boxes if box.width > 0 and box.height > 0]
    assert len(boxes) > 3
    touching = [
        (first, second)
        for at, (first, one) in enumerate(boxes)
        for second, other in boxes[at + 1 :]
        if one.padded(-1).overlaps(other.padded(-1))
    ]
    assert touching == []


def test_bars_and_spokes_have_their_intervals() -> None:
    board = rank_models("t", {"m": 60.0, "n": 40.0}, 9)
    rows = tuple(row._replace(interval=Interval(row.score - 5, row.score + 7, "w")) for row in board.places)
    axes = leaderboard_plot({"x": [board._replace(places=rows)]}).axes[0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[55.0, 67.0], [35.0, 47.0]]
    assert axes.get_xlim()[1] == 67.0
    lines = radar_plot("r", SERIES).axes[0].lines
    assert [30.0, 50.0] in [list(line.get_ydata()) for line in lines]


def test_a_map_of_one_cell_has_its_colour() -> None:
    axes = heat_map({"m": {"x": 1.0}}, [DimensionGroup("g", ("x",))]).axes[0]
    (mesh,) = [each for each in axes.collections if isinstance(each, QuadMesh)]
    assert mesh.get_coordinates()[..., 0].tolist() == [[-0.5, 0.5]] * 2


def test_an_axis_ends_with_the_highest_value_there_can_be() -> None:
    axes = dot_plot("MME", {"one": {"total": Value(1487.6)}}, top=2800.0).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "1000", "2000", "2800"]
    assert axes.get_xlim() == (0.0, 2800.0)
    names = ("count", "OCR", "scene")
    axes = radar_plot("MME", {"one": dict.fromkeys(names, Value(2800.0))}, top=2800.0).axes[0]
    assert axes.get_ylim() == (0.0, 2800.0)
    assert set(axes.lines[0].get_ydata()) == {2800.0}
    fitted = dot_plot("gains", {"a": {"x": Value(-3.0)}, "b": {"x": Value(7.0)}}, fit_axis=True)
    low, high = fitted.axes[0].get_xlim()
    assert -10 <= low <= -3 < 7 <= high <= 10


def test_a_radar_has_the_spokes_that_all_series_have() -> None:
    figure = radar_plot(
        "r",
        {
            "m": dict.fromkeys("abcd", Value(1.0)),
            "n": SERIES["one"] | {"a": Value(2.0), "b": Value(3.0), "c": Value(4.0)},
        },
    )
    assert {"a", "b", "c"} <= set(texts(figure))
    assert "d" not in texts(figure)


def test_stacked_bars_are_shares_of_their_row() -> None:
    figure = stacked_bars("s", {"m": {"A": 3.0, "B": 1.0}, "n": {"B": 2.0}, "none": {"A": 0.0}})
    assert tooltips(figure) == ["m, A: 75.0 %", "m, B: 25.0 %", "n, B: 100.0 %"]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [75.0, 25.0, 100.0]
    assert "75.0" in texts(figure)


def test_darker_is_a_higher_rank_and_no_value_is_left_out() -> None:
    figure = heat_map(VALUES, GROUPS, "ranks")
    assert sorted(tooltips(figure)) == [
        "a & b, x: 50.0, rank 3 of 3",
        "a & b, y: 10.0, rank 1 of 3",
        "c, x: 70.0, rank 1 of 3",
        "c, y: 10.0, rank 1 of 3",
        "d, x: 60.0, rank 2 of 3",
        "d, y: 5.0, rank 3 of 3",
    ]
    (mesh,) = [each for each in figure.axes[0].collections if isinstance(each, QuadMesh)]
    cells = np.ma.filled(mesh.get_array(), np.nan).reshape(3, 3)
    np.testing.assert_equal(cells, [[0, 1, np.nan], [1, 1, np.nan], [0.5, 0, np.nan]])
    assert [text for text in texts(figure) if text.isdecimal()] == ["3", "1", "2", "1", "1", "3"]
    assert {"a & b", "c", "d", "x", "y", "z", "first <group>", "second"} <= set(texts(figure))


@pytest.mark.parametrize(("rank", "ranked", "share"), [(1, 1, 1.0), (1, 5, 1.0), (5, 5, 0.0)])
def test_shade_of_a_rank(rank: int, ranked: int, share: float) -> None:
    assert rank_share(rank, ranked) == share


def test_numbers_have_contrast_in_every_shade() -> None:
    darkness = []
    for step in range(31):
        ground = shades()(step / 30)
        light, dark = sorted((luminance(ground), luminance(to_rgb(ink_on(ground)))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4
        darkness.append(-sum(ground[:3]))
    assert darkness == sorted(darkness)


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance (WCAG 2.1)."""
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_an_empty_table_is_a_figure_too() -> None:
    assert "first" in texts(heat_map({}, []))


def test_the_papers_tables_5_and_6() -> None:
    numbered = [each for each in dimensions() if each.number >= 19]
    values: dict[str, dict[str, float | None]] = {}
    for name in ("seed_table5_multi_video.csv", "seed_table6_interleaved_generation.csv"):
        with paper_table(name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for dimension in numbered:
                    if dimension.name in row:
                        cell = row[dimension.name]
                        number = None if cell in ("-", "") else float(cell)
                        values.setdefault(row["model"], {})[dimension.name] = number
    cells = tooltips(heat_map(values, group_by_subpart(numbered), "SEED-Bench-H"))
    assert "GPT-4V, Meme Comprehension: 89.3, rank 1 of 29" in cells
    assert "SEED-LLaMA, Text-Image Creation: 65.8, rank 1 of 3" in cells
    assert not any(cell.startswith("SPHINX-v2-1k, Text-Image Creation") for cell in cells)


def test_a_tree_joins_tasks_at_their_distances() -> None:
    figure = tree_figure()
    assert tooltips(figure) == [
        "joined at a distance of 0.200",
        "joined at a distance of 0.300",
        "joined at a distance of 0.900",
    ]
    axes = figure.axes[0]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert {frozenset(rows[:2]), frozenset(rows[2:])} == {frozenset(NAMES[:2]), frozenset(NAMES[2:])}
    colours = [line.get_color() for line in axes.lines[:3]]
    assert set(colours[:2]) == set(PALETTE[:2])
    assert colours[2] not in PALETTE


def test_a_map_of_many_tasks_has_no_numbers_in_its_cells() -> None:
    few = distance_map(NAMES, DISTANCES.tolist(), "d")
    assert tooltips(few).count("north, west: 1.000") == 1
    assert len(tooltips(few)) == 12
    many = np.full((41, 41), 0.5)
    assert tooltips(distance_map([f"task {n}" for n in range(41)], many.tolist(), "d")) == []


def test_tau_is_labelled_with_its_pairs() -> None:
    assert {"0.20 (6)", "0.60 (1)"} <= set(texts(FIGURES["tau"]()))


def test_boards_are_bars_from_0_to_the_best_score() -> None:
    scores = {"m": 80.0, "n": 40.0, "o": 80.0}
    figure = leaderboard_plot({"MME": [rank_models("total", scores, 10), rank_models("solo", {"m": 1.0}, 10)]})
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [80.0, 80.0, 40.0]
    assert [bar.get_alpha() for bar in axes.patches] == [1.0, 1.0, 0.55]
    assert {"MME", "total", "m  1", "o  1", "n  3", "40.0"} <= set(texts(figure))


def test_boards_of_one_model_rank_nothing() -> None:
    with pytest.raises(UsageError, match="nothing to draw: no two models have comparable runs"):
        leaderboard_plot({"MME": [rank_models("solo", {"m": 1.0}, 10)]})


def test_a_card_breaks_its_lines_between_words() -> None:
    question = "word " * 30 + "语" * 3
    figure = draw_cards("c", [HardSampleCard("ocr", 1.0, question, {}, ("x",), {"m": "y"})])
    lines = [text for text in texts(figure) if text.startswith("word")]
    assert len(lines) > 3
    assert " ".join(lines) == question
    assert {"right: x", "m: y"} <= set(texts(figure))


def test_without_matplotlib_a_plot_is_one_sentence(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from snellen.report.plots.series import dot_plot\n"
        "from snellen.core.errors import MissingExtra\n"
        "try: dot_plot('t', {})\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"a plot needs matplotlib, .* pip install 'snellen\[plots\]'", done.stdout.strip())
