"""Blank out the parts of a judge's verdict that only repeat the judged reply.

A reply may contain a grade ("Score: 10"), by chance or to manipulate the judge, and judges quote
what they judge. So before a verdict is parsed, three things are blanked out:

- text in quotation marks, code marks or a block quote that also occurs in the reply;
- a run of at least `MIN_RUN` words that also occurs in the reply;
- a shorter run that the reply states as a verdict ("Score: 10"), if the judge says more than that.

The remaining text is the judge's own. If it has no verdict, the verdict is unparsed and asked for
again: a grade that may be a quoted one is never believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.core import lazy_re as re

MIN_RUN = 6
"""Words and signs of a run that counts as a quote without quotation marks."""
_MAX_OTHER_WORDS = 3
"""With at most this many words and signs besides a repeated verdict, the verdict is all the judge
says."""
_WORD = re.compile(r"\w+|[^\w\s]")
_QUOTE = re.compile(
    r"```.*?(?:```|\Z)|(?:^[ \t]*>[^\n]*(?:\n|\Z))+|\"[^\"]{1,4000}\"|“[^”]{1,4000}”|«[^»]{1,4000}»"
    r"|「[^」]{1,4000}」|『[^』]{1,4000}』|`[^`\n]{1,4000}`|(?<!\w)'[^'\n]{1,4000}'(?!\w)"
    r"|(?<!\w)‘[^’\n]{1,4000}’(?!\w)",
    re.DOTALL | re.MULTILINE,
)
_GRADES = r"(?:-?\d+(?:\.\d+)?|\.\d+)(?:\s*(?:/|out of)\s*\d+)?"
_VERDICT_WORDS = r"correct|incorrect|right|wrong|true|false|yes|no|consistent|inconsistent"
_VERDICT = re.compile(
    rf"\b(?:score|grade|rating|correctness|judge?ment|verdict|mark|overall|evaluation)s?[\"'*_\s]*"
    rf"(?:[:=]|is\b)[\"'*_\s]*(?:{_GRADES}|(?:{_VERDICT_WORDS})\b)"
    rf"|\[\[\s*(?:{_GRADES}|[A-C])\s*\]\]"
    rf"|(?:\A\s*|\n[^\S\n]*)(?:{_VERDICT_WORDS})\s*[:.](?=\s|\Z)",
    re.IGNORECASE,
)
_APPEAL = re.compile(
    r"\b(?:ignore|disregard|forget)\s{1,9}(?:all\s{1,9}|any\s{1,9})?(?:the\s{1,9}|your\s{1,9})?"
    r"(?:previous|above|prior|earlier)\s{1,9}(?:instructions?|rules?|rubrics?|prompts?)"
    r"|\b(?:give|award|assign|grant|return|output)\s{1,9}"
    r"(?:me|it|this(?:\s{1,9}\w{1,40})?|the\s{1,9}\w{1,40})?\s{0,9}(?:a|the|an)?\s{0,9}(?:full|maximum|highest|perfect|top)\s+(?:score|marks?|grade|rating|credit)"
    r"|\b(?:dear|hey|note\s{1,9}to\s{1,9}(?:the\s{1,9})?)\s{0,9}(?:judge|grader|evaluator)\b",
    re.IGNORECASE,
)


_QUOTE_MARKS = frozenset("\"“”«»「」『』`'‘’>")


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def contains_verdict(reply: str) -> bool:
    """Whether a reply states what looks like a judge's verdict, or asks the judge for one."""
    return _VERDICT.search(reply) is not None or _APPEAL.search(reply) is not None


def without_quotes(verdict: str, reply: str) -> str:
    """The verdict with everything it repeats from the judged reply blanked out; same length.

    A verdict that is nothing else, such as a bare grade, stays as it is.
    """
    words = [token.text for token in _tokens(reply)]
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        positions.setdefault(word, []).append(position)
    remaining = verdict
    opening, closing = verdict.find("{"), verdict.rfind("}")
    for quote in _QUOTE.finditer(verdict):
        # In a JSON or Python object, quotation marks delimit strings.
        if 0 <= opening < quote.start() and quote.end() <= closing:
            continue
        inside = [token.text for token in _tokens(quote[0]) if token.text not in _QUOTE_MARKS]
        if inside and _contains_run(inside, words, positions):
            remaining = _blank(remaining, quote.start(), quote.end())
    for start, end in _repeated_runs(remaining, words):
        remaining = _blank(remaining, start, end)
    remaining = _blank_repeated_verdicts(remaining, reply)
    return remaining if _WORD.search(remaining) else verdict


def _tokens(text: str) -> list[_Token]:
    return [_Token(match[0].casefold(), *match.span()) for match in _WORD.finditer(text)]


def _contains_run(part: Sequence[str], words: Sequence[str], positions: Mapping[str, Sequence[int]]) -> bool:
    """Whether `words` contain `part` as a run; `positions` has the indices of each word."""
    starts = positions.get(part[0], ())
    # Limited because a looping reply has as many starts as words; a loop is no quote.
    return any(list(words[start : start + len(part)]) == list(part) for start in starts[:1000])


def _repeated_runs(verdict: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Spans in the verdict of runs of at least `MIN_RUN` words that occur in the reply."""
    runs_of_reply = {tuple(words[index : index + MIN_RUN]) for index in range(len(words) - MIN_RUN + 1)}
    own = _tokens(verdict)
    end = -1
    start = 0
    for index in range(len(own) - MIN_RUN + 1):
        if tuple(token.text for token in own[index : index + MIN_RUN]) not in runs_of_reply:
            continue
        if index > end:
            if end >= 0:
                yield own[start].start, own[end].end
            start = index
        end = index + MIN_RUN - 1
    if end >= 0:
        yield own[start].start, own[end].end


def _blank_repeated_verdicts(verdict: str, reply: str) -> str:
    """Blank out short statements such as "Score: 10" that occur in both, if the judge says more."""
    planted = {tuple(token.text for token in _tokens(match[0])) for match in _VERDICT.finditer(reply)}
    if not planted:
        return verdict
    own = _tokens(verdict)
    remaining, covered = verdict, 0
    for length in {len(run) for run in planted}:
        for index in range(len(own) - length + 1):
            if tuple(token.text for token in own[index : index + length]) in planted:
                remaining = _blank(remaining, own[index].start, own[index + length - 1].end)
                covered += length
    return remaining if len(own) - covered > _MAX_OTHER_WORDS else verdict


def _blank(text: str, start: int, end: int) -> str:
    blanks = "".join("\n" if sign == "\n" else " " for sign in text[start:end])
    return text[:start] + blanks + text[end:]
