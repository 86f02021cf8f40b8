"""Benchmarks about videos: from a row to the frames and words a model is shown."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from made_videos import number_of, write_video
from PIL import Image

from snellen import evaluate, score
from snellen.benchmarks.declaration.inline_options import strip_label
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.videos.tempcompass import parse_reply, task_of
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.media import Clip, decode_clip
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, ParsedAnswer, Unparsed
from snellen.core.request import Request
from snellen.core.sample import Row, Sample
from snellen.data.tables.options import split_inline_options
from snellen.extract.published.first_capital import of_four_joined

LAYOUTS = Path(__file__).parent / "layouts"


class Watcher:
    """Remembers what it is shown: the words, and the numbers of the frames."""

    def __init__(self, **capabilities: object) -> None:
        self.identity = Identity("test", f"watcher {capabilities}")
        self.capabilities = Capabilities(**capabilities)
        self.seen: dict[str, tuple[str, list[int]]] = {}
        self.kinds: set[str] = set()

    def answer(self, request: Request) -> Generated:
        (message,) = request.messages
        numbers = []
        for part in message.media():
            self.kinds.add(part.kind)
            if part.kind == "image":
                data = request.media[part.digest].read()
                numbers.append(number_of(Image.open(io.BytesIO(data))))
        self.seen[request.ref.sample] = (message.text(), numbers)
        return Generated("A")


def watch(spec: str, folder: Path, model: Watcher | None = None) -> tuple[Watcher, object]:
    model = model or Watcher()
    (run,) = evaluate([model], [spec], out=folder / "runs").runs
    return model, run


def own(folder: Path, **more: str) -> Path:
    write_video(folder / "v.mp4")
    (folder / "v.srt").write_text(
        "1\n00:00:01,000 --> 00:00:01,800\nLook here\n\n2\n00:00:04,500 --> 00:00:04,600\nGone\n"
    )
    path = folder / "mine.tsv"
    path.write_text("id\tvideo\tquestion\tA\tB\tanswer\n1\tv.mp4\tWhich?\tx\ty\tA\n")
    return path


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        ("", [3, 9, 15, 21, 28, 34, 40, 46]),
        (":frames=2", [12, 37]),
        (":fps=1", [0, 10, 20, 30, 40]),
        (":fps=4,frames=2", [12, 37]),
        (":frames=3,sampling=lmms-eval", [0, 24, 49]),
        (":frames=3,sampling=vlmevalkit", [12, 25, 37]),
    ],
)
def test_a_file_with_videos_is_a_benchmark(tmp_path: Path, options: str, frames: list[int]) -> None:
    model, run = watch(f"{own(tmp_path)}{options}", tmp_path)
    assert model.seen["1"][1] == frames
    assert run.info.status == "complete"
    parameters = run.info.config.parameters
    assert parameters["video"] == "frames"
    for pair in filter(None, options[1:].split(",")):
        name, value = pair.split("=")
        assert parameters[name] == value


def test_times_and_subtitles_are_shown_where_asked_for(tmp_path: Path) -> None:
    spec = f"{own(tmp_path)}:frames=2,times=on,subtitles=frames"
    model, _ = watch(spec, tmp_path)
    text, frames = model.seen["1"]
    assert frames == [12, 37]
    assert re.sub(r"\s+", " ", text).startswith(
        "1.2 s: 3.7 s: This video's subtitles are listed below: Look here Question: Which?"
    )
    assert "Gone" not in text


def test_subtitles_are_shown_with_their_own_times_where_asked_for(tmp_path: Path) -> None:
    model, run = watch(f"{own(tmp_path)}:subtitles=all,subtitle_times=on", tmp_path)
    text, _ = model.seen["1"]
    assert "below:\n[1.0, 1.8] Look here\n[4.5, 4.6] Gone\n" in text
    assert run.info.config.parameters["subtitle_times"] == "on"
    with pytest.raises(UsageError, match="subtitle_times=on is about subtitles, which are not"):
        watch(f"{own(tmp_path)}:subtitle_times=on", tmp_path)


def test_subtitles_at_frames_without_times_are_not_left_out_in_silence(tmp_path: Path) -> None:
    path = own(tmp_path)
    (tmp_path / "v.mp4").unlink()
    (tmp_path / "v").mkdir()
    for number in range(3):
        Image.new("RGB", (64, 64), (number, 0, 0)).save(tmp_path / "v" / f"{number}.png")
    path.write_text(path.read_text().replace("v.mp4", "v"))
    _, run = watch(f"{path}:subtitles=frames", tmp_path)
    [failed] = run.failures()
    assert "the frames of this video have no times" in str(failed.passes[0].output)
    model, _ = watch(f"{path}:subtitles=all", tmp_path)
    assert "Look here\nGone" in model.seen["1"][0]


def test_a_video_that_cannot_be_read_fails_its_sample(tmp_path: Path) -> None:
    path = own(tmp_path)
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    with path.open("a") as file:
        file.write("2\tbad.mp4\tWhich?\tx\ty\tA\n3\tlost.mp4\tWhich?\tx\ty\tA\n")
    _, run = watch(str(path), tmp_path)
    failed = {record.id: record.passes[0].output for record in run.failures()}
    assert {name: output.kind for name, output in failed.items()} == {"2": "media", "3": "media"}
    assert re.search(r"bad\.mp4: the video cannot be decoded", failed["2"].message)
    assert re.search(r"row 3: there is no video 'lost\.mp4'", failed["3"].message)


def test_whole_videos_go_to_models_that_take_them(tmp_path: Path) -> None:
    spec = f"{own(tmp_path)}:video=native"
    model, run = watch(spec, tmp_path, Watcher(inputs=frozenset({"text", "video"})))
    assert model.kinds == {"video"}
    assert run.info.config.parameters["video"] == "native"
    _, run = watch(spec, tmp_path, Watcher())
    (record,) = run.records()
    assert record.unscored == "unsupported"


def test_frames_go_as_one_video_to_models_that_take_them(tmp_path: Path) -> None:
    """The frames and times of video=frames; a folder of frames has no times."""
    spec = f"{own(tmp_path)}:video=clip,frames=2,sampling=centre"
    shown: list[Clip] = []

    class ClipWatcher(Watcher):
        def answer(self, request: Request) -> Generated:
            (part,) = request.messages[0].media()
            read = decode_clip(request.media[part.digest].read())
            assert read is not None
            shown.append(read)
            return super().answer(request)

    model, run = watch(spec, tmp_path, ClipWatcher(clips=True))
    assert model.kinds == {"video"}
    (clip,) = shown
    assert [number_of(Image.open(io.BytesIO(frame))) for frame in clip.frames] == [12, 37]
    assert clip.times == pytest.approx((1.2, 3.7))
    parameters = run.info.config.parameters
    assert (parameters["video"], parameters["frames"]) == ("clip", "2")
    _, refused = watch(spec, tmp_path, Watcher())
    (record,) = refused.records()
    assert record.unscored == "unsupported"
    assert "show the frames as images (video=frames)" in record.passes[0].output.message
    with pytest.raises(UsageError, match="leave out times=on"):
        watch(f"{spec},times=on", tmp_path, ClipWatcher(clips=True))
    frames = tmp_path / "v2"
    frames.mkdir()
    Image.new("RGB", (8, 8)).save(frames / "1.png")
    folder = tmp_path / "folders.tsv"
    folder.write_text("id\tvideo\tquestion\tA\tB\tanswer\n1\tv2\tWhich?\tx\ty\tA\n")
    _, run = watch(f"{folder}:video=clip", tmp_path, ClipWatcher(clips=True))
    (failed,) = run.failures()
    assert "folder of frames" in failed.passes[0].output.message


def test_a_model_that_cannot_see_frames_is_not_asked(tmp_path: Path) -> None:
    model, run = watch(str(own(tmp_path)), tmp_path, Watcher(inputs=frozenset({"text"})))
    (record,) = run.records()
    assert "takes no image input" in record.passes[0].output.message
    assert not model.seen


def test_a_model_of_one_image_sees_the_first_frame(tmp_path: Path) -> None:
    model, run = watch(str(own(tmp_path)), tmp_path, Watcher(many_images=False))
    ((_, frames),) = model.seen.values()
    assert len(frames) == 1
    assert "asked with the first alone" in " ".join(run.info.remarks)


@pytest.mark.parametrize("options", ["frames=0", "frames=2.5", "fps=-1", "sampling=best", "edge=big", "shots=2"])
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: str) -> None:
    with pytest.raises(UsageError):
        open_benchmark(f"{own(tmp_path)}:{options}")


def test_videos_of_seed_bench_are_shown_as_frames(tmp_path: Path) -> None:
    (tmp_path / "task10").mkdir()
    write_video(tmp_path / "task10" / "v.mp4")
    asked = {
        "question_id": "v1",
        "question": "Which?",
        "choice_a": "x",
        "choice_b": "y",
        "choice_c": "z",
        "choice_d": "w",
        "answer": "A",
        "data_id": "task10/v.mp4",
        "data_type": "video",
        "question_type_id": 10,
    }
    path = tmp_path / "SEED-Bench.json"
    path.write_text(json.dumps({"questions": [asked], "question_type": {"Action Recognition": 10}}))
    model = Watcher()
    variant = Variant(data=str(path), options={"protocol": "generate", "frames": "4"})
    evaluate([model], ["seedbench"], out=tmp_path / "runs", variant=variant)
    assert model.seen["v1"][1] == [6, 18, 31, 43]


def of(name: str, **options: str) -> Benchmark:
    path = next(LAYOUTS.glob(f"{name}.*sv"))
    return open_benchmark(name, Variant(data=str(path), options=options))


def samples(name: str, **options: str) -> list[Sample]:
    made = of(name, **options)
    return list(made.samples(made.open()))


@pytest.mark.parametrize("name", ["video-mme", "mvbench", "mlvu", "tempcompass", "mmbench-video"])
def test_model_without_image_input_is_refused_before_asking(name: str) -> None:
    blind = Capabilities(inputs=frozenset({"text"}))
    seeing = Capabilities(inputs=frozenset({"text", "image"}))
    assert "needs image input" in (of(name).requires(blind) or "")
    assert "needs video input" in (of(name, video="native").requires(seeing) or "")
    assert of(name).requires(seeing) is None


def test_video_mme_options_lose_their_letters() -> None:
    first, second, third = samples("video-mme")
    assert first.options == {"A": "One.", "B": "Two.", "C": "Three.", "D": "Four."}
    assert first.gold == ("C",)
    assert first.unit == second.unit != third.unit
    assert first.groups["duration"] == "short"
    assert of("video-mme").headline == "accuracy"


def test_mvbench_reads_parts_and_golds_in_brackets() -> None:
    found = samples("mvbench")
    assert [sample.gold for sample in found] == [("A",), ("C",), ("B",), ("A",)]
    assert of("mvbench").parameters["frames"] == "16"


def test_mvbench_averages_tasks() -> None:
    made = of("mvbench")
    found = list(made.samples(made.open()))
    from snellen.engine.offline.gold_check import answer_samples

    def reply(sample: Sample, request: Request) -> Generated:
        right = sample.groups["task_type"] != "Action Sequence"
        return Generated(sample.gold[0] if right else "Z")

    summary = made.summarise(answer_samples(made, found, reply))
    assert summary.headline.value == pytest.approx(100 * 2 / 3)
    assert summary.metrics["accuracy"].value == pytest.approx(50.0)


def marked(spec: str, verdict: str) -> Benchmark:
    name, _, told = spec.partition(":")
    options = dict(pair.split("=") for pair in told.split(",") if pair)
    path = LAYOUTS / f"{name}.tsv"
    made = open_benchmark(name, Variant(data=str(path), options=options, judges=1))
    from snellen.engine.offline.gold_check import answer_samples

    found = list(made.samples(made.open()))
    return made.summarise(answer_samples(made, found, lambda *_: Generated("A reply."), lambda _: Generated(verdict)))


@pytest.mark.parametrize(
    ("spec", "verdict", "value", "top"),
    [
        ("mmbench-video", "2", 2.0, 3.0),
        ("mmbench-video", "Score: 3", 3.0, 3.0),
        ("mmbench-video", "5", None, 3.0),
        ("mlvu:part=open", "4 3", 7.0, 10.0),
        ("mlvu:part=open", "4", None, 10.0),
    ],
)
def test_judges_mark_in_points(spec: str, verdict: str, value: float | None, top: float) -> None:
    headline = marked(spec, verdict).headline
    assert headline.value == (None if value is None else pytest.approx(value))
    assert headline.top == top


def test_mmbench_video_counts_a_question_under_each_of_its_dimensions() -> None:
    groups = marked("mmbench-video", "2").groups
    assert {name: metric.n for name, metric in groups["dimension"].items()} == {
        "Attribute Recognition": 1,
        "Causal Reasoning": 1,
        "Counting": 1,
    }
    assert {name: metric.n for name, metric in groups["ability"].items()} == {"FP-S": 2, "TR": 1}
    assert groups["perception or reasoning"]["Reasoning"].value == pytest.approx(2.0)


def test_mlvu_leaves_the_open_tasks_out() -> None:
    assert [sample.id for sample in samples("mlvu")] == ["0", "1", "2"]
    assert of("mlvu").headline == "m_avg"


def test_tempcompass_infers_tasks_without_a_column() -> None:
    made = of("tempcompass")
    rows = list(made.open())
    bare = [Row(row.index, {k: v for k, v in row.cells.items() if k != "task_type"}) for row in rows]
    told = [row.cells["task_type"] for row in rows]
    assert [task_of(row) for row in bare] == told
    assert [sample.id for sample in samples("tempcompass", task="caption_matching")] == ["2", "3"]


@pytest.mark.parametrize(
    ("number", "reply", "value"),
    [
        (0, "B. swimming", "B"),
        (0, "swimming", "B"),
        (1, "No, she is not.", "No"),
        (2, "Option 2", "Option 2"),
        (2, "He stands and then sits", "Option 2"),
        (3, "A", "Sentence A"),
        (3, "Sentence B.", "Sentence B"),
    ],
)
def test_tempcompass_replies(number: int, reply: str, value: str) -> None:
    answer = parse_reply(samples("tempcompass")[number], reply, "stop", "snellen")
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == value


@pytest.mark.parametrize("reply", ["swimming", "The answer is B", "It is (B)"])
def test_tempcompass_authors_leave_sentences_to_a_judge(reply: str) -> None:
    assert isinstance(parse_reply(samples("tempcompass")[0], reply, "stop", "official"), Unparsed)


def test_the_judge_of_a_caption_has_the_question_and_the_model_has_not(tmp_path: Path) -> None:
    from snellen.core.record import run_flow

    made = open_benchmark(
        "tempcompass", Variant(data=str(LAYOUTS / "tempcompass.tsv"), options={"task": "captioning"}, judges=1)
    )
    (sample,) = made.samples(made.open())
    asked: dict[str, str] = {}

    def answer(request: Request) -> Generated:
        asked[request.to] = request.messages[-1].text()
        return Generated("A" if request.to == "judge" else "The car turns left.")

    record = run_flow(made.flow(sample), answer)
    assert record.score == 1.0
    assert asked["model"] == "Describe the video in one sentence."
    assert "Where does the car go?" in asked["judge"]
    assert "The car turns left." in asked["judge"]


@pytest.mark.parametrize(
    ("question", "stem", "options"),
    [
        ("Which?\nA. red\nB. blue", "Which?", {"A": "red", "B": "blue"}),
        ("Which?\n(A) red\n(B) blue\n", "Which?", {"A": "red", "B": "blue"}),
        ("Which?\nA. red\nC. blue", "Which?\nA. red\nC. blue", {}),
        ("Which?\nA. red", "Which?\nA. red", {}),
        ("A. Smith wrote it. Who?", "A. Smith wrote it. Who?", {}),
        ("Look:\nB. red\nA. blue\nB. green", "Look:\nB. red", {"A": "blue", "B": "green"}),
    ],
)
def test_options_inside_a_question(question: str, stem: str, options: dict[str, str]) -> None:
    assert split_inline_options(question) == (stem, options)


def test_an_option_keeps_a_letter_that_is_not_its_own() -> None:
    assert [strip_label("A. red", "A"), strip_label("B. Smith", "A"), strip_label("(C) x", "C")] == [
        "red",
        "B. Smith",
        "x",
    ]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("The best answer is: C", "C"),
        ("A dog. B", "A"),
        ("The answer is (D).", "D"),
        ("Answer: D", "A"),
        ("Best option: D", "B"),
    ],
)
def test_video_mme_authors_take_the_first_capital(reply: str, label: str) -> None:
    answer = of_four_joined(reply, {}, "stop")
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == label


def test_video_mme_authors_count_what_was_answered(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    rows = [
        {
            "index": number,
            "question": "Which?",
            "candidates": "['A. one', 'B. two']",
            "answer": "B",
            "video": "one",
            "prediction": reply,
        }
        for number, reply in enumerate(("B", "A", "none of them", "B."))
    ]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    official, own = (
        score("video-mme", replies, variant=Variant(rule=rule)).summary for rule in ("official", "snellen")
    )
    assert official.headline.value == pytest.approx(100 * 2 / 3)
    assert own.headline.value == pytest.approx(50)
    assert official.notices[-1].startswith("1 reply without a letter left out")
