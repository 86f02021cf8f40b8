"""All flags, in one place."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn

from snellen import __version__
from snellen.cli import (
    parser_analyse,
    parser_compare,
    parser_controls,
    parser_executor,
    parser_taskmap,
    parser_view,
)

CIRCULAR = ("early", "full", "off")
FAILURES = "|".join(parser_compare.FAILURES)
RULES = ("snellen", "vlmevalkit", "official")
EVERY_RULE = "all"
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
FORMATS = ("table", "json", "csv", "markdown", "latex", "html")


_RULE = (
    "whose rules read the replies: `snellen`, `vlmevalkit` (without a judge) or `official`, the "
    "script of the benchmark's authors where it has one"
)
_FILTER = "models of the catalog by their facts, e.g. open,size<10,modality=video,name~qwen"


class Parser(argparse.ArgumentParser):
    """Argparse that suggests the flag or command meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.+?)' \(choose from (.+)\)", message)
        if choice:
            known = re.findall(r"[\w-]+", choice[2])
            message += _meant(choice[1], known)
        self.exit(2, f"snellen: {message}\ntry: {self.prog} --help\n")

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Words that are no flag of this command."""
        near = _meant(words[0], list(self._option_string_actions))
        self.error(f"unrecognized arguments: {' '.join(words)}{near}")


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; exits with 2 and one sentence where they are off."""
    parser = build_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        arguments.parser.unknown(unknown)
    return arguments


def _meant(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def build_parser() -> Parser:
    parser = Parser(
        prog="snellen",
        description="Measure multimodal models: one command, a number you can trust, "
        "and the reason behind it.",
        epilog="Start with: snellen run -m snellen/tiny -b eyechart",
    )
    parser.add_argument("--version", action="version", version=f"snellen {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _run(commands)
    _plan(commands)
    _score(commands)
    _report(commands)
    _export(commands)
    _leaderboard(commands)
    _parity(commands)
    parser_compare.add(commands)
    parser_controls.add(commands)
    parser_analyse.add(commands)
    _label(commands)
    parser_taskmap.add(commands)
    parser_view.add(commands)
    _look_up(commands)
    _data(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[Parser], name: str, module: str, help: str
) -> Parser:
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.set_defaults(module=module, parser=parser)
    return parser


def _run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = _command(commands, "run", "run", "ask models about benchmarks and report")
    _questions(run)
    run.add_argument(
        "--serve", metavar="COMMAND",
        help="start this model server, ask it, and stop it; {port} stands for the port and "
        "{model} for the name after -m, e.g. 'vllm serve {model} --port {port}'",
    )  # fmt: skip
    run.add_argument(
        "--serve-timeout", type=float, metavar="SECONDS",
        help="how long a server may take until it is ready",
    )  # fmt: skip
    run.add_argument(
        "--retries", type=int, metavar="N",
        help="how often a request to a server is sent again when it failed in a way that may "
        "pass (default: 7)",
    )  # fmt: skip
    run.add_argument(
        "--max-failures", metavar="N|P%",
        help="end the run when more requests failed for good (default: when the first 20 to a "
        "server all did)",
    )  # fmt: skip
    run.add_argument(
        "--budget", metavar="AMOUNT",
        help="send nothing more once this command has spent so much, e.g. 5usd or 2Mtok",
    )  # fmt: skip
    run.add_argument(
        "--price", action="append", default=[], metavar="MODEL:input=USD,output=USD",
        help="what a million tokens of a model cost, where Snellen knows no price",
    )  # fmt: skip
    parser_executor.add(run)
    parser_controls.add_until(run)
    run.add_argument("--no-html", action="store_true", help="write no report.html")
    run.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    _variant(run)


def _questions(parser: Parser) -> None:
    """Which models are asked about what: the same for `run` and `plan`."""
    parser.add_argument(
        "-m", "--model", action="append", default=[], metavar="MODEL",
        help="provider/model[:key=value,...], e.g. snellen/tiny, hf/ORG/NAME:dtype=bfloat16, "
        "random; repeat for several",
    )  # fmt: skip
    parser.add_argument(
        "-b", "--benchmark", action="append", required=True, metavar="BENCHMARK",
        help="a name such as eyechart or scienceqa:split=val, a suite such as openvlm-core, or a "
        "data file or TOML file of your own; repeat for several",
    )  # fmt: skip
    parser.add_argument(
        "--out", default="snellen-results", metavar="DIR", help="where runs are kept"
    )
    parser.add_argument(
        "--store", metavar="FILE", help="response store (default: OUT/store.sqlite)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask a random N of the samples")
    parser.add_argument("--seed", type=int, default=0, help="chooses the samples of --limit")
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help="longest reply, in tokens")
    parser.add_argument(
        "--extractor", action="append", default=[], metavar="MODEL",
        help="a model that reads the replies no rule can read; repeat to compare several",
    )  # fmt: skip
    parser.add_argument(
        "--judge", action="append", default=[], metavar="MODEL",
        help="a model that grades replies where a benchmark needs it; repeat for several, whose "
        "verdicts are put together",
    )  # fmt: skip
    parser.add_argument(
        "--clip", metavar="MODEL",
        help="a CLIP model that compares drawn pictures, e.g. clip/openai/clip-vit-large-patch14",
    )  # fmt: skip
    parser.add_argument(
        "--control", metavar="CONTROL",
        help="`blind` shows no picture (text-only models may be asked), `black` black ones, "
        "`blur[:PERCENT]` blurred ones, `wrong-image[:SEED]` those of other questions; "
        "`shuffled-options[:SEED]` reorders the options",
    )  # fmt: skip
    parser.add_argument("--load", action="append", default=[], metavar="FILE.py",
                        help="a Python file with a model or benchmark of your own")  # fmt: skip
    parser.add_argument("--rule", choices=RULES, help=_RULE)
    parser.add_argument(
        "--no-recipe", action="store_true",
        help="ask as the benchmark asks everybody, not as a model's authors prescribe",
    )  # fmt: skip


def _plan(commands: argparse._SubParsersAction[Parser]) -> None:
    plan = _command(commands, "plan", "plan", "tell what a run would ask, cost and lack")
    _questions(plan)
    plan.add_argument("--accuracy", type=float, metavar="SHARE",
                      help="share of passes taken to be right (default: 0.6)")  # fmt: skip
    plan.add_argument("--reply-tokens", type=int, metavar="N",
                      help="tokens a reply is taken to have (default: 64)")  # fmt: skip
    plan.add_argument("--picture-tokens", type=int, metavar="N",
                      help="tokens a picture is taken to have (default: 1000)")  # fmt: skip
    plan.add_argument("--price", metavar="PRICE",
                      help="dollars per million tokens, e.g. input=2.5,output=10")  # fmt: skip
    plan.add_argument("--probe", action="store_true",
                      help="send readers, judges and servers one small request each")  # fmt: skip
    plan.add_argument("--json", action="store_true", help="print one JSON object")
    _variant(plan)


def _variant(parser: Parser) -> None:
    parser.add_argument("--data", metavar="FILE", help="data to use in place of the benchmark's")
    parser.add_argument(
        "--columns", type=_pairs, metavar="ROLE=NAME,...",
        help="what your columns are called, e.g. question=text,gold=label",
    )  # fmt: skip
    parser.add_argument(
        "--circular", nargs="?", const="early", choices=CIRCULAR,
        help="ask every rotation of the options; `early` (default) stops at the first failed "
        "pass, `full` asks all, `off` asks once; MMBench is circular by itself",
    )  # fmt: skip
    parser.add_argument(
        "--failures", default="exclude", type=parser_compare.failure_rule, metavar=FAILURES,
        help="what failed and missing samples do to the score (default: left out, with a notice); "
        "with a share, it is withheld where more of them failed",
    )  # fmt: skip


def _score(commands: argparse._SubParsersAction[Parser]) -> None:
    score = _command(commands, "score", "score", "score recorded predictions, without a model")
    score.add_argument(
        "benchmark", metavar="BENCHMARK",
        help="a name, a data file, or one file that holds questions, answers and predictions",
    )  # fmt: skip
    score.add_argument(
        "--predictions", metavar="FILE",
        help="CSV, TSV, JSONL, JSON or XLSX; also VLMEvalKit's files, lmms-eval's sample logs, "
        "logs of Inspect, MME's result files or their folder, SEED-Bench's results.json",
    )  # fmt: skip
    score.add_argument(
        "--rule", choices=(*RULES, EVERY_RULE),
        help=f"{_RULE}; `{EVERY_RULE}` puts them side by side",
    )  # fmt: skip
    score.add_argument(
        "--where", type=_pairs, metavar="COLUMN=VALUE,...", help="score only these rows"
    )
    score.add_argument(
        "--judge", action="append", default=[], metavar="MODEL",
        help="a model that grades the replies where the benchmark needs it, or column:NAME for "
        "verdicts in the predictions file; repeat for several",
    )  # fmt: skip
    score.add_argument(
        "--store", metavar="FILE",
        help="where the verdicts of judges are kept (default: snellen-results/store.sqlite)",
    )  # fmt: skip
    score.add_argument("--json", action="store_true", help="print one JSON object")
    _variant(score)


def _report(commands: argparse._SubParsersAction[Parser]) -> None:
    report = _command(commands, "report", "report", "report finished runs")
    report.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder of runs")
    report.add_argument("--format", default="table", choices=FORMATS, help="default: table")
    report.add_argument("-o", "--output", metavar="FILE", help="write to a file")


def _label(commands: argparse._SubParsersAction[Parser]) -> None:
    label = _command(
        commands, "label", "label", "draw replies no rule could read, and compare with labels"
    )
    label.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder of runs")
    label.add_argument("-o", "--output", metavar="FILE.csv", help="the labelling sheet to write")
    label.add_argument("--share", type=float, default=0.1, help="share of the replies to draw")
    label.add_argument("--seed", type=int, default=0, help="chooses the replies")
    label.add_argument("--labels", metavar="FILE.csv", help="a filled sheet to compare with")


def _leaderboard(commands: argparse._SubParsersAction[Parser]) -> None:
    board = _command(commands, "leaderboard", "leaderboard", "rank models by each number they have")
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
    board.add_argument("--filter", metavar="FILTER", help=f"only {_FILTER}")
    board.add_argument("-o", "--output", metavar="FILE.svg", help="draw the boards too")
    board.add_argument(
        "--format", default="table", choices=("table", "json", "csv", "markdown"),
        help="default: table",
    )  # fmt: skip


def _parity(commands: argparse._SubParsersAction[Parser]) -> None:
    parity = _command(commands, "parity", "parity", "compare two backends of one model")
    parity.add_argument(
        "-m", "--model", action="append", required=True, metavar="MODEL",
        help="given twice, e.g. hf/ORG/NAME and vllm/ORG/NAME",
    )  # fmt: skip
    parity.add_argument("-b", "--benchmark", required=True, metavar="BENCHMARK",
                        help="where the questions come from")  # fmt: skip
    parity.add_argument("-n", "--limit", type=int, default=64, metavar="N",
                        help="ask a random N of the samples (default: 64)")  # fmt: skip
    parity.add_argument("--seed", type=int, default=0, help="chooses the samples")
    parity.add_argument("--max-new-tokens", type=int, metavar="N", help="longest reply, in tokens")
    parity.add_argument(
        "--tolerance", type=float, default=0.02, metavar="NATS",
        help="how far log-probabilities of one token may differ (default: 0.02)",
    )  # fmt: skip
    parity.add_argument("--out", default="snellen-results", metavar="DIR",
                        help="where replies and logs are kept")  # fmt: skip
    parity.add_argument(
        "--store", metavar="FILE", help="response store (default: OUT/store.sqlite)"
    )
    parity.add_argument("--load", action="append", default=[], metavar="FILE.py",
                        help="a Python file with a model or benchmark of your own")  # fmt: skip
    parity.add_argument(
        "--serve-timeout", type=float, metavar="SECONDS",
        help="how long a server may take until it is ready",
    )  # fmt: skip
    parity.add_argument("--json", action="store_true", help="print one JSON object")


def _export(commands: argparse._SubParsersAction[Parser]) -> None:
    export = _command(commands, "export", "export", "write runs in a benchmark's own formats")
    export.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder of runs")
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


def _look_up(commands: argparse._SubParsersAction[Parser]) -> None:
    known = _command(commands, "list", "lookup", "list what is known by name")
    known.add_argument("what", choices=("models", "benchmarks", "suites"), help="what to list")
    known.add_argument("--filter", metavar="FILTER", help=_FILTER)
    known.add_argument("--json", action="store_true", help="print JSON")
    info = _command(commands, "info", "lookup", "tell about a model or a benchmark")
    info.add_argument("name", help="a model, a benchmark, a suite or a data file")
    info.set_defaults(what="info")
    doctor = _command(commands, "doctor", "doctor", "check this installation")
    doctor.add_argument("--json", action="store_true", help="print JSON")


def _data(commands: argparse._SubParsersAction[Parser]) -> None:
    data = _command(commands, "data", "data", "fetch, check, convert and describe data files")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    pull = actions.add_parser(
        "pull", help="fetch and index the data of benchmarks, several at once"
    )
    pull.add_argument("benchmarks", nargs="+", metavar="BENCHMARK",
                      help="a name, e.g. scienceqa:split=val")  # fmt: skip
    for name, help in (
        ("verify", "open every picture and check ids and answers"),
        ("info", "rows, columns, pictures, kinds of question"),
    ):
        action = actions.add_parser(name, help=help)
        action.add_argument("data", help="a data file, or a benchmark's name")
        action.add_argument("--json", action="store_true", help="print JSON")
    check = actions.add_parser(
        "check", help="all that is wrong or doubtful in data of your own, with row numbers"
    )
    check.add_argument("data", help="a data file, its TOML description, or a benchmark's name")
    check.add_argument("--columns", type=_pairs, metavar="ROLE=NAME,...",
                       help="what your columns are called")  # fmt: skip
    check.add_argument("--json", action="store_true", help="print JSON")
    convert = actions.add_parser("convert", help="TSV, JSONL or Parquet into one another")
    convert.add_argument("data", help="a data file, or a benchmark's name")
    convert.add_argument("target", help="the file to write; its suffix tells the format")


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise argparse.ArgumentTypeError(f"{pair!r} is not of the form key=value")
        pairs[key.strip()] = value
    return pairs
