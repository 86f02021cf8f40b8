"""The index of a run's samples: what is found, while the file grows, and how much is kept."""

import base64
import subprocess
import sys
from array import array
from pathlib import Path

import msgspec
import pytest
from synthetic import record

from snellen.core.errors import DataError
from snellen.report.page.samples import record_result
from snellen.view.sample_index import RESULTS, SampleIndex


def lines(records) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in records)


def found(rows: SampleIndex, text: str, first: int = 0) -> list[int]:
    count, bits = rows.search(text, first)
    return [first + at for at in range(count) if bits[at >> 3] & (1 << (at & 7))]


def numbers(text: str, kind: str) -> list:
    return array(kind, base64.b64decode(text)).tolist()


@pytest.fixture
def records():
    fates = ("answered", "answered", "refused", "empty", "answered", "truncated", "no_match")
    return [record(at, at % 2 == 0, ("ab" * 32,), fates[at % len(fates)]) for at in range(300)]


@pytest.fixture
def rows(tmp_path, records) -> SampleIndex:
    (tmp_path / "samples.jsonl").write_bytes(lines(records))
    rows = SampleIndex(tmp_path)
    assert rows.refresh()
    return rows


def test_columns_agree_with_the_records(rows, records):
    told = rows.columns()
    assert told["ids"] == [each.id for each in records]
    assert [RESULTS[code] for code in numbers(told["result"], "B")] == list(map(record_result, records))
    assert numbers(told["score"], "f") == [each.score for each in records]
    for column, group in told["groups"].items():
        labels = [None, *group["labels"]]
        codes = numbers(group["codes"], "I")
        assert [labels[code] for code in codes] == [each.groups.get(column) for each in records]
    same = numbers(told["answer"], "I")
    assert {
        (a == b) == (one.answer == other.answer)
        for a, one in zip(same, records, strict=True)
        for b, other in zip(same, records, strict=True)
    } == {True}


def test_any_samples_are_read_in_the_order_asked(rows, records):
    assert rows.records([299, 0, 17]) == [records[299], records[0], records[17]]
    with pytest.raises(IndexError):
        rows.records([300])


@pytest.mark.parametrize("text", ["TRIANGLE in picture 7?", "🙂", "I'm sorry", "red", "zebra"])
def test_search_finds_what_a_reader_finds(rows, records, text):
    def holds(each) -> bool:
        shown = [each.id, each.question, *each.options.values(), *each.gold, each.answer or ""]
        shown += [part.text for part in each.passes[0].prompt[1].parts if hasattr(part, "text")]
        shown += [turn.output.text for turn in each.passes]
        return any(text.lower() in one.lower() for one in shown)

    expected = [at for at, each in enumerate(records) if holds(each)]
    assert found(rows, text) == expected
    assert found(rows, text, 96) == [at for at in expected if at >= 96]
    assert bool(expected) == (text != "zebra")


def test_a_growing_file_is_read_from_where_it_was_left(tmp_path, records):
    file = tmp_path / "samples.jsonl"
    rows = SampleIndex(tmp_path)
    assert (rows.refresh(), len(rows)) == (True, 0)
    whole = lines(records[:3])
    file.write_bytes(whole[:-20])
    rows.refresh()
    assert len(rows) == 2
    with file.open("ab") as more:
        more.write(whole[-20:])
    (tmp_path / "failures.jsonl").write_bytes(lines([record(9, False, (), "failed")]))
    rows.refresh()
    with file.open("ab") as more:
        more.write(lines(records[3:5]))
    rows.refresh()
    assert rows.columns(2)["ids"] == ["2", "9", "3", "4"]
    assert [one.id for one in rows.records(range(6))] == ["0", "1", "2", "9", "3", "4"]
    assert rows.generation == 1


def test_a_run_that_was_started_again_is_read_anew(tmp_path, records):
    (tmp_path / "samples.jsonl").write_bytes(lines(records[:3]))
    failed = tmp_path / "failures.jsonl"
    failed.write_bytes(lines([record(9, False, (), "failed")]))
    rows = SampleIndex(tmp_path)
    rows.refresh()
    assert rows.columns()["ids"] == ["0", "1", "2", "9"]
    failed.unlink()
    rows.refresh()
    assert rows.columns()["ids"] == ["0", "1", "2"]
    assert rows.generation == 2


def test_a_label_that_comes_late_leaves_the_earlier_samples_without_one(tmp_path):
    one = record(0, False, ())
    late = msgspec.structs.replace(record(1, False, ()), groups={"split": "test"})
    (tmp_path / "samples.jsonl").write_bytes(lines([one, late]))
    rows = SampleIndex(tmp_path)
    rows.refresh()
    groups = rows.columns()["groups"]
    assert numbers(groups["split"]["codes"], "I") == [0, 1]
    assert numbers(groups["category"]["codes"], "I") == [1, 0]


def test_names_line_that_is_not_a_sample_each_time(tmp_path, records):
    (tmp_path / "samples.jsonl").write_bytes(lines(records[:1]) + b'{"no": 1}\n')
    rows = SampleIndex(tmp_path)
    for _ in range(2):
        with pytest.raises(DataError, match="no sample record at byte"):
            rows.refresh()
    assert len(rows) == 1


def write_large(folder: Path, count: int) -> None:
    """A run of `count` samples, written without holding them."""
    with (folder / "samples.jsonl").open("wb") as file:
        for at in range(count):
            file.write(lines([record(at, False, ("ab" * 32,))]))


@pytest.mark.release
def test_100_000_samples_stay_on_the_disk(tmp_path):
    write_large(tmp_path, 100_000)
    rows = SampleIndex(tmp_path)
    steps = 1
    while not rows.refresh(0.05):
        steps += 1
    assert steps > 1
    assert len(rows) == 100_000
    assert [one.id for one in rows.records([99_999, 0, 51_234])] == ["99999", "0", "51234"]
    assert found(rows, "picture 77777?") == [77_777]
    told = rows.columns(99_998)
    assert (told["from"], told["rows"], told["ids"]) == (99_998, 100_000, ["99998", "99999"])
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from snellen.view.sample_index import SampleIndex\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "rows = SampleIndex(Path(sys.argv[1])); rows.refresh()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 150e6
