"""Pages as trees of elements, by the parser of the standard library."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr"}
_SVG = {"svg", "line", "rect", "circle", "path", "polygon", "polyline"}


class Element:
    """An element with its attributes, children and texts."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.parts: list[Element | str] = []

    @property
    def text(self) -> str:
        """All text inside, with single blanks."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, str):
                yield part
            else:
                yield from part._texts()

    def all(self, tag: str = "", **wanted: str) -> list[Element]:
        """The elements inside with this tag and these attributes (`class_`: one of them)."""
        return [each for each in self._inside() if each._matches(tag, wanted)]

    def one(self, tag: str = "", **wanted: str) -> Element:
        (found,) = self.all(tag, **wanted)
        return found

    def _inside(self) -> Iterator[Element]:
        for part in self.parts:
            if isinstance(part, Element):
                yield part
                yield from part._inside()

    def _matches(self, tag: str, wanted: dict[str, str]) -> bool:
        if tag and self.tag != tag:
            return False
        for name, value in wanted.items():
            own = self.attributes.get(name.rstrip("_").replace("_", "-"))
            if own is None or (value not in own.split() if name == "class_" else own != value):
                return False
        return True


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {}, None)
        self._at = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = self._add(tag, attrs)
        if tag not in _VOID:
            self._at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _SVG | _VOID, f"<{tag}/> stays open in HTML"
        self._add(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._at.tag == tag, f"</{tag}> ends <{self._at.tag}>"
        assert self._at.parent is not None
        self._at = self._at.parent

    def handle_data(self, data: str) -> None:
        self._at.parts.append(data)

    def _add(self, tag: str, attrs: list[tuple[str, str | None]]) -> Element:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs}, self._at)
        self._at.parts.append(element)
        return element


def read_html(text: str) -> Element:
    """The page as a tree. Fails where elements are not nested as they are written."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader._at is reader.root, f"<{reader._at.tag}> is not closed"
    return reader.root
