"""Licence, author and address of the images of an item, which go with it from import to
publication, and Creative Commons licences by their address."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

LICENCE_COLUMNS = ("license", "licence")
AUTHOR_COLUMN, URL_COLUMN = "author", "picture_url"
IMAGE_COLUMNS = (LICENCE_COLUMNS[0], AUTHOR_COLUMN, URL_COLUMN)
"""A cell of an item with several images is their common value, or a JSON list in their order."""
_CC = "https://creativecommons.org"
_CC_URL = re.compile(
    r"(?:https?:)?(?://)?(?:www\.)?creativecommons\.org/(licenses|publicdomain)/([a-z-]+)"
    r"(?:/(\d\.\d)(?:/([a-z]{2,3})(?=/|$))?)?(?:/.*)?",
    re.IGNORECASE,
)
_PUBLIC_DOMAIN = {"zero": "CC0-1.0", "mark": "CC-PDM-1.0", "publicdomain": "CC-PDDC"}
_CC_ID = re.compile(r"CC-(BY[A-Z-]*)-(\d\.\d)(?:-([A-Z]{2,3}))?")
_UNSAFE = re.compile(r"[^A-Za-z0-9.]+")


def licence_at(url: str) -> str:
    """The SPDX identifier of the Creative Commons licence with this address; "" for any other text.

    `http://creativecommons.org/licenses/by-nc-sa/2.0/` is CC-BY-NC-SA-2.0.
    """
    match = _CC_URL.fullmatch(url.strip())
    if match is None:
        return ""
    kind, version, country = match[2].lower(), match[3], match[4]
    if kind in _PUBLIC_DOMAIN:
        return _PUBLIC_DOMAIN[kind]
    if match[1].lower() != "licenses" or version is None:
        return ""
    # The first version of this licence names its conditions in another order.
    kind = kind.replace("nd-nc", "nc-nd").upper()
    return "-".join(filter(None, ("CC", kind, version, (country or "").upper())))


def licence_named(name: str, url: str = "") -> str:
    """The licence of a list that gives each a name and an address: its SPDX identifier if the
    address says which it is, else `LicenseRef-NAME`."""
    slug = _UNSAFE.sub("-", name).strip("-")
    return licence_at(url) or licence_at(name) or (f"LicenseRef-{slug}" if slug else "")


def licence_url(spdx: str) -> str:
    """The address of a licence's text; "" for one that SPDX does not list, and expressions."""
    if not spdx or " " in spdx or spdx.startswith("LicenseRef-"):
        return ""
    for kind, name in _PUBLIC_DOMAIN.items():
        if spdx == name and kind != "publicdomain":
            return f"{_CC}/publicdomain/{kind}/1.0/"
    match = _CC_ID.fullmatch(spdx)
    if match is None:
        return f"https://spdx.org/licenses/{spdx}.html"
    return f"{_CC}/licenses/{'/'.join(filter(None, map(str.lower, match.groups(''))))}/"


def join_images(values: Sequence[str]) -> str:
    """The cell of an item whose images have these values."""
    same = len(set(values)) == 1
    return values[0] if same else json.dumps(list(values), ensure_ascii=False) if values else ""


def split_images(cell: str, count: int) -> list[str]:
    """The value of each of an item's `count` images."""
    if cell.startswith("["):
        try:
            values = json.loads(cell)
        except ValueError:
            values = None
        if isinstance(values, list) and len(values) == count:
            return [str(value or "").strip() for value in values]
    return [cell.strip()] * count


def own_licence(cells: Mapping[str, str]) -> str:
    """The licence that an item's row states; "" if it states none."""
    return next((text for name in LICENCE_COLUMNS if (text := cells.get(name, "").strip())), "")
