"""Benchmarks about videos with numbers of their own."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from made_videos import number_of, write_video
from PIL import Image

from snellen import evaluate, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.yes_no_scores import parse_yes_no_score
from snellen.benchmarks.videos.mvtamperbench import source_video
from snellen.core.benchmark import Variant
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated
from snellen.core.request import Request
from snellen.data.media.frame_sampling import FrameSampling, part_times

LAYOUTS = Path(__file__).parent / "layouts"


def replies(path: Path, by_id: dict[str, str]) -> Path:
    rows = ({"index": name, "prediction": reply} for name, reply in by_id.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("Yes", {"accuracy": 60.0, "f1": 50.0, "recall": 100.0, "precision": 100 / 3}),
        ("No", {"accuracy": 40.0, "f1": 0.0, "recall": 0.0, "precision": 0.0}),
    ],
)
def test_tampered_videos_are_scored_against_their_originals(
    tmp_path: Path, said: str, numbers: dict[str, float]
) -> None:
    """Each kind has one tampered video; two originals raise false alarms if all is Yes: F1 is
    2 / (2 + 2) for each."""
    data = LAYOUTS / "mvtamperbench.tsv"
    done = score("mvtamperbench", replies(tmp_path / "p.jsonl", dict.fromkeys("01234", said)), data=data)
    for name, value in numbers.items():
        assert done.summary.metrics[name].value == pytest.approx(value), name


def test_versions_of_a_video_are_one_unit_and_shown_whole() -> None:
    made = open_benchmark("mvtamperbench", Variant(data=str(LAYOUTS / "mvtamperbench.tsv")))
    samples = list(made.samples(made.open()))
    assert len({sample.unit for sample in samples}) == 2
    assert source_video("a_middle_tampered_rotate_1sec.mp4") == source_video("a.webm") == "a"
    assert source_video("") == ""


def test_q_bench_video_mixes_choices_and_graded_replies(tmp_path: Path) -> None:
    data = LAYOUTS / "q-bench-video@part=all.tsv"
    said = {"0": "A", "1": "A", "2": "B", "3": "It gets worse.", "4": "Noise."}
    path = tmp_path / "p.jsonl"
    rows = [{"index": name, "prediction": reply, "verdict": f"Score: {int(name) - 2}"} for name, reply in said.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = score("q-bench-video:part=all", path, data=data, judges=["column:verdict"])
    assert done.summary.headline.value == pytest.approx(100 * (1 + 0 + 1 + 0.5 + 1) / 5)
    types = {label: one.value for label, one in done.summary.groups["question_type"].items()}
    assert types == {"yes_no": 100.0, "what_how": 50.0, "open_ended": 75.0}
    alone = score("q-bench-video:part=all", path, data=data)
    assert alone.summary.headline.value is None
    assert "--judge" in alone.summary.headline.note


def test_cg_bench_counts_answers_whose_clues_were_named(tmp_path: Path) -> None:
    """Overlaps of 1, 0.2 and nothing, with two right answers about the whole videos."""
    said = {
        **dict.fromkeys("0134", "A"),
        "2": '{"result": "B"}',
        "5": "B",
        "6": '{"result": [[8, 11]]}',
        "7": '{"result": [[1, 2]]}',
        "8": "I cannot tell.",
    }
    data = LAYOUTS / "cg-bench.tsv"
    path = replies(tmp_path / "p.jsonl", said)
    ours = score("cg-bench", path, data=data).summary
    values = {name: one.value for name, one in ours.metrics.items()}
    assert values == pytest.approx(
        {
            "long_acc": 200 / 3,
            "clue_acc": 200 / 3,
            "crr": 100.0,
            "miou": 120 / 3,
            "rec_at_iou": 100 * (1 + 0.4) / 3,
            "acc_at_iou": 100 * (0 + 0.4) / 3,
        }
    )
    assert ours.headline.name == "long_acc"
    assert ours.groups["domain miou"]["Life Record"].value == 0.0
    theirs = score("cg-bench", path, data=data, variant=Variant(rule="vlmevalkit")).summary
    assert theirs.metrics["miou"].value == pytest.approx(120 / 2)
    assert theirs.metrics["rec_at_iou"].value == pytest.approx(100 * (1 + 0.2) / 2)
    assert "1 unreadable reply left out, as VLMEvalKit does" in theirs.notices


class Looker:
    """A judge that cannot tell until it is shown frames, which it remembers."""

    def __init__(self) -> None:
        self.identity = Identity("test", "looker")
        self.capabilities = Capabilities()
        self.frames: list[int] = []

    def answer(self, request: Request) -> Generated:
        media = request.messages[-1].media()
        if not media:
            return Generated('{"result": 2}')
        shown = [Image.open(io.BytesIO(request.media[part.digest].read())) for part in media]
        self.frames = [number_of(one) for one in shown]
        return Generated('{"result": 1}')


class Namer:
    """Answers in words."""

    identity = Identity("test", "namer")
    capabilities = Capabilities()

    def answer(self, request: Request) -> Generated:
        return Generated('```json\n{"result": "a blue one"}\n```')


def test_undecided_judge_is_shown_the_clue_frames(tmp_path: Path) -> None:
    """The clues are seconds 1 to 2 and 4 to 5 of a video of ten frames a second: 20 frames, of
    which the two parts share the 32."""
    write_video(tmp_path / "aaa.mp4")
    data = tmp_path / "open.tsv"
    data.write_text(
        "index\tvideo\tduration\tquestion\tanswer\tclue_intervals\tqid\n"
        "0\taaa.mp4\t5\tWhich car?\tthe left one\t[[1, 2], [4, 5]]\t7\n"
    )
    judge = Looker()
    (run,) = evaluate(
        [Namer()], [f"cg-bench:part=open,file={data},frames=2"], out=tmp_path / "runs", judges=[judge]
    ).runs
    (record,) = run.records()
    assert record.score == 1.0
    assert [verdict.step for verdict in record.passes[0].verdicts] == ["grade", "look"]
    assert set(judge.frames) == {*range(10, 20), *range(40, 50)}


def test_a_question_about_clues_shows_their_frames() -> None:
    sampling = FrameSampling(count=4)
    assert part_times(sampling, [(8, 11)]) == pytest.approx([8.375, 9.125, 9.875, 10.625])
    assert part_times(sampling, [(0, 1), (10, 16)]) == pytest.approx([0.5, 11.0, 13.0, 15.0])
    assert part_times(FrameSampling(count=4, fps=1), [(0, 1), (10, 12)]) == [0.0, 10.0, 11.0]


class Examiner:
    """A judge that answers from a caption and finds the answers with "red" in them right."""

    identity = Identity("test", "examiner")
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, request: Request) -> Generated:
        text = request.text()
        self.asked.append(text)
        if "detailed description:" in text:
            caption = text.partition("detailed description: ")[2].partition("\n")[0]
            return Generated(caption if "colour" in text else "I do not know")
        right = "Predicted Answer: A red line." in text
        return Generated(str({"pred": "yes" if right else "no", "score": 4 if right else 1}))


def test_a_caption_is_graded_by_all_its_questions(tmp_path: Path) -> None:
    data = LAYOUTS / "video-mmlu@part=captions.tsv"
    path = replies(tmp_path / "p.jsonl", {"0": "A red line.", "1": ""})
    judge = Examiner()
    done = score("video-mmlu:part=captions", path, data=data, judges=[judge], store=tmp_path / "store.sqlite")
    assert {record.id: record.score for record in done.records} == {"0": 0.5, "1": 0.0}
    assert done.summary.headline.value == 25.0
    assert done.summary.metrics["score"].value == pytest.approx((2.5 + 0) / 2)
    assert done.summary.groups["discipline score"]["math"].value == pytest.approx(2.5)
    about_rows = [text for text in judge.asked if "chatbot" in text]
    assert len(about_rows) == 4
    assert not any("Red" in text for text in about_rows if "detailed description:" in text)


@pytest.mark.parametrize(
    ("verdict", "read"),
    [
        ("{'pred': 'yes', 'score': 4}", (1.0, 4.0)),
        ('```json\n{"pred": "No", "score": "1.5"}\n```', (0.0, 1.5)),
        ("{'pred': 'partly', 'score': 3}", None),
        ("{'pred': 'yes', 'score': 9}", None),
        ("{'pred': 'yes'}", None),
        ("yes, 4", None),
    ],
)
def test_a_judge_says_yes_or_no_and_a_score(verdict: str, read: tuple[float, float] | None) -> None:
    parsed = parse_yes_no_score(verdict)
    assert (parsed and tuple(parsed.values.values())) == read
