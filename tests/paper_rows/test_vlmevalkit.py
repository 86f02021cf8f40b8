"""Rows of VLMEvalKit (arXiv:2407.11691): what a user types, and what must come of it."""

from __future__ import annotations

import base64
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.paper_rows.user import ALWAYS_A, PLUM_OR_A, User, images_of, wilson, words_of

import snellen


@pytest.mark.row("One command for many models and benchmarks, or one call in Python", page="running.md")
def test_many_models_and_benchmarks(user: User) -> None:
    user.write_choices("mine.jsonl", "AABCADAA")
    user.write_choices("other.jsonl", "ABAB")
    user.write("my_model.py", ALWAYS_A)
    user.run("snellen run --load my_model.py -m AlwaysA -m random -b mine.jsonl -b other.jsonl --no-html")
    mine, other = user.run("snellen leaderboard snellen-results --format json").json()
    of_a = {place["model"]: place for board in mine["boards"] for place in board["places"]}
    assert set(of_a) == {"AlwaysA", "random"}
    # Five of eight golds are A, two of four.
    assert of_a["AlwaysA"]["score"] == 62.5
    assert of_a["AlwaysA"]["interval"] == pytest.approx(wilson(5, 8))
    assert {place["score"] for place in other["boards"][0]["places"]} >= {50.0}

    class AlwaysA:
        def answer(self, request: Any) -> str:
            return "A"

    results = snellen.evaluate(AlwaysA(), "mine.jsonl", out="python")
    assert [run.score for run in results] == [62.5]


@pytest.mark.row(
    "A model is one class with one method, or an endpoint; models of one image get the first one", page="own-model.md"
)
def test_a_class_or_an_endpoint(user: User) -> None:
    rows = user.write_choices("pairs.jsonl", "ABCD", images=2)
    user.write("my_model.py", ALWAYS_A)
    user.run("snellen run --load my_model.py -m AlwaysA -b pairs.jsonl --no-html")
    assert user.score("AlwaysA") == 25.0
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(body)
        return "D"

    url = user.serve(answer)
    user.run("snellen run -m URL#tiny:images=first -b pairs.jsonl --no-html", URL=url)
    assert user.score("tiny") == 25.0
    sent = {image.partition(",")[2] for body in asked for image in images_of(body)}
    assert sent == {row["image"][0] for row in rows}
    asked.clear()
    user.run("snellen run -m URL#tiny -b pairs.jsonl --no-html --out both", URL=url)
    sent = {image.partition(",")[2] for body in asked for image in images_of(body)}
    assert sent == {image for row in rows for image in row["image"]}


@pytest.mark.row("A benchmark is a table without code, or one short file", page="own-benchmark.md")
def test_a_table_or_a_short_file(user: User) -> None:
    user.write("mine.csv", "question,A,B,answer\nOne?,yes it is,no,A\nTwo?,a,b,B\nThree?,c,d,A\n")
    user.write("my_model.py", ALWAYS_A)
    user.run("snellen run --load my_model.py -m AlwaysA -b mine.csv --no-html")
    assert user.score("AlwaysA--mine") == pytest.approx(100 * 2 / 3)
    user.write("short.toml", 'name = "short"\ndata = "mine.csv"\nkind = "choice"\n')
    user.run("snellen run --load my_model.py -m AlwaysA -b short.toml --no-html")
    assert user.score("AlwaysA--short") == pytest.approx(100 * 2 / 3)


@pytest.mark.row("Prompts of a model on a benchmark", page="maker-setups.md")
def test_prompts_of_a_model(user: User) -> None:
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(words_of(body))
        return "A"

    user.write_choices("mine.jsonl", "A", images=1)
    url = user.serve(answer)
    assert "qwen2-vl" in user.run("snellen list recipes").text
    user.run("snellen run -m URL#tiny -b mine.jsonl:prompt=qwen2-vl --no-html", URL=url)
    qwen = asked.pop()
    user.run("snellen run -m URL#tiny -b mine.jsonl:prompt=llava --no-html", URL=url)
    llava = asked.pop()
    assert qwen.endswith("Please select the correct answer from the options above.")
    assert llava.endswith("Answer with the option's letter from the given choices directly.")
    assert "A. pear 0\nB. plum 0" in llava


NAMES = """MMBench, CCBench, MME, SEEDBench, SEEDBench2-Plus, MMT-Bench, MMMU, MMStar, MathVista,
COCO Caption, OCRBench, TextVQA, AI2D, ChartQA, DocVQA, RealWorldQA, HallusionBench, POPE,
MMBench-Video, OCRVQA, MLLMGuard, AesBench, MMVet, LLaVABench, MMBench-CN, SEEDBench2,
MME-RealWorld, InfoVQA, TableVQA-Bench, MathVision, ScienceQA-IMG, Q-Bench, A-Bench, DUDE,
MMLongBench-Doc, SlideVQA, BLINK, MuirBench, MMDU, MMMB, MT-VQA, GMAI-MMBench, A-OKVQA, VCR-wiki,
Video-MME, MVBench, MLVU, TaskMeAnything ImageQA, TempCompass"""
"""Benchmarks of Table 1 and Appendix A, in the paper's spelling."""


@pytest.mark.row(
    "The benchmarks of Table 1 and the appendices",
    page="benchmarks.md",
    note="CORE-MM and MLLMGuard collect replies and say why they are not scored, as MEGA-Bench "
    "does of 29 of its 505 tasks; MMGenBench is scored by CLIP, not by the authors' Unicom; "
    "ChartMimic runs the programs of replies only with run_code=yes; the page of evidence says "
    "which rules were compared with whose",
)
def test_benchmarks_of_table_1(user: User) -> None:
    for name in " ".join(NAMES.split()).split(", "):
        described = user.run("snellen info NAME", NAME=name).text
        assert described.startswith("benchmark"), name
        assert "\nheadline" in described, name
    listed = user.run("snellen list benchmarks --json").json()
    assert len(listed) >= 100


@pytest.mark.row(
    "More than 200 models",
    page="routes.md",
    partly=True,
    note="every name says how it runs or why it does not; the weights of most were never loaded",
)
def test_more_than_200_models(user: User) -> None:
    names = []
    for access in ("open", "closed"):
        listed = user.run("snellen list models --filter ACCESS --json", ACCESS=access).json()
        names += [model["name"] for model in listed]
    assert len(set(names)) > 200
    # Each name says how it runs, or why it does not.
    for name in random.Random(7).sample(names, 10):
        assert "\nroute" in user.run("snellen info NAME", NAME=name).text, name


@pytest.mark.row(
    "Choices, yes/no, open and judged answers",
    page="scoring.md",
    note="where no authors' words are published under a free licence (MathVista, DynaMath, "
    "LogicVista), the judge is asked in Snellen's",
)
def test_four_kinds_of_answers(user: User) -> None:
    user.write_choices("choices.jsonl", "ABCD")
    replies = ["The answer is A.", "(C)", "fig 2", ""]
    user.write_replies("choices_out.jsonl", replies)
    scored = user.run("snellen score choices.jsonl --predictions choices_out.jsonl --json").json()
    assert scored["headline"]["value"] == 50.0

    golds = ["yes", "no", "yes"]
    user.write_rows(
        "yes.jsonl", [{"index": at, "question": f"Is it {at}?", "answer": gold} for at, gold in enumerate(golds)]
    )
    user.write_replies("yes_out.jsonl", ["Yes, it is.", "No.", "No, it is not."])
    scored = user.run("snellen score yes.jsonl --predictions yes_out.jsonl --json").json()
    assert scored["headline"]["value"] == pytest.approx(200 / 3)

    golds = ["a red bus", "seven", "Paris"]
    user.write_rows(
        "open.jsonl", [{"index": at, "question": f"What is {at}?", "answer": gold} for at, gold in enumerate(golds)]
    )
    user.write_replies("open_out.jsonl", ["a red bus", "9", "It is Paris."])
    rules = user.run("snellen score open.jsonl --predictions open_out.jsonl --json").json()
    judge = user.serve(lambda body: "1" if "Reply: 9" in words_of(body) else "5")
    judged = user.run("snellen score open.jsonl --predictions open_out.jsonl --judge URL#tiny --json", URL=judge).json()
    # To the rule only the first is right; the judge takes the sentence about Paris too.
    assert rules["headline"]["value"] == pytest.approx(100 / 3)
    assert judged["headline"]["value"] == pytest.approx(200 / 3)


@pytest.mark.row("A language model reads what no rule matches", page="outcomes.md")
def test_a_language_model_reads_replies(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD")
    sentence = "It has to be the one that grows on the tallest trees."
    user.write_replies("out.jsonl", ["A", "B", sentence, sentence])
    alone = user.run("snellen score mine.jsonl --predictions out.jsonl --json").json()
    assert alone["headline"]["value"] == 50.0
    assert alone["outcomes"]["unparsed"] == 2
    asked: list[str] = []

    def extract(body: dict[str, Any]) -> str:
        asked.append(words_of(body))
        return "C"

    url = user.serve(extract)
    read = user.run("snellen score mine.jsonl --predictions out.jsonl --extractor URL#tiny --json", URL=url).json()
    # Only the two that no rule reads are sent; one of them is C.
    assert read["headline"]["value"] == 75.0
    # The first request only tries the server.
    _, *asked_about = asked
    assert len(asked_about) == 2
    assert all(sentence in words for words in asked_about)


@pytest.mark.row(
    "CircularEval for every benchmark of choices",
    page="other-tools.md#circulareval",
    note="options that refer to one another are asked once; VLMEvalKit rotates them too",
)
def test_circular_of_own_questions(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 3)
    user.write("my_model.py", PLUM_OR_A)
    user.run("snellen run --load my_model.py -m PlumOrA -b mine.jsonl --circular full --no-html")
    # It always finds a plum, which is right for a quarter; else it says A, right in one rotation.
    assert user.score("PlumOrA") == 25.0
    assert all(len(sample["passes"]) == 4 for sample in user.samples("PlumOrA"))
    user.run("snellen run --load my_model.py -m PlumOrA -b mine.jsonl --no-html --out once")
    assert user.score("PlumOrA", "once") == 50.0


@pytest.mark.release
@pytest.mark.row("Parallel requests, replicas, served models, vLLM in process", page="clusters.md")
def test_requests_at_once_and_replicas(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 10)
    open_now, most = 0, 0
    lock = threading.Lock()

    def answer(body: dict[str, Any]) -> str:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        time.sleep(0.05)
        with lock:
            open_now -= 1
        return "A"

    url = user.serve(answer)
    user.run("snellen run -m URL#tiny:concurrency=8 -b mine.jsonl --no-html", URL=url)
    assert user.score("tiny") == 25.0
    assert 2 <= most <= 8
    user.run("snellen run -m random:seed=3 -b mine.jsonl --executor ray:replicas=2 --no-html --out ray")
    user.run("snellen run -m random:seed=3 -b mine.jsonl --no-html --out alone")
    assert user.score("random", "ray") == user.score("random", "alone")


KILLED = """
import os, pathlib, re, signal

class Killed:
    def answer(self, request):
        number = re.search("number ([0-9]+)", request.text())[1]
        asked = pathlib.Path("asked.txt")
        with asked.open("a") as file:
            file.write(number + "\\n")
        if len(asked.read_text().split()) == 12 and not pathlib.Path("killed").exists():
            pathlib.Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "A"
"""


@pytest.mark.row("Resuming at the cost of what was in flight", page="running.md")
def test_killed_run_resumes(user: User) -> None:
    user.write_choices("mine.jsonl", "AB" * 15)
    user.write("my_model.py", KILLED)
    command = "snellen run --load my_model.py -m Killed -b mine.jsonl --no-html"
    ended = subprocess.run([sys.executable, "-m", "snellen", *command.split()[1:]], capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    user.run("snellen run --load my_model.py -m Killed -b mine.jsonl --no-html")
    assert user.score("Killed") == 50.0
    asked = Counter((user.folder / "asked.txt").read_text().split())
    # The one that was in flight is asked twice, no other.
    assert set(asked) == {str(number) for number in range(30)}
    assert sorted(asked.values())[-2:] == [1, 2]


@pytest.mark.row("Images, videos, several turns", page="servers.md")
def test_images_videos_and_turns(user: User) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        bodies.append(body)
        return f"reply {len(bodies)}"

    url = user.serve(answer)
    write_video(user.folder / "clip.mp4", seconds=4)
    user.write_rows("video.jsonl", [{"question": "What moves?", "video": "clip.mp4", "answer": "a"}])
    user.run("snellen run -m URL#tiny -b video.jsonl:frames=4 --no-html", URL=url)
    assert len(images_of(bodies[-1])) == 4
    user.run("snellen run -m URL#tiny:video=native -b video.jsonl --no-html --out whole", URL=url)
    [part] = [part for part in bodies[-1]["messages"][-1]["content"] if part["type"] != "text"]
    assert part["type"] == "video_url"
    sent = base64.b64decode(part["video_url"]["url"].partition(",")[2])
    assert sent == (user.folder / "clip.mp4").read_bytes()


def write_video(path: Path, seconds: int) -> None:
    """A clip of ten frames a second that grow lighter."""
    import av
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for at in range(10 * seconds):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 5 * at, np.uint8), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


@pytest.mark.row("Leaderboards of Tables 2 to 4", page="papers.md#their-tables-and-figures", note="with average ranks")
def test_leaderboards_of_suites(user: User) -> None:
    members = ("MMBench_V11", "MMStar", "MMMU", "MathVista", "HallusionBench", "AI2D", "OCRBench", "MMVet")
    # Printed in Table 2 of the paper; OCRBench counts as a tenth of its points.
    rows = {
        "Gemini-2.5-Pro": (80.1, (88.3, 73.6, 74.7, 80.9, 64.1, 89.5, 862, 83.3)),
        "InternVL3-78B": (79.1, (87.7, 73.4, 72.2, 79.0, 59.1, 89.8, 908, 80.7)),
    }
    lines = [
        f"{model},{member},{value}"
        for model, (_, values) in rows.items()
        for member, value in zip(members, values, strict=True)
    ]
    user.write("results.csv", "\n".join(["model,member,value", *lines]) + "\n")
    board = user.run("snellen leaderboard results.csv --suite openvlm-core --format json").json()
    # By hand: the mean of eight, and Gemini is the second of two in AI2D and OCRBench alone.
    means = {"Gemini-2.5-Pro": (80.075, 1, 1.25), "InternVL3-78B": (79.0875, 2, 1.75)}
    for row in board["rows"]:
        average, rank, average_rank = means[row["model"]]
        assert row["average"] == pytest.approx(average)
        assert row["average"] == pytest.approx(rows[row["model"]][0], abs=0.05)
        assert (row["rank"], row["average_rank"]) == (rank, average_rank)
