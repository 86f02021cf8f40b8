"""Sentences that arrive on the pages in English, values included, have a Chinese translation: those
of intake and of the level gates are made here by the code that makes them there."""

from __future__ import annotations

import ast
import gzip
import re
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest
from board_rows import add_board, number, publish, sqlite_hub, summary

from snellen.benchmarks.abilities.seedbench.levels import dimensions
from snellen.core.errors import UsageError
from snellen.core.limits import raising_advice
from snellen_hub.boards.pages import read_tables
from snellen_hub.config import SubmissionLimits
from snellen_hub.jobs import queue
from snellen_hub.uploaded_replies import QuestionRows, Reply, check_replies, read_replies, without_advice
from snellen_hub.web.pages.frame import translate
from snellen_hub.web.pages.sentence_patterns import translate_sentence

_LIMITS = SubmissionLimits(megabytes=1, rows=2)
_WEB = Path(str(resources.files("snellen_hub.web")))
_LIBRARY = re.compile(r"(?<=读取：).*|(?<=gz：)[^；]*")
"""What a library says of a file that it cannot open: in its own words."""
_ENGLISH = re.compile(r"\b(?:the|expected|and|is|are|not|no|has|at most|file)\b")

_FILES: dict[str, tuple[str, bytes]] = {
    "too long": ("r.csv", b"x" * 1_000_001),
    "kind": ("r.txt", b"x"),
    "empty": ("r.csv", b""),
    "rows": ("r.csv", b"index,prediction\n1,A\n2,B\n3,C\n"),
    "two replies": ("r.csv", b"index,prediction\n1,A\n1,B\n"),
    "no column": ("r.csv", b"index,what\n1,A\n"),
    "no id column": ("r.csv", b"name,prediction\n1,A\n"),
    "empty id": ("r.csv", b"index,prediction\n,A\n"),
    "cells of a row": ("r.csv", b"index,prediction\n1\n"),
    "header alone": ("r.tsv", b"index\tprediction\n"),
    "same column twice": ("r.csv", b"index,prediction,prediction\n1,A,B\n"),
    "UTF-16": ("r.csv", "index,prediction\n1,A\n".encode("utf-16")),
    "no UTF-8": ("r.csv", b"index,prediction\n1,\xff\n"),
    "open quote": ("r.csv", b'index,prediction\n1,"A\n'),
    "many cells": ("r.csv", b",".join([b"x"] * 600) + b"\n"),
    "no JSON line": ("r.jsonl", b'{"id": "1", "prediction": "A"}\n{"id": \n'),
    "line no object": ("r.jsonl", b'{"id": "1", "prediction": "A"}\n7\n'),
    "no JSON": ("r.json", b'[{"id": '),
    "deep JSON": ("r.json", b'[{"id": "1", "prediction": ' + b"[" * 50 + b"]" * 50 + b"}]"),
    "JSON of something else": ("r.json", b"[1, 2]"),
    "no JSON rows": ("r.json", b"[]"),
    "no workbook": ("r.xlsx", b"PK nothing"),
    "no Parquet": ("r.parquet", b"nothing"),
    "no gzip": ("r.csv.gz", b"nothing"),
    "no Parquet in gzip": ("r.parquet.gz", gzip.compress(b"nothing")),
}


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("name", _FILES)
def test_why_a_file_is_not_taken(name: str) -> None:
    english = refusal(lambda: read_replies(*_FILES[name], _LIMITS))
    assert "--" not in english
    assert "SNELLEN_" not in english
    assert "snellen-intake" not in english
    chinese = translate("zh", english)
    assert re.search(r"[\u4e00-\u9fff]", chinese), english
    assert not _ENGLISH.search(_LIBRARY.sub("", chinese)), chinese
    assert translate("en", english) == english


@pytest.mark.parametrize("english", [queue._WORKERS_DIED, "row 3: the reply is longer than 8 MB"])
def test_rare_messages_have_a_translation(english: str) -> None:
    assert not _ENGLISH.search(translate("zh", english))


def test_nothing_is_read_behind_the_last_row_that_is_taken() -> None:
    file = b"index,prediction\n1,A\n2,B\n3,C\n4,D,one cell too many\n"
    assert refusal(lambda: read_replies("r.csv", file, _LIMITS)) == (
        "r.csv has more than 2 rows; at most these are taken"
    )


@pytest.mark.parametrize("known", [["7", "8"], ["7", "8", "9", "10"]], ids=["few", "many"])
def test_why_ids_are_not_taken(known: list[str]) -> None:
    questions = [QuestionRows((name,)) for name in known]
    english = refusal(lambda: check_replies([Reply("{n}", "A"), Reply("7", "B")], questions))
    chinese = translate("zh", english)
    assert "2 个编号中有 1 个不属于该基准，例如 '{n}'" in chinese
    assert not _ENGLISH.search(chinese)
    assert translate("zh", refusal(lambda: check_replies([], questions))) == "文件中没有回复"


@pytest.mark.parametrize(
    ("given", "is_hidden", "said"),
    [
        (["7"], False, "2 道题中有 1 道没有回复，例如 '8'"),
        (["7", "8"], False, "'7' 的各次轮换的编号为 '1000007'"),
        (["7", "8", "1000007"], True, "有 1 次轮换没有回复，例如 '1000008'"),
    ],
)
def test_why_replies_are_missing(given: list[str], is_hidden: bool, said: str) -> None:
    questions = [QuestionRows(("7", "1000007")), QuestionRows(("8", "1000008"))]
    replies = [Reply(name, "A") for name in given]
    chinese = translate("zh", refusal(lambda: check_replies(replies, questions, is_hidden=is_hidden)))
    assert said in chinese
    assert not _ENGLISH.search(chinese.replace("CircularEval", ""))
    check_replies(replies, questions, is_hidden=is_hidden, allow_missing=True)


def test_a_question_may_end_with_its_first_wrong_reply_where_answers_are_open() -> None:
    questions = [QuestionRows(("7", "1000007")), QuestionRows(("8", "1000008"))]
    check_replies([Reply(name, "A") for name in ("7", "8", "1000007")], questions)


def test_the_gates_of_levels(tmp_path: Path) -> None:
    hub = sqlite_hub(tmp_path)
    levels = {dimension.name: dimension.level for dimension in dimensions()}
    with hub.database.writing() as session:
        row = add_board(session, "seed", layout="seed")
        for model, lacks, declared in (("whole", "", ""), ("low", "", "L1"), ("mute", "L3", ""), ("other", "L2", "L3")):
            groups = {
                name: number("accuracy", 50.0, 40, note="40 of 40 answers valid")
                for name, level in levels.items()
                if level != lacks or model == "mute"
            }
            if model == "mute":
                silent = number("accuracy", 0.0, 40, note="0 of 40 answers valid: 40 missing")
                groups |= {name: silent for name, level in levels.items() if level == lacks}
            facts = {"capability": declared} if declared else {}
            numbers = summary(number("L3", 45.0, 1360), groups={"dimension": groups})
            publish(session, row, model, numbers, kind="submitted", facts=facts)
        tables = read_tables(session, hub, row).tables
    hub.close()
    notices = {notice for table in tables for notice in table.notices}
    reasons = ("declares L1", "has no valid answer to", "has no number for")
    assert all(any(reason in notice for notice in notices) for reason in reasons)
    for notice in notices:
        chinese = translate("zh", notice)
        assert re.search(r"[\u4e00-\u9fff]", chinese), notice
        assert not _ENGLISH.search(chinese.partition("“")[0]), chinese


_READERS = (
    "predictions.py",
    "documents.py",
    "detect.py",
    "foreign/every_eval_ever.py",
    "foreign/inspect_ai.py",
    "foreign/lmms_eval.py",
    "foreign/seedbench.py",
    "tables/json_records.py",
    "tables/parquet.py",
    "tables/tsv.py",
    "tables/typed_rows.py",
    "tables/unpack.py",
    "tables/workbook.py",
    "../core/limits.py",
)
"""The modules of `snellen.data` that read an upload."""
_NOT_OF_UPLOADS = (
    "7: 7",
    "is a folder",
    "is a pickle",
    "is a pipe or a device",
    "unknown kind of predictions file",
    "no row has",
    "a damaged archive",
    "packed by a method",
    "7; expected a log of Inspect",
)
"""Parts of sentences about folders, other kinds of files and flags; an upload has none of them."""


def reader_sentences() -> Iterator[str]:
    """The sentence of every DataError of the readers, values replaced by 7."""
    data = Path(str(resources.files("snellen.data")))
    for module in _READERS:
        for node in ast.walk(ast.parse((data / module).read_text(encoding="utf-8"))):
            is_error = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("DataError", "NoReplyColumn")
            if is_error and isinstance(node.args[0], ast.JoinedStr | ast.Constant):
                yield sentence_of(node.args[0])


def sentence_of(text: ast.expr) -> str:
    """The text of a literal, with 7 for each value, as a hub says it."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    assert isinstance(text, ast.JoinedStr)
    parts = (
        str(part.value)
        if isinstance(part, ast.Constant)
        else raising_advice("rows")
        if "raising_advice" in ast.unparse(part)
        else "7"
        for part in text.values
    )
    return without_advice("".join(parts))


def test_messages_of_upload_readers_have_a_translation() -> None:
    sentences = {text for text in reader_sentences() if not any(part in text for part in _NOT_OF_UPLOADS)}
    assert len(sentences) > 30
    assert {text for text in sentences if translate_sentence(text) is None} == set()


def error_sentences() -> Iterator[str]:
    """The sentence of every HTTPException of the pages, values replaced by 7."""
    for path in sorted((_WEB / "pages").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "HTTPException":
                text = node.args[1]
                if isinstance(text, ast.Constant | ast.JoinedStr):
                    yield sentence_of(text)


def test_errors_of_pages_have_a_translation() -> None:
    sentences = {text for text in error_sentences() if not text.startswith("there is no file")}
    assert len(sentences) >= 15
    assert {text for text in sentences if translate_sentence(text) is None} == set()
