"""The frame of curation: items of any data, data set folders, decisions, and asking models."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct
from PIL import Image

import snellen
from snellen.core.errors import DataError, RunLocked, UsageError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.record import Steps
from snellen.core.request import Generate, Message, Text, user
from snellen.core.sample import MediaRef, Sample
from snellen.data_sets.decisions import DECISIONS_FILE, Decision, flagged_items, latest_decisions, read_decisions
from snellen.data_sets.items import Item
from snellen.data_sets.step import SourceInfo, open_step, read_step
from snellen_curate.asking import Job, Models, Result, StepOptions, ask_json, ask_text, open_models, parse_json_reply
from snellen_curate.open_data import open_items

SOURCE = SourceInfo("made up", "made-up.jsonl", "ab" * 32, 3)


def make_image(colour: str) -> MediaRef:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(out, "PNG")
    data = out.getvalue()
    return MediaRef(digest_bytes(data), InlineSource(data))


def items() -> list[Item]:
    options = {"A": "red", "B": "blue"}
    groups = {"category": "colour", "l2-category": "perception"}
    return [
        Item(
            Sample("1", "choice", "Which colour?", ("B",), options, (make_image("blue"),), "Look.", groups),
            {"source": "drawn", "license": "CC0-1.0"},
        ),
        Item(Sample("2", "open", "Which apply?", ("A, B",), options, unit="u1")),
        Item(Sample("3", "yes_no", "Is it red?", ("No",), media=(make_image("blue"),) * 2)),
        Item(Sample("4", "open", "Name a colour", ("red", "crimson"))),
    ]


def test_items_survive_the_way_through_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "made"
    with open_step(out, "questions", {"seed": 1}, SOURCE) as step:
        assert step.write_items(items()) == 4
        step.finish({"items": 4})
    table = open_items(out)
    assert (table.name, table.folder, len(table)) == ("made", out, 4)
    read = list(table)
    for before, after in zip(items(), read, strict=True):
        assert not after.problem
        assert after.cells == before.cells
        assert [ref.digest for ref in after.sample.media] == [ref.digest for ref in before.sample.media]
        for name in ("id", "kind", "question", "gold", "options", "hint", "groups", "unit"):
            assert getattr(after.sample, name) == getattr(before.sample, name), name
    assert read[0].label("license") == "CC0-1.0"
    assert read[0].label("category") == "colour"
    # A picture that two items show is stored once.
    assert len(list((out / "media").rglob("*.png"))) == 1
    # And Snellen asks what was written, like any data file.
    results = snellen.evaluate("random", out / "items.jsonl", out=tmp_path / "runs", html=False)
    assert results.runs[0].info.status == "complete"
    assert results.runs[0].info.data.rows == 4
    # The folder goes by its own name.
    results = snellen.evaluate("random", out, out=tmp_path / "runs", html=False)
    assert (results.runs[0].info.benchmark, results.runs[0].info.data.rows) == ("made", 4)


def test_every_row_is_an_item(tmp_path: Path) -> None:
    rows = [
        {"index": 1, "question": "?", "A": "a", "B": "b", "answer": "A", "type": "hard"},
        {"index": 2, "question": "?", "A": "a", "B": "b", "answer": "Z"},
        {"index": 3, "A": None},
        {"index": 1, "question": "again?", "answer": "yes"},
        {"index": 5, "question": "where?", "answer": "here", "image": "lost.png"},
    ]
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = list(open_items(path))
    assert [item.id for item in read] == ["1", "2", "3", "1 (row 4)", "5"]
    assert [bool(item.problem) for item in read] == [False, True, True, True, False]
    assert "'Z'" in read[1].problem
    assert "row 4" in read[3].problem
    assert read[0].cells == {"original type": "hard"}
    # A picture that is not there keeps its place.
    with open_step(tmp_path / "out", "filter", {}, SOURCE) as step:
        step.write_items(read[4:])
    again = list(open_items(tmp_path / "out"))
    assert len(again[0].sample.media) == 1


def test_rotations_in_a_file_belong_to_their_question(tmp_path: Path) -> None:
    rows = [
        {"index": 1, "question": "?", "A": "a", "B": "b", "answer": "A"},
        {"index": 2, "question": "!", "A": "a", "B": "b", "answer": "Z"},
        {"index": 1_000_001, "question": "?", "A": "b", "B": "a", "answer": "B"},
    ]
    path = tmp_path / "rotated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = open_items(path)
    assert [turn.row for turn in first.sample.rotations] == ["1000001"]
    assert (second.id, bool(second.problem)) == ("2", True)


def test_items_of_a_benchmark() -> None:
    table = open_items("eyechart")
    read = list(table)
    assert len(read) == len(table)
    assert all(item.sample.media and not item.problem for item in read)


def test_refuses_items_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown benchmark"):
        open_items("eyechrat")
    with open_step(tmp_path / "begun", "filter", {}, SOURCE):
        pass
    with pytest.raises(UsageError, match=r"has no items\.jsonl yet"):
        open_items(tmp_path / "begun")
    with open_step(tmp_path / "empty", "filter", {}, SOURCE) as step, pytest.raises(DataError, match="no item is left"):
        step.write_items([])


def test_a_step_resumes_and_refuses_anything_else(tmp_path: Path) -> None:
    out = tmp_path / "step"
    with open_step(out, "filter", {"rule": "half"}, SOURCE) as step:
        step.decide(Decision("1", "keep", "filter", "half"))
        step.decide(Decision("2", "flag", "filter", "failed", "timeout: no answer"))
        with pytest.raises(RunLocked, match="another process"), open_step(out, "filter", {"rule": "half"}, SOURCE):
            pass
    with (out / DECISIONS_FILE).open("ab") as torn:
        torn.write(b'{"item":"3","act')
    with open_step(out, "filter", {"rule": "half"}, SOURCE) as step:
        # What failed is looked at again, and the torn line is gone.
        assert set(step.decisions) == {"1"}
        step.decide(Decision("2", "drop", "filter", "half"))
        step.write_items(items()[:1])
        step.finish({"items": 1})
    assert [each.item for each in read_decisions(out)] == ["1", "2", "2"]
    assert all(each.at.endswith("Z") for each in read_decisions(out))
    assert read_step(out).status == "complete"
    assert latest_decisions(read_decisions(out))["2"].action == "drop"
    refused: list[tuple[str, dict[str, str], SourceInfo, str]] = [
        ("filter", {"rule": "all"}, SOURCE, "was made with rule 'half', now it is 'all'"),
        ("translate", {"rule": "half"}, SOURCE, "by the step filter, not by translate"),
        ("filter", {"rule": "half"}, SourceInfo("x", "x", "cd" * 32, 3), "of other data"),
    ]
    for name, settings, source, sentence in refused:
        with pytest.raises(UsageError, match=sentence), open_step(out, name, settings, source):
            pass
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="is not empty"), open_step(other, "filter", {}, SOURCE):
        pass


def test_a_folder_keeps_the_decisions_of_its_source(tmp_path: Path) -> None:
    with open_step(tmp_path / "one", "filter", {}, SOURCE) as step:
        step.decide(Decision("1", "flag", "filter", "half"))
        step.decide(Decision("2", "flag", "filter", "half"))
        step.write_items(items())
        step.finish({})
    with open_step(tmp_path / "two", "review", {}, open_items(tmp_path / "one")) as step:
        assert not step.decisions
        step.decide(Decision("1", "keep", "review", "person", by="ann"))
        step.write_items(items())
        step.finish({})
    decisions = list(read_decisions(tmp_path / "two"))
    assert [(each.step, each.item) for each in decisions] == [("filter", "1"), ("filter", "2"), ("review", "1")]
    assert set(flagged_items(decisions)) == {"2"}


def test_damaged_decisions_are_named(tmp_path: Path) -> None:
    (tmp_path / DECISIONS_FILE).write_text('{"item": 1}\n')
    with pytest.raises(DataError, match="line 1 is no decision"):
        list(read_decisions(tmp_path))


class Colour(Struct, forbid_unknown_fields=True):
    name: str
    bright: bool


@pytest.mark.parametrize(
    "reply",
    [
        '{"name": "red", "bright": true}',
        '```json\n{"name": "red", "bright": true}\n```',
        '```\n{"name": "red", "bright": true}```',
        'Here it is: {"name": "red", "bright": true} I hope it helps.',
        "{'name': 'red', 'bright': True}",
    ],
)
def test_json_in_a_reply(reply: str) -> None:
    assert parse_json_reply(reply, Colour) == Colour("red", True)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("red, and bright", "holds no JSON"),
        ('{"name": "red"}', "missing required field `bright`"),
        ('{"name": "red", "bright": "yes"}', "Expected `bool`"),
        ("{'name': 'red'}", "missing required field `bright`"),
        ("", "holds no JSON"),
    ],
)
def test_json_of_another_form(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_json_reply(reply, Colour)


def scripted(replies: dict[str, list[str]]) -> Callable[[Generate], str]:
    """A model that gives the next reply in the list of the first line of its prompt."""

    def reply(request: Generate) -> str:
        waiting = replies[request.text().splitlines()[0]]
        if waiting[0] == "raise":
            waiting.pop(0)
            raise RuntimeError("out of order")
        return waiting.pop(0)

    return reply


def say(text: str) -> list[Message]:
    return [user(Text(text))]


def colour_of(item: str) -> Steps[Colour]:
    seen = yield from ask_text("looker", say(item), item)
    return (yield from ask_json("writer", say(f"colour of {item}\nIt is {seen}"), Colour, item))


def drive(models: Models, names: list[str]) -> dict[str, Result[Colour]]:
    results: dict[str, Result[Colour]] = {}

    def add(result: Result[Colour]) -> None:
        results[result.id] = result

    models.drive((Job(name, colour_of(name)) for name in names), add)
    return results


def test_jobs_ask_several_models(tmp_path: Path) -> None:
    good = '{"name": "red", "bright": true}'
    looker = scripted({"one": ["red!"], "two": ["blue!"], "three": ["raise", "green!"]})
    writer = scripted({"colour of one": [good], "colour of two": ["no idea", good], "colour of three": ["?", "?", "?"]})
    roles = {
        "looker": snellen.wrap_model(looker, "looker", revision="1"),
        "writer": snellen.wrap_model(writer, "writer", revision="1"),
    }
    with open_models(roles, StepOptions(), tmp_path, progress=False) as models:
        results = drive(models, ["one", "two", "three"])
    assert results["one"].value == Colour("red", True)
    assert [each.reply for each in results["one"].asked] == ["red!", good]
    assert all(len(each.request) == 64 for each in results["one"].asked)
    # Asked once more, with what was wrong.
    assert [each.reply for each in results["two"].asked] == ["blue!", "no idea", good]
    failure = results["three"].failure
    assert failure is not None
    assert "out of order" in failure.message
    decision = results["three"].failed_decision("questions")
    assert (decision.action, decision.rule) == ("flag", "failed")
    assert models.spent["looker"].answered == 2

    # The next start asks only what failed; its replies are no JSON, however often it is asked.
    with open_models(roles, StepOptions(), tmp_path, progress=False) as models:
        results = drive(models, ["one", "two", "three"])
    assert results["two"].value == Colour("red", True)
    assert models.spent["looker"].answered == 1
    assert models.spent["looker"].reused == 2
    failure = results["three"].failure
    assert failure is not None
    assert "no usable JSON in 3 replies" in failure.message


def test_an_error_of_the_job_itself_is_not_hidden(tmp_path: Path) -> None:
    def broken() -> Steps[str]:
        yield from ask_text("looker", say("one"), "one")
        raise ZeroDivisionError("a mistake in the step")

    with (
        open_models({"looker": scripted({"one": ["x"]})}, StepOptions(), tmp_path) as models,
        pytest.raises(ZeroDivisionError),
    ):
        models.drive([Job("one", broken())], print)


def test_spent_budget_stops_and_the_next_start_resumes(tmp_path: Path) -> None:
    """The bundled model counts its tokens: the budget ends the step, without losing a reply."""

    def name_it(item: str) -> Steps[str]:
        return (yield from ask_text("looker", say(f"Say {item}"), item))

    def jobs() -> list[Job[str]]:
        return [Job(str(number), name_it(str(number))) for number in range(400)]

    done: list[str] = []
    roles = {"looker": "snellen/tiny"}
    options = StepOptions(budget="2ktok")
    with open_models(roles, options, tmp_path, progress=False) as models:
        models.drive(jobs(), lambda result: done.append(result.id))
        assert "budget of 2,000 tokens is spent" in models.abort_reason
        # Nothing more is asked in this start.
        models.drive(jobs(), lambda result: done.append(result.id))
    assert 0 < len(done) < 400
    first = len(done)
    done.clear()
    with open_models(roles, StepOptions(), tmp_path, progress=False) as models:
        models.drive(jobs(), lambda result: done.append(result.id))
    assert len(done) == 400
    assert models.spent["looker"].reused >= first


@pytest.mark.parametrize(
    ("roles", "options", "sentence"),
    [
        ({"looker": "no/such"}, StepOptions(), "unknown model"),
        ({"looker": "random"}, StepOptions(budget="5 apples"), "--budget"),
        ({"looker": "random"}, StepOptions(fresh="a b"), "--fresh"),
        ({"looker": "random"}, StepOptions(prices=["x:input=1,output=1"]), "no such model"),
        ({"looker": "http://127.0.0.1:9/v1#x"}, StepOptions(retries=0), "127.0.0.1:9"),
    ],
)
def test_refuses_models_that_cannot_be_asked(
    tmp_path: Path, roles: dict[str, str], options: StepOptions, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence), open_models(roles, options, tmp_path):
        pass


def test_data_without_a_question_or_a_image_are_refused(tmp_path: Path) -> None:
    data = tmp_path / "own.csv"
    data.write_text("id,text,A,B,answer\n1,What is it?,cat,dog,A\n")
    with pytest.raises(UsageError, match=r"got the columns .*text.*--columns question=NAME"):
        open_items(data)
    assert [item.sample.question for item in open_items(data, {"question": "text"})] == ["What is it?"]
