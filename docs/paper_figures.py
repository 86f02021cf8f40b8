"""The five papers' tables and figures, recomputed by Snellen next to the printed numbers.

    python docs/paper_figures.py [--check]   draws docs/images/papers
    python docs/generate.py                  writes a section of docs/papers.md (see docs/papers.py)

Every number is recomputed from what the papers print: averages from the cells they are averages
of, ranks and boards from scores. The tables are those that a hub imports
(packages/hub/src/snellen_hub/reported_numbers/tables) and those of the tests (tests/paper_tables),
each with its source. With `--check` nothing is written; the exit code is 1 if the names and numbers
in an image differ from what would be drawn.
"""

from __future__ import annotations

import csv
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure
from page_cells import cell

from snellen.benchmarks.abilities.mme.boards import build_boards, parse_printed_scores
from snellen.benchmarks.abilities.mme.subtasks import AREAS, subtask_name
from snellen.benchmarks.abilities.mmt_bench.tasks import by_meta_task, find_subtask
from snellen.benchmarks.abilities.seedbench.levels import (
    dimension_by_name,
    dimensions,
    group_by_level,
    group_by_part,
    group_by_subpart,
)
from snellen.benchmarks.declaration.registry import find_suite
from snellen.data.tables.open_table import open_table
from snellen.report.plots.figure import to_svg
from snellen.report.plots.series import Value, dot_plot
from snellen.scoring.grouped import mean_of_all
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION, average_meta_ranks
from snellen.scoring.suites import as_percent, suite_rows, weighted_mean
from snellen.taskmap.agreement import cluster_agreement
from snellen.taskmap.scores import published_clusters, scores_from_cells

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
IMAGES = FOLDER / "images" / "papers"
PACKAGE_TABLES = ROOT / "packages/hub/src/snellen_hub/reported_numbers/tables"
TEST_TABLES = ROOT / "tests/paper_tables"
ROUNDING = 0.0501
"""What a number of one decimal may differ by."""


class Number(NamedTuple):
    """A printed number and the one that Snellen computes from other numbers of the paper."""

    row: str
    column: str
    printed: float
    ours: float


class PaperTable(NamedTuple):
    """The recomputed numbers of one table."""

    title: str
    how: str
    """What they are computed from."""
    test: str
    """The test that holds them."""
    numbers: tuple[Number, ...]
    digits: int = 1
    reach: float = ROUNDING
    """How far a number may be off by rounding."""
    shown: frozenset[str] = frozenset()
    """The columns that the page prints; empty: all, and none if `listed` is false."""
    listed: bool = True

    def is_off(self, number: Number) -> bool:
        """Whether a number differs from the printed one by more than rounding."""
        return abs(number.printed - number.ours) > self.reach

    def differing(self) -> list[Number]:
        return [one for one in self.numbers if self.is_off(one)]


def _rows(name: str) -> list[dict[str, str]]:
    path = PACKAGE_TABLES / name
    path = path if path.is_file() else TEST_TABLES / name
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _number(text: str) -> float | None:
    return None if text.strip() in ("", "-") else float(text)


_SUITES = {
    "openvlm-core": ("vlmevalkit_table2_general.csv", {"MMBench v1.1": "MMBenchV1.1", "OCRBench": "OCRBench_of_1000"}),
    "openvlm-reasoning": ("vlmevalkit_table3_reasoning.csv", {}),
    "openvlm-video": (
        "vlmevalkit_table4_video.csv",
        {"Video-MME w/o subs": "Video-MME_wo_subs", "MMBench-Video": "MMBench-Video_of_3"},
    ),
}


@cache
def vlmevalkit() -> tuple[PaperTable, ...]:
    """Tables 2 to 4: the average of each board over its members."""
    found = []
    for number, (suite_name, (file, renamed)) in enumerate(_SUITES.items(), 2):
        suite = find_suite(suite_name)
        rows = _rows(file)
        scores = {
            row["model"]: {
                member.name: as_percent(float(row[renamed.get(member.name, member.name)]), member.top)
                for member in suite.members
            }
            for row in rows
        }
        ours = {row.model: row for row in suite_rows([one.name for one in suite.members], scores)}
        numbers = [
            Number(row["model"], "average", float(row["avg_score"]), average_of)
            for row in rows
            if (average_of := ours[row["model"]].average) is not None
        ]
        # A member out of 3 is printed with two decimals: a mean of five is known to 0.05 + 0.033.
        reach = 0.09 if suite_name == "openvlm-video" else ROUNDING
        found.append(
            PaperTable(
                f"Table {number}, {suite.title}",
                f"the printed members, `snellen leaderboard --suite {suite_name}`",
                "tests/benchmarks/test_suites.py::test_averages_of_the_paper",
                tuple(numbers),
                reach=reach,
            )
        )
    return tuple(found)


_MMBENCH = {
    "Table 3": ("mmbench_table3_test_l2.csv", "n_test_inferred"),
    "Table 10": ("mmbench_table10_dev_l2.csv", "n_dev_inferred"),
    "Table 11": ("mmbench_table11_test_l2.csv", "n_test_inferred"),
    "Table 12": ("mmbench_table12_cn_dev_l2.csv", "n_dev_inferred"),
    "Table 13": ("mmbench_table13_cn_test_l2.csv", "n_test_inferred"),
}


@cache
def mmbench() -> tuple[PaperTable, ...]:
    """Tables 3 and 10 to 13: the overall score from the six abilities of level 2."""
    sizes = _rows("mmbench_split_sizes_inferred.csv")
    numbers = []
    for title, (file, column) in _MMBENCH.items():
        weights = {row["L2_abbr"]: float(row[column]) for row in sizes if row["L2_abbr"] != "ALL"}
        for row in _rows(file):
            # A percentage of so many questions can only mean one whole number of right answers.
            exact = {name: 100 * round(float(row[name]) * size / 100) / size for name, size in weights.items()}
            mean = weighted_mean(exact, weights)
            if row["overall"] and mean is not None:
                numbers.append(Number(row["model"], title, float(row["overall"]), mean))
    table = PaperTable(
        "Tables 3 and 10 to 13, overall",
        "the right answers that the printed percentage of each ability of level 2 means",
        "tests/benchmarks/test_mmbench_tables.py::test_every_overall_score_is_the_mean_over_questions",
        tuple(numbers),
        shown=frozenset({"Table 11", "Table 13"}),
    )
    return (table,)


@cache
def mme() -> tuple[PaperTable, ...]:
    """Figure 2: the sixteen boards from Tables 1 and 2."""
    scores = parse_printed_scores(open_table(str(PACKAGE_TABLES / "mme_subtasks.csv"))).scores
    boards = {board.name: board for board in build_boards(scores)}
    numbers = []
    for row in _rows("mme_leaderboards.csv"):
        area = row["board"].lower()
        board = boards[area if area in AREAS else subtask_name(row["board"])]
        ours = board.places[int(row["rank"]) - 1].score
        numbers.append(Number(f"{row['rank']}. {row['model']}", row["board"], float(row["score"]), ours))
    table = PaperTable(
        "Figure 2, sixteen boards of ten",
        "the counts behind the accuracies of Tables 1 and 2, `snellen leaderboard`",
        "tests/benchmarks/test_mme_boards.py::test_figure_2_from_tables_1_and_2",
        tuple(numbers),
        digits=2,
        reach=0.0051,
        shown=frozenset({"Perception", "Cognition"}),
    )
    return (table,)


_SUBTASK_COLUMNS = ("subtask", "table", "column")


@cache
def mmt_bench() -> tuple[PaperTable, ...]:
    """Table 2 from the 162 subtasks, and Table 4 from the same."""
    accuracies: dict[str, dict[str, float]] = {}
    for row in _rows("mmt_subtask_scores.csv"):
        task = find_subtask(row["subtask"])
        assert task is not None, row["subtask"]
        for model, accuracy in row.items():
            if model not in _SUBTASK_COLUMNS:
                accuracies.setdefault(model, {})[task.name] = float(accuracy)
    printed = {row["model"]: row for row in _rows("mmt_table2.csv")}
    return (*_mmt_table_2(accuracies, printed), *_mmt_table_4(accuracies, printed))


def _mmt_table_2(
    accuracies: Mapping[str, Mapping[str, float]], printed: Mapping[str, Mapping[str, str]]
) -> Iterator[PaperTable]:
    metas = by_meta_task()
    others = [meta for meta in metas if meta != VISUAL_RECOGNITION]
    means = {model: {meta: _mean(row, names) for meta, names in metas.items()} for model, row in accuracies.items()}
    ranks = average_meta_ranks(means, list(metas))
    ranks_of_others = average_meta_ranks(means, others)
    every_task = [name for names in metas.values() for name in names]
    other_tasks = [name for meta in others for name in metas[meta]]
    numbers, cells = [], []
    for model, row in accuracies.items():
        columns = {
            "Overall": ("overall", _mean(row, every_task)),
            "rank": ("avg_rank", ranks[model]),
            "Overall*": ("overall_noVR", _mean(row, other_tasks)),
            "rank*": ("avg_rank_noVR", ranks_of_others[model]),
        }
        for column, (name, ours) in columns.items():
            numbers.append(Number(model, column, float(printed[model][name]), ours))
        cells += [Number(model, meta, float(printed[model][meta]), mean) for meta, mean in means[model].items()]
    how = "the subtasks of Tables A18 to A36: plain means, and mean ranks over meta-tasks"
    test = "tests/scoring/test_mmt.py::"
    yield PaperTable(
        "Table 2, Overall and average ranks",
        f"{how}, by the formulas of `snellen export --to mmt-table`, which takes runs; * without visual recognition",
        f"{test}test_overall_without_recognition_and_both_ranks_of_table_2",
        tuple(numbers),
    )
    yield PaperTable(
        "Table 2, the 32 meta-tasks",
        "the same, plain means over the subtasks",
        f"{test}test_every_meta_task_of_table_2",
        tuple(cells),
        listed=False,
    )


def _mean(row: Mapping[str, float], names: Sequence[str]) -> float:
    mean = mean_of_all(row, names)
    assert mean is not None
    return mean


_LATER = {
    "InternVL-Chat-v1.2-34B",
    "Qwen-VL-Plus",
    "GPT-4V",
    "LLaVA-NEXT-34B",
    "Yi-VL-34B",
    "DeepSeek-VL-7B",
    "Yi-VL-6B",
    "LLaVA-NEXT-13B",
    "Claude3V-Haiku",
    "LLaVA-NEXT-7B",
    "Frequency Guess",
    "Random Guess",
}
"""Rows of Table 2 that Table 4 does not have: models that came later, and guesses."""


def _mmt_table_4(
    accuracies: Mapping[str, Mapping[str, float]], printed: Mapping[str, Mapping[str, str]]
) -> Iterator[PaperTable]:
    scores = scores_from_cells(
        {
            (model, task): value
            for model, row in accuracies.items()
            if model not in _LATER
            for task, value in row.items()
        }
    )
    overall = {model: float(printed[model]["overall"]) for model in scores.models}
    found = cluster_agreement(scores, published_clusters(scores.tasks), overall)
    ours = {cluster.name: cluster for cluster in found}
    rows = [(f"cluster {row['cluster']}", row, ours[row["cluster"]]) for row in _rows("mmt_table4_clusters.csv")]
    test = "tests/analysis/test_taskmap_published.py::test_table_4"
    yield PaperTable(
        "Table 4, accuracy of the clusters",
        "the subtasks of each cluster and 20 models, `snellen taskmap --scores`",
        test,
        tuple(Number(name, "accuracy", float(row["acc"]), one.accuracy) for name, row, one in rows),
    )
    yield PaperTable(
        "Table 4, Kendall's tau of the clusters",
        "the same; within 0.012, since the printed scores are rounded",
        test,
        tuple(
            Number(name, "tau", float(row["kendall_tau"]), one.tau) for name, row, one in rows if one.tau is not None
        ),
        digits=2,
        reach=0.0125,
    )


_SUBPARTS = {
    "Single-Image & Text Comprehension": "single_image",
    "Multiple-Images & Text Comprehension": "multi_images",
    "Video & Text Comprehension": "videos",
    "Interleaved Image & Text Comprehension": "interleaved",
    "Few-shot Image Understanding": "few_shot",
    "Image Generation": "image_gen",
    "Image & Text Generation": "image_text_gen",
}
_LEVELS = ("L1", "part2", "L2", "part3", "L3")


def _numbers_of_subparts(subparts: Mapping[str, Mapping[str, str]]) -> Iterator[Number]:
    """Each subpart of Table 3, by model, beside the mean of its dimensions in Tables 5 and 6."""
    for file in ("seed_table5_multi_video.csv", "seed_table6_interleaved_generation.csv"):
        for row in _rows(file):
            cells = {name: _number(row[name]) for name in row if dimension_by_name(name)}
            for group in group_by_subpart([one for one in dimensions() if one.name in cells]):
                column = _SUBPARTS[group.name]
                yield from _pair(
                    row["model"],
                    column.replace("_", " "),
                    subparts[row["model"]][column],
                    mean_of_all(cells, group.members),
                )


@cache
def seed_bench() -> tuple[PaperTable, ...]:
    """Table 2 from the subparts of Table 3, and Table 3 from the dimensions of Tables 5 and 6."""
    subparts = {row["model"]: row for row in _rows("seed_table3_subparts.csv")}
    levels = {row["model"]: row for row in _rows("seed_table2_levels.csv")}
    groups = {group.name: group for group in group_by_level(dimensions())}
    groups |= {part.name.replace("-", ""): part for part in group_by_part(dimensions())}
    of_levels = []
    for model, row in subparts.items():
        cells = {one.name: _number(row[_SUBPARTS[one.subpart]]) for one in dimensions()}
        for level in _LEVELS:
            of_levels += _pair(model, level, levels[model][level], mean_of_all(cells, groups[level].members))
    test = "tests/benchmarks/test_seedbench_tables.py::"
    return (
        PaperTable(
            "Table 2, levels and parts",
            "the printed subparts of Table 3, each weighing as many dimensions as it has, "
            "by the formulas of `snellen export --to seed-table`, which takes runs",
            f"{test}test_levels_of_table_2",
            tuple(of_levels),
            reach=0.1 + 1e-9,
        ),
        PaperTable(
            "Table 3, subparts",
            "the dimensions of Tables 5 and 6, plain means; Table 4 cannot be read reliably",
            f"{test}test_subparts_of_table_3",
            tuple(_numbers_of_subparts(subparts)),
            reach=0.1 + 1e-9,
        ),
    )


def _pair(model: str, column: str, printed: str, ours: float | None) -> Iterator[Number]:
    value = _number(printed)
    if value is not None and ours is not None:
        yield Number(model, column, value, ours)


class Paper(NamedTuple):
    """A paper: what is recomputed, the image of it, and figures of the gallery in docs/analyses.md."""

    name: str
    source: str
    tables: Callable[[], tuple[PaperTable, ...]]
    image: str
    about: str
    """What the image shows."""
    figures: tuple[tuple[str, str], ...] = ()
    """Further images and what they show."""


PAPERS = (
    Paper(
        "VLMEvalKit",
        "arXiv:2407.11691",
        vlmevalkit,
        "vlmevalkit-averages.svg",
        "Averages of the three boards, printed and recomputed",
    ),
    Paper(
        "MMBench",
        "arXiv:2307.06281",
        mmbench,
        "mmbench-overall.svg",
        "Overall scores of Table 11, printed and recomputed",
        (
            ("gallery/mmbench-fig7.svg", "English and Chinese (Figure 7)"),
            ("gallery/mmbench-fig9.svg", "Proprietary models beside an open one (Figure 9)"),
        ),
    ),
    Paper(
        "MME",
        "arXiv:2306.13394",
        mme,
        "mme-boards.svg",
        "The boards of perception and cognition, printed and recomputed",
        (
            ("gallery/mme-fig2.svg", "Sixteen leaderboards (Figure 2)"),
            ("gallery/mme-fig3.svg", "Strong and weak subtasks (Figure 3)"),
        ),
    ),
    Paper(
        "MMT-Bench",
        "arXiv:2404.16006",
        mmt_bench,
        "mmt-overall.svg",
        "Overall without visual recognition of Table 2, printed and recomputed",
        (
            ("gallery/mmt-fig4.svg", "Why answers are wrong (Figure 4)"),
            ("gallery/mmt-figa3.svg", "By type of image (Figure A3)"),
            ("gallery/mmt-figa4.svg", "By capability (Figure A4)"),
        ),
    ),
    Paper(
        "SEED-Bench-H",
        "Li, Ge, Ge, Shan",
        seed_bench,
        "seed-levels.svg",
        "Level 1 of Table 2, printed and recomputed",
        (("gallery/seed-fig10.svg", "Ranks by dimension, grey where unsupported (Figure 10)"),),
    ),
)


def _two_series(title: str, numbers: Sequence[Number], top: float = 100.0) -> Figure:
    """The printed and the recomputed number of each row."""
    series = {
        "printed": {one.row: Value(one.printed) for one in numbers},
        "recomputed by Snellen": {one.row: Value(one.ours) for one in numbers},
    }
    return dot_plot(title, series, top=top, connect=False, label="points")


def _of(table: PaperTable, column: str) -> list[Number]:
    return [one for one in table.numbers if one.column == column]


DRAWINGS: Mapping[str, Callable[[], Figure]] = {
    "vlmevalkit-averages.svg": lambda: _two_series(
        "VLMEvalKit, Tables 2 to 4: averages",
        [
            one._replace(row=f"{one.row} ({board})")
            for board, table in zip(("general", "reasoning", "video"), vlmevalkit(), strict=True)
            for one in table.numbers
        ],
    ),
    "mmbench-overall.svg": lambda: _two_series("MMBench, Table 11: overall", _of(mmbench()[0], "Table 11")),
    "mme-boards.svg": lambda: _two_series(
        "MME, Figure 2: perception and cognition",
        [
            one._replace(row=f"{one.column.lower()} {one.row}")
            for area in ("Perception", "Cognition")
            for one in _of(mme()[0], area)
        ],
        top=2000.0,
    ),
    "mmt-overall.svg": lambda: _two_series("MMT-Bench, Table 2: Overall*", _of(mmt_bench()[0], "Overall*")),
    "seed-levels.svg": lambda: _two_series("SEED-Bench-H, Table 2: L1", _of(seed_bench()[0], "L1")),
}


def section() -> str:
    """The section of docs/papers.md."""
    lines = [
        "## Their tables and figures",
        "",
        "The tables and figures of the five papers as Snellen computes and draws them, next to "
        "the printed numbers. Nothing here was measured anew: averages, ranks and boards are "
        "recomputed from the cells that the papers print, by the code that scores runs. A number "
        "in bold differs from the printed one by more than rounding; why is said under [where they "
        "contradict themselves](#where-they-contradict-themselves). Numbers of models that were run stand under "
        "[numbers reproduced](reproduction.md).",
        "",
        "| paper | what | numbers | equal |",
        "| --- | --- | ---: | ---: |",
    ]
    for paper in PAPERS:
        for table in paper.tables():
            count, off = len(table.numbers), len(table.differing())
            row = (paper.name, table.title, str(count), str(count - off))
            lines.append(f"| {' | '.join(map(cell, row))} |")
    for paper in PAPERS:
        lines += ["", f"### Numbers of {paper.name}", "", f"Printed numbers: {paper.source}.", ""]
        lines.append(f"![{paper.about}](images/papers/{paper.image})")
        for table in paper.tables():
            test = table.test.rpartition("::")[2]
            lines += ["", f"#### {paper.name}: {table.title}", ""]
            lines.append(f"Recomputed from {table.how}. Held by `{test}`.")
            if table.listed:
                lines += ["", *_markdown(table)]
        for image, about in paper.figures:
            lines += ["", f"{about}:", "", f"![{about}](images/{image})"]
    return "\n".join(lines)


def _markdown(table: PaperTable) -> Iterator[str]:
    """Two columns for each column of the paper: printed, and recomputed."""
    numbers = [one for one in table.numbers if not table.shown or one.column in table.shown]
    if len({one.row for one in numbers}) == len(numbers):
        # No row has a number in two columns, as on boards: the columns stand below each other.
        several = len({one.column for one in numbers}) > 1
        numbers = [
            one._replace(row=f"{one.column} {one.row}" if several else one.row, column="score") for one in numbers
        ]
    columns = list(dict.fromkeys(one.column for one in numbers))
    heads = [head for name in columns for head in (f"{name}, printed", "Snellen")]
    by_cell = {(one.row, one.column): one for one in numbers}
    names = list(dict.fromkeys(row for row, _ in by_cell))
    yield f"| {' | '.join(cell(head) for head in ('', *heads))} |"
    yield f"| --- |{' ---: |' * len(heads)}"
    for name in names:
        cells = []
        for column in columns:
            one = by_cell.get((name, column))
            if one is None:
                cells += ["", ""]
                continue
            ours = f"{one.ours:.{table.digits}f}"
            cells += [f"{one.printed:.{table.digits}f}", f"**{ours}**" if table.is_off(one) else ours]
        yield f"| {' | '.join(map(cell, (name, *cells)))} |"


def main(argv: Sequence[str]) -> int:
    if argv and list(argv) != ["--check"]:
        print(__doc__, file=sys.stderr)
        return 2
    drawn = {name: to_svg(draw()) for name, draw in DRAWINGS.items()}
    if not argv:
        IMAGES.mkdir(parents=True, exist_ok=True)
        for name, text in drawn.items():
            (IMAGES / name).write_text(text)
        return 0
    contents = runpy.run_path(str(FOLDER / "gallery.py"))["names_and_numbers"]
    stored = {path.name: contents(path.read_text()) for path in IMAGES.glob("*.svg")}
    expected = {name: contents(text) for name, text in drawn.items()}
    stale = [name for name in {**stored, **expected} if stored.get(name) != expected.get(name)]
    for name in stale:
        print(f"docs/images/papers/{name} differs; run docs/paper_figures.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
