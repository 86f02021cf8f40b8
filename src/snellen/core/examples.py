"""What a run showed before each of its questions (`shots=k`)."""

from __future__ import annotations

from msgspec import Struct


class Examples(Struct, frozen=True, omit_defaults=True):
    """Questions that stood with their answers before every question of their kind. Where they
    come from and by which seed stands in the run's parameters (`shots_from`, `shots_seed`)."""

    ids: tuple[str, ...]
    """Ids of the examples, in the order in which they are shown."""
    digest: str
    """SHA-256 (hex) of the examples: questions, options, answers and hashes of their media."""
    aside: int = 0
    """Questions of the data that are not asked: the examples, what asks the same, and what belongs
    to one unit with them."""
