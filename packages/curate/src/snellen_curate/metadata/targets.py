"""What can be asked of a record by a template: question, right answer, and what else is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from snellen_curate.metadata.draw import AnswerFrequencies
from snellen_curate.metadata.records import (
    CategoryTree,
    Keypoints,
    MetadataRecord,
    ObjectBox,
    count_labels,
    labels_of,
    option_key,
)
from snellen_curate.metadata.templates import QuestionTemplate, fill_placeholders

YES, NO = "Yes", "No"


@dataclass(frozen=True, slots=True)
class QuestionTarget:
    """One thing to ask about a record."""

    name: str
    """Within the record; empty if the record has one only."""
    gold: str
    """The text of the right option."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What placeholders stand for."""
    true: tuple[str, ...] = ()
    """Texts that are right as well, or may be: none becomes a wrong option."""
    box: ObjectBox | None = None
    keypoints: Keypoints | None = None


def answer_texts(record: MetadataRecord, answer: str) -> tuple[str, ...]:
    """The answers of one kind that a record has, as texts. They are the category space or the pool
    from which other records get wrong options."""
    if answer == "label":
        return (record.label,) if record.label else ()
    if answer == "caption":
        return record.captions
    if answer == "relation":
        return tuple(relation.predicate for relation in record.relations)
    if answer == "presence":
        return tuple(dict.fromkeys(labels_of(record)))
    if answer == "count":
        return tuple(map(str, count_labels(record).values()))
    if answer.startswith("annotation."):
        value = record.annotation.get(answer.removeprefix("annotation."))
        return (str(value),) if isinstance(value, str | int | float) and str(value) else ()
    value = getattr(record, answer, "") if answer in ("answer", "text", "number") else ""
    return (value,) if value else ()


def has_targets(record: MetadataRecord, template: QuestionTemplate) -> bool:
    """Whether a template may ask something of a record: a cheap test before records are drawn."""
    answer = template.answer
    if not template.questions and not record.question:
        return False
    if answer == "count":
        return bool(record.counts or record.boxes)
    if answer == "presence":
        return bool(record.label or record.labels or record.counts or record.boxes)
    if answer == "box":
        return bool(record.boxes)
    if answer == "keypoints":
        return bool(record.keypoints)
    if answer == "sequence":
        return len(record.sequence) > 1
    if answer == "picture":
        return len(record.images) > 1 and not record.video
    return bool(answer_texts(record, answer))


def find_targets(
    record: MetadataRecord, template: QuestionTemplate, tree: CategoryTree, frequencies: AnswerFrequencies, rng: Random
) -> list[QuestionTarget]:
    """All that a template can ask of a record, in an order of the generator's choice."""
    if template.answer == "presence":
        targets = list(_presence_targets(record, tree, frequencies, rng))
    else:
        targets = list(_targets(record, template.answer, tree, rng))
    rng.shuffle(targets)
    return targets


def true_labels(record: MetadataRecord, tree: CategoryTree) -> tuple[str, ...]:
    """The labels of the image with what each implies in the hierarchy."""
    labels = dict.fromkeys(labels_of(record))
    return tuple(dict.fromkeys(name for label in labels for name in (label, *tree.also_true(label))))


def _targets(record: MetadataRecord, answer: str, tree: CategoryTree, rng: Random) -> Iterator[QuestionTarget]:
    """The targets of one kind of answer; `_presence_targets` has those about presence."""
    if answer == "count":
        for label, count in count_labels(record).items():
            if not _has_relative(record, label, tree):
                yield QuestionTarget(f"count-{label}", str(count), {"label": label})
    elif answer == "box":
        for target in box_targets(record):
            if not _has_relative(record, target.fields.get("label", ""), tree):
                yield target
    elif answer == "keypoints":
        yield from _keypoint_targets(record)
    elif answer == "relation":
        yield from _relation_targets(record)
    elif answer == "sequence":
        yield QuestionTarget("", ", ".join(record.sequence))
    elif answer == "picture":
        # The options are candidates by number; which images they are is up to the strategy.
        yield QuestionTarget("", record.images[1])
    elif answer == "caption":
        # Captions of one image say the same: any one of them is asked for, as any one of
        # another picture's becomes a wrong option.
        yield QuestionTarget("", rng.choice(record.captions), true=record.captions)
    else:
        for text in answer_texts(record, answer):
            true = true_labels(record, tree) if answer == "label" else ()
            yield QuestionTarget("", text, true=true)


def _has_relative(record: MetadataRecord, label: str, tree: CategoryTree) -> bool:
    """Whether the image also shows what `label` is a kind of, or a kind of it: who counts the
    dogs may count the poodles."""
    others = set(labels_of(record)) - {label}
    return bool(label) and not others.isdisjoint(tree.also_true(label))


def _presence_targets(
    record: MetadataRecord, tree: CategoryTree, frequencies: AnswerFrequencies, rng: Random
) -> Iterator[QuestionTarget]:
    """One label that is there, or one that is not."""
    present = sorted(dict.fromkeys(labels_of(record)))
    true = {option_key(name) for name in true_labels(record, tree)}
    absent = [label for label in tree.labels if option_key(label) not in true]
    weights = [frequencies.presence_weight(label, is_present=True) for label in present]
    weights += [frequencies.presence_weight(label, is_present=False) for label in absent]
    # A label that is nearly everywhere is asked for in few of the records.
    if not any(weights) or rng.random() > sum(weights):
        return
    label = rng.choices([*present, *absent], weights)[0]
    yield QuestionTarget(f"presence-{label}", YES if label in present else NO, {"label": label})


def box_targets(record: MetadataRecord) -> Iterator[QuestionTarget]:
    """Objects that a label or an expression refers to alone."""
    totals = Counter(box.label for box in record.boxes)
    for number, box in enumerate(record.boxes):
        expression = box.expression or (record.expression if number == 0 else "")
        is_only = bool(box.label) and totals[box.label] == 1
        if box.crowd or not (expression or is_only):
            continue
        fields = {"expression": expression or box.label}
        if is_only:
            fields["label"] = box.label
        yield QuestionTarget(f"box-{number}" if len(record.boxes) > 1 else "", format_box(box.corners), fields, box=box)


def _keypoint_targets(record: MetadataRecord) -> Iterator[QuestionTarget]:
    """Points of an object that is the only one of its label."""
    totals = Counter(points.label for points in record.keypoints)
    for number, points in enumerate(record.keypoints):
        if totals[points.label] == 1 and points.points:
            name = f"keypoints-{number}" if len(record.keypoints) > 1 else ""
            gold = format_points(points.points)
            yield QuestionTarget(name, gold, {"label": points.label}, keypoints=points)


def _relation_targets(record: MetadataRecord) -> Iterator[QuestionTarget]:
    """Predicates between two objects, of which others may hold between the same two."""
    between: dict[tuple[str, str], list[str]] = {}
    for relation in record.relations:
        between.setdefault((relation.subject, relation.object), []).append(relation.predicate)
    for number, ((subject, other), predicates) in enumerate(between.items()):
        fields = {"subject": subject, "object": other}
        yield QuestionTarget(f"relation-{number}", predicates[0], fields, true=tuple(predicates))


def question_fields(record: MetadataRecord, target: QuestionTarget, tree: CategoryTree) -> dict[str, str]:
    """What the placeholders of a question stand for."""
    annotations = {
        f"annotation.{name}": str(value)
        for name, value in record.annotation.items()
        if isinstance(value, str | int | float)
    }
    return {
        "expression": record.expression,
        "width": str(record.width or ""),
        "height": str(record.height or ""),
        "categories": ", ".join(record.categories or tree.labels),
        "source": record.source,
        **annotations,
        **target.fields,
    }


def ask_question(
    record: MetadataRecord, template: QuestionTemplate, target: QuestionTarget, tree: CategoryTree, rng: Random
) -> str | None:
    """The question about a target in one of its phrasings; None if the record lacks what every
    phrasing mentions."""
    fields = question_fields(record, target, tree)
    phrasings = [record.question] if record.question else list(template.questions)
    rng.shuffle(phrasings)
    for phrasing in phrasings:
        question = phrasing if record.question else fill_placeholders(phrasing, fields)
        if question:
            return question
    return None


def format_box(corners: tuple[float, float, float, float]) -> str:
    """`[x1, y1, x2, y2]` in whole pixels, as MMT-Bench writes boxes."""
    return f"[{', '.join(str(round(number)) for number in corners)}]"


def format_points(points: Mapping[str, tuple[float, float]]) -> str:
    """`nose [12, 30], left eye [10, 25]` in whole pixels."""
    return ", ".join(f"{name} [{round(x)}, {round(y)}]" for name, (x, y) in points.items())
