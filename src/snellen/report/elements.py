"""Trees of elements, `[name, attributes, *children]`, of which pages make elements and notebooks text,
so that both show the same.

Names and attributes come from Snellen alone. What a model or the data say stands in texts and in
`title`, which no page reads as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def figure_element(summary: str, *children: Element) -> Element:
    """The figure of gold and answer next to each other; `summary` says in words what it shows."""
    label = {"class": "beside", "role": "group", "aria-label": f"gold and answer: {summary}"}
    return ["figure", label, *children, ["p", {"class": "said-in-words"}, summary]]


def side_element(side: str, children: Sequence[Element], *, heading: str = "", is_tall: bool = False) -> Element:
    """One side with its heading; a tall one scrolls, by the keyboard as well."""
    attributes = {"class": f"of-{side} tall", "tabindex": "0"} if is_tall else {"class": f"of-{side}"}
    return ["div", attributes, ["h4", {}, heading or side], *children]
