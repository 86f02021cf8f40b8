"""Parse a judge's reply: a grade, two grades, a yes or no, an object of grades, a short answer.

Every parser returns None if the reply does not have a requested form. None is never a grade: the
caller may ask again, or leave the sample ungraded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.literals import load_json, parse_finite
from snellen.extract.clean import without_thinking


class ParsedVerdict(NamedTuple):
    """The content of a verdict: grades by dimension, in the rubric's own range, or a text."""

    values: Mapping[str, float] = {}
    text: str | None = None


GRADE = "grade"
"""Name of the only grade, if there is one."""
_NUMBER = re.compile(r"[-+]?(?:(?<!\d)\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]{0,40}\d)")
"""Look-ahead, and the space between words, is bounded: else a reply that repeats one sign
endlessly takes minutes."""
_FIRST_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_EDGE_SIGNS = " \t\n\"'`*_.[](){}"
_LABELLED_GRADE = re.compile(
    r"(?:score|grade|rating|correctness|judge?ment|verdict|mark)\b\W{0,12}?(?:is\W{1,4})?"
    r"(-?(?:\d+(?:\.\d+)?|\.\d+))(?![\d.]{0,40}\d)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"(?<!\s)\s*+(?:/|out of)\s*\d+(?:\.\d+)?\s*\Z", re.IGNORECASE)
_GRADE_PAIR = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s{0,20}(?:,|\s|/|;|and)\s{0,20}(\d+(?:\.\d+)?)(?![\d.]{0,40}\d)")
_POSITIVE = frozenset({"yes", "correct", "true", "right", "consistent", "1"})
_NEGATIVE = frozenset({"no", "incorrect", "false", "wrong", "inconsistent", "0"})
_VERDICT_WORDS = _POSITIVE | _NEGATIVE
_WORD = re.compile(r"[a-z]+|\d+")
_AMBIGUOUS_WORDS = frozenset({"yes", "no", "1", "0"})
"""Words with other meanings ("no difference", "option 1"): after the opening they count only as a
clause of their own, or behind a form of "be"."""
_RIGHT_HAND_SIDE = re.compile(r"\b(?:the|on|to|at|upper|lower|top|bottom|far)\s+(?P<word>right)\b")
_LONE_WORDS = re.compile(
    r"(?:(?:^|[.,;:!?\n]\s{0,40})|\b(?:is|are|was|be|it's)\s+(?:not\s+)?)"
    r"(?P<word>yes|no|1|0)(?=\s*(?:[.,;:!?\n]|\Z))"
)
_STATED_VERDICT = re.compile(
    r"(?:\A|\n|\b(?:verdict|judge?ment|conclusion|answer|result|evaluation|grade|score)"
    r"[\s\"'*_`]{0,40}(?:[:=]|is\b))[\s\"'*_`(\[]{0,60}(?P<verdict>(?:not\s+)?"
    r"(?:correct|incorrect|right|wrong|true|false|yes|no|consistent|inconsistent|1|0))\b"
)
_YES_TAG = re.compile(r"\[(yes|no)\]", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"\A(?:the\s+)?(?:extracted|final|short)?\s*(?:answer|result)s?\s*(?:is)?\s*[:：]?\s*", re.IGNORECASE
)
_LABELS_LEAD_IN = re.compile(r"\A(?:letters?|answers?)\s*:\s*", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+")
_NO_OPTION_LABEL = re.compile(r"[zZ]+")
_NO_OPTION = re.compile(r"(?:none|neither|no option)\b", re.IGNORECASE)
_LABEL_RUN = re.compile(r"[A-Y]{1,9}")
_LABEL = re.compile(r"[A-Za-z]|\d+")
FAILS_TO_ANSWER = "fail to answer"
"""In lower case: what an extractor writes if a reply says that the pages cannot be seen."""
_EXTRACTED_MARK = re.compile(r"extracted answer\W{0,4}?:", re.IGNORECASE)
_FORMAT_MARK = re.compile(r"[\s*`]{0,20}answer format\W{0,4}?:", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json|JSON|python)?(.*?)```", re.DOTALL)
_PYTHON_QUOTES = re.compile(r"'((?:[^'\\]|\\.)*)'(?=\s*[:,}\]])")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
"""After the last item, as Python and many judges write it; JSON does not allow it."""
_MAX_DECODED = 1_000_000
"""Characters of attempts to decode an object: in a long reply of many braces, the first and the
last ones are tried."""
_NO_ANSWER = frozenset({"none", "null", "n/a", "na", "z", "no answer", "not answered", "unknown"})


def parse_grade(reply: str, low: float, high: float, *, integers_only: bool = False) -> ParsedVerdict | None:
    """One number in low..high: the complete reply, a labelled one ("Score: 4"), or the only number.

    Of several labelled ones that differ, the one in the last line counts; without one there, none
    does. `integers_only` rejects other numbers.
    """
    text = without_thinking(reply).strip()
    bare = _OUT_OF.sub("", _strip_markup(text))
    labelled = _LABELLED_GRADE.findall(text)
    last = _LABELLED_GRADE.findall(text[text.rfind("\n") + 1 :])
    numbers = _NUMBER.findall(_OUT_OF.sub("", text))
    if _NUMBER.fullmatch(bare):
        number = bare
    elif len(set(last)) == 1:
        number = last[0]
    elif len(set(labelled)) == 1:
        number = labelled[0]
    elif len(numbers) == 1:
        number = numbers[0]
    else:
        return None
    value = float(number)
    if not low <= value <= high or (integers_only and value != int(value)):
        return None
    return ParsedVerdict({GRADE: value})


def parse_pair(reply: str, names: tuple[str, str], low: float, high: float) -> ParsedVerdict | None:
    """Two numbers in low..high in the first line that is not empty: "8 10", "8, 10".

    LLaVA-Bench's judge is asked to begin so.
    """
    lines = [line for line in without_thinking(reply).splitlines() if line.strip()]
    if not lines:
        return None
    match = _GRADE_PAIR.search(lines[0])
    if match is None or len(_NUMBER.findall(lines[0])) != 2:
        return None
    pair = [float(match[1]), float(match[2])]
    if not all(low <= value <= high for value in pair):
        return None
    return ParsedVerdict(dict(zip(names, pair, strict=True)))


def parse_correctness(reply: str) -> ParsedVerdict | None:
    """Right (1) or wrong (0): yes/no, correct/incorrect, true/false, 1/0.

    The last stated verdict counts, on a line of its own or behind "verdict:" or similar; without
    one, the opening word and all others together. None if they differ: "Correct. ... However, it is
    wrong." is no verdict.
    """
    text = without_thinking(reply).lower().replace("n't", " not").strip()
    end = len(text.rstrip(_EDGE_SIGNS))
    stated = [match for match in _STATED_VERDICT.finditer(text) if match.end() >= end]
    if stated:
        words = _WORD.findall(stated[-1]["verdict"])
        return ParsedVerdict({GRADE: float((words[-1] in _POSITIVE) != ("not" in words))})
    words = _WORD.findall(text)
    alone = {match.start("word") for match in _LONE_WORDS.finditer(text)}
    directions = {match.start("word") for match in _RIGHT_HAND_SIDE.finditer(text)}
    verdicts = [
        (match[0] in _POSITIVE) != (position > 0 and words[position - 1] == "not")
        for position, match in enumerate(_WORD.finditer(text))
        if match[0] in _VERDICT_WORDS
        and match.start() not in directions
        and (position == 0 or match[0] not in _AMBIGUOUS_WORDS or match.start() in alone)
    ]
    return ParsedVerdict({GRADE: float(verdicts[0])}) if len(set(verdicts)) == 1 else None


def parse_bracketed_yes(reply: str) -> ParsedVerdict | None:
    """Right (1) or wrong (0) by the last [YES] or [NO], in any case; else as `parse_correctness`
    does."""
    tags = _YES_TAG.findall(without_thinking(reply))
    if tags:
        return ParsedVerdict({GRADE: float(tags[-1].lower() == "yes")})
    return parse_correctness(reply)


def parse_grades(reply: str, names: Sequence[str], low: float, high: float) -> ParsedVerdict | None:
    """A grade for every name, from an object in JSON or Python syntax.

    Grades outside low..high are clipped (MMDU's rule); if a name is missing, the verdict is
    unparsed.
    """
    decoded = parse_object(reply)
    if decoded is None:
        return None
    grade_of = {re.sub(r"[\s_]+", " ", str(key)).strip().casefold(): v for key, v in decoded.items()}
    marks: dict[str, float] = {}
    for name in names:
        mark = _as_number(grade_of.get(name.casefold()))
        if mark is None:
            return None
        marks[name] = min(max(mark, low), high)
    return ParsedVerdict(marks)


def parse_graded_object(
    reply: str, name: str, low: float, high: float, *, integers_only: bool = False
) -> ParsedVerdict | None:
    """The grade `name` of an object in JSON or Python syntax: `{"verdict": "1"}`.

    A reply without such an object is parsed as by `parse_grade`.
    """
    decoded = parse_object(reply)
    if decoded is None:
        return parse_grade(reply, low, high, integers_only=integers_only)
    mark = _as_number(decoded.get(name))
    if mark is None or not low <= mark <= high or (integers_only and mark != int(mark)):
        return None
    return ParsedVerdict({GRADE: mark})


def parse_object(reply: str) -> Mapping[str, object] | None:
    """The last object in a reply, bare or fenced."""
    text = without_thinking(reply)
    fenced = _FENCE.findall(text)
    for piece in (*reversed(fenced), text):
        starts = [match.start() for match in re.finditer(r"\{", piece)]
        half = _MAX_DECODED // (2 * len(piece) + 1) + 1
        for start in starts if len(starts) <= 2 * half else (*starts[:half], *starts[-half:]):
            end = piece.rfind("}")
            value = _decode_object(piece[start : end + 1]) if end > start else None
            if value is not None:
                return value
    return None


def find_json(reply: str) -> str | None:
    """The JSON of a reply, bare or fenced, as a text; None if it holds none."""
    text = without_thinking(reply).strip()
    pieces: list[str] = [text, *reversed(_FENCE.findall(text))]
    for piece in pieces:
        try:
            load_json(piece)
        except ValueError:
            continue
        return piece.strip()
    return None


def parse_word(reply: str, words: Iterable[str], mark: str = "") -> str | None:
    """Which of these words a verdict states, in any case: the first behind the last `mark`; without
    the mark the only one of the last line, or of all lines. "Not" and similar are not understood, so
    that a rubric asks for one of the words alone."""
    text = without_thinking(reply)
    by_folded = {word.casefold(): word for word in words}
    # A word of letters stands alone; Chinese has no blanks, and there 不 negates.
    edges = ((r"(?<!\w)", r"(?!\w)") if word.isascii() else ("(?<!不)", "") for word in by_folded)
    longest = sorted(zip(by_folded, edges, strict=True), key=lambda pair: -len(pair[0]))
    pattern = re.compile("|".join(f"{left}{word}{right}" for word, (left, right) in longest), re.IGNORECASE)
    start = text.casefold().rfind(mark.casefold()) if mark else -1
    if start >= 0:
        behind = pattern.search(text, start + len(mark))
        return by_folded[behind[0].casefold()] if behind else None
    for part in (text.rstrip().rpartition("\n")[2], text):
        found = {match[0].casefold() for match in pattern.finditer(part)}
        if len(found) == 1:
            return by_folded[found.pop()]
    return None


def parse_marked_number(reply: str, mark: str, low: float, high: float) -> ParsedVerdict | None:
    """The first number behind the last `mark`, in low..high; without the mark as `parse_grade` does."""
    text = without_thinking(reply)
    start = text.casefold().rfind(mark.casefold()) if mark else -1
    if start < 0:
        return parse_grade(text, low, high)
    number = _FIRST_NUMBER.search(text, start + len(mark))
    value = float(number[0]) if number else low - 1
    return ParsedVerdict({GRADE: value}) if low <= value <= high else None


def parse_text(reply: str) -> ParsedVerdict | None:
    """The whole reply as a text; None for an empty one."""
    text = without_thinking(reply).strip()
    return ParsedVerdict(text=text) if text else None


def parse_extracted_answer(reply: str) -> ParsedVerdict | None:
    """The short answer that a judge extracted: the reply's last line without a lead-in.

    If the judge found none, the text is empty.
    """
    text = without_thinking(reply).strip()
    if not text:
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    core = _LEAD_IN.sub("", lines[-1]).strip().strip("\"'`*").strip()
    if core.casefold().strip(_EDGE_SIGNS) in _NO_ANSWER:
        return ParsedVerdict(text="")
    return ParsedVerdict(text=core) if core else None


def parse_extracted_document_answer(reply: str) -> ParsedVerdict | None:
    """The short answer that was requested as `Extracted answer: ...` before a line `Answer format:
    ...`.

    A reply without the first mark is the answer itself. The text is empty if nothing follows the
    mark; None for an empty reply.
    """
    text = without_thinking(reply).strip()
    if not text:
        return None
    marks = list(_EXTRACTED_MARK.finditer(text))
    core = text[marks[-1].end() :] if marks else text
    core = _FORMAT_MARK.split(core, maxsplit=1)[0].strip()
    return ParsedVerdict(text=core.strip("`*").strip())


def parse_labels(reply: str) -> ParsedVerdict | None:
    """The labels a judge was asked to write, in alphabetical order ("B, D").

    Capitals in one run, or separate letters and numbers of any case. Z, an empty list, a single
    word that is no label and "None of the options" give the empty text. None for any other
    sentence.
    """
    core = _LABELS_LEAD_IN.sub("", without_thinking(reply).strip())
    tokens = [token for token in _TOKEN.findall(core) if not _NO_OPTION_LABEL.fullmatch(token)]
    if not core or core.isspace():
        return None
    if _NO_OPTION.match(core):
        return ParsedVerdict(text="")
    if len(tokens) == 1 and _LABEL_RUN.fullmatch(tokens[0]):
        tokens = list(tokens[0])
    elif len(tokens) == 1 and not _LABEL.fullmatch(tokens[0]):
        tokens = []
    if not all(_LABEL.fullmatch(token) for token in tokens):
        return None
    return ParsedVerdict(text=", ".join(sorted({token.upper() for token in tokens})))


def _decode_object(piece: str) -> Mapping[str, object] | None:
    quoted = _PYTHON_QUOTES.sub(lambda match: json.dumps(match[1]), piece)
    for text in (piece, quoted, _TRAILING_COMMA.sub("", quoted)):
        try:
            value = load_json(text)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _as_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return parse_finite(str(value))
    if isinstance(value, str):
        bare = _OUT_OF.sub("", _strip_markup(value))
        return float(bare) if _NUMBER.fullmatch(bare) else None
    return None


def _strip_markup(text: str) -> str:
    """The text without surrounding marks; a dot before digits stays (".5")."""
    return text.lstrip(_EDGE_SIGNS.replace(".", "")).rstrip(_EDGE_SIGNS)
