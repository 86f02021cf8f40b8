"""Models of the catalog as a table, and one of them as facts with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.models.catalog import Entry, ListedPrice, sources

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("name", "provider", "weights", "size", "takes", "context", "$ in", "$ out")
_NUMBERS = frozenset({"size", "context", "$ in", "$ out"})
UNKNOWN = "–"


def row(entry: Entry) -> tuple[str, ...]:
    """An entry as the cells of `COLUMNS`; a dash where a fact is not known."""
    price = entry.price
    return (
        entry.name,
        entry.provider,
        entry.access,
        f"{entry.parameters:g} B" if entry.parameters else UNKNOWN,
        _takes(entry),
        f"{entry.context / 1000:.0f} k" if entry.context else UNKNOWN,
        f"{price.input:g}" if price else UNKNOWN,
        f"{price.output:g}" if price else UNKNOWN,
    )


def _takes(entry: Entry) -> str:
    """What it takes besides text, and what it gives where that is not text alone."""
    taken = " ".join(one for one in entry.inputs if one != "text") or "text"
    return taken if entry.outputs == ("text",) else f"{taken} → {' '.join(entry.outputs)}"


def print_entries(entries: Sequence[Entry], console: Console) -> None:
    """A table, and beneath it how many there are."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in COLUMNS:
        table.add_column(
            name,
            justify="right" if name in _NUMBERS else "left",
            overflow="fold",
            no_wrap=name == "name",
        )
    for entry in entries:
        table.add_row(*row(entry))
    console.print(table)
    console.print(f"{len(entries)} models; prices in dollars per million tokens", highlight=False)


def facts(entry: Entry) -> dict[str, str]:
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
