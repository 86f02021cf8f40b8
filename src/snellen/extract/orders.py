"""Parse a reply that puts labelled steps in order ("BDAC", "B, D, A, C", "B -> D -> A -> C")."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ARROWS = r"(?:->|=>|→|⇒|>|,|;|/|-|、|，|\s|\bthen\b)+"
_FIRST_TO_FOURTH = (
    ("first", "1st", "首先", "第一步"),
    ("second", "2nd", "其次", "第二步"),
    ("third", "3rd", "再次", "第三步"),
    ("fourth", "4th", "最后", "第四步"),
)
_ORDINALS = tuple(
    re.compile(rf"(?:{'|'.join(words)}).*?([A-D])", re.IGNORECASE) for words in _FIRST_TO_FOURTH
)
_FOUR_IN_A_ROW = re.compile(r"\b([A-D]{4})\b")
_NUMBERED_STEP = re.compile(
    r"(?:step\s*[\d一二三四]+|步骤\s*[\d一二三四]+|第\s*[\d一二三四]\s*步).*?([A-D])", re.IGNORECASE
)
_STEPS = 4


def find_order(text: str, labels: Iterable[str]) -> str | None:
    """The last run of all labels, each once, with nothing but commas, arrows and the like between
    them; None if there is none."""
    known = "".join(sorted(labels))
    label = rf"[(\[]?([{known}])[)\]]?"
    run = re.compile(rf"(?<![A-Za-z]){_label_run(label, len(known))}(?![A-Za-z])")
    orders = ["".join(match.groups()) for match in run.finditer(text)]
    complete = [order for order in orders if len(set(order)) == len(known)]
    return complete[-1] if complete else None


def _label_run(label: str, count: int) -> str:
    return rf"(?:{_ARROWS})?".join([label] * count)


def find_order_vlmevalkit(reply: str) -> str | None:
    """The order of four steps as VLMEvalKit finds it (commit e8e78f05, August 2026): a word of the
    letters A to D, if it has all of them; else the first such letter, also within a word, behind
    each of "first" to "fourth"; else behind each of four numbered steps."""
    text = reply.upper()
    row = _FOUR_IN_A_ROW.search(text)
    if row and len(set(row[1])) == _STEPS:
        return row[1]
    matches = [ordinal.search(text) for ordinal in _ORDINALS]
    by_ordinals = dict.fromkeys(match[1].upper() for match in matches if match)
    if len(by_ordinals) == _STEPS:
        return "".join(by_ordinals)
    numbered = dict.fromkeys(found.upper() for found in _NUMBERED_STEP.findall(text)[:_STEPS])
    return "".join(numbered) if len(numbered) == _STEPS else None
