import io

from msgspec.structs import replace
from rich.console import Console
from synthetic import build_report

from snellen.report.documents.run_document import run_document
from snellen.report.writers.terminal import print_document


def printed(runs, width: int = 80, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal)
    print_document(run_document(runs), console)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_table_of_a_circular_run_with_failures():
    report, _, _ = build_report(circular=True, failed=3)
    board, _, groups = printed([report]).partition("\n\n")
    assert board == (
        "! 3 of 200 samples failed and are left out; bounds 41.5–43.0\n"
        "eyechart  circular accuracy\n"
        "model                            score   95 % interval   vanilla   drop     n\n"
        "─────────────────────────────────────────────────────────────────────────────\n"
        "snellen/tiny                      42.1       35.5–49.1      59.9   17.8   197\n"
        "baseline: chance                  25.0                                    197\n"
        "baseline: most frequent answer    27.5                                    197\n"
        "2 no match, 2 unparsed, 2 refused, 2 truncated, 2 empty, 3 failed\n"
        "early stop: 274 requests not needed\n"
        "intervals are for the score on new questions sampled like these, not for these\n"
        "questions only"
    )
    assert groups.splitlines()[0].split() == ["category", "score", "interval", "n"]


def test_models_by_benchmarks_fit_80_columns():
    long = "hf/Qwen/Qwen2.5-VL-7B-Instruct"
    runs = [
        build_report(model, benchmark, count=60)[0]
        for model in ("snellen/tiny", long)
        for benchmark in ("eyechart", "photos")
    ]
    lines = printed(runs).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:5] == [
        "model                            eyechart             photos",
        "────────────────────────────────────────────────────────────",
        "snellen/tiny             51.7 (39.3–63.8)   51.7 (39.3–63.8)",
        "hf/Qwen/                 51.7 (39.3–63.8)   51.7 (39.3–63.8)",
        "Qwen2.5-VL-7B-Instruct",
    ]
    assert printed(runs, width=120).count(long) == 5


def test_pivot_turns_when_benchmarks_are_many():
    runs = [
        build_report(model, name, count=20, troubled=False)[0]
        for model in ("one", "two")
        for name in ("eyechart", "photos", "maps")
    ]
    assert printed(runs).splitlines()[0].split() == ["benchmark", "one", "two"]


def test_plain_when_not_a_terminal_and_baselines_dim_on_one():
    report, _, _ = build_report(count=20)
    assert "\x1b" not in printed([report])
    dim = next(line for line in printed([report], terminal=True).splitlines() if "chance" in line)
    assert dim.startswith("\x1b[2m")


def test_interrupted_run_shows_its_progress():
    report, _, _ = build_report(count=20, troubled=False, status="interrupted")
    assert printed([report]).startswith("! the run was interrupted: 20 of 20 done\ncontinue with: snellen run")


def test_the_command_to_go_on_with_is_one_line_however_long():
    report, _, _ = build_report(count=20, troubled=False, status="interrupted")
    command = "snellen run -m 'http://127.0.0.1:8000/v1#a-model' -b eyechart " + 9 * "--load f.py "
    run = replace(report.run, command=command.strip(), stopped="the budget is spent")
    lines = printed([replace(report, run=run)], width=60).splitlines()
    assert f"continue with: {run.command}" in lines
    assert lines[0] == "! the run was stopped: the budget is spent; 20 of 20 done"


def test_names_are_not_read_as_markup():
    names = ("hf/[bold]net[/bold]", "a:smile:b")
    runs = [build_report(name, f"own[{name}]", count=10)[0] for name in names]
    text = printed(runs, width=140)
    for name in names:
        assert text.count(f"own[{name}]") == 2
        assert text.count(name) == 4


def test_runs_of_one_model_are_labelled_by_their_differences():
    report, _, _ = build_report(count=10)
    runs = []
    for language, limit in (("en", None), ("cn", None), ("cn", 5)):
        config = replace(report.run.config, parameters={"lang": language, "split": "test"}, limit=limit)
        runs.append(replace(report, run=replace(report.run, config=config)))
    text = printed(runs, width=120)
    for name in ("(lang=en)", "(lang=cn)", "(limit 5, lang=cn)"):
        assert f"snellen/tiny {name}" in text
    assert "split=" not in text


def test_each_baseline_is_one_row_over_the_most_questions():
    small, large = (build_report("random", count=count, troubled=False)[0] for count in (40, 80))
    config = replace(small.run.config, limit=40)
    small = replace(small, run=replace(small.run, config=config))
    lines = [line.split() for line in printed([small, large]).splitlines()]
    named = [line for line in lines if line[:2] == ["baseline:", "chance"]]
    assert [line[-1] for line in named] == ["80"]
    assert ["random", "(limit", "40)"] in [line[:3] for line in lines]


def test_no_run_replaces_another_in_the_matrix():
    reports = []
    for model, benchmark, control in (("one", "eyechart", None), ("one", "eyechart", "blind"), ("two", "photos", None)):
        report, _, _ = build_report(model, benchmark, count=20, troubled=False)
        parameters = {"split": "test", **({"control": control} if control else {})}
        config = replace(report.run.config, parameters=parameters)
        reports.append(replace(report, run=replace(report.run, config=config)))
    rows = [line.split("  ")[0] for line in printed(reports, width=120).splitlines()[2:5]]
    assert rows == ["one", "one (blind)", "two"]


def test_server_address_is_named_only_if_runs_differ_by_it():
    from snellen.report.format import run_labels

    reports = []
    for port in (8101, 8102):
        report, _, _ = build_report(f"openai/x:base_url=http://127.0.0.1:{port}/v1", count=5)
        reports.append(report)
    assert run_labels(reports[:1]) == ["openai/x"]
    assert run_labels(reports) == ["openai/x (at 127.0.0.1:8101)", "openai/x (at 127.0.0.1:8102)"]
