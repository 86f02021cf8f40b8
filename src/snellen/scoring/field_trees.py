"""Fields of a form or receipt as JSON against gold: F1 of fields, and similarity of trees.

Both are the measures of Donut (Kim et al. 2022, https://arxiv.org/abs/2111.15664, Sec. 3.2). F1
counts a field as right if its name and value are equal. The similarity is 1 - edits / size of the
gold tree, at least 0: inserting or deleting a value costs its length, a name 1; changing a value
into another costs their edit distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from snellen.core.literals import parse_json_or_literal

Fields = Mapping[str, Any] | Sequence[Any]
"""Normalised JSON: objects of lists, and lists of objects or of texts."""


class FieldTally(NamedTuple):
    """Fields that are right, and those that are missing or too many."""

    right: int
    wrong: int

    def f1(self) -> float:
        """0..1; 0 if nothing is right."""
        return self.right / (self.right + self.wrong / 2) if self.right else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class FieldNode:
    """A node of a tree of fields: a name, or with `is_value` a value."""

    label: str
    is_value: bool
    children: list[FieldNode] = field(default_factory=list)


def parse_fields(text: str) -> Any:
    """The value of a JSON text; gold answers of some files are Python literals instead. None if it
    is neither."""
    try:
        return parse_json_or_literal(text)
    except ValueError:
        return None


def normalise_fields(value: Any, *, drop_empty: bool = False) -> Fields:
    """Objects with sorted names, shorter ones first, and lists as values; texts trimmed. Empty
    lists and objects are dropped, and of lists that do not hold objects alone the texts and numbers
    stay. `drop_empty` drops empty texts, null, zero and false as well, as Donut does and CC-OCR does
    not."""
    if drop_empty and not value:
        return {}
    if isinstance(value, dict):
        fields: dict[str, Any] = {}
        for name in sorted(value, key=lambda name: (len(name), name)):
            inner = normalise_fields(value[name], drop_empty=drop_empty)
            if inner:
                fields[name] = inner if isinstance(inner, list) else [inner]
        return fields
    if not isinstance(value, list):
        return [str(value).strip()]
    if all(isinstance(item, dict) for item in value):
        items = (normalise_fields(item, drop_empty=drop_empty) for item in value)
        return [inner for inner in items if inner]
    # `type` rather than `isinstance`: true and false are no numbers here.
    texts = (str(item).strip() for item in value if type(item) in (str, int, float))
    return [text for text in texts if text]


def count_fields(reply: Any, gold: Any) -> FieldTally:
    """Compare all fields of two JSON values."""
    found = Counter(_flatten(normalise_fields(reply)))
    expected = Counter(_flatten(normalise_fields(gold)))
    right = (found & expected).total()
    return FieldTally(right, found.total() + expected.total() - 2 * right)


def field_similarity(reply: Any, gold: Any, *, drop_empty: bool = False) -> float:
    """Similarity of two JSON values as trees, 0..1. Needs the package `apted`."""
    gold_tree = _tree("", normalise_fields(gold, drop_empty=drop_empty))
    size = sum(_node_cost(node) for node in _below(gold_tree))
    distance = _distance(_tree("", normalise_fields(reply, drop_empty=drop_empty)), gold_tree)
    if not size:
        return float(not distance)
    return max(0.0, 1 - distance / size)


def tree_accuracy(reply: str, golds: Sequence[str]) -> float:
    """Donut's accuracy of a record as JSON, by the gold record that is nearest."""
    return max(field_similarity(parse_fields(reply), parse_fields(gold), drop_empty=True) for gold in golds)


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text with the names that lead to it, joined by dots."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _flatten(inner, name)
    else:
        yield name, value


def _tree(label: str, value: Any) -> FieldNode:
    node = FieldNode(label, is_value=False)
    if isinstance(value, dict):
        node.children.extend(_tree(name, inner) for name, inner in value.items())
    elif all(isinstance(item, dict) for item in value):
        node.children.extend(_tree("<subtree>", item) for item in value)
    else:
        node.children.extend(FieldNode(item, is_value=True) for item in value)
    return node


def _below(node: FieldNode) -> Iterator[FieldNode]:
    """All nodes below one."""
    for child in node.children:
        yield child
        yield from _below(child)


def _node_cost(node: FieldNode) -> int:
    return len(node.label) if node.is_value else 1


def _rename_cost(first: FieldNode, second: FieldNode) -> int:
    if first.is_value and second.is_value:
        return Levenshtein.distance(first.label, second.label)
    if first.is_value or second.is_value:
        return 1 + len(first.label if first.is_value else second.label)
    return int(first.label != second.label)


def _distance(first: FieldNode, second: FieldNode) -> float:
    from apted import APTED, Config

    class FieldCosts(Config):  # type: ignore[misc]
        def delete(self, node: FieldNode) -> int:
            return _node_cost(node)

        def insert(self, node: FieldNode) -> int:
            return _node_cost(node)

        def rename(self, node1: FieldNode, node2: FieldNode) -> int:
            return _rename_cost(node1, node2)

    return float(APTED(first, second, FieldCosts()).compute_edit_distance())
