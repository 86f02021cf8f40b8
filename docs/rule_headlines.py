"""The table of headlines by rule in docs/other-tools.md, from the declarations: `docs/generate.py`
calls `page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.benchmark import Variant
from snellen.report.format import metric_label

PAGE = Path(__file__).with_name("other-tools.md")
_START = "<!-- Headlines by rule, written by docs/generate.py. Edit the declarations. -->\n"
_END = "<!-- End of the headlines by rule. -->\n"
_RULES = ("snellen", "vlmevalkit", "lmms-eval", "official")


def page() -> str:
    """The page with a new table. Raises ValueError if its marks are not there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_START)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks of the table of headlines")
    return "\n".join((before + _START, *_table(), "", end + after))


def _table() -> Iterator[str]:
    yield "| benchmark | by Snellen's rule | by `vlmevalkit` | by `lmms-eval` | by `official` |"
    yield "| --- | --- | --- | --- | --- |"
    for listing in list_benchmarks():
        rules = open_benchmark(listing.name).rules
        by_rule = {rule: open_benchmark(listing.name, Variant(rule=rule)).headline for rule in _RULES if rule in rules}
        if len(set(by_rule.values())) > 1:
            cells = (metric_label(by_rule[rule]) if rule in by_rule else "–" for rule in _RULES)
            yield f"| `{listing.name}` | {' | '.join(cells)} |"
