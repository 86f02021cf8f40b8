"""Writes the bundled benchmark: `python -m training.tiny.eyechart [--out FILE]`. With another
`--seed` and `--times`, more of its kind.

Nine abilities in four families; pictures come from seeds that training never uses. The columns
are VLMEvalKit's: an `image` cell holds one base64 PNG, a JSON list of them, or the `index` of an
earlier row that shows the same pictures.
"""

from __future__ import annotations

import argparse
import base64
import csv
import json
import random
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from training.tiny.drawing import draw, png
from training.tiny.prompts import LETTERS
from training.tiny.questions import ASK, Question
from training.tiny.several import ask_nth, ask_which, is_nth, is_which
from training.tiny.statements import CLAIM
from training.tiny.world import Scene, Split, sample_lettering, sample_scene, stream

FAMILIES = {
    "colour": "perception",
    "shape": "perception",
    "existence": "perception",
    "rendered_text": "perception",
    "count": "counting",
    "position": "spatial",
    "relation": "spatial",
    "nth_picture": "multi_image",
    "which_picture": "multi_image",
}
OPEN_ABILITIES = ("colour", "shape", "rendered_text", "count", "nth_picture")
MULTI = ("nth_picture", "which_picture")
SEED = 20260101
DATA = Path("src/snellen/benchmarks/data/eyechart.tsv")


@dataclass(frozen=True)
class Amounts:
    """Questions per ability: multiple choice by number of options, yes/no pairs, open."""

    four: int = 40
    three: int = 9
    two: int = 6
    pairs: int = 11
    open: int = 24

    def times(self, factor: int) -> Amounts:
        """So many times as many of each."""
        return Amounts(**{name: factor * amount for name, amount in asdict(self).items()})


@dataclass(frozen=True)
class Row:
    """One question of the file; `scenes` are what its pictures were drawn from."""

    index: int
    scenes: tuple[Scene, ...]
    same_as: int | None
    question: str
    options: tuple[str, ...]
    answer: str
    type: str
    category: str

    @property
    def family(self) -> str:
        """The parent ability."""
        return FAMILIES[self.category]


def build(split: Split = "test", seed: int = SEED, amounts: Amounts | None = None) -> list[Row]:
    """All rows in file order: shuffled, the two of a yes/no pair together."""
    groups: list[list[Row]] = []
    for number, ability in enumerate(FAMILIES):
        rng = stream(split, seed, number)
        groups += _choices(ability, amounts or Amounts(), rng)
        groups += [_pair(ability, rng) for _ in range((amounts or Amounts()).pairs)]
        if ability in OPEN_ABILITIES:
            groups += [[_open(ability, rng)] for _ in range((amounts or Amounts()).open)]
    stream(split, seed, len(FAMILIES)).shuffle(groups)
    rows: list[Row] = []
    for group in groups:
        first = len(rows) + 1
        for offset, row in enumerate(group):
            rows.append(replace(row, index=first + offset, same_as=first if offset else None))
    return rows


def write(rows: list[Row], path: Path) -> None:
    """The rows as a tab separated file."""
    header = ["index", "image", "question", "hint", *LETTERS, "answer", "type", "category"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow([*header, "l2-category", "split"])
        for row in rows:
            cells = [row.index, _image_cell(row), row.question, ""]
            cells += [*row.options, *[""] * (len(LETTERS) - len(row.options))]
            writer.writerow([*cells, row.answer, row.type, row.category, row.family, "test"])


def _image_cell(row: Row) -> str:
    if row.same_as is not None:
        return str(row.same_as)
    pictures = [base64.b64encode(png(draw(scene))).decode() for scene in row.scenes]
    return pictures[0] if len(pictures) == 1 else json.dumps(pictures)


def _choices(ability: str, amounts: Amounts, rng: random.Random) -> list[list[Row]]:
    """Multiple-choice rows; for each number of options the right letters are used equally."""
    plan = [(4, amounts.four), (3, amounts.three), (2, amounts.two)]
    if ability == "which_picture":
        plan = [(3, sum(n for _, n in plan) // 2), (2, sum(n for _, n in plan) // 2)]
    rows = []
    for n_options, n_rows in plan:
        for i in range(n_rows):
            rows.append([_choice(ability, n_options, i % n_options, rng)])
    return rows


def _choice(ability: str, n_options: int, gold: int, rng: random.Random) -> Row:
    n_pictures = n_options if ability == "which_picture" else rng.choice((2, 2, 3))
    scenes, asked = _ask(ability, n_pictures, rng)
    options = rng.sample(asked.wrong, n_options - 1)
    options.insert(gold, asked.answer)
    return _row(scenes, asked, "mcq", tuple(options), LETTERS[gold])


def _open(ability: str, rng: random.Random) -> Row:
    scenes, asked = _ask(ability, 2, rng)
    return _row(scenes, asked, "open", (), asked.answer)


def _ask(ability: str, n_pictures: int, rng: random.Random) -> tuple[tuple[Scene, ...], Question]:
    """New pictures until one of them allows a question about the ability."""
    while True:
        scenes = _scenes(ability, n_pictures, rng)
        if ability in MULTI:
            asked = (ask_nth if ability == "nth_picture" else ask_which)(scenes, rng)
        else:
            asked = ASK[ability](scenes[0], rng)
        if asked is not None:
            return scenes, asked


def _pair(ability: str, rng: random.Random) -> list[Row]:
    """Two questions on the same pictures, one right answer Yes and one No, in either order."""
    while True:
        scenes = _scenes(ability, rng.choice((2, 2, 3)), rng)
        truths = rng.sample((True, False), 2)
        if ability in MULTI:
            ask = is_nth if ability == "nth_picture" else is_which
            asked = [ask(scenes, rng, truth) for truth in truths]
        else:
            asked = [CLAIM[ability](scenes[0], rng, truth) for truth in truths]
        rows = [_row(scenes, a, "yes_no", (), a.answer) for a in asked if a is not None]
        if len(rows) == 2:
            return rows


def _scenes(ability: str, n_pictures: int, rng: random.Random) -> tuple[Scene, ...]:
    if ability in MULTI:
        return tuple(sample_scene(rng, most=4) for _ in range(n_pictures))
    return (sample_lettering(rng) if ability == "rendered_text" else sample_scene(rng),)


def _row(scenes: tuple[Scene, ...], asked: Question, kind: str, options: tuple[str, ...], answer: str) -> Row:
    return Row(0, scenes, None, asked.text, options, answer, kind, asked.ability)


def main() -> None:
    """Write the file and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--times", type=int, default=1, help="times as many questions")
    given = parser.parse_args()
    path: Path = given.out
    rows = build("test", given.seed, Amounts().times(given.times))
    write(rows, path)
    for kind in ("mcq", "yes_no", "open"):
        print(f"{kind:8}{sum(row.type == kind for row in rows):5}")
    print(f"{len(rows)} questions, {path.stat().st_size / 1e6:.2f} MB in {path}")


if __name__ == "__main__":
    main()
