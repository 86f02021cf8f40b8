"""VCR-wiki: restore text that is covered in a picture (Zhang et al. 2024,
https://arxiv.org/abs/2406.06462).

A row of this form (made up): index 0, question "What is the covered texts in the image? ...",
answer "['of the largest cities', 'since 1998']" (one entry for each covered text), image <base64>:
a photograph over an excerpt of Wikipedia, of which some runs of words are covered, partly (easy)
or but for a few pixels (hard).

Oddities: the number is the mean over covered texts, not over pictures. English and Chinese.

Of the reply, the run of words nearest to each covered text must equal it; `jaccard` is the share of
words in common. In Snellen's rule white space means nothing. `--rule official` and `--rule
vlmevalkit` repeat the authors' code, which is VLMEvalKit's too: their words are those of spaCy's
English model, of which a line break between words is one. Chinese is split into characters by every
rule, and not into the words of spaCy's Chinese model (see `text_restoration`), so that
Jaccard for Chinese is another number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import Published, PublishedFile, published_tsv
from snellen.benchmarks.documents.vcr_wiki.text_restoration import (
    RestorationScore,
    score_restoration,
    score_restoration_published,
)
from snellen.benchmarks.protocol.flows import GradeFunction
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Variant
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.open_text import parse_whole
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.headlines import headline_interval, weighted_mean

HEADLINE = "exact_match"
JACCARD = "jaccard"
_QUESTIONS = {
    "en": "What is the covered texts in the image? Please restore the covered texts without "
    "outputting the explanations.",
    "zh": "图像中被覆盖的文本是什么？请在不输出解释的情况下还原被覆盖的文本。",
}
"""lmms-eval's and the data's own question."""
_MD5 = {
    ("en", "easy", "500"): "fd9258db52f8685dc710619a0ea0a261",
    ("en", "easy", "100"): "9df5d7266683458621ecbe122beb72f0",
    ("en", "easy", "all"): "8a9b96885f251d1c85f42f84073327f1",
    ("en", "hard", "500"): "0a22a85080b6a1f52b1f95e302d43df4",
    ("en", "hard", "100"): "1b20f5cbcbeae0b0bec77f7a36143958",
    ("en", "hard", "all"): "2d8b8b1ee0eba0e0b618fd3aa7d9710e",
    ("zh", "easy", "500"): "beca5fd54176adf44cf94bd9b50cf048",
    ("zh", "easy", "100"): "4a86a5678a79844d6d22ab0629c51cd5",
    ("zh", "easy", "all"): "5050fe7f0027ad2068fd4c7f220edaea",
    ("zh", "hard", "500"): "617e3360f75c54455625cb0a8da5c1e7",
    ("zh", "hard", "100"): "b0e38c85f5d5e63894a3b881c372a62b",
    ("zh", "hard", "all"): "54bbfef448206518b03127ef8b61404c",
}


def _published_file(lang: str, level: str, rows: str) -> PublishedFile:
    part = "" if rows == "all" else f"-{rows}"
    name = f"VCR-wiki-{lang}-{level}-test{part}"
    return published_tsv(
        f"https://huggingface.co/datasets/vcr-org/{name}/resolve/main/{name}.tsv", _MD5[lang, level, rows]
    )


def _join_golds(sample: Sample, row: Row) -> Sample:
    """The gold is one answer with a line for each covered text."""
    gold = ("\n".join(sample.gold),) if sample.gold else ()
    return structs.replace(sample, gold=gold)


class _Restorer(Protocol):
    def __call__(self, reply: str, gold: str, *, chinese: bool) -> RestorationScore: ...


def _mean_over_texts(
    restore: _Restorer, part: Callable[[RestorationScore], float], chinese: bool, answer: str, sample: Sample
) -> float:
    texts = sample.gold[0].split("\n")
    scores = (restore(answer, text, chinese=chinese) for text in texts)
    return sum(part(score) for score in scores) / len(texts)


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """Means over covered texts: a picture weighs as many as it has."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return summary
    exact = _text_metric(HEADLINE, _text_sums(context, records), records)
    jaccard = weighted_mean(records, _text_count, context.failures, lambda record, _: record.values.get(JACCARD, 0.0))
    metrics = {HEADLINE: exact, JACCARD: _text_metric(JACCARD, jaccard, records)}
    return msgspec.structs.replace(summary, headline=exact, metrics={**summary.metrics, **metrics}, bounds=None)


def _text_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean over covered texts: a picture weighs as many as it has."""
    return weighted_mean(records, _text_count, context.failures)


def _text_count(record: Record) -> float:
    return len(record.gold[0].split("\n")) if record.gold else 0


def _text_metric(name: str, sums: HeadlineSums | None, records: Sequence[Record]) -> Metric:
    if sums is None:
        return Metric(name, None, 0)
    value = sums.of_all()
    return Metric(name, value, int(sums.rows.any(axis=1).sum()), headline_interval(sums, records))


def _rules(*, chinese: bool) -> dict[str, ParserSet]:
    def grade(restore: _Restorer, part: Callable[[RestorationScore], float]) -> GradeFunction:
        return partial(_mean_over_texts, restore, part, chinese)

    published = grade(score_restoration_published, _exact)
    published_jaccard = {JACCARD: grade(score_restoration_published, _jaccard)}
    return open_rules(
        grade(score_restoration, _exact),
        official=published,
        vlmevalkit=published,
        parse=parse_whole,
        secondary={JACCARD: grade(score_restoration, _jaccard)},
        secondary_official=published_jaccard,
        secondary_vlmevalkit=published_jaccard,
    )


def _exact(score: RestorationScore) -> float:
    return score.exact


def _jaccard(score: RestorationScore) -> float:
    return score.jaccard


def _for_language(declaration: Declaration, variant: Variant) -> Declaration:
    """Chinese texts are split into characters, and asked about in Chinese."""
    if variant.options.get("lang") != "zh":
        return declaration
    scoring = open_answers(HEADLINE, _rules(chinese=True))
    return replace(declaration, question=_QUESTIONS["zh"], scoring=scoring)


BENCHMARK = Declaration(
    name="vcr-wiki",
    version="4",
    title="VCR-wiki, covered text",
    paper="https://arxiv.org/abs/2406.06462",
    provenance="VCR-wiki (CC BY-SA 4.0), its authors' TSV files",
    data=Published(
        {"lang": ("en", "zh"), "level": ("easy", "hard"), "rows": ("500", "100", "all")},
        {key: _published_file(*key) for key in _MD5},
    ),
    aliases={
        f"VCR_{lang}_{level}_{rows}".upper(): {"lang": lang, "level": level, "rows": rows} for lang, level, rows in _MD5
    }
    | {
        f"vcr_wiki_{lang}_{level}{'' if rows == 'all' else f'_{rows}'}": {"lang": lang, "level": level, "rows": rows}
        for lang, level, rows in _MD5
    },
    adjust=_join_golds,
    template=PromptTemplate(open=""),
    max_new_tokens=512,
    coverage="generic type",
    headline=Headline(summarise=_summarise, sums=_text_sums, weighs_scores=True),
    question=_QUESTIONS["en"],
    for_variant=_for_language,
    scoring=open_answers(HEADLINE, _rules(chinese=False)),
)
