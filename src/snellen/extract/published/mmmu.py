"""The published parsing rules of MMMU (Yue et al. 2023, arXiv:2311.16502, `parse_and_eval` of the
authors' repository) and MMMU-Pro (Yue et al. 2024, arXiv:2409.02813, `evaluate.py` there), and our
own of MMMU's open questions.

A choice: a label in parentheses, else a label between blanks, else (in replies of more than five
words) the text of an option; of several, the one that stands last. An open reply: what follows the
last word that announces a result, line by line, and every number in it. Where no option is found
the authors draw one by lot: `draw_option` does so from a seed made of the question and the reply,
for numbers beside theirs.

MMMU-Pro's rule looks behind the last "Answer:" first: an option whose letter alone stands there is
the choice. Its label between blanks needs the blank behind it only, so that the last letter of
"DNA " is one; and a label before a full stop counts ahead of texts, as in lmms-eval's copy of the
rule of MMMU, where the authors' has no such step.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from snellen.core.answer import Answer, Empty, Found, Truncated, Unparsed
from snellen.extract.open_text import WHOLE, read_final

RULE = "official"
DRAWN = "official: drawn by lot"
_ANSWER = "Answer:"
_EDGES = (",", ".", "!", "?", ";", ":", "'")
_WORDS_FOR_CONTENT = 5
_ANNOUNCING = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?(?<!\d)\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+\b)(?![eE][+-]?\d)(?![,\d])"),
)
"""From within a run of digits they would match what they match from its first: `(?<!\\d)` saves
looking, which takes minutes where a reply is one digit without end."""
_BETWEEN = "\n"
"""Stands between the candidate answers of one open reply; none of them holds a line break."""


def read_mmmu(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option a reply names last, by the plainest way of naming that finds one."""
    return _named(reply, options, stop_reason, (" {} ",))


def read_mmmu_pro(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option whose letter alone stands behind the last "Answer:", else as `read_mmmu`."""
    _, announced, answer = reply.rpartition(_ANSWER)
    letters = [label for label in _labels(options) if label in answer] if announced else []
    if len(letters) == 1:
        return Found(letters[0], RULE)
    return _named(reply, options, stop_reason, ("{} ", "{}."))


def _labels(options: Mapping[str, str]) -> list[str]:
    return list(options) or list("ABCDEFGHIJ")


def _named(
    reply: str, options: Mapping[str, str], stop_reason: str, bare_ways: tuple[str, ...]
) -> Answer:
    """`bare_ways`: how a label without brackets stands in running text. Of several the one that
    stands last is taken, and last is where it has a blank on either side."""
    bare = reply
    for edge in _EDGES:
        bare = bare.strip(edge)
    text = f" {bare} "
    labels = _labels(options)
    for written, sought in (("({})", "({})"), *((way, " {} ") for way in bare_ways)):
        named = [label for label in labels if written.format(label) in text]
        if named:
            return Found(max(named, key=lambda label: text.rfind(sought.format(label))), RULE)
    low = text.lower()
    held = [label for label, content in options.items() if content and content.lower() in low]
    if held and len(text.split()) > _WORDS_FOR_CONTENT:
        return Found(max(held, key=lambda label: low.rfind(options[label].lower())), RULE)
    return _unread(reply, stop_reason)


def draw_option(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As `read_mmmu`; where that finds nothing, an option by lot, always the same one for the
    same options and reply."""
    return _drawn(read_mmmu(reply, options, stop_reason), reply, options)


def draw_pro_option(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As `read_mmmu_pro`; where that finds nothing, an option by lot, as `draw_option` does."""
    return _drawn(read_mmmu_pro(reply, options, stop_reason), reply, options)


def _drawn(found: Answer, reply: str, options: Mapping[str, str]) -> Answer:
    if isinstance(found, Found):
        return found
    seed = "\n".join(("42", reply, *options.values()))
    # Bytes, since a reply may hold half of a surrogate pair; text would give the same lot.
    lot = random.Random(seed.encode("utf-8", "surrogatepass"))
    return Found(lot.choice(_labels(options)), DRAWN)


def read_mmmu_answer(reply: str, stop_reason: str = "stop") -> Answer:
    """What a reply to an open question marks or states as its answer; where it does neither, the
    candidate answers of what it says after thinking."""
    found = read_final(reply, stop_reason=stop_reason)
    if not isinstance(found, Found) or found.rule != WHOLE:
        return found
    return read_mmmu_open(found.value, stop_reason)


def read_mmmu_open(reply: str, stop_reason: str = "stop") -> Answer:
    """The candidate answers of a reply, a line each."""
    if not reply.strip():
        return _unread(reply, stop_reason)
    lines = reply.strip().strip(".").lower().split("\n")
    found = [
        tail
        for number, line in enumerate(lines)
        if (tail := _announced(line, last=number == len(lines) - 1))
    ]
    return Found(_BETWEEN.join(found or lines), RULE)


def matches_mmmu(candidates: str, golds: tuple[str, ...], *, words: bool = False) -> bool:
    """Whether a gold text is contained in a candidate, or a gold number equals one of them after
    rounding to two decimals. `words`: it must be contained as whole words."""
    wanted = [form for gold in golds for form in _forms(gold)]
    texts = [wish for wish in wanted if isinstance(wish, str)]
    whole = [re.compile(rf"(?<!\w){re.escape(text.strip())}(?!\w)") for text in texts]
    lines = candidates.split(_BETWEEN)
    numbers = [number for line in lines for rule in _NUMBERS for number in rule.findall(line)]
    # Each once: a reply may say the same line without end.
    for form in (form for one in dict.fromkeys((*lines, *numbers)) for form in _forms(one)):
        if not isinstance(form, str):
            if form in wanted:
                return True
        elif words:
            if any(text.search(form) for text in whole):
                return True
        elif any(text in form for text in texts):
            return True
    return False


def _announced(line: str, *, last: bool) -> str:
    """The shortest text after an announcing word; empty where there is none but a lone mark."""
    words = (*_ANNOUNCING, "=") if last else _ANNOUNCING
    tails = [line.rsplit(word, 1)[-1].strip() for word in words if word in line]
    shortest = min(filter(None, tails), key=len, default="")
    return "" if shortest in _EDGES else shortest


def _forms(text: str) -> tuple[str | float, ...]:
    text = text.strip()
    try:
        return (round(float(text.replace(",", "")), 2),)
    except ValueError:
        low = text.lower()
        # A lone character must not be found inside every word.
        return (f" {low}", f"{low} ") if len(low) == 1 else (low,)


def _unread(reply: str, stop_reason: str) -> Answer:
    if stop_reason == "length":
        return Truncated()
    return Unparsed() if reply.strip() else Empty()
