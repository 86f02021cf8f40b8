"""Options of `publish`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from snellen.core.errors import UsageError

REFUSE, DROP = "refuse", "drop"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_NUMBER = re.compile(r"-?[\d.]+\s*%?")


def parse_hold_out(text: str) -> float | str:
    """Read a share, `0.3` or `30%`, or the folder of a publication. Raises UsageError for a share
    that is not between 0 and 1."""
    if not _NUMBER.fullmatch(text.strip()):
        return text
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.strip().endswith("%") else number
    if not 0 < share < 1:
        raise UsageError(f"{text!r} is no share to hold out; expected e.g. 30% or 0.3")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """What is published, under which name and licences, and which answers are kept back."""

    name: str = ""
    """Of the benchmark; empty: that of the folder."""
    title: str = ""
    """Of the data card; empty: the name."""
    description: str = ""
    """A paragraph for the data card."""
    release: str = "1.0"
    language: Sequence[str] = ()
    """Languages of the questions, e.g. `en`."""
    paper: str = ""
    homepage: str = ""
    """Addresses."""
    licence: str = ""
    """SPDX licence of the questions, e.g. `CC-BY-4.0`."""
    licences: str = ""
    """TOML table of the pictures' licences, by the column `source`."""
    outside: Sequence[str] = ()
    """Folders outside of the data's own whose images may be published."""
    require_licence: str | None = None
    """If an item has no licence: `REFUSE` to publish, or `DROP` the item; None lists such items."""
    hold_out: float | None = None
    """Share of each ability whose answers are kept back."""
    split_like: str = ""
    """A publication whose ids without answers are kept back here too, as for a translation."""
    seed: int = 0
    """Of the split."""
    ability: str = ""
    """Column by which the split is balanced; empty: category, else l2-category."""
    seal_key: str = ""
    """File of the key that encrypts the answers kept back, made if it does not exist; empty: the
    variable SNELLEN_SEAL_KEY, else they are not encrypted."""
    private: str = ""
    """Folder for what is not published: the answers kept back and the decisions; empty: the folder
    with the ending `-private`."""
    keep: Sequence[str] = ()
    """Further columns to publish."""

    @property
    def keeps_back(self) -> bool:
        """Whether some answers are kept back."""
        return self.hold_out is not None or bool(self.split_like)


def check_publish_options(options: PublishOptions) -> None:
    """Raises UsageError for values that no file or card can hold."""
    if options.name and not _NAME.fullmatch(options.name):
        raise UsageError(f"--name {options.name!r}: expected letters, digits, dots, _ and - only, as in street-signs")
    for code in options.language:
        if not _LANGUAGE.fullmatch(code):
            raise UsageError(f"--facts language={code} is no language code; expected e.g. en or zh")
    if options.hold_out is not None and options.split_like:
        raise UsageError("the split is that of another publication; leave out the share to hold out")
    if options.seal_key and not options.keeps_back:
        raise UsageError("--seal-key encrypts answers that --hold-out keeps back; add --hold-out")
