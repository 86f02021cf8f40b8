"""Licences of images and questions: names checked against SPDX, one table per source."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, UsageError
from snellen.data.toml_files import read_packaged, read_toml
from snellen_curate.attribution import licence_at, own_licence, split_images

SOURCE_COLUMN = "source"
ANY_SOURCE = "*"
"""Name of the table's entry for sources that have no entry of their own."""
UNKNOWN_SOURCE = ""
_TABLE = read_packaged(__package__, "licences.toml")
_CONDITIONS: Mapping[str, str] = _TABLE["conditions"]
_HUB: Mapping[str, str] = _TABLE["hub"]["other"]
_HUB_PLAIN, _HUB_GNU, _FREE = (
    frozenset(names.split()) for names in (_TABLE["hub"]["plain"], _TABLE["hub"]["gnu"], _TABLE["free"])
)


class SourceLicence(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the licence table: what images of one source may be used for."""

    licence: str = ""
    url: str = ""
    attribution: str = ""
    override: bool = False
    """Whether `licence` counts where an image states another one too."""
    names: dict[str, str] = {}
    """What images of the source state, in the source's words: the SPDX licence of each."""


class LicenceTable(dict[str, SourceLicence]):
    """Licences by source; the entry `*` is for all other sources."""

    def entry(self, source: str) -> SourceLicence:
        """The entry of a source; an empty one if the table says nothing about it."""
        return self.get(source) or self.get(ANY_SOURCE) or SourceLicence()


def check_licence(name: str, where: str) -> str:
    """The SPDX form of a licence name or expression, such as `CC-BY-4.0` or `MIT OR Apache-2.0`.

    `LicenseRef-NAME` names a licence that SPDX does not list (SPDX specification 2.3, annex D).
    Raises UsageError with the nearest names.
    """
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    try:
        return str(canonicalize_license_expression(licence_at(name) or name.strip()))
    except InvalidLicenseExpression:
        raise UsageError(
            f"{where}: {name!r} is no SPDX licence{_advice(name)}; a licence that SPDX does not "
            "list is written LicenseRef-NAME"
        ) from None


def _advice(name: str) -> str:
    from packaging.licenses._spdx import LICENSES

    ids = {key: str(entry["id"]) for key, entry in LICENSES.items()}
    close = difflib.get_close_matches("-".join(name.lower().split()), ids, 2, 0.6)
    return f" (did you mean {' or '.join(ids[match] for match in close)}?)" if close else ""


def read_licence_table(path: str) -> LicenceTable:
    """Read a TOML file with a table for each source: `licence`, and optionally `url`,
    `attribution`, `override` and `names`. Raises DataError, UsageError for a licence that SPDX does
    not know."""
    try:
        entries = msgspec.convert(read_toml(path), dict[str, SourceLicence])
    except msgspec.ValidationError as error:
        raise DataError(
            f'{path}: {error}; expected a table for each source, e.g. ["COCO"] with '
            'licence = "CC-BY-4.0", and optionally url and attribution'
        ) from error
    return LicenceTable((source, _check_entry(entry, f"{path}, {source}")) for source, entry in entries.items())


def _check_entry(entry: SourceLicence, where: str) -> SourceLicence:
    """The entry with licences as SPDX writes them. Raises UsageError."""
    if not entry.licence and (entry.override or not entry.names):
        raise UsageError(f'{where}: it has no licence; expected e.g. licence = "CC-BY-4.0"')
    return msgspec.structs.replace(
        entry,
        licence=check_licence(entry.licence, where) if entry.licence else "",
        names={stated: check_licence(name, where) for stated, name in entry.names.items()},
    )


def licences_of(cells: Mapping[str, str], table: LicenceTable, images: int) -> list[str]:
    """The licence of each of an item's images as its row or the table has it, not yet checked; ""
    if neither does."""
    entry = table.entry(cells.get(SOURCE_COLUMN, UNKNOWN_SOURCE))
    return [
        entry.licence if entry.override else entry.names.get(own, own) or entry.licence
        for own in split_images(own_licence(cells), max(images, 1))
    ]


def hub_licences(licences: Iterable[str]) -> list[str]:
    """Identifiers for the `license` of a card on the Hugging Face hub, in order and once each;
    `other` alone if the hub does not list one of them: who filters by the tag must not take the
    data for freer than they are. "" is a licence that nobody states, `unknown`."""
    names = list(dict.fromkeys(map(_hub_licence, licences)))
    return ["other"] if "other" in names else names


def strictest_conditions(counts: Mapping[str, int]) -> str:
    """What the licences of a set ask together, in a sentence; `counts`: images by SPDX licence,
    "" for those without one."""
    asked: Counter[str] = Counter()
    for licence, count in counts.items():
        for condition in _conditions(licence):
            asked[condition] += count
    total = sum(counts.values())
    parts = [f"{text} ({asked[name]:,})" for name, text in _CONDITIONS.items() if asked[name]]
    if not parts:
        return f"No picture of {total:,} asks for anything."
    return f"The set as a whole, by its strictest pictures (of {total:,}): {'; '.join(parts)}."


_ATTRIBUTION_ONLY = re.compile(r"MIT|Apache-|BSD-|ISC|ODC-By-|CDLA-Permissive-|Zlib|Etalab-")
_SAME_LICENCE = re.compile(r"A?GPL-|LGPL-|GFDL-|ODbL-|MPL-|EUPL-|OSL-|CDLA-Sharing-")


def _conditions(licence: str) -> list[str]:
    """Which of `_CONDITIONS` a licence makes; of an expression with AND those of all parts."""
    found: list[str] = []
    for part in licence.split(" AND "):
        if " OR " in part or "(" in part:
            found.append("own")
        elif part.startswith("CC-BY"):
            found += [name for name in part.split("-") if name in _CONDITIONS]
        elif _SAME_LICENCE.match(part):
            found += ["SA", "BY"]
        elif _ATTRIBUTION_ONLY.match(part):
            found.append("BY")
        elif part not in _FREE:
            found.append("own" if part else "")
    return list(dict.fromkeys(found))


def _hub_licence(spdx: str) -> str:
    if not spdx:
        return "unknown"
    if spdx in _HUB:
        return _HUB[spdx]
    lower = spdx.lower()
    plain = lower.removesuffix("-only").removesuffix("-or-later")
    return lower if lower in _HUB_PLAIN else plain if plain in _HUB_GNU else "other"
