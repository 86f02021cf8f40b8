"""Eyechart of pages: the bundled benchmark of document pages and of invoices, drawn by
`training/tiny/pages.py` with seeds of its own.

One example row: index 1, question "What does this page say?", answer `[{"category": "title", "text":
"The bakery in 1968"}, {"category": "text", "text": "While the roof ..."}]`, type "page", category
"paragraphs" (its layout), l2-category "page" (its task), language "English", split "test", image
<base64 PNG, two colours, 440 pixels wide>.

Oddities: a page number is a block that a reply may leave out; a receipt has neither subtotal nor tax, so
that a reply with them invents fields; dates are printed in several forms and asked for in one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from msgspec import structs

from snellen.benchmarks.abilities.eyechart import PackagedFiles
from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.scoring import MAX_PAGE_TOKENS, RuleScoring
from snellen.core.benchmark import Variant, requires
from snellen.core.record import Record
from snellen.core.sample import Row
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.scoring.accuracy import EMPTY_PAGE, FREQUENT_FIELDS, FREQUENT_WORDS, counted_score

TASK, PAGE, RECORD = "task", "page", "record"
_TEXT = {"type": "string"}
_ITEM = {
    "type": "object",
    "properties": {"name": _TEXT, "count": {"type": "integer"}, "price": {"type": "number"}},
    "required": ["name", "count", "price"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("seller", "number", "date", "currency"), _TEXT),
        "items": {"type": "array", "items": _ITEM},
        **{name: {"type": "number"} for name in ("subtotal", "tax", "total")},
    },
    "required": ["seller", "number", "date", "currency", "items", "total"],
    "additionalProperties": False,
}
"""What a reply to the task `record` is to follow."""


def _is_asked(row: Row, options: Options) -> bool:
    return row.cells.get("l2-category") == options[TASK]


def _for_task(declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration of a variant's task. An unknown task is refused later."""
    if variant.options.get(TASK, PAGE) == RECORD:
        from snellen.benchmarks.declaration.record_fields import record_headline

        return replace(
            declaration,
            response_schema=json.dumps(SCHEMA, sort_keys=True, separators=(",", ":")),
            max_new_tokens=1024,
            headline=_with_baselines(record_headline(), RECORD),
        )
    from snellen.benchmarks.declaration.page_summary import page_headline
    from snellen.scoring.pages.teds import check_tree_packages

    return replace(declaration, headline=_with_baselines(page_headline(), PAGE), check=check_tree_packages)


def _with_baselines(headline: Headline, task: str) -> Headline:
    return replace(headline, summarise=partial(_summarise, headline, task))


def _summarise(headline: Headline, task: str, context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The summary with what an empty page, the most frequent words and the most frequent values score."""
    summary = headline.summarise(context, records) if headline.summarise else context.plain(records)
    golds = [
        record.gold[0] for record in records if record.gold and counted_score(record, context.failures) is not None
    ]
    if summary.headline.value is None or not golds:
        return summary
    scores = _page_baselines(golds) if task == PAGE else _record_baselines(golds)
    baselines = {name: Metric(name, 100 * score, len(golds)) for name, score in scores.items()}
    return structs.replace(summary, metrics={**summary.metrics, **baselines})


def _page_baselines(golds: Sequence[str]) -> dict[str, float]:
    """The scores of pages that need no look at the picture, by the formula of the headline, 0..1."""
    from snellen.benchmarks.protocol.page_grading import page_parts
    from snellen.models.frequent_documents import frequent_page
    from snellen.scoring.pages.page_score import OVERALL_PARTS

    scores = {}
    for name, reply in ((EMPTY_PAGE, ""), (FREQUENT_WORDS, frequent_page(golds))):
        parts = [page_parts(reply, gold) for gold in golds]
        means = [fmean(found) for part in OVERALL_PARTS if (found := [page[part] for page in parts if part in page])]
        scores[name] = fmean(means) if means else 1.0
    return scores


def _record_baselines(golds: Sequence[str]) -> dict[str, float]:
    from snellen.models.frequent_documents import frequent_record
    from snellen.scoring.fields import record_f1

    reply = frequent_record(golds)
    return {FREQUENT_FIELDS: fmean(record_f1(reply, [gold]) for gold in golds)}


BENCHMARK = Declaration(
    name="eyechart-pages",
    version="1",
    title="Eyechart of pages: text, tables, formulas and invoices as Markdown or JSON",
    provenance="drawn by this repository (Apache-2.0)",
    data=PackagedFiles({"test": "eyechart_pages.tsv"}),
    options={TASK: (PAGE, RECORD)},
    for_variant=_for_task,
    keep=_is_asked,
    group_by=("category", "language"),
    requires=requires("text", "image"),
    max_new_tokens=MAX_PAGE_TOKENS,
    scoring=RuleScoring(max_new_tokens=MAX_PAGE_TOKENS),
)
