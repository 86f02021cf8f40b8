"""How often the rules of `snellen curate translate` are wrong, on data that people translated.

    python benchmarks/translation_rules.py XQUAD MGSM [--to zh] [--show]

XQUAD is a checkout of google-deepmind/xquad (CC BY-SA 4.0), MGSM the folder mgsm of
google-research/url-nlp (CC BY-SA 4.0). First the share of human translations that a rule calls
wrong, by half: rules were written with the even paragraphs at hand, the odd ones were looked at
afterwards. Then slips are put into the translations without an alarm, and the share that is noticed
is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from snellen.curate.translate.languages import Language, open_language
from snellen.curate.translate.pair import Mismatch, TextPair
from snellen.curate.translate.rules import check_pair
from snellen.curate.translate.terms import terms_of

Texts = dict[str, str]
ENGLISH = open_language("en")


class Translation(NamedTuple):
    """A text, or options, with the translation that a person made."""

    kind: str
    number: int
    source: Texts
    target: Texts


def read_mgsm(folder: Path, to: str) -> Iterator[Translation]:
    """Mathematical word problems. Shi et al., arXiv:2210.03057."""
    files = [folder / f"mgsm_{tag}.tsv" for tag in ("en", to)]
    if not files[1].exists():
        return
    lines = (file.read_text(encoding="utf-8").splitlines() for file in files)
    for number, (source, target) in enumerate(zip(*lines, strict=True)):
        texts = ({"question": line.partition("\t")[0].strip()} for line in (source, target))
        yield Translation("MGSM questions", number, *texts)


def read_xquad(folder: Path, to: str) -> Iterator[Translation]:
    """Questions, answers, and the answers of a paragraph as options. Artetxe et al., 2020."""
    files = [folder / f"xquad.{tag}.json" for tag in ("en", to)]
    if not files[1].exists():
        return
    sides = [json.loads(file.read_text(encoding="utf-8"))["data"] for file in files]
    number = 0
    for articles in zip(*sides, strict=True):
        for paragraphs in zip(*(article["paragraphs"] for article in articles), strict=True):
            number += 1
            rows = list(zip(*(paragraph["qas"] for paragraph in paragraphs), strict=True))
            answers: dict[str, str] = {}
            for source, target in rows:
                texts = ({"question": row["question"]} for row in (source, target))
                yield Translation("XQuAD questions", number, *texts)
                answers.setdefault(source["answers"][0]["text"], target["answers"][0]["text"])
            for source_answer, target_answer in answers.items():
                texts = ({"question": text} for text in (source_answer, target_answer))
                yield Translation("XQuAD answers", number, *texts)
            chosen = list(answers.items())[:4]
            if len(chosen) > 1:
                yield Translation(
                    "XQuAD options",
                    number,
                    {label: source for label, (source, _) in zip("ABCD", chosen, strict=False)},
                    {label: target for label, (_, target) in zip("ABCD", chosen, strict=False)},
                )


def alarms(source: Texts, target: Texts, language: Language) -> list[Mismatch]:
    """What the rules call wrong. Of options only what concerns them as a set."""
    mismatches = check_pair(TextPair(source, target, ENGLISH, language))
    wrong = [each for each in mismatches if each.level == "wrong"]
    if "A" in source:
        return [each for each in wrong if each.rule in ("same options", "swapped")]
    return wrong


def change_number(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """A digit of a number is another one."""
    places = [match.start() for match in re.finditer(r"\d", target["question"])]
    if not places:
        return None
    place, text = draw.choice(places), target["question"]
    digit = draw.choice([each for each in "123456789" if each != text[place]])
    return {"question": text[:place] + digit + text[place + 1 :]}


def drop_number(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """A number is missing."""
    numbers = re.findall(r"\d+(?:[.,]\d+)*", target["question"])
    if not numbers:
        return None
    return {"question": target["question"].replace(draw.choice(numbers), "", 1)}


def leave_source(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """The text is not translated."""
    return dict(source) if re.search(r"\b[a-z]{3,}", source["question"]) else None


def cut_off(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """Only the first third is there."""
    text = target["question"]
    return {"question": text[: len(text) // 3]} if len(source["question"]) >= 50 else None


def add_remark(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """The translator says something."""
    remark = draw.choice(["翻译：{}", "{}（注：此为直译）", "中文: {}"])
    return {"question": remark.format(target["question"])}


def lose_negation(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """The negation is gone; only where one word of it is there."""
    if not re.search(r"\b(?:not|never|cannot)\b|n't\b", source["question"]):
        return None
    text = target["question"]
    words = re.findall("没有|不是|并非|不|没|未|无|从不", text)
    return {"question": text.replace(words[0], "", 1)} if len(words) == 1 else None


def add_negation(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """是 becomes 不是."""
    text = target["question"]
    if re.search("[不没未无非否]", text) or text.count("是") != 1:
        return None
    return {"question": text.replace("是", "不是")}


def exchange_word(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """A word becomes another of its group, such as another colour."""
    text = target["question"]
    choices = []
    for group in terms_of(ENGLISH, open_language("zh")).groups:
        there = group.source_concepts(source["question"])
        for match in group.target.finditer(text):
            if not group.concepts[match[0]] & there or (group.ignore and group.ignore.search(text)):
                continue
            others = [word for word in group.concepts if not group.concepts[word] & there]
            choices += [(match, word) for word in others]
    if not choices:
        return None
    match, word = draw.choice(choices)
    return {"question": text[: match.start()] + word + text[match.end() :]}


def swap_options(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """Two options changed places."""
    one, other = draw.sample(sorted(target), 2)
    return {**target, one: target[other], other: target[one]}


def repeat_option(source: Texts, target: Texts, draw: random.Random) -> Texts | None:
    """An option has the text of another."""
    one, other = draw.sample(sorted(target), 2)
    return {**target, one: target[other]} if target[one] != target[other] else None


SLIPS: dict[str, tuple[Callable[[Texts, Texts, random.Random], Texts | None], bool]] = {
    "a digit changed": (change_number, False),
    "a number dropped": (drop_number, False),
    "not translated": (leave_source, False),
    "two thirds cut off": (cut_off, False),
    "a remark added": (add_remark, False),
    "negation lost": (lose_negation, False),
    "negation added": (add_negation, False),
    "a word of a group exchanged": (exchange_word, False),
    "options swapped": (swap_options, True),
    "an option repeated": (repeat_option, True),
}
"""Slips, and whether they concern options. The last five of the texts need Chinese."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xquad", type=Path)
    parser.add_argument("mgsm", type=Path)
    parser.add_argument("--to", default="zh")
    parser.add_argument("--show", action="store_true", help="print what is called wrong")
    arguments = parser.parse_args()
    language = open_language(arguments.to)
    read = [*read_mgsm(arguments.mgsm, arguments.to), *read_xquad(arguments.xquad, arguments.to)]
    unique = {(each.kind, str(each.source), str(each.target)): each for each in read}
    counts: Counter[tuple[str, int]] = Counter()
    wrong: Counter[tuple[str, int]] = Counter()
    rules: Counter[str] = Counter()
    good = []
    for each in unique.values():
        mismatches = alarms(each.source, each.target, language)
        counts[each.kind, each.number % 2] += 1
        if not mismatches:
            good.append(each)
            continue
        wrong[each.kind, each.number % 2] += 1
        rules.update({mismatch.rule for mismatch in mismatches})
        if arguments.show:
            text = "; ".join(map(str, mismatches))
            print(f"{text}\n    {each.source}\n    {each.target}")
    for kind in dict.fromkeys(kind for kind, _ in counts):
        cells = [f"{wrong[kind, half]} of {counts[kind, half]}" for half in (0, 1)]
        print(f"{kind}: called wrong: {cells[0]} (even), {cells[1]} (odd)")
    print("by rule:", dict(rules.most_common()))
    draw = random.Random("slips")
    for name, (spoil, is_of_options) in SLIPS.items():
        tried = noticed = 0
        for each in good:
            if ("A" in each.source) != is_of_options:
                continue
            slipped = spoil(each.source, each.target, draw)
            if slipped is None or slipped == each.target:
                continue
            tried += 1
            noticed += bool(alarms(each.source, slipped, language))
        share = f" ({noticed / tried:.0%})" if tried else ""
        print(f"{name}: noticed {noticed} of {tried}{share}")


if __name__ == "__main__":
    main()
