"""Scoring recorded predictions through `snellen.score`."""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

from benchmarks.perf.figures import Part, Size, figure, profiled, seconds
from benchmarks.perf.many_runs import RUNS, decode_lines, leaderboard_seconds, make_runs

import snellen

METHOD = (
    "Choice questions in a TSV without pictures, and a CSV of replies: bare letters, sentences, "
    "option texts, and some that nobody can read. The bare loop reads both files and compares "
    "the reply's first letter with the gold. The leaderboards are commands, start included: of "
    f"{RUNS} runs of as many questions each, ended or killed. Of ended ones the scores are read, "
    "from which ranks have their intervals and letters, from the second time on out of the "
    "catalogue; a killed one has no numbers, so all its samples are summed up, and the numbers "
    "kept there. All of it grows with the number of replies and with their "
    "length, not with the number of options or pictures: no picture is opened, and no prompt is "
    "made. Counted in instructions, which a busy machine does not change (Callgrind, 2,000 further "
    "such replies to questions that are indexed, 2026-11-30), a reply takes 118 thousand, and the "
    "bare loop 31 thousand, a quarter; nearly all of them are of Python's interpreter. What a reply "
    "means is read by rules, "
    "which the bare loop does not."
)
SCORE_BAR = 6.0
"""Times the bare loop."""
ENDED_BAR, KILLED_BAR = 1.5, 4.0
"""Times decoding every line."""
_COLOURS = ("red", "green", "blue", "white", "black", "yellow", "orange", "purple")


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        data, replies = Path(folder, "questions.tsv"), Path(folder, "replies.csv")
        write_questions(data, size.rows)
        write_replies(data, replies)
        bare, scored = [], []
        first = seconds(lambda: snellen.score(str(data), replies))
        for _ in range(size.repeats):
            bare.append(seconds(lambda: bare_loop(data, replies)))
            scored.append(seconds(lambda: snellen.score(str(data), replies)))
        made = [make_runs(data, Path(folder, "runs"), killed=killed) for killed in (False, True)]
        ended, decoded, killed = [], [], []
        summed = seconds(lambda: leaderboard_seconds(made[1]))
        for _ in range(min(size.repeats, 3)):
            ended.append(leaderboard_seconds(made[0]))
            lines = list(made[1].glob("*/samples.jsonl"))
            decoded.append(seconds(lambda lines=lines: [decode_lines(one) for one in lines]))
            killed.append(leaderboard_seconds(made[1]))
        limits = profiled(lambda: snellen.score(str(data), replies))
    figures = (
        figure("bare loop", "s", bare),
        figure("snellen.score, first time", "s", [first]),
        figure("snellen.score", "s", scored, reference="bare loop", against=bare, ratio_bar=SCORE_BAR),
        figure("decoding every line of the runs", "s", decoded),
        figure(
            f"leaderboard of {RUNS} ended runs",
            "s",
            ended,
            reference="decoding every line of the runs",
            against=decoded,
            ratio_bar=ENDED_BAR,
        ),
        figure(
            f"leaderboard of {RUNS} killed runs, first time",
            "s",
            [summed],
            reference="decoding every line of the runs",
            against=decoded[:1],
            ratio_bar=KILLED_BAR,
        ),
        figure(
            f"leaderboard of {RUNS} killed runs",
            "s",
            killed,
            reference="decoding every line of the runs",
            against=decoded,
            ratio_bar=ENDED_BAR,
        ),
    )
    return Part("scoring", f"Scoring {size.rows:,} predictions", METHOD, figures, limits)


def write_questions(path: Path, rows: int) -> None:
    """Four options a row, in twenty categories."""
    draw = random.Random(1)
    with path.open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["index", "question", *"ABCD", "answer", "category"])
        for number in range(rows):
            options = draw.sample(_COLOURS, 4)
            gold = draw.choice("ABCD")
            question = f"What color is thing number {number}?"
            table.writerow([number, question, *options, gold, f"category {number % 20}"])


def write_replies(data: Path, path: Path) -> None:
    draw = random.Random(2)
    with data.open(newline="") as source, path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["index", "prediction"])
        for row in csv.DictReader(source, delimiter="\t"):
            label = draw.choice("ABCD")
            replies = (
                label,
                f"{label}. {row[label]}",
                f"The answer is {label}.",
                f"It looks {row[label]} to me.",
                "I would rather not say which of them it is.",
            )
            table.writerow([row["index"], draw.choices(replies, (4, 3, 2, 1, 1))[0]])


def bare_loop(data: Path, replies: Path) -> float:
    with data.open(newline="") as file:
        gold = {row["index"]: row["answer"] for row in csv.DictReader(file, delimiter="\t")}
    with replies.open(newline="") as file:
        right = [row["prediction"][:1] == gold[row["index"]] for row in csv.DictReader(file)]
    return sum(right) / len(right)
