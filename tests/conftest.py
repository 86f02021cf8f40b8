"""Shared by all tests: the golden data, and a cache of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Path]:
    """Folder of a golden set: real predictions with officially computed scores."""
    home = Path(os.environ.get("SNELLEN_GOLDEN", ROOT.parent / "shared" / "golden"))

    def folder(name: str) -> Path:
        if not home.is_dir():
            pytest.skip(f"no golden data at {home} (set SNELLEN_GOLDEN)")
        return home / name

    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Indexes and downloads of the tests never touch the user's cache."""
    os.environ["SNELLEN_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("LMUData", None)
