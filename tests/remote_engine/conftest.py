from __future__ import annotations

from collections.abc import Iterator

import pytest
from standin_server import StandIn, running


@pytest.fixture
def server() -> Iterator[StandIn]:
    with running() as stand_in:
        yield stand_in
