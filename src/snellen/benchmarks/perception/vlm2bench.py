"""VLM2-Bench: linking what several pictures show (Zhang et al. 2025,
https://arxiv.org/abs/2502.12084).

One example row (made up): index "oc-cpr_1_p", question "Is it the same cup in both pictures? Answer
T or F.", answer "T", category "oc-cpr", image <list of base64>.

Oddities: eight tasks of pictures, by `category`: general cues are matched and tracked (gc-mat,
gc-trk), objects and people compared, counted and grouped (oc-cpr, oc-cnt, oc-grp, pc-cpr, pc-cnt,
pc-grp). Statements come in pairs, `_p` and `_n`, that count only together; a count earns by its
error (see below), groups are options that the question lists.

The headline is the plain mean of the tasks that were asked, each a metric of its own; VLMEvalKit
prints the tasks alone. The videos of the benchmark are not among its pictures.

A count that is wrong (Section 4) earns the less, the larger its error is beside the largest
possible one, and the fewer pictures there are: 1 - (4 / pictures) * (relative error ** 0.1), not
below 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.inline_options import label_of
from snellen.benchmarks.declaration.open_questions import BARE, own_and_vlmevalkit
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.core.output import ParsedAnswer
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.choice import parse_choice
from snellen.extract.open_text import parse_final, parse_raw
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.accuracy import cluster_samples, counted_score, mean_metric
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios
from snellen.scoring.relative_accuracy import NUMBERS_BY_WORD

PAIRED = ("gc-mat", "gc-trk", "oc-cpr", "pc-cpr")
COUNTED = ("oc-cnt", "pc-cnt")
GROUPED = ("oc-grp", "pc-grp")
TASKS = (*PAIRED, *COUNTED, *GROUPED)
DEFAULT_PICTURES = 2
_MOST_PICTURES = 4
_ROOT = 0.1
_TRUTH = re.compile(r"\b(?:t|f|true|false)\b", re.IGNORECASE)
_SCALES = ("hundred", "thousand")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBERS_BY_WORD)})\b")
_DIGITS = re.compile(r"\d+")
_MAX_DIGITS = 18
_LABELLED = re.compile(r"\([A-Z]\)")


def parse_truth(text: str) -> str | None:
    """T or F, if exactly one such word stands in the text."""
    words = _TRUTH.findall(text)
    return words[0][0].upper() if len(words) == 1 else None


def parse_single_count(text: str) -> int | None:
    """The only number of a text; all number words together are one. None if there are several."""
    low = text.lower()
    numbers = [int(digits[:_MAX_DIGITS]) for digits in _DIGITS.findall(low)]
    words = _NUMBER_WORD.findall(low)
    in_words = _value_of_words(words)
    if in_words:
        numbers.append(in_words)
    return numbers[0] if len(numbers) == 1 else None


def _value_of_words(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in _SCALES:
            total += max(current, 1) * NUMBERS_BY_WORD[word]
            current = 0
        else:
            current += NUMBERS_BY_WORD[word]
    return total + current


def count_credit(count: int, gold: int, pictures: int) -> float:
    """1 for the right count, else by its error."""
    if count == gold:
        return 1.0
    largest = max(gold - 1, pictures - gold, 1)
    penalty: float = _MOST_PICTURES / pictures * (abs(count - gold) / largest) ** _ROOT
    return max(1 - penalty, 0.0)


def clean_label(text: str) -> str:
    """What stands before the first closing bracket."""
    return text.partition(")")[0].strip()


def names_several(text: str) -> bool:
    """Whether more than one label stands there in brackets."""
    return len(_LABELLED.findall(text)) > 1


HEADLINE = "mean_of_tasks"
TASK, PICTURES = "category", "pictures"
_LABELS = dict.fromkeys("ABCDEFGH", "")
_TRUTH_OF = {"Yes": "T", "No": "F"}


def _adjust(sample: Sample, row: Row) -> Sample:
    """Statements of a pair are one unit; of a count it is noted how many pictures there are."""
    task = sample.groups.get(TASK, "")
    if task in PAIRED:
        return structs.replace(sample, unit=sample.id.rpartition("_")[0])
    if task in COUNTED:
        said = row.cells.get("image_seq_len", "")
        pictures = int(said) if said.isdecimal() else len(sample.media)
        groups = {**sample.groups, PICTURES: str(pictures or DEFAULT_PICTURES)}
        return structs.replace(sample, groups=groups)
    return sample


def _grade(answer: str, sample: Sample) -> float:
    task, gold = sample.groups.get(TASK, ""), sample.gold[0].strip()
    if task in PAIRED:
        said = parse_truth(answer)
        if said is None:
            words = parse_yes_no(answer)
            said = _TRUTH_OF.get(words.value) if isinstance(words, ParsedAnswer) else None
        return float(said == gold.upper())
    if task in COUNTED:
        return _grade_count(answer, sample)
    chosen = parse_choice(answer, _LABELS)
    return float(isinstance(chosen, ParsedAnswer) and chosen.value == label_of(gold))


def _grade_vlmevalkit(reply: str, sample: Sample) -> float:
    task, gold = sample.groups.get(TASK, ""), sample.gold[0]
    if task in PAIRED:
        return float(parse_truth(reply.strip()) == gold.strip().upper())
    if task in COUNTED:
        return _grade_count(reply, sample)
    return float(not names_several(reply) and clean_label(reply) == clean_label(gold))


def _grade_count(answer: str, sample: Sample) -> float:
    count, gold = parse_single_count(answer), sample.gold[0].strip()
    if count is None or not gold.isdecimal():
        return 0.0
    return count_credit(count, int(gold), int(sample.groups[PICTURES]))


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean of the tasks, and each task: pairs count as one, the others by question."""
    summary = context.plain(records)
    tasks = {task: _task_metric(task, context, records) for task in TASKS}
    tasks = {task: metric for task, metric in tasks.items() if metric.n}
    sums = _task_sums(context, records)
    if sums is None or summary.headline.value is None:
        headline = Metric(HEADLINE, None, summary.n, note=summary.headline.note)
    else:
        interval = headline_interval(sums, records)
        headline = Metric(HEADLINE, sums.of_all(), summary.n, interval)
    metrics = {HEADLINE: headline, **summary.metrics, **tasks}
    return structs.replace(
        summary, headline=headline, metrics=metrics, bounds=None, beside=(context.plain_headline, *summary.beside)
    )


def _task_metric(task: str, context: SummaryContext, records: Sequence[Record]) -> Metric:
    asked = [record for record in records if record.groups.get(TASK) == task]
    if task in PAIRED:
        return mean_metric(task, list(_pair_scores(context, asked).values()))
    counted = [(record, counted_score(record, context.failures)) for record in asked]
    kept = [record for record, score in counted if score is not None]
    scores = [score for _, score in counted if score is not None]
    return mean_metric(task, scores, cluster_samples(kept))


def _pair_scores(context: SummaryContext, records: Sequence[Record]) -> dict[str, float]:
    """1 for each pair of which both statements are right, else 0; a pair with a statement that has
    no score is left out."""
    pairs: dict[str, list[float | None]] = {}
    for record in records:
        pairs.setdefault(record.unit, []).append(counted_score(record, context.failures))
    return {unit: float(all(score == 1.0 for score in scores)) for unit, scores in pairs.items() if None not in scores}


def _task_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    paired = [record for record in records if record.groups.get(TASK) in PAIRED]
    pairs = _pair_scores(context, paired)
    seen: set[str] = set()
    terms: list[list[RatioTerm]] = []
    for record in records:
        task = record.groups.get(TASK, "")
        score = counted_score(record, context.failures)
        if task in PAIRED:
            counts = record.unit in pairs and record.unit not in seen
            terms.append([RatioTerm(task, pairs[record.unit])] if counts else [])
            seen.add(record.unit)
        else:
            terms.append([RatioTerm(task, score)] if task in TASKS and score is not None else [])
    return sum_of_ratios(terms, strata=[record.groups.get(TASK, "") for record in records])


BENCHMARK = Declaration(
    name="vlm2bench",
    version="2",
    title="VLM2-Bench, linking what several images show",
    paper="https://arxiv.org/abs/2502.12084",
    provenance="VLM2-Bench of its authors, their TSV for VLMEvalKit",
    data=single_tsv(
        "https://huggingface.co/datasets/Sterzhang/vlm2-bench/resolve/main/VLM2Bench_img.tsv",
        "16f474bfc4e269c583468bf89139da8f",
    ),
    aliases={"VLM2-Bench": {}},
    kind="open",
    group_by=(TASK,),
    adjust=_adjust,
    scoring=RuleScoring(
        rules=own_and_vlmevalkit(OpenScoring(parse_final, _grade), OpenScoring(parse_raw, _grade_vlmevalkit)),
        template=BARE,
    ),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_task_sums),
)
