"""The flags of `snellen analyse`."""

from __future__ import annotations

import argparse
from typing import Any

_RUNS = "run folders, or a folder of runs"
_SOURCES = (
    f"{_RUNS}; or one CSV of scores: model, then a column for each group, or model, subtask, "
    "accuracy"
)


def add(commands: Any) -> None:
    help = "what stands behind the numbers of finished runs"
    analyse = commands.add_parser(
        "analyse", help=help, description=help[0].upper() + help[1:] + "."
    )
    actions = analyse.add_subparsers(
        title="analyses", metavar="ANALYSIS", required=True, dest="analysis"
    )
    _action(actions, "letters", "letters chosen against gold, and a test of preferred places")
    refusals = _action(actions, "refusals", "refusals by group, and the score without them")
    _group(refusals)
    _action(actions, "steps", "replies read after each step: label, content, language model")
    _abilities(actions)
    _radar(actions)
    _gain(actions)
    _languages(actions)
    pairs = _action(
        actions, "yes-no", "not following, contradictory pairs, bias to yes, broken reasoning"
    )
    _group(pairs, default="")
    _errors(actions)
    _readers(actions)


def _action(
    actions: Any, name: str, help: str, sources: str = _RUNS, least: str = "+"
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + "."
    )
    parser.set_defaults(module="analyse", parser=parser)
    parser.add_argument("sources", nargs=least, metavar="RUN" if sources is _RUNS else "SOURCE",
                        help=sources)  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE.svg", help="draw it: an SVG or PNG file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _group(parser: argparse.ArgumentParser, default: str = "category") -> None:
    parser.add_argument("--group", default=default, metavar="NAME",
                        help=f"by this grouping (default: {default or 'none'})")  # fmt: skip


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", action="append", default=[], metavar="MODEL",
                        help="only this model, in this order; repeat for several")  # fmt: skip
    parser.add_argument("--only", metavar="GROUP,...", default="",
                        help="only these groups, in this order")  # fmt: skip


def _abilities(actions: Any) -> None:
    parser = _action(
        actions, "abilities", "groups by the best score of any model, and samples all have wrong",
        _SOURCES,
    )  # fmt: skip
    _group(parser)
    _models(parser)
    parser.add_argument("--hardest", type=int, default=4, metavar="N",
                        help="show samples of the N hardest groups (default: 4)")  # fmt: skip
    parser.add_argument("--samples", type=int, default=3, metavar="N",
                        help="samples of each (default: 3)")  # fmt: skip
    parser.add_argument("--cards", metavar="FILE.svg",
                        help="draw these samples with their pictures")  # fmt: skip


def _radar(actions: Any) -> None:
    parser = _action(actions, "radar", "models over groups, and where each is strong or weak",
                     _SOURCES)  # fmt: skip
    _group(parser)
    _models(parser)
    parser.add_argument("--rows", action="store_true",
                        help="draw groups as rows, not around a centre")  # fmt: skip


def _gain(actions: Any) -> None:
    parser = _action(
        actions, "gain", "what one setting changes: runs that differ in it alone, paired"
    )
    parser.add_argument(
        "--by", required=True, metavar="PARAMETER",
        help="the setting, e.g. control (blind), images, referring, shots, lang",
    )  # fmt: skip
    parser.add_argument("--base", default="", metavar="VALUE",
                        help="compare with this value (default: none, else the first)")  # fmt: skip
    _group(parser, default="")


def _languages(actions: Any) -> None:
    parser = _action(
        actions, "languages", "English beside Chinese, model by model",
        f"{_RUNS}, in both languages; or two CSV files of scores, English first",
    )  # fmt: skip
    parser.add_argument("--of", default="overall", metavar="COLUMN",
                        help="the column of the CSV files (default: overall)")  # fmt: skip


def _errors(actions: Any) -> None:
    parser = _action(
        actions, "errors", "a page to label why answers are wrong, and what the labels amount to",
        f"{_RUNS}; or saved labels (.json, .csv), to count them and see how far labellers agree",
    )  # fmt: skip
    _group(parser)
    parser.add_argument("--page", metavar="FILE.html", default="errors.html",
                        help="the labelling page to write (default: errors.html)")  # fmt: skip
    parser.add_argument("--each", type=int, default=5, metavar="N",
                        help="wrong answers of each subtask and run (default: 5)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="chooses them (default: 0)")
    parser.add_argument("--judge", metavar="MODEL",
                        help="a model that labels them first; its labels are kept beside the page, "
                        "as FILE.judge.json")  # fmt: skip
    parser.add_argument("--store", metavar="FILE", default="snellen-results/store.sqlite",
                        help="where the judge's replies are kept "
                        "(default: snellen-results/store.sqlite)")  # fmt: skip


def _readers(actions: Any) -> None:
    parser = _action(
        actions, "readers", "precision and recall of the rules that read replies, on labelled ones",
        f"{_RUNS}, whose language models that read replies are compared with --labels", least="*",
    )  # fmt: skip
    parser.add_argument("--labels", metavar="FILE.csv",
                        help="a filled sheet of `snellen label`")  # fmt: skip
