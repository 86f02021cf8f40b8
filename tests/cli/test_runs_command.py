"""`snellen runs`: which runs are chosen, what they cost, and that nothing that another run needs goes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import tarfile
import time
from pathlib import Path

import pytest
from msgspec import structs

import snellen
from snellen.cli.main import main
from snellen.core.run import RoleUsage
from snellen.store.responses import STORE_FILE, ResponseStore
from snellen.store.runs import RunWriter

HOUR_AGO = 3600


def evaluate(out: Path, limit: int, seed: int = 0) -> snellen.Run:
    return snellen.evaluate(f"random:seed={seed}", "eyechart", out=out, limit=limit, html=False)[0]


def replies(folder: Path) -> int:
    with ResponseStore(folder / STORE_FILE) as store:
        return len(store)


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["runs", *words, "--json"]) == 0
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return rows


def set_running(run: snellen.Run, written_before: float) -> None:
    """As if the process had been killed that many seconds ago."""
    file = run.path / "run.json"
    file.write_text(file.read_text().replace('"status": "complete"', '"status": "running"'))
    for path in run.path.iterdir():
        os.utime(path, (time.time() - written_before,) * 2)


def test_runs_are_chosen_by_what_they_are_and_what_they_cost(tmp_path, capsys):
    short, long = evaluate(tmp_path, 4), evaluate(tmp_path, 9, seed=1)
    assert len(listed(capsys, str(tmp_path))) == 2
    rows = listed(capsys, str(tmp_path), "--where", "samples>4 model=*SEED=1 state=ended")
    assert [row["path"] for row in rows] == [str(long.path)]
    assert rows[0]["bytes"] == sum(map(len, content(long.path).values()))
    for text in ("samples>4,model=*SEED=1", "samples>4, model=*SEED=1,state=ended", "samples>4 , model=*SEED=1,"):
        assert listed(capsys, str(tmp_path), "--where", text) == rows
    assert listed(capsys, str(tmp_path), "--where", "model=org/name:dtype=a,seed=1") == []
    assert main(["runs", str(tmp_path), "--where", "n<9"]) == 0
    text = capsys.readouterr().out
    assert "1 run: 0 tokens" in text
    assert short.benchmark in text


def test_a_killed_run_is_told_from_one_that_goes_on(tmp_path, capsys):
    killed, busy, quiet = (evaluate(tmp_path, 4, seed=seed) for seed in range(3))
    set_running(killed, HOUR_AGO)
    set_running(busy, 1)
    set_running(quiet, HOUR_AGO)
    with RunWriter(quiet.path):
        os.utime(quiet.path / ".lock", (time.time() - HOUR_AGO,) * 2)
        states = {row["path"]: row["state"] for row in listed(capsys, str(tmp_path))}
        assert states == {str(killed.path): "killed", str(busy.path): "running", str(quiet.path): "running"}
        assert main(["runs", str(tmp_path), "--where", "run=*", "--delete", "yes"]) == 0
    assert "2 of these runs are going on" in capsys.readouterr().err
    assert (killed.path.exists(), busy.path.exists(), quiet.path.exists()) == (False, True, True)


def test_replies_that_another_run_needs_stay(tmp_path, capsys):
    short, long = evaluate(tmp_path, 4), evaluate(tmp_path, 9)
    other = evaluate(tmp_path, 3, seed=1)
    assert replies(tmp_path) == 12
    # The first four replies are of the short run, which is deleted; the long one reuses them.
    assert main(["runs", str(tmp_path), "--where", f"run={short.name}", "--delete", "yes"]) == 0
    assert "0 replies that no other needs" in capsys.readouterr().err
    assert replies(tmp_path) == 12
    assert main(["runs", str(tmp_path), "--where", "samples=9", "--delete", "yes"]) == 0
    assert "9 replies that no other needs" in capsys.readouterr().err
    assert replies(tmp_path) == 3
    assert not long.path.exists()
    assert [file.parent for file in tmp_path.glob("*/run.json")] == [other.path]
    (other.path / "samples.jsonl").unlink()
    assert evaluate(tmp_path, 3, seed=1).info.counts.sent == 0


def test_nothing_is_deleted_unasked(tmp_path, capsys, monkeypatch):
    run = evaluate(tmp_path, 4)
    monkeypatch.setattr("sys.stdin", type("Pipe", (), {"isatty": lambda self: False})())
    assert main(["runs", str(tmp_path), "--where", "run=*", "--delete"]) == 2
    assert "nothing was deleted: 1 run listed above" in capsys.readouterr().err
    assert main(["runs", str(tmp_path), "--delete", "yes"]) == 2
    assert "--delete needs --where" in capsys.readouterr().err
    monkeypatch.setattr(
        "sys.stdin", type("Terminal", (), {"isatty": lambda self: True, "readline": lambda self: "\n"})()
    )
    assert main(["runs", str(tmp_path), "--where", "run=*", "--delete"]) == 0
    assert content(run.path)


@pytest.mark.parametrize("moved", [False, True], ids=["copied", "moved"])
def test_runs_arrive_with_their_replies_byte_for_byte(tmp_path, moved, capsys):
    one, other = evaluate(tmp_path / "a", 6), evaluate(tmp_path / "a", 3)
    before = content(one.path)
    words = ["runs", str(tmp_path / "a"), "--where", "samples=6", "--out", str(tmp_path / "b")]
    assert main([*words, *(["--delete", "yes"] if moved else [])]) == 0
    arrived = tmp_path / "b" / one.name
    assert content(arrived) == before
    assert one.path.exists() != moved
    # Three replies are the other run's too.
    assert (replies(tmp_path / "a"), replies(tmp_path / "b")) == (3 if moved else 6, 6)
    again = evaluate(tmp_path / "b", 6)
    assert again.path == arrived
    (arrived / "samples.jsonl").unlink()
    assert evaluate(tmp_path / "b", 6).info.counts.sent == 0
    assert content(other.path)
    assert main(words) == (2 if not moved else 0)


def test_an_archive_is_one_file_that_opens_like_a_folder(tmp_path, capsys):
    runs = [evaluate(tmp_path / "a", 5), evaluate(tmp_path / "a", 4, seed=1)]
    before, scored = {run.name: content(run.path) for run in runs}, {run.name: run.n for run in runs}
    archive = tmp_path / "year.tar.gz"
    assert main(["runs", str(tmp_path / "a"), "--where", "run=*", "-o", str(archive), "--delete", "yes"]) == 0
    assert replies(tmp_path / "a") == 0
    assert not list((tmp_path / "a").glob("*/run.json"))
    assert {Path(str(row["path"])).name for row in listed(capsys, str(archive))} == set(before)
    assert main(["report", str(archive), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert {run.name: run.n for run in snellen.open_runs(archive)} == scored
    assert main(["runs", str(archive), "--out", str(tmp_path / "b")]) == 0
    assert {name: content(tmp_path / "b" / name) for name in before} == before
    (tmp_path / "b" / runs[0].name / "samples.jsonl").unlink()
    assert evaluate(tmp_path / "b", 5).info.counts.sent == 0
    assert main(["runs", str(archive), "--where", "run=*", "--delete", "yes"]) == 2
    assert "delete the file" in capsys.readouterr().err


def test_a_run_deleted_by_hand_is_found_in_its_store(tmp_path, capsys):
    gone, there = evaluate(tmp_path, 6), evaluate(tmp_path, 4)
    for path in gone.path.iterdir():
        path.unlink()
    gone.path.rmdir()
    # What it needed is not known: the replies of others stay until it is deleted for good.
    assert main(["runs", str(tmp_path), "--where", "samples=4", "-o", str(tmp_path / "x.tar.gz")]) == 0
    assert [row["path"] for row in listed(capsys, str(tmp_path), "--where", "state=gone")] == [str(gone.path)]
    assert main(["runs", str(tmp_path), "--where", "state=gone", "--delete", "yes"]) == 0
    assert replies(tmp_path) == 4
    assert listed(capsys, str(tmp_path), "--where", "state=gone") == []
    assert content(there.path)


def test_replies_stay_while_a_run_is_missing(tmp_path, capsys):
    moved, there = evaluate(tmp_path / "a", 6), evaluate(tmp_path / "a", 4)
    moved.path.rename(tmp_path / moved.name)
    assert main(["runs", str(tmp_path / "a"), "--where", "samples=4", "--delete", "yes"]) == 0
    assert "are no longer where they were" in capsys.readouterr().err
    assert not there.path.exists()
    assert replies(tmp_path / "a") == 6


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no archive", "is no archive of runs, or is damaged"),
        (gzip.compress(b"no tar, and longer than a block" * 40, mtime=0), "is no archive of runs, or is damaged"),
        ("empty", "holds no run"),
        ("escape", "is no archive of runs, or is damaged"),
    ],
)
def test_what_is_no_archive_is_said(tmp_path, capsys, content, sentence):
    file = tmp_path / "x.tar.gz"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        with tarfile.open(file, "w:gz") as archive:
            inside = tmp_path / "run.json"
            inside.write_text("{}")
            archive.add(inside, "../run.json" if content == "escape" else "run.json")
    assert main(["runs", str(file)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path.parent / "run.json").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("modle=x", "did you mean model"),
        ("model<x", "is a text, which has = and != alone"),
        ("score<many", "is no number"),
        ("score < 5", "is no condition"),
        ("", "is empty"),
        (" , ,", "is empty"),
        ('model="a', "No closing quotation"),
        ("__class__=x", "unknown fact"),
        ("foo=x", "known: model, benchmark,"),
        ("day<yesterday", "expected a day such as 2026-11-01"),
        ("day>2026-13-45", "expected a day such as 2026-11-01"),
        ("day<=2026-11", "expected a day such as 2026-11-01"),
        ("day=2026-11", "or a pattern such as 2026-11-*"),
        ("state!=endde", "unknown state of runs 'endde'; did you mean ended?"),
        ("state=killed|gonee", "known: ended, killed,"),
    ],
)
def test_a_wrong_condition_is_a_sentence(tmp_path, capsys, text, sentence):
    evaluate(tmp_path, 1)
    assert main(["runs", str(tmp_path), "--where", text]) == 2
    assert sentence in capsys.readouterr().err


def test_a_day_that_is_none_and_an_unknown_state_delete_nothing(tmp_path):
    run = evaluate(tmp_path, 1)
    for text in ("day<yesterday", "state!=endde"):
        assert main(["runs", str(tmp_path), "--where", text, "--delete", "yes"]) == 2
        assert run.path.exists()


def test_days_and_states_may_be_patterns(tmp_path, capsys):
    evaluate(tmp_path, 1)
    for text in ("day=20*", "day!=2026-01-01|2025-*", "day>=2026-01-01", "state=END*", "state=killed|ended"):
        assert len(listed(capsys, str(tmp_path), "--where", text)) == 1


def test_the_catalogue_has_a_plain_row_for_each_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    run = evaluate(tmp_path / "out", 5)
    listed(capsys, str(tmp_path / "out"))
    with sqlite3.connect(tmp_path / "cache" / "runs.sqlite") as catalog:
        rows = catalog.execute("SELECT path, benchmark, score, n, status FROM runs").fetchall()
    catalog.close()
    assert rows == [(str(run.path.resolve()), "eyechart", run.score, run.n, "complete")]


def counting(request: snellen.Generate) -> snellen.Generated:
    return snellen.Generated(text="A", usage=snellen.Usage(10, 2))


def test_what_merged_shards_cost_counts_once(tmp_path, capsys):
    for shard in ("1/2", "2/2"):
        snellen.evaluate(counting, "eyechart", out=tmp_path, limit=6, html=False, shard=shard)
    capsys.readouterr()
    assert main(["runs", str(tmp_path)]) == 0
    apart = " ".join(capsys.readouterr().out.split())
    assert main(["merge", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["runs", str(tmp_path)]) == 0
    joined = " ".join(capsys.readouterr().out.split())
    assert "2 runs: 72 tokens" in apart
    assert "3 runs, of which 2 are merged shards: 72 tokens" in joined


def test_links_are_listed_once_and_never_deleted(tmp_path, capsys):
    run = evaluate(tmp_path / "a", 6)
    (tmp_path / "b").mkdir()
    link = tmp_path / "b" / "link"
    link.symlink_to(run.path)
    assert main(["runs", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "1 run: " in capsys.readouterr().out
    assert main(["runs", str(tmp_path / "b"), "--where", "run=*", "--delete", "yes"]) == 0
    assert "1 of these runs are links" in capsys.readouterr().err
    assert link.is_symlink()
    assert content(run.path)
    assert main(["runs", str(tmp_path / "b"), "--where", "run=*", "--out", str(tmp_path / "c")]) == 0
    assert replies(tmp_path / "c") == 6


def test_what_a_kill_left_of_a_run_is_none(tmp_path, capsys):
    run = evaluate(tmp_path, 4)
    for name in (f".deleted-{run.name}", f".{run.name}.part"):
        shutil.copytree(run.path, tmp_path / name)
    assert len(snellen.open_runs(str(tmp_path))) == 1
    assert len(listed(capsys, str(tmp_path))) == 1


def test_runs_on_a_disk_that_cannot_be_written_to_are_found_copied_and_merged(tmp_path, monkeypatch, capsys):
    source = tmp_path / "disk" / "shard-1-of-1"
    run = snellen.evaluate("random", "eyechart", out=tmp_path / "disk", limit=6, html=False, shard="1/1")[0]
    assert run.path.parent == source
    before = content(source)
    # The rights of a file do not hold for root: nothing can be written beside the store all the same.
    (source / f"{STORE_FILE}-wal").mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(source)) and access(path, mode))
    assert len(listed(capsys, str(source), "--where", "run=*")) == 1
    assert main(["runs", str(source), "--where", "run=*", "--out", str(tmp_path / "copy")]) == 0
    assert main(["merge", str(tmp_path / "disk"), "--out", str(tmp_path / "merged")]) == 0
    assert (replies(tmp_path / "copy"), replies(tmp_path / "merged")) == (6, 6)
    assert content(source) == before


def test_what_all_starts_of_a_run_took_counts_also_after_a_kill(tmp_path, capsys):
    run = snellen.evaluate(counting, "eyechart", out=tmp_path, limit=6, html=False)[0]
    two_starts, killed = ({"model": RoleUsage(sent=n, answered=n, usage=snellen.Usage(10 * n, 2 * n))} for n in (9, 11))
    with RunWriter(run.path) as writer:
        writer.write_info(structs.replace(run.info, spent=two_starts))
        assert [row["tokens"] for row in listed(capsys, str(tmp_path))] == [108]
        writer.record_spending(killed)
    set_running(run, HOUR_AGO)
    assert [row["tokens"] for row in listed(capsys, str(tmp_path))] == [132]
