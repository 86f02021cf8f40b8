"""POPE: is there such an object in the image? (Li et al. 2023, https://arxiv.org/abs/2305.10355).

One example row: question_id 1, split "adversarial", image "COCO_val2014_000000310196.jpg",
question "Is there a snowboard in the image?", label "yes".

Oddities: three tracks over the same 500 images, which differ in how the absent objects are drawn
(random, popular, adversarial); the random track had 2910 questions before October 2023, 3000
since. Ids start anew in each track of the authors' files (`--columns id=split+question_id`).
VLMEvalKit's TSV holds a question once with a comma-joined list of tracks: it then counts once in
each of them.

Yes is positive. The headline is the plain mean of the tracks' F1 (LLaVA-1.5 prints it as "POPE");
`f1_pooled` is F1 over all (question, track) pairs, which VLMEvalKit calls Overall. Readings, all
in every report: `word`, where an unread reply is no positive prediction and is wrong, and
`official`, the published script's: no if the first sentence has the word no or not, else yes;
`vlmevalkit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.benchmarks.declaration.scoring import YesNo
from snellen.benchmarks.perception.pope.summary import POOLED, TRACK, TRACKS, f1_sums, summarise_pope, tracks_of
from snellen.benchmarks.protocol.flows import YesNoParser
from snellen.benchmarks.protocol.parsers import VLMEVALKIT
from snellen.core.benchmark import Variant
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, SummaryContext
from snellen.extract.published.vlmevalkit import parse_yes_no_vlmevalkit
from snellen.extract.yes_no import NO, YES, parse_yes_no
from snellen.prompts.choice import PromptTemplate

_TEMPLATES: Mapping[str, PromptTemplate] = {
    "plain": PromptTemplate(yes_no=""),
    "short": PromptTemplate(yes_no="\nAnswer the question using a single word or phrase."),
}
"""`plain` is the paper's and VLMEvalKit's, `short` LLaVA's and lmms-eval's."""
_IMAGE_COLUMNS = ("image_path", "image", "image_source")
_OFFICIAL_NO = frozenset({"No", "no", "not"})


def parse_official(reply: str, stop_reason: str = "stop") -> Answer:
    """Parse as the published script: the text before the first full stop, without commas.

    No if No, no or not is among its words (split at blanks), else yes. Every reply has an answer.
    """
    words = reply.split(".")[0].replace(",", "").split(" ")
    return ParsedAnswer(NO if _OFFICIAL_NO & set(words) else YES, "official")


PARSING_RULES: Mapping[str, YesNoParser] = {
    "word": parse_yes_no,
    "official": parse_official,
    "vlmevalkit": parse_yes_no_vlmevalkit,
}
_PARSING_RULE_OF = {"snellen": "word", "vlmevalkit": "vlmevalkit", "official": "official"}


def pope_samples(rows: Iterable[Row], category: str = "all") -> Iterator[Sample]:
    """Samples in the order of their rows; the questions about an image are one unit. `category`
    keeps the questions of one track, in that track alone. Raises DataError as `samples` does."""
    row_list = list(rows)
    path = str(getattr(rows, "path", "pope"))
    samples = rows_to_samples(row_list, groups=(), path=path, kind="yes_no")
    for row, sample in zip(row_list, samples, strict=True):
        tracks = _tracks_cell(row)
        if category != "all":
            if category not in tracks_of(tracks):
                continue
            tracks = category
        yield structs.replace(sample, groups={TRACK: tracks} if tracks else {}, unit=_image_name(row, sample))


def _tracks_cell(row: Row) -> str:
    """The cell that names POPE's tracks, else the category as it stands."""
    for column in ("category", "split"):
        cell = row.cells.get(column, "")
        if cell and set(tracks_of(cell)) <= set(TRACKS):
            return cell
    return row.cells.get("category", "")


def _image_name(row: Row, sample: Sample) -> str:
    for column in _IMAGE_COLUMNS:
        if row.cells.get(column):
            return row.cells[column]
    return sample.media[0].digest if sample.media else ""


def _for_category(declaration: Declaration, variant: Variant) -> Declaration:
    category = variant.options.get("category", "all")
    return replace(declaration, samples=partial(pope_samples, category=category))


def _pooled_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    return f1_sums(_PARSING_RULE_OF[context.rule], context.failures, records, pooled=True)


BENCHMARK = Declaration(
    name="pope",
    version="4",
    title="POPE, objects that are not there",
    paper="https://arxiv.org/abs/2305.10355",
    provenance="POPE (MIT) over COCO images, as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/POPE.tsv", "c12f5acb142f2ef1f85a26ba2fbe41d5"),
    aliases={
        "pope_adv": {"category": "adversarial"},
        "pope_pop": {"category": "popular"},
        "pope_random": {"category": "random"},
    },
    options={"category": ("all", *TRACKS)},
    for_variant=_for_category,
    samples=pope_samples,
    scoring=YesNo(
        parsers=PARSING_RULES,
        selectable=tuple(PARSING_RULES),
        rules=_PARSING_RULE_OF,
        templates=_TEMPLATES,
        summarise=summarise_pope,
        sums=f1_sums,
    ),
    headline=Headline(name="f1"),
    rule_headlines={VLMEVALKIT: Headline(name=POOLED, sums=_pooled_sums)},
)
