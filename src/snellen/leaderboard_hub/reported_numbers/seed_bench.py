"""SEED-Bench-H's board: Tables 2, 3, 5 and 6 of its paper (Li, Ge, Ge, Shan).

A level, part or subpart is the plain mean of its dimensions. Table 4, the dimensions of single
images, is left out: its text cannot be read reliably. The paper prints the sizes of dimensions in a
picture only, so that no number has an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.benchmarks.abilities.seedbench.levels import (
    DimensionGroup,
    average,
    dimensions,
    group_by_level,
    group_by_part,
    group_by_subpart,
)
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION, PART, SUBPART
from snellen.benchmarks.abilities.seedbench.summary import LEVEL
from snellen.core.summary import Metric
from snellen.leaderboard_hub.reported_numbers.model_facts import facts_of_model
from snellen.leaderboard_hub.reported_numbers.numbers import (
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    make_summary,
    parse_cell,
    read_paper_table,
)

_SOURCE = ReportSource(
    "SEED-Bench-H (Li, Ge, Ge, Shan)", "https://github.com/AILab-CVC/SEED-Bench",
    "Tables 2, 3, 5 and 6",
)  # fmt: skip
_HEADLINE = "L2"
_LEVELS = {"L1": "L1", "L2": "L2", "L3": "L3"}
_PARTS = {"part2": "part-2", "part3": "part-3"}
SUBPART_COLUMNS = (
    "single_image", "multi_images", "videos", "interleaved", "few_shot", "image_gen",
    "image_text_gen",
)  # fmt: skip
"""Columns of Table 3, in the order of the subparts."""
_ROUNDING = 0.1 + 1e-9
"""0.05 of the printed mean and 0.05 of the cells it is made of."""
_ROW_NOTES = {
    "Claude-3-Opus": "its cells of Table 5 stand one column to the right of where they belong",
    "LLaVA": "one few-shot cell of Table 6 is lost, so that those after it may be of another "
    "dimension",
    "LLaVA-Next": "its few-shot cells in Table 6 repeat those of Yi-VL; Section 4.1 says that it "
    "was not evaluated",
}
_NOTED_SUBPARTS = {
    "Claude-3-Opus": ("Multiple-Images & Text Comprehension", "Video & Text Comprehension"),
    "LLaVA": ("Few-shot Image Understanding",),
    "LLaVA-Next": ("Few-shot Image Understanding",),
}

Cells = Mapping[str, float | None]


def read_seed_bench() -> ReportedTables:
    """The 33 models of Tables 2 and 3."""
    levels = {row["model"]: row for row in read_paper_table("seed_table2_levels.csv")}
    cells: dict[str, dict[str, float | None]] = {}
    known = {dimension.name for dimension in dimensions()}
    for file in ("seed_table5_multi_video.csv", "seed_table6_interleaved_generation.csv"):
        for row in read_paper_table(file):
            own = cells.setdefault(row["model"], {})
            own.update({name: parse_cell(row[name]) for name in row if name in known})
    warnings: list[str] = []
    rows = tuple(
        _row(levels[row["model"]], row, cells.get(row["model"], {}), warnings)
        for row in read_paper_table("seed_table3_subparts.csv")
    )
    warnings += [f"seed-bench-h: {model}: {note}" for model, note in _ROW_NOTES.items()]
    board = ReportedBoard(
        name="seed-bench-h",
        title="SEED-Bench-H",
        description="34 dimensions in the capability levels L1 to L3, each the plain mean of its "
        "dimensions; a model is compared on the levels that it reaches. Answers are ranked by "
        "likelihood.",
        spec="seedbench:version=H",
        layout="seed",
        rows=rows,
    )
    return ReportedTables(boards=(board,), warnings=tuple(warnings))


def _row(
    levels: Mapping[str, str], parts: Mapping[str, str], cells: Cells, warnings: list[str]
) -> ReportedRow:
    model = levels["model"]
    subparts = group_by_subpart(dimensions())
    from_subparts = {
        dimension: parse_cell(parts[column])
        for group, column in zip(subparts, SUBPART_COLUMNS, strict=True)
        for dimension in group.members
    }
    groups_of = {group.name: group for group in group_by_level(dimensions())}
    groups_of |= {group.name: group for group in group_by_part(dimensions())}

    def checked_metric(
        name: str, cell: str, group: DimensionGroup, values: Cells, table: str
    ) -> Metric:
        value = parse_cell(cell)
        mean = average(values, group.members)
        note = ""
        if value is not None and mean is not None and abs(mean - value) > _ROUNDING:
            note = f"as printed; its cells in {table} give {mean:.2f}"
            warnings.append(f"seed-bench-h: {model}, {name}: {cell} is printed, and its cells in "
                            f"{table} give {mean:.2f}")  # fmt: skip
        return Metric(name, value, 0, note=note)

    level_metrics = {
        name: checked_metric(name, levels[column], groups_of[name], from_subparts, "Table 3")
        for column, name in _LEVELS.items()
    }
    part_metrics = {
        name: checked_metric(name, levels[column], groups_of[name], from_subparts, "Table 3")
        for column, name in _PARTS.items()
    }
    subpart_metrics = {
        group.name: checked_metric(group.name, parts[column], group, cells, _table_of(column))
        for group, column in zip(subparts, SUBPART_COLUMNS, strict=True)
    }
    noted = {
        dimension
        for group in subparts
        if group.name in _NOTED_SUBPARTS.get(model, ())
        for dimension in group.members
    }
    dimension_metrics = {
        dimension.name: Metric("accuracy", cells.get(dimension.name), 0,
                               note=_ROW_NOTES[model] if dimension.name in noted else "")
        for dimension in dimensions()
        if cells.get(dimension.name) is not None
    }  # fmt: skip
    metrics = _with_values(level_metrics) | _with_values(part_metrics)
    reached = [name for name in _LEVELS if level_metrics[name].value is not None]
    language_model = levels["language_model"]
    return ReportedRow(
        model=model,
        summary=make_summary(
            level_metrics[_HEADLINE],
            metrics.values(),
            {
                LEVEL: _with_values(level_metrics),
                PART: _with_values(part_metrics),
                SUBPART: _with_values(subpart_metrics),
                DIMENSION: dimension_metrics,
            },
        ),
        source=_SOURCE,
        facts=facts_of_model(
            model,
            capability=_highest(reached),
            notes="" if language_model == "-" else f"Language model: {language_model}.",
        ),
    )


def _table_of(column: str) -> str:
    return "Table 5" if column in ("multi_images", "videos") else "Table 6"


def _highest(levels: Sequence[str]) -> str:
    return max(levels, default="")


def _with_values(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    return {name: metric for name, metric in metrics.items() if metric.value is not None}
