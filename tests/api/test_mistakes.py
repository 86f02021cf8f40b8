"""A mistake of the user has a short traceback in Python; an error of Snellen has a whole one."""

from __future__ import annotations

import traceback
from inspect import signature
from pathlib import Path

import pytest

import snellen
from snellen.api.mistakes import shorten_tracebacks
from snellen.core.errors import UsageError


def test_a_mistyped_model_is_a_sentence_below_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        snellen.evaluate("rndom", "eyechart", out=tmp_path)
    shown = "".join(traceback.format_exception(raised.value))
    assert "did you mean random" in shown
    assert len(shown.splitlines()) <= 12
    assert "direct cause" not in shown


@pytest.mark.parametrize("call", [snellen.plan, snellen.score])
def test_other_functions_raise_short_tracebacks(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as raised:
        call("rndom", "no-such-benchmark")
    assert len(traceback.format_exception(raised.value)) <= 6


def test_other_errors_keep_their_frames_and_causes() -> None:
    @shorten_tracebacks
    def broken() -> None:
        try:
            raise OSError("disk")
        except OSError as error:
            raise RuntimeError("cannot write") from error

    with pytest.raises(RuntimeError) as raised:
        broken()
    assert isinstance(raised.value.__cause__, OSError)
    assert "in broken" in "".join(traceback.format_exception(raised.value))


def test_signatures_and_docs_stay() -> None:
    assert "benchmarks" in signature(snellen.evaluate).parameters
    assert (snellen.evaluate.__doc__ or "").startswith("Run every model")
