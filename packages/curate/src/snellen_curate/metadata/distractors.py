"""Wrong options: strategies that propose them, by name; which proposals stand beside the right option
(`choose_options`); and those that a language model writes, with solved examples in the context.

MMT-Bench had GPT-4V write confusable options for most tasks, by prompts of their own with two or
three examples (Appendix I.2). Packages add strategies under the entry points `snellen.distractors`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UnknownName, UsageError
from snellen.core.media import Source
from snellen.core.record import Steps
from snellen.core.request import Generation, Media, Message, Text, user
from snellen.core.sample import MediaRef
from snellen_curate.asking import ask_json
from snellen_curate.metadata import perturbations, targets
from snellen_curate.metadata.catalogue import OtherRecords
from snellen_curate.metadata.draw import AnswerFrequencies, AnswerPlan
from snellen_curate.metadata.records import CategoryTree, MetadataRecord, option_key
from snellen_curate.metadata.templates import QuestionTemplate

GROUP = "snellen.distractors"
_HIDDEN_TRIES = 8
WRITTEN = "model"
"""The strategy that asks a language model."""


@dataclass(frozen=True, slots=True)
class DistractorContext:
    """What a strategy may know."""

    record: MetadataRecord
    template: QuestionTemplate
    target: targets.QuestionTarget
    tree: CategoryTree
    """The category space of the record."""
    size: tuple[int, int]
    """Width and height of the first image, in pixels; 0 if there is no image."""
    others: OtherRecords
    frequencies: AnswerFrequencies
    """How often each answer is right among the records of the source."""
    plan: AnswerPlan
    """How often each answer is offered, and the number of options."""
    known_boxes: perturbations.KnownBoxes
    """The right boxes of the source."""
    rng: Random


Propose = Callable[[DistractorContext, Any], Iterator[str]]


@dataclass(frozen=True, slots=True)
class DistractorStrategy:
    settings: type[Struct]
    propose: Propose
    """Yields texts, the best first; may go on for ever."""
    of_any_length: bool = False
    """Whether options may be chosen by length. Not where that would make some answers of a small
    set wrong more rarely than right."""


class NoSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A strategy without settings."""


class CategorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    near: Literal["", "hierarchy", "text"] = ""
    """Empty: any label with the same chance; else the labels nearest to the right one: in the
    space's hierarchy, or by spelling."""
    among: Annotated[int, Meta(ge=1)] = 12
    """How many of the nearest are drawn from, so that not every item with the same answer has the
    same options."""
    seen: bool = True
    """Draw a label with the frequency with which it is right in other records, and labels that are
    never right only if there are too few others; false: any label with the same chance."""


class OtherItemSettings(Struct, frozen=True, forbid_unknown_fields=True):
    near: Literal["", "text"] = ""
    """Empty: any other record; `text`: those whose answers are most similar in spelling."""
    among: Annotated[int, Meta(ge=1)] = 24


def _propose_categories(context: DistractorContext, settings: CategorySettings) -> Iterator[str]:
    tree, gold = context.tree, context.target.gold
    true = {option_key(text) for text in (gold, *context.target.true)}
    if not settings.near:
        if settings.seen:
            wrong = [label for label in tree.labels if option_key(label) not in true]
            yield from context.plan.draw_wrong(gold, wrong, context.rng)
        yield from _shuffle(context, settings, tree.labels)
        return
    # What is true of the image takes no place among the nearest.
    nearest = _nearest_labels(context, settings, gold, true)
    if settings.near != "hierarchy" and nearest:
        # Labels that are all near the right one show it by being in their middle; so they are those
        # near a hidden label, which is near the right one.
        hidden = context.rng.choice(nearest[: settings.among])
        nearest = _nearest_labels(context, settings, hidden, {*true, option_key(hidden)})
    # At least as many as are needed; one fewer where the hidden label is one of the nearest.
    hides = settings.near != "hierarchy"
    size = max(settings.among - hides, context.plan.size - 1)
    yield from _shuffle(context, settings, nearest[:size])
    yield from nearest[size:]


def _shuffle(context: DistractorContext, settings: CategorySettings, labels: Iterable[str]) -> list[str]:
    """The labels in random order, those that are right more often earlier."""
    if settings.seen:
        return context.frequencies.order(labels, context.rng)
    shuffled = list(labels)
    context.rng.shuffle(shuffled)
    return shuffled


def _nearest_labels(
    context: DistractorContext, settings: CategorySettings, label: str, without: Collection[str]
) -> list[str]:
    """The labels of the category space, nearest to `label` first, without those of these keys."""
    tree = context.tree
    ranked = tree.nearest_by_hierarchy(label) if settings.near == "hierarchy" else tree.nearest_by_text(label)
    nearest = [other for _, other in ranked if option_key(other) not in without]
    return context.frequencies.prefer_seen(nearest) if settings.seen else nearest


def _propose_other_items(context: DistractorContext, settings: OtherItemSettings) -> Iterator[str]:
    """Answers of other records: any, or those near a hidden text to which the right answer is as
    near as the others."""
    if not settings.near:
        for record in context.others.at_random(context.rng):
            texts = targets.answer_texts(record, context.template.answer)
            if texts and _is_about_another(context, record):
                yield context.rng.choice(texts)
        return
    # As for categories: what is similar to a hidden text, which is similar to the right one.
    gold = context.target.gold
    similar = _similar_answers(context, gold, settings.among)
    hidden_texts = [text for text in similar if option_key(text) != option_key(gold)]
    context.rng.shuffle(hidden_texts)
    for hidden in hidden_texts[:_HIDDEN_TRIES]:
        nearest = _similar_answers(context, hidden, settings.among)
        keys = set(map(option_key, nearest))
        if option_key(gold) in keys or hidden == hidden_texts[:_HIDDEN_TRIES][-1]:
            # The right one is as near to the hidden one as the others. A text that is no
            # neighbour of its neighbours is an outlier, which nothing hides.
            others = [text for text in nearest if option_key(text) != option_key(hidden)]
            context.rng.shuffle(others)
            yield from others
            break
    yield from similar


def _similar_answers(context: DistractorContext, text: str, among: int) -> list[str]:
    """Answers of other records that are similar to a text, and the right answer itself where it is
    one of them."""
    gold = option_key(context.target.gold)
    return [
        answer
        for record, answer in context.others.similar(text, among + 2)
        if option_key(answer) == gold or _is_about_another(context, record)
    ]


def _is_about_another(context: DistractorContext, record: MetadataRecord) -> bool:
    """Whether a record is about other images: what is written about the same is true of it."""
    same = set(record.images) & set(context.record.images)
    return record.id != context.record.id and not same


def _propose_images(context: DistractorContext, settings: NoSettings) -> Iterator[str]:
    """Images that other records are looking for; with a label, those of another label."""
    record = context.record
    for other in context.others.at_random(context.rng):
        if other.id == record.id or len(other.images) < 2 or set(other.images) & set(record.images):
            continue
        if not record.label or option_key(other.label) != option_key(record.label):
            yield other.images[1]


def _propose_numbers(context: DistractorContext, settings: perturbations.NumberSettings) -> Iterator[str]:
    plan = context.plan
    if settings.seen and context.template.answer == "count" and plan.offered:
        yield from plan.draw_wrong(context.target.gold, list(plan.offered), context.rng)
        return
    gold, rng = context.target.gold, context.rng
    yield from perturbations.perturb_number(gold, settings, rng, plan.size, context.frequencies)


def _propose_boxes(context: DistractorContext, settings: perturbations.BoxSettings) -> Iterator[str]:
    box = context.target.box
    if box is None:
        return
    # Another object of the same label may be meant as well; a region means itself alone.
    same = [other.corners for other in context.record.boxes if box.label == other.label != ""]
    for corners in perturbations.wrong_boxes(
        box.label, box.corners, context.size, same, context.known_boxes, settings, context.plan.size - 1, context.rng
    ):
        yield targets.format_box(corners)


def _propose_other_objects(context: DistractorContext, settings: NoSettings) -> Iterator[str]:
    """Boxes of objects of another label in the same image."""
    box = context.target.box
    others = [
        other.corners
        for other in context.record.boxes
        if box and other.label != box.label and other.corners != box.corners
    ]
    context.rng.shuffle(others)
    yield from map(targets.format_box, others)


def _propose_orders(context: DistractorContext, settings: perturbations.OrderSettings) -> Iterator[str]:
    items = context.record.sequence
    if len(items) > 1:
        yield from map(", ".join, perturbations.perturb_order(items, settings, context.rng))


def _propose_keypoints(context: DistractorContext, settings: perturbations.KeypointSettings) -> Iterator[str]:
    keypoints = context.target.keypoints
    if keypoints is not None:
        moved = perturbations.perturb_keypoints(keypoints.points, context.size, settings, context.rng)
        yield from map(targets.format_points, moved)


def _propose_wrong_answers(context: DistractorContext, settings: NoSettings) -> Iterator[str]:
    wrong = list(context.record.wrong_answers)
    context.rng.shuffle(wrong)
    return iter(wrong)


STRATEGIES: dict[str, DistractorStrategy] = {
    "categories": DistractorStrategy(CategorySettings, _propose_categories),
    "other_items": DistractorStrategy(OtherItemSettings, _propose_other_items, of_any_length=True),
    "pictures": DistractorStrategy(NoSettings, _propose_images),
    "numbers": DistractorStrategy(perturbations.NumberSettings, _propose_numbers),
    "boxes": DistractorStrategy(perturbations.BoxSettings, _propose_boxes),
    "other_objects": DistractorStrategy(NoSettings, _propose_other_objects),
    "characters": DistractorStrategy(
        perturbations.CharacterSettings,
        lambda context, settings: perturbations.perturb_text(context.target.gold, settings, context.rng),
    ),
    "orders": DistractorStrategy(perturbations.OrderSettings, _propose_orders),
    "keypoints": DistractorStrategy(perturbations.KeypointSettings, _propose_keypoints),
    "wrong_answers": DistractorStrategy(NoSettings, _propose_wrong_answers, of_any_length=True),
    "yes_no": DistractorStrategy(
        NoSettings,
        lambda context, _: iter(
            (targets.NO if option_key(context.target.gold) == option_key(targets.YES) else targets.YES,)
        ),
    ),
}
"""Names in a template's `distractors`. `model` is one more: it asks."""


def find_strategy(name: str) -> DistractorStrategy:
    """The strategy of that name, Snellen's or a plug-in's. Raises UnknownName."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    entry = plugin_entry_points(GROUP).get(name)
    if entry is None:
        known = (*STRATEGIES, WRITTEN, *plugin_entry_points(GROUP))
        raise UnknownName("strategy for wrong options", name, known)
    strategy = load_entry_point(entry)
    if not isinstance(strategy, DistractorStrategy):
        raise UsageError(f"the plug-in {name!r} ({entry.value}) is no DistractorStrategy; see docs/curate/metadata.md")
    return strategy


def read_settings(name: str, settings: type[Struct], given: Mapping[str, Any]) -> Any:
    """A strategy's settings. Raises UsageError."""
    try:
        return msgspec.convert(dict(given), settings)
    except msgspec.ValidationError as error:
        known = ", ".join(settings.__struct_encode_fields__) or "none"
        raise UsageError(f"the strategy {name}: {error}; its settings: {known}") from error


_MAX_PROPOSALS = 2_000
"""Proposals looked at for one item, of strategies that would go on for ever."""
_POOL = 3
"""Wrong options proposed per place where those alike in length are chosen."""


@dataclass(frozen=True, slots=True)
class OptionFilter:
    """What a wrong option must not be: the right one, another option, or true of the image."""

    taken: set[str]
    groups: dict[str, str]
    """Keys of labels that say the same, with one of them for all."""

    @classmethod
    def for_target(cls, gold: str, true: Sequence[str], same: Sequence[Sequence[str]] = ()) -> OptionFilter:
        groups = {option_key(name): option_key(names[0]) for names in same for name in names}
        wrong = cls(set(), groups)
        for text in (gold, *true):
            wrong.accept(text)
        return wrong

    def accept(self, text: str) -> bool:
        """Whether the text says something that no text before it said; it is then taken."""
        key = option_key(text)
        key = self.groups.get(key, key)
        if not text.strip() or key in self.taken:
            return False
        self.taken.add(key)
        return True


def choose_options(
    gold: str, proposals: Iterator[str], wrong: OptionFilter, most: int, *, alike_length: bool, rng: Random
) -> list[str]:
    """Up to `most` wrong options; fewer if the proposals end.

    With `alike_length`, three times as many are collected and those chosen whose lengths are next
    to the right one's, with the right one at a random place in the order of lengths: then neither
    the longest nor the shortest option is right more often than another.
    """
    wanted = _POOL * most if alike_length else most
    pool: list[str] = []
    for _, text in zip(range(_MAX_PROPOSALS), proposals, strict=False):
        if wrong.accept(text):
            pool.append(text.strip())
        if len(pool) == wanted:
            break
    if alike_length and len(pool) > most:
        return _alike_in_length(gold, pool, most, rng)
    return pool[:most]


def _alike_in_length(gold: str, pool: Sequence[str], most: int, rng: Random) -> list[str]:
    """Options around the right one's length: a random number of them shorter, the rest longer, each
    as near as there are."""
    length = len(gold)
    by_difference = sorted(pool, key=lambda text: abs(len(text) - length))
    equal = [text for text in by_difference if len(text) == length]
    below = [text for text in by_difference if len(text) < length]
    above = [text for text in by_difference if len(text) > length]
    if len(equal) >= most:
        return equal[:most]
    # Options of the same length count for neither side.
    rest = most - len(equal)
    from_below = min(len(below), max(rng.randint(0, rest), rest - len(above)))
    return [*equal, *below[:from_below], *above[: rest - from_below]]


WRITER = "writer"
INSTRUCTION = (
    "Write {count} wrong options for a multiple-choice question about a picture.\n"
    "Each must be of the same kind, style and length as the right answer, plausible to somebody "
    "who has not looked closely, and certainly false. No two may mean the same.\n"
    'Reply with JSON alone: {{"options": ["...", ...]}}.'
)
_SETTINGS = Generation(max_new_tokens=1024)
_MAX_TRUE = 50


class WriterSettings(Struct, frozen=True, forbid_unknown_fields=True, rename={"image": "picture"}):
    image: bool = True
    """Whether the model is shown the image."""
    extra: Annotated[int, Meta(ge=0)] = 2
    """Options asked for beyond those needed, because some may not be usable."""


class WrittenOptions(Struct, frozen=True):
    """The form of the reply."""

    options: tuple[str, ...]


def write_options(
    item: str,
    template: QuestionTemplate,
    question: str,
    target: targets.QuestionTarget,
    media: Sequence[MediaRef],
    settings: WriterSettings,
) -> Steps[tuple[str, ...]]:
    """Ask the writer for wrong options. Raises NotJson and AskFailed."""
    count = template.max_options - 1
    number = count + settings.extra
    images = [ref for ref in media if ref.kind == "image"] if settings.image else []
    sources: Mapping[str, Source] = {ref.digest: ref.source for ref in images}
    instruction = template.instruction or INSTRUCTION.format(count=number)
    parts = [instruction]
    for example in template.examples:
        reply = msgspec.json.encode(WrittenOptions(example.options)).decode()
        parts.append(_ask_for(example.question, example.answer, len(example.options)) + reply)
    others = [text for text in target.true if text != target.gold]
    parts.append(_ask_for(question, target.gold, number, others).rstrip())
    message: Message = user(*(Media("image", ref.digest) for ref in images), Text("\n\n".join(parts)))
    written = yield from ask_json(
        WRITER,
        [message],
        WrittenOptions,
        item,
        media=sources,
        settings=_SETTINGS,
        check=lambda reply: (
            "" if len(reply.options) >= count else f"it has {len(reply.options)} options; at least {count} are needed"
        ),
    )
    return written.options


def _ask_for(question: str, gold: str, number: int, true: Sequence[str] = ()) -> str:
    also = f"\nAlso true of the picture, so not wrong: {'; '.join(true[:_MAX_TRUE])}" if true else ""
    return f"Question: {question}\nRight answer: {gold}{also}\n{number} wrong options as JSON: "
