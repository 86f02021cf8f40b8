"""A run that asks for places is taken in the coordinate space of the board alone."""

from __future__ import annotations

import pytest

from snellen.core.errors import DataError
from snellen_hub.intake import _check_space


def run_in(space: str) -> dict[str, object]:
    return {"config": {"parameters": {"coordinates": space}}}


@pytest.mark.parametrize("spec", ["", "screenspot", "screenspot:version=2"])
def test_another_space_than_that_of_the_board_is_refused(spec: str) -> None:
    _check_space(spec, run_in("fractions"))
    _check_space(spec, {})
    with pytest.raises(DataError, match="this board reads coordinates=fractions; run once more"):
        _check_space(spec, run_in("thousandths"))


def test_the_space_of_a_board_is_that_of_its_benchmark() -> None:
    _check_space("screenspot:coordinates=thousandths", run_in("thousandths"))
    with pytest.raises(DataError, match="reads coordinates=thousandths"):
        _check_space("screenspot:coordinates=thousandths", run_in("fractions"))
