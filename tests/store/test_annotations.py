"""Annotations beside a run: nothing is lost, whoever writes; and what is exported of them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

import snellen
from snellen.cli.main import main
from snellen.core.errors import StorageError, UsageError
from snellen.store.annotations import (
    ANNOTATIONS_FILE,
    AnnotationChange,
    append_change,
    merge_changes,
    merge_logs,
    read_changes,
    used_labels,
)


def change(sample: str = "1", **fields: object) -> AnnotationChange:
    return AnnotationChange(sample, **fields)  # type: ignore[arg-type]


def test_the_last_value_of_a_field_wins_and_the_others_stay(tmp_path: Path) -> None:
    for each in (
        change(flag=True, by="ann"),
        change(note="first", by="bob"),
        change(add=("gold wrong", "blurred"), by="ann"),
        change(note="second", by="cy"),
        change(remove=("blurred",), by="dee"),
        change("2", flag=True),
        change("2", flag=False),
    ):
        append_change(tmp_path, each)
    log = read_changes(tmp_path)
    assert len(log.changes) == 7
    (found,) = merge_changes(log.changes)
    assert (found.flag, found.note, found.labels, found.by) == (True, "second", ("gold wrong",), "dee")
    assert found.at == log.changes[4].at
    assert found.at.endswith("Z")


def test_a_sample_and_the_reply_to_it_are_two_subjects() -> None:
    found = merge_changes([change(about="sample", note="gold"), change(about="reply", note="rude")])
    assert [(each.about, each.note) for each in found] == [("sample", "gold"), ("reply", "rude")]


def test_annotations_of_samples_join_from_several_runs_by_time() -> None:
    first = [change(about="sample", note="old", at="2026-01-01"), change(note="mine", at="2026-01-04")]
    second = [change(about="sample", note="new", flag=True, at="2026-01-02")]
    (found,) = merge_logs([second, first])
    assert (found.note, found.flag) == ("new", True)


def test_labels_in_use_come_by_frequency() -> None:
    changes = [change(str(at), add=("b",) if at else ("a", "c")) for at in range(3)]
    assert used_labels([*changes, change("0", remove=("c",))]) == ["b", "a"]


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Threads of two processes: browser tabs of two servers."""
    code = (
        "import sys; from pathlib import Path\n"
        "from snellen.store.annotations import AnnotationChange, append_change\n"
        "for at in range(60):\n"
        "    append_change(Path(sys.argv[1]), AnnotationChange(f'p{at}', flag=True))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) as other:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda at: append_change(tmp_path, change(f"t{at}", flag=True)), range(60)))
        assert other.wait(60) == 0
    log = read_changes(tmp_path)
    assert log.unreadable == ()
    expected = {f"{who}{at}" for who in "pt" for at in range(60)}
    assert {each.sample for each in log.changes} == expected
    assert len(log.changes) == 120


def test_a_line_that_a_killed_server_left_unfinished_loses_only_itself(tmp_path: Path) -> None:
    append_change(tmp_path, change(flag=True))
    file = tmp_path / ANNOTATIONS_FILE
    with file.open("ab") as torn:
        torn.write(b'{"sample":"2","no')
    # Without an end it may still be being written: it is not complained about.
    assert read_changes(tmp_path).unreadable == ()
    append_change(tmp_path, change("3", flag=True))
    log = read_changes(tmp_path)
    assert [each.sample for each in log.changes] == ["1", "3"]
    assert log.unreadable == (2,)


def test_nothing_is_ever_rewritten(tmp_path: Path) -> None:
    file = tmp_path / ANNOTATIONS_FILE
    before = b""
    for at in range(5):
        append_change(tmp_path, change(note=str(at)))
        now = file.read_bytes()
        assert now.startswith(before)
        before = now


@pytest.mark.attack(
    "a link in the place of annotations.jsonl", "one sentence; the file behind it is neither read nor written"
)
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"sample":"1","flag":true}\n')
    run = tmp_path / "run"
    run.mkdir()
    (run / ANNOTATIONS_FILE).symlink_to(secret)
    assert read_changes(run).changes == ()
    with pytest.raises(StorageError, match="cannot write"):
        append_change(run, change(flag=True))
    assert secret.read_text() == '{"sample":"1","flag":true}\n'


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ANNOTATIONS_FILE).mkdir()
    with pytest.raises(StorageError, match="annotations are kept in the run's folder") as caught:
        append_change(tmp_path, change(flag=True))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the same questions, annotated."""
    out = tmp_path_factory.mktemp("runs")
    table = out / "mine.jsonl"
    rows = [{"question": f"Which is {at}?", "A": "one", "B": "two", "answer": "A"} for at in range(4)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = snellen.evaluate(["random", "random:seed=1"], str(table), out=out, html=False)
    one, other = (run.path for run in done.runs)
    append_change(one, change("1", about="sample", add=("gold wrong",), note="=1+1", by="ann"))
    append_change(other, change("1", about="sample", flag=True, by="bob"))
    append_change(other, change("2", note="hesitates", by="bob"))
    return out


def test_annotations_are_loaded_in_python(runs: Path) -> None:
    of_sample, of_reply = snellen.load_annotations(runs)
    assert (of_sample.about, of_sample.run, of_sample.model) == ("sample", "", "")
    assert (of_sample.flag, of_sample.labels, of_sample.note) == (True, ("gold wrong",), "=1+1")
    assert (of_sample.question, of_sample.gold) == ("Which is 1?", ("A",))
    assert (of_reply.sample, of_reply.model, of_reply.by) == ("2", "random:seed=1", "bob")
    assert of_reply.answer in ("A", "B", None)
    assert of_reply.score in (0.0, 1.0)
    one = snellen.open_run(next(path for path in runs.glob("random--*")))
    assert [each.about for each in snellen.load_annotations(one)] == ["sample"]
    with pytest.raises(UsageError, match="no run in"):
        snellen.load_annotations(runs / "nowhere")


def test_annotations_are_exported(runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["export", str(runs), "--to", "annotations-jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == json.loads(msgspec.json.encode(snellen.load_annotations(runs)))
    target = tmp_path / "notes.csv"
    assert main(["export", str(runs), "--to", "annotations-csv", "-o", str(target)]) == 0
    sample, reply = csv.DictReader(io.StringIO(target.read_text()))
    # A formula is kept from running in a spreadsheet.
    assert (sample["flag"], sample["labels"], sample["note"]) == ("yes", "gold wrong", "'=1+1")
    assert (reply["flag"], reply["note"], reply["about"]) == ("", "hesitates", "reply")


def test_no_annotations_are_an_empty_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snellen.evaluate("random", "eyechart", out=tmp_path, limit=2, html=False)
    assert snellen.load_annotations(tmp_path) == []
    capsys.readouterr()
    assert main(["export", str(tmp_path), "--to", "annotations-csv"]) == 0
    assert capsys.readouterr().out.startswith("run,model,benchmark,sample,about,flag,labels,note")
