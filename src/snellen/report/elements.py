"""Trees of elements, `[name, attributes, *children]`, of which pages make elements and notebooks text,
so that both show the same.

Names and attributes come from Snellen alone. What a model or the data say stands in texts and in
`title`, which no page reads as markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from snellen.core.terminal_text import escape_controls

Element = list[Any]
"""A name, a mapping of attributes, then texts and further elements."""


def element_text(element: Element, attributes: str = "", styles: Mapping[str, str] | None = None) -> str:
    """A tree as the text of an element, with further `attributes` as they stand. `styles`: what stands
    for a style sheet, by name of an element or by class."""
    name, own, *children = element
    styles = styles or {}
    found = [styles[key] for key in (name, *str(own.get("class", "")).split()) if key in styles]
    look = {"style": ";".join(found)} if found else {}
    pairs = (f'{key}="{escape(str(value))}"' for key, value in (own | look).items())
    body = "".join(
        escape(escape_controls(child)) if isinstance(child, str) else element_text(child, "", styles)
        for child in children
    )
    return f"<{' '.join([name, *pairs])}{' ' + attributes if attributes else ''}>{body}</{name}>"
