"""The garbage collector while a run against a server is driven."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from snellen.core.infrequent_gc import infrequent_gc


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_collects_rarely_and_restores_thresholds_after_an_error() -> None:
    gc.set_threshold(700, 10, 10)

    def interrupted() -> None:
        with infrequent_gc():
            assert gc.get_threshold()[0] > 700
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert gc.get_threshold()[0] == 700


@pytest.mark.parametrize("own", [0, 1_000_000])
def test_threshold_set_by_the_user_is_kept(own: int) -> None:
    gc.set_threshold(own, 10, 10)
    with infrequent_gc():
        assert gc.get_threshold()[0] == own
    assert gc.get_threshold()[0] == own


def test_two_threads_that_overlap_restore_the_threshold() -> None:
    gc.set_threshold(700, 10, 10)
    first, second = infrequent_gc(), infrequent_gc()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > 700
    second.__exit__(None, None, None)
    assert gc.get_threshold()[0] == 700
