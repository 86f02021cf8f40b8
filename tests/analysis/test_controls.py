"""Gains over controls, of thinking and of examples; leakage; and that the controls do what they
say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.analysis.causes.gains import gains, leakages
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.control import parse_control
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource, decode_image
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Media, Request
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.control import ImagePool, shuffle_options
from snellen.report.format import run_labels
from snellen.report.page.html import write_overview
from snellen.store.runs import RunFolder, find_runs
from snellen.view.run_view import RunLibrary

LIMIT = 60


class Knowing:
    """Right wherever it sees the very picture of the question; else always A."""

    capabilities = Capabilities()

    def __init__(self, name: str = "knowing") -> None:
        self.identity = Identity("test", name)
        table = open_benchmark("eyechart")
        samples = list(table.samples(table.open()))
        self.gold = {
            (ref.digest, one.question): one.options.get(one.gold[0], one.gold[0])
            for one in samples
            for ref in one.media
        }

    def answer(self, request: Request) -> str:
        text = request.messages[-1].text()
        for part in request.messages[-1].parts:
            if isinstance(part, Media):
                for (digest, question), gold in self.gold.items():
                    if digest == part.digest and question in text:
                        line = re.search(rf"^([A-H])\. {re.escape(gold)}$", text, re.M)
                        return line[1] if line else gold
        return "A" if "\nA. " in text else "Yes"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    out = tmp_path_factory.mktemp("runs")
    model = Knowing()
    for control in (None, "blind", "black", "blur", "wrong-image:3", "shuffled-options"):
        variant = Variant(control=control)
        evaluate([model], ["eyechart"], variant=variant, out=out, limit=LIMIT, html=False)
    evaluate(["random"], ["eyechart"], variant=Variant(control="blind"), out=out, limit=LIMIT, html=False)
    return {f"{run.info.model} {run.info.config.parameters.get('control', 'plain')}": run for run in find_runs(out)}


def test_gains_of_controls_for_a_model_that_uses_images(runs: dict[str, RunFolder]) -> None:
    found = {gain.value: gain for gain in gains(list(runs.values()))}
    assert set(found) == {"blind", "black", "blur:5", "wrong-image:3", "shuffled-options:0"}
    assert found["shuffled-options:0"].gain == 0
    for factor in ("blind", "black", "blur:5", "wrong-image:3"):
        gain = found[factor]
        assert gain.base_score == 100
        assert gain.gain == pytest.approx(100 - gain.score)
        assert gain.interval is not None
        assert gain.interval.low < gain.gain < gain.interval.high
    blind = found["blind"]
    assert blind.answerable is not None
    assert blind.answerable.value == pytest.approx(blind.score)
    assert found["black"].answerable is None


def test_leakage_is_the_blind_score_beyond_the_language_model(runs: dict[str, RunFolder]) -> None:
    language, blind = runs["random blind"], runs["knowing blind"]
    (found,) = leakages([blind, language], language)
    assert found.leakage == pytest.approx(max(0.0, found.without - found.language))
    assert found.interval is None or found.interval.low >= 0
    (turned,) = leakages([language, blind], blind)
    assert turned.leakage == pytest.approx(max(0.0, found.language - found.without))
    with pytest.raises(UsageError, match="uses images"):
        leakages([blind], runs["knowing plain"])


def test_report_and_command_print_the_gain(runs: dict[str, RunFolder], capsys: pytest.CaptureFixture[str]) -> None:
    two = [str(runs[f"knowing {which}"].path) for which in ("plain", "blind")]
    assert main(["report", *two]) == 0
    assert "gains of knowing" in capsys.readouterr().out
    assert main(["analyse", "gains", *two, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [gain["value"] for gain in told["gains"]] == ["blind"]
    assert main(["analyse", "gains", two[0]]) == 2
    assert "--control blind" in capsys.readouterr().err


def test_the_viewer_and_the_overview_show_the_gains(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    blind = runs["knowing blind"]
    shelf = RunLibrary([blind.path.parent])
    result = shelf.numbers(blind.path.name)["result"]
    assert '<th scope="row">blind' in result
    assert '<th scope="row">black' not in result
    assert 'id="gains"' not in RunLibrary([blind.path]).numbers(blind.path.name)["result"]
    assert "control" in result
    assert "blind" in result
    assert set(run_labels([view.report() for view in shelf.views()])) >= {
        "knowing (limit 60)",
        "knowing (blind, limit 60)",
    }
    two = [runs[f"knowing {which}"] for which in ("plain", "blind")]
    page = write_overview([(run, run.report()) for run in two], tmp_path / "overview.html")
    assert 'id="gains"' in page.read_text()


def test_wrong_pictures_are_recorded_and_never_the_own(runs: dict[str, RunFolder]) -> None:
    table = open_benchmark("eyechart")
    own = {one.id: one for one in table.samples(table.open())}
    several = 0
    for record in runs["knowing wrong-image:3"].records():
        sample = own[record.id]
        right = [ref.digest for ref in sample.media]
        shown = [part.digest for part in record.passes[0].prompt[0].media()]
        assert len(shown) == len(right) == len(set(shown))
        assert not set(shown) & set(right)
        several += len(shown) > 1
    assert several


def picture(name: str) -> MediaRef:
    return MediaRef(name, InlineSource(name.encode()))


def asked(name: str, *pictures: str, unit: str = "") -> Sample:
    return Sample(id=name, kind="open", question="?", media=tuple(map(picture, pictures)), unit=unit)


def test_questions_of_one_unit_get_the_same_wrong_picture_and_not_each_others() -> None:
    pair = [asked("1", "a", unit="u"), asked("2", "a", unit="u"), asked("3", "b", unit="u")]
    pictures = ImagePool.from_samples([*pair, asked("4", "c"), asked("5", "d"), asked("6", "e")])
    for seed in range(20):
        first, second, third = (pictures.swap_images(one, seed).media[0].digest for one in pair)
        assert first == second
        assert {first, third} <= {"c", "d", "e"}
    drawn = {pictures.swap_images(pair[0], seed).media[0].digest for seed in range(40)}
    assert drawn == {"c", "d", "e"}


def test_refuses_swap_with_too_few_other_images() -> None:
    lonely = [asked("1", "a"), asked("2", "a")]
    with pytest.raises(UsageError, match="too few other images for the sample '1'"):
        ImagePool.from_samples(lonely).swap_images(lonely[0], 0)


def test_shuffled_options_keep_their_texts_and_the_right_answer() -> None:
    options = {"A": "red", "B": "green", "C": "blue", "D": "grey"}
    sample = Sample(id="1", kind="choice", question="?", gold=("C",), options=options)
    seen = set()
    for seed in range(30):
        other = shuffle_options(sample, seed)
        assert list(other.options) == list("ABCD")
        assert sorted(other.options.values()) == sorted(options.values())
        assert other.options != options
        assert other.options[other.gold[0]] == "blue"
        seen.add(other.gold[0])
    assert seen == set("ABCD")


@pytest.mark.parametrize(
    "options",
    [
        {"A": "red", "B": "both A and C", "C": "none of the above"},
        {"A": "A", "B": "B"},
        {"A": "<image>", "B": "<image>"},
    ],
)
def test_options_that_belong_to_their_places_are_not_shuffled(options: dict[str, str]) -> None:
    sample = Sample(id="1", kind="choice", question="?", gold=("B",), options=options)
    assert shuffle_options(sample, 1) == sample


def test_blur_keeps_the_size_and_increases_with_the_radius() -> None:
    def shown(control: str | None) -> tuple[tuple[int, int], int]:
        benchmark = open_benchmark("eyechart", Variant(control=control))
        sample = next(iter(benchmark.samples(benchmark.open())))
        sample = benchmark.prepare(sample) if benchmark.prepare else sample
        seen = decode_image(sample.media[0].source.read())
        low, high = seen.convert("L").getextrema()
        return seen.size, high - low

    plain, little, much = shown(None), shown("blur:1"), shown("blur:30")
    assert plain[0] == little[0] == much[0]
    assert plain[1] > much[1]
    assert little[1] > much[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("blur", "blur:5"),
        ("blur:2.5%", "blur:2.5"),
        ("wrong-image", "wrong-image:0"),
        ("shuffled-options:7", "shuffled-options:7"),
        ("blind", "blind"),
    ],
)
def test_a_control_is_recorded_with_its_setting(text: str, told: str) -> None:
    assert str(parse_control(text)) == told
    assert str(parse_control(told)) == told
    assert open_benchmark(f"eyechart:control={text}").parameters["control"] == told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("wrong-imag", "did you mean wrong-image"),
        ("blind:3", "has no setting"),
        ("blur:0", "above 0"),
        ("wrong-image:x", "whole number"),
    ],
)
def test_a_control_that_there_is_not_is_explained(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_control(text)


def test_thinking_and_examples_are_gains_too(tmp_path: Path) -> None:
    model = Knowing()
    for spec in ("eyechart", "eyechart:cot=on", "eyechart:shots=2", "eyechart:shots=2,cot=on"):
        evaluate([model], [spec], out=tmp_path, limit=20, html=False)
    found = sorted((gain.setting, gain.value, gain.folder) for gain in gains(find_runs(tmp_path)))
    assert [one[:2] for one in found] == [("cot", "on")] * 2 + [("shots", "2")] * 2


def test_examples_combine_with_shuffled_options() -> None:
    assert open_benchmark("eyechart:shots=1,control=shuffled-options").parameters["shots"] == "1"
    with pytest.raises(UsageError, match="would not change"):
        open_benchmark("eyechart:shots=1,control=blind")


def test_a_declared_chance_is_reported(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "benchmarks" / "layouts" / "mmvp.tsv"
    benchmark = open_benchmark("mmvp", Variant(data=str(path)))
    assert benchmark.chance == 25.0
    (run,) = evaluate(["random"], [replace(benchmark)], out=tmp_path, html=False).runs
    assert run.report().summary.metrics["chance"].value == 25.0


def test_run_and_page_show_the_gain_if_both_runs_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["run", "-m", "random", "-b", "eyechart", "--limit", "12", "-q", "--out", str(tmp_path)]
    assert main(argv) == 0
    assert "gains of" not in capsys.readouterr().out
    assert main([*argv, "--control", "black"]) == 0
    assert "gains of random" in capsys.readouterr().out
    pages = [run.path / "report.html" for run in find_runs(tmp_path)]
    told = ['id="gains"' in page.read_text() for page in pages]
    assert sorted(told) == [False, True]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    assert main(argv) == 0
