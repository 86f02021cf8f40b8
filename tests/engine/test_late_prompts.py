"""Prompts are made for whoever looks at them: models do, recorded replies do not."""

from __future__ import annotations

import copy
from pathlib import Path

import snellen
from snellen.core.request import Generate, LazyMessages, Message, Ref, Text, request_digest, user
from snellen.store.runs import open_run

ROWS = "index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n2\tWhich?\tred\tblue\tB\n"


def late(made: list[str]) -> LazyMessages:
    def make() -> tuple[Message, ...]:
        made.append("once")
        return (user(Text("Which?")),)

    return LazyMessages(make)


def test_messages_are_made_once_and_only_for_a_reader() -> None:
    made: list[str] = []
    messages = late(made)
    assert (messages.cached_messages(), made) == ((), [])
    assert messages[0].text() == "Which?"
    assert messages == (user(Text("Which?")),)
    assert messages.cached_messages() == tuple(messages)
    assert made == ["once"]


def test_late_messages_are_digested_and_sent_as_plain_ones() -> None:
    plain = Generate(messages=(user(Text("Which?")),), ref=Ref("1"))
    request = Generate(messages=late([]), ref=Ref("1"))
    assert request_digest(request, "model") == request_digest(plain, "model")
    assert copy.deepcopy(request).messages == plain.messages


def test_scoring_makes_no_prompt_and_a_run_keeps_each(tmp_path: Path) -> None:
    data, replies = tmp_path / "mine.tsv", tmp_path / "replies.csv"
    data.write_text(ROWS)
    replies.write_text("index,prediction\n1,A\n2,A\n")
    scored = snellen.score(str(data), replies)
    assert [record.score for record in scored.records] == [1.0, 0.0]
    assert all(one.passes[0].prompt == () for one in scored.records)
    results = snellen.evaluate("random", str(data), out=tmp_path / "out")
    (folder,) = (tmp_path / "out").glob("*/run.json")
    records = list(open_run(folder.parent).records())
    assert len(results.runs) == 1
    assert all("Which?" in one.passes[0].prompt[0].text() for one in records)
