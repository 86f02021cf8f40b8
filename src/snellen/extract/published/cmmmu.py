"""The authors' rule of CMMMU's three types of question (`eval/utils/eval_utils.py` of
CMMMU-Benchmark/CMMMU, commit e1ba8832), of which VLMEvalKit has a copy (commit e8e78f05).

A choice: the labels in parentheses, else the capitals A to D anywhere, else the texts of options;
those that occur most often, together ("AC"). A statement: of the shortest texts behind the words
that announce a result, line by line, how many hold a word for right, or else one for wrong; as
"不对" holds "对", it is right. An answer to fill in: such a text, if it is not much longer than the
gold, or a number in one, equal to two decimals.

Where nothing is found in a choice or statement both draw at random; so does this rule, by a seed
from the reply. VLMEvalKit counts an answer to fill in once for every text that holds it, so that
one question may count several times; by the authors, and here, it counts once.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters

from snellen.core import lazy_re as re
from snellen.core.output import DRAWN, Answer, Empty, ParsedAnswer, Truncated
from snellen.extract.published.mmmu import between_blanks
from snellen.extract.published.vlmevalkit import RULE

LABELS = "ABCD"
_FILL_WORDS = (*("是", "为", "所以", "等于", "方案", "选择"), *("正确答案", "因此", "最后", "答案", "结果"))
_TRUTH_WORDS = ("是", "为", "所以", "判断", "陈述", "说法", "表达", "答案", "结果")
_RIGHT = ("正确", "对", "准确", "肯定")
_WRONG = ("错误", "不合适", "否定", "错")
"""Further words with "不" before one of `_RIGHT` are never reached."""
_AMBIGUOUS = ("对错", "是否", "否正确", "或者", "正确性", "对不")
_SENTENCE_END = re.compile(r"。|\n")
_TRIVIAL = (":", ",", ".", "!", "?", ";", "'")
_MAX_LONGER = 20
_MAX_MORE_LETTERS = 2
# `(?<!\d)` keeps the search linear in long runs of digits.
_NUMBERS = (
    re.compile(r"-?(?<!\d)\d{1,3}(?:，\d{3})+"),
    re.compile(r"-?(?<!\d)\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+)(?![eE][+-]?\d+)(?!，\d)"),
)


def choose_labels(reply: str, options: Mapping[str, str]) -> str:
    """The labels that a reply names most often, in alphabetical order; none if it names none."""
    text = between_blanks(reply)
    for form in ("({})", "{}"):
        counts = {label: text.count(form.format(label)) for label in LABELS}
        if any(counts.values()):
            return _most_frequent(counts)
    counts = {label: text.count(content) for label, content in options.items() if content}
    return _most_frequent(counts) if any(counts.values()) else ""


def _most_frequent(counts: Mapping[str, int]) -> str:
    most = max(counts.values())
    return "".join(label for label, count in counts.items() if count == most)


def draw(values: Sequence[str], reply: str) -> str:
    # Bytes, because a reply may contain a lone surrogate.
    return random.Random(reply.encode("utf-8", "surrogatepass")).choice(values)


def parse_truth(reply: str, stop_reason: str = "stop") -> Answer:
    """Yes if a reply calls a statement right, else No; one of them drawn if it says neither, or
    both as often."""
    if not reply.strip():
        return Truncated() if stop_reason == "length" else Empty()
    texts = {text for text in _announced_texts(reply, _TRUTH_WORDS) if not any(word in text for word in _AMBIGUOUS)}
    right = {text for text in texts if any(word in text for word in _RIGHT)}
    wrong = {text for text in texts - right if any(word in text for word in _WRONG)}
    if len(right) == len(wrong):
        return ParsedAnswer(draw(("Yes", "No"), reply), DRAWN)
    return ParsedAnswer("Yes" if len(right) > len(wrong) else "No", RULE)


def holds_filled(reply: str, gold: str) -> bool:
    """Whether a text behind an announcing word holds the gold text, or a number equals it."""
    texts = _announced_texts(reply, _FILL_WORDS, last="=")
    numbers = [number for text in texts for form in _NUMBERS for number in form.findall(text)]
    wanted = _comparable(gold)
    for candidate in dict.fromkeys((*texts, *numbers)):
        form = _comparable(candidate)
        if isinstance(form, float) or isinstance(wanted, float):
            if form == wanted:
                return True
        elif _is_short(form, gold) and wanted in form:
            return True
    return False


def _announced_texts(reply: str, words: Iterable[str], last: str = "") -> list[str]:
    """The shortest text behind an announcing word of each line; the complete reply if there is
    none. `last` announces one in the last line, too."""
    whole = reply.strip("。").strip()
    lines = _SENTENCE_END.split(whole)
    found = []
    for number, line in enumerate(lines):
        shortest = ""
        for word in (*words, last) if last and number == len(lines) - 1 else words:
            if word in line:
                tail = line.rsplit(word, 1)[-1].strip()
                if not shortest or len(tail) < len(shortest):
                    shortest = tail
        if shortest and shortest not in _TRIVIAL:
            found.append(shortest)
    return found or [whole]


def _comparable(text: str) -> str | float:
    text = text.strip()
    try:
        return round(float(text.replace(",", "")), 2)
    except ValueError:
        return text


def _is_short(text: str, gold: str) -> bool:
    return len(text) <= len(gold) + _MAX_LONGER and _letter_count(text) <= _letter_count(gold) + _MAX_MORE_LETTERS


def _letter_count(text: str) -> int:
    return sum(sign in ascii_letters for sign in text)
