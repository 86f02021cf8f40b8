"""MMBench's boards: Tables 2, 3 and 10 to 13 of its paper (arXiv:2307.06281v5).

The paper states no sizes of its splits. There is one set of sizes for which each of the 852 printed
percentages is a whole number of right answers: those are the sample counts here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.summary import Interval, Metric
from snellen.leaderboard_hub.reported_numbers.model_facts import facts_of_model
from snellen.leaderboard_hub.reported_numbers.numbers import (
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    make_summary,
    read_paper_table,
)
from snellen.stats.intervals import wilson

_TITLE, _URL = "MMBench (arXiv:2307.06281)", "https://arxiv.org/abs/2307.06281v5"
_GROUP = "l2-category"
GROUPS = {
    "CP": "coarse_perception",
    "FP-S": "finegrained_perception (instance-level)",
    "FP-C": "finegrained_perception (cross-instance)",
    "AR": "attribute_reasoning",
    "LR": "logic_reasoning",
    "RR": "relation_reasoning",
}
"""The paper's abbreviations, and the names in the published files."""
_SIZE_NOTE = "The size of the split is inferred from the printed percentages."
_ROUNDING = 0.0501
_TEXT_ONLY = "GPT-4-Turbo (0125)"


class _Split(NamedTuple):
    split: str
    language: str
    table: str
    file: str


_SPLITS = (
    _Split("dev", "en", "Table 10", "mmbench_table10_dev_l2.csv"),
    _Split("test", "en", "Table 11", "mmbench_table11_test_l2.csv"),
    _Split("dev", "cn", "Table 12", "mmbench_table12_cn_dev_l2.csv"),
    _Split("test", "cn", "Table 13", "mmbench_table13_cn_test_l2.csv"),
)


def read_mmbench() -> ReportedTables:
    """Dev and test in English and Chinese."""
    warnings: list[str] = []
    boards = tuple(_board(split, warnings) for split in _SPLITS)
    return ReportedTables(boards=boards, warnings=tuple(warnings))


def _board(split: _Split, warnings: list[str]) -> ReportedBoard:
    name = f"mmbench-{split.split}-{split.language}"
    sizes = {
        row["L2_abbr"]: int(row[f"n_{split.split}_inferred"])
        for row in read_paper_table("mmbench_split_sizes_inferred.csv")
        if row["L2_abbr"] in GROUPS
    }
    vanilla = {}
    if (split.split, split.language) == ("dev", "en"):
        vanilla = {
            row["model"]: row for row in read_paper_table("mmbench_table2_circular_vs_vanilla.csv")
        }
    printed = [(row, split.table) for row in read_paper_table(split.file)]
    if (split.split, split.language) == ("test", "en"):
        # Table 3 has the same rows as Table 11, and a language model that sees no image.
        printed += [
            (row, "Table 3")
            for row in read_paper_table("mmbench_table3_test_l2.csv")
            if row["model"] == _TEXT_ONLY
        ]
    rows = []
    for row, table in printed:
        if row["overall"]:
            warnings += [f"{name}: {problem}" for problem in _check_total(row, sizes)]
            rows.append(_row(row, table, sizes, vanilla.get(row["model"])))
    language = {"en": "English", "cn": "Chinese"}[split.language]
    return ReportedBoard(
        name=name,
        title=f"MMBench v1.1 {split.split}, {language}",
        description="20 abilities under CircularEval: a question counts as right if it is "
        "answered in every rotation of its options. In the paper, GPT-4-Turbo (0125) reads the "
        "replies in which no rule finds the option.",
        spec=f"mmbench:split={split.split},lang={split.language},version=1.1",
        layout="table",
        rows=tuple(rows),
    )


def _row(
    row: Mapping[str, str],
    table: str,
    sizes: Mapping[str, int],
    vanilla: Mapping[str, str] | None,
) -> ReportedRow:
    groups = {
        title: _metric(float(row[group]), [(float(row[group]), sizes[group])])
        for group, title in GROUPS.items()
    }
    parts = [(float(row[group]), size) for group, size in sizes.items()]
    headline = _metric(float(row["overall"]), parts)
    total = sum(sizes.values())
    others = []
    if vanilla is not None:
        note = f"circular {vanilla['circular_acc']} less the change {vanilla['change']} of Table 2"
        value = float(vanilla["vanilla_acc_implied"])
        others = [Metric("vanilla", value, total, _interval(round(value * total / 100), total),
                         note)]  # fmt: skip
    facts = facts_of_model(
        row["model"],
        weights={"open": "open", "proprietary": "closed"}.get(row["group"], ""),
        notes="Trained on data of its makers' own." if row["in_house_data"] == "1" else "",
    )
    return ReportedRow(
        model=row["model"],
        summary=make_summary(headline, others, {_GROUP: groups}),
        source=ReportSource(_TITLE, _URL, f"{table}, Table 2" if vanilla else table, _SIZE_NOTE),
        facts=facts,
        other_protocol="asked without the image" if row["model"] == _TEXT_ONLY else "",
    )


def _metric(printed: float, parts: Sequence[tuple[float, int]]) -> Metric:
    """A printed percentage with the interval of the right answers behind its parts."""
    right = sum(round(share * size / 100) for share, size in parts)
    n = sum(size for _, size in parts)
    return Metric("circular", printed, n, _interval(right, n))


def _interval(right: int, n: int) -> Interval:
    found = wilson(right, n)
    return Interval(100 * found.low, 100 * found.high, found.method, found.level)


def _check_total(row: Mapping[str, str], sizes: Mapping[str, int]) -> list[str]:
    """The overall accuracy is that of all questions (README: the micro average)."""
    problems = []
    right = 0
    for group, size in sizes.items():
        count = round(float(row[group]) * size / 100)
        right += count
        if abs(100 * count / size - float(row[group])) > _ROUNDING:
            problems.append(
                f"{row['model']}, {group}: {row[group]} is no share of {size} questions"
            )
    overall = 100 * right / sum(sizes.values())
    if abs(overall - float(row["overall"])) > _ROUNDING:
        problems.append(
            f"{row['model']}: the overall accuracy is printed as {row['overall']}; its groups give "
            f"{overall:.1f}"
        )
    return problems
