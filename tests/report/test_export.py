import csv
import io
import json

import msgspec
from synthetic import build_report

from snellen.core.run import Report
from snellen.core.summary import Interval, Metric, Summary
from snellen.report.export import EXPORTS, to_csv, to_json, to_latex, to_markdown


def tiny() -> Report:
    """Few numbers, awkward names."""
    report, _, _ = build_report(count=4, troubled=False)
    metric = Metric("accuracy", 62.5, 8, Interval(30.57, 86.32, "wilson"))
    summary = Summary(
        headline=metric,
        metrics={"accuracy": metric, "chance": Metric("chance", 25.0, 8)},
        groups={"skill_area": {"50% & more_": metric, "none": Metric("accuracy", None, 0)}},
        outcomes={"answered": 7, "unparsed": 1},
        n=8,
        total=8,
    )
    return msgspec.structs.replace(report, summary=summary)


def test_json_is_the_reports():
    reports = [tiny(), build_report(count=30, circular=True, failed=1)[0]]
    assert msgspec.json.decode(to_json(reports), type=list[Report]) == reports


def test_csv_has_one_line_per_metric_and_group():
    rows = list(csv.DictReader(io.StringIO(to_csv([tiny()]))))
    kept = ("metric", "column", "group", "value", "n", "low", "high", "level", "method")
    assert [tuple(row[key] for key in kept) for row in rows] == [
        ("accuracy", "", "", "62.5", "8", "30.57", "86.32", "0.95", "wilson"),
        ("chance", "", "", "25.0", "8", "", "", "", ""),
        ("accuracy", "skill_area", "50% & more_", "62.5", "8", "30.57", "86.32", "0.95", "wilson"),
        ("accuracy", "skill_area", "none", "", "0", "", "", "", ""),
    ]


def test_markdown():
    assert to_markdown([tiny()]) == (
        "**Results**\n\n"
        "| model | benchmark | metric | score | 95 % interval | n | chance | not answered |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| snellen/tiny | eyechart | accuracy | 62.5 | 30.6–86.3 | 8 | 25.0 | 1 unparsed |\n\n"
        "**eyechart by skill area**\n\n"
        "| skill\\_area | snellen/tiny | n |\n"
        "| --- | ---: | ---: |\n"
        "| 50% & more\\_ | 62.5 (30.6–86.3) | 8 |\n"
        "| none | – | 0 |\n\n"
        "Intervals: of the score on questions like these, drawn as they were, not on these very "
        "questions.\n"
    )


def test_latex_is_escaped():
    assert to_latex([tiny()]).endswith(
        "\\begin{table}\n"
        "  \\centering\n"
        "  \\caption{eyechart by skill area}\n"
        "  \\begin{tabular}{lrr}\n"
        "    \\toprule\n"
        "    skill\\_area & snellen/tiny & n \\\\\n"
        "    \\midrule\n"
        "    50\\% \\& more\\_ & 62.5 (30.6--86.3) & 8 \\\\\n"
        "    none & -- & 0 \\\\\n"
        "    \\bottomrule\n"
        "  \\end{tabular}\n"
        "\\end{table}\n"
    )


def test_every_format_says_the_same_number():
    report, _, _ = build_report(count=90, circular=True, failed=2)
    value = report.summary.headline.value
    assert json.loads(to_json([report]))[0]["summary"]["headline"]["value"] == value
    row = next(csv.DictReader(io.StringIO(to_csv([report]))))
    assert float(row["value"]) == value
    for name in ("markdown", "latex"):
        text = EXPORTS[name]([report])
        assert f"{value:.1f}" in text
        assert "2 of 90 samples failed" in text
