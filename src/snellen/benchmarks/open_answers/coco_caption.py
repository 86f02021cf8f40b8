"""COCO Caption: describe the photograph in a sentence (Chen et al. 2015,
https://arxiv.org/abs/1504.00325).

One example row: index 0, answer "['A man with a red helmet on a small moped on a dirt road.', ...]"
(five people's captions), image <base64>. There is no question: one is added.

Oddities: `data=val` is VLMEvalKit's file of 5,000 pictures; lmms-eval has the validation sets of
2014 (40,504 pictures) and 2017 (5,000), and Karpathy's test set (5,000), whose captions stand in a
column `sentences` and whose pictures are addresses on the web: it can be scored, not asked.

CIDEr x 100 is the headline; BLEU-1 to 4 and ROUGE-L stand beside it, as the authors' tools define
them, over words in lower case without punctuation. Those tools split words by a Java program; our
rules give the same words for all but one of 35,902 captions of two published systems and their
references. VLMEvalKit splits at blanks and keeps case and punctuation (`--rule vlmevalkit`), which
gives other numbers. `meteor=on` adds METEOR, by its authors' Java program (extra `meteor`, and a
Java runtime); without it the column says why it is empty. SPICE needs models that no package
ships, and is not computed. A sample's own score is its ROUGE-L, as CIDEr depends on the whole set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.published import HubSplit, Published, published_tsv
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.data.columns import gold_answers
from snellen.extract.open_text import parse_whole
from snellen.scoring.accuracy import cluster_samples, counted_score
from snellen.scoring.captions.bleu import MAX_ORDER, BleuCounts, bleu_counts
from snellen.scoring.captions.cider import cider, document_frequencies
from snellen.scoring.captions.meteor import MeteorCounts
from snellen.scoring.captions.meteor_program import CaptionWithReferences, caption_counts
from snellen.scoring.captions.rouge_l import rouge_l
from snellen.scoring.captions.tokenise import caption_words
from snellen.scoring.headlines import RatioTerm, sum_of_ratios
from snellen.settings import Settings
from snellen.stats.intervals import score_interval
from snellen.stats.linearised import interval_of_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

HEADLINE = "cider"
ROUGE_L = "rouge_l"
METEOR = "meteor"
BLEU = tuple(f"bleu_{order}" for order in range(1, MAX_ORDER + 1))
_TOP = 1000.0
"""CIDEr runs to 10, and is given times 100."""

SplitWords = Callable[[str], Sequence[str]]


def summarise_captions(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """CIDEr as headline, with BLEU and ROUGE-L, and with METEOR if `meteor=on`.

    Intervals are over images: of CIDEr with the set's document frequencies held fixed, of BLEU and
    METEOR linearised in each image's counts. METEOR's program keeps its results in the cache; if
    it cannot run, METEOR has no value and a notice says why.
    """
    summary, split = context.plain(records), _splitter(context)
    if summary.headline.value is None:
        headline = msgspec.structs.replace(summary.headline, name=HEADLINE, unit="points", top=_TOP)
        return msgspec.structs.replace(summary, headline=headline)
    counted = [record for record in records if counted_score(record, context.failures) is not None]
    captions, golds = _split_captions(counted, split)
    cluster_ids = cluster_samples(counted)
    headline = _cider_metric(_cider_scores(captions, golds), cluster_ids)
    counts = [bleu_counts(caption, gold) for caption, gold in zip(captions, golds, strict=True)]
    metrics = {HEADLINE: headline, **_bleu_metrics(counts, cluster_ids)}
    beside: tuple[str, ...] = (BLEU[-1], ROUGE_L)
    notices = summary.notices
    if context.options["meteor"] == "on":
        meteor_cache = Settings.from_environment().cache
        meteor = _meteor_metric(
            [CaptionWithReferences(*pair) for pair in zip(captions, golds, strict=True)], meteor_cache, cluster_ids
        )
        metrics[METEOR] = meteor
        beside = (BLEU[-1], METEOR, ROUGE_L)
        notices = (*notices, *([meteor.note] if meteor.note else ()))
    return msgspec.structs.replace(
        summary, headline=headline, metrics={**metrics, **summary.metrics}, bounds=None, beside=beside, notices=notices
    )


def cider_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """CIDEr as a mean over images, with the document frequencies of all of them."""
    indices = [index for index, one in enumerate(records) if counted_score(one, context.failures) is not None]
    scores = _cider_scores(*_split_captions([records[index] for index in indices], _splitter(context)))
    added: list[list[RatioTerm]] = [[] for _ in records]
    for index, score in zip(indices, scores, strict=True):
        added[index] = [RatioTerm(HEADLINE, score)]
    return sum_of_ratios(added)


def _splitter(context: SummaryContext) -> SplitWords:
    """VLMEvalKit splits captions at blanks, and keeps case and punctuation."""
    return _split_at_blanks if context.rule == "vlmevalkit" else caption_words


def _split_at_blanks(caption: str) -> tuple[str, ...]:
    return tuple(caption.split())


def _split_captions(
    records: Sequence[Record], split: SplitWords
) -> tuple[list[Sequence[str]], list[list[Sequence[str]]]]:
    """The words of each image's caption, and of each of its references."""
    return (
        [split(record.answer or "") for record in records],
        [[split(gold) for gold in record.gold] for record in records],
    )


def _cider_scores(captions: Sequence[Sequence[str]], golds: Sequence[Sequence[Sequence[str]]]) -> list[float]:
    frequencies = document_frequencies(golds)
    return [cider(caption, gold, frequencies) for caption, gold in zip(captions, golds, strict=True)]


def _cider_metric(scores: Sequence[float], cluster_ids: Sequence[str]) -> Metric:
    spread = score_interval([min(1.0, score / 10) for score in scores], cluster_ids)
    interval = spread and spread.scale(_TOP)
    value = 100 * sum(scores) / len(scores)
    note = "one picture: every n-gram is as frequent as another" if len(scores) == 1 else ""
    return Metric(HEADLINE, value, len(scores), interval, note, unit="points", top=_TOP)


def _meteor_metric(captions: Sequence[CaptionWithReferences], cache: Path, cluster_ids: Sequence[str]) -> Metric:
    try:
        counts = caption_counts(captions, cache)
    except UsageError as error:
        return Metric(METEOR, None, len(captions), note=str(error))
    import numpy as np

    def score(sums: NDArray[float64]) -> NDArray[float64]:
        return np.asarray([100 * MeteorCounts(*map(float, row)).score() for row in sums])

    rows = np.asarray([image_counts.sums() for image_counts in counts], dtype=np.float64)
    value = 100 * sum(counts, MeteorCounts()).score()
    return Metric(METEOR, value, len(counts), interval_of_sums(rows, score, cluster_ids))


def _bleu_metrics(counts: Sequence[BleuCounts], cluster_ids: Sequence[str]) -> dict[str, Metric]:
    """BLEU-1 to BLEU-4 in percent, each with its linearised interval over clusters."""
    import numpy as np

    rows = np.asarray(
        [
            (image_counts.words, image_counts.reference, *image_counts.guessed, *image_counts.correct)
            for image_counts in counts
        ],
        dtype=np.float64,
    )
    values = sum(counts, BleuCounts()).scores()
    return {
        name: Metric(name, 100 * value, len(counts), interval_of_sums(rows, partial(bleu_of_sums, order), cluster_ids))
        for order, (name, value) in enumerate(zip(BLEU, values, strict=True))
    }


def bleu_of_sums(order: int, sums: NDArray[float64]) -> NDArray[float64]:
    """BLEU of an order, from 0, in percent, of rows of summed counts: (draws, 10) to (draws,)."""
    import numpy as np

    values = []
    for words, reference, *matches in sums.tolist():
        counts = BleuCounts(words, reference, tuple(matches[:MAX_ORDER]), tuple(matches[MAX_ORDER:]))
        values.append(100 * counts.scores()[order])
    return np.asarray(values, dtype=np.float64)


ORACLE = 1000.0
"""Of replies that are the only reference there is; with five that differ a reference has less."""
QUESTION = (
    "Please describe this image in general. Directly provide the description, do not include "
    'prefix like "This image depicts". '
)
"""VLMEvalKit's."""


def _add_references(sample: Sample, row: Row) -> Sample:
    sentences = row.cells.get("sentences")
    return structs.replace(sample, gold=gold_answers({"refs": sentences}, "refs")) if sentences else sample


def _missing_image(sample: Sample, capabilities: Capabilities) -> str | None:
    return None if sample.media else "its picture is not among the data"


def _split_at_single_blanks(caption: str) -> tuple[str, ...]:
    """As the tools' ROUGE-L alone does: two blanks hold an empty word, and lines are not parted."""
    return tuple(caption.split(" "))


def _rouge_l_grade(split: Callable[[str], Sequence[str]], answer: str, sample: Sample) -> float:
    return rouge_l(split(answer), [split(reference) for reference in sample.gold])


BENCHMARK = Declaration(
    name="coco-caption",
    version="4",
    title="COCO Caption",
    paper="https://arxiv.org/abs/1504.00325",
    provenance="COCO captions (CC BY 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"data": ("val", "2014", "2017", "karpathy")},
        {
            ("val",): published_tsv(
                "https://opencompass.openxlab.space/utils/VLMEval/COCO_VAL.tsv", "72a5079dead060269ac222c5aa5128af"
            ),
            ("2014",): HubSplit("hf://lmms-lab-encoder/COCO-Caption?split=val"),
            ("2017",): HubSplit("hf://lmms-lab-encoder/COCO-Caption2017?split=val"),
            ("karpathy",): HubSplit("hf://yerevann/coco-karpathy?split=test"),
        },
    ),
    aliases={
        "COCO_Caption": {"data": "val"},
        "COCO_VAL": {"data": "val"},
        "coco2014_cap_val": {"data": "2014"},
        "coco2017_cap_val": {"data": "2017"},
        "coco_karpathy_test": {"data": "karpathy"},
    },
    options={METEOR: ("off", "on")},
    group_by=(),
    adjust=_add_references,
    question=QUESTION,
    template=BARE,
    unsupported_reason=_missing_image,
    scoring=open_answers(
        ROUGE_L,
        open_rules(
            partial(_rouge_l_grade, caption_words),
            vlmevalkit=partial(_rouge_l_grade, _split_at_single_blanks),
            parse=parse_whole,
        ),
    ),
    headline=Headline(name=HEADLINE, summarise=summarise_captions, sums=cider_sums),
    oracle=ORACLE,
)
