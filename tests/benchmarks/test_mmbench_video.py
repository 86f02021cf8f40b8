"""MMBench-Video: what is shown for one question, and for all of a video at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from made_videos import write_video

from snellen import evaluate
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.videos.mmbench_video import find_answer_in_pack
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated
from snellen.core.request import Request
from snellen.core.sample import Sample

LAYOUT = Path(__file__).parent / "layouts" / "mmbench-video.tsv"
QUESTIONS = {"0": "What colour is the boat?", "1": "Why do three people laugh?"}


class Fixed:
    """Says the same to all, and keeps what it was shown."""

    def __init__(self, name: str, reply: str) -> None:
        self.identity = Identity("test", name)
        self.capabilities = Capabilities(inputs=frozenset({"text", "image", "video"}))
        self.reply = reply
        self.seen: list[tuple[tuple[str, str], ...]] = []

    def answer(self, request: Request) -> Generated:
        self.seen.append(
            tuple(
                (message.role, getattr(part, "text", None) or part.kind)
                for message in request.messages
                for part in message.parts
            )
        )
        return Generated(self.reply)


def run(folder: Path, options: str, reply: str) -> tuple[Fixed, Fixed, list[float | None], dict]:
    (folder / "video").mkdir(parents=True)
    write_video(folder / "video" / "one_processed.mp4")
    data = folder / "mmbench-video.tsv"
    data.write_bytes(LAYOUT.read_bytes())
    model, judge = Fixed("model", reply), Fixed("judge", "2")
    spec = f"mmbench-video:file={data},frames=2{options}"
    (found,) = evaluate([model], [spec], judges=[judge], out=folder / "out", html=False).runs
    records = sorted(found.records(), key=lambda one: one.id)
    return model, judge, [one.score for one in records], found.report().summary.outcomes


def test_question_is_shown_as_by_the_authors(tmp_path: Path) -> None:
    model, judge, scores, _ = run(tmp_path, "", "A white one.")
    assert scores == [pytest.approx(2 / 3)] * 2
    note, first, second, question = next(one for one in model.seen if "boat" in one[-1][1])
    assert note[1].startswith("\nYou will be provided with 2 separate frames uniformly sampled")
    assert note[1].endswith("Please directly reply with your response to the only question.\n")
    assert (first[1], second[1]) == ("image", "image")
    assert question[1] == "Question: What colour is the boat?\nAnswer: "
    graded = next(one for one in judge.seen if "boat" in one[-1][1])
    assert [role for role, _ in graded] == ["system", "user"]
    assert graded[1][1] == (
        "Question: What colour is the boat?\nGroundtruth answer: It is white.\n"
        "Candidate answer: A white one.\nYour response: "
    )


def test_all_questions_of_a_video_are_asked_at_once(tmp_path: Path) -> None:
    reply = 'Sure: {"0": "White.", "1": "One fell: into the water."}'
    model, judge, scores, _ = run(tmp_path, ",pack=on", reply)
    assert scores == [pytest.approx(2 / 3)] * 2
    (shown,) = set(model.seen)
    assert shown[0][1].startswith("You are an AI assistant responsible for answering questions")
    assert [kind for _, kind in shown[1:3]] == ["image", "image"]
    assert shown[3][1] == f"Questions: \n{json.dumps(QUESTIONS)}\nAnswers: \n"
    marked = {one[-1][1].split("Candidate answer: ")[-1] for one in judge.seen}
    assert {"White.\nYour response: ", "One fell: into the water.\nYour response: "} <= marked


def test_a_question_that_is_left_out_is_worth_nothing(tmp_path: Path) -> None:
    _, _, scores, outcomes = run(tmp_path, ",pack=on", '{"1": "One fell."}')
    assert scores == [0.0, pytest.approx(2 / 3)]
    assert (outcomes["unparsed"], outcomes["answered"]) == (1, 1)


def sample(name: str, *ids: str) -> Sample:
    asked = {one: f"Question {one}?" for one in ids or (name,)}
    hint = f"Subtitles: {{}}\n{json.dumps(asked)}"
    return Sample(id=name, kind="open", question=f"Question {name}?", gold=("x",), hint=hint)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("{'7': 'red', '8': 'blue'}", "blue"),
        ('```json\n{"7": "red", "8": 2}\n```', "2"),
        ("{\n'7': red,\n'8': it is: blue,\n", "it is: blue"),
        ("{'7': 'red'}", None),
        ("blue", None),
        ("", None),
    ],
)
def test_answers_are_found_by_their_ids(reply: str, found: str | None) -> None:
    assert find_answer_in_pack(sample("8", "7", "8"), reply) == found


def test_a_single_question_may_be_answered_bare() -> None:
    assert find_answer_in_pack(sample("8"), "blue") == "blue"
    assert find_answer_in_pack(sample("8"), '{"8": "blue"}') == "blue"


def test_whole_videos_are_asked_about_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pack=on asks about frames"):
        open_benchmark("mmbench-video:pack=on,video=native")
    model, *_ = run(tmp_path, ",video=native", "white")
    assert {tuple(text for _, text in one) for one in model.seen} == {
        (question, "video") for question in QUESTIONS.values()
    }
