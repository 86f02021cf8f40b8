"""Measures a checkpoint: `python -m training.tiny.evaluate FOLDER` writes FOLDER/evaluation.json.

Two sets of questions that training never saw: the bundled benchmark, and a larger one of the same
kind from other seeds. The model runs as users run it: AutoProcessor, chat template, generate.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from training.tiny.eyechart import FAMILIES, SEED, Amounts, Row, build
from training.tiny.prompts import LETTERS, multiple_choice
from training.tiny.runner import Prompt, Runner

OPEN_ENDING = "\nAnswer the question using a single word or phrase."
HELDOUT_SEED = 777
HELDOUT = Amounts(four=72, three=9, two=6, pairs=30, open=60)


def measure(runner: Runner, rows: list[Row]) -> dict[str, object]:
    """All accuracies of one set of questions, by ability and over all."""
    blind = other_pictures(rows)
    found: dict[str, list[dict[str, float]]] = {ability: [] for ability in FAMILIES}
    letters = dict.fromkeys(LETTERS, 0)
    letters["other"] = 0
    choices = [row for row in rows if row.type == "mcq"]
    for row, facts, first in _measure_choices(runner, choices, blind):
        found[row.category].append(facts)
        letters[first if first in LETTERS else "other"] += 1
    for row, facts in _measure_words(runner, [r for r in rows if r.type != "mcq"], blind):
        found[row.category].append(facts)
    everything = [facts for group in found.values() for facts in group]
    return {
        "questions": len(rows),
        "letters_chosen": letters,
        "all": summary(everything),
        "abilities": {ability: summary(group) for ability, group in found.items()},
    }


def summary(facts: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean of every measure over the questions that have it, and their number."""
    told: dict[str, float] = {}
    for name in dict.fromkeys(key for fact in facts for key in fact):
        values = [fact[name] for fact in facts if name in fact]
        told[name] = round(sum(values) / len(values), 4)
    for kind, name in (("mcq", "vanilla"), ("yes_no", "yes_no"), ("open", "open")):
        told[f"{kind}_n"] = sum(name in fact for fact in facts)
    return told


def other_pictures(rows: list[Row]) -> dict[int, Row]:
    """For every row the next one of its ability, type and number of pictures: the blind control."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.category, row.type, len(row.scenes)), []).append(row)
    step = {"mcq": 1, "open": 1, "yes_no": 2}
    return {
        row.index: group[(place + step[row.type]) % len(group)]
        for group in groups.values()
        for place, row in enumerate(group)
    }


def _measure_choices(runner: Runner, rows: list[Row], blind: dict[int, Row]) -> list[tuple[Row, dict[str, float], str]]:
    """Vanilla, circular, ranking and blind accuracy of multiple-choice rows, and the letter."""
    turned = [(row, shift) for row in rows for shift in range(len(row.options))]
    replies = runner.generate([_choice_prompt(row, row, shift) for row, shift in turned])
    right: dict[int, list[bool]] = {row.index: [] for row in rows}
    first: dict[int, str] = {}
    for (row, shift), reply in zip(turned, replies, strict=True):
        gold = (LETTERS.index(row.answer) - shift) % len(row.options)
        right[row.index].append(reply == LETTERS[gold])
        first.setdefault(row.index, reply)
    unseen = runner.generate([_choice_prompt(row, blind[row.index], 0) for row in rows])
    ranked = runner.rank([(_open_prompt(row, row), list(row.options)) for row in rows])
    found = []
    for row, reply, best in zip(rows, unseen, ranked, strict=True):
        facts = {
            "vanilla": float(right[row.index][0]),
            "circular": float(all(right[row.index])),
            "rank": float(LETTERS[best] == row.answer),
            "blind": float(reply == row.answer),
            "chance": 1 / len(row.options),
        }
        found.append((row, facts, first[row.index]))
    return found


def _measure_words(runner: Runner, rows: list[Row], blind: dict[int, Row]) -> list[tuple[Row, dict[str, float]]]:
    """Accuracy of yes/no and open rows, with their own and with another picture."""
    replies = runner.generate([_open_prompt(row, row) for row in rows])
    unseen = runner.generate([_open_prompt(row, blind[row.index]) for row in rows])
    by_index = {row.index: reply == row.answer for row, reply in zip(rows, replies, strict=True)}
    found = []
    for row, reply in zip(rows, unseen, strict=True):
        facts = {row.type: float(by_index[row.index]), f"{row.type}_blind": float(reply == row.answer)}
        if row.same_as is not None:
            facts["both_of_pair"] = float(by_index[row.index] and by_index[row.same_as])
        found.append((row, facts))
    return found


def _choice_prompt(row: Row, shown: Row, shift: int) -> Prompt:
    options = [*row.options[shift:], *row.options[:shift]]
    return Prompt(shown.scenes, multiple_choice(row.question, options, "select"))


def _open_prompt(row: Row, shown: Row) -> Prompt:
    ending = " Please answer yes or no." if row.type == "yes_no" else OPEN_ENDING
    return Prompt(shown.scenes, row.question + ending)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="the benchmark only; print, no file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    started = time.monotonic()
    runner = Runner(args.folder)
    found = {"eyechart": measure(runner, build("test", SEED))}
    if not args.quick:
        found["heldout"] = measure(runner, build("heldout", HELDOUT_SEED, HELDOUT))
        path = args.folder / "evaluation.json"
        path.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    for name, told in found.items():
        print(name, json.dumps(told, indent=1))
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
