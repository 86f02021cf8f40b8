"""What a provider's support rests on: a server that ran, the provider's client, a description, or nothing.

`evidence.json` is merged by `docs/provider_evidence.py` from the records that the harnesses write
(`tests/provider_evidence`); nothing in it is written by hand.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

Level = Literal["server run here", "client", "schema", "docs only"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From the strongest to the weakest.

`server run here`: a server of this kind, written by others, was started and asked. `client`: the types
of the provider's own client package accept every request, or what differs is explained. `schema`: a
published description of the API, for most of them OpenAI's, does. `docs only`: nothing was compared.
"""


class ProviderRecord(Struct, frozen=True, omit_defaults=True):
    """One comparison of a provider's support with what others wrote."""

    provider: str
    level: Level
    source: str
    """Repository or package."""
    version: str
    """Version, or commit."""
    licence: str
    agreeing: int
    compared: int
    """Bodies of requests, or checks of a server."""
    explained: int
    """Those that differ, each with a reason."""
    about: str
    """What was compared, as a clause."""
    test: str
    """The file that repeats it."""
    read: str
    """Day of the comparison."""
    replies: int = 0
    """Published examples of replies that came to their outcomes."""

    def text(self) -> str:
        """The comparison in one clause."""
        others = ", the others explained" if self.explained else ""
        more = f", {self.replies} example replies" if self.replies else ""
        what, about = ("checks", f": {self.about}") if self.level == LEVELS[0] else (self.about, "")
        counts = f"{self.agreeing} of {self.compared} {what}{others}{more}"
        return f"{counts} ({self.source} {self.version[:12]}{about})"


@functools.cache
def load_evidence() -> dict[str, tuple[ProviderRecord, ...]]:
    """Records by provider, the strongest first."""
    text = Path(__file__).with_name("evidence.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, tuple[ProviderRecord, ...]])


def provider_level(provider: str) -> Level:
    """The strongest level of a provider."""
    return min((each.level for each in load_evidence().get(provider, ())), key=LEVELS.index, default="docs only")


def provider_evidence(provider: str) -> str:
    """The level of a provider and everything that was compared, in one line."""
    records = load_evidence().get(provider, ())
    if not records:
        return f"{provider_level(provider)}: nothing was compared"
    return f"{provider_level(provider)}: " + "; ".join(record.text() for record in records)
