"""How often the rules of `snellen curate translate` are wrong, on translations that people made.

    python packages/curate/tests/held_out_translations.py CHECKOUTS [--to de] [--part tuned]

Prints the tables of docs/curate/evidence.md. CHECKOUTS is a folder of clones, each named as its
repository. `held_out_translations.toml` names for each set the repository, its commit, the licence
and the digests of its files; another digest is refused. Nothing of these files is stored here.

First the share of good translations that a rule calls wrong. Then slips are put into those that
none does, by the seed of language, part and kind (`planted_translations.toml`), and those that are
called wrong are counted. Half of the texts are for writing rules (`--part tuned`): the digest of
the set and of the paragraph, picture or row that a text belongs to decides.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snellen.stats.intervals import wilson
from snellen_curate.translate.languages import Language, open_language
from snellen_curate.translate.pair import Mismatch, TextPair
from snellen_curate.translate.rules import check_pair

SOURCES = Path(__file__).with_name("held_out_translations.toml")
PLANTED = Path(__file__).with_name("planted_translations.toml")
LANGUAGES = ("de", "fr", "es", "ru", "ar", "ja", "zh")
ENGLISH = open_language("en")
MOST = 40
"""Slips of a kind in a language and part."""

Texts = dict[str, str]


class Translation(NamedTuple):
    """A text, or options, with the translation that a person made."""

    kind: str
    group: str
    """The paragraph, picture or row; texts of one are in one half."""
    source: Texts
    target: Texts

    @property
    def part(self) -> str:
        """ "tuned" or "held out"."""
        digest = hashlib.sha256(f"{self.kind.split()[0]} {self.group}".encode()).digest()
        return "tuned" if digest[0] % 2 else "held out"


class Plant(NamedTuple):
    """A slip: what was done, and the texts with it."""

    kind: str
    entry: str
    text: Translation
    target: Texts


def read_file(entry: Mapping[str, Any], tag: str, checkouts: Path) -> bytes:
    """The file of a set in a language, from the clone's commit; ValueError for another digest."""
    name = entry["repository"].rsplit("/", 1)[-1]
    named = entry.get("names", {}).get(tag, tag)
    what = f"{entry['commit']}:{entry['path'].format(named)}"
    data = subprocess.run(["git", "-C", str(checkouts / name), "show", what], check=True, capture_output=True).stdout
    digest = hashlib.sha256(data).hexdigest()
    if digest != entry["sha256"][tag]:
        raise ValueError(f"{name} {what}: sha256 {digest}, expected {entry['sha256'][tag]}")
    return data


def read_set(entry: Mapping[str, Any], to: str, checkouts: Path) -> Iterator[Translation]:
    """The translations of a set into a language; none if it has none."""
    if to in entry["sha256"]:
        sides = [read_file(entry, tag, checkouts) for tag in ("en", to)]
        yield from FORMATS[entry["format"]](entry, *sides)


def read_xquad(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Questions, answers, and the answers of a paragraph as options. Artetxe et al., 2020."""
    sides = [json.loads(side)["data"] for side in (source, target)]
    for at, articles in enumerate(zip(*sides, strict=True)):
        for number, paragraphs in enumerate(zip(*(each["paragraphs"] for each in articles), strict=True)):
            answers: Texts = {}
            group = f"{at}.{number}"
            for one, other in zip(*(each["qas"] for each in paragraphs), strict=True):
                yield _text("XQuAD questions", group, one["question"], other["question"])
                answers.setdefault(one["answers"][0]["text"], other["answers"][0]["text"])
            for one, other in answers.items():
                yield _text("XQuAD answers", group, one, other)
            chosen = list(zip("ABCD", answers.items(), strict=False))
            if len(chosen) > 1:
                yield Translation(
                    "XQuAD options",
                    group,
                    {label: one for label, (one, _) in chosen},
                    {label: other for label, (_, other) in chosen},
                )


def read_mgsm(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Mathematical word problems. Shi et al., arXiv:2210.03057."""
    for number, (one, other) in enumerate(_lines(source, target)):
        yield _text(entry["name"], str(number), one.partition("\t")[0], other.partition("\t")[0])


def read_gqa(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Questions about pictures. Pfeiffer et al., arXiv:2109.06082."""
    ours, theirs = json.loads(source), json.loads(target)
    for name, row in ours.items():
        yield _text(entry["name"], row["imageId"], row["question"], theirs[name]["question"])


def read_nli(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Captions and statements about pictures. Bugliarello et al., arXiv:2201.11732."""
    for one, other in _lines(source, target):
        row, translated = json.loads(one), json.loads(other)
        for field in ("sentence1", "sentence2"):
            yield _text(entry["name"], row["Flikr30kID"], row[field], translated[field])


def read_lines(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Captions, one a line. Elliott et al., arXiv:1605.00459."""
    sides = _lines(gzip.decompress(source), gzip.decompress(target))
    for number, (one, other) in enumerate(sides):
        yield _text(entry["name"], f"{entry['path']} {number}", one, other)


def read_pawsx(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Sentences of an encyclopedia, the first of each pair. Yang et al., arXiv:1908.11828."""
    for number, (one, other) in enumerate(_lines(source, target)):
        texts = (line.partition("\t")[0].strip() for line in (one, other))
        translation = _text(entry["name"], str(number), *texts)
        if "NS" not in translation.source.values() and "NS" not in translation.target.values():
            yield translation  # NS stands for a sentence that was not translated


def read_msvamp(entry: Mapping[str, Any], source: bytes, target: bytes) -> Iterator[Translation]:
    """Mathematical word problems, translated by a machine and mended by people. Chen et al.,
    arXiv:2310.20246."""
    for number, line in enumerate(target.decode("utf-8").splitlines()):
        row = json.loads(line)
        yield _text(entry["name"], str(number), row["query"], row["m_query"])


FORMATS: dict[str, Callable[[Mapping[str, Any], bytes, bytes], Iterator[Translation]]] = {
    "xquad": read_xquad,
    "mgsm": read_mgsm,
    "gqa": read_gqa,
    "nli": read_nli,
    "lines": read_lines,
    "pawsx": read_pawsx,
    "msvamp": read_msvamp,
}


def _lines(source: bytes, target: bytes) -> Iterator[tuple[str, str]]:
    sides = (side.decode("utf-8").rstrip("\n").split("\n") for side in (source, target))
    return zip(*sides, strict=True)


def _text(kind: str, group: str, source: str, target: str) -> Translation:
    return Translation(kind, group, {"question": source.strip()}, {"question": target.strip()})


def alarms(source: Texts, target: Texts, language: Language) -> list[Mismatch]:
    """What the rules call wrong. Of options only what concerns them as a set."""
    mismatches = check_pair(TextPair(source, target, ENGLISH, language))
    wrong = [each for each in mismatches if each.level == "wrong"]
    if "A" in source:
        return [each for each in wrong if each.rule in ("same options", "swapped")]
    return wrong


def exchanges(entry: str, source: str, target: str, bounds: bool) -> Iterator[str]:
    """The translation with each exchange of an entry that fits: see planted_translations.toml."""
    english, _, pairs = entry.partition(": ")
    if not re.search(rf"(?<!\w)(?:{english})(?!\w)" if english[0] != "%" else english, source, re.I):
        return
    for pair in pairs.split(", "):
        form, _, slip = (each.strip() for each in pair.partition(">"))
        pattern = rf"(?<!\w){re.escape(form)}(?!\w)" if bounds and form[0].isalpha() else re.escape(form)
        if len(re.findall(pattern, target)) == 1:
            yield re.sub(pattern, slip, target).replace("  ", " ").strip()


def change_digit(source: str, target: str, draw: random.Random) -> str:
    """A digit of a number is another one."""
    places = [match.start() for match in re.finditer(r"\d", target)]
    if not places:
        return target
    place = draw.choice(places)
    digit = draw.choice([each for each in "123456789" if each != target[place]])
    return target[:place] + digit + target[place + 1 :]


def drop_number(source: str, target: str, draw: random.Random) -> str:
    """A number is missing."""
    numbers = re.findall(r"\d+(?:[.,]\d+)*", target)
    return target.replace(draw.choice(numbers), "", 1) if numbers else target


def leave_source(source: str, target: str, draw: random.Random) -> str:
    """The text is not translated."""
    return source if re.search(r"\b[a-z]{3,}", source) else target


def leave_end(source: str, target: str, draw: random.Random) -> str:
    """The last third stays as it was."""
    words = source.split()
    if len(words) < 9:
        return target
    return target[: 2 * len(target) // 3] + " " + " ".join(words[2 * len(words) // 3 :])


def cut_off(source: str, target: str, draw: random.Random) -> str:
    """Only the first third is there."""
    return target[: len(target) // 3] if len(source) >= 50 else target


CHANGES: dict[str, Callable[[str, str, random.Random], str]] = {
    "digit changed": change_digit,
    "number dropped": drop_number,
    "not translated": leave_source,
    "end not translated": leave_end,
    "cut off": cut_off,
}
ENTRIES = {
    "number word exchanged": "number_word",
    "unit exchanged": "unit",
    "side exchanged": "side",
    "colour exchanged": "colour",
    "opposite": "opposite",
    "negation lost": "negation_lost",
    "negation added": "negation_added",
}
OPTIONS = ("option repeated", "options swapped")
KINDS = (*CHANGES, *ENTRIES, "remark", *OPTIONS)
NOT_SUMMED = "options swapped"
"""Listed, and not part of the sum: no rule tells plain words apart."""
_NEGATED = re.compile(r"n[o'’]t\b|\bno|\bnever\b|\bwithout\b|\bneither\b|\bn[’']t\b", re.IGNORECASE)


def plant(
    kind: str, texts: Sequence[Translation], language: Language, table: Mapping[str, list[str]], part: str
) -> list[Plant]:
    """At most `MOST` slips of a kind, at most one a text, as evenly as can be over the entries."""
    draw = random.Random(f"{language.tag} {part} {kind}")
    by_entry: dict[str, list[Plant]] = defaultdict(list)
    for text in draw.sample(texts, len(texts)):
        for entry, target in _spoil(kind, text, language, table, draw):
            if target != text.target:
                by_entry[entry].append(Plant(kind, entry, text, target))
    chosen: dict[int, Plant] = {}
    while any(by_entry.values()) and len(chosen) < MOST:
        for plants in by_entry.values():
            if plants and len(chosen) < MOST:
                each = plants.pop(0)
                chosen.setdefault(id(each.text), each)
    return list(chosen.values())


def _spoil(
    kind: str, text: Translation, language: Language, table: Mapping[str, list[str]], draw: random.Random
) -> Iterator[tuple[str, Texts]]:
    if ("A" in text.source) != (kind in OPTIONS):
        return
    if kind in OPTIONS:
        one, other = draw.sample(sorted(text.target), 2)
        if text.target[one] != text.target[other]:
            swapped = {} if kind == "option repeated" else {other: text.target[one]}
            yield kind, {**text.target, one: text.target[other], **swapped}
        return
    source, target = text.source["question"], text.target["question"]
    if kind in CHANGES:
        yield kind, {"question": CHANGES[kind](source, target, draw)}
    elif kind == "remark":
        for remark in table["remarks"]:
            yield remark, {"question": remark.format(target)}
    elif kind != "negation added" or not _NEGATED.search(source):
        for entry in table[ENTRIES[kind]]:
            for slip in exchanges(entry, source, target, language.word_bounds):
                yield entry, {"question": slip}


class Measured(NamedTuple):
    """Of a language and a part: texts called wrong by set, and slips called wrong by kind."""

    good: dict[str, tuple[int, int]]
    found: dict[str, tuple[int, int]]

    @property
    def recall(self) -> tuple[int, int]:
        """Slips called wrong and planted, of all kinds that are summed."""
        summed = [counts for kind, counts in self.found.items() if kind != NOT_SUMMED]
        return sum(hits for hits, _ in summed), sum(made for _, made in summed)


def measure(texts: Sequence[Translation], language: Language, part: str, show: Callable[[str], object]) -> Measured:
    """Counts of one language and part; `show` gets false alarms and misses."""
    table = tomllib.loads(PLANTED.read_text(encoding="utf-8"))[language.tag]
    unique = {(each.kind, str(each.source), str(each.target)): each for each in texts if each.part == part}
    counts, wrong, quiet = Counter[str](), Counter[str](), []
    for each in unique.values():
        mismatches = alarms(each.source, each.target, language)
        counts[each.kind] += 1
        if mismatches:
            wrong[each.kind] += 1
            text = "; ".join(map(str, mismatches))
            show(f"ALARM {each.kind}: {text}\n   {each.source}\n   {each.target}")
        else:
            quiet.append(each)
    found = {}
    for kind in KINDS:
        planted = plant(kind, quiet, language, table, part)
        missed = [slip for slip in planted if not alarms(slip.text.source, slip.target, language)]
        for slip in missed:
            show(f"MISS {kind} [{slip.entry}]\n   {slip.text.source}\n   {slip.target}")
        found[kind] = (len(planted) - len(missed), len(planted))
    return Measured({kind: (wrong[kind], counts[kind]) for kind in counts}, found)


def share(hits: int, of: int) -> str:
    """A share in percent with its interval (Wilson, 95 %)."""
    if not of:
        return "none"
    interval = wilson(hits, of)
    return f"{hits} of {of}, {hits / of:.1%} ({100 * interval.low:.1f}-{100 * interval.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--to", default=",".join(LANGUAGES))
    parser.add_argument("--part", choices=("tuned", "held out"), default="held out")
    parser.add_argument("--show", type=Path, help="write false alarms and misses there")
    arguments = parser.parse_args()
    sets = tomllib.loads(SOURCES.read_text(encoding="utf-8"))["sets"]
    lines: list[str] = []
    for tag in arguments.to.split(","):
        language = open_language(tag)
        texts = [text for entry in sets for text in read_set(entry, tag, arguments.checkouts)]
        measured = measure(texts, language, arguments.part, lines.append)
        print(f"{language.name}: recall {share(*measured.recall)}")
        for kind, counts in (*measured.good.items(), *measured.found.items()):
            print(f"  {kind}: {share(*counts)}")
    if arguments.show:
        arguments.show.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
