"""What is said of a file that does not exist."""

from __future__ import annotations

import difflib
from pathlib import Path


def missing_file(path: Path | str, what: str = "file") -> str:
    """A clause that says so, with the name in the same folder that was probably meant."""
    path = Path(path).expanduser()
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, 1, 0.75)
    advice = f"; did you mean {path.with_name(near[0])}?" if near else ""
    return f"there is no such {what}{advice}"
