"""Scores of questions about documents, by what their gold answers are like: the language, the kind of block,
the kind of value, the length, how many fields or blocks there are; and how the questions ended."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from snellen.analysis.findings.score_groups import (
    GroupedRecord,
    GroupOrder,
    ScoreGroups,
    grouped_scores,
    outcome_shares,
    quarter_label,
)
from snellen.core.arrays import np
from snellen.core.page import Page, load_page
from snellen.scoring.accuracy import cluster_samples, mean_metric
from snellen.store.runs import RunFolder

LONG = 80
"""Characters from which on the gold answer of an open question counts as a text of a document."""
LANGUAGE, LENGTH, BLOCK, VALUE, FIELDS, BLOCKS = (
    "language", "length of the gold", "kind of block", "kind of value", "fields in the gold", "blocks on the page",
)  # fmt: skip
_LANGUAGE_COLUMNS = ("language", "lang")
_STEPS = ((1, "1"), (5, "2 to 5"), (10, "6 to 10"), (20, "11 to 20"), (50, "21 to 50"))
_ABOVE = "more than 50"
_SCRIPTS = {"CJK": "Chinese characters", "HIRAGANA": "Japanese kana", "KATAKANA": "Japanese kana"}
_GROUPINGS: Mapping[str, GroupOrder] = {
    LANGUAGE: 30,
    LENGTH: None,
    **dict.fromkeys((FIELDS, BLOCKS), (*(label for _, label in _STEPS), _ABOVE)),
}
"""Groupings of questions; those of blocks and of values group parts of an answer."""


def document_groups(run: RunFolder) -> list[ScoreGroups]:
    """The groupings of a run's questions about pages, records and long texts; empty if it has none."""
    records = [each for each in run.read_as(GroupedRecord) if each.score is not None and _is_document(each)]
    if not records:
        return []
    clusters = cluster_samples(records)
    pages = [load_page(each.gold[0]) if each.kind == "page" else None for each in records]
    lengths = [_length(each, page) for each, page in zip(records, pages, strict=True)]
    cuts = [round(cut) for cut in np.quantile(lengths, (0.25, 0.5, 0.75)).tolist()]
    bounds = [f"{cut:,} characters" for cut in cuts]

    def labels(record: GroupedRecord, page: Page | None, length: int) -> Iterator[tuple[str, str]]:
        yield LANGUAGE, _language(record)
        yield LENGTH, quarter_label(length, cuts, bounds)
        if page is not None:
            yield BLOCKS, _step(len(page.blocks))
        if record.kind == "fields":
            yield FIELDS, _step(_count_fields(record.gold[0]))

    found = grouped_scores(run.info.headline, records, clusters, map(labels, records, pages, lengths), _GROUPINGS)
    parts = [_block_scores(records, pages, clusters), _value_scores(records, clusters)]
    return [*found, *(part for part in parts if part.rows), outcome_shares(records)]


def _is_document(record: GroupedRecord) -> bool:
    if not record.gold:
        return False
    return record.kind in ("page", "fields") or (record.kind == "open" and len(record.gold[0]) >= LONG)


def _length(record: GroupedRecord, page: Page | None) -> int:
    return len(record.gold[0]) if page is None else sum(len(block.text) for block in page.blocks)


def _language(record: GroupedRecord) -> str:
    """What the data call the language, else the script in which most letters of the gold are."""
    named = next((record.groups[column] for column in _LANGUAGE_COLUMNS if column in record.groups), "")
    if named:
        return named
    letters = [sign for sign in record.gold[0] if sign.isalpha()][:2000]
    scripts = Counter(unicodedata.name(sign, "?").split(" ")[0] for sign in letters)
    if not scripts:
        return "no letters"
    script = scripts.most_common(1)[0][0]
    return _SCRIPTS.get(script, f"{script.capitalize()} letters")


def _step(count: int) -> str:
    return next((label for most, label in _STEPS if count <= most), _ABOVE)


def _count_fields(gold: str) -> int:
    from snellen.core.answer_text import each_field

    return sum(1 for _ in each_field(json.loads(gold)))


def _block_scores(
    records: Sequence[GroupedRecord], pages: Sequence[Page | None], clusters: Sequence[str]
) -> ScoreGroups:
    """How near the blocks of each kind are, tables by TEDS, as the mean over pages."""
    scores: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for each, page, cluster in zip(records, pages, clusters, strict=True):
        if page is None:
            continue
        for kind, values in _page_scores(each, page).items():
            scores[kind].append((sum(values) / len(values), cluster))
    rows = [
        (kind, mean_metric(BLOCK, [score for score, _ in found], [cluster for _, cluster in found]))
        for kind in ("heading", "text", "table", "formula")
        if (found := scores.get(kind))
    ]
    return ScoreGroups(BLOCK, tuple(rows))


def _page_scores(record: GroupedRecord, page: Page) -> dict[str, list[float]]:
    from snellen.extract.pages.blocks import page_blocks
    from snellen.scoring.pages.block_scores import scores_by_kind
    from snellen.scoring.pages.page_score import TEDS

    found = scores_by_kind(page_blocks(record.answer or ""), page)
    if any(block.kind == "table" and not block.optional for block in page.blocks):
        found["table"] = [record.values.get(TEDS, 0.0)]
    return found


def _value_scores(records: Sequence[GroupedRecord], clusters: Sequence[str]) -> ScoreGroups:
    """The share of gold values that are right, by what they are and by whether they stand in a list."""
    from snellen.scoring.fields import nearest_results, value_kind

    shares: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for each, cluster in zip(records, clusters, strict=True):
        if each.kind != "fields":
            continue
        for result in nearest_results(each.answer, each.gold):
            if result.outcome != "invented":
                where = " in a list" if "[]" in result.path else ""
                shares[f"{value_kind(result.gold)}{where}"].append((float(result.outcome == "right"), cluster))
    rows = [
        (kind, mean_metric(VALUE, [share for share, _ in found], [cluster for _, cluster in found]))
        for kind, found in sorted(shares.items())
    ]
    return ScoreGroups(VALUE, tuple(rows))
