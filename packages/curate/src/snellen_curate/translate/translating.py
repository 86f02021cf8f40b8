"""The steps that translate one item: ask, check, ask again with what is wrong, judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from snellen.core.errors import UsageError
from snellen.core.record import Steps
from snellen.core.request import Generation, Message, Text, user
from snellen_curate.asking import NotJson, ask_json
from snellen_curate.translate import instructions
from snellen_curate.translate.languages import Language
from snellen_curate.translate.pair import Mismatch, TextPair
from snellen_curate.translate.rules import check_pair

TRANSLATOR, JUDGE = "translator", "judge"
"""Roles: who translates, who compares the meanings."""
_SETTINGS = Generation(max_new_tokens=4096)

Review = Literal["wrong", "doubtful", "all"]
"""Which translations a person is to look at. MMBench-CN: all were verified by people."""


def parse_fields(text: str) -> tuple[str, ...]:
    """What is translated, from a list such as `question,options`. Raises UsageError."""
    fields = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in fields if name not in instructions.FIELDS]
    if unknown or not fields:
        got = f"'{unknown[0]}'" if unknown else "nothing"
        raise UsageError(f"--fields: got {got}; expected some of {', '.join(instructions.FIELDS)}")
    return fields


@dataclass(frozen=True)
class TranslationPlan:
    """What is translated, from what into what, and how it is checked."""

    source: Language
    target: Language
    fields: tuple[str, ...] = instructions.DEFAULT_FIELDS
    keep: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 3
    """Times that the translator is asked until the rules have nothing wrong to say."""
    review: Review = "wrong"
    judge: bool = False

    def pair(self, texts: Mapping[str, str], target: Mapping[str, str], gold: tuple[str, ...] = ()) -> TextPair:
        """These texts and their translation, as the rules take them."""
        return TextPair(texts, target, self.source, self.target, gold, self.keep, self.glossary)

    def needs_review(self, mismatches: Sequence[Mismatch]) -> bool:
        """Whether a person is to look at a translation with these mismatches."""
        if self.review == "all":
            return True
        return any(each.level == "wrong" or self.review == "doubtful" for each in mismatches)


@dataclass(frozen=True)
class TranslatedItem:
    """A translation with its mismatches."""

    source: Mapping[str, str]
    texts: Mapping[str, str]
    mismatches: tuple[Mismatch, ...]


def translate_texts(
    plan: TranslationPlan, item: str, texts: Mapping[str, str], gold: tuple[str, ...]
) -> Steps[TranslatedItem]:
    """Translate an item's texts; the best reply counts if none passes the rules.

    What the judge shows to be wrong is sent back once. Raises AskFailed, and
    NotJson if no reply has the right form.
    """
    prompt = instructions.translation_prompt(texts, plan.source, plan.target, keep=plan.keep, glossary=plan.glossary)
    first = yield from _translate_once(plan, item, texts, gold, prompt)
    if _count_wrong(first.mismatches)[0]:
        # The rules had all their attempts: a person decides, with whatever else there is to say.
        return (yield from _ask_judge(plan, item, first))
    first = yield from _ask_judge(plan, item, first)
    problems = "; ".join(str(each) for each in first.mismatches if each.level == "wrong")
    if not problems or plan.attempts == 1:
        return first
    conversation = (
        *prompt,
        Message("assistant", (Text(instructions.write_texts(first.texts)),)),
        user(Text(f"This cannot be used: {problems}. Reply with the corrected JSON alone.")),
    )
    second = yield from _translate_once(plan, item, texts, gold, conversation)
    second = yield from _ask_judge(plan, item, second)
    is_better = _count_wrong(second.mismatches) < _count_wrong(first.mismatches)
    return second if is_better else first


def _translate_once(
    plan: TranslationPlan, item: str, texts: Mapping[str, str], gold: tuple[str, ...], messages: Sequence[Message]
) -> Steps[TranslatedItem]:
    """The first reply that the rules have nothing against, else the best of all attempts."""
    fields = tuple(texts)
    replies: list[tuple[dict[str, str], list[Mismatch]]] = []

    def name_mistakes(reply: object) -> str:
        assert isinstance(reply, msgspec.Struct)
        target = instructions.texts_of_reply(reply, fields)
        mismatches = check_pair(plan.pair(texts, target, gold))
        replies.append((target, mismatches))
        return "; ".join(str(each) for each in mismatches if each.level == "wrong")

    try:
        yield from ask_json(
            TRANSLATOR,
            messages,
            instructions.reply_form(fields),
            item,
            settings=_SETTINGS,
            attempts=plan.attempts,
            check=name_mistakes,
        )
    except NotJson:
        if not replies:
            raise
    target, mismatches = min(replies, key=lambda reply: _count_wrong(reply[1]))
    return TranslatedItem(texts, target, tuple(mismatches))


def _ask_judge(plan: TranslationPlan, item: str, translated: TranslatedItem) -> Steps[TranslatedItem]:
    """The translation with what the judge, if asked, has against it."""
    if not plan.judge:
        return translated
    found = yield from _judge(plan, item, translated.source, translated.texts)
    return replace(translated, mismatches=(*found, *translated.mismatches))


def _count_wrong(mismatches: Sequence[Mismatch]) -> tuple[int, int]:
    wrong = sum(each.level == "wrong" for each in mismatches)
    return wrong, len(mismatches) - wrong


def _judge(
    plan: TranslationPlan, item: str, texts: Mapping[str, str], target: Mapping[str, str]
) -> Steps[list[Mismatch]]:
    prompt = instructions.judge_prompt(texts, target, plan.source, plan.target)
    verdict = yield from ask_json(JUDGE, prompt, instructions.MeaningVerdict, item, settings=_SETTINGS)
    if verdict.same:
        return []
    text = "; ".join(verdict.differences) or "the judge says that the meaning differs"
    return [Mismatch("judge", "all", "wrong", text)]
