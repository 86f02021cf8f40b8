"""The metrics of MEGA-Bench by their names in the data, and those that are not scored.

Its authors' code knows 49. The 505 tasks use 45, and 40 of these are scored here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading import boxes, latex, lists, numbers, plans, texts

FieldScore = float | None
"""0..1, or None for a field that does not count for this reply."""

METRICS: Mapping[str, Callable[[Any, Any], FieldScore]] = {
    "exact_str_match": texts.equal_text,
    "exact_str_match_case_insensitive": texts.equal_ignoring_case,
    "code_result_exact_str_match": texts.equal_output,
    "simple_str_match": texts.equal_signs,
    "multi_ref_phrase": texts.equal_to_one,
    "normalized_similarity_damerau_levenshtein": texts.similarity,
    "near_str_match": texts.near_similarity,
    "set_equality": lists.equal_sets,
    "set_equality_case_insensitive": lists.equal_sets_ignoring_case,
    "str_set_equality_line_break": lists.equal_lines,
    "str_set_equality_comma": lists.equal_comma_lists,
    "jaccard_index": lists.jaccard,
    "jaccard_index_case_insensitive": lists.jaccard_ignoring_case,
    "set_precision": lists.precision,
    "chess_move_list_jaccard_index": lists.chess_moves,
    "sequence_equality": lists.equal_lists,
    "sequence_accuracy_case_insensitive": lists.right_places,
    "longest_common_list_prefix_ratio": lists.common_beginning,
    "dict_equality": lists.equal_objects,
    "dict_precision": lists.object_precision,
    "dict_exact_str_match_agg_recall": lists.object_recall,
    "dict_jaccard_agg_jaccard": lists.mean_over_names(lists.jaccard),
    "dict_set_equality_agg_jaccard": lists.mean_over_names(lists.equal_sets),
    "dict_nbbox_iou_tuple_agg_jaccard": lists.mean_over_names(boxes.mean_best_iou),
    "nbbox_iou_tuple": boxes.mean_best_iou,
    "nbbox_iou_single": boxes.single_iou,
    "nbbox_iou_sequence": boxes.mean_iou_in_order,
    "xml_nbbox_iou_single": boxes.tagged_iou,
    "xml_norm_point_distance": boxes.point_closeness,
    "sequence_coords_similarity": boxes.keypoint_similarity,
    "number_rel_diff_ratio": numbers.closeness,
    "positive_int_match": numbers.equal_count,
    "normalized_rmse": numbers.near_fraction,
    "angle_seq_float_rmse": numbers.near_angles,
    "general_single_numerical_match": numbers.equal_number,
    "boxed_single_numerical_match": numbers.equal_boxed_number,
    "latex_expr_equality": latex.equal_latex,
    "text_with_latex_expr_equality": latex.equal_text_with_latex,
}
"""Of the value that a reply gives for a field, and the gold."""

CONTEXT_METRICS: Mapping[str, Callable[[Any, Mapping[str, Any]], float]] = {
    "xml_norm_point_in_bbox": boxes.point_in_box,
    "symbolic_planning_test": plans.plan_reaches_goal,
}
"""Of the value that a reply gives, and what the row says of its evaluation."""

LATEX_METRICS = frozenset(
    {
        "general_single_numerical_match",
        "boxed_single_numerical_match",
        "latex_expr_equality",
        "text_with_latex_expr_equality",
    }
)
"""Metrics that need the extra `maths`."""

JUDGED = "gpt_4o_as_judge"
JUDGE_METRICS = (JUDGED, "ascii_art_gpt4o_judge")
"""Metrics that make a task one of the open set."""

NOT_SCORED: Mapping[str, str] = {
    "program_judge": "runs the reply as a program, which Snellen does not",
    "constrained_generation": ("needs NLTK's models of sentences and words, WordNet and the CMU dictionary of sounds"),
    "gleu_cn": "needs jieba's division of Chinese into words",
    "geo_proximity_location_dict": "asks a map service on the web where places are",
    "ascii_art_gpt4o_judge": "shows a judge pictures that are drawn from the reply",
    "nli_entailment": "needs a model of entailment",
    "bleu": "is used by no task",
    "sequence_equality_case_insensitive": "is used by no task",
}
"""Metrics of the authors' code that are not restated here, and why. A task with one of them has no
score."""

WRONG_FORM = (
    TypeError,
    ValueError,
    AttributeError,
    KeyError,
    IndexError,
    ZeroDivisionError,
    SyntaxError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""What a metric raises for a value of another form than it takes."""


def score_field(metric: str, value: Any, gold: Any, context: Mapping[str, Any]) -> FieldScore:
    """The score of a field. A value of another form than the metric takes earns 0, as in the
    authors' code. Raises MissingExtra."""
    try:
        if metric in CONTEXT_METRICS:
            return CONTEXT_METRICS[metric](value, context)
        return METRICS[metric](value, gold)
    except WRONG_FORM:
        return 0.0


def aggregate(scores: Mapping[str, FieldScore], weights: Mapping[str, float], function: str) -> float:
    """One score of those of the fields: their weighted `mean`, or their `min`. 0 if none counts."""
    counted = {name: score for name, score in scores.items() if score is not None}
    if not counted:
        return 0.0
    if function == "min":
        return min(counted.values())
    whole = sum(weights[name] for name in counted)
    return sum(score * weights[name] for name, score in counted.items()) / whole if whole else 0.0
