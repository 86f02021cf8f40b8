"""Metrics of sets, lists and objects of texts.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring: replies and gold answers are texts that
write them down (`literals`). Sets of the same things are equal in any order; a share of nothing is
1, so that an empty list is precise.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from numbers import Number
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.literals import to_list, to_object, to_set
from snellen.benchmarks.open_answers.mega_bench.grading.texts import equal_text

_IGNORED = str.maketrans("", "", " -\n\t_.")

FieldMetric = Callable[[Any, Any], float]
"""The value that a reply gives for a field and the gold, to a score of 0..1."""


def equal_sets(reply: Any, gold: Any) -> float:
    """`set_equality`."""
    return float(to_set(reply) == to_set(gold))


def equal_sets_ignoring_case(reply: Any, gold: Any) -> float:
    """`set_equality_case_insensitive`: of texts only."""
    reply, gold = to_set(reply), to_set(gold)
    return float({text.upper() for text in reply} == {text.upper() for text in gold})


def equal_lines(reply: Any, gold: Any) -> float:
    """`str_set_equality_line_break`: the same lines in any order and case."""
    lines = [text.replace("\\n", "\n").split("\n") for text in (reply, gold)]
    return float({text.lower() for text in lines[0]} == {text.lower() for text in lines[1]})


def equal_comma_lists(reply: Any, gold: Any) -> float:
    """`str_set_equality_comma`: the same items in any order and case."""
    return float(_lower(_set_of_text(reply)) == _lower(_set_of_text(gold)))


def jaccard(reply: Any, gold: Any) -> float:
    """`jaccard_index`: the share of common items among all."""
    if reply is None:
        return 0.0
    reply, gold = set(to_set(reply)), set(to_set(gold))
    return _share(reply & gold, reply | gold)


def jaccard_ignoring_case(reply: Any, gold: Any) -> float:
    """`jaccard_index_case_insensitive`: of texts, or of tuples of texts, which are also compared
    without blanks, hyphens, underscores and dots."""
    if reply is None:
        return 0.0
    reply, gold = set(to_set(reply)), set(to_set(gold))
    first = next(iter(gold), None)
    if isinstance(first, str):
        reply = {str(item).lower() for item in reply}
        gold = {item.lower() for item in gold}
    elif isinstance(first, tuple):
        reply, gold = ({tuple(map(_bare, item)) for item in items} for items in (reply, gold))
    else:
        return 0.0
    return _share(reply & gold, reply | gold)


def precision(reply: Any, gold: Any) -> float:
    """`set_precision`: the share of the reply's items that are right."""
    if reply is None:
        return 0.0
    reply, gold = set(to_set(reply)), set(to_set(gold))
    return _share(reply & gold, reply)


def chess_moves(reply: Any, gold: Any) -> float:
    """`chess_move_list_jaccard_index`: moves without the marks of a good move or a mate."""
    if reply is None:
        return 0.0
    reply, gold = ({move.removesuffix("!").removesuffix("#") for move in _set_of_text(text)} for text in (reply, gold))
    return _share(reply & gold, reply | gold)


def equal_lists(reply: Any, gold: Any) -> float:
    """`sequence_equality`."""
    return float(to_list(str(reply)) == to_list(gold))


def right_places(reply: Any, gold: Any) -> float:
    """`sequence_accuracy_case_insensitive`: the share of places with the right item; 0 for a list
    of another length."""
    reply, gold = to_list(reply), to_list(gold)
    if len(reply) != len(gold):
        return 0.0
    return sum(map(_same_item, reply, gold)) / len(gold)


def common_beginning(reply: Any, gold: Any) -> float:
    """`longest_common_list_prefix_ratio`: how far the lists agree from the first item on, by the
    length of the gold."""
    reply, gold = to_list(reply), to_list(gold)
    pairs = list(zip(reply, gold, strict=False))
    agreeing = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
    return agreeing / len(gold)


def equal_objects(reply: Any, gold: Any) -> float:
    """`dict_equality`."""
    reply = to_object(reply)
    return float(isinstance(reply, dict) and reply == to_object(gold))


def object_precision(reply: Any, gold: Any) -> float:
    """`dict_precision`: the share of the reply's entries that are right."""
    reply, gold = to_object(reply), to_object(gold)
    if not isinstance(reply, dict) or not reply:
        return 0.0
    right = [key in gold and equal_text(value, gold[key]) for key, value in reply.items()]
    return sum(right) / len(reply)


def object_recall(reply: Any, gold: Any) -> float:
    """`dict_exact_str_match_agg_recall`: the share of the gold's entries that the reply has."""
    reply, gold = to_object(reply), to_object(gold)
    if not isinstance(reply, dict):
        return 0.0
    return sum(equal_text(reply.get(key), value) for key, value in gold.items()) / len(gold)


def mean_over_names(metric: FieldMetric) -> FieldMetric:
    """A metric of objects: the mean of `metric` over the names of both."""

    def mean(reply: Any, gold: Any) -> float:
        reply, gold = to_object(reply), to_object(gold)
        if not isinstance(reply, dict):
            return 0.0
        names = set(reply) | set(gold)
        return sum(metric(reply.get(name, []), gold.get(name, [])) for name in names) / len(names)

    return mean


def _share(part: Set[Any], whole: Set[Any]) -> float:
    return len(part) / len(whole) if whole else 1.0


def _set_of_text(text: Any) -> Any:
    """The set that a text writes; nothing for any other value."""
    return to_set(text) if isinstance(text, str) else set()


def _lower(items: Any) -> set[Any]:
    return {item.lower() if isinstance(item, str) else item for item in items}


def _bare(text: str) -> str:
    return text.lower().translate(_IGNORED)


def _same_item(reply: Any, gold: Any) -> bool:
    if isinstance(gold, str):
        return bool(reply.lower() == gold.lower())
    return isinstance(gold, Number) and isinstance(reply, Number) and reply == gold
