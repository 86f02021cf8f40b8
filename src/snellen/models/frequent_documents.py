"""The page and the record that knowing the gold answers alone makes: the most frequent words, and the most
frequent value of each field."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from snellen.core.page import load_page

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")


def frequent_page(golds: Sequence[str]) -> str:
    """The most frequent words of gold pages, each the text of a `Page`: as many as a page in the middle
    has, the most frequent first, tables and formulas left out."""
    texts = [" ".join(block.text for block in load_page(gold).blocks if block.kind == "text") for gold in golds]
    words = [_WORD.findall(text) for text in texts]
    if not words:
        return ""
    counts = Counter(word for page in words for word in page)
    return " ".join(word for word, _ in counts.most_common(round(median(map(len, words)))))


def frequent_record(golds: Sequence[str]) -> str:
    """The most frequent value of each field that at least half of the gold records have, as JSON."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for gold in golds:
        record = json.loads(gold)
        for name, value in record.items() if isinstance(record, dict) else ():
            values[name][json.dumps(value, ensure_ascii=False)] += 1
    record_of: dict[str, Any] = {
        name: json.loads(counts.most_common(1)[0][0])
        for name, counts in values.items()
        if 2 * counts.total() >= len(golds)
    }
    return json.dumps(record_of, ensure_ascii=False)
