"""An entry of docs/reproduction.md: one number of ours beside the official one."""

from __future__ import annotations

from msgspec import Struct


class Entry(Struct, frozen=True):
    """Ours and the official number, both as they are compared."""

    benchmark: str
    system: str
    number: str
    ours: float
    official: float
    digits: int
    """Decimals to which the official number is known; ours is rounded to as many."""
    source: str
    count: str = ""
    """The whole numbers behind ours, e.g. 101/211."""
    because: str = ""
    """Why it differs, where it does."""

    @property
    def agrees(self) -> bool:
        return round(self.ours, self.digits) == round(self.official, self.digits)
