"""The flags of `snellen analyse`."""

from __future__ import annotations

import argparse

from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import RUNS, Commands

_SOURCES = (
    f"{RUNS}; or one CSV of scores: model, then a column for each group, or model, subtask, "
    "accuracy"
)


def add(commands: Commands) -> None:
    analyse = flags.command(commands, "analyse", "what stands behind the numbers of finished runs")
    actions = analyse.add_subparsers(
        title="analyses", metavar="ANALYSIS", required=True, dest="analysis"
    )
    _action(actions, "letters", "letters chosen against gold, and a test of preferred places")
    refusals = _action(actions, "refusals", "refusals by group, and the score without them")
    flags.group(refusals)
    _action(actions, "steps", "replies read after each step: label, content, language model")
    _abilities(actions)
    _radar(actions)
    _languages(actions)
    pairs = _action(
        actions, "yes-no", "not following, contradictory pairs, bias to yes, broken reasoning"
    )
    flags.group(pairs, default="")
    _errors(actions)
    _readers(actions)


def _action(
    actions: Commands, name: str, help: str, sources: str = RUNS, least: str = "+"
) -> argparse.ArgumentParser:
    parser = flags.command(actions, name, help, "analyse")
    parser.add_argument("sources", nargs=least, metavar="RUN" if sources is RUNS else "SOURCE",
                        help=sources)  # fmt: skip
    flags.drawn(parser)
    flags.as_json(parser)
    return parser


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", action="append", default=[], metavar="MODEL",
                        help="only this model, in this order; repeat for several")  # fmt: skip
    parser.add_argument("--only", metavar="GROUP,...", default="",
                        help="only these groups, in this order")  # fmt: skip


def _abilities(actions: Commands) -> None:
    parser = _action(
        actions, "abilities", "groups by the best score of any model, and samples all have wrong",
        _SOURCES,
    )  # fmt: skip
    flags.group(parser)
    _models(parser)
    parser.add_argument("--hardest", type=int, default=4, metavar="N",
                        help="show samples of the N hardest groups (default: 4)")  # fmt: skip
    parser.add_argument("--samples", type=int, default=3, metavar="N",
                        help="samples of each (default: 3)")  # fmt: skip
    parser.add_argument("--cards", metavar="FILE.svg",
                        help="draw these samples with their pictures")  # fmt: skip


def _radar(actions: Commands) -> None:
    parser = _action(actions, "radar", "models over groups, and where each is strong or weak",
                     _SOURCES)  # fmt: skip
    flags.group(parser)
    _models(parser)
    parser.add_argument("--rows", action="store_true",
                        help="draw groups as rows, not around a centre")  # fmt: skip


def _languages(actions: Commands) -> None:
    parser = _action(
        actions, "languages", "English beside Chinese, model by model",
        f"{RUNS}, in both languages; or two CSV files of scores, English first",
    )  # fmt: skip
    parser.add_argument("--of", default="overall", metavar="COLUMN",
                        help="the column of the CSV files (default: overall)")  # fmt: skip


def _errors(actions: Commands) -> None:
    parser = _action(
        actions, "errors", "a page to label why answers are wrong, and what the labels amount to",
        f"{RUNS}; or saved labels (.json, .csv), to count them and see how far labellers agree",
    )  # fmt: skip
    flags.group(parser)
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
    flags.moved_data(parser)


def _readers(actions: Commands) -> None:
    parser = _action(
        actions, "readers", "precision and recall of the rules that read replies, on labelled ones",
        f"{RUNS}, whose language models that read replies are compared with --labels", least="*",
    )  # fmt: skip
    parser.add_argument("--labels", metavar="FILE.csv",
                        help="a filled sheet of `snellen label`")  # fmt: skip
