"""VLMEvalKit's parsing rules without a judge, faults included, for comparable numbers.

Two steps for a choice: the option rule, then the text rule; a reply that neither parses is the
pseudo choice Z, which is wrong (its `exact_matching`). Restated from the behaviour of its commit
e8e78f05 (August 2026). Known faults are kept, because its numbers include them: "The answer is
blue" is B (the letter after "answer is" needs no end); a lone label counts only among the last four
words; options are found inside longer words and under negations. One is left out: with the
environment variable VERBOSE set, its option rule skips longer replies that contain the word "A".

The rule for choices has changed: until 4 August 2025 a lone label counted anywhere and the text
rule applied to replies of any length; "answer is" came on 17 June 2026. `release` selects the rule
as it was at the end of a month. The yes/no rule has been the same since 2024.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, NoMatch, ParsedAnswer, Refused
from snellen.extract.choice import NO_MATCH_LABEL
from snellen.extract.phrases import API_FAILURE
from snellen.extract.unanswered import unparsed_answer
from snellen.extract.yes_no import NO, YES

RULE = "vlmevalkit"
COMMIT = "e8e78f05"
"""VLMEvalKit's commit whose behaviour the rules restate."""
LATEST_RELEASE = "2026-08"
FIRST_RELEASE = "2024-02"
"""The first month for which the rule for choices is known."""
_LAST_WORDS_SINCE = "2025-08"
_ANSWER_IS_SINCE = "2026-06"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_SIGNS_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_LAST_WORDS = 4
_ANSWER_IS = re.compile(r"answer\s+is\s+\**(?P<letter>[A-D])", re.IGNORECASE)
_UNKNOWN_LABELS = dict.fromkeys("ABCDEFGH", "")

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_BETWEEN_DIGITS = re.compile(r"\d,\d")
_DOT = re.compile(r"(?<!\d)\.(?!\d)")


def parse_choice_vlmevalkit(
    reply: str, options: Mapping[str, str], stop_reason: str = "stop", *, release: str = LATEST_RELEASE
) -> Answer:
    """The label of the option, or why there is none.

    Without options (predictions scored without their data) the labels are A to H, and there is no
    text to search for. `release` is the month (YYYY-MM) whose rule applies.
    """
    labels = options or _UNKNOWN_LABELS
    answer = _parse_by_option(reply, labels, release)
    if answer is None and options:
        answer = _parse_by_text(reply, options, release)
    return answer or unparsed_answer(reply, stop_reason)


def parse_yes_no_vlmevalkit(reply: str, stop_reason: str = "stop") -> Answer:
    """Yes or No if exactly one of the two is a word of the reply; its "Unknown" is unparsed."""
    words = _without_punctuation(reply.lower()).split()
    if ("yes" in words) != ("no" in words):
        return ParsedAnswer(YES if "yes" in words else NO, RULE)
    return unparsed_answer(reply, stop_reason)


def _parse_by_option(reply: str, labels: Mapping[str, str], release: str) -> Answer | None:
    if API_FAILURE.lower() in reply.lower():
        return None
    if any(phrase in reply for phrase in _REFUSALS):
        return Refused(RULE)
    words = reply.translate(_SIGNS_TO_SPACES).split()
    matching = [label for label in labels if label in words]
    last = len(words) - _LAST_WORDS if release >= _LAST_WORDS_SINCE else 0
    if len(matching) == 1 and words.index(matching[0]) >= last:
        return ParsedAnswer(matching[0], f"{RULE}: option")
    if not matching and NO_MATCH_LABEL in words:
        return NoMatch(RULE)
    stated = _ANSWER_IS.search(reply) if release >= _ANSWER_IS_SINCE else None
    if stated and stated["letter"].upper() in labels:
        return ParsedAnswer(stated["letter"].upper(), f"{RULE}: answer is", stated.span("letter"))
    return None


def _parse_by_text(reply: str, options: Mapping[str, str], release: str) -> Answer | None:
    low = reply.lower()
    long = len(low) > 2 * sum(map(len, options.values()))
    if long and release >= _LAST_WORDS_SINCE:
        return None
    contained = [label for label, text in options.items() if text.lower() in low]
    return ParsedAnswer(contained[0], f"{RULE}: text") if len(contained) == 1 else None


def _without_punctuation(text: str) -> str:
    """Remove or blank out punctuation as VLMEvalKit does.

    A sign that has a space next to it anywhere is removed everywhere, else it becomes a space; all
    are removed if two digits have a comma between them. Dots between digits stay.
    """
    vanish = _BETWEEN_DIGITS.search(text) is not None
    cleaned = text
    for sign in _PUNCTUATION:
        gone = vanish or f"{sign} " in text or f" {sign}" in text
        cleaned = cleaned.replace(sign, "" if gone else " ")
    return _DOT.sub("", cleaned)
