"""`frequent`: the baseline that knows the answers of the data and sees no question."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.cli import main
from snellen.core.errors import DataError, UsageError
from snellen.core.output import Generated
from snellen.core.place import Box, Mask, Places, Point, Span
from snellen.core.request import Generate, Ref
from snellen.core.sample import Sample
from snellen.models.frequent import Frequent

CHOICES = "index\tquestion\tA\tB\tC\tanswer\tcategory\n"
ROWS = CHOICES + "".join(
    f"{number}\tWhich?\tred\tblue\tgreen\t{answer}\t{category}\n"
    for number, (answer, category) in enumerate(
        [("A", "hue"), ("A", "hue"), ("B", "hue"), ("C", "shape"), ("C", "shape"), ("B", "shape")]
    )
)


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("model", "answers"), [("frequent", "AAACCC"), ("frequent:by=category", "AAACCC"), ("frequent:by=all", "AAAAAA")]
)
def test_each_group_has_the_answer_that_is_right_most_often(tmp_path: Path, model: str, answers: str) -> None:
    data = write(tmp_path / "hues.tsv", ROWS)
    results = evaluate(model, data, out=tmp_path / "out", html=False)
    assert "".join(each.reply or "" for each in results[0].samples()) == answers


def test_kinds_of_questions_have_answers_of_their_own(tmp_path: Path) -> None:
    text = "index\tquestion\tanswer\n1\tWhat is it?\tcat\n2\tWhat is it?\tcat\n3\tWhat is it?\tdog\n"
    results = evaluate("frequent", write(tmp_path / "pets.tsv", text), out=tmp_path, html=False)
    assert [each.reply for each in results[0].samples()] == ["cat"] * 3
    assert results[0].score == pytest.approx(200 / 3)


def test_equal_questions_of_two_groups_do_not_share_a_reply(tmp_path: Path) -> None:
    """Replies are not stored: the question alone does not tell them."""
    data = write(tmp_path / "hues.tsv", ROWS)
    first = evaluate("frequent:by=all", data, out=tmp_path / "out", html=False)
    second = evaluate("frequent", data, out=tmp_path / "out", html=False)
    again = evaluate("frequent", data, out=tmp_path / "out", html=False)
    assert (first[0].score, second[0].score) == (pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert again[0].score == second[0].score


def test_data_without_answers_are_refused(tmp_path: Path) -> None:
    data = write(tmp_path / "open.tsv", "index\tquestion\n1\tWhat?\n")
    with pytest.raises(DataError, match="frequent needs the answers"):
        evaluate("frequent", data, out=tmp_path / "out", html=False, require_answers=False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("frequent:by=size", "the data have no groups of that name; expected one of category, all"),
        ("frequent:group=x", "have no option 'group'"),
        ("frequent/mine", "unknown model 'frequent/mine'"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, name: str, words: str) -> None:
    data = write(tmp_path / "hues.tsv", ROWS)
    with pytest.raises(UsageError, match=words):
        evaluate(name, data, out=tmp_path / "out", html=False)


def test_plan_of_frequent_counts_no_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "hues.tsv", ROWS)
    assert main(["plan", "-m", "frequent", "-b", data, "--out", str(tmp_path / "out")]) == 0
    assert "frequent" in capsys.readouterr().out


def replies_to(samples: list[Sample]) -> list[str]:
    model = Frequent().for_samples(samples, "digest")
    requests = [Generate(messages=(), ref=Ref(sample.id)) for sample in samples]
    outputs = [asyncio.run(model.answer(request)) for request in requests]
    return [output.text for output in outputs if isinstance(output, Generated)]


def place_sample(name: str, gold: Places, **more: object) -> Sample:
    return Sample(name, "place", "Where?", (gold.text(),), extent=gold.extent, **more)  # type: ignore[arg-type]


def test_places_have_their_median_in_the_space_that_is_asked_for() -> None:
    boxes = [
        Places(boxes=(Box(10, 20, 30, 40),), extent=(100, 100)),
        Places(boxes=(Box(0, 0, 100, 100),), extent=(200, 200)),
    ]
    samples = [place_sample(str(number), gold, space="percent") for number, gold in enumerate(boxes)]
    assert replies_to(samples) == ["[5.0,10.0,40.0,45.0]"] * 2
    spans = [Places(spans=(Span(0, 10),), extent=(20,)), Places(spans=(Span(5, 10),), extent=(10,))]
    assert replies_to([place_sample(str(number), gold) for number, gold in enumerate(spans)]) == [
        "[5.0,15.0]",
        "[2.5,7.5]",
    ]
    mask = Places(masks=(Mask(10, 10, (22, 4, 6, 4, 64)),), extent=(10, 10))
    polygon = Places(polygons=((Point(2, 2), Point(4, 2), Point(4, 6), Point(2, 6)),), extent=(10, 10))
    for gold in (mask, polygon):
        assert replies_to([place_sample("a", gold, space="pixels", asks_points=True)]) == ["[3,4]"]
    points = [Places(points=(Point(x, 5),), extent=(10, 10)) for x in (1, 2, 9)]
    samples = [place_sample(str(number), gold, space="pixels") for number, gold in enumerate(points)]
    assert replies_to(samples) == ["[2,5]"] * 3
    nothing = place_sample("nothing", Places(extent=(10, 10)), space="pixels")
    assert replies_to([*samples, nothing]) == ["[2,5]"] * 4
