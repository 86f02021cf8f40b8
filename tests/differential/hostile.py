"""Replies that real files of predictions hold and nobody likes to make up: drawn for every set.

A set is its ordinary cases and, by a seed, hostile ones: each takes the question of an ordinary
case, and what is said there stands inside the hostile reply. Which classes a set must hold, and
how many rows of each, is `quota_of`; what does not apply to it, with the reason, stands in
`NOT_ASKED`. Sets whose rows belong together (rotations, pairs, dialogues) get no further rows: some
of their replies are replaced.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from random import Random

from tests.differential import styles_choice
from tests.differential.options import held_options, with_options
from tests.differential.sets import Case, JudgedSet, Spec

STRIDE = 1_000_000
"""Rotation r of question i is the row i + r * 1,000,000."""
STYLE = "hostile: "
"""Begins the styles of all of them."""
LONG = 5000
"""Characters that a long reply has more than."""
QUOTA = 3
"""Rows of each class that a set holds at least."""
LANGUAGES_HELD = 6
_DRAWS = 4
_NOTHING = ("N/A", "n/a", "NA", "None", "none", "nan", "NaN", "null", "NULL", "#N/A", "<NA>")
_KEPT_BY_PANDAS = frozenset({"none"})
"""The words for nothing that pandas does not read as an empty cell."""
_FAILED = (
    "Failed to obtain answer via API.",
    "Failed to obtain answer via API",
    "Failed to obtain answer via API. HTTP 429: too many requests",
    "Failed to obtain answer.",
)

Writer = Callable[[Random, str], str]
"""A reply, given what an ordinary one says."""

_OPENINGS = (
    "Let me look at the picture again.",
    "The left half is darker than the right one.",
    "There are two things to compare here.",
    "First, one should read the question with care.",
    "Wait, that is not what was asked.",
    "At the top there is a label, but it is hard to read.",
    "Counting from the left, the third one differs.",
    "Hmm, the shadow falls the other way.",
    "The second sentence says the opposite of the first.",
    "So far nothing speaks against it.",
    "Perhaps the number 12 belongs to the next row.",
    "A closer look at B shows the same thing.",
    "It could also be C, if the scale were another.",
    "No: the legend has only three colours.",
    "One of the people wears a hat, the others do not.",
    "That would be 3.5 times as much.",
    "However, the caption mentions yes and no in turn.",
    "Both are about as far from the middle.",
    "I think that the edge in front belongs to the table.",
    "Therefore the first idea was wrong.",
)
_CUT = ("so the", "which means that it", "and then the second one is", "because if we", "Wait, the")
LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "Chinese": ("根据图片，答案是{}。", "我认为正确的选项应该是{}，因为左边更暗。"),
    "Japanese": ("画像から判断すると、答えは{}です。", "正解は「{}」だと思います。"),
    "Korean": ("그림을 보면 정답은 {}입니다.", "답: {} 인 것 같습니다."),
    "Arabic": ("بالنظر إلى الصورة، الإجابة هي {}.", "الجواب الصحيح: {}"),
    "Russian": ("Судя по картинке, правильный ответ: {}.", "Я думаю, что это {}."),
    "Hindi": ("चित्र के अनुसार सही उत्तर {} है।", "उत्तर: {}"),
    "German": ("Die richtige Antwort ist {}.", "Auf dem Bild sieht man, dass die Antwort {} ist."),
    "French": ("La bonne réponse est {}.", "D'après l'image, la réponse est donc {}."),
    "Spanish": ("La respuesta correcta es {}.", "Según la imagen, la respuesta es {}."),
    "Portuguese": ("A resposta correta é {}.", "De acordo com a imagem, a resposta é {}."),
}
"""The same two sentences in ten languages."""
_SAID_IN = {
    name: [[part for part in text.rstrip(".。").split("{}") if part] for text in texts]
    for name, texts in LANGUAGES.items()
}
"""What stands before and behind the answer in them."""


def _thoughts(random: Random, least: int) -> str:
    """Sentences of at least so many characters."""
    found = random.choice(_OPENINGS)
    while len(found) < least:
        found += random.choice((" ", " ", "\n", "\n\n")) + random.choice(_OPENINGS)
    return found


def _cut_thought(random: Random, said: str) -> str:
    thoughts = _thoughts(random, random.choice((40, 200, 900)))
    end = random.choice((f"So the answer is {said}", f"Is it {said}? {random.choice(_CUT)}", ""))
    return f"<think>{random.choice(('', chr(10)))}{thoughts} {end or random.choice(_CUT)}"


def _cut_sentence(random: Random, said: str) -> str:
    return f"{_thoughts(random, 120)} It may be {said}, {random.choice(_CUT)}"


def _long(random: Random, said: str) -> str:
    text = _thoughts(random, LONG)
    return random.choice(
        (
            f"{text}\n\nAnswer: {said}",
            f"<think>{text}</think>\n{said}",
            f"{said}\n\n{text}",
            f"{text} The answer is {said}.",
            f"{_thoughts(random, 80)} {' the' * 1400}",
        )
    )


def _listed(random: Random, said: str) -> str:
    return random.choice(
        (
            f"['{said}']",
            json.dumps([said, "other"]),
            f"[{said}]",
            f'["{said}"]',
            "[]",
            json.dumps([{"answer": said, "score": 0.9}]),
        )
    )


def _object(random: Random, said: str) -> str:
    held = random.choice(
        (
            {"answer": said},
            {"answer": [said]},
            {"reasoning": "It is so.", "answer": said},
            {"final_answer": said, "confidence": 0.8},
            {"choice": said},
            {},
        )
    )
    indent = random.choice((None, 2))
    text = json.dumps(held, ensure_ascii=False, indent=indent)
    return random.choice((text, f"```json\n{text}\n```"))


WRITERS: Mapping[str, Writer] = {
    "empty": lambda random, said: random.choice(("", "", " ", "\n\n")),
    "failed": lambda random, said: random.choice(_FAILED),
    "cut thought": _cut_thought,
    "cut sentence": _cut_sentence,
    "long": _long,
    "N/A": lambda random, said: random.choice(_NOTHING),
    "one letter": lambda random, said: random.choice("ABCDEabcXyZ"),
    "list": _listed,
    "JSON": _object,
}
LETTER_OPTIONS, EMPTY_OPTIONS = "options of one letter", "options such as N/A"
IN_LANGUAGES = "other languages"
EMPTY_CELL = "empty cell in pandas"
"""A reply or an option is a word that pandas reads as an empty cell. Beside the classes: no set is
asked for it, it explains differences."""
CLASSES = (*WRITERS, IN_LANGUAGES, LETTER_OPTIONS, EMPTY_OPTIONS)
_SHORT = frozenset({"empty", "failed", "N/A", "one letter", "list", "JSON"})

GROUPED = (
    "video-mme-v2.*",
    "videomathqa-pairs.*",
    "mmbench.*",
    "mmbench@*",
    "mtl-mmbench*",
    "ccbench.*",
    "mmcr.*",
    "blink@rotations*",
    "blink.authors",
    "mmvp.*",
    "mme.*",
    "hallusionbench.*",
    "vlm2bench.*",
    "dynamath.*",
    "wemath.*",
    "mm-ifeval.*",
    "mmdu.*",
    "mega-bench.*",
    "chartmimic.*",
    "wilddoc.*",
    "gobench.*",
    "mme-reasoning.*",
    "creation-*",
    "mvtamperbench.*",
    "cg-bench*",
    "hrbench*.vlmevalkit",
    "cc-ocr.vlmevalkit",
    "3dsrbench.vlmevalkit",
    "naturalbench.authors",
)
"""Sets whose rows belong together, or have ids of another kind."""
ROTATED = ("mmbench.*", "mmbench@*", "mtl-mmbench*", "ccbench.*", "mmcr.*", "blink@rotations*")
"""Of these, sets in which a question stands once for each rotation of its options."""
VARIED = ("creation-mmbench.*", "mathvista.authors", "mmlongbench-doc.*", "dude.*", "slidevqa.vlmevalkit")
"""Sets whose verdicts are about words that others made of the reply: the reply is any prose."""
EXTRACTED: Mapping[str, str] = {
    "mathvista.authors": "{}",
    "mmlongbench-doc.*": "Extracted answer: {}\nAnswer format: String",
    "dude.*": "Extracted answer: {}\nAnswer format: String",
    "slidevqa.vlmevalkit": "Extracted answer: {}\nAnswer format: String",
}
"""Sets in which an extractor's words are judged: those are hostile too."""
_STOPS = "VLMEvalKit stops where pandas reads the reply as an empty cell: "
NOT_ASKED: Mapping[str, Mapping[str, str]] = {
    **{
        name: dict.fromkeys(("empty", "N/A"), _STOPS + error)
        for name, error in {
            "q-bench-video.vlmevalkit": "TypeError: argument of type 'float' is not iterable",
            "omni3d-bench.vlmevalkit": "TypeError: argument of type 'float' is not iterable",
            "charxiv@*.vlmevalkit": "TypeError: replace() argument 2 must be str, not float",
            "q-spatial.vlmevalkit": "TypeError: expected string or bytes-like object, got 'float'",
            "vlm2bench.vlmevalkit": "TypeError: expected string or bytes-like object, got 'float'",
            "tablevqabench.vlmevalkit": "AttributeError: 'float' object has no attribute 'replace'",
            "mlvu.vlmevalkit": "TypeError: argument of type 'float' is not iterable",
            "mme-realworld.vlmevalkit": "TypeError: expected string or bytes-like object, got 'float'",
            "mmmu-pro@setting=10,*": "AttributeError: 'float' object has no attribute 'strip'",
            "wilddoc.vlmevalkit": "AttributeError: 'float' object has no attribute 'decode'",
        }.items()
    },
    "dude.vlmevalkit": dict.fromkeys(
        ("failed", "empty", "N/A"),
        "VLMEvalKit stops where it extracts nothing: AttributeError: 'float' object has no attribute 'lower'",
    ),
    "mvtamperbench.vlmevalkit": dict.fromkeys(
        (LETTER_OPTIONS, EMPTY_OPTIONS),
        "options are Yes and No; at others its F1 stops: ValueError: Input y_true contains NaN.",
    ),
}
"""By set or pattern: class to the reason why no row of it is asked for."""


NOT_DRAWN: Mapping[str, str] = {
    "chartmimic.vlmevalkit": ("its programs draw other pictures under the libraries that judge it now")
}
"""Sets without hostile replies, and why."""


def drawn(spec: Spec, seed: int, date: str) -> Spec:
    """The set with its hostile cases, drawn by the seed on that day."""
    cases = tuple(_drawn_cases(spec, Random(f"{seed}/{spec.name}")))
    return replace(spec, cases=lambda: cases, seed=seed, date=date)


def as_stored(spec: Spec, stored: JudgedSet) -> Spec:
    """The set with the hostile cases that are stored: none if no seed is."""
    return drawn(spec, stored.seed, stored.date) if stored.date else spec


def quota_of(name: str, cases: Sequence[Case]) -> Mapping[str, int]:
    """How many rows of each class the set must hold at least."""
    spared = {one for key, held in NOT_ASKED.items() if fnmatch(name, key) for one in held}
    asked = [one for one in CLASSES if one not in spared]
    if not any(held_options(case.cells) for case in cases):
        asked = [one for one in asked if one not in (LETTER_OPTIONS, EMPTY_OPTIONS)]
    return dict.fromkeys(asked, QUOTA)


def lacking(name: str, cases: Sequence[Case]) -> dict[str, int]:
    """The classes of which the set holds fewer rows than its quota, with their number."""
    held, quota = counted(cases), dict(quota_of(name, cases))
    if IN_LANGUAGES in quota:
        quota["languages"] = LANGUAGES_HELD
    return {one: held[one] for one in quota if held[one] < quota[one]}


def counted(cases: Iterable[Case]) -> Counter[str]:
    """Rows of each class, whatever their styles are called; and how many languages are said."""
    found: Counter[str] = Counter()
    languages: set[str] = set()
    for case in cases:
        found.update(classes_of(case))
        languages |= _languages_of(case.reply)
    found["languages"] = len(languages)
    return found


def classes_of(case: Case) -> set[str]:
    """What a row is, read from its reply and its options alone."""
    if case.missing:
        return {"missing"}
    reply = case.reply.strip()
    bare = re.sub(r"^```(?:json)?\s*|\s*```$", "", reply)
    options = held_options(case.cells).values()
    held = {
        "empty": not reply,
        "failed": reply.startswith("Failed to obtain answer"),
        "cut thought": "<think>" in reply and "</think>" not in reply,
        "cut sentence": reply.endswith(_CUT),
        "long": len(case.reply) > LONG,
        "N/A": reply in _NOTHING,
        "one letter": len(reply) == 1 and reply.isalpha(),
        "list": bare.startswith("[") and bare.endswith("]"),
        "JSON": bare.startswith("{") and bare.endswith("}"),
        IN_LANGUAGES: bool(_languages_of(reply)),
        LETTER_OPTIONS: any(len(text) == 1 and text.isalpha() for text in options),
        EMPTY_OPTIONS: any(text in _NOTHING for text in options),
        EMPTY_CELL: any(text in _NOTHING and text not in _KEPT_BY_PANDAS for text in (reply, *options)),
    }
    return {name for name, true in held.items() if true}


@cache
def _languages_of(reply: str) -> frozenset[str]:
    return frozenset(
        name for name, texts in _SAID_IN.items() if any(all(part in reply for part in parts) for parts in texts)
    )


def _drawn_cases(spec: Spec, random: Random) -> list[Case]:
    cases = list(spec.cases())
    if any(fnmatch(spec.name, pattern) for pattern in VARIED):
        cases = [replace(case, reply=_prose(random, case.reply)) for case in cases]
    plain = [case for case in cases if not (spec.apart and case.style.startswith(spec.apart))]
    wanted = quota_of(spec.name, cases)
    rotated = any(fnmatch(spec.name, pattern) for pattern in ROTATED)
    options = _rotated_options if rotated else _options
    made = options(random, plain, wanted)
    grouped = any(fnmatch(spec.name, pattern) for pattern in GROUPED)
    taken = {case.id for case in made} if grouped else ()
    free = [case for case in plain if case.id not in taken]
    made += _replies(spec, random, free, wanted)
    if grouped:
        by_id = {case.id: case for case in made}
        return [by_id.get(case.id, case) for case in cases]
    first = max(int(case.id) for case in cases) + 1
    lost = [] if spec.alone else random.sample(plain, 2)
    made += [replace(case, reply="", verdict="", style=f"{STYLE}missing", missing=True) for case in lost]
    return cases + [replace(case, id=str(first + place)) for place, case in enumerate(made)]


def _replies(spec: Spec, random: Random, cases: Sequence[Case], wanted: Mapping[str, int]) -> list[Case]:
    """Cases of different questions, with their replies replaced."""
    writers = [(name, WRITERS[name]) for name in WRITERS if name in wanted for _ in range(_DRAWS)]
    for language, texts in LANGUAGES.items() if IN_LANGUAGES in wanted else ():
        writers.append((f"in {language}", _in(texts)))
    short = [one for one in (case.reply.strip() for case in cases) if 0 < len(one) <= 30 and "think>" not in one]
    forms = [form for key, form in EXTRACTED.items() if fnmatch(spec.name, key)]
    made = []
    for case, (name, write) in zip(random.sample(cases, len(writers)), writers, strict=True):
        said = case.reply.strip()
        if not _is_plain(said, 60):
            said = random.choice(short) if short else said[:30]
        reply = write(random, said)
        verdict = case.verdict
        if forms and (name in _SHORT or name.startswith("in ")):
            verdict = forms[0].format(write(random, said))
        made.append(replace(case, style=f"{STYLE}{name}", reply=reply, verdict=verdict))
    return made


def _is_plain(said: str, most: int) -> bool:
    return 0 < len(said) <= most and "think>" not in said


def _in(texts: tuple[str, ...]) -> Writer:
    return lambda random, said: random.choice(texts).replace("{}", said.rstrip(".。"))


def _options(random: Random, cases: Sequence[Case], wanted: Mapping[str, int]) -> list[Case]:
    """Cases whose options are other texts, with a reply that names one of them."""
    holders = [case for case in cases if len(held_options(case.cells)) > 1]
    made: list[Case] = []
    if not holders:
        return made
    bases = list(styles_choice.BASES.items())[:60]
    for kind in (LETTER_OPTIONS, EMPTY_OPTIONS):
        for case in random.sample(holders, 2 * _DRAWS) if kind in wanted else ():
            labels = list(held_options(case.cells))
            texts = _texts(random, kind, labels)
            cells = with_options(case.cells, dict(zip(labels, texts, strict=True)))
            (a, t), (b, u) = random.sample(list(zip(labels, texts, strict=True)), 2)
            style, write = random.choice(bases)
            reply = write(a, t, b, u)
            made.append(replace(case, cells=cells, style=f"{STYLE}{kind}, {style}", reply=reply))
    return made


def _rotated_options(random: Random, cases: Sequence[Case], wanted: Mapping[str, int]) -> list[Case]:
    """All rotations of some questions, with other texts for their options and in their replies."""
    groups: dict[int, list[Case]] = {}
    for case in cases:
        groups.setdefault(int(case.id) % STRIDE, []).append(case)
    made = []
    for kind in (LETTER_OPTIONS, EMPTY_OPTIONS):
        for group in random.sample(list(groups.values()), _DRAWS) if kind in wanted else ():
            held = held_options(group[0].cells)
            new = dict(zip(held.values(), _texts(random, kind, list(held)), strict=True))
            for case in group:
                options = held_options(case.cells)
                cells = with_options(case.cells, {key: new[old] for key, old in options.items()})
                reply = case.reply
                for old, text in new.items():
                    reply = reply.replace(old, text) if len(reply) > 1 else reply
                style = f"{STYLE}{kind}, {case.style}"
                made.append(replace(case, cells=cells, style=style, reply=reply))
    return made


def _texts(random: Random, kind: str, labels: Sequence[str]) -> list[str]:
    """Letters, some of which are labels of other options; or one word for nothing among others."""
    if kind == LETTER_OPTIONS:
        letters = random.choice(("abcdefghijklm", "ABCDEFGHIJKLM", "blvetnopqrsw"))
        return random.sample(letters, len(labels))
    texts = random.sample(
        ("a cat", "two dogs", "12", "red", "no", "left", "the bus", "0.5", "ash", "many", "Paris"), len(labels)
    )
    texts[random.randrange(len(texts))] = random.choice(_NOTHING)
    return texts


def _prose(random: Random, reply: str) -> str:
    """As many sentences as the reply has room for, or a list where it is one."""
    if reply.startswith("1. "):
        return "\n".join(f"{n}. {random.choice(_OPENINGS)}" for n in range(1, random.randint(3, 7)))
    return _thoughts(random, len(reply) * random.randint(1, 3))
