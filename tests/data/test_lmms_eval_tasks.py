"""Sample logs of lmms-eval's tasks are scored as their replies deserve: with the data set beside
them, and alone where they hold the gold."""

from __future__ import annotations

import pytest
from lmms_eval_logs import TASKS, Task

from snellen.api.scoring import score
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError

_SET_LEVEL = {"coco2014_cap_val"}
"""Benchmarks whose samples have parts of a point."""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("old", [False, True], ids=["today", "with the rows"])
@pytest.mark.parametrize("beside", [True, False], ids=["with data", "alone"])
def test_the_first_reply_is_right_and_the_second_wrong(write, settings, task: Task, old: bool, beside: bool) -> None:
    path = write(f"2026_samples_{task.name}.jsonl", task.log(old=old))
    data = write("data.jsonl", task.data()) if beside else None
    variant = Variant(circular=task.circular)
    if task.needs_data and not old and not beside:
        with pytest.raises(DataError, match="holds no gold answers, so the data are needed"):
            score(task.name, path, variant=variant)
        return
    found = score(task.name, path, data=data, variant=variant)
    assert found.warnings == ()
    assert [record.score for record in found.records] == [1.0, 0.0]
    assert {record.outcome for record in found.records} == {"answered"}


def test_the_literal_word_is_a_gold_where_rows_have_others(write, settings) -> None:
    """What is written in a picture may be the word "answer"."""
    lines = (
        '{"doc_id": 0, "target": "answer", "filtered_resps": "answer", "input": "Read it."}\n'
        '{"doc_id": 1, "target": "label", "filtered_resps": "exit", "input": "Read it, too."}\n'
    )
    found = score("docvqa", write("x_samples_docvqa_val.jsonl", lines))
    assert [record.score for record in found.records] == [1.0, 0.0]
