"""All flags, in one place."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import NoReturn

from snellen import __version__

CIRCULAR = ("early", "full", "off")
FAILURES = ("exclude", "count-wrong", "withhold")
FORMATS = ("table", "json", "csv", "markdown", "latex", "html")


class Parser(argparse.ArgumentParser):
    """Argparse that suggests the flag or command meant."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        near = difflib.get_close_matches(unknown[1], self._every_flag()) if unknown else []
        if near:
            message += f" (did you mean {near[0]}?)"
        self.exit(2, f"snellen: {message}\ntry: {self.prog} --help\n")

    def _every_flag(self) -> list[str]:
        flags = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    flags += parser._option_string_actions
        return flags


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
    _score(commands)
    _report(commands)
    _look_up(commands)
    _data(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[Parser], name: str, module: str, help: str
) -> Parser:
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    parser.set_defaults(module=module)
    return parser


def _run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = _command(commands, "run", "run", "ask models about benchmarks and report")
    run.add_argument(
        "-m", "--model", action="append", required=True, metavar="MODEL",
        help="provider/model[:key=value,...], e.g. snellen/tiny, hf/ORG/NAME:dtype=bfloat16, "
        "random; repeat for several",
    )  # fmt: skip
    run.add_argument(
        "-b", "--benchmark", action="append", required=True, metavar="BENCHMARK",
        help="a name such as eyechart or scienceqa:split=val, or a data file of your own; "
        "repeat for several",
    )  # fmt: skip
    run.add_argument("--out", default="snellen-results", metavar="DIR", help="where runs are kept")
    run.add_argument("--store", metavar="FILE", help="response store (default: OUT/store.sqlite)")
    run.add_argument("--limit", type=int, metavar="N", help="ask a random N of the samples")
    run.add_argument("--seed", type=int, default=0, help="chooses the samples of --limit")
    run.add_argument("--max-new-tokens", type=int, metavar="N", help="longest reply, in tokens")
    run.add_argument("--extractor", metavar="MODEL",
                     help="a model that reads the replies no rule can read")  # fmt: skip
    run.add_argument("--load", action="append", default=[], metavar="FILE.py",
                     help="a Python file with a model or benchmark of your own")  # fmt: skip
    run.add_argument("--no-html", action="store_true", help="write no report.html")
    run.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    _variant(run)


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
        "--failures", default="exclude", choices=FAILURES,
        help="what failed and missing samples do to the score (default: left out, with a notice)",
    )  # fmt: skip


def _score(commands: argparse._SubParsersAction[Parser]) -> None:
    score = _command(commands, "score", "score", "score recorded predictions, without a model")
    score.add_argument("benchmark", metavar="BENCHMARK", help="a name, or a data file")
    score.add_argument(
        "--predictions", required=True, metavar="FILE", help="CSV, TSV, JSONL, JSON or XLSX"
    )
    score.add_argument(
        "--where", type=_pairs, metavar="COLUMN=VALUE,...", help="score only these rows"
    )
    score.add_argument("--json", action="store_true", help="print one JSON object")
    _variant(score)


def _report(commands: argparse._SubParsersAction[Parser]) -> None:
    report = _command(commands, "report", "report", "report finished runs")
    report.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or a folder of runs")
    report.add_argument("--format", default="table", choices=FORMATS, help="default: table")
    report.add_argument("-o", "--output", metavar="FILE", help="write to a file")


def _look_up(commands: argparse._SubParsersAction[Parser]) -> None:
    known = _command(commands, "list", "lookup", "list what is known by name")
    known.add_argument("what", choices=("models", "benchmarks"), help="what to list")
    known.add_argument("--json", action="store_true", help="print JSON")
    info = _command(commands, "info", "lookup", "tell about a model or a benchmark")
    info.add_argument("name", help="a model, a benchmark or a data file")
    info.set_defaults(what="info")
    doctor = _command(commands, "doctor", "doctor", "check this installation")
    doctor.add_argument("--json", action="store_true", help="print JSON")


def _data(commands: argparse._SubParsersAction[Parser]) -> None:
    data = _command(commands, "data", "data", "fetch, check, convert and describe data files")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    pull = actions.add_parser("pull", help="download a benchmark's data, checked")
    pull.add_argument("benchmark", help="a name, e.g. scienceqa:split=val")
    for name, help in (
        ("verify", "open every picture and check ids and answers"),
        ("info", "rows, columns, pictures, kinds of question"),
    ):
        action = actions.add_parser(name, help=help)
        action.add_argument("data", help="a data file, or a benchmark's name")
        action.add_argument("--json", action="store_true", help="print JSON")
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
