"""Runs of another tool's benchmarks from end to end: asked, scored by its code, resumed, reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import snellen
from snellen.bridge import benchmark
from snellen.cli.main import main
from snellen.core.errors import DataError, UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.record import Record
from snellen.store.runs import open_run

pytestmark = pytest.mark.usefixtures("colours")


ASKED: list[str] = []
"""The replies of the painter."""


class Painter:
    """Three of four colours, by the picture."""

    identity = Identity("tests", "painter")
    capabilities = Capabilities()

    def answer(self, request: snellen.Generate) -> str:
        pixels = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
        ASKED.append("ABCA"[pixels.index(request.images()[0].getpixel((0, 0)))])
        return ASKED[-1]


painter = Painter()


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    ASKED.clear()


def run(task: str, out: Path, model: object = painter, **options: Any) -> snellen.Run:
    results = snellen.evaluate({"painter": model}, f"vlmevalkit/{task}", out=out, progress=False, **options)
    (one,) = results
    return one


def test_the_headline_is_the_tools(tmp_path: Path) -> None:
    one = run("plain", tmp_path)
    headline = one.summary.headline
    assert (headline.name, headline.value, headline.n) == ("colour sense", 75.0, 4)
    assert headline.interval is not None
    assert one.summary.metrics["asked"].value == 4


def test_questions_that_are_scored_together_have_the_scores_of_the_whole(tmp_path: Path) -> None:
    one = run("together", tmp_path)
    headline = one.summary.headline
    assert (headline.name, headline.value, headline.n) == ("colour sense", 75.0, 4)
    assert headline.interval is not None
    assert any("scores these questions together" in notice for notice in one.summary.notices)
    assert one.info.status == "complete"


def test_a_second_start_asks_and_scores_nothing(tmp_path: Path) -> None:
    run("plain", tmp_path)
    scored = run("plain", tmp_path)
    assert len(ASKED) == 4
    assert scored.info.spent["scorer"].sent == 4


@pytest.mark.parametrize(
    ("task", "says"),
    [("exits", "exit code 7"), ("raises", "a colour out of space"), ("chatters", "no message of the exchange")],
)
def test_a_sample_that_cannot_be_scored_fails_and_its_reply_stays(tmp_path: Path, task: str, says: str) -> None:
    one = run(task, tmp_path)
    assert one.summary.n == 3
    assert one.info.status == "incomplete"
    (failed,) = open_run(one.path).failures()
    assert says in msgspec.json.encode(failed).decode()
    run(task, tmp_path)
    assert len(ASKED) == 4, "the reply is stored, only the score is tried again"


def test_a_prompt_is_made_when_it_is_asked(tmp_path: Path) -> None:
    made: list[list[str]] = []

    def model(request: snellen.Generate) -> str:
        (prompts,) = (tmp_path / "cache").rglob("prompts")
        made.append(prompts.read_text().split())
        return painter.answer(request)

    one = run("lazy", tmp_path, model, limit=2)
    assert len(made) == one.summary.n == 2
    assert len(made[-1]) == 2, "no other prompt was made"
    assert made[0] == made[-1][: len(made[0])]
    whole = run("lazy", tmp_path, model)
    assert whole.info.status == "incomplete"
    (failed,) = open_run(whole.path).failures()
    assert "no white paint" in msgspec.json.encode(failed).decode()
    assert whole.summary.headline.value == 100.0
    (prompts,) = (tmp_path / "cache").rglob("prompts")
    assert len(set(prompts.read_text().split())) == 4


def test_a_question_has_the_settings_that_the_tool_gives_it(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []

    def model(request: snellen.Generate) -> str:
        seen.append((request.settings.max_new_tokens, request.settings.temperature))
        return "A"

    run("settings", tmp_path, model)
    assert sorted(seen) == [(7, 0.5), (9, 0.0), (9, 0.0), (9, 0.0)]
    seen.clear()
    run("settings", tmp_path / "short", model, variant=snellen.Variant(max_new_tokens=3))
    assert sorted(seen) == [(3, 0.0), (3, 0.0), (3, 0.0), (3, 0.5)]


def test_a_judge_is_asked_through_snellen(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(request: snellen.Generate) -> str:
        asked.append(request.text())
        if request.text().startswith("Is "):
            assert (request.settings.stop, request.settings.top_p) == ((".",), 0.5)
        return "yes" if "red" in request.text() else "no"

    one = run("judged", tmp_path, judges=[judge])
    assert len([text for text in asked if text.startswith("Is ")]) == 4
    assert one.summary.headline.value == 25.0


def test_without_a_judge_nothing_is_scored_and_the_run_says_so(tmp_path: Path) -> None:
    one = run("judged", tmp_path)
    assert one.summary.headline.value is None
    assert any("name one with --judge" in notice for notice in one.summary.notices)


def test_a_conversation_has_its_turns(tmp_path: Path) -> None:
    assert run("turns", tmp_path).summary.headline.value == 75.0
    assert len(ASKED) == 8


def test_a_control_takes_the_pictures_away(tmp_path: Path) -> None:
    seen: list[int] = []

    def blind(request: snellen.Generate) -> str:
        seen.append(len(request.images()))
        return "A"

    one = run("plain", tmp_path, blind, variant=snellen.Variant(control="blind"))
    assert set(seen) == {0}
    assert one.summary.headline.value == 25.0


def test_a_plan_counts_its_requests_and_asks_nothing(tmp_path: Path) -> None:
    planned = snellen.plan({"painter": painter}, "vlmevalkit/plain", out=tmp_path)
    (line,) = planned.lines
    assert line.estimate is not None
    assert line.estimate.samples == 4
    assert not ASKED


def test_runs_are_compared_sample_by_sample(tmp_path: Path) -> None:
    def first(request: snellen.Generate) -> str:
        return "A"

    results = snellen.evaluate({"painter": painter, "first": first}, "vlmevalkit/plain", out=tmp_path, progress=False)
    by_model = {one.info.model: one.summary.headline.value for one in results}
    assert by_model == {"painter": 75.0, "first": 25.0}
    assert main(["compare", *(str(one.path) for one in results)]) == 0


def in_order(one: snellen.Run) -> list[Record]:
    """As the rows stand in the data; a run writes records as they are finished."""
    return sorted(one.records(), key=lambda record: record.position or 0)


def painter_who_reads(request: snellen.Generate) -> str:
    """The letter of the colour, for three of four colours; A for the last."""
    pixels = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
    place = pixels.index(request.images()[0].getpixel((0, 0)))
    words = request.text().split()
    ASKED.append(" ".join(words))
    return words[words.index(("red", "green", "blue", "red")[place]) - 1]


def test_a_question_is_asked_in_each_rotation_of_its_options(tmp_path: Path) -> None:
    one = run("plain", tmp_path, painter_who_reads, variant=snellen.Variant(circular="full"))
    assert len(set(ASKED)) == 4
    assert len(ASKED) == 16
    summary = one.summary
    assert (summary.headline.name, summary.headline.value) == ("circular", 75.0)
    assert summary.metrics["vanilla"].value == summary.metrics["colour sense"].value == 75.0
    first = run("plain", tmp_path, lambda request: "A", variant=snellen.Variant(circular="early"))
    assert (first.summary.headline.value, first.summary.metrics["vanilla"].value) == (0.0, 25.0)
    assert sum(record.saved for record in first.records()) == 3 + 3 + 3 + 2
    passes = in_order(first)[0].passes
    assert [(one.gold, one.correct) for one in passes] == [(("A",), True), (("B",), False)]
    assert dict(passes[1].options) == {"A": "white", "B": "red", "C": "green", "D": "blue"}


def test_options_are_shuffled_in_the_tools_rows(tmp_path: Path) -> None:
    shuffled = snellen.Variant(control="shuffled-options")
    one = run("plain", tmp_path, painter_who_reads, variant=shuffled)
    assert one.summary.headline.value == 75.0
    for record in one.records():
        (asked,) = record.passes
        options = " ".join(f"{label} {text}" for label, text in record.options.items())
        assert options in " ".join(str(part) for part in asked.prompt)
        assert list(record.options.values()) != ["red", "green", "blue", "white"]


def test_a_question_whose_options_stay_is_asked_once(tmp_path: Path) -> None:
    one = run("one fixed", tmp_path, painter_who_reads, variant=snellen.Variant(circular="full"))
    assert len(ASKED) == 13
    assert [record.asked_once for record in in_order(one)] == [False, True, False, False]
    assert one.summary.headline.value == 75.0


@pytest.mark.parametrize(
    ("variant", "what"),
    [(snellen.Variant(circular="full"), "--circular"), (snellen.Variant(control="shuffled-options:3"), "shuffled")],
)
def test_options_that_stay_are_refused_in_a_sentence(tmp_path: Path, variant: snellen.Variant, what: str) -> None:
    with pytest.raises(UsageError, match=f"{what}.*: its options are painted on its pictures"):
        run("painted", tmp_path, variant=variant)


def test_several_workers_score_and_the_result_is_the_same(tmp_path: Path) -> None:
    one = run("plain", tmp_path / "one")
    several = run("plain:workers=3", tmp_path / "several")
    assert in_order(several) == in_order(one)
    assert several.summary == one.summary
    slow = run("slow:workers=3", tmp_path / "slow")
    assert slow.summary.headline == one.summary.headline
    logs = {path.parent.name for path in (tmp_path / "cache").rglob("worker.log")}
    assert "worker-2" in logs


def test_a_score_has_the_seconds_that_are_given(tmp_path: Path) -> None:
    one = run("hangs:seconds=1", tmp_path)
    (failed,) = open_run(one.path).failures()
    assert "did not answer in time" in msgspec.json.encode(failed).decode()
    assert one.summary.n == 3


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("vlmevalkit/absent", DataError, "colours.tsv is not in /data: put it there; with the option network=yes"),
        ("vlmevalkit/unknown", UsageError, "no task 'unknown'"),
        ("vlmevalkit/lacking", UsageError, "prism"),
        ("vlmevalkit/plain:colour=red", UsageError, "no option 'colour'"),
        ("vlmevalkit/plain:video=loud", UsageError, "expected one of frames, file"),
        ("vlmevalkit/plain:workers=many", UsageError, "workers=many: expected a whole number from 1 to 64"),
        ("vlmevalkit/plain:seconds=0", UsageError, "expected a whole number from 1 to 86400"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path, spec: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        snellen.evaluate({"painter": painter}, spec, out=tmp_path, progress=False)


def test_choices_that_the_tools_code_does_not_know_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not know --rule"):
        run("plain", tmp_path, variant=snellen.Variant(rule="official"))


def test_a_name_without_prefix_needs_no_worker() -> None:
    assert benchmark.open_task.cache_info().currsize == 0
