"""OpenVLM's boards: Tables 2 to 4 of VLMEvalKit's paper (arXiv:2407.11691).

Each column becomes a benchmark, each table a suite, whose average is the plain mean of percentages.
A sample count is known where a benchmark's own paper states it and the number is a share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.benchmarks.declaration.published_sizes import published_sizes
from snellen.benchmarks.declaration.registry import find_suite
from snellen.benchmarks.documents.ocrbench import FINAL
from snellen.core.summary import Interval, Metric, Summary, Unit
from snellen.leaderboard_hub.reported_numbers.model_facts import facts_of_model
from snellen.leaderboard_hub.reported_numbers.numbers import (
    ReportedBoard,
    ReportedRow,
    ReportedSuite,
    ReportedTables,
    ReportSource,
    make_summary,
    read_paper_table,
)
from snellen.scoring.suites import as_percent
from snellen.stats.intervals import wilson

_TITLE, _URL = "VLMEvalKit (arXiv:2407.11691)", "https://arxiv.org/abs/2407.11691"
_FRAMES = "64"
"""Frames of a video that all but one model of Table 4 are given."""
_BY_LLM = "An LLM reads the replies that rules cannot."
_MATHS = "An LLM reads the answer in a reply."


class _OpenVlmColumn(NamedTuple):
    """A benchmark, and how its own scoring names the number."""

    name: str
    title: str
    metric: str
    spec: str = ""
    top: float = 100.0
    size: str = ""
    """Name in `sizes.toml`, if the number is a share of that many questions."""
    protocol: str = _BY_LLM


class _PaperTable(NamedTuple):
    label: str
    file: str
    suite: str
    columns: dict[str, _OpenVlmColumn]


_MATHVISTA = _OpenVlmColumn(
    "mathvista",
    "MathVista testmini",
    "accuracy",
    "MathVista_MINI",
    size="mathvista",
    protocol=_MATHS,
)
TABLES = (
    _PaperTable(
        "Table 2",
        "vlmevalkit_table2_general.csv",
        "openvlm-core",
        {
            "MMBenchV1.1": _OpenVlmColumn(
                "mmbench-v11-test",
                "MMBench v1.1, test, English and Chinese",
                "circular",
                protocol="The mean of the two languages, under CircularEval.",
            ),
            "MMStar": _OpenVlmColumn("mmstar", "MMStar", "accuracy", "mmstar", size="mmstar"),
            "MMMU": _OpenVlmColumn(
                "mmmu-val", "MMMU, validation", "accuracy", "mmmu:split=val", size="mmmu"
            ),
            "MathVista": _MATHVISTA,
            "HallusionBench": _OpenVlmColumn(
                "hallusionbench",
                "HallusionBench",
                "mean_of_three",
                "hallusionbench",
                protocol="The mean of accuracy per question, per figure and per question pair.",
            ),
            "AI2D": _OpenVlmColumn("ai2d", "AI2D", "accuracy", "ai2d:mask=on"),
            "OCRBench_of_1000": _OpenVlmColumn(
                "ocrbench",
                "OCRBench",
                "accuracy",
                "OCRBench",
                1000.0,
                "ocrbench",
                "Right answers of 1,000, here in percent.",
            ),
            "MMVet": _OpenVlmColumn(
                "mm-vet", "MM-Vet", "score", "MMVet", protocol="Graded by an LLM, 0 to 1."
            ),
        },
    ),
    _PaperTable(
        "Table 3",
        "vlmevalkit_table3_reasoning.csv",
        "openvlm-reasoning",
        {
            "MathVista": _MATHVISTA,
            "MathVision": _OpenVlmColumn(
                "mathvision", "MATH-Vision", "accuracy", "MathVision", protocol=_MATHS
            ),
            "MathVerse": _OpenVlmColumn(
                "mathverse-vision-only",
                "MathVerse testmini, vision only",
                "accuracy",
                "MathVerse_MINI_Vision_Only",
                protocol=_MATHS,
            ),
            "DynaMath": _OpenVlmColumn(
                "dynamath",
                "DynaMath",
                "worst_case",
                "DynaMath",
                protocol="Right in all ten variants of a question.",
            ),
            "WeMath": _OpenVlmColumn(
                "wemath", "We-Math", "score_strict", "WeMath", protocol="The strict score."
            ),
            "LogicVista": _OpenVlmColumn(
                "logicvista", "LogicVista", "accuracy", "LogicVista", protocol=_MATHS
            ),
        },
    ),
    _PaperTable(
        "Table 4",
        "vlmevalkit_table4_video.csv",
        "openvlm-video",
        {
            "MVBench": _OpenVlmColumn("mvbench", "MVBench", "task_mean", "MVBench"),
            "Video-MME_wo_subs": _OpenVlmColumn(
                "video-mme", "Video-MME without subtitles", "accuracy", "Video-MME"
            ),
            "MMBench-Video_of_3": _OpenVlmColumn(
                "mmbench-video",
                "MMBench-Video",
                "overall",
                "MMBench-Video",
                3.0,
                protocol="Graded by an LLM, 0 to 3.",
            ),
            "TempCompass": _OpenVlmColumn("tempcompass", "TempCompass", "accuracy", "TempCompass"),
            "MLVU": _OpenVlmColumn("mlvu", "MLVU", "m_avg", "MLVU"),
        },
    ),
)
_ROUNDING = 0.055


def read_vlmevalkit() -> ReportedTables:
    """A board for each column of Tables 2 to 4, and a suite for each table."""
    printed: dict[str, dict[str, ReportedRow]] = {}
    columns: dict[str, _OpenVlmColumn] = {}
    warnings: list[str] = []
    wrong: dict[str, list[str]] = {}
    for table in TABLES:
        for row in read_paper_table(table.file):
            wrong.setdefault(table.suite, []).extend(_check_average(table, row))
            for name, column in table.columns.items():
                columns[column.name] = column
                rows = printed.setdefault(column.name, {})
                made = _row(table, column, row, row[name])
                before = rows.get(made.model)
                if before is not None and before.summary != made.summary:
                    warnings.append(
                        f"{column.name}: {made.model}: {table.label} prints another "
                        f"number than {before.source.table}"
                    )
                rows.setdefault(made.model, made)
    boards = tuple(
        ReportedBoard(
            name=name,
            title=columns[name].title,
            description=_description(columns[name]),
            spec=columns[name].spec,
            layout="table",
            rows=tuple(rows.values()),
        )
        for name, rows in printed.items()
    )
    suites = tuple(
        ReportedSuite(
            name=table.suite,
            title=find_suite(table.suite).title,
            description="; ".join((find_suite(table.suite).source, *wrong[table.suite])),
            members=tuple(column.name for column in table.columns.values()),
        )
        for table in TABLES
    )
    warnings += [f"{suite}: {problem}" for suite, found in wrong.items() for problem in found]
    return ReportedTables(boards=boards, suites=suites, warnings=tuple(warnings))


def _description(column: _OpenVlmColumn) -> str:
    text = f"As on the OpenVLM leaderboard. {column.protocol}"
    if column.size:
        size = published_sizes()[column.size]
        text += f" Intervals are over {size.questions:,} questions ({size.source})."
    return text


def _row(
    table: _PaperTable, column: _OpenVlmColumn, row: Mapping[str, str], cell: str
) -> ReportedRow:
    others = ""
    if row.get("frames", _FRAMES) != _FRAMES:
        others = f"{row['frames']} frames of a video, the other models had {_FRAMES}"
    return ReportedRow(
        model=row["model"],
        summary=_summary(column, float(cell)),
        source=ReportSource(_TITLE, _URL, table.label),
        facts=facts_of_model(row["model"], weights="closed" if row["param"] == "N/A" else ""),
        other_protocol=others,
    )


def _summary(column: _OpenVlmColumn, value: float) -> Summary:
    if not column.size:
        unit: Unit = "points" if column.top != 100 else "percent"
        return make_summary(Metric(column.metric, value, 0, unit=unit, top=column.top))
    size = published_sizes()[column.size]
    n = size.questions
    percent = as_percent(value, column.top)
    found = wilson(round(percent * n / 100), n)
    interval = Interval(100 * found.low, 100 * found.high, found.method, found.level)
    headline = Metric(column.metric, percent, n, interval)
    others = []
    if column.top != 100:
        others = [Metric(FINAL, value, n, unit="points", top=column.top)]
    return make_summary(headline, others)


def _check_average(table: _PaperTable, row: Mapping[str, str]) -> Sequence[str]:
    """The printed average is the plain mean of the columns in percent."""
    values = [as_percent(float(row[name]), column.top) for name, column in table.columns.items()]
    mean = sum(values) / len(values)
    # A number out of 3 with two decimals is rounded to a sixth of a percent.
    graded = sum(column.top == 3 for column in table.columns.values())
    if abs(mean - float(row["avg_score"])) <= _ROUNDING + graded * 0.5 / 3 / len(values):
        return ()
    return (
        f"the average of {row['model']} is printed as {row['avg_score']}, the mean of its columns "
        f"is {mean:.2f}",
    )
