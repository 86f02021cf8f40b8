"""Precision and recall of Snellen's readers on labelled replies of real models.

    python docs/measure_readers.py GOLDEN_FOLDER   counts anew into reading_quality.json

The golden folder holds published predictions with the options that others read from them; it is
not part of the repository, because its sets have licences of their own. Counts alone are stored.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import snellen.analysis
from snellen.analysis.reading_quality import COUNTS, Labelled, Quality, Reader, measured
from snellen.core.answer import Answer, Found
from snellen.extract.choice import read_choice
from snellen.extract.rules_vlmevalkit import read_choice_vlmevalkit, read_yes_no_vlmevalkit
from snellen.extract.yes_no import NO, YES, YesNoRule, read_yes_no

LETTERS = "ABCD"
BLINK = "GPT-3.5 (BLINK validation, 11 systems)"
MMMU = "MMMU's parser (validation, 2 systems)"
VECTORS = "lighteval's tests"
TEMPCOMPASS = "TempCompass' rule, then ChatGPT (3 systems)"


def counted(golden: Path) -> list[Quality]:
    """Every reader on every set it can read."""
    choice: Mapping[str, Reader] = {"snellen": read_choice, "vlmevalkit": read_choice_vlmevalkit}
    sets = {BLINK: _blink, MMMU: _mmmu, VECTORS: _vectors}
    found = [
        measured(reader, "choice", labelled_by, read, replies(golden))
        for labelled_by, replies in sets.items()
        for reader, read in choice.items()
    ]
    yes_no: Mapping[str, Reader] = {
        **{rule: _yes_no(rule) for rule in ("word", "official", "paper")},
        "vlmevalkit": lambda text, options: read_yes_no_vlmevalkit(text),
    }
    return found + [
        measured(reader, "yes_no", TEMPCOMPASS, read, _tempcompass(golden))
        for reader, read in yes_no.items()
    ]


def _yes_no(rule: YesNoRule) -> Reader:
    return lambda text, options: read_yes_no(text, rule)


def _blink(golden: Path) -> Iterator[Labelled]:
    for file in sorted((golden / "blink_val").glob("*.jsonl.gz")):
        for row in _rows(file):
            label = (row["prediction"] or "")[1:2]
            yield Labelled(row["full_prediction"] or "", {}, label if label in LETTERS else None)


def _mmmu(golden: Path) -> Iterator[Labelled]:
    for file in sorted((golden / "mmmu_val").glob("*.jsonl")):
        for row in _rows(file):
            if row["question_type"] == "multiple-choice":
                label = None if row["official_random_fallback"] else row["official_parsed"]
                yield Labelled(row["response"], row["index2ans"], label)


def _vectors(golden: Path) -> Iterator[Labelled]:
    file = golden / "extraction_test_vectors" / "lighteval_extractive_match.jsonl"
    for row in _rows(file):
        if row["match_types"] == ["NativeLetters"] and row["expected"]:
            yield Labelled(
                row["pred"], {}, _letter(read_choice(row["gold"], {})) or row["gold"][:1]
            )


def _tempcompass(golden: Path) -> Iterator[Labelled]:
    for file in sorted((golden / "tempcompass").glob("*_yes_no.jsonl.gz")):
        for row in _rows(file):
            gold = row["gt-answer"].capitalize()
            other = NO if gold == YES else YES
            yield Labelled(row["video-llm-prediction"] or "", {}, gold if row["rating"] else other)


def _letter(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, Found) else None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    yield from map(json.loads, text.splitlines())


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = counted(Path(argv[0]))
    path = Path(snellen.analysis.__path__[0]) / COUNTS
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
