"""Models of the catalog as a table, and one of them as facts with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.models.naming.catalog import CatalogEntry, ListedPrice, sources
from snellen.report.console import natural_width
from snellen.report.format import plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLUMNS = ("name", "provider", "weights", "size", "takes", "context", "$ in", "$ out")
_NUMBERS = frozenset({"size", "context", "$ in", "$ out"})
_FOLDED = frozenset({"name", "takes"})
"""Columns that are broken into lines where they must be."""
_WIDE = ("provider", "weights", "context")
"""Columns for wide terminals alone."""
_NARROW = 12
"""Characters of what a model takes, in a narrow terminal."""
UNKNOWN = "–"


def entry_row(entry: CatalogEntry) -> tuple[str, ...]:
    """An entry as the cells of `COLUMNS`; a dash where a fact is not known."""
    price = entry.price
    return (
        entry.name,
        entry.provider,
        entry.access,
        f"{entry.parameters:g} B" if entry.parameters else UNKNOWN,
        _modalities(entry),
        f"{entry.context / 1000:.0f} k" if entry.context else UNKNOWN,
        f"{price.input:g}" if price else UNKNOWN,
        f"{price.output:g}" if price else UNKNOWN,
    )


def _modalities(entry: CatalogEntry) -> str:
    """What it takes besides text, and what it gives where that is not text alone."""
    taken = " ".join(one for one in entry.inputs if one != "text") or "text"
    return taken if entry.outputs == ("text",) else f"{taken} → {' '.join(entry.outputs)}"


def print_entries(entries: Sequence[CatalogEntry], console: Console) -> None:
    """A table, and beneath it how many there are. A terminal that is too narrow for it is shown
    fewer columns; files and pipes get whole lines."""
    told = f"{plural(len(entries), 'model')}; prices in dollars per million tokens"
    whole = _table(entries, COLUMNS)
    width = natural_width(whole, console)
    if not console.is_terminal:
        console.width = max(console.width, width)
    if not entries:
        told = "no model of the catalog fulfils the filter"
    elif width <= console.width:
        console.print(whole)
    else:
        console.print(_table(entries, [name for name in COLUMNS if name not in _WIDE]))
        told += f"; a terminal of {width} columns shows {', '.join(_WIDE)} too"
    console.print(told, highlight=False)


def _table(entries: Sequence[CatalogEntry], columns: Sequence[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in columns:
        words = name in _FOLDED
        table.add_column(
            name,
            justify="right" if name in _NUMBERS else "left",
            overflow="fold",
            no_wrap=not words,
            max_width=None if columns == COLUMNS or name != "takes" else _NARROW,
        )
    shown = [COLUMNS.index(name) for name in columns]
    for entry in entries:
        cells = entry_row(entry)
        table.add_row(*(Text(cells[at]) for at in shown))
    return table


def entry_facts(entry: CatalogEntry) -> dict[str, str]:
    """What is known of a model, each fact with where it was read; unknown facts are left out."""
    shown = {
        "takes": ", ".join(entry.inputs),
        "parameters": f"{entry.parameters:g} billion" if entry.parameters else "",
        "language model": entry.language_model,
        "vision encoder": entry.vision_encoder,
        "context": f"{entry.context} tokens" if entry.context else "",
        "released": entry.released,
        "licence": entry.licence,
        "revision": entry.revision,
        "options": ", ".join(f"{key}={value}" for key, value in entry.options.items()),
        "longest reply": f"{entry.max_new_tokens} tokens" if entry.max_new_tokens else "",
        "price": _price(entry.price),
        "type in lmms-eval": ", ".join(entry.types),
    }
    named = {
        "takes": "inputs",
        "language model": "language_model",
        "vision encoder": "vision_encoder",
        "longest reply": "max_new_tokens",
        "type in lmms-eval": "types",
    }
    found = {
        "model": entry.name,
        "spec": entry.spec,
        "also called": ", ".join(entry.aliases),
        "weights": entry.access,
        "gives": ", ".join(entry.outputs),
    }
    for label, value in shown.items():
        if value:
            found[label] = f"{value} [{entry.sources[named.get(label, label)]}]"
    for name in sorted(set(entry.sources.values())):
        source = sources()[name]
        found[f"[{name}]"] = f"{source.url}, read {source.read}"
    return found


def _price(price: ListedPrice | None) -> str:
    if price is None:
        return ""
    text = f"{price.input:g} $ per million tokens in, {price.output:g} $ out"
    if price.cached is not None:
        text += f", {price.cached:g} $ cached"
    text += f"; {price.note}" if price.note else ""
    return f"{text}, {price.page}" if price.page else text
