"""A reply that is a label with words for it is read before the options are looked at; by all rules it is
the same: rule, label and place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, product

from tests.differential.styles_choice import QUESTIONS
from tests.differential.styles_choice import replies as written
from tests.fuzz.pieces import ANNOUNCED, LABELS
from tests.fuzz.pieces import replies as drawn

from snellen.extract import choice
from snellen.extract.clean import fold
from snellen.extract.letters import LabelMatch
from snellen.extract.options import prepare_options

_SAID = (
    *("The answer is {}", "answer: {}", "My final answer is: {}", "Correct option: {}", "Option {}", "the letter {}"),
    *("选项{}", "答案是{}", "选{}", "答案：{}", "A resposta: {}", "La respuesta es {}", "Die Antwort ist {}", "{}"),
    *(
        "Réponse : {}",
        "정답은 {}",
        "答えは{}です",
        "Final answer\n{}",
        "Therefore: {}",
        "not {}",
        "{} or B",
        "I pick {}",
    ),
)
_AROUND = (
    "{}",
    "{}.",
    " {}\n",
    "**{}**",
    '"{}"',
    "({}).",
    "<b>{}</b>",
    "`{}`",
    "$\\text{{{}}}$",
    "{} .",
    "\t{}!",
    "## {}",
)
_OPTIONS = (
    {},
    dict(zip("ABCD", ("oak", "elm tree", "silver fir", "ash"), strict=True)),
    dict(zip("ABCD", "bacd", strict=True)),
    dict(zip("ABC", ("1", "2", "3"), strict=True)),
    dict(zip("ABE", ("A", "B", "C"), strict=True)),
    {"Z": "none", "A": "the answer is B"},
    {"B": "", "C": ""},
)


def replies() -> Iterator[str]:
    letters = (*"ABCDEJZ", "a", "b", "1", "\uff22", *LABELS)
    for said, letter, around in product(
        (*_SAID, *[f"{words} {{}}" for words in ANNOUNCED if "{" not in words]), letters, _AROUND
    ):
        yield around.format(said.format(letter))
    for number, question in enumerate(QUESTIONS):
        for shift in range(12):
            yield from (reply for _, reply in written(question, number, shift))
    yield from islice(drawn(random.Random(40)), 20_000)


def test_a_lone_label_is_what_all_rules_read() -> None:
    found = 0
    for reply in dict.fromkeys(replies()):
        lone = choice._lone_label(reply)
        if lone is None:
            continue
        core = reply.strip()
        start = reply.index(core)
        for options in (*_OPTIONS, *[question.options for question in QUESTIONS]):
            if not (lone.value in options if options else lone.value != choice.NO_MATCH_LABEL):
                continue
            reading = choice._parse_folded(fold(core), prepare_options(tuple(options.items())))
            assert isinstance(reading, LabelMatch), (reply, options)
            assert (reading.label, reading.rule) == (lone.value, lone.rule), (reply, options)
            assert (start + reading.start, start + reading.end) == lone.span, (reply, options)
            assert choice._is_firm(reading, fold(core))
            found += 1
    assert found > 5_000


def test_all_rules_together_read_every_reply_alike(monkeypatch) -> None:
    """Also where a lone label is none of the options, and where the reply was cut off."""
    some = list(dict.fromkeys(replies()))[::5]
    cases = list(product(some, _OPTIONS, ("stop", "length")))
    before = [choice.parse_choice(*case) for case in cases]
    monkeypatch.setattr(choice, "_lone_label", lambda reply: None)
    assert [choice.parse_choice(*case) for case in cases] == before
