"""Runs that go on after their files, their pictures, their store or their lock were touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.errors import RunLocked
from snellen.core.media import InlineSource
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output, Usage
from snellen.core.request import Request
from snellen.core.run import RoleUsage
from snellen.core.sample import MediaRef, Sample
from snellen.data.media.sources import BrokenSource
from snellen.engine.loop.request_broker import MAIN
from snellen.engine.loop.run import _has_other_images
from snellen.report.format import notices
from snellen.store.runs import ResumeRecord, RunFolder, RunWriter, recover_spent

SAMPLES = 10


@dataclass
class Model:
    """Answers A, but for ids it fails on; keeps what it was sent."""

    broken: frozenset[str] = frozenset()
    before: Callable[[Request], object] = lambda _: None
    sent: list[str] = field(default_factory=list)
    identity = Identity("test", "resumed", {"revision": "1"})
    capabilities = Capabilities()

    async def answer(self, request: Request) -> Output:
        self.before(request)
        self.sent.append(request.ref.sample)
        if request.ref.sample in self.broken:
            return Failure("server", "down")
        return Generated("A", usage=Usage(10, 1))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = [f"{n}\tWhich is {n}?\tred\tblue\t{'AB'[n % 2]}\tim/{n}.png" for n in range(SAMPLES)]
    text = "\n".join(["index\tquestion\tA\tB\tanswer\timage_path", *rows]) + "\n"
    (tmp_path / "q.tsv").write_text(text)
    paint(tmp_path, 0)
    return tmp_path


def paint(home: Path, blue: int) -> None:
    (home / "im").mkdir(exist_ok=True)
    for n in range(SAMPLES):
        Image.new("RGB", (8, 8), (n * 20, 0, blue)).save(home / f"im/{n}.png")


def run(home: Path, model: Model, variant: Variant = Variant()) -> RunFolder:  # noqa: B008 - frozen
    data = [str(home / "q.tsv")]
    (found,) = evaluate([model], data, out=home / "out", html=False, variant=variant).runs
    return found


def ids(found: RunFolder) -> list[str]:
    return sorted(record.id for record in found.records())


def lines(found: RunFolder, name: str = "samples.jsonl") -> list[bytes]:
    return (found.path / name).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("spoil", "left_out", "sentence"),
    [
        (lambda rows: rows + rows[:4], 4, "4 rows of samples.jsonl left out: another row"),
        (
            lambda rows: [*rows, rows[0].replace(b'"id":"', b'"id":"77')],
            1,
            "1 row of samples.jsonl left out: no sample of this run",
        ),
    ],
)
@pytest.mark.attack("rows twice, or about samples that are not asked", "counted once, or not at all, with a notice")
def test_a_row_too_many_is_not_counted(
    home: Path, spoil: Callable[[list[bytes]], list[bytes]], left_out: int, sentence: str
) -> None:
    found = run(home, Model())
    clean = found.report().summary
    whole = lines(found)
    (found.path / "samples.jsonl").write_bytes(b"".join(spoil(whole)))
    model = Model()
    again = run(home, model)
    assert again.report().summary == clean
    assert (again.info.status, model.sent) == ("complete", [])
    assert lines(again) == whole
    assert len(lines(again, "left-out.jsonl")) == left_out
    assert any(sentence in notice for notice in notices(again.report()))


def test_rows_twice_are_read_once_where_the_run_is_not_started_again(home: Path) -> None:
    found = run(home, Model())
    (found.path / "samples.jsonl").write_bytes(b"".join(lines(found) * 2))
    assert len(list(found.records())) == SAMPLES


@pytest.mark.parametrize("broken", [frozenset[str](), frozenset("123")])
@pytest.mark.attack("pictures changed between stop and start", "their questions are asked again")
def test_rows_about_other_pictures_are_asked_again(home: Path, broken: frozenset[str]) -> None:
    old = run(home, Model(broken))
    paint(home, 255)
    model = Model()
    again = run(home, model)
    assert (again.path, again.info.status) == (old.path, "complete")
    assert sorted(model.sent, key=int) == ids(again) == list(map(str, range(SAMPLES)))
    assert len({name for record in again.records() for name in record.media}) == SAMPLES
    assert len(lines(again, "left-out.jsonl")) == SAMPLES - len(broken)
    assert any("the images have changed" in notice for notice in notices(again.report()))
    still = Model()
    assert run(home, still).info.repairs == again.info.repairs
    assert still.sent == []


@pytest.mark.attack(
    "files changed from which frames, pages or other pictures are made", "their questions are asked again"
)
def test_rows_about_pictures_made_of_others_are_asked_again(home: Path) -> None:
    blurred = Variant(control="blur")
    for picture in (home / "im").iterdir():
        Image.effect_noise((32, 32), 64).convert("RGB").save(picture)
    first = run(home, Model(), blurred)
    (row, *_) = first.records()
    assert row.data_media is not None
    assert not set(row.data_media) & set(row.media)
    same = Model()
    assert run(home, same, blurred).info.repairs == ()
    assert same.sent == []
    Image.new("RGB", (8, 8), (1, 2, 3)).save(home / "im/4.png")
    model = Model()
    again = run(home, model, blurred)
    assert (again.path, model.sent) == (first.path, ["4"])
    assert any("the images have changed" in one for one in again.info.repairs)


def test_every_failed_row_says_how_it_failed(home: Path) -> None:
    found = run(home, Model(frozenset("12")))
    assert [one.failure for one in found.failures()] == ["server", "server"]
    assert {one.failure for one in found.records()} == {None}


def test_pictures_that_are_gone_change_nothing(home: Path) -> None:
    run(home, Model())
    for picture in (home / "im").iterdir():
        picture.unlink()
    model = Model()
    again = run(home, model)
    assert (len(ids(again)), model.sent, again.info.repairs) == (SAMPLES, [], ())


def _sample(shown: str, options: str = "", *, gone: bool = False) -> Sample:
    source = BrokenSource("gone") if gone else InlineSource(b"")
    media = tuple(MediaRef(name, source) for name in shown)
    pictures = {name.upper(): MediaRef(name, source) for name in options}
    return Sample("1", "choice", "?", media=media, option_images=pictures)


@pytest.mark.parametrize(
    ("sample", "asked", "changed"),
    [
        (_sample("ab"), "ab", False),
        (_sample("ab"), "ba", False),
        (_sample("ab"), "ac", True),
        (_sample("aa"), "ab", True),
        (_sample("ab"), "c", False),  # stitched
        (_sample("ab"), "", False),  # blind
        (_sample("ab", gone=True), "cd", False),
        (_sample("a", "xy"), "axy", False),
        (_sample("a", "xy"), "axyz", False),  # drawn
        (_sample("a", "xy"), "axz", True),
        (_sample("a", "xy"), "a", False),
        (_sample("a", "xy"), "b", True),
    ],
)
def test_whether_a_row_is_about_other_pictures(sample: Sample, asked: str, changed: bool) -> None:
    assert _has_other_images(sample, ResumeRecord("1", tuple(asked))) is changed


@pytest.mark.parametrize("damage", ["x'00ff'", "'words'", "7", "x''"])
@pytest.mark.attack("one stored reply damaged", "one request")
def test_a_damaged_reply_is_asked_for_again(home: Path, damage: str) -> None:
    found = run(home, Model())
    clean = found.report().summary
    for file in found.path.iterdir():
        file.unlink()
    with sqlite3.connect(home / "out/store.sqlite") as store:
        store.execute(f"UPDATE responses SET output = {damage} WHERE digest = (SELECT max(digest) FROM responses)")
    store.close()
    model = Model()
    again = run(home, model)
    assert (len(model.sent), again.report().summary) == (1, clean)
    assert any("1 stored reply could not be read" in one for one in notices(again.report()))
    for file in found.path.iterdir():
        file.unlink()
    healed = Model()
    assert (run(home, healed).info.repairs, healed.sent) == ((), [])


@pytest.mark.attack("the lock removed while a run goes on", "the run that lost it stops")
def test_a_run_whose_lock_was_removed_stops(home: Path) -> None:
    """What the second one finds is what the first had written until then."""
    locks = home / "out"
    others: list[RunFolder] = []

    def remove(request: Request) -> None:
        if request.ref.sample == "5" and not others:
            (lock,) = locks.glob("*/.lock")
            lock.unlink()
            others.append(run_beside(home))

    with pytest.raises(RunLocked, match="was removed while this run was going on"):
        run(home, Model(before=remove))
    (other,) = others
    assert ids(other) == list(map(str, range(SAMPLES)))
    assert len(lines(other)) == SAMPLES
    assert other.report().summary.n == SAMPLES
    assert RunFolder(other.path).info.status == "complete"


def run_beside(home: Path) -> RunFolder:
    """The same run in a thread, because one event loop is running here."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run, home, Model()).result(timeout=60)


@pytest.mark.attack("kill -9 before anything was noted", "what was spent is known")
def test_spending_is_recovered_after_a_kill(tmp_path: Path) -> None:
    early, late = RoleUsage(sent=3, answered=2), RoleUsage(sent=9, answered=8)
    with RunWriter(tmp_path) as writer:
        writer.record_spending({MAIN: early})
        writer.record_spending({MAIN: late})
    for torn in ("", '{"model":{"sent":70'):
        with (tmp_path / "spent.jsonl").open("a") as file:
            file.write(torn)
        with RunWriter(tmp_path) as writer:
            assert recover_spent(writer.path, {}) == {MAIN: late}
            assert recover_spent(writer.path, {MAIN: early, "judge": early}) == {MAIN: late, "judge": early}
            # `run.json` was written after the last line.
            later = RoleUsage(sent=10, answered=9)
            assert recover_spent(writer.path, {MAIN: later}) == {MAIN: later}


def test_a_run_that_ended_leaves_no_note_of_what_was_spent(home: Path) -> None:
    found = run(home, Model())
    assert found.info.spent[MAIN].answered == SAMPLES
    assert not (found.path / "spent.jsonl").exists()


def test_bounds_of_a_run_that_ended_early_say_of_how_many(home: Path) -> None:
    found = run(home, Model(frozenset("12")))
    report = found.report()
    told = [notice for notice in notices(report) if "bounds" in notice]
    assert len(told) == 1
    assert "asked" not in told[0]
    early = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, status="interrupted"))
    told = [notice for notice in notices(early) if "bounds" in notice]
    assert told[0].endswith(" of the 10 asked")


@pytest.mark.attack("kill -9 between a reply and its note", "what was spent is counted to the last reply")
def test_replies_that_were_stored_and_not_noted_are_counted(home: Path) -> None:
    found = run(home, Model())
    whole = found.info.spent[MAIN]
    path = found.path / "run.json"
    content = msgspec.json.decode(path.read_bytes())
    noted = RoleUsage(sent=7, answered=6, usage=Usage(60, 6))
    content |= {"status": "running", "spent": {MAIN: msgspec.to_builtins(noted)}}
    path.write_bytes(msgspec.json.encode(content))
    samples = found.path / "samples.jsonl"
    samples.write_bytes(b"".join(lines(found)[:6]))
    model = Model()
    again = run(home, model).info.spent[MAIN]
    assert model.sent == []
    assert (again.answered, again.sent, again.usage) == (SAMPLES, SAMPLES, whole.usage)
    assert again.reused == SAMPLES - 6


def test_replies_of_another_run_with_the_same_name_are_not_counted(home: Path) -> None:
    """Two folders over one store: each has paid for its own."""
    data, store = [str(home / "q.tsv")], home / "shared.sqlite"
    (one,) = evaluate([Model()], data, out=home / "one", store=store, html=False).runs
    (two,) = evaluate([Model()], data, out=home / "two", store=store, html=False).runs
    assert one.name == two.name
    path = two.path / "run.json"
    content = msgspec.json.decode(path.read_bytes()) | {"status": "running"}
    path.write_bytes(msgspec.json.encode(content))
    (two,) = evaluate([Model()], data, out=home / "two", store=store, html=False).runs
    assert two.info.spent[MAIN].answered == 0
