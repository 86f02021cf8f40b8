"""Files of a native benchmark, drafted from another tool's over a real worker."""

from __future__ import annotations

import ast
import csv
import io
import tomllib
from pathlib import Path

import pytest

from snellen.bridge.draft import SeenTask, draft_entry, write_draft
from snellen.bridge.protocol import ListedTask, MessageData, PartData, SampleData, TaskFacts
from snellen.core.errors import UsageError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("src/snellen/benchmarks/perception", "tests/benchmarks/layouts", "tests/differential/specs"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def seen(text: str, **row: str) -> SeenTask:
    """A task of one question that is asked in these words."""
    message = MessageData("user", (PartData("image", path="x.png"), PartData("text", text)))
    listed = ListedTask("Quiz", data="https://example.org/quiz_v2.tsv", checksum="0" * 32)
    facts = TaskFacts("Quiz", 1, "0", kind="choice", headline="Overall")
    return SeenTask("vlmevalkit", "1", listed, facts, (SampleData("0", (message,), row=dict(row)),))


ROW = {"question": "Which colour?", "A": "red", "B": "blue", "answer": "B"}


@pytest.mark.usefixtures("colours")
def test_three_files_say_what_the_tool_says_and_copy_no_row(checkout: Path) -> None:
    entry, layout, spec = write_draft("colour-quiz", "perception", "vlmevalkit/plain", checkout)
    fields = tomllib.loads(entry.read_text())
    assert fields["kind"] == "choice"
    assert fields["groups"] == ["warm"]
    assert fields["aliases"] == ["plain"]
    assert fields["paper"] == ""
    assert "prompt" not in fields, "no column is the question, so its words are only a comment"
    rows = list(csv.DictReader(io.StringIO(layout.read_text()), delimiter="\t"))
    assert [row["index"] for row in rows] == ["0", "1", "2"]
    assert not any(colour in layout.read_text() for colour in ("red", "green", "blue", "white"))
    ast.parse(spec.read_text())
    assert 'class_set(\n        "colour-quiz",\n        "plain",' in spec.read_text()
    with pytest.raises(UsageError, match="is there already"):
        write_draft("colour-quiz", "perception", "vlmevalkit/plain", checkout)


@pytest.mark.parametrize("spec", ["mmstar", "elsewhere/plain"])
def test_other_names_are_refused(checkout: Path, spec: str) -> None:
    with pytest.raises(UsageError, match=r"expected a benchmark of another tool: vlmevalkit/TASK"):
        write_draft("colour-quiz", "perception", spec, checkout)


def test_the_prompt_is_what_puts_the_question_as_the_tool_does() -> None:
    text = "Q: Which colour?\n(A) red\n(B) blue\nThe letter is:"
    entry = draft_entry(seen(text, **ROW))
    fields = tomllib.loads(entry)
    assert "asks 1 of the first 1 questions in the tool's words" in entry
    assert fields["prompt"] == {
        "question": "Q: {question}",
        "options": "",
        "option": "({label}) {text}",
        "choose": "The letter is:",
    }
    assert fields["files"] == [{"name": "Quiz.tsv", "url": "https://example.org/quiz_v2.tsv", "md5": "0" * 32}]


def test_words_that_no_template_makes_are_a_comment_alone() -> None:
    entry = draft_entry(seen("Red or blue?\nThink.", **ROW))
    assert "asks 0 of the first 1 questions" in entry
    assert "prompt" not in tomllib.loads(entry)
