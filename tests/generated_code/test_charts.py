"""What is recorded of programs that draw: a handful here, hundreds beside VLMEvalKit's recorders in
tests/differential."""

from __future__ import annotations

import pytest

from snellen.generated_code.charts import AxesPlace, ChartContents
from snellen.generated_code.runner import ProgramRunner

pytestmark = pytest.mark.timeout(300)
START = "import numpy as np\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"


def contents(runner: ProgramRunner, program: str) -> ChartContents:
    report = runner.run(START + program)
    assert report.contents is not None, report.failure
    return report.contents


def test_one_figure_with_many_charts(runner: ProgramRunner) -> None:
    program = (
        "fig, axes = plt.subplots(2, 5)\n(a, b, c, d, e), (f, g, *_) = axes\n"
        "a.plot([1, 2], color='red')\na.plot([1, 2], color='red')[0].set_color('blue')\n"
        "b.bar([1, 2], [1, 2], color=['k', 'w'], alpha=0.5)\nc.hist([1, 1, 2], color='g')\n"
        "d.scatter([1], [1], c=[1], cmap='plasma')\ne.pie([1, 2], colors=['r', 'b'])\n"
        "f.imshow([[1]], cmap='gray')\ng.fill_between([1, 2], 1, color='r')\n"
        "p = fig.add_subplot(2, 5, 8, polar=True)\np.plot([1, 2], color='r')\n"
        "s = fig.add_subplot(2, 5, 9, projection='3d')\ns.scatter([1], [1], [1], color='r')\n"
    )
    drawn = contents(runner, program)
    assert drawn.calls == {
        "plot": 2,
        "bar": 1,
        "hist": 1,
        "scatter": 2,
        "pie": 1,
        "imshow": 1,
        "fill_between": 1,
        "plot polar": 1,
    }
    red, blue = "#FF0000", "#0000FF"
    assert set(drawn.colours) == {
        ("line", blue),
        ("bar", "#000000"),
        ("bar", "#FFFFFF"),
        ("hist", "#008000"),
        ("scatter", "plasma"),
        ("pie", red),
        ("pie", blue),
        ("imshow", "gray"),
        ("_fill_between_x_or_y", red),
        ("plot polar", red),
        ("scatter 3d", red),
    }
    assert (len(drawn.places), drawn.axes) == (12, 12)


@pytest.mark.release
@pytest.mark.parametrize(
    ("program", "calls", "colours"),
    [
        ("ax.plot([1, 2], color='red')", {"plot": 1}, {("line", "#FF0000")}),
        ("ax.bar([1, 2], [1, 2], color=['k', 'w'])", {"bar": 1}, {("bar", "#000000"), ("bar", "#FFFFFF")}),
        ("ax.barh([1], [1], color='k', alpha=0.5)", {"barh": 1}, {("bar", "#000000")}),
        ("ax.hist([1, 1, 2], color='g')", {"hist": 1}, {("hist", "#008000")}),
        ("ax.scatter([1], [1], c=[1], cmap='plasma')", {"scatter": 1}, {("scatter", "plasma")}),
        ("ax.imshow([[1]], cmap='gray')", {"imshow": 1}, {("imshow", "gray")}),
        ("ax.pie([1, 2], colors=['r', 'b'])", {"pie": 1}, {("pie", "#FF0000"), ("pie", "#0000FF")}),
        ("ax.fill_between([1, 2], 1, color='r')", {"fill_between": 1}, {("_fill_between_x_or_y", "#FF0000")}),
        ("ax.plot([1], color='r')[0].set_color('b')", {"plot": 1}, {("line", "#0000FF")}),
        (
            "a = plt.figure().add_subplot(polar=True)\na.plot([1, 2], color='r')",
            {"plot polar": 1},
            {("plot polar", "#FF0000")},
        ),
        (
            "a = plt.figure().add_subplot(projection='3d')\na.plot([1], [1], [1], color='r')",
            {"plot 3d": 1},
            {("plot 3d", "#FF0000")},
        ),
        ("ax.bar([1], [1], facecolor='red')", {"bar": 1}, {("bar", "#FF0000")}),
        (
            "try:\n    ax.plot([1], [1, 2])\nexcept ValueError:\n    pass\nax.plot([1], color='r')",
            {"plot": 1},
            {("line", "#FF0000")},
        ),
    ],
)
def test_calls_and_colours(
    runner: ProgramRunner, program: str, calls: dict[str, int], colours: set[tuple[str, str]]
) -> None:
    drawn = contents(runner, program)
    assert drawn.calls == calls
    assert set(drawn.colours) == colours


def test_texts_are_those_of_the_picture_without_ticks(runner: ProgramRunner) -> None:
    drawn = contents(runner, "ax.plot([1e6, 2e6])\nax.set_title('T')\nax.text(1, 1, 'a')\n" * 2)
    assert sorted(drawn.texts) == ["T", "a", "a"]


def test_places_of_axes(runner: ProgramRunner) -> None:
    grid = "fig.clf()\ng = fig.add_gridspec(2, 3)\nfig.add_subplot(g[0, 1:])\n"
    grid += "fig.add_axes([0, 0, 1, 1])"
    drawn = contents(runner, grid)
    assert (drawn.places, drawn.axes) == ((AxesPlace(2, 3, 0, 0, 1, 2),), 2)


def test_a_program_without_a_figure_has_an_empty_one(runner: ProgramRunner) -> None:
    drawn = contents(runner, "plt.close('all')")
    assert (drawn.texts, drawn.calls, drawn.places, drawn.axes) == ((), {}, (), 0)
