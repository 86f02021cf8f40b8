"""The rows of the first page: what is read of a run, kept between starts, and followed."""

import shutil
import sqlite3
import time
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from benchmarks.perf.thousands_of_runs import write_made_runs
from viewing import ask, catalog, going_on, made_run, served, set_status

import snellen
from snellen.api.report import report_of
from snellen.core.errors import UsageError
from snellen.view.files import write_pages
from snellen.view.local_server import MAX_BODY, TOKEN_HEADER
from snellen.view.run_catalog import RunCatalog
from snellen.view.run_index import RunIndex
from snellen.view.run_row import model_family, read_row
from snellen.view.run_view import RunLibrary
from snellen.view.saved_views import VIEWS_FILE


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return write_made_runs(tmp_path_factory.mktemp("many"), 300)


def rows_of(root: Path, index: RunIndex) -> dict[str, object]:
    one = RunCatalog([root], index)
    assert one.refresh()
    one.finish()
    return dict(one.rows())


def test_the_second_start_reads_no_run_again(many, tmp_path, monkeypatch):
    index = RunIndex(tmp_path / "index.sqlite")
    first = rows_of(many, index)
    assert len(first) == 300
    read = []
    monkeypatch.setattr("snellen.view.run_catalog.read_row", lambda folder: read.append(folder) or read_row(folder))
    assert rows_of(many, index) == first
    # Those that have not ended are looked at again: their samples may have grown.
    assert {first[path.name].status for path in read} <= {"running", "interrupted"}


def test_index_rereads_changed_runs_and_drops_deleted_ones(many, tmp_path):
    root = tmp_path / "runs"
    shutil.copytree(many, root)
    index = RunIndex(tmp_path / "index.sqlite")
    before = rows_of(root, index)
    first, second, *_ = sorted(name for name, row in before.items() if row.status == "complete")
    set_status(root / first, "incomplete")
    shutil.rmtree(root / second)
    after = rows_of(root, index)
    assert after[first].status == "incomplete"
    assert set(before) - set(after) == {second}
    assert str(root.resolve() / second) not in index.load(str(root.resolve()))


DAMAGE = {
    "no database": lambda file: file.write_bytes(b"not a database, but some text of this length"),
    "torn": lambda file: file.write_bytes(file.read_bytes()[:5000]),
    "empty": lambda file: file.write_bytes(b""),
    "another version": lambda file: change(file, "PRAGMA user_version = 7"),
    "rows of something else": lambda file: change(file, "UPDATE runs SET row = x'00ff'"),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


def change(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_made_again(many, tmp_path, damage):
    index = RunIndex(tmp_path / "index.sqlite")
    first = rows_of(many, index)
    DAMAGE[damage](index.file)
    assert rows_of(many, index) == first
    if damage != "a folder":
        assert len(index.load(str(many.resolve()))) == 300


@pytest.mark.release
def test_two_servers_use_one_index(many, tmp_path):
    file = tmp_path / "index.sqlite"
    holder = sqlite3.connect(file)
    holder.execute("CREATE TABLE other (x)")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        # Held by another: nothing is kept, and nothing is missing.
        assert len(rows_of(many, RunIndex(file))) == 300
    finally:
        holder.rollback()
        holder.close()
    both = [RunCatalog([many], RunIndex(file)) for _ in range(2)]
    for _ in range(100):
        ended = [one.refresh(0.01) for one in both]
        if all(ended):
            break
    for one in both:
        one.finish()
    assert both[0].rows() == both[1].rows()
    assert len(RunIndex(file).load(str(many.resolve()))) == 300


def test_nothing_is_kept_where_nothing_can_be_written(many, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert len(rows_of(many, RunIndex(tmp_path / "cache" / "index.sqlite"))) == 300


def test_damaged_runs_are_rows_with_a_reason(tmp_path):
    runs = [made_run(tmp_path, f"m{at}", count=5) for at in range(4)]
    (runs[0].path / "run.json").write_text('{"name": "cut')
    (runs[1].path / "run.json").unlink()
    (runs[1].path / "run.json").mkdir()
    (runs[2].path / "report.json").write_text("[]")
    with served(tmp_path) as server:
        rows = {row["key"]: row for row in catalog(server)}
        assert ask(server, "/").status == 200
    problems = [rows[run.name]["problem"] for run in runs]
    assert problems[0].startswith("run.json is not what Snellen writes there: ")
    assert problems[1] == "run.json cannot be read: Is a directory"
    assert problems[2].startswith("report.json is not what Snellen writes there: ")
    assert problems[3] == ""
    assert [rows[run.name]["status"] for run in runs] == ["damaged", "damaged", "complete", "complete"]
    assert [rows[run.name]["model"] for run in runs[:2]] == ["m0", "m1"]
    assert rows[runs[2].name]["score"] == "–"


def test_an_empty_folder_waits_for_runs(tmp_path):
    with served(tmp_path) as server:
        assert catalog(server) == []
        made_run(tmp_path, count=5)
        server.library.catalog.refresh(now=True)
        assert len(catalog(server)) == 1
    with pytest.raises(UsageError, match="nothing to write"):
        write_pages(RunLibrary([_folder(tmp_path / "none")]), tmp_path / "out")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_runs_are_found_in_folders_of_folders(tmp_path):
    for name in ("october", "november"):
        made_run(tmp_path / name, count=5)
    made_run(tmp_path / "a" / "b", "too-deep", count=5)
    with served(tmp_path, tmp_path / "october") as server:
        rows = catalog(server)
    assert [(row["key"], Path(row["folder"]).name) for row in rows] == [
        ("snellen_tiny--made--0123abcd", "november"),
        ("snellen_tiny--made--0123abcd~2", "october"),
    ]


def test_runs_differ_by_source_file_and_seed(tmp_path):
    for name in ("shapes.tsv", "shapes.jsonl"):
        lines = [f'{{"question": "Is it {at}?", "answer": "Yes"}}' for at in range(4)]
        table = "question\tanswer\n" + "".join(f"Is it {at}?\tYes\n" for at in range(4))
        (tmp_path / name).write_text(table if name.endswith("tsv") else "\n".join(lines))
    out = tmp_path / "out"
    files = [str(tmp_path / name) for name in ("shapes.tsv", "shapes.jsonl")]
    snellen.evaluate("random", files, out=out, html=False, progress=False)
    snellen.evaluate("random:seed=7", files[:1], out=out, html=False, progress=False)
    rows = [row for _, row in sorted(RunCatalog([out]).rows() or _read(out))]
    assert {row.benchmark for row in rows} == {"shapes"}
    assert sorted(row.source for row in rows) == ["shapes.jsonl", "shapes.tsv", "shapes.tsv"]
    assert {dict(row.identity)["seed"] for row in rows} == {"0", "7"}


def _read(out: Path) -> list[tuple[str, object]]:
    one = RunCatalog([out])
    one.refresh()
    return one.rows()


def test_only_changes_are_sent(tmp_path):
    runs = [made_run(tmp_path, f"m{at}", count=5) for at in range(3)]
    with served(tmp_path) as server:
        told = ask(server, "/api/catalog").json
        assert (told["full"], told["rows"], told["total"], told["more"]) == (True, 3, 3, False)
        mine = {"since": told["serial"], "server": told["server"]}
        again = ask(server, "/api/catalog", **mine).json
        assert (again["full"], again["rows"], again["gone"]) == (False, 0, [])
        set_status(runs[1].path, "incomplete")
        shutil.rmtree(runs[2].path)
        server.library.catalog.refresh(now=True)
        after = ask(server, "/api/catalog", **mine).json
        assert after["plain"]["key"] == [runs[1].name]
        assert (after["gone"], after["total"]) == ([runs[2].name], 2)
    with served(tmp_path) as other:
        # A page that outlives its server gets everything.
        assert ask(other, "/api/catalog", **mine).json["full"]


def test_a_first_start_sends_what_was_read_so_far(many, tmp_path):
    one = RunCatalog([many], RunIndex(tmp_path / "index.sqlite"))
    first = msgspec.json.decode(one.answer(0, "", 0.0))
    assert (first["full"], first["more"], first["total"]) == (True, True, 300)
    assert first["rows"] < 300
    reader = Thread(target=one.read_all)
    reader.start()
    keys, since, more = set(first["plain"]["key"]), first["serial"], True
    while more:
        part = msgspec.json.decode(one.answer(since, first["server"], 0.01))
        keys |= set(part["plain"]["key"])
        since, more = part["serial"], part["more"]
    reader.join()
    assert len(keys) == 300


def test_the_next_start_shows_what_was_shown_and_then_what_changed(many, tmp_path):
    root = tmp_path / "runs"
    shutil.copytree(many, root)
    index = RunIndex(tmp_path / "index.sqlite")
    first = RunCatalog([root], index)
    first.refresh()
    first.finish()
    shown = msgspec.json.decode(first.answer(0, "", 10.0))
    assert (shown["rows"], shown["more"]) == (300, False)
    first.save_snapshot()
    keys = [key for key, row in first.rows() if row.status == "complete"]
    changed, gone = keys[:2]
    set_status(root / changed, "incomplete")
    shutil.rmtree(root / gone)
    again = RunCatalog([root], index)
    at_once = msgspec.json.decode(again.answer(0, "", 0.0))
    assert at_once["more"]
    assert len(again) == 0
    same = ("serial", "total", "rows", "plain", "shared")
    assert [at_once[name] for name in same] == [shown[name] for name in same]
    then = msgspec.json.decode(again.answer(at_once["serial"], at_once["server"], 10.0))
    assert (then["full"], then["more"], then["gone"]) == (False, False, [gone])
    assert then["plain"]["key"] == [changed]


def test_active_run_is_counted_and_scored(tmp_path):
    done = snellen.evaluate("random", "eyechart", out=tmp_path, limit=60, html=False)
    run = done.runs[0]
    rest = going_on(run, 20)

    def wait(enough):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            row = next(row for row in catalog(server) if row["key"] == run.name)
            if enough(row):
                return row
            time.sleep(0.05)
        raise AssertionError(row)

    with served(tmp_path) as server:
        row = wait(lambda row: row["value"] is not None)
        assert (row["status"], row["done"], row["samples"], row["n"]) == ("running", 20, 60, 20)
        with (run.path / "samples.jsonl").open("ab") as file:
            file.write(b"".join(rest))
        wait(lambda row: row["done"] == 60 and row["n"] == 60)


def test_a_benchmark_that_raises_anything_costs_its_own_row_alone(tmp_path, monkeypatch):
    runs = [made_run(tmp_path, f"m{at}", count=5) for at in range(2)]
    for run in runs:
        set_status(run.path, "interrupted")
        (run.path / "report.json").unlink(missing_ok=True)

    def break_first(folder):
        if folder.path.name == runs[0].name:
            raise ValueError("units of another benchmark")
        return report_of(folder)

    monkeypatch.setattr("snellen.view.run_catalog.report_of", break_first)
    one = RunCatalog([tmp_path])
    one.refresh()
    deadline = time.monotonic() + 60
    while not all(row.problem for _, row in one.rows()) and time.monotonic() < deadline:
        time.sleep(0.05)
    rows = dict(one.rows())
    assert rows[runs[0].name].problem == "units of another benchmark"
    # Made runs have an option that their benchmark does not.
    assert "has no option 'split'" in rows[runs[1].name].problem


def test_row_shows_annotations(tmp_path):
    run = made_run(tmp_path, count=5)
    with served(tmp_path) as server:
        [row] = catalog(server)
        assert (row["flagged"], row["labels"], row["notes"]) == (0, [], [])
        change = {"run": run.name, "sample": "1", "flag": True, "note": "blurred", "add": ["odd"]}
        assert post(server, msgspec.json.encode(change), "/api/annotate").status == 200
        server.library.catalog.refresh(now=True)
        [row] = catalog(server)
        assert (row["flagged"], row["labels"], row["notes"]) == (1, ["odd"], ["blurred"])


def test_families_are_guessed_from_names():
    assert [
        model_family(name)
        for name in (
            "hf/Qwen/Qwen2.5-VL-7B-Instruct",
            "openai/gpt-4o-2024-08-06",
            "random",
            "hf/llava-hf/llava-1.5-7b-hf:dtype=float16",
            "OpenGVLab/InternVL3-8B-hf",
        )
    ] == ["qwen2.5-vl", "gpt-4o", "random", "llava-1.5", "internvl3"]


def test_made_runs_are_the_same_each_time(tmp_path, many):
    again = write_made_runs(tmp_path, 30)
    for folder in again.iterdir():
        assert (folder / "run.json").read_bytes() == (many / folder.name / "run.json").read_bytes()


def post(server, body: bytes, path: str = "/api/views", **headers: str):
    return ask(server, path, "POST", body=body, headers={TOKEN_HEADER: server.token, **headers})


VIEW = b'{"name": "blind ones", "address": "view=list&flag=control"}'


def test_a_view_is_stored_beside_the_runs_and_removed(tmp_path):
    made_run(tmp_path, count=5)
    with served(tmp_path) as server:
        assert ask(server, "/api/views").json == {"views": [], "file": str(tmp_path / VIEWS_FILE), "writable": True}
        assert post(server, VIEW).status == 200
        assert post(server, VIEW.replace(b"control", b"limit")).status == 200
        [view] = ask(server, "/api/views").json["views"]
        assert view == {"name": "blind ones", "address": "view=list&flag=limit"}
        assert msgspec.json.decode((tmp_path / VIEWS_FILE).read_bytes()) == [view]
        assert post(server, b'{"name": "blind ones", "remove": true}').json["views"] == []
        (tmp_path / VIEWS_FILE).write_text("not mine")
        answer = post(server, VIEW)
        assert (answer.status, (tmp_path / VIEWS_FILE).read_text()) == (422, "not mine")
        assert "mend or delete it" in answer.json["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"name": ""}',
        b'{"name": "a\\u0000"}',
        b'{"name": "x", "address": 1}',
        b'{"name": "x", "more": 1}',
        b'{"name": "' + b"n" * 81 + b'"}',
        b'{"name": "x", "address": "' + b"a" * 2001 + b'"}',
    ],
)
def test_refuses_invalid_views(tmp_path, body):
    with served(tmp_path) as server:
        answer = post(server, body)
        assert (answer.status, list(answer.json)) == (422, ["error"])
        assert not (tmp_path / VIEWS_FILE).exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({TOKEN_HEADER: ""}, 403),
        ({TOKEN_HEADER: "guessed"}, 403),
        ({TOKEN_HEADER: "gu\u00e9ssed"}, 403),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "example.org"}, 403),
        ({"Content-Length": str(MAX_BODY + 1)}, 413),
        ({"Content-Length": "-1"}, 413),
    ],
)
@pytest.mark.attack("a write from a page of another origin", "403, nothing is written")
def test_only_its_own_pages_may_write(tmp_path, headers, status):
    with served(tmp_path) as server:
        assert post(server, VIEW, **headers).status == status
        assert not (tmp_path / VIEWS_FILE).exists()
