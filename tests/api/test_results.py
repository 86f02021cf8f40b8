"""Results as one looks at them from Python."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from PIL import Image

import snellen
from snellen.cli import main
from snellen.core.run import Status
from snellen.report.notebook.progress import NotebookProgress, ProgressBar

COLOURS = ("red", "blue", "green", "black", "white", "yellow")
NASTY = '<script>alert("x")</script> & [bold]'


def rows(count: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{number}",
            "question": f"Question {number} {NASTY}",
            "image": Image.new("RGB", (20, 20), (number * 20, 0, 0)),
            "A": "red",
            "B": "blue",
            "answer": "AB"[number % 2],
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> snellen.Results:
    out = tmp_path_factory.mktemp("runs")
    data = snellen.Data(rows(), name="shades")
    return snellen.evaluate(["random", "random:seed=1"], data, out=out)


class Tags(HTMLParser):
    """Checks that every element is closed, and notes the names of all."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in ("br", "img", "line", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(markup: str) -> Tags:
    tags = Tags()
    tags.feed(markup)
    assert not tags.open
    assert "script" not in tags.names
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    return tags


def test_a_run_has_its_numbers(results: snellen.Results) -> None:
    run = results[0]
    assert (run.model, run.benchmark, run.status, run.n) == ("random", "shades", "complete", 12)
    assert run.interval is not None
    assert run.score is not None
    assert run.interval.low <= run.score <= run.interval.high
    assert run.page is not None
    assert run.page.is_file()
    assert isinstance(run, snellen.RunFolder)


@pytest.mark.parametrize("key", ["random:seed=1", ("random:seed=1", "shades"), ("shades", "random:seed=1"), 1, -1])
def test_a_run_by_name(results: snellen.Results, key: Any) -> None:
    assert results[key].model == "random:seed=1"


def test_a_run_by_its_folder(results: snellen.Results) -> None:
    assert results[results[0].name].path == results[0].path


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("randm", "unknown run 'randm'; did you mean random"),
        ("shades", "2 runs have the name shades"),
        (("random", "eyechart"), "unknown run 'random on eyechart'"),
    ],
)
def test_a_name_that_is_not_one_run(results: snellen.Results, key: Any, sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        results[key]


def test_an_attribute_of_a_run_is_named(results: snellen.Results) -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'samples': each run has it, as in results\[0\].samples"):
        results.samples()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'topics'$"):
        _ = results.topics  # type: ignore[attr-defined]


def test_results_are_iterated_and_counted(results: snellen.Results) -> None:
    assert [run.model for run in results] == ["random", "random:seed=1"]
    assert len(results) == 2
    assert results.runs == list(results)


def test_repr_is_the_table_of_the_terminal(results: snellen.Results) -> None:
    text = repr(results)
    assert re.search(r"^random\s+\d+\.\d\s+\d+\.\d–\d+\.\d\s+12$", text, re.MULTILINE)
    assert re.search(r"^baseline: chance\s+50\.0", text, re.MULTILINE)
    assert f"report: {results[0].page}" in text
    assert "\x1b" not in text
    assert re.search(r"^random:seed=1\s+", repr(results[1]), re.MULTILINE) is not None


def test_html_has_score_interval_n_setting_and_link(results: snellen.Results) -> None:
    markup = results._repr_html_()
    tags = parse(markup)
    assert tags.names.count("table") == 1
    assert tags.names.count("svg") == 2
    assert "95 % interval" in markup
    assert "seed=1" in markup
    links = [value for name, value in tags.attributes if name == "href"]
    assert links == [run.page.as_uri() for run in results if run.page]
    # No colour of its own: those of the notebook's theme, light or dark.
    assert not re.search(r"(?<!-)color:(?!inherit)", markup)


def test_links_below_the_current_folder_are_relative(results: snellen.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results[0].path.parent)
    assert f'href="{results[0].name}/report.html"' in results[0]._repr_html_()


def test_names_settings_that_differ_from_the_default(tmp_path: Path) -> None:
    variant = snellen.Variant(control="blind")
    results = snellen.evaluate("random", "eyechart", out=tmp_path, limit=12, variant=variant)
    for text in (results._repr_html_(), results.to_dicts()[0]["setting"]):
        assert {"blind", "limit 12"} <= set(re.findall(r"blind|limit 12", text))


def test_samples_have_everything(results: snellen.Results) -> None:
    samples = results[0].samples()
    assert len(samples) == 12
    sample = samples["q3"]
    assert sample.question == f"Question 3 {NASTY}"
    assert sample.options == {"A": "red", "B": "blue"}
    assert sample.gold == ("B",)
    assert sample.reply in ("A", "B")
    assert sample.answer == sample.reply
    assert sample.verdict == ("right" if sample.answer == "B" else "wrong")
    assert sample.score == float(sample.answer == "B")
    (image,) = sample.images
    assert image.getpixel((0, 0)) == (60, 0, 0)
    assert "[image]" in sample.prompt
    assert "Question 3" in sample.prompt
    assert "q3" in repr(sample)
    with pytest.raises(snellen.SnellenError, match="unknown sample 'q99'"):
        samples["q99"]


def test_samples_are_selected(results: snellen.Results) -> None:
    samples = results[0].samples()
    assert len(samples[:5]) == 5
    assert {sample.score for sample in samples.wrong} == {0.0}
    right = samples.where(lambda sample: sample.score == 1)
    assert len(right) + len(samples.wrong) == 12
    assert repr(samples).endswith("... 12 samples")
    assert repr(samples[:0]) == "no samples"


def test_a_sample_shows_its_picture(results: snellen.Results) -> None:
    markup = results[0].samples()["q3"]._repr_html_()
    tags = parse(markup)
    sources = [value for name, value in tags.attributes if name == "src"]
    assert len(sources) == 1
    assert str(sources[0]).startswith("data:image/jpeg;base64,")
    assert "Question 3 &lt;script&gt;" in markup
    assert "(gold" in markup


def test_a_list_of_samples_shows_ten(results: snellen.Results) -> None:
    tags = parse(results[0].samples()._repr_html_())
    assert tags.names.count("img") == 10


def test_pictures_are_there_without_thumbnails(tmp_path: Path) -> None:
    data = snellen.Data(rows(2), name="shades")
    run = snellen.evaluate("random", data, out=tmp_path, html=False)[0]
    assert not (run.path / "media").exists()
    assert "data:image/jpeg" in run.samples()[0]._repr_html_()


def test_runs_on_data_in_memory_open_after_moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = snellen.Data(rows(2), name="shades")
    snellen.evaluate("random", data, out=tmp_path / "here", html=False)
    (tmp_path / "here").rename(tmp_path / "there")
    (run,) = snellen.open_runs(tmp_path / "there")
    assert run.score is not None
    assert len(run.samples()[0].images) == 1


def test_frames(results: snellen.Results, tmp_path: Path) -> None:
    frame = results.to_pandas()
    assert list(frame["model"]) == ["random", "random:seed=1"]
    assert list(frame["n"]) == [12, 12]
    assert results.to_polars()["score"].to_list() == [run.score for run in results]
    written = pd.read_parquet(results.to_parquet(tmp_path / "runs.parquet"))
    assert list(written["score"]) == [run.score for run in results]


def test_groups_are_rows(tmp_path: Path) -> None:
    data = [{**row, "category": "odd" if at % 2 else "even"} for at, row in enumerate(rows())]
    results = snellen.evaluate(["random", "random:seed=1"], data, out=tmp_path / "out")
    frame = results.groups.to_pandas()
    assert list(frame.columns) == [
        "run",
        "model",
        "benchmark",
        "metric",
        "column",
        "group",
        "value",
        "low",
        "high",
        "n",
    ]
    assert list(frame["group"]) == ["even", "odd"] * 2
    assert list(frame["n"]) == [6] * 4
    for run in results:
        mine = frame[frame["model"] == run.model]
        assert mine["value"].mean() == pytest.approx(run.score)
        assert (mine["low"] <= mine["value"]).all()
    assert len(results[:1].groups) == len(list(results[:1].groups)) == 2


def test_results_as_texts_are_those_of_the_report(results: snellen.Results, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(run.path) for run in results]
    for form in ("markdown", "latex", "csv", "json"):
        assert main(["report", *folders, "--format", form]) == 0
        assert results.to_text(form) == capsys.readouterr().out
    with pytest.raises(snellen.SnellenError, match="unknown format 'word'; expected one of table,"):
        results.to_text("word")
    with pytest.raises(snellen.SnellenError, match="there are no runs"):
        snellen.Results().to_text()


def test_a_plot_is_a_figure_that_nothing_is_cut_from(
    results: snellen.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    figure = results.plot()
    width, height = figure.get_size_inches()
    drawn = figure.get_tightbbox()
    assert 0 <= drawn.x0 < drawn.x1 <= width
    assert 0 <= drawn.y0 < drawn.y1 <= height
    figure.savefig(tmp_path / "scores.svg")
    assert (tmp_path / "scores.svg").read_bytes().startswith(b"<?xml")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(snellen.SnellenError, match=r"pip install 'snellen\[plots\]'"):
        results.plot()


def test_samples_as_frames(results: snellen.Results, tmp_path: Path) -> None:
    samples = results[0].samples()
    expected = [
        "id",
        "kind",
        "question",
        "options",
        "gold",
        "reply",
        "answer",
        "outcome",
        "score",
        "tokens",
        "prompt_tokens",
        "latency",
        "failure",
        "groups",
    ]
    frame = samples.to_pandas()
    assert list(frame.columns) == expected
    assert frame["score"].mean() * 100 == pytest.approx(results[0].score)
    assert samples.to_polars().columns == expected
    written = pl.read_parquet(samples.to_parquet(tmp_path / "samples.parquet"))
    assert written["id"].to_list() == [sample.id for sample in samples]
    with pytest.raises(snellen.SnellenError, match="cannot write"):
        samples.to_parquet(tmp_path / "nowhere" / "samples.parquet")


def test_a_missing_library_is_one_sentence(results: snellen.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    for convert in (results.to_pandas, results.to_polars):
        with pytest.raises(snellen.SnellenError, match=r"pip install 'snellen\[frames\]'"):
            convert()


def test_comparison(results: snellen.Results) -> None:
    comparison = results.compare()
    (pair,) = comparison
    assert (pair.first, pair.second) == ("random", "random:seed=1")
    assert pair.interval is not None
    assert pair.p is not None
    assert pair.p_holm is not None
    assert pair.difference == pytest.approx(results[1].score - results[0].score)
    assert comparison.to_pandas()["p_holm"][0] == pair.p_holm
    assert "random:seed=1 – random" in repr(comparison)
    markup = comparison._repr_html_()
    parse(markup)
    assert "random:seed=1 – random" in markup
    assert comparison.verdicts[0] in repr(comparison).replace("\n", " ")


@pytest.mark.parametrize("form", ["runs", "list", "results", "folder", "paths", "twice"])
def test_accepts_all_forms_of_runs_to_compare(results: snellen.Results, form: str) -> None:
    folder = results[0].path.parent
    given: dict[str, tuple[Any, ...]] = {
        "runs": tuple(results),
        "list": (list(results),),
        "results": (results,),
        "folder": (folder,),
        "paths": tuple(str(run.path) for run in results),
        "twice": (results, folder, *results),
    }
    assert len(snellen.compare(*given[form])) == 1


@pytest.mark.parametrize(
    ("runs", "options", "sentence"),
    [
        ((), {}, "at least two|two runs|fewer"),
        ((5,), {}, "int is not a run"),
        (("nowhere",), {}, "no run in nowhere"),
        ((), {"level": 95}, "expected fractions"),
    ],
)
def test_refuses_runs_that_cannot_be_compared(runs: Any, options: Any, sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        snellen.compare(*runs, **options)


def test_open_runs(results: snellen.Results, tmp_path: Path) -> None:
    folder = results[0].path.parent
    assert [run.path for run in snellen.open_runs(folder)] == sorted(run.path for run in results)
    assert len(snellen.open_runs(folder, results[0].path)) == 2
    run = snellen.open_run(results[0].path)
    assert run.score == results[0].score
    with pytest.raises(snellen.SnellenError, match="no run in"):
        snellen.open_runs(tmp_path)
    with pytest.raises(snellen.SnellenError, match="no folder of runs is named"):
        snellen.open_runs()
    with pytest.raises(snellen.SnellenError, match="is not a run folder"):
        snellen.open_run(tmp_path)


def test_skipped_models_are_named(tmp_path: Path) -> None:
    class Reader:
        identity = snellen.Identity("mine", "reader", {})
        capabilities = snellen.Capabilities(inputs=frozenset({"text"}))

        async def answer(self, request: snellen.Generate) -> snellen.Generated:
            return snellen.Generated("A")

    results = snellen.evaluate([Reader()], "eyechart", out=tmp_path)
    assert len(results) == 0
    assert repr(results).startswith("skipped: reader on eyechart: needs image input")
    assert "needs image input" in results._repr_html_()


class Noted:
    """A progress that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def on_start(self, name: str, total: int, done: int) -> None:
        self.calls.append(("start", name, total, done))

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        self.calls.append(("advance", done))

    def on_finish(self, status: Status) -> None:
        self.calls.append(("finish", status))


def test_no_progress_output_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (None, False):
        snellen.evaluate("random", rows(2), out=tmp_path, html=False, progress=progress)
    assert capsys.readouterr() == ("", "")
    snellen.evaluate("random", rows(2), out=tmp_path / "new", html=False, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "random on data: complete, 2 of 2 (100 %)" in err


def test_progress_as_an_object(tmp_path: Path) -> None:
    noted = Noted()
    snellen.evaluate("random", rows(2), out=tmp_path, html=False, progress=noted)
    assert noted.calls == [("start", "random on data", 2, 0), ("advance", 1), ("advance", 2), ("finish", "complete")]


@pytest.fixture
def many(tmp_path: Path) -> list[Any]:
    path = tmp_path / "file.jsonl"
    path.write_text('{"question": "?", "answer": "yes"}\n')
    return [path, str(path), rows(2), snellen.Data(pd.DataFrame(rows(3)), name="three")]


def test_benchmarks_of_every_form_in_one_call(tmp_path: Path, many: list[Any]) -> None:
    results = snellen.evaluate("random", many[1:], out=tmp_path / "runs", html=False)
    assert [(run.benchmark, run.n) for run in results] == [("file", 1), ("data", 2), ("three", 3)]
    assert snellen.evaluate("random", many[0], out=tmp_path / "runs", html=False)[0].n == 1


def test_columns_of_rows_are_theirs_alone(tmp_path: Path) -> None:
    renamed = [{"text": "Is it?", "truth": "yes"}, {"text": "Is it not?", "truth": "no"}]
    data = snellen.Data(renamed, name="renamed", columns={"question": "text", "gold": "truth"})
    results = snellen.evaluate("random", [data, rows(2)], out=tmp_path, html=False)
    assert [run.n for run in results] == [2, 2]
    assert snellen.open_runs(tmp_path)["renamed"].samples()[0].question == "Is it?"


def test_the_same_rows_resume_their_run(tmp_path: Path) -> None:
    first = snellen.evaluate("random", rows(4), out=tmp_path, html=False)[0]
    noted = Noted()
    frame = pd.DataFrame(rows(4))
    again = snellen.evaluate("random", frame, out=tmp_path, html=False, progress=noted)[0]
    assert again.path == first.path
    assert noted.calls[0] == ("start", "random on data", 4, 4)
    assert len(list((tmp_path / "data").glob("*/*.parquet"))) == 1


@pytest.mark.parametrize(
    ("benchmarks", "sentence"),
    [
        ([rows(1), rows(2)], "2 sets of rows are called 'data'"),
        (5, "a benchmark cannot be of type int"),
        ([5], "a benchmark cannot be of type int"),
        (snellen.Data(rows(1), name="eyechart"), "eyechart is a benchmark that Snellen knows"),
        (snellen.Data(rows(1), columns={"gold": "nowhere"}), "unknown column 'nowhere'"),
        ([{"question": "?", "A": "x", "B": "y", "answer": "C"}], "row 1: the answer 'C' is none"),
    ],
)
def test_mistakes_in_benchmarks_give_one_sentence(tmp_path: Path, benchmarks: Any, sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        snellen.evaluate("random", benchmarks, out=tmp_path)


def test_a_plan_over_rows_in_memory(tmp_path: Path) -> None:
    planned = snellen.plan("random", rows(4), out=tmp_path)
    assert [line.estimate.requests for line in planned.lines if line.estimate] == [4]
    assert re.search(r"^random\s+data\s+4\s+4\s+0", repr(planned), re.MULTILINE)
    assert "requests expected" in planned._repr_html_()
    assert parse(planned._repr_html_()).names.count("table") == 1


def test_data_without_answers_are_not_asked(tmp_path: Path) -> None:
    data = [{"question": "What?"}, {"question": "Who?"}]
    with pytest.raises(snellen.SnellenError, match="none of 2 rows has an answer") as stopped:
        snellen.evaluate("random", data, out=tmp_path)
    assert "--columns", "gold=" in str(stopped.value)
    planned = snellen.plan("random", data, out=tmp_path)
    assert any("none of 2 rows has an answer" in note for note in planned.notes)
    run = snellen.evaluate("random", data, out=tmp_path, require_answers=False)[0]
    assert (run.score, run.summary.total) == (None, 2)
    assert "–" in run._repr_html_()


@pytest.mark.parametrize("column", ["answer", "gold", "label", "GOLD"])
def test_names_of_the_answer(tmp_path: Path, column: str) -> None:
    data = [{"question": "Is it?", column: "yes"}]
    assert snellen.evaluate("random", data, out=tmp_path, html=False)[0].n == 1


def test_under_a_running_loop(tmp_path: Path) -> None:
    async def cell() -> snellen.Results:
        return snellen.evaluate("random", rows(2), out=tmp_path, html=False)

    assert asyncio.run(cell())[0].n == 2


class Place:
    """Where a notebook shows something."""

    def __init__(self, bar: ProgressBar) -> None:
        self.bars = [bar]

    def update(self, content: ProgressBar) -> None:
        self.bars.append(content)


def test_progress_of_a_notebook() -> None:
    now = 0.0
    places: list[Place] = []

    def show(bar: ProgressBar) -> Place:
        places.append(Place(bar))
        return places[-1]

    progress = NotebookProgress(show, lambda: now)
    progress.on_start("<b> on shapes", 100, 20)
    for done in range(21, 41):
        now += 1
        progress.on_advance(done, 0, done, 0, 0, 0.5)
    progress.on_finish("interrupted")
    (place,) = places
    lines = [repr(bar) for bar in place.bars]
    assert lines[0].startswith("<b> on shapes: 20/100 · requests")
    # No estimate before ten samples of this start.
    assert not any("left" in line for line in lines[:10])
    assert "40/100 · 1 min left · score 50.0" in lines[20]
    assert "interrupted in 20 s" in lines[21]
    for bar in place.bars:
        assert parse(bar._repr_html_()).names.count("progress") == 1
        assert "&lt;b&gt; on shapes" in bar._repr_html_()


def test_a_bar_is_not_drawn_for_every_sample() -> None:
    places: list[Place] = []

    def show(bar: ProgressBar) -> Place:
        places.append(Place(bar))
        return places[-1]

    progress = NotebookProgress(show, lambda: 0.0)
    progress.on_start("random on shapes", 1000, 0)
    for done in range(1000):
        progress.on_advance(done, 0, done, 0, 0, None)
    progress.on_finish("complete")
    assert len(places[0].bars) == 2


def test_data_without_answers_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "questions.tsv"
    path.write_text("question\tA\tB\nWhat?\tx\ty\nWho?\tx\ty\n")
    command = ["run", "-m", "random", "-b", str(path), "--out", str(tmp_path / "runs"), "-q"]
    assert main(command) == 2
    _, err = capsys.readouterr()
    assert err.startswith(f"snellen: {path}: none of 2 rows has an answer")
    assert err.count("\n") == 1
    assert not list((tmp_path / "runs").glob("*/run.json"))
    assert main([*command, "--columns", "gold="]) == 0
