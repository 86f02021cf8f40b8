"""`snellen hub import`: tables of anybody, runs, imports done twice, changed numbers, withdrawn
sources, boards without data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from snellen.api.opening import open_runs
from snellen.cli import main
from snellen.core.errors import DataError
from snellen.core.summary import Summary
from snellen_hub.accounts.access import create_account
from snellen_hub.config import HubConfig, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, AuditEntry, BoardChange, HostedBenchmark, Submission, SubmissionScore
from snellen_hub.hub import Hub, create_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.public_scores import PublicNumber
from snellen_hub.reported_numbers.importing import import_tables, withdraw_source
from snellen_hub.reported_numbers.other_numbers import both_numbers, read_other_numbers
from snellen_hub.reported_numbers.papers import read_paper
from snellen_hub.storage import Storage
from snellen_hub.web.app import create_app

QUESTIONS = 40
SOURCE = ["--facts", "source=A blog,url=https://blog.example/numbers"]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = create_hub(tmp_path / "hub")
    with opened.database.writing() as session:
        create_account(session, "olga", "owner", "a long password")
    assert main(["hub", "benchmark", str(opened.folder), "signs"]) == 0
    yield opened
    opened.close()


def run(hub: Hub, *arguments: str) -> int:
    return main(["hub", "import", str(hub.folder), *map(str, arguments)])


def table(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def rows(hub: Hub, name: str = "signs") -> dict[str, tuple[Submission, Summary]]:
    with hub.database.reading() as session:
        query = (
            select(Submission, SubmissionScore)
            .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
            .join(HostedBenchmark, Submission.benchmark_id == HostedBenchmark.id)
            .where(HostedBenchmark.name == name)
        )
        return {row.model: (row, msgspec.convert(score.summary, Summary)) for row, score in session.execute(query)}


def write_data(path: Path) -> Path:
    lines = ["index\tquestion\tA\tB\tanswer\tcategory"]
    lines += [f"{n}\tWhat is {n}?\tone\ttwo\t{'AB'[n % 2]}\todd" for n in range(QUESTIONS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_predictions(path: Path, right: int) -> Path:
    replies = ["AB"[(n + (n >= right)) % 2] for n in range(QUESTIONS)]
    path.write_text("".join(json.dumps({"index": n, "prediction": r}) + "\n" for n, r in enumerate(replies)))
    return path


CSV = """Model,Overall,Colour,Questions,Size,Weights
Alpha-7B,69.1%,71.5,400,7B,open
Beta,55,-,,,closed
"""


def test_a_table_of_anybody(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", CSV)
    asked = [
        file,
        "--benchmark",
        "signs",
        *SOURCE,
        "--facts",
        "table=Table 3",
        "--columns",
        "model=Model,score=Overall,category/colour=Colour,samples=Questions",
        "--columns",
        "parameters=Size",
        "--facts",
        "protocol=5-shot, the benchmark asks without examples",
    ]
    assert run(hub, *asked) == 0
    assert "signs: 2 added, 0 unchanged" in capsys.readouterr().out
    row, summary = rows(hub)["Alpha-7B"]
    assert (row.kind, row.status, row.visibility) == ("reported", "scored", "published")
    assert row.source == {"title": "A blog", "url": "https://blog.example/numbers", "table": "Table 3"}
    assert row.other_protocol == "5-shot, the benchmark asks without examples"
    assert row.facts == {"parameters": 7.0, "weights": "open"}
    assert (summary.headline.name, summary.headline.value, summary.headline.n) == ("accuracy", 69.1, 400)
    interval = summary.headline.interval
    assert interval is not None
    assert (round(interval.low, 1), round(interval.high, 1)) == (64.4, 73.4)
    colour = summary.groups["category"]["colour"]
    assert (colour.value, colour.n, colour.interval) == (71.5, 0, None)
    beta = rows(hub)["Beta"][1]
    assert (beta.headline.value, beta.headline.n, beta.headline.interval) == (55.0, 0, None)
    assert beta.groups["category"]["colour"].value is None


@pytest.mark.parametrize("suffix", ["tsv", "json", "jsonl", "parquet"])
def test_other_formats(hub: Hub, tmp_path: Path, suffix: str) -> None:
    data = [{"model": "Alpha", "score": 61.5}, {"model": "Beta", "score": 50.0}]
    path = tmp_path / f"n.{suffix}"
    if suffix == "tsv":
        path.write_text("model\tscore\nAlpha\t61.5\nBeta\t50.0\n")
    elif suffix == "json":
        path.write_text(json.dumps(data))
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in data))
    else:
        pyarrow = import_module("pyarrow")
        import_module("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(data), path)
    assert run(hub, str(path), "--benchmark", "signs", *SOURCE) == 0
    assert {model: one.headline.value for model, (_, one) in rows(hub).items()} == {"Alpha": 61.5, "Beta": 50.0}


def test_the_same_import_twice_changes_nothing(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score\nAlpha,61.5\n")
    for _ in range(2):
        assert run(hub, file, "--benchmark", "signs", *SOURCE) == 0
    assert "signs: 0 added, 1 unchanged" in capsys.readouterr().out
    with hub.database.reading() as session:
        assert session.scalar(select(func.count(Submission.id))) == 1
        assert session.scalar(select(func.count(BoardChange.id))) == 1


def test_changed_numbers_stay_in_the_history(hub: Hub, tmp_path: Path, capsys) -> None:
    columns = ["--columns", "score=score,category/odd=odd"]
    for text in ("model,score,odd\nAlpha,61.5,30\n", "model,score,odd\nAlpha,62.5,31\n"):
        file = table(tmp_path / "n.csv", text)
        assert run(hub, file, "--benchmark", "signs", *SOURCE, *columns) == 0
    printed = capsys.readouterr().out
    assert "signs: 0 added, 1 changed, 0 unchanged" in printed
    assert "Alpha, category odd: 30 became 31" in printed
    assert rows(hub)["Alpha"][1].headline.value == 62.5
    with hub.database.reading() as session:
        changes = session.scalars(select(BoardChange).order_by(BoardChange.id)).all()
    assert [change.kind for change in changes] == ["imported", "imported"]
    assert (changes[1].before["value"], changes[1].after["value"]) == (61.5, 62.5)
    assert changes[1].before["numbers"] == {"accuracy": 61.5, "category odd": 30.0}


def test_a_dry_run_writes_nothing(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score\nAlpha,61.5\n")
    assert run(hub, file, "--benchmark", "signs", *SOURCE, "--dry-run") == 0
    assert run(hub, "paper:mme", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "signs: 1 added" in printed
    assert "mme: 30 added, 0 unchanged (a new board)" in printed
    assert rows(hub) == {}
    with hub.database.reading() as session:
        assert session.scalars(select(HostedBenchmark.name)).all() == ["signs"]
        assert session.scalars(select(AuditEntry.action)).all() == ["benchmark"]


def test_a_source_is_withdrawn_and_comes_back(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score\nAlpha,61.5\n")
    assert run(hub, file, "--benchmark", "signs", *SOURCE) == 0
    assert run(hub, file, "--benchmark", "signs", "--facts", "source=A book") == 0
    assert run(hub, "--withdraw", "A ") == 2
    assert "'A ' may be: A blog; A book; give one whole" in capsys.readouterr().err
    assert run(hub, "--withdraw", "A blog", "--dry-run") == 0
    assert run(hub, "--withdraw", "A blog") == 0
    assert "1 rows are withdrawn" in capsys.readouterr().out
    with hub.database.reading() as session:
        states = session.scalars(select(Submission.visibility).order_by(Submission.id)).all()
        last = session.scalars(select(BoardChange).order_by(BoardChange.id.desc())).first()
    assert states == ["withdrawn", "published"]
    assert last is not None
    assert (last.kind, last.before["value"], last.after) == ("withdrawn", 61.5, {})
    assert run(hub, "--withdraw", "A blog") == 2
    assert "the sources here are: A book" in capsys.readouterr().err
    assert run(hub, file, "--benchmark", "signs", *SOURCE) == 0
    assert "signs: 0 added, 1 published again, 0 unchanged" in capsys.readouterr().out


MISTAKES = {
    "no such column": ("model,value\na,1\n", [], "no column 'score'; its columns are model, value"),
    "not a number": ("model,score\na,high\n", [], "row 1, column score: 'high' is not a number"),
    "too high": ("model,score\na,101\n", [], "column score: 101 is out of range; expected 0"),
    "negative": ("model,score\na,-1\n", [], "row 1, column score: -1 is out of range"),
    "infinite": ("model,score\na,inf\n", [], "'inf' is not a number"),
    "twice": ("model,score\na,1\nb,2\na ,3\n", [], "row 3: the model 'a' stands in row 1 already"),
    "no name": ("model,score\n,1\n", [], "row 1: the model has no name"),
    "control character": ("model,score\na\x07b,1\n", [], "expected printable characters"),
    "long name": (f"model,score\n{'a' * 201},1\n", [], "has 201 characters; expected at most 200"),
    "no rows": ("model,score\n", [], "has a header but no rows"),
    "samples": ("model,score,n\na,1,many\n", ["--columns", "samples=n"], "'many' is no number"),
    "parameters": ("model,score,parameters\na,1,big\n", [], "parameters are 'BIG'"),
    "link": ("model,score,link\na,1,javascript:alert(1)\n", [], "link"),
    "fact": ("model,score\na,1\n", ["--columns", "notes=Note"], "has no column 'Note'"),
    "group first": ("model,score\na,1\n", ["--columns", "g/x=score"], "is the headline"),
    "columns": ("model,score\na,1\n", ["--columns", "g/=score"], "expected score=COLUMN"),
    "address": ("model,score\na,1\n", ["--facts", "url=javascript:alert(1)"], "expected an ad"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_table_give_one_sentence(hub: Hub, tmp_path: Path, capsys, name: str) -> None:
    text, options, sentence = MISTAKES[name]
    file = table(tmp_path / "n.csv", text)
    capsys.readouterr()
    assert run(hub, file, "--benchmark", "signs", "--facts", "source=A blog", *options) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert rows(hub) == {}


def test_mistakes_in_a_command_give_one_sentence(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score\na,1\n")
    for arguments, sentence in (
        ([], "nothing to import: give a SOURCE, such as a table or paper:NAME"),
        ([file], "give --benchmark NAME"),
        ([file, "--benchmark", "signs"], "give --facts source=TITLE"),
        ([file, "--benchmark", "sings", *SOURCE], "no benchmark called sings; make a board"),
        ([str(tmp_path / "m.csv"), "--benchmark", "signs"], "there is no such file or folder"),
        ([str(tmp_path / "hub"), "--benchmark", "signs"], "is no run folder, and holds none"),
        (["paper:mnt"], "unknown paper 'mnt'; did you mean mmt?"),
        (["paper:mme", "--withdraw", "x"], "give no SOURCE with it"),
        ([file, "--benchmark", "signs", *SOURCE, "--owner", "ann"], "no owner called ann"),
    ):
        capsys.readouterr()
        assert run(hub, *arguments) == 2
        assert sentence in capsys.readouterr().err


def test_scores_that_look_like_shares_are_noted(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score,n\nAlpha,0.615,200\n")
    asked = [file, "--benchmark", "signs", *SOURCE, "--columns", "samples=n"]
    assert run(hub, *asked, "--dry-run") == 0
    assert "every score is at most 1" in capsys.readouterr().out
    assert run(hub, *asked, "--facts", "highest=1") == 0
    assert "every score is at most 1" not in capsys.readouterr().out
    headline = rows(hub)["Alpha"][1].headline
    assert (headline.value, headline.n, headline.unit) == (61.5, 200, "percent")


def test_nothing_can_be_submitted_to_a_board_without_data(hub: Hub, tmp_path: Path, capsys) -> None:
    with hub.database.writing() as session:
        benchmark = session.scalars(select(HostedBenchmark)).one()
        account = session.scalars(select(Account)).one()
        new = NewSubmission(model="m", file_name="p.jsonl", content=b"{}")
        with pytest.raises(DataError, match="signs has no data on this hub, only reported numbers"):
            take_submission(session, hub.storage, benchmark, account.id, new, SubmissionLimits())
    assert run(hub, str(write_predictions(tmp_path / "p.jsonl", 30)), "--benchmark", "signs", "--name", "m") == 2
    assert "nothing can be submitted until its owner adds the data" in capsys.readouterr().err


def test_data_added_later_show_reported_and_scored_rows(hub: Hub, tmp_path: Path, capsys) -> None:
    file = table(tmp_path / "n.csv", "model,score\nAlpha,76\n")
    assert run(hub, file, "--benchmark", "signs", *SOURCE) == 0
    data = str(write_data(tmp_path / "signs.tsv"))
    folder = str(hub.folder)
    assert main(["hub", "benchmark", folder, "signs", "--data", data, "--replace"]) == 0
    predictions = str(write_predictions(tmp_path / "p.jsonl", 30))
    asked = [predictions, "--benchmark", "signs", "--name", "Alpha"]
    assert run(hub, *asked, "--publish") == 0
    assert run(hub, *asked, "--publish") == 0
    printed = capsys.readouterr().out
    assert "waits to be scored" in printed
    assert "is there already" in printed
    lines = Path(predictions).read_text().splitlines(keepends=True)
    (tmp_path / "few.jsonl").write_text("".join(lines[:20]))
    few = [str(tmp_path / "few.jsonl"), "--benchmark", "signs", "--name", "Few", "--dry-run"]
    assert run(hub, *few) == 2
    assert "questions have no reply" in capsys.readouterr().err
    assert run(hub, *few, "--allow-missing") == 0
    with hub.database.reading() as session:
        submissions = session.scalars(select(Submission).order_by(Submission.id)).all()
        scores = {score.submission_id: score.headline for score in session.scalars(select(SubmissionScore))}
    found = [(row.kind, row.visibility, scores[row.id]) for row in submissions]
    assert found == [("reported", "published", 76.0), ("submitted", "published", 75.0)]
    assert submissions[1].other_protocol == ""
    with TestClient(create_app(hub)) as client:
        board = client.get("/api/v1/benchmarks/signs/board").json()
        assert len(board["rows"] if "rows" in board else board["tables"][0]["rows"]) == 2
        one, other = (client.get(f"/api/v1/submissions/{row.public_id}").json() for row in submissions)
    assert (one["evidence"], other["evidence"]) == ("reported", "submitted")
    assert one["source"]["title"] == "A blog"
    assert [each["headline"]["value"] for each in one["other_numbers"]] == [75.0]
    assert [each["headline"]["value"] for each in other["other_numbers"]] == [76.0]
    with hub.database.reading() as session:
        (reported,) = read_other_numbers(session, submissions[1])
    own = msgspec.convert(other["score"]["headline"], PublicNumber)
    assert both_numbers(own, submissions[1], reported).text() == (
        "Reported 76.0 in A blog; scored here 75.0 (59.8–85.8)."
    )
    with TestClient(create_app(hub), headers={"Accept": "text/html"}) as browser:
        for row in submissions:
            page = browser.get(f"/submissions/{row.public_id}").text
            assert "scored here 75.0 (59.8–85.8)." in page


def test_the_first_data_of_a_board_are_opened_as_the_board_says(hub: Hub, tmp_path: Path, capsys) -> None:
    """An imported board names its benchmark of Snellen, so that data in its form can be added."""
    assert run(hub, "paper:mmbench") == 0
    data = tmp_path / "MMBench_TEST_EN_V11.tsv"
    lines = ["index\tquestion\tA\tB\tanswer\tcategory\tl2-category\tsplit"]
    lines += [f"{n}\tWhat?\tone\ttwo\tA\tocr\tcoarse_perception\ttest" for n in range(4)]
    data.write_text("\n".join(lines) + "\n")
    name = "mmbench-test-en"
    assert main(["hub", "benchmark", str(hub.folder), name, "--data", str(data), "--replace"]) == 0
    with hub.database.reading() as session:
        query = select(HostedBenchmark).where(HostedBenchmark.name == name)
        row = session.scalars(query).one()
    assert (row.spec, row.rows) == ("mmbench:split=test,lang=en,version=1.1", 4)
    assert len(rows(hub, name)) == 31


def test_a_folder_of_runs_is_scored_again_from_its_replies(hub: Hub, tmp_path: Path, capsys) -> None:
    data = str(write_data(tmp_path / "signs.tsv"))
    assert main(["hub", "benchmark", str(hub.folder), "drawn", "--data", data]) == 0
    results = tmp_path / "results"
    for seed in ("1", "2"):
        model = f"random:seed={seed}"
        asked = ["-m", model, "-b", data, "--out", str(results), "--no-html", "-q"]
        assert main(["run", *asked]) == 0
    # The numbers that a run states have no effect: its replies are scored anew.
    stated = {each.model: each.score for each in open_runs(results)}
    for file in results.rglob("report.json"):
        text, count = re.subn(r'"value": *[0-9.]+', '"value": 99.0', file.read_text())
        assert count
        file.write_text(text)
    capsys.readouterr()
    assert run(hub, str(results), "--benchmark", "drawn", "--publish") == 0
    assert "2 published" in capsys.readouterr().out
    held = rows(hub, "drawn")
    assert {model: one.headline.value for model, (_, one) in held.items()} == stated
    assert {(row.kind, row.visibility) for row, _ in held.values()} == {("verified", "published")}


def test_reported_numbers_do_not_count_for_the_limits(hub: Hub, tmp_path: Path) -> None:
    many = "".join(f"m{n},{n}\n" for n in range(9))
    file = table(tmp_path / "n.csv", f"model,score\n{many}")
    assert run(hub, file, "--benchmark", "signs", *SOURCE) == 0
    data = str(write_data(tmp_path / "signs.tsv"))
    assert main(["hub", "benchmark", str(hub.folder), "signs", "--data", data, "--replace"]) == 0
    with hub.database.writing() as session:
        benchmark = session.scalars(select(HostedBenchmark)).one()
        account = session.scalars(select(Account)).one()
        content = write_predictions(tmp_path / "p.jsonl", 30).read_bytes()
        new = NewSubmission(model="m", file_name="p.jsonl", content=content)
        take_submission(session, hub.storage, benchmark, account.id, new, SubmissionLimits(per_day=1))


def test_importing_on_every_database(database: Database, tmp_path: Path) -> None:
    opened = Hub(tmp_path, HubConfig(), database, Storage(str(tmp_path / "storage")))
    with database.writing() as session:
        owner = create_account(session, "olga", "owner", "a long password").id
    outcomes = []
    for _ in range(2):
        with database.writing() as session:
            done = import_tables(session, opened, read_paper("vlmevalkit"), owner)
            outcomes.append(sum(board.rows.get("unchanged", 0) for board in done))
    assert outcomes == [0, 192]
    with database.writing() as session:
        assert withdraw_source(session, "VLMEvalKit") == 192
        assert session.scalar(select(func.count(BoardChange.id))) == 2 * 192 + 3


@pytest.mark.parametrize("paper", ["mme", "mmbench", "mmt", "seed", "vlmevalkit"])
def test_imported_boards_are_described_in_chinese(hub: Hub, paper: str, capsys) -> None:
    assert run(hub, f"paper:{paper}") == 0
    with hub.database.reading() as session:
        boards = [one for one in session.scalars(select(HostedBenchmark)) if one.description]
    assert boards
    english = re.compile("[a-z]{3}")
    headers = {"Accept": "text/html", "Accept-Language": "zh-CN"}
    with TestClient(create_app(hub), headers=headers) as client:
        for board in boards:
            page = client.get(f"/benchmarks/{board.name}").text
            (lead,) = re.findall(r'<p class="lead">([^<]+)</p>', page)
            assert re.search("[\u4e00-\u9fff]", lead), lead
            assert lead != board.description
            links = re.findall(r'<ul class="page-links">.*?</ul>', page, re.DOTALL)
            labels = re.findall(r">([^<>]+)</a>", links[0])
            assert labels
            assert not [label for label in labels if english.search(label)]
