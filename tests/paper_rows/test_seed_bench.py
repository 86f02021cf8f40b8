"""Rows of SEED-Bench-H (arXiv:2307.16125 and its successors): what a user types, and what must come
of it."""

from __future__ import annotations

import io
import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from PIL import Image
from tests.paper_rows.user import User

from snellen.store.responses import ResponseStore

COLOURS = {"red": (220, 30, 30), "green": (30, 170, 60), "blue": (40, 60, 220), "yellow": (230, 210, 40)}
SUBPARTS = {
    "Single-Image & Text Comprehension": range(1, 19),
    "Multiple-Images & Text Comprehension": range(19, 21),
    "Video & Text Comprehension": range(21, 25),
    "Interleaved Image & Text Comprehension": range(25, 28),
    "Few-shot Image Understanding": range(28, 32),
    "Image Generation": range(32, 34),
    "Image & Text Generation": range(34, 35),
}
"""The dimensions of each subpart, by their numbers in the paper."""
LEVELS = {"L1": range(1, 25), "part-2": range(25, 32), "L2": range(1, 32), "part-3": range(32, 35), "L3": range(1, 35)}


def write_seed(user: User, numbers: Iterable[int] = range(1, 35), each: int = 2) -> dict[str, str]:
    """SEED-Bench-H's layout: a disc of one of four colours in each question. Returns the golds."""
    from PIL import ImageDraw

    pictures = user.folder / "SEED-Bench-H-data"
    pictures.mkdir(exist_ok=True)
    for name, colour in COLOURS.items():
        picture = Image.new("RGB", (64, 64), (236, 236, 236))
        ImageDraw.Draw(picture).ellipse((12, 12, 52, 52), fill=colour)
        picture.save(pictures / f"{name}.png")
    questions = [_question(number, at) for number in numbers for at in range(each)]
    user.write("seed.json", json.dumps({"questions": questions}))
    return {question["question_id"]: question["answer"] for question in questions}


def _question(number: int, at: int) -> dict[str, Any]:
    [subpart] = [name for name, members in SUBPARTS.items() if number in members]
    right = list(COLOURS)[(number + at) % 4]
    files = [f"{name}.png" for name in COLOURS]
    choices, words, shown = list(COLOURS), "What color is the circle?", [f"{right}.png"]
    if number in (19, 20) or subpart.startswith("Video"):
        shown *= 2
    elif number in LEVELS["part-2"]:
        words, shown = f"<img>: it is green. <img>: in {number} it is?", ["green.png", *shown]
    elif number in (32, 33):
        choices = files
        shown = [*(shown * 3 if number == 33 else []), *files]
        words = "What happens next?" if number == 33 else f"A {right} disc."
    elif number == 34:
        words, shown = f"What does a {right} disc look like?", files
    return {
        "question_id": f"{number}_{at}",
        "question_type_id": number,
        "question": words,
        **{f"choice_{letter}": choice for letter, choice in zip("abcd", choices, strict=True)},
        "answer": "ABCD"[list(COLOURS).index(right)],
        "data_id": shown if len(shown) > 1 else shown[0],
        "data_type": subpart.split(" & ")[0] if number != 34 else subpart,
        "subpart": subpart,
        "version": "H",
    }


def write_answers(user: User, name: str, golds: dict[str, str], is_right: Callable[[int, int], bool]) -> None:
    """SEED-Bench's results.json of answers that are right or the next letter."""
    rows = []
    for key, gold in golds.items():
        number, at = map(int, key.split("_"))
        said = gold if is_right(number, at) else "ABCD"["ABCD".index(gold) - 1]
        rows.append({"question_id": key, "prediction": said})
    user.write_rows(name, rows)


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


@pytest.mark.row(
    "Levels L0 to L4, 34 dimensions, averages and ranks (Tables 2 and 3)", page="papers.md#their-tables-and-figures"
)
def test_levels_averages_and_ranks(user: User) -> None:
    golds = write_seed(user)
    rules: dict[str, Callable[[int, int], bool]] = {
        "one": lambda number, at: (number + at) % 3 != 0,
        "two": lambda number, at: number % 2 == 0,
    }
    for name, is_right in rules.items():
        write_answers(user, f"{name}.jsonl", golds, is_right)
        user.run(
            "snellen score seedbench:version=H,level=L3 --data seed.json --predictions NAME.jsonl "
            "--name NAME --out read",
            NAME=name,
        )
    cells = {
        name: {number: 100 * mean(is_right(number, at) for at in range(2)) for number in range(1, 35)}
        for name, is_right in rules.items()
    }
    printed = user.run("snellen export read --to seed-table").text
    levels, subparts, dimensions = map(_table, re.split(r"^\*\*.*\*\*$", printed, flags=re.MULTILINE)[1:])
    for table, groups in ((levels, LEVELS), (subparts, SUBPARTS)):
        for group, members in groups.items():
            # Each dimension weighs the same, however many questions it has.
            means = {name: mean(cells[name][number] for number in members) for name in rules}
            for name, value in means.items():
                rank = 1 + sum(other > value for other in means.values())
                at = table["model"].index(group)
                assert table[name][at : at + 2] == [f"{value:.1f}", str(rank)], (group, name)
    values = {name: [float(cell) for cell in dimensions[name][1::2]] for name in rules}
    assert values == {name: list(cells[name].values()) for name in rules}
    assert user.score("one", "read") == pytest.approx(mean(cells["one"].values()))


def _table(text: str) -> dict[str, list[str]]:
    """The rows of a Markdown table by their first cell."""
    plain = text.replace("**", "")
    lines = [line.strip("| ").split(" | ") for line in plain.splitlines() if line.startswith("| ")]
    return {cells[0]: cells for cells in lines if not cells[0].startswith("---")}


@pytest.mark.release
@pytest.mark.row("Ranking answers by likelihood", page="models.md")
def test_ranking_by_likelihood(user: User) -> None:
    golds = write_seed(user, range(1, 4))
    user.run("snellen run -m snellen/tiny:device=cpu -b seedbench:version=H --data seed.json --no-html")
    samples = {sample["id"]: sample for sample in user.samples("tiny")}
    expected = _likelihoods(user, list(samples))
    for name, likelihoods in expected.items():
        output = samples[name]["passes"][0]["output"]
        assert output["type"] == "ranked"
        theirs = [one["logprob"] / one["tokens"] for one in output["candidates"]]
        assert theirs == pytest.approx(likelihoods, abs=1e-3)
        assert samples[name]["answer"] == "ABCD"[likelihoods.index(max(likelihoods))]
    groups = user.report("tiny")["summary"]["groups"]["dimension"]
    right = sum(samples[name]["answer"] == gold for name, gold in golds.items())
    assert sum(score["value"] * score["n"] for score in groups.values()) == 100 * right


def _likelihoods(user: User, names: list[str]) -> dict[str, list[float]]:
    """The log-probability of each option's only token after the question, by transformers alone."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from snellen.models.hf.bundled import WEIGHTS

    model = AutoModelForImageTextToText.from_pretrained(WEIGHTS / "tiny").eval()
    processor = AutoProcessor.from_pretrained(WEIGHTS / "tiny")
    listed = json.loads((user.folder / "seed.json").read_text())["questions"]
    questions = {one["question_id"]: one for one in listed}
    found = {}
    for name in names:
        one = questions[name]
        content = [{"type": "image"}, {"type": "text", "text": one["question"]}]
        prompt = processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        image = Image.open(user.folder / "SEED-Bench-H-data" / one["data_id"]).convert("RGB")
        inputs = processor(text=prompt, images=[image], return_tensors="pt")
        with torch.no_grad():
            after = torch.log_softmax(model(**inputs).logits[0, -1].float(), -1)
        options = [one[f"choice_{letter}"] for letter in "abcd"]
        tokens = processor.tokenizer(options, add_special_tokens=False)["input_ids"]
        found[name] = [float(after[token]) for [token] in tokens]
    return found


@pytest.mark.row(
    "Interleaved and few-shot prompts",
    page="benchmarks.md",
    partly=True,
    note="the form of two few-shot tasks is a guess, and the table says so",
)
def test_interleaved_prompts(user: User) -> None:
    write_seed(user, LEVELS["part-2"], each=1)
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        bodies.append(body)
        return "B"

    url = user.serve(answer)
    printed = user.run(
        "snellen run -m URL#tiny -b seedbench:version=H,protocol=generate --data seed.json --no-html --out asked",
        URL=url,
    )
    contents = [body["messages"][-1]["content"] for body in bodies]
    contents = [parts for parts in contents if isinstance(parts, list)]
    assert len(contents) == 7
    for parts in contents:
        # Each picture stands where the words say <img>.
        lead, first, green, second, asked = parts
        assert (lead["text"], green["text"].strip()) == ("Question: ", ": it is green.")
        assert first["type"] == second["type"] == "image_url"
        assert re.match(r": in (2[5-9]|3[01]) it is\?\n", asked["text"])
    # Of the seven, the golds of numbers 25 and 29 are green.
    summary = user.report("tiny", "asked")["summary"]
    assert summary["metrics"]["part-2"]["value"] == pytest.approx(100 * 2 / 7)
    # Level 2 has the 24 dimensions of level 1 too, which have no answers.
    assert summary["headline"]["value"] is None
    guessed = "Few-shot Segmentation and Few-shot Object Detection: the form of the authors' files"
    assert guessed in printed.text + printed.remarks
    table = user.run("snellen export asked --to seed-table").text
    assert "Few-shot Segmentation†" in table
    assert "Few-shot Object Detection†" in table


@pytest.mark.row("Ranks by dimension, grey where unsupported (Figure 10)", page="papers.md#their-tables-and-figures")
def test_ranks_by_dimension(user: User) -> None:
    golds = write_seed(user)
    write_answers(user, "one.jsonl", golds, lambda number, at: True)
    # The other has no answers that are images.
    text = {key: gold for key, gold in golds.items() if int(key.split("_")[0]) < 32}
    write_answers(user, "two.jsonl", text, lambda number, at: False)
    user.run(
        "snellen score seedbench:version=H,level=L3 --data seed.json --predictions one.jsonl --name one --out read"
    )
    write_seed(user, range(1, 32))
    user.run("snellen score seedbench:version=H --data seed.json --predictions two.jsonl --name two --out read")
    user.run("snellen export read --to seed-heatmap -o ranks.svg")
    drawn = (user.folder / "ranks.svg").read_text()
    labels = Counter(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))
    # The first in all 34, the second in 31, and three have no value.
    assert (labels["1"], labels["2"]) == (34, 31)
    assert labels["no value"] == 1
    assert labels["Text-Image Creation"] == 1


WRITER = """
import json

class Writer:
    def answer(self, request):
        text = request.text()
        colour = next(name for name in ("red", "green", "blue") if f": {name}" in text)
        wrong = ["a blue color" if colour == "blue" else "blue", "black", "pink"]
        question = {"question": "Which color has the car?", "answer": colour, "distractors": wrong}
        return json.dumps({"questions": [question]})
"""
"""Asks about the colour of the car; of the blue one, with an option that says the same."""


@pytest.mark.row(
    "Questions from pictures", page="making-a-benchmark.md", note="what is seen and written comes of files of the test"
)
def test_questions_from_pictures(user: User) -> None:
    (user.folder / "pictures").mkdir()
    for number, colour in enumerate(COLOURS):
        Image.new("RGB", (96, 64), COLOURS[colour]).save(user.folder / f"pictures/{number}.png")
    seen = []
    for number, colour in enumerate(("red", "green", "blue", "white")):
        caption = f"a {colour} car , a house , a tree , a street , a lamp and a fence"
        car = {"label": "car", "box": [20, 10, 80, 60], "attributes": [colour]}
        seen.append(
            {
                "picture": f"{number}.png",
                "captions": [caption if number < 3 else "a car in a street"],
                "instances": [car],
            }
        )
    user.write_rows("seen.jsonl", seen)
    user.write("writer.py", WRITER)
    user.run(
        "snellen curate questions pictures --out made --extract file:seen.jsonl --load writer.py "
        "-m Writer --dimension instance-attribute"
    )
    lines = (user.folder / "made" / "items.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines]
    # The third has an option that is right too; the fourth says too little to ask about.
    assert [item["picture"] for item in items] == ["0.png", "1.png"]
    for item, colour in zip(items, ("red", "green"), strict=True):
        assert item[item["answer"]] == colour
        assert {item[letter] for letter in "ABCD"} == {colour, "blue", "black", "pink"}
    user.run("snellen run -m random -b made/items.jsonl --no-html")
    assert user.report("random")["summary"]["n"] == 2


@pytest.mark.release
@pytest.mark.row(
    "Answers that are images, by CLIP, of one model or of two joined",
    page="other-tools.md#images-as-answers",
    note="with weights that the test makes: the published ones were never loaded",
)
def test_answers_that_are_images(user: User) -> None:
    from drawing_checkpoints import clip, diffusion

    golds = write_seed(user, (32, 33), each=2)
    clip(user.folder / "clip")
    diffusion(user.folder / "draws")
    user.run(
        "snellen run -m join:text=snellen/tiny-early,draw=diffusers/draws "
        "-b seedbench:version=H,level=L3,draw_steps=2 --data seed.json --judge clip/clip --no-html"
    )
    samples = user.samples("")
    assert len(samples) == 4
    with ResponseStore(user.folder / "snellen-results" / "store.sqlite") as store:
        for sample in samples:
            [drawn] = [one["output"]["images"] for one in sample["passes"] if one["output"]["type"] == "drawn"]
            picture = store.medium(drawn[0])
            assert picture is not None
            assert sample["answer"] == _most_alike(user, picture)
            assert sample["score"] == float(sample["answer"] == golds[sample["id"]])


def _most_alike(user: User, drawn: bytes) -> str:
    """The option whose picture CLIP finds most like the drawn one, by transformers alone."""
    import torch
    from transformers import AutoImageProcessor, CLIPModel

    model = CLIPModel.from_pretrained(user.folder / "clip").eval()
    processor = AutoImageProcessor.from_pretrained(user.folder / "clip")
    paths = [io.BytesIO(drawn), *(user.folder / "SEED-Bench-H-data" / f"{name}.png" for name in COLOURS)]
    images = [Image.open(path).convert("RGB") for path in paths]
    with torch.no_grad():
        pixels = processor(images=images, return_tensors="pt")["pixel_values"]
        pooled = model.vision_model(pixel_values=pixels).pooler_output
        features = torch.nn.functional.normalize(model.visual_projection(pooled), dim=-1)
    likeness = features[1:] @ features[0]
    return "ABCD"[int(likeness.argmax())]


@pytest.mark.release
@pytest.mark.row("A leaderboard with gates", page="hub.md#boards")
def test_a_leaderboard_with_gates(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    golds = write_seed(user)
    write_answers(user, "one.jsonl", golds, lambda number, at: number % 4 != 0)
    # The second gives no valid answer where answers are images.
    rows = [
        {"question_id": key, "prediction": gold if int(key.split("_")[0]) < 32 else ""} for key, gold in golds.items()
    ]
    user.write_rows("two.jsonl", rows)
    user.run(
        "snellen score seedbench:version=H,level=L3 --data seed.json --predictions one.jsonl --name one --out read"
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("a password of many words\n"))
    user.run("snellen hub init my-hub --owner olga")
    user.run("snellen hub import my-hub paper:seed")
    user.run("snellen hub benchmark my-hub seed --data seed.json --benchmark seedbench:version=H,level=L3")
    user.run("snellen hub import my-hub read --benchmark seed --publish")
    user.run("snellen hub import my-hub two.jsonl --name two --benchmark seed --publish")
    boards = _read_boards(user, "snellen hub serve my-hub --port PORT", ("seed", "seed-bench-h"))
    # Level 2 weighs 31 dimensions, level 3 all 34: the second has no number there.
    own = {
        level: {row["model"]: row["cells"]["score"]["value"] for row in rows} for level, rows in boards["seed"].items()
    }
    right = {number: 100.0 * (number % 4 != 0) for number in range(1, 35)}
    assert own["l2"] == pytest.approx({"two": 100.0, "one": mean(right[number] for number in LEVELS["L2"])})
    assert own["l3"] == pytest.approx({"one": mean(right.values())})
    # Printed in Table 2 of the paper: three models reach level 3.
    printed = [
        (row["model"], row["cells"]["score"]["value"], row["cells"]["rank"]["value"])
        for row in boards["seed-bench-h"]["l3"]
    ]
    assert printed == [("SEED-LLaMA", 44.8, 1), ("Emu", 42.3, 2), ("NExT-GPT", 31.4, 3)]
    assert len(boards["seed-bench-h"]["l2"]) > 3


def _read_boards(user: User, command: str, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The rows of levels 2 and 3 of boards, from a server that is started for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    typed = shlex.split(command.replace("PORT", port))
    server = subprocess.Popen(
        [sys.executable, "-m", *typed], cwd=user.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        found: dict[str, dict[str, Any]] = {}
        for name in names:
            found[name] = {}
            for level in ("l2", "l3"):
                address = f"http://127.0.0.1:{port}/api/v1/benchmarks/{name}/board"
                board = json.loads(_get(f"{address}?form=json&table={level}", server))
                [table] = board["tables"]
                found[name][level] = table["rows"]
        return found
    finally:
        server.terminate()
        server.wait()


def _get(address: str, server: subprocess.Popen[bytes]) -> bytes:
    """What is at an address, once the server listens."""
    while True:
        try:
            with urllib.request.urlopen(address) as answered:
                content: bytes = answered.read()
                return content
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
