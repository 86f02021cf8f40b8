"""Addresses of single questions and of their media."""

from __future__ import annotations

from urllib.parse import quote, urlencode

_DOTS = frozenset({"", ".", ".."})


def item_path(benchmark: str, item: str) -> str:
    """The page of a question. Browsers change paths with dots or empty parts, so that such an id
    stands in the query."""
    base = f"/benchmarks/{benchmark}/samples"
    if any(part in _DOTS for part in item.replace("\\", "/").split("/")):
        return f"{base}?{urlencode({'id': item})}"
    return f"{base}/{quote(item, safe='')}"


def medium_path(benchmark: str, digest: str) -> str:
    return f"/benchmarks/{benchmark}/media/{digest}"
