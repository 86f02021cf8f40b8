"""Files and a cache of their own for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Write a file below the test's folder and return its path."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file
