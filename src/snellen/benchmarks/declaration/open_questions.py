"""Benchmarks of open questions whose answers are compared with gold by a metric of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, Shape
from snellen.benchmarks.protocol.flows import (
    Grade,
    OpenReader,
    OpenRule,
    rules_reader,
    words_reader,
)
from snellen.benchmarks.protocol.parsers import Readers
from snellen.core.answer import Answer
from snellen.core.benchmark import Benchmark, Needs, Variant, needs
from snellen.core.sample import Row, Sample
from snellen.extract.open_text import read_final, read_raw, read_whole
from snellen.prompts.choice import Wording
from snellen.scoring.edit_distance import anls, anls_by_script
from snellen.scoring.vqa_accuracy import (
    vqa_accuracy,
    vqa_accuracy_authors,
    vqa_accuracy_vlmevalkit,
)

SHORT_ANSWER = Wording(open="Answer the question using a single word or phrase.")
"""The closing line of LLaVA-1.5 (Liu et al. 2023), VLMEvalKit and lmms-eval for short answers."""
BARE = Wording(open="")
"""Nothing but the question."""
IMAGE = needs("text", "image")
_IMAGE_IDS = (
    "image_id",
    "imageid",
    "ucsf_document_id",
    "image_name",
    "image_local_name",
    "imgname",
)
"""Columns that name the picture of a question, by which questions come in units."""


def final_answer(reply: str, stop_reason: str) -> Answer:
    """Snellen's reading for metrics that compare whole texts: the marked answer, else all."""
    return read_final(reply, stop_reason=stop_reason)


def whole_reply(reply: str, stop_reason: str) -> Answer:
    """Snellen's reading for metrics that search the reply, and for captions."""
    return read_whole(reply, stop_reason=stop_reason)


def raw_reply(reply: str, stop_reason: str) -> Answer:
    """The reading of the official scripts and other tools: all of it, white space included."""
    return read_raw(reply, stop_reason=stop_reason)


def open_rules(
    grade: Grade,
    *,
    official: Grade | None = None,
    vlmevalkit: Grade | None = None,
    read: OpenReader = final_answer,
    beside: Mapping[str, Grade] | None = None,
    beside_official: Mapping[str, Grade] | None = None,
    beside_vlmevalkit: Mapping[str, Grade] | None = None,
) -> dict[str, Readers]:
    """The rules of a benchmark of open questions: `snellen` reads by `read`, the others take the
    raw reply; each may grade in its own way, and grades as `snellen` where it has none."""

    def rule(
        reader: OpenReader, graded: Grade | None, others: Mapping[str, Grade] | None
    ) -> Readers:
        known = {**(beside or {}), **(others or {})}
        return Readers(rules_reader, words_reader, OpenRule(reader, graded or grade, known))

    return {
        "snellen": rule(read, None, None),
        "vlmevalkit": rule(raw_reply, vlmevalkit, beside_vlmevalkit),
        "official": rule(raw_reply, official, beside_official),
    }


def on_golds(metric: Callable[[str, Sequence[str]], float]) -> Grade:
    """A metric of an answer and the gold answers, as a grade."""

    def grade(answer: str, sample: Sample) -> float:
        return float(metric(answer, sample.gold))

    return grade


def vqa_rules(
    official: Callable[[str, Sequence[str]], float] = vqa_accuracy_authors,
) -> dict[str, Readers]:
    """VQA accuracy against several people's answers, by three normalisations."""
    return open_rules(
        on_golds(vqa_accuracy),
        vlmevalkit=on_golds(vqa_accuracy_vlmevalkit),
        official=on_golds(official),
    )


def anls_rules() -> dict[str, Readers]:
    """ANLS, and the competition's own script, which VLMEvalKit has taken over and which divides by
    another length."""
    by_script = on_golds(anls_by_script)
    return open_rules(on_golds(anls), vlmevalkit=by_script, official=by_script)


def open_question_benchmark(
    variant: Variant,
    *,
    name: str,
    version: str,
    title: str,
    metric: str,
    data: Published,
    rules: Mapping[str, Readers],
    paper: str,
    source: str,
    options: Mapping[str, Sequence[str]] | None = None,
    wording: Wording = SHORT_ANSWER,
    shape: Shape | None = None,
    question: str = "",
    groups: tuple[str, ...] = GROUP_COLUMNS,
    needs: Needs = IMAGE,
    max_new_tokens: int = 128,
) -> Benchmark:
    """A benchmark whose rows are all open questions with one metric as headline.

    Questions about one picture are one unit of the interval: by a column that names it, else by
    its bytes. `options` are variants beside those of `data`. Raises UsageError.
    """

    def shaped(sample: Sample, row: Row) -> Sample:
        sample = replace(sample, unit=_picture(row))
        return shape(sample, row) if shape else sample

    return question_benchmark(
        variant,
        name=name,
        version=version,
        title=title,
        open=partial(data.table, variant),
        fetch=partial(data.fetch, variant),
        options={**data.options, **(options or {})},
        needs=needs,
        groups=groups,
        paper=paper,
        source=source,
        max_new_tokens=max_new_tokens,
        kind="open",
        shape=shaped,
        question=question,
        wording=wording,
        rules=rules,
        metric=metric,
        held_out=data.examples_of(variant),
    )


def _picture(row: Row) -> str:
    for column in _IMAGE_IDS:
        if row.cells.get(column):
            return row.cells[column]
    return ",".join(ref.digest for ref in row.media)
