"""`snellen curate ACTION`: a file per action, with `add(parser)` and `main(arguments)`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.actions import add_actions, run_action

ACTIONS: dict[str, str] = {
    "questions": "make questions from pictures, videos, captions or labelled data",
    "pictures": "look at a folder of pictures first: quality, copies, places, faces, licences",
    "metadata": "write what is known about the pictures of a data set as metadata records",
    "statistics": "count words, options and media, and test what can be guessed without looking",
    "duplicates": "find items, pictures and texts that stand twice, or in other sets",
    "filter": "flag items that models answer without the picture, or that no model answers with it",
    "review": "have people decide about items, on a page for several annotators",
    "translate": "make a sibling of a data set in another language, or check one",
    "publish": "write a data set as a benchmark: files, card, licences, checksums, sealed answers",
    "diff": "show what changed between two versions, and which stored scores still hold",
    "run": "run the steps of a recipe, one after the other; goes on after any stop",
}
"""Actions and their help lines. `NAME.py` in this folder is the action NAME."""


def add(parser: ArgumentParser) -> None:
    add_actions(parser, __name__, ACTIONS)


def main(arguments: Namespace) -> int:
    return run_action(arguments, __name__)
