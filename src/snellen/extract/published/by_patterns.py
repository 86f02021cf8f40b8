r"""Readers of choices that are a list of regular expressions: of the first that finds anything, the first
or the last letter counts. By VLMEvalKit's commit e8e78f05 and lmms-eval's 75571cfe (August 2026).

`m3oralbench`    M³oralBench in VLMEvalKit: the last `\boxed{B}`, else `(B)`, else A to G alone.
`medq_bench`     MedQ-Bench in VLMEvalKit: a letter that is all or opens the reply, else the first alone.
`medq_deg`       MedQ-Deg in VLMEvalKit, the same with five letters.
`m4bench`        M4Bench in VLMEvalKit: `(B)` that opens the reply, else a capital that does.
`lsdbench`       LSDBench in lmms-eval: the last A to D beside no other letter.
`mathkangaroo`   MathKangaroo in lmms-eval: the first letter behind "answer" or "option", even of a word,
                 else the last line that is one, else the last alone.
`minerva`        MINERVA in lmms-eval: the last letter behind "answer is" or "option:", else the last
                 capital but that of "Answer:"; else one drawn.
`mvu_eval`       MVU-Eval in VLMEvalKit: the letter in a box, else behind "answer:", else one that is all or
                 opens the reply before a stop, else behind "answer is" or "order is", where it is the only
                 one; else the first sign.
`v2p_bench`      V2P-Bench in VLMEvalKit: the first capital A to D behind the thinking, but those of lead-ins.
`mmsi_video`     MMSI-Video-Bench in lmms-eval: A to F in a box, behind "answer:" or "answer is" up to a comma or
                 stop, or before the first stop; else the first letter that is in brackets, alone or before a stop.
`livexiv`        LiveXiv in lmms-eval: the first sign; where the reply says "answer", the first capital
                 that does not open it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.mmmu import between_blanks, draw_option
from snellen.extract.unanswered import label_answer, unparsed_answer

RULE = "patterns"
FIRST, LAST = 0, -1
_BUCKET = (r"(?i)answer\s*\(\s*([1-3])\s*\)", r"(?i)bucket\s*([1-3])", r"(?<!\d)([1-3])(?!\d)")
_MVU = (
    r"\\BOXED{([A-Z])",
    r"ANSWER:\s*([A-Z])",
    r"^([A-Z])$",
    r"^([A-Z])\.",
    r"\bTHE\s+.*?ANSWER\s+IS\s+([A-Z])",
    r"\bANSWER\s+IS\s+([A-Z])",
    r"\bTHE\s+.*?ORDER\s+IS\s+([A-Z])",
)
_THOUGHT_END = re.compile(r"<\\?/think>")
_MMSI_MARKS = ('"answer":', "answer is", "answer:", '"Answer":', "Answer is", "Answer:")
_SIGNS = "[ \"'\\n:]*"
"""Signs around a letter that its script drops."""

Parser = Callable[[str, Mapping[str, str], str], Answer]


def by_patterns(*patterns: tuple[str, int], read: Callable[[str], str] = str.strip, draws: bool = False) -> Parser:
    """The parser by patterns, each with which of its letters counts. `read` is done to a reply before;
    with `draws` an option is drawn where no pattern finds one."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        found = _find(read(reply), patterns).upper()
        answer = label_answer(found, RULE, reply, options, stop_reason)
        return draw_option(answer, reply, options) if draws and not found else answer

    return parse


def _find(text: str, patterns: tuple[tuple[str, int], ...]) -> str:
    letters = ([one[1] for one in re.finditer(pattern, text)] for pattern, _ in patterns)
    return next((found[which] for found, (_, which) in zip(letters, patterns, strict=True) if found), "")


def _capitals(reply: str) -> str:
    return reply.strip().upper()


def _medq(letters: str) -> Parser:
    return by_patterns(
        (rf"\A([{letters}])\Z", FIRST),
        (rf"\A([{letters}])[.)\s]", FIRST),
        (rf"\A([{letters}])\s*[-:]", FIRST),
        (rf"(?:^|[^A-Z])([{letters}])(?:[^A-Z]|$)", FIRST),
        read=_capitals,
    )


def _without_thoughts(reply: str) -> str:
    *parts, rest = _THOUGHT_END.split(reply)
    return "\n".join([*(part.partition("<think>")[0] for part in parts), rest])


m3oralbench = by_patterns(
    (r"\\boxed\{\s*([A-Z])\s*\}", LAST), (r"\(([A-Z])\)", LAST), (r"(?i)\b([A-G])\b", LAST), read=str
)
medq_bench = _medq("A-D")
medq_deg = _medq("A-E")
m4bench = by_patterns((r"\A\s*\(([A-Z])\)", FIRST), (r"\A([A-Z])", FIRST), read=str)
lsdbench = by_patterns((r"(?<![a-zA-Z])([ABCD])(?![a-zA-Z])", LAST))
mathkangaroo = by_patterns(
    (r"(?i)(?:final\s+answer|answer|option)\s*(?:is|:)?\s*\(?([A-E])\)?", FIRST),
    (r"(?im)^\s*\(?([A-E])\)?[.)]?\s*$", LAST),
    (r"(?i)\b([A-E])\b", LAST),
)
minerva = by_patterns((r"(?i)(?:answer|option)\s*(?:is|:)\s*([A-E])", LAST), (r"(?!Answer:)([A-E])", LAST), draws=True)
v2p_bench = by_patterns((r"(?!Best answer:|Best option:|Answer:)([A-D])", FIRST), read=_without_thoughts)
mmsi_video = by_patterns(
    (rf"(?s)\A(?>.*?boxed\{{){_SIGNS}([A-F]){_SIGNS}(?=\}}|boxed\{{|\Z)", FIRST),
    *((rf"(?s)\A(?>.*{mark}){_SIGNS}([A-F]){_SIGNS}(?:[,.]|\Z)", FIRST) for mark in _MMSI_MARKS),
    (rf"\A{_SIGNS}([A-F]){_SIGNS}(?:\.|\Z)", FIRST),
    *((rf"((?<=\(){letter}(?=\))|(?<![^ ]){letter}(?![^ ])|{letter}(?=\.))", FIRST) for letter in "ABCDEF"),
    read=lambda reply: "" if "no answer" in reply.lower() else re.sub("</?answer>", "", reply.strip()),
)
livexiv = by_patterns((r"(?s)\A(?!.*(?i:answer))(.)", FIRST), (r"(?s)(?<=.)([A-Z])", FIRST))


def mvu_eval(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    text = _capitals(reply)
    letters = next((found for pattern in _MVU if (found := {one[1] for one in re.finditer(pattern, text)})), set[str]())
    letter = letters.pop() if len(letters) == 1 else text[:1]
    return ParsedAnswer(letter, RULE) if letter in options else unparsed_answer(reply, stop_reason)


def parse_between_blanks(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """SuperGPQA, CS-Bench and MedQA in lmms-eval: a label in brackets, else between blanks, else before a
    stop; of several the one that stands last between blanks; else one drawn."""
    text = between_blanks(reply.strip())
    labels = list(options) or list("ABCDEFGHIJ")
    for form in ("({})", " {} ", "{}."):
        found = [label for label in labels if form.format(label) in text]
        if found:
            return ParsedAnswer(max(found, key=lambda label: text.rfind(f" {label} ")), RULE)
    return draw_option(unparsed_answer(reply, stop_reason), reply, options)


def parse_bucket(reply: str, stop_reason: str = "stop") -> Answer:
    """VPCT in lmms-eval: the number in "answer(2)", else behind "bucket", else the first 1, 2 or 3."""
    found = _find(reply, tuple((pattern, FIRST) for pattern in _BUCKET))
    return ParsedAnswer(found, RULE) if found else unparsed_answer(reply, stop_reason)
