"""Spellings in tags and tokens of their own: Molmo's points, and the location tokens of PaliGemma,
Florence-2 and MiniGPT-v2.

`<point x="10.5" y="20.5" alt="cat">cat</point>`, `<points x1="10" y1="20" x2="30" y2="40">`,
`<points 1=105,205 2=300,400>`, `<points coords="1 1 105 205 2 300 400">`, `<loc0256><loc0128><loc0512><loc0640> cat ;`,
`cat<loc_52><loc_333><loc_932><loc_774>`, `{<12><34><56><78>}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core import lazy_re as re
from snellen.core.place import Order, Unit
from snellen.extract.places.written import NUMBER, WrittenPlace, parse_numbers

_POINTS = re.compile(r"<(points?|tracks)\s([^<>]*)>([^<>\n]{0,200})", re.IGNORECASE)
_AXIS = re.compile(rf"\b([xy])(\d*)\s*=\s*[\"']?\s*({NUMBER}%?)", re.IGNORECASE)
_ALT = re.compile(r"\b(?:alt|label)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_PAIR = re.compile(r"\b(?:\d+|p)\s*=\s*[\"']?(\d{3})\s*,\s*(\d{3})\b")
_COORDS = re.compile(r"\bcoords\s*=\s*[\"']?([\d\s.,:;]*)", re.IGNORECASE)
_TOKENS = re.compile(r"<(?:loc_?)?\d{1,4}>(?:\s?<(?:loc_?)?\d{1,4}>)*", re.IGNORECASE)
_TOKEN = re.compile(r"<(loc_?)?(\d{1,4})>", re.IGNORECASE)
_LABEL_AFTER = re.compile(r"[ ]?([^;<>\n]{1,80})")
_LABEL_BEFORE = re.compile(r"([^;<>\n{}.:]{1,80})\Z")
_TOKEN_SPACES: dict[str, tuple[tuple[Unit, ...], Order]] = {
    "loc": (("bins",), "yx"),
    "loc_": (("thousandths", "bins"), "xy"),
    "": (("percent",), "xy"),
}
"""What location tokens count in: 1,024 with y first (PaliGemma), 1,000 (Florence-2), 100 (MiniGPT-v2)."""


def find_point_tags(text: str) -> Iterator[WrittenPlace]:
    """The points in the attributes of `<point>` and `<points>` tags."""
    for tag in _POINTS.finditer(text):
        alt = _ALT.search(tag[2])
        label = (alt[1] or alt[2] or "") if alt else tag[3]
        base = WrittenPlace((), *tag.span(), f"tag {tag[1].lower()}", label=label.strip())
        coords = _COORDS.search(tag[2])
        if coords:
            yield from _counted_points(coords[1], base)
            continue
        for numbers in _PAIR.findall(tag[2]):
            values = tuple(map(float, numbers))
            yield base._replace(numbers=values, units=("thousandths",), order="xy", form="corners")
        across: dict[str, str] = {}
        for axis, number, value in _AXIS.findall(tag[2]):
            if axis in "xX":
                across[number] = value
            elif number in across:
                numbers = parse_numbers(f"{across.pop(number)} {value}")
                if numbers is not None:
                    yield base._replace(
                        numbers=numbers.values, decimals=numbers.decimals, mark=numbers.mark, order="xy", form="corners"
                    )


def _counted_points(coords: str, base: WrittenPlace) -> Iterator[WrittenPlace]:
    """Points as "picture, number, x, y, number, x, y", in thousandths."""
    for picture in re.findall(r"[^:;,]+", coords):
        numbers = parse_numbers(picture)
        if numbers is None:
            continue
        values = numbers.values[len(numbers.values) % 3 :]
        for index in range(0, len(values), 3):
            yield base._replace(
                numbers=values[index + 1 : index + 3], units=("thousandths",), order="xy", form="corners"
            )


def find_tokens(text: str, size: int) -> Iterator[WrittenPlace]:
    """The places in location tokens, of `size` tokens each."""
    after = 0
    for run in _TOKENS.finditer(text):
        family, _ = _TOKEN.findall(run[0])[0]
        numbers = [float(number) for _, number in _TOKEN.findall(run[0])]
        if not family and (len(numbers) < 2 or text[run.start() - 1 : run.start()] != "{"):
            continue
        units, order = _TOKEN_SPACES[family.lower()]
        label = _token_label(text, run, after) if family else ""
        after = run.end()
        step = size if len(numbers) % size == 0 else len(numbers)
        for index in range(0, len(numbers), step):
            part = tuple(numbers[index : index + step])
            yield WrittenPlace(part, *run.span(), "location tokens", label=label, units=units, own_order=order)


def _token_label(text: str, run: re.Match[str], after: int) -> str:
    if "_" in run[0]:
        before = _LABEL_BEFORE.search(text[max(after, run.start() - 80) : run.start()])
        return before[1].strip() if before else ""
    behind = _LABEL_AFTER.match(text, run.end())
    return behind[1].strip() if behind else ""
