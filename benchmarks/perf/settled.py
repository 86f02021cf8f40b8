"""Data files as users have them: not just written."""

from __future__ import annotations

import os
import time
from pathlib import Path

_AGE = 60.0
"""Seconds."""


def settle(path: Path) -> None:
    """Have a file say that it was written a while ago, as a downloaded one does: the pictures of
    one that may still be changing are hashed again each time they are read."""
    earlier = time.time() - _AGE
    os.utime(path, (earlier, earlier))
