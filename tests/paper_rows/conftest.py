"""The user of each row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.paper_rows.user import User


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[User]:
    monkeypatch.chdir(tmp_path)
    # Tables as a wide terminal shows them.
    monkeypatch.setenv("COLUMNS", "200")
    user = User(tmp_path, lambda: tuple(capfd.readouterr()))
    yield user
    user.close()
