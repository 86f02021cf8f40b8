from __future__ import annotations

from collections.abc import Iterator

import pytest
from batch_server import BatchServer, running_batches


@pytest.fixture
def batches() -> Iterator[BatchServer]:
    with running_batches() as server:
        yield server
