"""Boards over time and for others: suites, history, moments, exports, feeds, radar, endpoints."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from board_rows import add_board, add_score, board_hub, number, publish, sqlite_hub, summary
from fastapi.testclient import TestClient
from sqlalchemy import select

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen_hub.boards.changes import change_count, note_change, note_data_change
from snellen_hub.boards.exports import page_csv, page_json, page_parquet
from snellen_hub.boards.feeds import change_feed
from snellen_hub.boards.history import board_history, model_history
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.radar import radar_chart
from snellen_hub.boards.suite_members import (
    MemberColumn,
    NewSuite,
    change_suite,
    create_suite,
    delete_suite,
    find_hosted_suite,
)
from snellen_hub.boards.tables import BoardPage
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import BoardChange, HostedBenchmark, Submission
from snellen_hub.hub import Hub
from snellen_hub.publishing import PublicationRefused, publish_submission, withdraw_submission
from snellen_hub.web.app import create_app
from snellen_hub.web.pages.frame import translate

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = sqlite_hub(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def both_hub(database: Database, tmp_path: Path) -> Hub:
    """On SQLite and on PostgreSQL."""
    return board_hub(database, tmp_path)


def models(page: BoardPage) -> list[str]:
    return [row.model for row in page.tables[0].rows]


def accuracy(value: float, n: int = 100, half_width: float | None = 5.0) -> Any:
    return summary(number("accuracy", value, n, half_width=half_width))


def suite_page(hub: Hub, cells: dict[str, dict[str, float]], **weights: float) -> BoardPage:
    """A suite of the benchmarks that the cells of the models name."""
    names = list(dict.fromkeys(name for own in cells.values() for name in own))
    with hub.database.writing() as session:
        boards = {name: add_board(session, name) for name in names}
        for model, own in cells.items():
            for name, value in own.items():
                publish(session, boards[name], model, accuracy(value))
        members = tuple(MemberColumn(name, weights.get(name, 1.0)) for name in names)
        suite = create_suite(session, NewSuite(name="all", members=members))
        return read_tables(session, hub, suite)


def test_missing_numbers_are_never_averaged_silently(hub: Hub) -> None:
    page = suite_page(
        hub, {"A": {"x": 80.0, "y": 60.0}, "B": {"x": 99.0}, "a ": {"y": 61.0}, "C": {"x": 70.0, "y": 76.0}}
    )
    rows = {row.model: row for row in page.tables[0].rows}
    # "a " is A: of two reported numbers the later one counts.
    assert rows["A"].cells["y"].value == 61.0
    assert rows["A"].cells["average"].value == 70.5
    assert (rows["C"].cells["average"].value, rows["C"].rank) == (73.0, 1)
    assert "average" not in rows["B"].cells
    assert rows["B"].rank is None
    available = rows["B"].cells["average-available"]
    assert (available.value, available.mark) == (99.0, "mean of 1 of 2 benchmarks; without Y")
    assert "average-available" not in rows["A"].cells
    assert "1 of 3 models lack a benchmark and have no average" in page.tables[0].notices
    assert rows["A"].cells["average-rank"].value == 1.5
    assert rows["C"].cells["average-rank"].value == 1.5


def test_weights_of_a_suite(hub: Hub) -> None:
    page = suite_page(hub, {"A": {"x": 80.0, "y": 60.0}, "B": {"x": 50.0, "y": 70.0}}, x=3.0)
    cells = {row.model: row.cells["average"] for row in page.tables[0].rows}
    assert cells["A"].value == pytest.approx(75.0)
    assert cells["B"].value == pytest.approx(55.0)
    # sqrt((3 * 5)^2 + 5^2) / 4
    assert cells["A"].low == pytest.approx(75.0 - 250**0.5 / 4)
    assert page.tables[0].columns[1].note.startswith("weighted mean of all 2 benchmarks")


def test_a_number_of_another_protocol_marks_its_average(hub: Hub) -> None:
    with hub.database.writing() as session:
        for name in ("x", "y"):
            board = add_board(session, name)
            publish(session, board, "A", accuracy(80.0))
            publish(
                session, board, "B", accuracy(90.0), other_protocol="with a chain of thought" if name == "x" else ""
            )
        members = (MemberColumn("x"), MemberColumn("y"))
        suite = create_suite(session, NewSuite(name="all", members=members))
        table = read_tables(session, hub, suite).tables[0]
    rows = {row.model: row for row in table.rows}
    assert rows["B"].cells["x"].mark == "another protocol: with a chain of thought"
    mark = rows["B"].cells["average"].mark
    assert mark == "holds numbers of another protocol or version: x"
    assert translate("zh", mark) == "含有采用其他协议或版本的数字：x"
    assert rows["B"].rank is None
    assert "average-rank" not in rows["B"].cells
    assert rows["A"].rank == 1


@pytest.mark.parametrize(
    ("name", "members", "sentence"),
    [
        ("Upper", (MemberColumn("x"),), "a suite cannot be called 'Upper'"),
        ("new", (), "a suite has no members"),
        ("new", (MemberColumn("z"),), "this hub has no benchmark z; expected some of x"),
        ("new", (MemberColumn("x"), MemberColumn("x")), "the suite has x twice"),
        ("new", (MemberColumn("x", weight=0.0),), "the weight of x is 0.0"),
        ("new", (MemberColumn("x", scale=float("inf")),), "the scale of x is inf"),
        ("old", (MemberColumn("x"),), "the hub has a suite called old already"),
    ],
)
def test_a_suite_with_a_mistake_is_refused(
    hub: Hub, name: str, members: tuple[MemberColumn, ...], sentence: str
) -> None:
    with hub.database.writing() as session:
        add_board(session, "x")
        create_suite(session, NewSuite(name="old", members=(MemberColumn("x"),)))
        with pytest.raises(UsageError, match=sentence):
            create_suite(session, NewSuite(name=name, members=members))


def test_a_board_as_it_stood(both_hub: Hub) -> None:
    hub = both_hub
    with hub.database.writing() as session:
        board = add_board(session, "signs")
        first = publish(session, board, "A", accuracy(60.0), kind="submitted")
        publish(session, board, "B", accuracy(70.0), kind="submitted")
        withdraw_submission(session, first)
        board.version = 2
        note_data_change(session, board, 1)
        second = session.scalars(select(Submission).where(Submission.model == "B")).one()
        add_score(session, second, accuracy(66.0), 2)
        note_change(session, second, "scored")
    with hub.database.reading() as session:
        board = session.scalars(select(HostedBenchmark)).one()
        numbers = session.scalars(select(BoardChange.id).order_by(BoardChange.id)).all()
        assert change_count(session) == (5, numbers[-1])
        found = []
        for change in numbers:
            page = read_tables(session, hub, board, f"@{change}")
            assert (page.change, page.as_of) == (change, f"@{change}")
            found.append(
                (page.version, [(row.model, row.cells["score"].value, row.is_outdated) for row in page.tables[0].rows])
            )
        assert found == [
            (1, [("A", 60.0, False)]),
            (1, [("B", 70.0, False), ("A", 60.0, False)]),
            (1, [("B", 70.0, False)]),
            (2, [("B", 70.0, True)]),
            (2, [("B", 66.0, False)]),
        ]
        assert models(read_tables(session, hub, board, "2020-05")) == []
        assert models(read_tables(session, hub, board, "2999")) == ["B"]
        now = read_tables(session, hub, board)
        assert now.tables[0].rows[0].cells["earlier"].value == 70.0
        for text, sentence in (("@999", "no change of that number"), ("2026-02-31", "there is no such date")):
            with pytest.raises(UsageError, match=sentence):
                read_tables(session, hub, board, text)


def test_a_suite_as_it_stood(both_hub: Hub) -> None:
    hub = both_hub
    with hub.database.writing() as session:
        for name in ("x", "y"):
            publish(session, add_board(session, name), "A", accuracy(60.0))
        suite = create_suite(session, NewSuite(name="all", members=(MemberColumn("x"),)))
        before = change_count(session).latest
        both = (MemberColumn("x"), MemberColumn("y"))
        change_suite(session, suite, NewSuite(name="all", members=both, title="Both"))
        assert [m["benchmark"] for m in read_tables(session, hub, suite).members] == ["x", "y"]
        page = read_tables(session, hub, suite, f"@{before}")
        assert [m["benchmark"] for m in page.members] == ["x"]
        delete_suite(session, suite)
        session.flush()
        assert find_hosted_suite(session, "all") is None
        assert change_count(session).changes == 5


def test_history_of_a_board_and_of_a_model(both_hub: Hub) -> None:
    hub = both_hub
    with hub.database.writing() as session:
        board = add_board(session, "signs")
        publish(session, board, "A", accuracy(60.0), kind="submitted")
        best = publish(session, board, "B", accuracy(70.0), kind="submitted")
        publish(session, board, "C", accuracy(65.0), kind="submitted")
        publish(session, board, "D", accuracy(95.0), other_protocol="other questions")
        withdraw_submission(session, best)
        board.version = 2
        note_data_change(session, board, 1)
        for model, value in (("A", 62.0), ("C", 61.0)):
            row = session.scalars(select(Submission).where(Submission.model == model)).one()
            add_score(session, row, accuracy(value), 2)
            note_change(session, row, "scored")
        history = board_history(session, board)
        found = model_history(session, "a")
    assert [(entry.kind, entry.model) for entry in history.entries] == [
        ("scored", "C"),
        ("scored", "A"),
        ("data-replaced", ""),
        ("withdrawn", "B"),
        ("imported", "D"),
        ("published", "C"),
        ("published", "B"),
        ("published", "A"),
    ]
    latest = history.entries[0]
    assert (latest.before["value"], latest.before["version"]) == (65.0, 1)
    assert (latest.after["value"], latest.after["version"], latest.after["n"]) == (61.0, 2, 100)
    assert history.entries[3].after == {}
    assert [(one.model, one.value, one.version) for one in history.best] == [
        ("A", 60.0, 1),
        ("B", 70.0, 1),
        ("C", 65.0, 1),
        ("A", 62.0, 2),
    ]
    (score,) = found.scores
    assert [(one.version, one.headline.value) for one in score.scores] == [(2, 62.0), (1, 60.0)]


def test_refuses_submissions_that_cannot_be_published(hub: Hub) -> None:
    with hub.database.writing() as session:
        row = publish(session, add_board(session, "signs"), "A", accuracy(60.0))
        publish_submission(session, row)
        withdraw_submission(session, row)
        for action in (publish_submission, withdraw_submission):
            with pytest.raises(PublicationRefused, match="was withdrawn"):
                action(session, row)
        row.visibility, row.status = "private", "queued"
        with pytest.raises(PublicationRefused, match="once it is scored"):
            publish_submission(session, row)
        count = change_count(session).changes
        withdraw_submission(session, row)
        # A private submission is on no board, so that no board changes.
        assert change_count(session).changes == count


HOSTILE = '=HYPERLINK("http://x","y")'


@pytest.fixture
def page(hub: Hub) -> BoardPage:
    with hub.database.writing() as session:
        board = add_board(session, "signs")
        groups = {
            "category": {
                "odd": number("accuracy", 50.0, 30),
                "even": number("e", 70.0, 30),
                "=cmd": number("c", 10.0, 5),
            }
        }
        head = number("accuracy", 60.0, 60, half_width=5.0)
        publish(
            session, board, HOSTILE, summary(head, groups=groups), facts={"parameters": 7.5, "organisation": "@lab"}
        )
        publish(session, board, "B", accuracy(70.0), other_protocol="-1+1")
        return read_tables(session, hub, board)


def test_csv_runs_no_formula(page: BoardPage) -> None:
    rows = list(csv.DictReader(io.StringIO(page_csv(page))))
    assert rows[0]["model"] == "B"
    assert rows[1]["model"] == f"'{HOSTILE}"
    assert (rows[1]["score"], rows[1]["score.low"], rows[1]["size"]) == ("60.0", "55.0", "7.5")
    assert rows[1]["organisation"] == "'@lab"
    # Counts and ranks are whole numbers, and samples stand in one column.
    assert [
        row[name] for row in rows for name in ("n", "rank") if not row.get(name, "").isdecimal() and row.get(name)
    ] == []
    assert [name for name in rows[0] if name in ("n", "score.n")] == ["n"]
    assert rows[0]["protocol"] == "'-1+1"
    assert rows[1]["category.cmd"] == "10.0"
    for cell in next(csv.reader(io.StringIO(page_csv(page)))):
        assert cell[0] not in "=+-@"


def test_parquet_and_json_hold_the_same_numbers(page: BoardPage) -> None:
    table = pq.read_table(io.BytesIO(page_parquet(page))).to_pylist()
    assert [row["model"] for row in table] == ["B", HOSTILE]
    assert table[1]["score"] == 60.0
    assert table[0]["size"] is None
    assert table[0]["score.mark"] == "another protocol: -1+1"
    found = json.loads(page_json(page))
    assert found["tables"][0]["rows"][1]["cells"]["category.odd"]["value"] == 50.0


def test_a_feed_is_valid_whatever_a_model_is_called(hub: Hub) -> None:
    with hub.database.writing() as session:
        board = add_board(session, "signs")
        row = publish(
            session,
            board,
            "<script>alert(1)</script> & ]]> \x07\ud800".encode("utf-8", "replace").decode(),
            accuracy(60.0),
            kind="submitted",
        )
        withdraw_submission(session, row)
        publish(session, add_board(session, "other"), "B", accuracy(50.0))
        feed = change_feed(session, hub.config)
        own = change_feed(session, hub.config, board)
    tree = ElementTree.fromstring(feed.content)
    assert tree.tag == f"{ATOM}feed"
    titles = [entry.findtext(f"{ATOM}title") for entry in tree.iter(f"{ATOM}entry")]
    assert titles[0] == "OTHER: B, a reported number: 50.0 % (45.0 to 55.0), n = 100"
    assert titles[1] == "SIGNS: <script>alert(1)</script> & ]]> ? is withdrawn"
    assert b"<script>" not in feed.content
    links = [entry.find(f"{ATOM}link") for entry in tree.iter(f"{ATOM}entry")]
    assert [link.get("href") for link in links if link is not None][-1] == (
        "http://127.0.0.1:8440/benchmarks/signs?as-of=@1"
    )
    ids = [entry.findtext(f"{ATOM}id") for entry in tree.iter(f"{ATOM}entry")]
    assert len(set(ids)) == 3
    assert len(list(ElementTree.fromstring(own.content).iter(f"{ATOM}entry"))) == 2
    assert feed.etag != own.etag


def test_imports_are_one_entry_of_a_feed(hub: Hub) -> None:
    with hub.database.writing() as session:
        board = add_board(session, "signs")
        for index in range(30):
            publish(session, board, f"M{index}", accuracy(60.0))
        tree = ElementTree.fromstring(change_feed(session, hub.config).content)
    titles = [entry.findtext(f"{ATOM}title") for entry in tree.iter(f"{ATOM}entry")]
    assert titles == ["SIGNS: 30 reported numbers, M29 among them"]


def test_radar_of_a_suite(hub: Hub) -> None:
    page = suite_page(hub, {"A": {"x": 80.0, "y": 60.0}, "B": {"x": 50.0}, "C": {"y": 20.0}})
    chart = radar_chart(page, ["a", "B"])
    assert [axis.key for axis in chart.axes] == ["x", "y"]
    assert [(axis.lowest, axis.highest) for axis in chart.axes] == [(50.0, 80.0), (20.0, 60.0)]
    first, second = chart.models
    assert [(point.value, point.share, point.relative) for point in first.points] == [
        (80.0, 0.8, 1.0),
        (60.0, 0.6, 1.0),
    ]
    assert [(point.key, point.relative) for point in second.points] == [("x", 0.0)]
    assert [axis.key for axis in radar_chart(page, ["A"], ["average", "x"]).axes] == ["average", "x"]
    for names, axes, sentence in (
        (["A"] * 9, [], "got 9 models"),
        (["Z"], [], "has no model Z"),
        (["A"], ["q"], "no axis q"),
    ):
        with pytest.raises(UsageError, match=sentence):
            radar_chart(page, names, axes)


def test_radar_of_groups(page: BoardPage) -> None:
    chart = radar_chart(page, [HOSTILE])
    assert [axis.label for axis in chart.axes] == ["odd", "even", "=cmd"]


@pytest.fixture
def client(hub: Hub) -> Iterator[TestClient]:
    suite_page(hub, {"A": {"x": 80.0, "y": 60.0}, "B": {"x": 50.0, "y": 55.0}})
    with TestClient(create_app(hub)) as opened:
        yield opened


@pytest.mark.parametrize(
    "path",
    [
        "benchmarks/x/board",
        "benchmarks/x/board?form=csv",
        "benchmarks/x/board?form=parquet",
        "suites",
        "suites/all",
        "suites/all/board?sort=x&columns=average",
        "suites/all/board?form=csv",
        "benchmarks/x/history",
        "suites/all/radar?models=A&models=B&axes=x,y",
        "models?name=A",
        "benchmarks/x/radar?models=A&as-of=@1",
        "changes?after=1&limit=2",
        "benchmarks/x/board?as-of=@1&text=a",
    ],
)
def test_every_endpoint_answers(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    assert answer.content


@pytest.mark.parametrize(
    ("path", "code", "sentence"),
    [
        ("benchmarks/x/board?size=big", 422, "expected billions of parameters"),
        ("benchmarks/x/board?as-of=@77", 422, "no change of that number"),
        ("benchmarks/x/board?as-of=@99999999999999999", 422, "no change of that number"),
        ("benchmarks/x/board?sort=nothing", 422, "has a column nothing"),
        ("benchmarks/z/board", 404, "this hub has no benchmark z"),
        ("suites/z", 404, "this hub has no suite z"),
        ("suites/z/board", 404, "this hub has no suite z"),
        ("benchmarks/x/radar", 422, "models"),
        ("benchmarks/x/radar?models=Z", 422, "has no model Z"),
        ("suites/all/radar?models=A&as-of=never", 422, "as-of=never"),
        ("changes?after=-1", 422, "after"),
    ],
)
def test_endpoints_explain_mistakes(client: TestClient, path: str, code: int, sentence: str) -> None:
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == code
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/api/v1/benchmarks/x/board", "/feed.xml", "/benchmarks/x/feed.xml"])
def test_unchanged_boards_give_304(client: TestClient, hub: Hub, path: str) -> None:
    first = client.get(path)
    assert first.status_code == 200
    tag = first.headers["ETag"]
    again = client.get(path, headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    modified = first.headers.get("Last-Modified")
    if modified:
        assert client.get(path, headers={"If-Modified-Since": modified}).status_code == 304
        old = {"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
        assert client.get(path, headers=old).status_code == 200
        assert client.get(path, headers={"If-Modified-Since": "nonsense"}).status_code == 200
    with hub.database.writing() as session:
        board = session.scalars(select(HostedBenchmark).where(HostedBenchmark.name == "x")).one()
        publish(session, board, "New", accuracy(90.0))
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_suites_by_command(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    with hub.database.writing() as session:
        for name in ("x", "y"):
            add_board(session, name)
    (hub.folder / "hub.toml").write_text(f'database = "{hub.database.engine.url}"\n')
    folder = str(hub.folder)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["hub", "suite", folder, *arguments])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    flags = ("--members", "x=2,y:vanilla", "--scales", "y=0.1", "--title", "All of it")
    assert run("all", *flags) == (0, "all: 2 benchmarks\n")
    with hub.database.reading() as session:
        row = find_hosted_suite(session, "all")
        assert row is not None
        assert (row.title, row.members) == (
            "All of it",
            [
                {"benchmark": "x", "weight": 2.0, "scale": None, "metric": ""},
                {"benchmark": "y", "weight": 1.0, "scale": 0.1, "metric": "vanilla"},
            ],
        )
    for arguments, sentence in (
        (("all", "--members", "x"), "the hub has a suite called all already"),
        (("new", "--members", "x", "--replace"), "the hub has no suite called new"),
        (("new", "--members", "z"), "this hub has no benchmark z"),
        (("new", "--members", "x=much"), "'much' is no number"),
        (("new", "--members", "x", "--scales", "y=2"), "--scales names y"),
        (("new",), "needs either --members"),
        (("all", "--members", "x", "--delete"), "needs either --members"),
    ):
        code, text = run(*arguments)
        assert code == 2
        assert sentence in text
    assert run("all", "--members", "y", "--replace") == (0, "all: 1 benchmarks\n")
    assert run("all", "--delete") == (0, "all: deleted\n")
