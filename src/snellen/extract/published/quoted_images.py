r"""Published parsing rules of benchmarks of images that model reports quote, faults included.

`parse_erqa`           VLMEvalKit: the complete reply is the letter, in either case.
`parse_last_answer`    VLMEvalKit's rule for VisualPuzzles and PuzzleVQA: the letter behind the last
                       "answer:", in any case; nothing else counts.
`parse_visualpuzzles`  VisualPuzzles (arXiv:2504.10342), the authors' task for lmms-eval: the last
                       letter in the first of nine ways of writing it, else the option's text; else
                       an option drawn at random, here by a seed from the options and the reply.
`parse_mindcube`       MindCube (arXiv:2506.21458), `extract_answer`: the last capital A to E before
                       a full stop, else what <Answer> holds, else five ways of writing a label,
                       else the first lone label of the last line that has one.
`parse_omnispatial`    OmniSpatial (arXiv:2506.03135), `--eval_type re`: the last "Answer: X"; a reply
                       without one is A.
`parse_naturalbench`, `parse_naturalbench_yes_no`
                       NaturalBench (arXiv:2410.14669), `extract_answer`: A or B, yes or no,
                       whichever is the first word of its kind in the reply.
`parse_corecognition`, `parse_corecognition_yes_no`
                       CoreCognition (arXiv:2410.10855) in VLMEvalKit, without its judge: yes, no or
                       a letter that opens the reply, stands behind a line break or an asterisk, or
                       behind "answer", "choice" or "option".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.mmmu import RULE, draw_option
from snellen.extract.published.vlmevalkit import RULE as VLMEVALKIT
from snellen.extract.unanswered import unparsed_answer

_FOUR_LABELS = "ABCD"
_MAX_LETTER_REPLY = 5
_LAST_ANSWER = re.compile(r"\banswer\s*:\s*([A-Z])\b", re.IGNORECASE)
_PUZZLE_FORMS = tuple(
    map(
        re.compile,
        (
            *(r"Answer:\s*\(([A-Za-z])\)", r"(?<!Final )Answer:\s*([A-Za-z])", r"Answer:\s*([A-Za-z])"),
            *(r"\(([A-Za-z])\)", r"([A-Za-z])\)", r"\{([A-Za-z])\}", r"\$([A-Za-z])\$", r" ([A-Da-d])\."),
        ),
    )
)
_LETTER_BEHIND_BLANK = re.compile(" ([A-Da-d])")
_BEFORE_STOP = re.compile(r"([A-E])\.")
_ANSWER_TAG = re.compile(r"<Answer>(.*?)(?:<|$)", re.DOTALL)
_LONE_LETTER = re.compile(r"\b([A-E])\b")
_IN_TAG = (re.compile("[Mm]y answer is ([A-E])"), re.compile("[Tt]he answer is ([A-E])"), _LONE_LETTER)
_LABEL_FORMS = (
    re.compile(r"(?:^|\n)(?:Answer: )?([A-E])(?:$|\s)"),
    re.compile(r'[*"]([A-E])[*"]'),
    re.compile(r"\bAnswer:?\s*([A-E])\b"),
    *_IN_TAG[:1],
    re.compile("answer is ([A-E])"),
)
_ANSWER_LINE = re.compile(r"Answer\s*:\s*([A-D])\b", re.IGNORECASE)
_DEFAULT = "A"
_ENDS = {end: re.compile(rf"\b{end}\b", re.IGNORECASE) for end in ("yes", "no", "A", "B")}
_WORD = r"(yes|no|\w)"
_CORE_FORMS = (
    re.compile(rf"^{_WORD}[,.; \n*]", re.IGNORECASE),
    re.compile(rf"[\n*{{]{_WORD}[,.; \n*}}]", re.IGNORECASE),
    re.compile(rf"{_WORD} is the correct answer", re.IGNORECASE),
    *(
        re.compile(rf"{noun}[:;*\n ]*{_WORD}", re.IGNORECASE)
        for noun in ("answer is", "answer", "choice is", "choice", "option is", "Assistant")
    ),
)
_FIRST_PART = re.compile(r"[,. :;\n]")
_MARKUP = (
    *(r"\[ \boxed{", r"} \]", "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|end_of_sentence|>"),
    *("</s>", "<CONCLUSION>", "</CONCLUSION>", "Falcon: "),
)


def parse_erqa(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The reply, without surrounding white space, is a letter."""
    label = reply.strip().upper()
    return _as_answer(label if len(label) == 1 else "", VLMEVALKIT, reply, stop_reason)


def parse_last_answer(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The letter behind the last "answer:"."""
    letters = _LAST_ANSWER.findall(reply)
    return _as_answer(letters[-1].upper() if letters else "", VLMEVALKIT, reply, stop_reason)


def parse_visualpuzzles(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The last letter in the first way of writing it that finds one, else the option whose text
    is said last; else one drawn."""
    text = f" {reply.strip()}"
    forms = (*_PUZZLE_FORMS, *((_LETTER_BEHIND_BLANK,) if len(text) <= _MAX_LETTER_REPLY else ()))
    for form in forms:
        letters = [letter for letter in map(str.upper, form.findall(text)) if letter in _FOUR_LABELS]
        if letters:
            return ParsedAnswer(letters[-1], RULE)
    label = _announced_text(text, options)
    if label:
        return ParsedAnswer(label, RULE)
    return draw_option(unparsed_answer(reply, stop_reason), reply, options or dict.fromkeys(_FOUR_LABELS, ""))


def _announced_text(text: str, options: Mapping[str, str]) -> str:
    """The first option behind "answer:", as it is written there in small letters; else the one
    whose text is latest."""
    low = text.lower()
    announced = (label for label, content in options.items() if re.search(f"answer: ?{re.escape(content)}", low))
    places = {label: text.rfind(content) for label, content in options.items()}
    latest = max(places, key=places.__getitem__, default="")
    return next(announced, latest if places.get(latest, -1) >= 0 else "")


def parse_mindcube(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The last capital before a full stop, else by the tag, a label's forms, the last line."""
    section = _ANSWER_TAG.search(reply)
    label = (
        _last(reply, (_BEFORE_STOP,)) or (_last(section[1], _IN_TAG) if section else "") or _last(reply, _LABEL_FORMS)
    )
    if not label:
        found = filter(None, map(_LONE_LETTER.search, reversed(reply.split("\n"))))
        label = next((one[1] for one in found), "")
    return _as_answer(label, RULE, reply, stop_reason)


def _last(text: str, forms: Sequence[re.Pattern[str]]) -> str:
    """The last letter of the first form that finds any."""
    letters: list[str] = next(filter(None, (form.findall(text) for form in forms)), [])
    return letters[-1] if letters else ""


def parse_omnispatial(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The letter behind the last "Answer:", which is right only as a capital; A without one."""
    letters = _ANSWER_LINE.findall(reply)
    label = letters[-1] if letters else _DEFAULT
    return _as_answer(label if label.isupper() else "", RULE, reply, stop_reason)


def parse_naturalbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """A or B, whichever is the first word."""
    return _as_answer(_first_word(reply, "A", "B"), RULE, reply, stop_reason)


def parse_naturalbench_yes_no(reply: str, stop_reason: str = "stop") -> Answer:
    """Yes or no, whichever comes first."""
    return _as_answer(_first_word(reply, "yes", "no").capitalize(), RULE, reply, stop_reason)


def _first_word(reply: str, *words: str) -> str:
    places = {found.start(): word for word in words if (found := _ENDS[word].search(reply))}
    return places[min(places)] if places else ""


def parse_corecognition(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first letter A to F that a form finds."""
    return _as_answer(_match_template(reply, tuple("ABCDEF")), VLMEVALKIT, reply, stop_reason)


def parse_corecognition_yes_no(reply: str, stop_reason: str = "stop") -> Answer:
    """The first yes or no that a form finds."""
    return _as_answer(_match_template(reply, ("YES", "NO")).capitalize(), VLMEVALKIT, reply, stop_reason)


def _match_template(reply: str, known: Sequence[str]) -> str:
    """The first of the known answers that a form finds; of a single word, its first part."""
    text = reply.rpartition(">\n\n")[2].rpartition("**\n\n")[2]
    for mark in _MARKUP:
        text = text.replace(mark, "")
    text = text.strip()
    if len(text.split()) < 2:
        said = [_FIRST_PART.split(text)[0]]
    else:
        said = [found[1] for form in _CORE_FORMS if (found := form.search(text))]
    return next((word for word in map(str.upper, said) if word in known), "")


def _as_answer(label: str, rule: str, reply: str, stop_reason: str) -> Answer:
    return ParsedAnswer(label, rule) if label else unparsed_answer(reply, stop_reason)
