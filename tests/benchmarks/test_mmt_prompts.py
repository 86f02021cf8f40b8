"""MMT-Bench's prompt variants as parameters, and the controls of every benchmark."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from mmt_rows import picture, row, several, write

from snellen import evaluate
from snellen.benchmarks.abilities.mmt_bench.prompts import interleave_images
from snellen.benchmarks.abilities.mmt_bench.tasks import by_study
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.media import InlineSource, decode_image
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Request, Text
from snellen.core.sample import MediaRef, Sample
from snellen.store.runs import find_runs

RETRIEVAL = row(
    1,
    "face_retrieval",
    "image_retrieval",
    question="Please retrieve the most similar person to the query in the candidates.",
    image=several(("red", "green", "red", "blue")),
    A="Candidate 1",
    B="Candidate 2",
    C="Candidate 3",
    D="",
    answer="B",
)
WEATHER = row(2, "weather_recognition", "visual_recognition")
DETECTION = row(
    3,
    "object_detection",
    "localization",
    question="Detect it. Note that the width of the input image is 60 and the height is 40.",
    A="[6, 4, 30, 20]",
    B="[0, 0, 60, 40]",
    C="[3, 4, 30, 20]",
    D="[6, 4, 30, 40]",
)
RELATION = row(
    4,
    "social_relation_recognition",
    "relation_reasoning",
    question="How do they get on (with each face marked with a RED bounding box)?",
    boxes=json.dumps([[6, 4, 30, 20], [36, 8, 54, 30]]),
)
ROWS = [RETRIEVAL, WEATHER, DETECTION, RELATION]


class Watching:
    """A model that always says A and keeps what it was asked."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.identity = Identity("test", "watching")
        self.capabilities = capabilities
        self.asked: dict[str, Generate] = {}

    def answer(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        self.asked[request.ref.sample] = request
        return Generated("A")


def data(folder: Path, rows: list[dict[str, str]] = ROWS) -> str:
    return str(write(folder / "mmt.tsv", rows, extra=("boxes",)))


def opened(path: str, **options: str) -> Benchmark:
    return open_benchmark("mmt-bench", Variant(data=path, options=options))


def shown(path: str, **options: str) -> dict[str, Sample]:
    benchmark = opened(path, **options)
    assert benchmark.prepare is not None
    return {one.id: benchmark.prepare(one) for one in benchmark.samples(benchmark.open())}


def test_images_apart_stitched_or_the_first(tmp_path: Path) -> None:
    path = data(tmp_path)
    assert len(shown(path)["1"].media) == 4
    (stitched,) = shown(path, images="stitch")["1"].media
    assert decode_image(stitched.source.read()).width > 4 * 60
    (first,) = shown(path, images="first")["1"].media
    assert first == shown(path)["1"].media[0]


def test_the_choice_is_recorded(tmp_path: Path) -> None:
    assert opened(data(tmp_path), images="stitch", coords="pixel").parameters == {
        "split": "val",
        "images": "stitch",
        "placing": "text",
        "referring": "box",
        "coords": "pixel",
        "tasks": "all",
    }


def test_a_model_of_one_image_is_not_asked_about_several(tmp_path: Path) -> None:
    model = Watching(Capabilities(many_images=False))
    results = evaluate([model], [opened(data(tmp_path))], out=tmp_path / "out", html=False)
    assert set(model.asked) == {"2", "3", "4"}
    summary = results.runs[0].report().summary
    assert summary.outcomes["unsupported"] == 1
    assert "face_retrieval" not in summary.groups["category"]


def test_the_stitched_picture_is_what_the_model_gets_and_the_page_shows(tmp_path: Path) -> None:
    model = Watching(Capabilities(many_images=False))
    benchmark = opened(data(tmp_path), images="stitch")
    results = evaluate([model], [benchmark], out=tmp_path / "out")
    request = model.asked["1"]
    (part,) = request.messages[0].media()
    assert decode_image(request.media[part.digest].read()).width > 240
    (record,) = [one for one in results.runs[0].records() if one.id == "1"]
    assert record.media == (part.digest,)
    assert (results.runs[0].path / "media" / f"{part.digest}.jpg").exists()


def test_a_broken_picture_fails_its_sample_alone(tmp_path: Path) -> None:
    broken = RETRIEVAL | {"image": f"['{picture('red')}', 'bm8gcGljdHVyZQ==']"}
    model = Watching(Capabilities(many_images=False))
    benchmark = opened(data(tmp_path, [broken, WEATHER]), images="stitch")
    results = evaluate([model], [benchmark], out=tmp_path / "out", html=False)
    assert set(model.asked) == {"2"}
    (failed,) = results.runs[0].failures()
    assert (failed.id, failed.outcome) == ("1", "failed")


def test_coordinates_change_in_detection_alone(tmp_path: Path) -> None:
    found = shown(data(tmp_path), coords="normalised")
    assert found["3"].options["A"] == "[0.100, 0.100, 0.500, 0.500]"
    assert "60" not in found["3"].question
    assert found["2"].options == shown(data(tmp_path))["2"].options


def test_size_is_read_from_the_image_if_the_question_lacks_it(tmp_path: Path) -> None:
    silent = DETECTION | {"question": "Detect it.", "image": picture("red", (120, 40))}
    found = shown(data(tmp_path, [silent]), coords="normalised")
    assert found["3"].options["B"] == "[0.000, 0.000, 0.500, 1.000]"
    without = silent | {"image": ""}
    with pytest.raises(DataError, match="states no image size and has no image"):
        shown(data(tmp_path, [without]), coords="normalised")


def test_regions_are_drawn_or_written(tmp_path: Path) -> None:
    path = data(tmp_path)
    drawn = shown(path)["4"]
    assert decode_image(drawn.media[0].source.read()).getpixel((6, 10)) == (255, 0, 0)
    written = shown(path, referring="normalised")["4"]
    assert "[0.100, 0.100, 0.500, 0.500]" in written.question
    assert decode_image(written.media[0].source.read()).getpixel((6, 10)) != (255, 0, 0)


def test_published_data_have_no_regions_to_write(tmp_path: Path) -> None:
    path = data(tmp_path, [WEATHER, RELATION | {"boxes": ""}])
    with pytest.raises(DataError, match="the question 4 has no boxes"):
        shown(path, referring="pixel")
    with pytest.raises(DataError, match="expected a JSON list of boxes"):
        shown(data(tmp_path, [RELATION | {"boxes": "left of it"}]))


def test_the_subtasks_of_one_study_alone(tmp_path: Path) -> None:
    path = data(tmp_path)
    assert set(shown(path, tasks="multi-image")) == {"1"}
    assert set(shown(path, tasks="detection")) == {"3"}
    assert set(shown(path, tasks="referring")) == {"4"}


@pytest.mark.parametrize("spec", ["mmt-bench:control=blind", "mmt-bench"])
def test_blind_lets_a_text_only_model_answer(tmp_path: Path, spec: str) -> None:
    model = Watching(Capabilities(inputs=frozenset({"text"}), many_images=False))
    control = None if "control" in spec else "blind"
    variant = Variant(data=data(tmp_path), control=control)
    results = evaluate([model], [spec], out=tmp_path / "out", variant=variant, html=False)
    assert results.skipped == []
    assert set(model.asked) == {"1", "2", "3", "4"}
    assert all(not one.messages[0].media() for one in model.asked.values())
    assert results.runs[0].info.config.parameters["control"] == "blind"


def test_seeing_a_text_only_model_is_skipped_with_the_reason(tmp_path: Path) -> None:
    model = Watching(Capabilities(inputs=frozenset({"text"})))
    results = evaluate([model], [opened(data(tmp_path))], out=tmp_path / "out", html=False)
    assert "needs image input" in results.skipped[0].reason


def test_black_pictures_have_the_size_of_what_they_replace(tmp_path: Path) -> None:
    found = shown(data(tmp_path), control="black", images="stitch")
    (ref,) = found["1"].media
    picture_ = decode_image(ref.source.read())
    assert picture_.getextrema() == ((0, 0),) * 3
    (seen,) = shown(data(tmp_path), images="stitch")["1"].media
    assert picture_.size == decode_image(seen.source.read()).size


def test_any_benchmark_takes_a_control(tmp_path: Path) -> None:
    benchmark = open_benchmark("eyechart", Variant(control="blind"))
    assert benchmark.prepare is not None
    sample = next(iter(benchmark.samples(benchmark.open())))
    assert sample.media
    assert benchmark.prepare(sample).media == ()
    with pytest.raises(UsageError, match="control 'dark': expected one of blind, black, blur"):
        open_benchmark("eyechart:control=dark")


def asked(path: str, **options: str) -> dict[str, list[str]]:
    """The parts of every prompt, pictures as <image>."""
    model = Watching(Capabilities())
    benchmark = opened(path, **options)
    out = Path(path).parent / "_".join(["out", *options.values()])
    evaluate([model], [benchmark], out=out, html=False)
    return {
        name: [part.text if isinstance(part, Text) else "<image>" for part in one.messages[0].parts]
        for name, one in model.asked.items()
    }


def test_images_are_placed_as_in_the_paper(tmp_path: Path) -> None:
    told = RETRIEVAL["question"] + (
        "\nThe first image is the query image and the remaining images are candidates from Candidate 1 to Candidate 3."
    )
    path = data(tmp_path, [RETRIEVAL | {"question": told}, WEATHER])
    options = "\nOptions:\nA. Candidate 1\nB. Candidate 2\nC. Candidate 3"
    assert asked(path)["1"] == [
        *["<image>"] * 4,
        f"Question: {told}{options}\nPlease select the correct answer from the options above.",
    ]
    assert asked(path, prompt="paper", placing="start")["1"] == ["Question: ", *["<image>"] * 4, f"{told}{options}"]
    papers = asked(path, prompt="paper")
    assert papers["1"] == [
        "Question: Please retrieve the most similar person to the query: ",
        "<image>",
        "in the candidates: Candidate 1: ",
        "<image>",
        ", Candidate 2: ",
        "<image>",
        ", Candidate 3: ",
        "<image>",
        f".{options}",
    ]
    assert papers["2"][:2] == ["Question: ", "<image>"]


def test_a_question_that_is_worded_otherwise_keeps_its_images_first(tmp_path: Path) -> None:
    path = data(tmp_path, [RETRIEVAL])
    assert asked(path, prompt="paper")["1"][:5] == ["Question: ", *["<image>"] * 4]


def test_stitched_image_comes_first(tmp_path: Path) -> None:
    path = data(tmp_path, [RETRIEVAL])
    assert asked(path, prompt="paper", images="stitch")["1"][:2] == ["Question: ", "<image>"]


def test_the_papers_prompt_is_recorded_with_its_digest(tmp_path: Path) -> None:
    parameters = opened(data(tmp_path), prompt="paper", placing="start").parameters
    assert (parameters["prompt"], parameters["placing"]) == ("paper", "start")
    assert len(parameters["prompt_digest"]) == 12


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"placing": "start"}, "is for prompt=paper"),
        ({"shots": "2", "images": "stitch"}, "shows examples as the data hold them"),
        ({"shots": "2", "coords": "pixel"}, "shows examples as the data hold them"),
    ],
)
def test_choices_that_exclude_each_other(tmp_path: Path, options: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        opened(data(tmp_path), **options)


PAPER_PROMPTS = [
    (
        "temporal_localization",
        4,
        "Given the sequence of images, please identify the image\nconsistent with the text "
        "description: Billiards.\nThe image index starts from 0.",
        "Given the sequence of images: Image 0: <image 1>, Image 1: <image 2>, Image 2: <image 3>, "
        "Image 3: <image 4>, please identify the image consistent with the text description: "
        "Billiards.",
    ),
    (
        "point_tracking",
        2,
        "What is the position coordinates of the point with coordinates ([0.711, 0.154]) in the "
        "first image within the second image? Note that the width is 256 and the height is 256.",
        "What is the position coordinates of the point with coordinates ([0.711, 0.154]) in Frame "
        "1: <image 1> within the Frame 2: <image 2>? Note that the width is 256 and the height is "
        "256.",
    ),
    (
        "multiple_image_captioning",
        3,
        "Describe this set of images briefly.",
        "Describe this set of images: <image 1><image 2><image 3>briefly.",
    ),
    (
        "spot_the_similarity",
        2,
        "Are there any similarities between the two pictures?",
        "<image 1><image 2>Are there any similarities between the two pictures?",
    ),
]


@pytest.mark.parametrize(("subtask", "images", "first", "among"), PAPER_PROMPTS)
def test_the_papers_examples(subtask: str, images: int, first: str, among: str) -> None:
    media = tuple(MediaRef(str(at) * 64, InlineSource(b"")) for at in range(images))
    sample = Sample("1", "choice", first, media=media)
    assert interleave_images(sample, subtask).question == among


def test_every_rewording_belongs_to_the_multi_image_study() -> None:
    table = files("snellen.benchmarks") / "data" / "mmt_interleaved.csv"
    named = [line.split(",")[0] for line in table.read_text().splitlines()[1:]]
    assert len(named) == len(set(named)) == 19
    assert set(named) < set(by_study()["multi-image"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"images": "first"}, "no support of several images"),
        ({"prompt": "paper"}, "0 of 1 questions of several images have them where the text"),
    ],
)
def test_the_report_says_how_several_images_were_shown(tmp_path: Path, options: dict[str, str], said: str) -> None:
    benchmark = opened(data(tmp_path), **options)
    model = Watching(Capabilities())
    results = evaluate([model], [benchmark], out=tmp_path / "out", html=False)
    assert any(said in one for one in results.runs[0].report().summary.notices)


def test_a_control_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    argv = ["run", "-m", "random", "-b", "mmt-bench", "--data", data(tmp_path), "--out", out]
    assert main([*argv, "--control", "black", "--no-html", "-q"]) == 0
    (run,) = find_runs(out)
    assert run.info.config.parameters["control"] == "black"
    capsys.readouterr()
