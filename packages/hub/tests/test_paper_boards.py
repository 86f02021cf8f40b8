"""The boards of the papers, through the code of the hub's boards, from the numbers they print."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from board_rows import add_board, number, publish, sqlite_hub, summary
from paper_files import mmt_accuracies, paper_rows, paper_table
from test_seedbench_tables import SUBPARTS, WRONG_LEVELS

from snellen.benchmarks.abilities.mme.boards import parse_printed_scores
from snellen.benchmarks.abilities.mme.subtasks import AREAS, SUBTASKS, subtask_name
from snellen.benchmarks.abilities.mmt_bench.tasks import find_subtask
from snellen.data.tables.open_table import open_table
from snellen_hub.boards.columns import slug
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.suite_members import MemberColumn, NewSuite, create_suite
from snellen_hub.boards.tables import BoardPage, BoardTable
from snellen_hub.hub import Hub

ROUNDING = 0.0501


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    opened = sqlite_hub(tmp_path_factory.mktemp("papers"))
    yield opened
    opened.close()


def names(table: BoardTable) -> list[str]:
    return [row.model for row in table.rows]


def value(page: BoardPage, table: str, model: str, key: str = "score") -> float | None:
    found = page.table(table)
    assert found is not None
    row = next(row for row in found.rows if row.model == model)
    return row.cells[key].value if key in row.cells else None


@pytest.fixture(scope="module")
def mme(hub: Hub) -> BoardPage:
    parsed = parse_printed_scores(open_table(str(paper_table("mme_subtasks.csv"))))
    with hub.database.writing() as session:
        board = add_board(session, "mme", spec="mme")
        for model, scores in parsed.scores.items():
            labels = {name: number("score", score, unit="points", top=200.0) for name, score in scores.items()}
            total = sum(scores.values()) if len(scores) == 14 else None
            head = number("total", total, unit="points", top=2800.0)
            publish(session, board, model, summary(head, groups={"category": labels}))
        return read_tables(session, hub, board)


def spelled(model: str) -> str:
    """Figure 2 writes LLaMA-Adapter V2 where Tables 1 and 2 have LLaMA-AdapterV2."""
    return model.lower().replace(" ", "").replace("-", "")


def test_the_sixteen_boards_of_mme(mme: BoardPage) -> None:
    """159 of the 160 entries of Figure 2; the other is a sum that the paper rounded down."""
    assert mme.layout == "mme"
    assert [table.name for table in mme.tables[:3]] == ["total", "perception", "cognition"]
    assert len(mme.tables) == 17
    by_name = dict(zip((*AREAS, *SUBTASKS), mme.tables[1:], strict=True))
    wrong = []
    printed = paper_rows("mme_leaderboards.csv")
    assert len(printed) == 160
    for line in printed:
        name = line["board"]
        table = by_name[name.lower() if name.lower() in AREAS else subtask_name(name)]
        row = table.rows[int(line["rank"]) - 1]
        score = row.cells["score"].value
        assert score is not None
        tied = {spelled(other.model) for other in table.rows if abs((other.cells["score"].value or 0.0) - score) < 1e-9}
        if f"{score:.2f}" != line["score"] or spelled(line["model"]) not in tied:
            wrong.append((name, line["model"], line["score"], f"{score:.2f}"))
    assert wrong == [("Perception", "LLaVA", "1531.31", "1531.32")]


def test_equal_scores_share_a_rank(mme: BoardPage) -> None:
    count = mme.table("count")
    assert count is not None
    ranks = {row.model: row.rank for row in count.rows}
    same = [row.rank for row in count.rows if row.cells["score"].value == pytest.approx(151.6667)]
    assert len(same) > 1
    assert len(set(same)) == 1
    assert min(rank for rank in ranks.values() if rank) == 1


@pytest.fixture(scope="module")
def mmt(hub: Hub) -> BoardPage:
    cells: dict[str, dict[str, float]] = {}
    for row in mmt_accuracies():
        task = find_subtask(row["subtask"])
        assert task is not None
        cells.setdefault(row["model"], {})[task.name] = float(row["accuracy"])
    overall = {row["model"]: float(row["overall"]) for row in paper_rows("mmt_table2.csv")}
    with hub.database.writing() as session:
        board = add_board(session, "mmt", layout="mmt")
        for model, values in cells.items():
            labels = {name: number("accuracy", each) for name, each in values.items()}
            head = number("overall", overall[model])
            publish(session, board, model, summary(head, groups={"category": labels}))
        return read_tables(session, hub, board)


def test_table_2_of_mmt_bench(mmt: BoardPage) -> None:
    """All 1,024 meta-task values, both average ranks and Overall* of all 32 rows."""
    printed = paper_rows("mmt_table2.csv")
    assert len(printed) == 32
    metas = [
        name for name in printed[0] if name not in ("model", "overall", "avg_rank", "overall_noVR", "avg_rank_noVR")
    ]
    assert len(metas) == 32
    for row in printed:
        model = row["model"]
        for key, column in (
            ("average-rank", "avg_rank"),
            ("score", "overall"),
            ("without-recognition", "overall_noVR"),
            ("average-rank-without-recognition", "avg_rank_noVR"),
        ):
            assert value(mmt, "overall", model, key) == pytest.approx(float(row[column]), abs=ROUNDING), (model, key)
        for meta in metas:
            ours = value(mmt, "overall", model, meta.lower())
            assert ours is not None
            assert round(ours, 1) == float(row[meta])
    assert {table.section for table in mmt.tables} == {"Overall", "Meta-tasks"}
    assert len(mmt.tables) == 33


@pytest.fixture(scope="module")
def seed(hub: Hub) -> BoardPage:
    """Subparts of Table 3; levels and parts are left to the board."""
    with hub.database.writing() as session:
        board = add_board(session, "seed", spec="seedbench:version=H,level=L3")
        for row in paper_rows("seed_table3_subparts.csv"):
            subparts = {
                name: number(name, float(row[column]))
                for name, column in SUBPARTS.items()
                if row[column] not in ("", "-")
            }
            head = number("L2", None)
            publish(session, board, row["model"], summary(head, groups={"subpart": subparts}))
        return read_tables(session, hub, board)


def test_levels_of_seed_bench_h(seed: BoardPage) -> None:
    """Table 2 from the subparts of Table 3, but for the seven cells that the paper has wrong."""
    assert seed.layout == "seed"
    assert [table.name for table in seed.tables] == [
        "l1",
        "l2",
        "l3",
        "part-2",
        "part-3",
        *(slug(name) for name in SUBPARTS),
    ]
    tables = {"L1": "l1", "part2": "part-2", "L2": "l2", "part3": "part-3", "L3": "l3"}
    wrong = set()
    for row in paper_rows("seed_table2_levels.csv"):
        for column, name in tables.items():
            table = seed.table(name)
            assert table is not None
            on_board = row["model"] in names(table)
            if row[column] in ("", "-"):
                assert not on_board
            elif not on_board or abs((value(seed, name, row["model"]) or 0.0) - float(row[column])) > 0.1001:
                wrong.add((row["model"], column))
    # Rows without single-image numbers in Table 3 are on no level, in the paper neither.
    assert wrong == set(WRONG_LEVELS)
    l3 = seed.table("l3")
    assert l3 is not None
    assert set(names(l3)) == {"Emu", "NExT-GPT", "SEED-LLaMA"}
    assert "declares L3 or more, or declares nothing" in l3.notices[0]
    assert any(line.startswith("not here: ") for line in l3.notices)


@pytest.mark.parametrize("column", list(SUBPARTS.values()))
def test_ranks_of_subparts_of_seed_bench_h(seed: BoardPage, column: str) -> None:
    """A printed rank lies among those that equal printed values share."""
    name = next(name for name, one in SUBPARTS.items() if one == column)
    table = seed.table(slug(name))
    assert table is not None
    printed = {row["model"]: row for row in paper_rows("seed_table3_subparts.csv")}
    assert set(names(table)) == {model for model, row in printed.items() if row[column] not in ("", "-")}
    for row in table.rows:
        equal = sum(other.rank == row.rank for other in table.rows)
        assert row.rank is not None
        assert row.rank <= int(printed[row.model][f"{column}_rank"]) < row.rank + equal


SUITES = {
    "general": ("vlmevalkit_table2_general.csv", {"OCRBench_of_1000": 1000.0}, "param"),
    "reasoning": ("vlmevalkit_table3_reasoning.csv", {}, "param"),
    "video": ("vlmevalkit_table4_video.csv", {"MMBench-Video_of_3": 3.0}, "frames"),
}
TRUNCATED = {"Ovis2-34B": 76.5875}
"""Averages that the paper cuts off where it rounds the others."""


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("declared", [False, True], ids=["by the highest value", "by a scale"])
def test_averages_of_vlmevalkit(hub: Hub, name: str, declared: bool) -> None:
    """OCRBench counts /10 and MMBench-Video x100/3, whether the scores or the suite says so."""
    file, tops, last = SUITES[name]
    printed = paper_rows(file)
    columns = list(printed[0])[list(printed[0]).index("avg_score") + 1 :]
    assert last in printed[0]
    suffix = f"{name}-{int(declared)}"
    with hub.database.writing() as session:
        members = []
        for index, column in enumerate(columns):
            board = add_board(session, f"{suffix}-{index}")
            top = tops.get(column, 100.0)
            unit = "points" if top != 100.0 else "percent"
            for row in printed:
                cell = number("accuracy", float(row[column]), unit=unit, top=top)
                publish(session, board, row["model"], summary(cell))
            members.append(MemberColumn(board.name, scale=100.0 / top if declared else None))
        suite = create_suite(session, NewSuite(name=suffix, members=tuple(members)))
        page = read_tables(session, hub, suite)
    reach = 0.09 if name == "video" else ROUNDING
    for row in printed:
        wanted = TRUNCATED.get(row["model"], float(row["avg_score"]))
        assert value(page, "main", row["model"], "average") == pytest.approx(wanted, abs=reach)
    ranks = [row.rank for row in page.tables[0].rows]
    assert ranks == sorted(rank for rank in ranks if rank is not None)
    # The numbers themselves stay as their benchmark counts them.
    raw = next(iter(tops), None)
    if raw:
        key = f"{suffix}-{columns.index(raw)}"
        assert value(page, "main", printed[0]["model"], key) == float(printed[0][raw])
