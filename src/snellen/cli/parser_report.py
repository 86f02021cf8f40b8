"""Flags of the commands that show or write what runs hold: `report`, `export`, `leaderboard`,
`label`, `view`."""

from __future__ import annotations

from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import Commands

EXPORTS = (
    "vlmevalkit-tsv",
    "vlmevalkit-xlsx",
    "mmbench-submission",
    "mmt-submission",
    "mmt-table",
    "seed-results",
    "seed-table",
    "seed-heatmap",
    "pages",
)
FORMATS = ("json", "csv", "markdown", "latex", "html")
FILTER = "models of the catalog by their facts, e.g. open,size<10,modality=video,name~qwen"


def add(commands: Commands) -> None:
    report = flags.command(commands, "report", "report finished runs")
    flags.runs(report)
    flags.format_of(report, *FORMATS)
    report.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    flags.moved_data(report)
    _export(commands)
    _leaderboard(commands)


def _export(commands: Commands) -> None:
    export = flags.command(commands, "export", "write runs in a benchmark's own formats")
    flags.runs(export)
    export.add_argument(
        "--to", required=True, choices=EXPORTS,
        help="vlmevalkit-tsv, vlmevalkit-xlsx: VLMEvalKit's prediction file, each rotation a row; "
        "mmbench-submission: the workbook the MMBench server takes; mmt-submission: the table "
        "MMT-Bench's server takes for its ALL split; mmt-table: its Table 2 for these runs, with "
        "average ranks, as Markdown; seed-results: SEED-Bench's "
        "results.json; seed-table: its levels, subparts and ranks as Markdown; seed-heatmap: ranks "
        "per dimension as SVG; pages: a folder of pages as `snellen view` shows them",
    )  # fmt: skip
    export.add_argument("-o", "--output", metavar="FILE", help="write to a file, pages to a folder")


def _leaderboard(commands: Commands) -> None:
    board = flags.command(commands, "leaderboard", "rank models by each number they have")
    board.add_argument(
        "sources", nargs="*", metavar="SOURCE",
        help="run folders, a folder of runs, or a CSV of MME numbers (model, subtask, acc, "
        "acc_plus)",
    )  # fmt: skip
    board.add_argument(
        "--suite", metavar="SUITE",
        help="one table with the average of a suite, e.g. openvlm-core, or of your own TOML file",
    )  # fmt: skip
    board.add_argument(
        "--with", action="append", default=[], metavar="FILE.csv", dest="results",
        help="results of elsewhere for --suite: the columns model, member, value",
    )  # fmt: skip
    board.add_argument("--top", type=int, default=10, metavar="N", help="places of a board")
    board.add_argument("--filter", metavar="FILTER", help=f"only {FILTER}")
    flags.drawn(board, "the boards too")
    flags.format_of(board, "json", "csv", "markdown", "html")


def add_label(commands: Commands) -> None:
    label = flags.command(
        commands, "label", "draw replies no rule could read, and compare with labels"
    )
    flags.runs(label)
    label.add_argument("-o", "--output", metavar="FILE.csv", help="the labelling sheet to write")
    label.add_argument(
        "--share", type=flags.share, default=0.1, metavar="SHARE",
        help="share of the replies to draw, e.g. 0.1 or 10%% (default: 0.1)",
    )  # fmt: skip
    label.add_argument("--seed", type=int, default=0, help="chooses the replies")
    label.add_argument("--labels", metavar="FILE.csv", help="a filled sheet to compare with")


def add_view(commands: Commands) -> None:
    view = flags.command(commands, "view", "look at runs in a browser, also while they go on")
    flags.runs(view)
    view.add_argument(
        "--port", type=int, metavar="N", help="where to serve (default: 8420, or any free port)"
    )
    view.add_argument("--open", action="store_true", help="open the browser")
    flags.moved_data(view)
