from __future__ import annotations

import gc
from pathlib import Path

import msgspec
import pytest

from snellen.core.errors import DataError, RunLocked, UsageError
from snellen.core.model import Identity
from snellen.core.record import Record
from snellen.core.run import RunConfig
from snellen.scoring.accuracy import summarise
from snellen.store.runs import (
    RunWriter,
    _read_blocks,
    compact_records,
    find_runs,
    open_run,
    read_records,
    run_folder_name,
)

RECORDS = [Record(str(i), "choice", f"question {i}", "answered", 1.0) for i in range(3)]


def written(path: Path) -> Path:
    with RunWriter(path) as writer:
        for record in RECORDS:
            writer.append(record)
    return path / "samples.jsonl"


def test_finished_samples_are_found_again(tmp_path: Path) -> None:
    samples = written(tmp_path)
    assert list(read_records(samples)) == RECORDS
    with RunWriter(tmp_path) as writer:
        assert [line.id for line in writer.recover()] == ["0", "1", "2"]


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_one_owed_sample(tmp_path: Path, cut: int) -> None:
    samples = written(tmp_path)
    samples.write_bytes(samples.read_bytes()[:-cut])
    assert [record.id for record in read_records(samples)] == ["0", "1"]
    with RunWriter(tmp_path) as writer:
        assert [line.id for line in writer.recover()] == ["0", "1"]
        writer.append(RECORDS[2])
    assert list(read_records(samples)) == RECORDS


def test_a_line_that_is_completed_while_it_is_read_is_left_to_the_next_reading(tmp_path: Path) -> None:
    samples = written(tmp_path)
    whole = samples.read_bytes()
    samples.write_bytes(whole[:-30])
    records = read_records(samples)
    assert next(records).id == "0"
    samples.write_bytes(whole)
    assert [record.id for record in records] == ["1"]


def test_a_spoiled_line_in_the_middle_is_named(tmp_path: Path) -> None:
    samples = written(tmp_path)
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(lines[0] + b"not json\n" + lines[2])
    with RunWriter(tmp_path) as writer, pytest.raises(DataError, match="line 2 of"):
        writer.recover()


def test_refuses_a_second_writer(tmp_path: Path) -> None:
    with RunWriter(tmp_path), pytest.raises(RunLocked, match="another process"):
        RunWriter(tmp_path)


def test_failures_are_owed_again(tmp_path: Path) -> None:
    failed = Record("9", "choice", "?", "failed", unscored="failed")
    with RunWriter(tmp_path) as writer:
        writer.append_failure(failed)
    with RunWriter(tmp_path) as writer:
        assert writer.recover() == []
        assert writer.records() == []


@pytest.mark.parametrize(
    ("benchmark", "folder"),
    [
        ("my_questions", "my_questions"),
        ("题目_utf8", "题目_utf8"),
        ("हिन्दी", "हिन्दी"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("a b/../c:d", "a_b_.._c_d"),
        ("x" * 90, "x" * 80),
        ("题" * 90, "题" * 36),
    ],
)
def test_names_of_every_script_are_kept_in_the_folder(benchmark: str, folder: str, tmp_path: Path) -> None:
    config = RunConfig(Identity("random", "random"), benchmark, "1", {}, "0" * 64)
    name = run_folder_name("题" * 90, benchmark, config)
    model, kept, digest = name.split("--")
    assert (model, kept, len(digest)) == ("题" * 36, folder, 8)
    with RunWriter(tmp_path / name) as writer:
        writer.append(RECORDS[0])
    assert (tmp_path / name / "samples.jsonl").is_file()


def test_no_run_folder_gives_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run folder"):
        open_run(tmp_path)
    with pytest.raises(UsageError, match="no run in"):
        find_runs(tmp_path)


def test_slim_records_are_summed_up_like_whole_ones() -> None:
    whole = [
        Record(
            str(number),
            kind,
            "Which?",
            "answered",
            float(number % 3 == 0),
            answer="AB"[number % 2],
            gold=("AB"[number % 3 == 0],),
            options=options,
            groups={"category": str(number % 4)},
            media=(str(number // 2),),
            values={"vanilla": 1.0} if number % 2 else {},
            requests=("00",),
        )
        for kind, options in (
            ("choice", {"A": "red", "B": "blue"}),
            ("choice", {"A": "one", "B": "two", "C": "three"}),
            ("choice", {"gold": "no", "A": "label", "B": "of ours"}),
            ("yes_no", {}),
            ("open", {}),
        )
        for number in range(12)
    ]
    thin = compact_records(whole)
    assert summarise(thin) == summarise(whole)
    assert [one.gold for one in thin] == [one.gold for one in whole]
    assert [list(one.options) for one in thin] == [list(one.options) for one in whole]
    assert thin[0].options is thin[1].options
    assert not any(one.requests for one in thin)


def test_few_collections_of_garbage_visit_the_records_of_a_long_run(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as writer:
        for number in range(2_000):
            writer.append(Record(f"{number}", "open", "?", "answered", 1.0, gold=("g",), groups={"a": f"{number}"}))
    collections: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        collections.append(phase)

    gc.callbacks.append(note)
    try:
        records = compact_records(read_records(tmp_path / "samples.jsonl"))
    finally:
        gc.callbacks.remove(note)
    assert len(records) == 2_000
    assert collections.count("start") <= 1


def test_few_records_are_in_memory_before_they_are_used(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as writer:
        for number in range(300):
            writer.append(Record(f"{number}", "open", "?" * 1_000, "answered", 1.0))
    blocks = list(_read_blocks(tmp_path / "samples.jsonl", msgspec.json.Decoder(Record)))
    assert sum(map(len, blocks)) == 300
    assert max(map(len, blocks)) < 64
