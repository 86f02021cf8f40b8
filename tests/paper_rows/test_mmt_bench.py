"""Rows of MMT-Bench (arXiv:2404.16006): what a user types, and what must come of it."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import combinations
from statistics import fmean
from typing import Any

import pytest
from PIL import Image, ImageDraw
from tests.paper_rows.user import User, encoded_image, wilson, words_of

FRUITS = ("pear", "plum", "fig", "lime")
WEATHER = ("weather_recognition", "visual_recognition")
FACES = ("face_retrieval", "image_retrieval")


def write_mmt(user: User, golds: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """Write MMT-Bench's layout; `golds` are the right letters of each subtask, which is named with
    its meta-task. Each question has a picture of its own."""
    rows: list[dict[str, Any]] = []
    for (subtask, meta_task), letters in golds.items():
        for letter in letters:
            at = len(rows)
            rows.append(
                {
                    "index": at,
                    "question": f"Which is number {at}?",
                    **{name: f"{fruit} {at}" for name, fruit in zip("ABCD", FRUITS, strict=True)},
                    "answer": letter,
                    "category": subtask,
                    "l2-category": meta_task,
                    "split": "val",
                    "image": encoded_image(at),
                }
            )
    user.write_rows("mmt.jsonl", rows)
    return rows


@pytest.mark.row("Extraction in three steps (Table A16)", page="analyses.md")
def test_three_steps(user: User) -> None:
    write_mmt(user, {WEATHER: "ABCDABCD"})
    replies = [
        "A",
        "The answer is B.",
        "(C)",
        "A",
        "pear 4",
        "It is plum 5.",
        "The third of them.",
        "It is hard to say.",
    ]
    user.write_replies("out.jsonl", replies)
    url = user.serve(lambda body: "C" if "third" in words_of(body) else "Z")
    user.run("snellen score mmt-bench --data mmt.jsonl --predictions out.jsonl --name rules --out read")
    user.run(
        "snellen score mmt-bench --data mmt.jsonl --predictions out.jsonl --extractor URL#tiny --name model --out read",
        URL=url,
    )
    # Three of four letters are right, both contents, and what the model reads of the third.
    assert user.score("rules", "read") == 100 * 5 / 8
    assert user.score("model", "read") == 100 * 6 / 8
    rows = user.run("snellen analyse steps read --json").json()["tables"][0]["rows"]
    steps = {row["run"].split()[0]: (row["1 label"], row["2 content"], row["3 LLM"]) for row in rows}
    assert steps == {"rules": (50.0, 75.0, None), "model": (50.0, 75.0, 87.5)}


def read_subtasks() -> dict[str, str]:
    """The meta-task of each of the 162 subtasks."""
    text = (files("snellen.benchmarks") / "data" / "mmt_subtasks.csv").read_text(encoding="utf-8")
    return {row["subtask"]: row["meta_task"] for row in csv.DictReader(text.splitlines())}


@pytest.mark.row(
    "162 subtasks, 32 meta-tasks, Overall, Overall*, average ranks (Table 2)", page="papers.md#their-tables-and-figures"
)
def test_table_2(user: User) -> None:
    subtasks = read_subtasks()
    golds = {(name, meta): "ABC" if at % 3 else "AABCD" for at, (name, meta) in enumerate(subtasks.items())}
    rows = write_mmt(user, golds)
    assert (len(golds), len(set(subtasks.values()))) == (162, 32)
    counts = {name: Counter(letters) for (name, _), letters in golds.items()}
    # The scores of each question in each row of the table.
    scores = {
        "One": [at % 7 < 4 for at in range(len(rows))],
        "Two": [at % 5 < 3 for at in range(len(rows))],
        "random guess": [0.25] * len(rows),
        "frequency guess": [max(counts[row["category"]].values()) / counts[row["category"]].total() for row in rows],
    }
    for model in ("One", "Two"):
        replies = [row["answer"] if is_right else "Z" for row, is_right in zip(rows, scores[model], strict=True)]
        user.write_replies(f"{model}.jsonl", replies)
        user.run(
            "snellen score mmt-bench --data mmt.jsonl --predictions MODEL.jsonl --name MODEL --out read", MODEL=model
        )
    table = user.run("snellen export read --to mmt-table").text
    lines = [
        [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]
        for line in table.replace("**", "").splitlines()
        if line.startswith("|")
    ]
    printed = {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}
    assert set(printed) == set(scores)
    metas = {name: meta_means(rows, values) for name, values in scores.items()}
    for name, cells in printed.items():
        by_subtask = subtask_means(rows, scores[name])
        others = [mean for task, mean in by_subtask.items() if subtasks[task] != "VR"]
        expected = {
            "Overall": fmean(by_subtask.values()),
            "Overall (questions)": 100 * fmean(scores[name]),
            "Overall*": fmean(others),
            "R": mean_rank(metas, name, list(metas[name])),
            "R*": mean_rank(metas, name, [meta for meta in metas[name] if meta != "VR"]),
            **metas[name],
        }
        assert set(cells) == {"model", *expected}
        for column, value in expected.items():
            assert float(cells[column].split()[0]) == pytest.approx(value, abs=0.0501), column


def subtask_means(rows: list[dict[str, Any]], scores: Sequence[float]) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for row, score in zip(rows, scores, strict=True):
        found[row["category"]].append(100 * score)
    return {name: fmean(values) for name, values in found.items()}


def meta_means(rows: list[dict[str, Any]], scores: Sequence[float]) -> dict[str, float]:
    """The plain mean of the subtasks of each meta-task, as printed."""
    found: dict[str, list[float]] = defaultdict(list)
    meta_tasks = read_subtasks()
    for name, mean in subtask_means(rows, scores).items():
        found[meta_tasks[name]].append(mean)
    return {name: round(fmean(values), 1) for name, values in found.items()}


def mean_rank(metas: Mapping[str, Mapping[str, float]], name: str, tasks: Sequence[str]) -> float:
    return fmean(1 + sum(other[task] > metas[name][task] for other in metas.values()) for task in tasks)


@pytest.mark.row("Random Choice and Frequent Choice as models", page="models.md")
def test_guessing(user: User) -> None:
    write_mmt(user, {WEATHER: "AAAB" * 25, FACES: "BCDD" * 25})
    user.run("snellen run -m frequent -m random:seed=1 -m random:seed=2 -b mmt-bench --data mmt.jsonl --no-html")
    # A is right in three of four of one subtask, D in half of the other.
    assert user.score("frequent") == (75 + 50) / 2
    letters = {name: [sample["answer"] for sample in user.samples(name)] for name in ("frequent", "seed_1", "seed_2")}
    assert letters["frequent"] == ["A"] * 100 + ["D"] * 100
    assert letters["seed_1"] != letters["seed_2"]
    for seed in ("seed_1", "seed_2"):
        right = sum(one == row for one, row in zip(letters[seed], "AAAB" * 25 + "BCDD" * 25, strict=True))
        assert user.score(seed) == pytest.approx(100 * right / 200)
        # Within five standard errors of a guess.
        assert abs(right / 200 - 0.25) < 5 * (0.25 * 0.75 / 200) ** 0.5


COUNTS_RED = """
class CountsRed:
    def answer(self, request):
        images = [image.convert("RGB") for image in request.images()]
        middles = [image.getpixel((image.width // 2, image.height // 2)) for image in images]
        return "ABCD"[sum(red > 128 for red, _, _ in middles)]
"""
"""Says A for no picture whose middle is red, B for one, and so on."""


def encode(image: Image.Image, kind: str = "PNG", **how: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **how)
    return stream.getvalue()


def plain_image(colour: str, width: int) -> str:
    return base64.b64encode(encode(Image.new("RGB", (width, 16), colour))).decode()


@pytest.mark.row("Images apart or stitched (Figure 3a to 3h)", page="controls.md")
def test_apart_or_stitched(user: User) -> None:
    # Every choice of red ones among three pictures, four times.
    reds = [(at >> 2 & 1, at >> 1 & 1, at & 1) for at in range(32)]
    rows = write_mmt(user, {FACES: "".join("ABCD"[sum(one)] for one in reds)})
    for at, row in enumerate(rows):
        row["image"] = [plain_image("red" if red else "blue", 40 + at) for red in reds[at]]
    user.write_rows("mmt.jsonl", rows)
    user.write("my_model.py", COUNTS_RED)
    user.run(
        "snellen run --load my_model.py -m CountsRed -b mmt-bench -b mmt-bench:images=stitch "
        "-b mmt-bench:images=first --data mmt.jsonl --no-html"
    )
    found = user.run("snellen analyse gains snellen-results --by images=stitch --json").json()
    scores = {gain["value"]: gain["score"] for gain in found["gains"]}
    # In one picture of all the middle is that of the second; the first alone is one of three.
    stitched = 100 * fmean(sum(one) == one[1] for one in reds)
    assert {gain["base_score"] for gain in found["gains"]} == {stitched}
    assert scores == {"native": 100.0, "first": 100 * fmean(sum(one) == one[0] for one in reds)}
    gains = {gain["value"]: gain["gain"] for gain in found["gains"]}
    assert gains == {"native": 100 - stitched, "first": 0.0}


@pytest.mark.release
@pytest.mark.row(
    "Embeddings of several images concatenated (Figure 3a to 3h)",
    page="families.md",
    note="of open models that take one image",
)
def test_concatenated_embeddings(user: User) -> None:
    from family_llava_like import FAMILIES

    model = next(family for family in FAMILIES if family.name == "LLaVA-1.5").build(user.folder / "llava")
    rows = write_mmt(user, {FACES: "ABCD"})
    for at, row in enumerate(rows):
        colours = ("red", "blue", "green")[at % 2 :]
        row["image"] = [plain_image(colour, 40 + at) for colour in colours]
    user.write_rows("mmt.jsonl", rows)
    user.run(
        "snellen run -m hf/MODEL:images=concat-embeddings,device=cpu -b mmt-bench "
        "-b mmt-bench:images=stitch -b mmt-bench:images=first --data mmt.jsonl "
        "--generation max_new_tokens=4 --no-html",
        MODEL=model,
    )
    found = user.run("snellen analyse gains snellen-results --by images=stitch --json").json()
    runs = {gain["value"]: gain["folder"] for gain in found["gains"]}
    runs["stitch"] = found["gains"][0]["base_folder"]
    tokens = {
        value: [sample["passes"][0]["output"]["usage"]["prompt_tokens"] for sample in user.samples(folder)]
        for value, folder in runs.items()
    }
    # One picture of 32 x 32 is 16 patches of 8 x 8; of three or two, those of each follow.
    assert set(tokens) == {"concat-embeddings", "stitch", "first"}
    assert tokens["stitch"] == tokens["first"]
    further = [all_ - one for all_, one in zip(tokens["concat-embeddings"], tokens["first"], strict=True)]
    assert further == [32, 16, 32, 16]


READS_MARKS = r"""
class ReadsMarks:
    def answer(self, request):
        with open("asked.txt", "a") as file:
            file.write(request.text().partition("\nOptions")[0] + "\n")
        image = request.images()[0].convert("RGB")
        marks = [(x, y) for x in range(image.width) for y in range(image.height)
                 if image.getpixel((x, y))[0] > 230 and image.getpixel((x, y))[1] < 60]
        if not marks:
            return "A"
        return "ABCD"[2 * (min(y for _, y in marks) > 30) + (min(x for x, _ in marks) > 50)]
"""
"""Finds the quarter of a red box, and says A where none is drawn."""


def soft_image(at: int) -> Image.Image:
    """A picture of shapes, 120 x 90, without pure red."""
    draws = random.Random(at)

    def colour() -> tuple[int, ...]:
        return tuple(draws.randint(90, 200) for _ in range(3))

    image = Image.new("RGB", (120, 90), colour())  # type: ignore[arg-type]
    pen = ImageDraw.Draw(image)
    for _ in range(12):
        x, y, size = draws.randint(0, 120), draws.randint(0, 90), draws.randint(5, 25)
        pen.ellipse((x - size, y - size, x + size, y + size), fill=colour())  # type: ignore[arg-type]
    return image


@pytest.mark.row(
    "Visual referring: a box, pixels, shares, both (Figure 3i)",
    page="controls.md#visual-referring-on-mmt-bench",
    note="the published files have boxes drawn in; clean pictures and boxes are made of the "
    "sources, which were not at hand",
)
def test_visual_referring(user: User) -> None:
    rows = write_mmt(user, {("human_keypoint_detection", "keypoint_detection"): "ABCD" * 2})
    (user.folder / "pictures").mkdir()
    annotations: list[dict[str, Any]] = []
    boxes = []
    for at, row in enumerate(rows):
        left, top = 10 + 60 * (at % 2), 5 + 40 * (at // 2 % 2)
        boxes.append((left, top, left + 30 + at, top + 25))
        image = soft_image(at)
        clean = encode(image, "JPEG", quality=95, subsampling=0)
        (user.folder / "pictures" / f"{at}.jpg").write_bytes(clean)
        ImageDraw.Draw(image).rectangle(boxes[-1], outline=(255, 0, 0), width=2)
        row["image"] = base64.b64encode(encode(image, "JPEG", quality=95, subsampling=0)).decode()
        row["question"] = "What is the keypoint of the person (marked as RED)?"
        for place, box in enumerate(([left, top, 30 + at, 25], [30, 20, 60, 50])):
            annotations.append({"id": 2 * at + place, "image_id": at, "category_id": 1, "bbox": box})
    user.write_rows("mmt.jsonl", rows)
    user.write(
        "coco.json",
        json.dumps(
            {
                "images": [{"id": at, "file_name": f"{at}.jpg", "width": 120, "height": 90} for at in range(8)],
                "annotations": annotations,
                "categories": [{"id": 1, "name": "person"}],
            }
        ),
    )
    user.write("my_model.py", READS_MARKS)
    user.run("snellen data referring mmt.jsonl --annotations coco coco.json pictures -o clean.tsv")
    user.run(
        "snellen run --load my_model.py -m ReadsMarks -b mmt-bench:referring=box "
        "-b mmt-bench:referring=pixel -b mmt-bench:referring=normalised "
        "-b mmt-bench:referring=both --data clean.tsv --no-html"
    )
    found = user.run("snellen analyse gains snellen-results --by referring=box --json").json()
    # All boxes are found where they are drawn; A is right in a quarter.
    assert {gain["base_score"] for gain in found["gains"]} == {100.0}
    gains = {gain["value"]: gain["gain"] for gain in found["gains"]}
    assert gains == {"pixel": -75.0, "normalised": -75.0, "both": 0.0}
    asked = (user.folder / "asked.txt").read_text()
    for left, top, right, bottom in boxes:
        assert asked.count(f"[{left}, {top}, {right}, {bottom}]") == 2
        shares = (left / 120, top / 90, right / 120, bottom / 90)
        assert asked.count(f"[{', '.join(f'{share:.3f}' for share in shares)}]") == 1


READS_PIXELS = r"""
import re

class ReadsPixels:
    def answer(self, request):
        lefts = re.findall(r"([A-D])[.] \[([0-9]+),", request.text())
        return next((letter for letter, left in lefts if left == "8"), "A")
"""
"""Takes the box that begins at the eighth pixel, and says A to other questions."""


@pytest.mark.row("Coordinates in pixels and shares (Figure A2)", page="controls.md")
def test_coordinates(user: User) -> None:
    rows = write_mmt(user, {("small_object_detection", "localization"): "B" * 8 + "ABCD", WEATHER: "ABCD" * 3})
    corners = {letter: (8 * place, 4, 8 * place + 20, 20) for place, letter in enumerate("ABCD")}
    for at, row in enumerate(rows[:12]):
        row["image"] = encoded_image(at, (80, 40))
        row["question"] = "Where is it? Note that the width is 80 and the height is 40."
        row |= {letter: str(list(box)) for letter, box in corners.items()}
    user.write_rows("mmt.jsonl", rows)
    user.write("my_model.py", READS_PIXELS)
    user.run(
        "snellen run --load my_model.py -m ReadsPixels -b mmt-bench:coords=pixel "
        "-b mmt-bench:coords=normalised --data mmt.jsonl --no-html"
    )
    found = user.run("snellen analyse gains snellen-results --by coords=pixel --group category --json").json()
    scores = {gain["group"]: (gain["base_score"], gain["score"]) for gain in found["gains"]}
    # B is right in nine of twelve, which only pixels show; A is right in one of them.
    assert scores["small_object_detection"] == (75.0, pytest.approx(100 / 12))
    assert scores["weather_recognition"] == (25.0, 25.0)
    assert scores[""] == (50.0, pytest.approx((100 / 12 + 25) / 2))
    shares = [f"[{x1 / 80:.3f}, {y1 / 40:.3f}, {x2 / 80:.3f}, {y2 / 40:.3f}]" for x1, y1, x2, y2 in corners.values()]
    options = {
        tuple(sample["options"].values())
        for folder in ("base_folder", "folder")
        for sample in user.samples(found["gains"][0][folder])
        if sample["groups"]["category"] == "small_object_detection"
    }
    assert options == {tuple(shares), tuple(str(list(box)) for box in corners.values())}


@pytest.mark.row("Without images, or with black ones (Table A13)", page="controls.md")
def test_without_images(user: User) -> None:
    rows = write_mmt(user, {WEATHER: "ABAB" * 8, FACES: "BBBA" * 8})
    for row in rows:
        colour = "red" if row["answer"] == "B" else "blue"
        row["image"] = plain_image(colour, 16 + row["index"])
    user.write_rows("mmt.jsonl", rows)
    user.write("my_model.py", COUNTS_RED)
    user.run("snellen run --load my_model.py -m CountsRed -b mmt-bench --data mmt.jsonl --no-html")
    user.run("snellen run --load my_model.py -m CountsRed -b mmt-bench --data mmt.jsonl --control blind --no-html")
    user.run("snellen run --load my_model.py -m CountsRed -b mmt-bench --data mmt.jsonl --control black --no-html")
    found = user.run("snellen analyse gains snellen-results --group category --json").json()
    gains = {
        (gain["value"], gain["group"]): (gain["base_score"], gain["score"], gain["gain"]) for gain in found["gains"]
    }
    # Without red it says A: right in half of one subtask, in a quarter of the other.
    for control in ("blind", "black"):
        assert gains[control, "weather_recognition"] == (100.0, 50.0, 50.0)
        assert gains[control, "face_retrieval"] == (100.0, 25.0, 75.0)
        assert gains[control, ""] == (100.0, 37.5, 62.5)
    blind = next(gain for gain in found["gains"] if gain["answerable"])
    assert blind["answerable"]["value"] == 37.5
    interval = blind["answerable"]["interval"]
    assert [interval["low"], interval["high"]] == pytest.approx(wilson(24, 64))


@pytest.mark.row("Why answers are wrong (Figure 4)", page="analyses.md")
def test_why_answers_are_wrong(user: User) -> None:
    write_mmt(user, {WEATHER: "ABCD" * 10, FACES: "ABCD" * 2})
    user.write_replies("out.jsonl", ["A"] * 48)

    def judge(body: dict[str, Any]) -> str:
        number = int(re.findall("number ([0-9]+)", str(body["messages"]))[0])
        return f"It did not look.\nLabels: {'knowledge' if number >= 40 else 'perception'}"

    url = user.serve(judge)
    user.run(
        "snellen analyse errors out.jsonl -b mmt-bench --data mmt.jsonl --each 6 --sheet errors.html --judge URL#tiny",
        URL=url,
    )
    judged = json.loads((user.folder / "errors.judge.json").read_text())["samples"]
    # Of 30 wrong answers of one subtask, and all 6 of the other.
    assert Counter((one["subtask"], one["wrong"]) for one in judged) == {(WEATHER[0], 30): 6, (FACES[0], 6): 6}
    # A person sees four of the six otherwise, and agrees on the others.
    people = [
        {**one, "labels": "reasoning" if at < 4 else one["labels"][0]}
        for at, one in enumerate(sorted(judged, key=lambda one: int(one["sample"])))
    ]
    with (user.folder / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, people[0])
        writer.writeheader()
        writer.writerows(people)
    found = user.run("snellen analyse errors people.csv --json").json()
    shares = {row["type of error"]: row["% of wrong answers"] for row in found["tables"][0]["rows"]}
    assert shares["reasoning error"] == pytest.approx(100 * 30 * (4 / 6) / 36)
    assert shares["perception error"] == pytest.approx(100 * 30 * (2 / 6) / 36)
    assert shares["lack of knowledge"] == pytest.approx(100 * 6 / 36)
    found = user.run("snellen analyse errors errors.judge.json --labels people.csv --json").json()
    rows = {row["type of error"]: row for row in found["tables"][0]["rows"]}
    assert (rows["perception error"]["judge says"], rows["perception error"]["of"]) == (6, 12)
    assert rows["perception error"]["confirmed"] == "2 of 6"
    assert rows["reasoning error"]["missed"] == "4 of 12"
    assert rows["lack of knowledge"]["confirmed"] == "6 of 6"


TEMPLATES = """
version = 1

[[templates]]
subtask = "counting_by_category"
task = "counting"
answer = "count"
questions = ["How many {label}s are in the picture?"]
options = 4

[[templates]]
subtask = "small_object_detection"
task = "localization"
answer = "box"
questions = ["Where is the {label}? Boxes are [x1, y1, x2, y2]."]
options = 4
"""


@pytest.mark.row("Making questions from metadata (Tables A12 to A15)", page="curate/metadata.md")
def test_questions_from_metadata(user: User) -> None:
    (user.folder / "pictures").mkdir()
    annotations: list[dict[str, Any]] = []
    crates, stars = {}, {}
    for at in range(40):
        (user.folder / "pictures" / f"{at}.png").write_bytes(encode(soft_image(at)))
        left, top, width, height = 2 + 11 * at % 70, 3 + 7 * at % 30, 18 + at % 5 * 4, 15
        crates[at] = [left, top, left + width, top + height]
        stars[at] = 2 + at % 5
        annotations.append({"image_id": at, "category_id": 1, "bbox": [left, top, width, height]})
        annotations += [{"image_id": at, "category_id": 2, "bbox": [12 * one, 70, 9, 9]} for one in range(stars[at])]
    user.write(
        "coco.json",
        json.dumps(
            {
                "images": [{"id": at, "file_name": f"{at}.png", "width": 120, "height": 90} for at in range(40)],
                "annotations": [{"id": number, **one} for number, one in enumerate(annotations)],
                "categories": [{"id": 1, "name": "crate"}, {"id": 2, "name": "star"}],
            }
        ),
    )
    user.write("templates.toml", TEMPLATES)
    user.run("snellen curate metadata coco coco.json --media pictures --facts source=drawn,licence=CC0-1.0 --out drawn")
    made = user.run(
        "snellen curate questions drawn --templates templates.toml --limits per_subtask=12 --out made --json"
    ).json()
    assert {name: one["items"] for name, one in made["subtasks"].items()} == {
        "counting_by_category": 12,
        "small_object_detection": 12,
    }
    lines = (user.folder / "made" / "items.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines]
    letters: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        at = int(item["record"].partition("/")[2])
        right = str(crates[at])
        if item["category"] == "counting_by_category":
            right = str(stars[at] if "star" in item["question"] else 1)
        assert item[item["answer"]] == right
        assert [item[letter] for letter in "ABCD"].count(right) == 1
        letters[item["category"]][item["answer"]] += 1
    user.run("snellen run -m frequent -b mmt-bench --data made/items.jsonl --no-html")
    most = [max(counts.values()) / 12 for counts in letters.values()]
    assert user.score("frequent") == pytest.approx(100 * fmean(most))


@pytest.mark.row(
    "The task map (Section 5)",
    page="taskmap.md",
    note="the analysis from scores is a finding; the map from vectors is machinery: on the drawn "
    "tasks it correlates 0.78 with a control whose images are wrong, so that its clusters are "
    "withheld",
)
def test_task_map(user: User) -> None:
    draws = random.Random(5)
    clusters = {"first": ["a", "b", "c"], "second": ["d", "e"], "third": ["f", "g", "h"]}
    skills = {name: [draws.uniform(20, 80) for _ in range(9)] for name in ("first", "third")}
    # The second ranks models as the first does, the third by another skill.
    skills["second"] = skills["first"]
    scores = {
        task: [round(skill + draws.uniform(-8, 8), 1) for skill in skills[cluster]]
        for cluster, tasks in clusters.items()
        for task in tasks
    }
    lines = [f"model {model},{task},{values[model]}" for task, values in scores.items() for model in range(9)]
    user.write("scores.csv", "\n".join(["model,subtask,accuracy", *lines]) + "\n")
    lines = [f"{name},{task}" for name, tasks in clusters.items() for task in tasks]
    user.write("clusters.csv", "\n".join(["cluster,subtask", *lines]) + "\n")
    told = user.run("snellen taskmap --scores scores.csv --map clusters=clusters.csv --json")
    found = told.json()["agreement"]

    def means(tasks: Sequence[str]) -> list[float]:
        return [fmean(scores[task][model] for task in tasks) for model in range(9)]

    for one in found["clusters"]:
        tasks = clusters[one["name"]]
        others = [task for task in scores if task not in tasks]
        assert one["accuracy"] == pytest.approx(fmean(means(tasks)))
        assert one["tau"] == pytest.approx(kendall_tau(means(tasks), means(list(scores))))
        assert one["tau_others"] == pytest.approx(kendall_tau(means(tasks), means(others)))
    assert found["every_pair"] == pytest.approx(
        fmean(kendall_tau(scores[one], scores[other]) for one, other in combinations(scores, 2))
    )


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """The share of pairs in the same order less that of pairs in the other."""
    signs = [
        (first[one] > first[other]) - (first[one] < first[other])
        if second[one] > second[other]
        else (first[one] < first[other]) - (first[one] > first[other])
        for one, other in combinations(range(len(first)), 2)
    ]
    return fmean(signs)
