"""A place for drills."""

from __future__ import annotations

from pathlib import Path

import pytest
from drill import Drill


@pytest.fixture
def drill(tmp_path: Path) -> Drill:
    return Drill(tmp_path)
