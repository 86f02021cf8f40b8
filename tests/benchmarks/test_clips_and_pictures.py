"""Questions about parts of several videos and pictures beside them: what is shown, and where in the words."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from msgspec import structs

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from made_videos import number_of, write_video
from PIL import Image

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.request import Request, Text
from snellen.scoring.counts import equal_count, read_count, within_one

LAYOUTS = Path(__file__).parent / "layouts"
PICTURE = "the picture"


def asked(name: str, path: Path, **options: str) -> list[list[str | int]]:
    """For each question its parts in order: words, and the numbers of frames, or the picture."""
    benchmark = open_benchmark(name, Variant(data=str(path), options=options))
    samples = [benchmark.prepare(sample) for sample in benchmark.samples(benchmark.open())]
    requests = [next(iter(benchmark.flow(sample))) for sample in samples]
    return [[_part(request, part) for part in request.messages[0].parts] for request in requests]


def _part(request: Request, part: object) -> str | int:
    if isinstance(part, Text):
        return part.text
    picture = Image.open(io.BytesIO(request.media[part.digest].read()))
    return PICTURE if picture.size == (5, 5) else number_of(picture)


@pytest.fixture
def media(tmp_path: Path) -> Path:
    for name in ("a", "c"):
        write_video(tmp_path / f"{name}.mp4")
    Image.new("RGB", (5, 5), "green").save(tmp_path / "b.png")
    return tmp_path


def mmsi(folder: Path, **columns: object) -> Path:
    clips = [{"path": "a.mp4", "start": 1, "end": 2}, {"path": "c.mp4", "start": 3.5, "end": 5}]
    fixed = {"id": "m_0", "system_prompt": "S", "task_prompt": "", "format_prompt": "", "ground_truth": "B"}
    row = {**fixed, "type": "Planning", "video_list": clips, "ref_images": ["b.png"], **columns}
    path = folder / "mmsivideo.json"
    path.write_text(json.dumps([row]))
    return path


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("<video>, then <video> and <image>?", ["S\n", "a", ", then ", "c", " and ", PICTURE, "?"]),
        ("<image>: in <video> or <video>?", ["S\n", PICTURE, ": in ", "a", " or ", "c", "?"]),
    ],
)
def test_frames_of_the_parts_and_pictures_stand_where_the_question_names_them(
    media: Path, words: str, order: list[str]
) -> None:
    [parts] = asked("mmsi-video-bench", mmsi(media, user_prompt=words), frames="3")
    said = [part for part in parts if isinstance(part, str)]
    assert said == [one for one in order if one not in ("a", "c")]
    frames = [part for part in parts if isinstance(part, int)]
    first, second = frames[:3], frames[3:]
    assert all(10 <= number <= 20 for number in first), first
    assert all(35 <= number <= 50 for number in second), second
    places = [position for position, part in enumerate(parts) if isinstance(part, int)]
    expected = [place + 2 * sum(one in ("a", "c") for one in order[:place]) for place in map(order.index, ("a", "c"))]
    assert [places[0], places[3]] == expected


def test_pictures_stand_where_options_and_hint_name_them(media: Path) -> None:
    Image.new("RGB", (5, 5), "red").save(media / "d.png")
    path = mmsi(media, user_prompt="<video>Which?", ref_images=["b.png", "d.png"])
    benchmark = open_benchmark("mmsi-video-bench", Variant(data=str(path), options={"frames": "3"}))
    [sample] = benchmark.samples(benchmark.open())
    named = benchmark.prepare(structs.replace(sample, hint="Like <image>.", options={"A": "<image>", "B": "none"}))
    # Two clips of three frames come first.
    assert (named.hint, named.options) == ("Like <image 7>.", {"A": "<image 8>", "B": "none"})


def test_a_marked_frame_comes_behind_those_of_its_video(media: Path) -> None:
    path = media / "V2P-Bench.tsv"
    question = '"Who waves?\nA: 1\nB: 2"'
    path.write_text(f"index\tvideo_path\tframe_path\tquestion\tanswer\tdimension\n0\ta.mp4\tb.png\t{question}\tA\t2\n")
    [parts] = asked("v2p-bench", path, frames="2")
    closing = "Give only your option letter that accurately addresses the question, no other words."
    assert [type(part) for part in parts] == [int, int, str, str]
    assert parts[2:] == [PICTURE, f"Who waves?\nA: 1\nB: 2\n{closing}"]


def test_questions_that_come_again_while_the_video_runs_are_not_asked() -> None:
    benchmark = open_benchmark("vsi-super-count", Variant(data=str(LAYOUTS / "vsi-super-count.tsv")))
    rows = list(benchmark.open())
    assert [row.cells["question_type"] for row in rows] == ["10mins", "10mins", "10mins_streaming"]
    assert [sample.gold for sample in benchmark.samples(rows)] == [("21",), ("8",)]


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        ("1,204 or 3", 1204),
        ("-2.5", -2.5),
        ("<think>7</think>five", 5),
        ("twenty-one", 21),
        ("one here, two there", 3),
        ("two hundred", 2),
        ("none", 0),
    ],
)
def test_a_count_is_the_first_number_or_the_sum_of_its_words(reply: str, count: float) -> None:
    assert read_count(reply) == count


def test_a_count_off_by_one_is_near_and_not_equal() -> None:
    assert equal_count("4 times", ("4",))
    assert within_one("five", ("4",))
    assert not equal_count("five", ("4",))
    assert not within_one("six", ("4",))
