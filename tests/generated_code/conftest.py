"""One worker for all tests of programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.runner import ProgramRunner

MATPLOTLIB = ("matplotlib.pyplot", "matplotlib.backends.backend_pdf", "mpl_toolkits.mplot3d")
"""All that these programs need; the other libraries take seconds to load."""


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProgramRunner]:
    limits = ProgramLimits(wall_seconds=60.0, cpu_seconds=30, memory_mb=2048, file_mb=1)
    made = ProgramRunner(tmp_path_factory.mktemp("fonts"), limits, MATPLOTLIB)
    yield made
    made.close()
