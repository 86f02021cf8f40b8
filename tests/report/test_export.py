import csv
import io
import json

import msgspec
from rich.console import Console
from synthetic import build_report

from snellen.core.run import Report
from snellen.core.summary import Interval, Metric, Summary
from snellen.report.export import EXPORTS, to_csv, to_json, to_latex, to_markdown
from snellen.report.terminal.table import print_runs


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
    objects = json.loads(to_json(reports))
    labels = [[deviation["label"] for deviation in each.pop("deviations")] for each in objects]
    assert labels == [["blind", "limit 5"], ["circular"]]
    assert msgspec.convert(objects, type=list[Report]) == reports


def test_csv_has_one_line_per_number():
    rows = list(csv.DictReader(io.StringIO(to_csv([tiny(), tiny()]))))
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
    config = msgspec.structs.replace(
        report.run.config, parameters={"cot": "on", "control": "blind"}, limit=8
    )
    report = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, config=config))
    row = next(csv.DictReader(io.StringIO(to_csv([report]))))
    assert row["differs"] == "blind, cot=on, limit 8, max_new_tokens=512"
    assert (row["differs_control"], row["differs_thinking"]) == ("blind", "cot=on")
    assert (row["differs_limit"], row["differs_shots"]) == ("limit 8", "")


def test_markdown():
    assert to_markdown([tiny()]) == (
        "**eyechart, accuracy**\n\n"
        "| model | score | 95 % interval | n | not answered |\n"
        "| --- | ---: | ---: | ---: | --- |\n"
        "| snellen/tiny | 62.5 | 30.6–86.3 | 8 | 1 unparsed |\n"
        "| baseline: chance | 25.0 |  | 8 |  |\n\n"
        "**eyechart by skill area**\n\n"
        "| skill area | score | interval | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 50% & more  | 62.5 | 30.6–86.3 | 8 |\n"
        "| none | – | – | 0 |\n\n"
        "Intervals are for the score on new questions sampled like these, not for these questions "
        "only.\n"
    ).replace("more  |", "more |")


def test_several_runs_are_columns_of_a_table_of_groups():
    other = tiny()
    other = msgspec.structs.replace(other, run=msgspec.structs.replace(other.run, model="other"))
    assert (
        "| skill area | snellen/tiny | other | n |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 50% & more | 62.5 (30.6–86.3) | 62.5 (30.6–86.3) | 8 |\n"
    ) in to_markdown([tiny(), other])


def test_latex_is_escaped():
    assert to_latex([tiny()]).endswith(
        "\\begin{table}\n"
        "  \\centering\n"
        "  \\caption{eyechart by skill area}\n"
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
    latex, markdown = to_latex(reports), to_markdown(reports)
    heads = [line for line in markdown.splitlines() if line.startswith("| model |")]
    assert len(heads) == 2
    for head in heads:
        columns = head.strip("| ").split(" | ")
        assert len(columns) == len(set(columns))
    file = io.StringIO()
    print_runs(reports, Console(file=file, width=200))
    for name in ("one", "two", "baseline: chance", "baseline: most frequent answer"):
        lines = [line for line in file.getvalue().splitlines() if line.startswith(f"{name} ")]
        cells = [line.split()[len(name.split()) :] for line in lines]
        for form, start, separator in ((markdown, f"| {name} |", " | "), (latex, name, " & ")):
            found = [line for line in form.splitlines() if line.strip().startswith(start)]
            numbers = [line.strip("| ").split(separator)[1:3] for line in found]
            assert [number[0] for number in numbers] == [cell[0] for cell in cells]


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
