"""What the page of the task map says is what the stored maps say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from snellen.cli.commands.taskmap import _write_files
from snellen.report.plots.taskmap import taskmap_plots
from snellen.taskmap.findings import TaskMapFindings

SVG = "{http://www.w3.org/2000/svg}"
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "taskmap.md").read_text(encoding="utf-8")


def names_and_numbers(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def stored(name: str) -> TaskMapFindings:
    return msgspec.json.decode((DOCS / "data" / name).read_bytes(), type=TaskMapFindings)


def test_the_table_of_halves() -> None:
    found = stored("taskmap.json").map
    assert found is not None
    right = {task.task: task.before.right for task in found.tasks}
    rows = [
        f"| {one.task} | {50 * (right[one.task + '/1'] + right[one.task + '/2']):.0f} % | "
        f"{one.distance:.3f} | {100 * one.nearer_than:.0f} % | {one.nearest_distance:.3f}, "
        f"{one.nearest.split('/')[0]} |"
        for one in sorted(found.halves, key=lambda one: one.distance)
    ]
    assert "\n".join(rows) in PAGE
    assert [one.task for one in found.halves if one.apart] == ["relation"]
    assert "8 of 9; not so: relation" in PAGE
    (seeds,) = found.stability
    assert seeds.failing == (("relation",), ("relation", "which_picture"))
    assert f"correlate {seeds.correlation:.2f}" in PAGE


def test_page_matches_figures_of_the_drawn_tasks() -> None:
    found = stored("taskmap-drawn.json").map
    assert found is not None
    assert len(found.halves) == 36
    assert [one.failing for one in found.by_seed] == [()] * 3
    for one in found.by_seed:
        assert f"seed {one.seed}: halves nearer to each other for {one.tested} of 36" in PAGE
    for pair in found.stability:
        line = f"seeds {pair.first} and {pair.second}: distances correlate {pair.correlation:.2f}"
        assert line in PAGE
    own = [one.distance for one in found.halves]
    other = [one.nearest_distance for one in found.halves]
    corners = next(one for one in found.halves if one.task == "counting_corners")
    assert (f"{min(own):.2f}", f"{max(own):.2f}") == ("0.10", "0.54")
    assert f"{min(other):.2f}" == "0.40"
    assert (f"{corners.distance:.2f}", f"{corners.nearest_distance:.2f}") == ("0.54", "0.59")
    assert f"({corners.distance:.2f} against {corners.nearest_distance:.2f})" in PAGE


def test_the_table_of_models() -> None:
    found = stored("taskmap-models.json").agreement
    assert found is not None
    lines = {" ".join(line.split()) for line in PAGE.splitlines()}
    for near in found.by_distance:
        assert f"{near.threshold:.3f} {near.tau:.2f} {near.tasks} {near.pairs}" in lines
    for one in found.clusters:
        told = f"{one.name} {len(one.tasks)} {one.tau:.2f} {one.accuracy:.1f}"
        assert any(line.startswith(told) for line in lines)
    guess = found.prediction
    assert guess is not None
    assert f"off by {guess.error:.1f} points; from all other tasks: {guess.plain_error:.1f}" in PAGE


@pytest.mark.parametrize(
    ("data", "plot", "file"),
    [
        ("taskmap.json", "dendrogram.svg", "taskmap-dendrogram.svg"),
        ("taskmap.json", "distances.svg", "taskmap-distances.svg"),
        ("taskmap-drawn.json", "dendrogram.svg", "taskmap-drawn-dendrogram.svg"),
        ("taskmap-drawn.json", "seeds.svg", "taskmap-seeds.svg"),
        ("taskmap-models.json", "tau.svg", "taskmap-tau.svg"),
    ],
)
def test_the_pictures_are_those_of_the_numbers(data: str, plot: str, file: str) -> None:
    image = (DOCS / "images" / file).read_text(encoding="utf-8")
    assert names_and_numbers(image) == names_and_numbers(taskmap_plots(stored(data))[plot])
    assert re.search(rf"!\[.+\]\(images/{file}\)", PAGE)


def test_without_matplotlib_the_map_is_written_and_its_plots_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    paths = _write_files(stored("taskmap.json"), tmp_path / "map")
    assert [path.name for path in paths] == ["taskmap.json"]
    assert paths[0].is_file()
    output = capsys.readouterr()
    assert output.err.startswith("plots are left out: a plot needs matplotlib, which is not")
    assert not output.out, "which may hold JSON"


def test_page_matches_figures_of_the_control() -> None:
    found = stored("taskmap-control.json").map
    assert found is not None
    assert found.control is not None
    assert found.control.correlation is not None
    recovered = sum(not one.apart for one in found.control.halves)
    assert (
        f"control {found.control.control}: its distances correlate {found.control.correlation:.2f} "
        f"with those of the map; it places {recovered} of 5 halves together; above 0.7" in PAGE
    )
    assert found.control.correlation > 0.7
    assert not found.clusters
    for one in found.halves:
        assert re.search(rf"^{one.task} .* {one.distance:.3f} ", PAGE, re.MULTILINE)


def test_page_matches_figures_of_held_out_models() -> None:
    found = stored("taskmap-held-out.json")
    assert found.map is not None
    assert found.map.control is not None
    assert found.agreement is not None
    agreement, control = found.agreement, found.map.control
    assert not {task.task for task in found.map.tasks} & {name.rpartition("/")[2] for name in agreement.models}
    assert (len(agreement.models), agreement.tasks, found.map.clusters) == (17, 5, ())
    assert f"its distances correlate {control.correlation:.2f} with those of the map" in PAGE
    for of, value, p in (
        ("\n", agreement.mantel, agreement.mantel_p),
        ("of the control: ", agreement.control_mantel, agreement.control_mantel_p),
    ):
        assert f"{of}distance and tau correlate {value:.2f} over pairs of tasks, p = {p:.2f}" in PAGE
    guess = agreement.prediction
    assert guess is not None
    assert f"off by {guess.error:.1f} points; from all other tasks: {guess.plain_error:.1f}" in PAGE
