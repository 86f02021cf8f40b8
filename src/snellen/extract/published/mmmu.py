"""Published parsing rules of MMMU and MMMU-Pro, and our own of MMMU's open questions.

MMMU: Yue et al. 2023, arXiv:2311.16502, `parse_and_eval` of the authors' repository. MMMU-Pro: Yue
et al. 2024, arXiv:2409.02813, `evaluate.py`.

A choice: a label in parentheses, else a label between blanks, else (in replies of more than five
words) the text of an option; of several, the last one in the reply. An open reply: the text behind
the last word that announces a result, line by line, and every number in it. If no option is found,
the authors draw one at random: `parse_mmmu_or_draw` does so with a seed from the options and the
reply, for numbers that compare with theirs.

MMMU-Pro's rule searches behind the last "Answer:" first: an option whose letter is the only one
there is the choice. Its label between blanks needs only the blank behind it, so the last letter of
"DNA " is one; and a label before a full stop counts ahead of texts, as in lmms-eval's copy of
MMMU's rule, while the authors' has no such step.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from snellen.core import lazy_re as re
from snellen.core.output import DRAWN, Answer, ParsedAnswer
from snellen.extract.open_text import WHOLE_REPLY, parse_final
from snellen.extract.unanswered import unparsed_answer

RULE = "official"
_ANSWER = "Answer:"
EDGES = (",", ".", "!", "?", ";", ":", "'")
"""Signs that are cut off both ends of a reply, one after the other."""
_WORDS_FOR_CONTENT = 5
_ANNOUNCEMENTS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_MORE_ANNOUNCEMENTS = (
    *("are ", "in total ", "total ", "identify ", "recognize ", "calculated as ", "counted as ", "measured as "),
    *("observed as ", "concluded as ", "found to be ", "equals ", "determined to be ", "number of "),
    *("value is ", "adds up to ", "have ", "has "),
)
"""Those of Video-MMMU's copy beside."""
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?(?<!\d)\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+\b)(?![eE][+-]?\d)(?![,\d])"),
)
r"""`(?<!\d)` keeps the search linear: inside a run of digits these would match again what they
matched from its beginning, for minutes if a reply is one endless digit."""
_SEPARATOR = "\n"
"""Between the candidate answers of one open reply; a candidate has no line break."""


def parse_mmmu(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option a reply names last, by the plainest way of naming that finds one."""
    return _parse_label(reply, options, stop_reason, (" {} ",))


def parse_mmmu_pro(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option whose letter alone is behind the last "Answer:", else as `parse_mmmu`."""
    _, announced, answer = reply.rpartition(_ANSWER)
    letters = [label for label in _label_list(options) if label in answer] if announced else []
    if len(letters) == 1:
        return ParsedAnswer(letters[0], RULE)
    return _parse_label(reply, options, stop_reason, ("{} ", "{}."))


def _label_list(options: Mapping[str, str]) -> list[str]:
    return list(options) or list("ABCDEFGHIJ")


def _parse_label(reply: str, options: Mapping[str, str], stop_reason: str, bare_ways: tuple[str, ...]) -> Answer:
    """The last of the labels in the first form that finds any, else the last of the contents.

    `bare_ways`: how a label without brackets is written in running text. The last label is the one
    whose last occurrence between blanks is latest.
    """
    text = between_blanks(reply)
    labels = _label_list(options)
    for form, sought in (("({})", "({})"), *((way, " {} ") for way in bare_ways)):
        matching = [label for label in labels if form.format(label) in text]
        if matching:
            return ParsedAnswer(max(matching, key=lambda label: text.rfind(sought.format(label))), RULE)
    label = last_content(text, {label: content for label, content in options.items() if content})
    return ParsedAnswer(label, RULE) if label else unparsed_answer(reply, stop_reason)


def between_blanks(reply: str, edges: Iterable[str] = EDGES) -> str:
    """The reply without these signs at its ends, between two blanks."""
    for edge in edges:
        reply = reply.strip(edge)
    return f" {reply} "


def contents_in(text: str, options: Mapping[str, str]) -> list[str]:
    """The labels of the options whose texts a reply of more than five words has."""
    if len(text.split()) <= _WORDS_FOR_CONTENT:
        return []
    low = text.lower()
    return [label for label, option in options.items() if option.lower() in low]


def last_content(text: str, options: Mapping[str, str]) -> str:
    """Of `contents_in` the one that stands last; empty without any."""
    low = text.lower()
    return max(contents_in(text, options), key=lambda label: low.rfind(options[label].lower()), default="")


def parse_mmmu_or_draw(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As `parse_mmmu`; if that finds nothing, a random option, the same one for the same options
    and reply."""
    return draw_option(parse_mmmu(reply, options, stop_reason), reply, options)


def parse_mmmu_pro_or_draw(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As `parse_mmmu_pro`; if that finds nothing, a random option as in `parse_mmmu_or_draw`."""
    return draw_option(parse_mmmu_pro(reply, options, stop_reason), reply, options)


def parse_mmmu_lmms_eval(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As lmms-eval's copy of `parse_mmmu`, which needs only the blank behind a label and takes one
    before a full stop, too; if that finds nothing, a random option."""
    return draw_option(_parse_label(reply, options, stop_reason, ("{} ", "{}.")), reply, options)


def draw_option(answer: Answer, reply: str, options: Mapping[str, str]) -> Answer:
    """The answer; a random option if it has no label, the same one for the same options and
    reply."""
    if isinstance(answer, ParsedAnswer):
        return answer
    seed = "\n".join(("42", reply, *options.values()))
    # Bytes, because a reply may contain a lone surrogate; text as seed would draw the same.
    generator = random.Random(seed.encode("utf-8", "surrogatepass"))
    return ParsedAnswer(generator.choice(_label_list(options)), DRAWN)


def parse_mmmu_answer(reply: str, stop_reason: str = "stop") -> Answer:
    """The marked or stated answer to an open question, else the candidates in the reply."""
    answer = parse_final(reply, stop_reason=stop_reason)
    if not isinstance(answer, ParsedAnswer) or answer.rule != WHOLE_REPLY:
        return answer
    return parse_mmmu_open(answer.value, stop_reason)


def parse_videommmu(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """Video-MMMU's script in VLMEvalKit: of the text behind the last "Answer:" a label before a stop
    or a colon, else in brackets, else before a blank, else an option's text; of several the last in
    the first of these ways."""
    text, labels = between_blanks(reply.rpartition(_ANSWER)[2].strip()), _label_list(options)
    for forms in (("{}.", "{}:"), ("({})",), ("{} ",)):
        written = [form for form in forms if any(form.format(label) in text for label in labels)]
        if written:
            found = [label for form in written for label in labels if form.format(label) in text]
            sought = " {} " if forms == ("{} ",) else written[0]
            return ParsedAnswer(max(found, key=lambda label: text.rfind(sought.format(label))), RULE)
    label = last_content(text, options)
    return ParsedAnswer(label, RULE) if label else unparsed_answer(reply, stop_reason)


def parse_videommmu_open(reply: str, stop_reason: str = "stop") -> Answer:
    """As `parse_mmmu_open`, with the further announcements of Video-MMMU's copy."""
    return parse_mmmu_open(reply, stop_reason, (*_ANNOUNCEMENTS, *_MORE_ANNOUNCEMENTS))


def parse_videommmu_open_vlmevalkit(reply: str, stop_reason: str = "stop") -> Answer:
    """As `parse_videommmu_open`, of the text behind the last "Answer:"."""
    return parse_videommmu_open(reply.rpartition(_ANSWER)[2].strip(), stop_reason)


def parse_mmmu_open(reply: str, stop_reason: str = "stop", words: tuple[str, ...] = _ANNOUNCEMENTS) -> Answer:
    """The candidate answers of a reply, a line each, behind the words that announce them."""
    if not reply.strip():
        return unparsed_answer(reply, stop_reason)
    lines = reply.strip().strip(".").lower().split("\n")
    candidates = [
        tail
        for number, line in enumerate(lines)
        if (tail := _announced_text(line, words, last=number == len(lines) - 1))
    ]
    return ParsedAnswer(_SEPARATOR.join(candidates or lines), RULE)


def matches_mmmu(candidates: str, golds: tuple[str, ...], *, whole_words: bool = False) -> bool:
    """Whether a candidate contains a gold text or equals a gold number after rounding to two
    decimals.

    `whole_words`: the gold text must be contained as complete words.
    """
    gold_forms = [form for gold in golds for form in _comparable_forms(gold)]
    texts = [wish for wish in gold_forms if isinstance(wish, str)]
    patterns = [re.compile(rf"(?<!\w){re.escape(text.strip())}(?!\w)") for text in texts]
    lines = candidates.split(_SEPARATOR)
    numbers = [number for line in lines for rule in _NUMBERS for number in rule.findall(line)]
    # Each form once: a reply may repeat a line endlessly.
    for form in (form for candidate in dict.fromkeys((*lines, *numbers)) for form in _comparable_forms(candidate)):
        if not isinstance(form, str):
            if form in gold_forms:
                return True
        elif whole_words:
            if any(text.search(form) for text in patterns):
                return True
        elif any(text in form for text in texts):
            return True
    return False


def holds_mmmu(candidates: str, golds: tuple[str, ...]) -> bool:
    """As `matches_mmmu`, in complete words."""
    return matches_mmmu(candidates, golds, whole_words=True)


def _announced_text(line: str, announcements: tuple[str, ...], *, last: bool) -> str:
    """The shortest text behind an announcing word; empty if there is none but a lone sign."""
    words = (*announcements, "=") if last else announcements
    tails = [line.rsplit(word, 1)[-1].strip() for word in words if word in line]
    shortest = min(filter(None, tails), key=len, default="")
    return "" if shortest in EDGES else shortest


def _comparable_forms(text: str) -> tuple[str | float, ...]:
    text = text.strip()
    try:
        return (round(float(text.replace(",", "")), 2),)
    except ValueError:
        low = text.lower()
        # A single character would otherwise be found inside every word.
        return (f" {low}", f"{low} ") if len(low) == 1 else (low,)
