from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a random-weight checkpoint by family, made on first use."""
    import tiny_checkpoints

    root = tmp_path_factory.mktemp("checkpoints")

    def folder(family: str) -> Path:
        path = root / family
        if not path.is_dir():
            getattr(tiny_checkpoints, family)(path)
        return path

    return folder
