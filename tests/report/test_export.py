import csv
import io
import json
import re
from collections.abc import Sequence

import msgspec
from rich.console import Console
from synthetic import build_report

from snellen.core.run import Report
from snellen.core.summary import Interval, Metric, Summary
from snellen.report.documents.run_document import run_document
from snellen.report.writers import write_text
from snellen.report.writers.terminal import print_document


def written(runs: Sequence[Report], form: str) -> str:
    return write_text(run_document(runs), form)


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


def test_json_is_the_reports_and_how_they_differ():
    blind = tiny()
    config = msgspec.structs.replace(blind.run.config, parameters={"control": "blind"}, limit=5)
    blind = msgspec.structs.replace(blind, run=msgspec.structs.replace(blind.run, config=config))
    reports = [blind, build_report(count=30, circular=True, failed=1)[0]]
    objects = json.loads(written(reports, "json"))
    labels = [[deviation["label"] for deviation in each.pop("deviations")] for each in objects]
    assert labels == [["blind", "limit 5"], ["circular"]]
    assert msgspec.convert(objects, type=list[Report]) == reports


def test_csv_has_one_line_per_number():
    rows = list(csv.DictReader(io.StringIO(written([tiny(), tiny()], "csv"))))
    kept = ("kind", "metric", "column", "group", "value", "n", "low", "high", "level", "method")
    wilson = ("30.57", "86.32", "0.95", "wilson")
    of_run = [
        ("metric", "accuracy", "", "", "62.5", "8", *wilson),
        ("group", "accuracy", "skill_area", "50% & more_", "62.5", "8", *wilson),
        ("group", "accuracy", "skill_area", "none", "", "0", "", "", "", ""),
    ]
    baseline = ("baseline", "chance", "", "", "25.0", "8", "", "", "", "")
    assert [tuple(row[key] for key in kept) for row in rows] == [*of_run, *of_run, baseline]
    assert [row["model"] for row in rows] == [*["snellen/tiny"] * 6, ""]


def test_csv_says_how_a_run_differs_in_columns_of_their_own():
    report = tiny()
    config = msgspec.structs.replace(report.run.config, parameters={"cot": "on", "control": "blind"}, limit=8)
    report = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, config=config))
    row = next(csv.DictReader(io.StringIO(written([report], "csv"))))
    assert row["differs"] == "blind, cot=on, limit 8, max_new_tokens=512"
    assert (row["differs_control"], row["differs_thinking"]) == ("blind", "cot=on")
    assert (row["differs_limit"], row["differs_shots"]) == ("limit 8", "")


def test_markdown():
    assert written([tiny()], "markdown") == (
        "**eyechart** accuracy\n\n"
        "| model | score | 95 % interval | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| snellen/tiny | 62.5 | 30.6–86.3 | 8 |\n"
        "| baseline: chance | 25.0 |  | 8 |\n\n"
        "1 unparsed\n\n"
        "intervals are for the score on new questions sampled like these, not for these questions "
        "only\n\n"
        "**by skill area**\n\n"
        "| skill area | score | interval | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 50% & more | 62.5 | 30.6–86.3 | 8 |\n"
        "| none | – | – | 0 |\n"
    )


def test_the_best_of_several_models_is_bold_and_a_baseline_is_not_the_best():
    weaker = Metric("accuracy", 20.0, 8)
    summary = msgspec.structs.replace(
        tiny().summary, headline=weaker, groups={"skill_area": {"50% & more_": weaker, "b": weaker}}
    )
    run = msgspec.structs.replace(tiny().run, model="other")
    reports = [tiny(), msgspec.structs.replace(tiny(), run=run, summary=summary)]
    markdown, latex = written(reports, "markdown"), written(reports, "latex")
    assert "| snellen/tiny | **62.5** | 30.6–86.3 | 8 |\n| other | 20.0 | – | 8 |" in markdown
    assert "| baseline: chance | 25.0 |" in markdown
    assert "| 50% & more | **62.5 (30.6–86.3)** | 20.0 | 8 |" in markdown
    assert "snellen/tiny & \\textbf{62.5} & 30.6--86.3 & 8 \\\\" in latex
    assert "\\midrule\n    baseline: chance & 25.0" in latex
    assert "50\\% \\& more & \\textbf{62.5 (30.6--86.3)} & 20.0" in latex


def test_several_runs_are_columns_of_a_table_of_groups():
    other = tiny()
    other = msgspec.structs.replace(other, run=msgspec.structs.replace(other.run, model="other"))
    assert (
        "| skill area | snellen/tiny | other | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 50% & more | 62.5 (30.6–86.3) | 62.5 (30.6–86.3) | 8 |\n"
    ) in written([tiny(), other], "markdown")


def test_latex_is_escaped():
    assert written([tiny()], "latex").endswith(
        "\\begin{table}\n"
        "  \\centering\n"
        "  \\caption{eyechart, accuracy, by skill area}\n"
        "  \\begin{tabular}{lrrr}\n"
        "    \\toprule\n"
        "    skill area & score & interval & n \\\\\n"
        "    \\midrule\n"
        "    50\\% \\& more & 62.5 & 30.6--86.3 & 8 \\\\\n"
        "    none & -- & -- & 0 \\\\\n"
        "    \\bottomrule\n"
        "  \\end{tabular}\n"
        "\\end{table}\n"
    )


def test_a_table_has_each_column_once_and_the_rows_of_the_terminal():
    reports = [
        build_report("one", count=30)[0],
        build_report("one", count=30, circular=True)[0],
        build_report("two", count=30, circular=True)[0],
    ]
    latex, markdown = written(reports, "latex"), written(reports, "markdown")
    heads = [line for line in markdown.splitlines() if line.startswith("| model |")]
    assert len(heads) == 2
    for head in heads:
        columns = head.strip("| ").split(" | ")
        assert len(columns) == len(set(columns))
    file = io.StringIO()
    print_document(run_document(reports), Console(file=file, width=200))
    for name in ("one", "two", "baseline: chance", "baseline: most frequent answer"):
        lines = [line for line in file.getvalue().splitlines() if line.startswith(f"{name} ")]
        cells = [line.split()[len(name.split()) :] for line in lines]
        for form, start, separator in ((markdown, f"| {name} |", " | "), (latex, name, " & ")):
            found = [line for line in form.splitlines() if line.strip().startswith(start)]
            numbers = [line.strip("| ").split(separator)[1:3] for line in found]
            numbers = [[re.sub(r"\*|\\textbf|[{}]", "", one) for one in row] for row in numbers]
            assert [number[0] for number in numbers] == [cell[0] for cell in cells]


def test_every_format_says_the_same_number():
    report, _, _ = build_report(count=90, circular=True, failed=2)
    value = report.summary.headline.value
    assert json.loads(written([report], "json"))[0]["summary"]["headline"]["value"] == value
    row = next(csv.DictReader(io.StringIO(written([report], "csv"))))
    assert float(row["value"]) == value
    for name in ("markdown", "latex"):
        text = written([report], name)
        assert f"{value:.1f}" in text
        assert "2 of 90 samples failed" in text
