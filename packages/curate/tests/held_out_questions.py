"""How often `snellen curate duplicates` leaves out a question that asks something else.

    python packages/curate/tests/held_out_questions.py CHECKOUTS [--drops FILE] [--part tuned]

Prints the tables of docs/curate/evidence.md, on questions of others. CHECKOUTS is a folder of
clones, each named as its repository. `held_out_questions.toml` names for each file the repository,
its commit, the licence and the digest of the bytes; another digest is refused. Nothing of these
files is stored here. `--drops` writes every pair that is left out or listed from a set without
labels, to be read. `--part tuned` shows the halves on which the lists of `question_words.toml` were
written.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import random
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from rapidfuzz import fuzz

from snellen.stats.intervals import wilson
from snellen_curate.duplicates.compare_items import ItemFacts, TextThresholds, compare_content, relate
from snellen_curate.duplicates.find import find_duplicates
from snellen_curate.duplicates.report import DuplicateReport
from snellen_curate.duplicates.texts import differ_in_numbers, jaccard, normalise_text, shared_ends, shingles, tokens

SOURCES = Path(__file__).with_name("held_out_questions.toml")
THRESHOLDS = TextThresholds()
_OPTION = re.compile(r"[A-E]\. ")


class Pair(NamedTuple):
    """Two texts and whether people called them the same."""

    left: str
    right: str
    same: bool


class Asked(NamedTuple):
    """A question about a picture, its options by letter, and its key if the file has it."""

    image: str
    question: str
    key: str
    options: Mapping[str, str]


class Counts(NamedTuple):
    """Of labelled pairs: how many there are and are the same, and what each rule takes for the
    same: pairs, of which are different."""

    pairs: int
    same: int
    dropped: tuple[int, int]
    listed: int
    """Pairs that are the same and are possible duplicates."""
    words: tuple[int, int]
    letters: tuple[int, int]
    jaccard: tuple[int, int]


def read_source(source: Mapping[str, Any], checkouts: Path) -> bytes:
    """The file of a source, from the clone's commit. Raises ValueError for another digest."""
    name = source["repository"].rsplit("/", 1)[-1]
    what = f"{source['commit']}:{source['path']}"
    data = subprocess.run(["git", "-C", str(checkouts / name), "show", what], check=True, capture_output=True).stdout
    digest = hashlib.sha256(data).hexdigest()
    if digest != source["sha256"]:
        raise ValueError(f"{name} {what}: sha256 {digest}, expected {source['sha256']}")
    return data


def read_pairs(data: bytes, source: Mapping[str, Any]) -> list[Pair]:
    """Labelled pairs of a table; rows without a label, and pairs that differ in spaces alone, are
    left out: the same text cannot ask something else, whatever its label."""
    text = data.decode("utf-8-sig", "replace")
    left, right, label = source["columns"]
    if source["format"] == "csv":
        rows: Iterator[Sequence[str]] = csv.reader(io.StringIO(text))
    else:
        rows = (line.split("\t") for line in text.split("\n"))
    pairs = [
        Pair(row[left], row[right], row[label].strip() == "1")
        for row in rows
        if len(row) > max(source["columns"]) and row[label].strip() in ("0", "1")
    ]
    first, last = source.get("rows", (0, len(pairs)))
    return [pair for pair in pairs[first:last] if "".join(pair[0].split()) != "".join(pair[1].split())]


def read_questions(data: bytes, source: Mapping[str, Any]) -> list[Asked]:
    """Questions of a JSON array or JSON Lines."""
    text = data.decode()
    rows = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
    alone = source.get("pictures") == "none"
    return [_read_row(row, source) for row in rows if not (alone and "image" in row)]


def _read_row(row: Mapping[str, Any], source: Mapping[str, Any]) -> Asked:
    key = row.get("label", "")
    if "conversations" in row:
        question, key = (turn["value"] for turn in row["conversations"])
    else:
        question = row["text"]
    # TextVQA's prompts of LLaVA repeat what OCR read in the picture.
    lines = [line for line in question.split("\n") if not line.startswith("Reference OCR")]
    options = {line[0]: line[3:] for line in lines if _OPTION.match(line)}
    text = "\n".join(line for line in lines if not _OPTION.match(line)) + source.get("suffix", "")
    return Asked(str(row.get("image", "")), text, key, options)


def count_pairs(pairs: Sequence[Pair]) -> Counts:
    """What each rule takes for the same; all pairs are as if asked about one picture, without a
    key that could tell them apart."""
    texts = [facts for pair in pairs for facts in (_facts(pair.left), _facts(pair.right))]
    words = [facts.question.split() for facts in texts]
    for facts, own, (first, last) in zip(texts, words, shared_ends(words), strict=True):
        facts.core = " ".join(own[first:last]) or facts.question
    taken = {name: [0, 0] for name in ("dropped", "words", "letters", "jaccard")}
    listed = 0
    for place, pair in enumerate(pairs):
        left, right = texts[2 * place], texts[2 * place + 1]
        relation = relate(left, right, True, THRESHOLDS)
        listed += pair.same and relation is not None and relation.kind == "possible duplicate"
        letters = max(fuzz.ratio(left.core, right.core), fuzz.partial_ratio(left.core, right.core))
        verdicts = {
            "dropped": relation is not None and relation.kind == "duplicate",
            "words": compare_content(left.content, right.content) == "same",
            "letters": letters >= 100 * THRESHOLDS.characters,
            "jaccard": _were_near(pair),
        }
        for name, verdict in verdicts.items():
            taken[name][0] += verdict
            taken[name][1] += verdict and not pair.same
    return Counts(
        len(pairs),
        sum(pair.same for pair in pairs),
        _two(taken["dropped"]),
        listed,
        _two(taken["words"]),
        _two(taken["letters"]),
        _two(taken["jaccard"]),
    )


def find_in(asked: Sequence[Asked], folder: Path) -> DuplicateReport:
    """What the command finds among questions, each picture of which is drawn: only which questions
    are about one picture counts."""
    numbers: dict[str, int] = {}
    lines = []
    for place, one in enumerate(asked):
        row = {"index": str(place), "question": one.question, "answer": one.key, **one.options}
        if one.image:
            number = numbers.setdefault(one.image, len(numbers))
            row["image"] = str(_draw(number, folder))
        lines.append(json.dumps(row) + "\n")
    path = folder / "questions.jsonl"
    path.write_text("".join(lines))
    return find_duplicates(path, processes=1).report


def labelled_table(counts: Mapping[str, Counts]) -> Iterator[str]:
    """One row a set, and one for all."""
    yield (
        "| set | pairs | the same | left out | wrong | precision | recall | listed | words alone "
        "| letters alone | Jaccard ≥ 0.8 |"
    )
    yield "| --- | " + "---: | " * 9 + "---: |"
    rows = {**counts, "all": _sum(counts.values())}
    for name, one in rows.items():
        dropped, wrong = one.dropped
        low = wilson(dropped - wrong, dropped).low if dropped else 0.0
        precision = f"{_share(dropped - wrong, dropped)} (from {100 * low:.1f})" if dropped else "–"
        shares = (_share(dropped - wrong, one.same), _share(one.listed, one.same))
        alone = (f"{wrong:,} of {taken:,}" for taken, wrong in (one.words, one.letters, one.jaccard))
        cells = (name, f"{one.pairs:,}", f"{one.same:,}", f"{dropped:,}", f"{wrong:,}", precision, *shares, *alone)
        yield f"| {' | '.join(cells)} |"


def unlabelled_row(name: str, asked: Sequence[Asked], report: DuplicateReport) -> str:
    equal = sum(pair.rule == "same question" for pair in report.duplicates)
    cells = (
        name,
        len(asked),
        len({one.image for one in asked} - {""}),
        len(report.exclusions),
        equal,
        len(report.duplicates) - equal,
        len(report.possible),
    )
    return f"| {' | '.join(str(cell) if isinstance(cell, str) else f'{cell:,}' for cell in cells)} |"


def drop_lines(name: str, asked: Sequence[Asked], report: DuplicateReport) -> Iterator[str]:
    """Every pair that is left out or listed, to be read."""
    for pair in (*report.duplicates, *report.possible):
        left, right = (asked[int(place)].question for place in (pair.left, pair.right))
        yield json.dumps([name, pair.kind, pair.rule, left, right], ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--sources", type=Path, default=SOURCES)
    parser.add_argument("--part", choices=("tuned", "held out"), default="held out")
    parser.add_argument("--drops", type=Path)
    parser.add_argument("--only", default="")
    typed = parser.parse_args(arguments)
    sources = tomllib.loads(typed.sources.read_text())
    counts: dict[str, Counts] = {}
    for source in sources.get("labelled", ()):
        if source.get("part", "held out") == typed.part and typed.only in source["name"]:
            pairs = read_pairs(read_source(source, typed.checkouts), source)
            counts[source["name"]] = count_pairs(pairs)
    print(*labelled_table(counts), sep="\n")
    print("\n| set | questions | pictures | left out | same text | near | listed |")
    print("| --- | " + "---: | " * 5 + "---: |")
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for source in sources.get("unlabelled", ()):
            if typed.only in source["name"]:
                asked = read_questions(read_source(source, typed.checkouts), source)
                report = find_in(asked, Path(folder))
                print(unlabelled_row(source["name"], asked, report), flush=True)
                lines += drop_lines(source["name"], asked, report)
    if typed.drops:
        typed.drops.write_text("".join(f"{line}\n" for line in lines))
    return 0


def _facts(text: str) -> ItemFacts:
    nothing = frozenset[str]()
    return ItemFacts("", "open", (), normalise_text(text), nothing, nothing, text, "")


def _were_near(pair: Pair) -> bool:
    """The rule up to commit f5370bcc: how much is alike."""
    left, right = tokens(pair.left), tokens(pair.right)
    alike = jaccard(shingles(left), shingles(right)) >= THRESHOLDS.similarity
    return alike and not differ_in_numbers(left, right)


def _draw(number: int, folder: Path) -> Path:
    path = folder / f"{number:05d}.png"
    if not path.exists():
        noise = random.Random(number)
        image = Image.new("RGB", (12, 12))
        image.putdata([tuple(noise.randrange(256) for _ in "rgb") for _ in range(144)])
        image.resize((96, 72), Image.Resampling.BICUBIC).save(path)
    return path


def _sum(counts: Iterable[Counts]) -> Counts:
    every = list(counts)
    one = {name: sum(getattr(one, name) for one in every) for name in ("pairs", "same", "listed")}

    def both(name: str) -> tuple[int, int]:
        taken = [getattr(one, name) for one in every]
        return sum(one[0] for one in taken), sum(one[1] for one in taken)

    return Counts(**one, dropped=both("dropped"), words=both("words"), letters=both("letters"), jaccard=both("jaccard"))


def _two(values: Sequence[int]) -> tuple[int, int]:
    return values[0], values[1]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


if __name__ == "__main__":
    raise SystemExit(main())
