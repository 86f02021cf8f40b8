"""The first capital letter of a reply as its option, as Video-MME's script and its many copies read
it: set phrases are removed, then the first letter of a range counts, wherever it stands.

The copies differ in the range of letters and in the phrases. Where a comma is missing in the list of
phrases, Python joins two of them, and neither is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.core import lazy_re as re
from snellen.core.output import Answer
from snellen.extract.published.mmmu import draw_option
from snellen.extract.unanswered import label_answer

RULE = "first capital"
_FOUR = ("The best answer is", "The correct answer is", "The answer is", "The answer")
JOINED = (*_FOUR, "The best option isThe correct option is", "Best answer:Best option:")
"""Video-MME's own list, in which two commas are missing."""
_SHORT = ("Answer:", "Option:")
JOINED_AND_SHORT = (*JOINED, *_SHORT)
"""VLMEvalKit's copy of it."""
COMPLETE = (*_FOUR, "The best option is", "The correct option is", "Best answer:", "Best option:")
FINAL = "Final Answer:"

Parser = Callable[[str, Mapping[str, str], str], Answer]


def first_capital(letters: str, phrases: Sequence[str], *, draws: bool = False) -> Parser:
    """The parser of a range of letters, as a regular expression writes it. With `draws` an option is
    drawn where a reply has none of them."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        letter = re.search(f"[{letters}]", without_phrases(reply, phrases))
        answer = label_answer(letter and letter[0], RULE, reply, options, stop_reason)
        return draw_option(answer, reply, options) if draws and letter is None else answer

    return parse


def without_phrases(reply: str, phrases: Sequence[str]) -> str:
    """The reply without set phrases, wherever they stand."""
    text = reply.strip()
    for phrase in phrases:
        text = text.replace(phrase, "")
    return text


of_four_joined = first_capital("ABCD", JOINED)
"""Video-MME, MMWorld."""
of_five_joined = first_capital("ABCDE", JOINED)
"""VideoMathQA."""
of_four_vlmevalkit = first_capital("ABCD", JOINED_AND_SHORT)
"""Video-MME and WorldSense in VLMEvalKit."""
of_five_vlmevalkit = first_capital("ABCDE", JOINED_AND_SHORT)
"""LongVideoBench in VLMEvalKit."""
of_five_or_draw = first_capital("ABCDE", COMPLETE, draws=True)
"""LongVideoBench in lmms-eval."""
of_eight = first_capital("A-H", (*COMPLETE[:6], FINAL, *COMPLETE[6:], *_SHORT))
"""Video-MME-v2 in lmms-eval."""
of_eight_vlmevalkit = first_capital("A-H", (FINAL, *COMPLETE, *_SHORT))
"""Video-MME-v2 in VLMEvalKit."""
of_six = first_capital("A-F", COMPLETE)
"""TimeScope in lmms-eval."""
of_five = first_capital("ABCDE", COMPLETE)
"""Video-TT in lmms-eval."""
