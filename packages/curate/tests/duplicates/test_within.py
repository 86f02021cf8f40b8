"""Which items are duplicates, which contradict each other, and what is normal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from drawn_scenes import CHANGES, draw_scene, jpeg, png

from snellen_curate.duplicates.find import find_duplicates
from snellen_curate.duplicates.image_rule import ImageRule
from snellen_curate.duplicates.report import DuplicateReport, DuplicateSettings

Row = Mapping[str, object]
OPTIONS = {"A": "red", "B": "blue", "C": "green", "D": "black"}
CHOICE = {"question": "What colour is the largest thing?", **OPTIONS, "answer": "A"}
OPEN = {"question": "How much does the bottle hold?", "answer": "750 ml"}
YES_NO = {"question": "Is there a star in the picture?", "answer": "yes", "type": "yes_no"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


def write_images(folder: Path) -> None:
    """`one.jpg`, the same pixels as `one.png`, a smaller copy, one mirrored, and another."""
    folder.mkdir(exist_ok=True)
    scene = draw_scene(1)
    data = jpeg(scene)
    (folder / "one.jpg").write_bytes(data)
    from snellen.core.media import decode_image

    (folder / "one.png").write_bytes(png(decode_image(data)))
    (folder / "small.jpg").write_bytes(jpeg(CHANGES["half the size"](scene), 60))
    (folder / "mirrored.png").write_bytes(png(CHANGES["mirrored"](scene)))
    (folder / "other.jpg").write_bytes(jpeg(draw_scene(2)))
    (folder / "broken.jpg").write_bytes(b"broken")


def write_data(folder: Path, *rows: Row) -> Path:
    write_images(folder)
    path = folder / "data.jsonl"
    lines = [json.dumps({"index": f"q{number}", **row}) for number, row in enumerate(rows, 1)]
    path.write_text("\n".join(lines) + "\n")
    return path


def compare(folder: Path, *rows: Row, **settings: object) -> DuplicateReport:
    found = find_duplicates(
        write_data(folder, *rows),
        DuplicateSettings(**settings),  # type: ignore[arg-type]
        processes=1,
    )
    return found.report


def make_image(name: str, row: Row = CHOICE, **changes: object) -> Row:
    return {**row, "image": f"{name}", **changes}


SHUFFLED = {"A": "black", "B": "green", "C": "blue", "D": "red", "answer": "D"}
PAIRS: dict[str, tuple[Row, Row, tuple[str, str, str] | None]] = {
    "the same": (make_image("one.jpg"), make_image("one.jpg"), ("duplicate", "same question", "bytes")),
    "the same pixels": (make_image("one.jpg"), make_image("one.png"), ("duplicate", "same question", "pixels")),
    "a smaller copy": (make_image("one.jpg"), make_image("small.jpg"), ("duplicate", "same question", "near")),
    "another picture": (make_image("one.jpg"), make_image("other.jpg"), None),
    "a mirrored copy": (make_image("one.jpg"), make_image("mirrored.png"), ("duplicate", "same question", "turned")),
    "options in another order": (
        make_image("one.jpg"),
        make_image("one.jpg", **SHUFFLED),
        ("duplicate", "same question", "bytes"),
    ),
    "other distractors": (
        make_image("one.jpg"),
        make_image("one.jpg", B="white", C="pink", D="grey"),
        ("duplicate", "same question, other options", "bytes"),
    ),
    "case and punctuation": (
        make_image("one.jpg"),
        make_image("one.jpg", question="WHAT COLOUR is the largest thing"),
        ("duplicate", "same question", "bytes"),
    ),
    "a polite frame": (
        make_image("one.jpg"),
        make_image("one.jpg", question="Look closely. What colour is the largest thing, please?"),
        ("duplicate", "near question", "bytes"),
    ),
    "another key": (
        make_image("one.jpg"),
        make_image("one.jpg", answer="B"),
        ("contradiction", "same question", "bytes"),
    ),
    "another key by text, the same letter": (
        make_image("one.jpg"),
        make_image("one.jpg", **(SHUFFLED | {"answer": "A"})),
        ("contradiction", "same question", "bytes"),
    ),
    "another key of a near copy": (
        make_image("one.jpg"),
        make_image("small.jpg", answer="B"),
        ("possible contradiction", "same question", "near"),
    ),
    "yes and no": (
        make_image("one.jpg", YES_NO),
        make_image("one.jpg", YES_NO, answer="no"),
        ("contradiction", "same question", "bytes"),
    ),
    "open answers that differ": (
        make_image("one.jpg", OPEN),
        make_image("one.jpg", OPEN, answer="three quarters of a litre"),
        ("possible contradiction", "same question", "bytes"),
    ),
    "open answers that differ in case": (
        make_image("one.jpg", OPEN),
        make_image("one.jpg", OPEN, answer="750 ML."),
        ("duplicate", "same question", "bytes"),
    ),
    "no key known": (make_image("one.jpg"), make_image("one.jpg", answer=""), ("duplicate", "same question", "bytes")),
    "another question": (
        make_image("one.jpg"),
        make_image("one.jpg", question="What shape is the smallest thing?"),
        None,
    ),
    "another number": (
        make_image("one.jpg", YES_NO, question="Are there 3 stars in the picture, or not quite so?"),
        make_image("one.jpg", YES_NO, question="Are there 4 stars in the picture, or not quite so?"),
        None,
    ),
    "a near question with another key": (
        make_image("one.jpg", YES_NO, question="Is there a red star in the picture that you see here?"),
        make_image("one.jpg", YES_NO, answer="no", question="Is there a blue star in the picture that you see here?"),
        None,
    ),
    "the left and the right": (
        make_image("one.jpg", question="What colour is the cup on the left of the large table?"),
        make_image("one.jpg", question="What colour is the cup on the right of the large table?"),
        None,
    ),
    "a negation": (
        make_image("one.jpg", question="Which of these colours is in the picture that you see here?"),
        make_image("one.jpg", question="Which of these colours isn't in the picture that you see?"),
        None,
    ),
    "another thing, the same instruction": (
        make_image(
            "one.jpg",
            YES_NO,
            question="Is there a dog in the image?\nAnswer the question using a single word or phrase.",
        ),
        make_image(
            "one.jpg",
            YES_NO,
            question="Is there a cat in the image?\nAnswer the question using a single word or phrase.",
        ),
        None,
    ),
    "the same with an instruction": (
        make_image(
            "one.jpg",
            YES_NO,
            question="Is there a star in the image?\nAnswer the question using a single word or phrase.",
        ),
        make_image("one.jpg", YES_NO),
        ("duplicate", "near question", "bytes"),
    ),
    "the same words in another order": (
        make_image("one.jpg", YES_NO, question="Is the red star to the left of the large blue box?"),
        make_image("one.jpg", YES_NO, question="Is the large blue box to the left of the red star?"),
        ("possible duplicate", "near question", "bytes"),
    ),
    "a word more": (
        make_image("one.jpg"),
        make_image("one.jpg", question="What colour is the largest thing drawn?"),
        ("possible duplicate", "near question", "bytes"),
    ),
    "the same in other words, other options": (
        make_image("one.jpg"),
        make_image("one.jpg", question="Which color is the largest thing?", D="white"),
        ("possible duplicate", "near question", "bytes"),
    ),
    "no key known, other options": (
        make_image("one.jpg", answer=""),
        make_image("one.jpg", answer="", D="white"),
        ("possible duplicate", "same question, other options", "bytes"),
    ),
    "another sign": (
        make_image("one.jpg", OPEN, question="What does # mean?"),
        make_image("one.jpg", OPEN, question="What does & mean?"),
        None,
    ),
    "the same missing file": (make_image("gone.jpg"), make_image("gone.jpg"), None),
    "another hint": (
        make_image("one.jpg", hint="It is autumn."),
        make_image("one.jpg", hint="It is spring here."),
        None,
    ),
    "Chinese, other punctuation": (
        make_image("one.jpg", question="图中最大的物体是什么颜色？"),
        make_image("one.jpg", question="图中最大的物体 是什么颜色"),
        ("duplicate", "same question", "bytes"),
    ),
    "no pictures, the same text": (CHOICE, CHOICE, ("duplicate", "same question", "")),
    "no pictures, other text": (CHOICE, {**CHOICE, "question": "Which is the capital?"}, None),
    "one without its picture": (CHOICE, make_image("one.jpg"), None),
    "the same broken file": (
        make_image("broken.jpg"),
        make_image("broken.jpg"),
        ("duplicate", "same question", "bytes"),
    ),
    "two pictures in order": (
        make_image("", image=["one.jpg", "other.jpg"]),
        make_image("", image=["one.png", "other.jpg"]),
        ("duplicate", "same question", "pixels"),
    ),
    "two pictures, swapped": (
        make_image("", image=["one.jpg", "other.jpg"]),
        make_image("", image=["other.jpg", "one.jpg"]),
        None,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_items(name: str, tmp_path: Path) -> None:
    one, other, expected = PAIRS[name]
    report = compare(tmp_path / "data", one, other)
    pairs = [*report.contradictions, *report.duplicates, *report.possible]
    found = [(pair.kind, pair.rule, pair.image.how if pair.image else "") for pair in pairs]
    assert found == ([] if expected is None else [expected])
    is_duplicate = expected is not None and expected[0] == "duplicate"
    assert report.exclusions == (("q2",) if is_duplicate else ())


def test_mirrored_copies_are_left_alone_when_asked(tmp_path: Path) -> None:
    rows = make_image("one.jpg"), make_image("mirrored.png")
    report = compare(tmp_path / "data", *rows, images=ImageRule(turned=False))
    assert report.image_pairs == ()


def test_contradictions_come_first_and_name_both_keys(tmp_path: Path) -> None:
    report = compare(
        tmp_path / "data",
        make_image("one.jpg", OPEN),
        make_image("one.jpg", OPEN, answer="a litre"),
        make_image("one.jpg"),
        make_image("one.jpg", answer="C"),
    )
    kinds = [(pair.kind, pair.left, pair.right) for pair in report.contradictions]
    assert kinds == [("contradiction", "q3", "q4"), ("possible contradiction", "q1", "q2")]
    assert report.contradictions[0].left_key == "A: red"
    assert report.contradictions[0].right_key == "C: green"
    assert report.clusters == ()


@pytest.mark.parametrize(("keep", "kept"), [("first", "q1"), ("last", "q3"), ("largest", "q2")])
def test_rule_chooses_the_item_kept_of_a_cluster(keep: str, kept: str, tmp_path: Path) -> None:
    rows = make_image("small.jpg"), make_image("one.jpg"), make_image("one.png"), make_image("other.jpg")
    report = compare(tmp_path / "data", *rows, keep=keep)
    (cluster,) = report.clusters
    assert cluster.items == ("q1", "q2", "q3")
    assert cluster.kept == kept
    assert set(report.exclusions) == {"q1", "q2", "q3"} - {kept}


def test_other_questions_or_images_are_not_duplicates(tmp_path: Path) -> None:
    report = compare(
        tmp_path / "data",
        make_image("one.jpg"),
        make_image("one.jpg", OPEN),
        make_image("one.png", YES_NO),
        make_image("other.jpg"),
        make_image("small.jpg", question="What is this?"),
        make_image("broken.jpg"),
    )
    assert report.duplicates == report.contradictions == ()
    (pair,) = report.image_pairs
    assert {pair.left_items, pair.right_items} == {("q1", "q2", "q3"), ("q5",)}
    (broken,) = report.broken
    assert broken.items == ("q6",)


def test_many_questions_about_one_image(tmp_path: Path) -> None:
    """More than are compared pair by pair: equal ones are chained, near ones found by MinHash."""
    words = [f"thing{chr(97 + number)}" for number in range(12)]
    rows = [
        make_image("one.jpg", OPEN, question=f"Where is the {one} beside the {other} drawn?")
        for one in words
        for other in words
        if one != other
    ]
    near = make_image("one.jpg", OPEN, question="Where is the thinga beside the thingb drawn exactly?")
    report = compare(tmp_path / "data", *rows, rows[5], rows[5], near)
    pairs = {(pair.left, pair.right) for pair in report.duplicates}
    count = len(rows)
    assert pairs == {("q6", f"q{count + 1}"), ("q6", f"q{count + 2}"), ("q1", f"q{count + 3}")}


def test_a_second_look_hashes_nothing_and_changed_files_are_hashed_again(tmp_path: Path) -> None:
    rows = make_image("one.jpg"), make_image("small.jpg")
    path = write_data(tmp_path / "data", *rows)
    seen: list[tuple[int, int]] = []

    def look() -> DuplicateReport:
        seen.clear()
        return find_duplicates(path, processes=1, on_phase=lambda _, one: seen.append((one.entries, one.reused))).report

    assert len(look().duplicates) == 1
    assert seen == [(2, 0)]
    assert len(look().duplicates) == 1
    assert seen == [(2, 2)]
    (tmp_path / "data" / "small.jpg").write_bytes(jpeg(draw_scene(7)))
    assert look().duplicates == ()
    assert seen[-1] == (2, 0)
