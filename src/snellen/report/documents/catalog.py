"""Models of the catalog as a table, and a single model as facts with their sources."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from snellen.models.hf.routing import command_of
from snellen.models.naming.catalog import CatalogEntry, ListedPrice, sources
from snellen.models.naming.routes import Route, route_sources, routes_of
from snellen.models.remote.evidence import provider_level
from snellen.report.document import Cell, Column, Document, Line, Table
from snellen.report.format import NONE, plural

COLUMNS = (
    Column("name", "name"),
    Column("provider", is_optional=True),
    Column("weights", is_optional=True),
    Column("size", "number"),
    Column("takes"),
    Column("context", "number", is_optional=True),
    Column("$ in", "number"),
    Column("$ out", "number"),
    Column("route", is_optional=True),
)


def entry_row(entry: CatalogEntry) -> tuple[str, ...]:
    """An entry as the cells of `COLUMNS`; an unknown fact is a dash."""
    price = entry.price
    return (
        entry.name,
        entry.provider,
        entry.access,
        f"{entry.parameters:g} B" if entry.parameters else NONE,
        _modalities(entry),
        f"{entry.context / 1000:.0f} k" if entry.context else NONE,
        f"{price.input:g}" if price else NONE,
        f"{price.output:g}" if price else NONE,
        str(routes_of(entry)[0]),
    )


def _numbers(entry: CatalogEntry) -> tuple[Cell, ...]:
    """An entry with sizes and lengths as numbers: billions of parameters, tokens, dollars."""
    name, provider, access, _, takes, _, _, _, route = entry_row(entry)
    price = entry.price
    prices = (None, None) if price is None else (price.input, price.output)
    return (name, provider, access, entry.parameters, takes, entry.context, *prices, route)


def _modalities(entry: CatalogEntry) -> str:
    """The inputs besides text, and the outputs if they are not only text."""
    inputs = " ".join(kind for kind in entry.inputs if kind != "text") or "text"
    return inputs if entry.outputs == ("text",) else f"{inputs} → {' '.join(entry.outputs)}"


def catalog_document(entries: Sequence[CatalogEntry]) -> Document:
    """The entries as a table, and their number below it; JSON has all their facts and routes."""
    data = [{**msgspec.to_builtins(entry), "routes": msgspec.to_builtins(routes_of(entry))} for entry in entries]
    if not entries:
        return Document([Line("no model of the catalog fulfils the filter")], data)
    count = f"{plural(len(entries), 'model')}; prices in dollars per million tokens"
    table = Table("", COLUMNS, list(map(entry_row, entries)))
    return Document([table, Line(count)], data, Table("", COLUMNS, list(map(_numbers, entries))))


def entry_facts(entry: CatalogEntry) -> dict[str, str]:
    """The known facts of a model, each with the source from which it was read."""
    facts = {
        "model": entry.name,
        "spec": entry.spec,
        "also called": ", ".join(entry.aliases),
        "weights": entry.access,
        "gives": ", ".join(entry.outputs),
        **{label: f"{value} [{entry.sources[key]}]" for label, key, value in _facts_with_source(entry) if value},
    }
    routes = routes_of(entry)
    for index, route in enumerate(routes):
        facts["route" if index == 0 else f"  or route {index + 1}"] = describe_route(route)
    if any(route.kind == "server" and route.target == "vllm" for route in routes):
        facts["without a server"] = f"vllm-local/{entry.id}, by vLLM's engine on a GPU of this machine"
    if command := command_of(entry):
        facts["ask it by"] = how_to_ask(entry, f"snellen run {command} -b BENCHMARK")
    known = {**sources(), **route_sources()}
    for name in sorted({*entry.sources.values(), *(route.source for route in routes)}):
        facts[f"[{name}]"] = f"{known[name].url}, read {known[name].read}"
    return facts


def _facts_with_source(entry: CatalogEntry) -> list[tuple[str, str, str]]:
    """Facts with a source: their label, their name among `entry.sources`, and their text."""
    return [
        ("takes", "inputs", ", ".join(entry.inputs)),
        ("parameters", "parameters", f"{entry.parameters:g} billion" if entry.parameters else ""),
        ("language model", "language_model", entry.language_model),
        ("vision encoder", "vision_encoder", entry.vision_encoder),
        ("context", "context", f"{entry.context} tokens" if entry.context else ""),
        ("released", "released", entry.released),
        ("licence", "licence", entry.licence),
        ("revision", "revision", entry.revision),
        ("options", "options", ", ".join(f"{key}={value}" for key, value in entry.options.items())),
        ("longest reply", "max_new_tokens", f"{entry.max_new_tokens} tokens" if entry.max_new_tokens else ""),
        ("coordinates", "coordinates", entry.coordinates),
        ("price", "price", _price(entry.price)),
        ("type in lmms-eval", "types", ", ".join(entry.types)),
    ]


_TRIED = {
    "small model": "tried with a small model of the same layout",
    "same interface": "the interface was tried with another small model",
    "read": "not tried, read only",
}


def describe_route(route: Route) -> str:
    """A route in one line: what it is, what it needs, what was tried of it, its source."""
    if route.kind == "none":
        return f"none: {route.note} [{route.source}]"
    note = f"; {route.note}" if route.note else ""
    tried = f"evidence: {provider_level(route.target)}" if route.tried == "provider" else _TRIED[route.tried]
    return f"{route}; {tried}{note} [{route.source}]"


def _price(price: ListedPrice | None) -> str:
    if price is None:
        return ""
    text = f"{price.input:g} $ per million tokens in, {price.output:g} $ out"
    if price.cached is not None:
        text += f", {price.cached:g} $ cached"
    text += f"; {price.note}" if price.note else ""
    return f"{text}, {price.page}" if price.page else text


def how_to_ask(entry: CatalogEntry | None, command: str) -> str:
    """The command that asks a model; none for one that takes sounds and no images."""
    inputs = () if entry is None else entry.inputs
    if "audio" in inputs and "image" not in inputs and "video" not in inputs:
        return "no command: it takes sounds, and no benchmark here has any"
    return command
