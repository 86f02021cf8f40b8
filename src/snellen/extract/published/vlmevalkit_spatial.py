"""VLMEvalKit's rule for spatial benchmarks that the EASI team added, as of its commit e8e78f05
(August 2026), without a judge and faults included: EmbSpatial-Bench, MindCube, OmniSpatial.

A letter A to F, in the first of these places that has one: the first <answer> tag, where A to J
count; right before a closing </answer> or </think> near the end; the last six lines behind the
thinking, then those of the last 800 signs, from the bottom up (a lone letter, one that labels the
line, or the only capital that stands alone in it); behind the first "answer", whatever the case, so
that "the answer is a dog" is A; anywhere, if a single capital stands alone. Lines that open with
"Option A:" are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.vlmevalkit import RULE
from snellen.extract.unanswered import unparsed_answer

_TAIL = 800
_LINES = 6
_INVISIBLE = re.compile("[\u200b\u200c\u200d\ufeff]")
_TAGGED = re.compile(r"<\s*answer\b[^>]*>\s*([A-J]).*?<\s*/\s*answer\s*>", re.IGNORECASE | re.DOTALL)
_BEFORE_END = tuple(
    re.compile(rf"(?<![A-Za-z])([A-F])\s*[)\]}}）】]?\s*</\s*{tag}\s*>", re.IGNORECASE) for tag in ("answer", "think")
)
_THINKING_ENDS = (re.compile(r"</\s*think\s*>", re.IGNORECASE), re.compile(r"<\s*think\s*>", re.IGNORECASE))
_OPTION_LINE = re.compile(r"[*_>\-\s]*(?:option|选项)\s+[A-J]\s*[:：]", re.IGNORECASE)
_LONE = re.compile(r"\s*[*_`>（）\[\]【】()]*\s*([A-Fa-f])\s*[*_`（）\[\]【】()]*\s*")
_LABELLED = re.compile(r"([A-F])\s*[.．:：)\]】、-]\s+", re.IGNORECASE)
_IN_LINE = re.compile(r"(?<![A-Za-z])([A-F])\s*[*_`）\]})]*(?=$|[\s.,:;!?)\]】》」』，。；、：）])")
_CONCLUDED = re.compile(
    r"(?:final\s*answer|the\s*answer\s*is|answer(?:\s*is)?|correct\s*answer|答案|最终答案|结论|所以|因此|我选(?:择)?|选择|选)"
    r"\s*[:：>＝=]?\s*[(\[{（【]?\s*([A-F])\s*[)\]}）】]?(?:\b|[.)、。])",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"(?<![A-Za-z])[A-F](?![A-Za-z])")


def parse_spatial(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The letter in the first place that has one. The options are not read."""
    text = _INVISIBLE.sub("", reply.strip())
    tail = text[-_TAIL:]
    found = _TAGGED.search(text) or next(filter(None, (place.search(tail) for place in _BEFORE_END)), None)
    label = found[1] if found else _in_last_lines(_behind_thinking(text)) or _in_last_lines(tail)
    if not label:
        concluded = _CONCLUDED.search(text)
        label = concluded[1] if concluded else _only_capital(text)
    return ParsedAnswer(label.upper(), RULE) if label else unparsed_answer(reply, stop_reason)


def _behind_thinking(text: str) -> str:
    """What stands behind the last </think>, else behind the last <think>."""
    for end in _THINKING_ENDS:
        ends = list(end.finditer(text))
        if ends:
            return text[ends[-1].end() :].strip()
    return text


def _in_last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()[-_LINES:]]
    for line in reversed(lines):
        if not line or _OPTION_LINE.match(line):
            continue
        found = _LONE.fullmatch(line) or _LABELLED.match(line)
        letters = {found[1]} if found else set(_IN_LINE.findall(line))
        if len(letters) == 1:
            return letters.pop()
    return ""


def _only_capital(text: str) -> str:
    lines = (line for line in text.splitlines() if not _OPTION_LINE.match(line))
    capitals = set(_CAPITAL.findall("\n".join(lines)))
    return capitals.pop() if len(capitals) == 1 else ""
