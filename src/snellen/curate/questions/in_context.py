"""In-Context Captioning (SEED-Bench-H, Sec. 3.2.2.1 and 3.3.2): two pictures with a caption each,
and a third whose caption is asked for.

A language model restates each kept question about an attribute or a count as a caption, and says
which property it is about; three pictures whose captions are about the same one make a question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from snellen.core.flow import Steps
from snellen.core.request import Generation
from snellen.core.sample import sampling_key
from snellen.curate.asking import ask_json
from snellen.curate.questions.prompt_texts import prompt_messages, prompt_texts
from snellen.curate.questions.records import Draft, PictureRecords, RestatedCaption
from snellen.curate.questions.rules import DISTRACTORS, WrittenQuestion

DIMENSION = "In-Context Captioning"
SOURCES = ("Instance Attribute", "Instance Counting")
"""Dimensions whose questions are restated."""
EXAMPLES = 2
_PREFIX = "in-context:"
_SETTINGS = Generation(max_new_tokens=512)


def record_id(draft: Draft) -> str:
    """Id of the record of a restated question."""
    return f"{_PREFIX}{draft.id}"


def restate(role: str, draft: Draft, item: str) -> Steps[RestatedCaption]:
    """A question and its options as captions. Raises NotJson and AskFailed."""
    classes = prompt_texts().prompts["aspects"]["classes"]
    written = draft.written
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(written.distractors, 1))
    messages = prompt_messages(
        "aspects",
        question=written.question,
        answer=written.answer,
        distractors=listed,
        classes=classes,
    )

    def problem(value: RestatedCaption) -> str:
        if value.aspect not in classes.split(", "):
            return f"aspect is {value.aspect!r}; expected one of {classes}"
        if not value.statement.strip() or len(value.wrong) != DISTRACTORS:
            return f"expected a statement and {DISTRACTORS} wrong ones"
        return ""

    return (
        yield from ask_json(
            role, messages, RestatedCaption, item, settings=_SETTINGS, check=problem
        )
    )


def question_of(restated: RestatedCaption, examples: Iterable[str] = ()) -> WrittenQuestion:
    """The question: captions of the examples behind their pictures, the third one's left out."""
    shown = "".join(f"<image>: {example.strip()} " for example in examples)
    return WrittenQuestion(f"{shown}<image>:", restated.statement, list(restated.wrong))


def in_context_drafts(records: PictureRecords, seed: int) -> Iterator[Draft]:
    """A question for each restated caption that two other pictures' captions are like, by seed."""
    by_aspect: dict[str, list[tuple[str, str, RestatedCaption]]] = defaultdict(list)
    evidence = {}
    for record in records.records():
        if record.restated is not None:
            name = record.picture.removeprefix(_PREFIX)
            by_aspect[record.restated.aspect].append((name, record.shown, record.restated))
            evidence[name] = record.evidence
    for aspect, captions in sorted(by_aspect.items()):
        for name, picture, restated in captions:
            order = sorted(captions, key=lambda one: sampling_key(f"{seed}:{name}", one[0]))
            others: dict[str, tuple[str, str]] = {}
            for other, its_picture, its_caption in order:
                if its_picture != picture and its_caption.statement != restated.statement:
                    others.setdefault(its_picture, (other, its_caption.statement))
            examples = list(others.items())[:EXAMPLES]
            if aspect == "other" or len(examples) < EXAMPLES:
                continue
            yield Draft(
                f"in-context/{name}",
                DIMENSION,
                (*(example for example, _ in examples), picture),
                question_of(restated, (statement for _, (_, statement) in examples)),
                tuple(one for key in (name, *(key for _, (key, _) in examples))
                      for one in evidence[key]),
            )  # fmt: skip
