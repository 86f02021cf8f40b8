"""MEGA-Bench: 505 tasks, each with metrics of its own (Chen et al. 2024,
https://arxiv.org/abs/2410.10563).

One example row: index 5569, task_name "shape_composition_colours", task_description "Count the
shapes ...", example_text "Example Response: ...", question "<image>", answer "{'red': '2', 'blue':
'0'}", metric_info "{'field_score_function': {'red': 'positive_int_match', ...}, 'aggregation':
{'function': 'mean', 'field_weights': {'red': 1, ...}}, 'response_parse_function': 'json'}",
eval_context "{}", global_media "[]", example_media "['./data/a.png']", query_media
"['./data/b.png']".

Oddities: the answer has named fields, and each row names a metric for every field. The prompt is
the task's description, an example and the question, each with its pictures and videos where the
marks <image> and <video> stand. The core set (440 tasks) is scored by rules, the open set (65) by a
judge that follows criteria in the data. Every task weighs the same in the headline `task_mean`, and
in the means over the tasks of an application, skill, input format, output format or number of
inputs.

29 tasks are not scored, and a sentence says so: 8 run the reply as a program, 18 need language
resources of NLTK and the CMU dictionary, and one each a map service, a Chinese tokenizer and
pictures drawn from the reply (`grading.metrics.NOT_SCORED`). An empty reply earns 0; the
authors give some of them credit. A verdict that cannot be read leaves the reply ungraded, where it
earns 0 there. Without a judge the open set is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Video
from snellen.benchmarks.declaration.judged import Judged, plain_messages
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.open_answers.mega_bench.grading.latex import require_parser
from snellen.benchmarks.open_answers.mega_bench.rows import (
    CORE,
    OPEN,
    PICTURES_RUBRIC,
    RUBRIC,
    SKILL,
    TOP,
    ScoringCells,
    cells_of,
    criteria,
    mega_sample,
    parse_score,
    rubric_of,
    subset_of,
    task_by,
)
from snellen.benchmarks.open_answers.mega_bench.summary import TASK_MEAN, summarise_tasks, task_mean_sums
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Flow, Pass, Verdict
from snellen.core.request import Generation, Message, Ref
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.download import RemoteFile
from snellen.extract.unanswered import non_answer

PART = "part"
_MADE = "VLMEvalKit makes it from the rows and the archive of TIGER-Lab/MEGA-Bench"
_BOTH_MADE = f"{_MADE}, as MEGABench_core.tsv and MEGABench_open.tsv: put all rows below one header"


def _messages(sample: Sample) -> tuple[Message, ...]:
    """The prompt of the data, and the times of frames before it if they are shown."""
    return plain_messages(structs.replace(sample, hint=sample.hint.rpartition("\n")[0]))


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask, score the fields that have a rule, and have judges score the others."""

    def flow(sample: Sample) -> Flow:
        cells = cells_of(sample)
        task = task_by(cells)
        messages = _messages(sample)
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        no_answer = non_answer(output)
        answer = no_answer or ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold)
        if task.not_scored:
            return build_record(sample, (result,), unscored="ungraded")
        if task.judged_fields and not panel:
            # Empty replies too: their zeros alone would be no mean of the open set.
            return ungraded_record(sample, (result,), PanelVerdicts(()))
        if no_answer is not None:
            return build_record(sample, (structs.replace(result, correct=False),), score=0.0)
        fields = task.read(output.text)
        scores = task.scores(fields)
        verdicts: list[Verdict] = []
        for turn, name in enumerate(task.judged_fields):
            rubric = rubric_of(task)
            given = yield from ask_judges(
                panel,
                rubric,
                {"criteria": criteria(task, cells.query, task.value(fields, name))},
                parse_score,
                Ref(sample.id, turn),
                about=output.text,
                media=_media_of_question(sample, cells) if rubric == PICTURES_RUBRIC else (),
            )
            verdicts += given.verdicts
            grade = given.grade()
            if grade is None or given.failure is not None:
                unread = structs.replace(result, verdicts=tuple(verdicts))
                return ungraded_record(sample, (unread,), PanelVerdicts(tuple(verdicts)))
            scores[name] = grade / TOP
        score = task.total(scores)
        result = structs.replace(result, verdicts=tuple(verdicts), correct=score == 1)
        return build_record(sample, (result,), score=score)

    return flow


def _media_of_question(sample: Sample, cells: ScoringCells) -> tuple[MediaRef, ...]:
    """The media of the question; all of them where videos have become frames."""
    if len(sample.media) != cells.media:
        return sample.media
    return sample.media[len(sample.media) - cells.query_media :]


def _is_kept(row: Row, options: Mapping[str, str]) -> bool:
    return options[PART] in ("all", subset_of(row.cells))


BENCHMARK = Declaration(
    name="mega-bench",
    version="9",
    title="MEGA-Bench, 505 tasks with metrics of their own",
    paper="https://arxiv.org/abs/2410.10563",
    provenance="TIGER-Lab/MEGA-Bench on the hub (Apache-2.0)",
    data=Published(
        {PART: ("all", CORE, OPEN)},
        {
            ("all",): PublishedFile("MEGABench.tsv", RemoteFile(urls=()), how_built=_BOTH_MADE),
            (CORE,): PublishedFile("MEGABench_core.tsv", RemoteFile(urls=()), how_built=_MADE),
            (OPEN,): PublishedFile("MEGABench_open.tsv", RemoteFile(urls=()), how_built=_MADE),
        },
    ),
    aliases={"MEGABench": {}},
    sample=mega_sample,
    keep=_is_kept,
    max_new_tokens=2048,
    video=Video(in_every_question=False),
    scoring=Judged(flow=_flow, rubrics=(RUBRIC, PICTURES_RUBRIC), multi_label=(SKILL,), max_judge_tokens=1024),
    headline=Headline(name=TASK_MEAN, summarise=summarise_tasks, sums=task_mean_sums, weighs_scores=True),
    check=require_parser,
)
