"""Commands that have no folder for runs keep replies where runs of no other folder keep theirs."""

from __future__ import annotations

import inspect
from pathlib import Path

from snellen import score
from snellen.api.error_labels import propose_labels
from snellen.api.options import DEFAULT_OUT, DEFAULT_STORE, RunOptions
from snellen.cli.parser import parse_arguments
from snellen.store.responses import STORE_FILE


def test_the_default_store_is_that_of_the_default_folder() -> None:
    assert Path(DEFAULT_STORE) == Path(RunOptions().out) / STORE_FILE == Path(DEFAULT_OUT, STORE_FILE)
    for function in (score, propose_labels):
        assert inspect.signature(function).parameters["store"].default == DEFAULT_STORE
    assert parse_arguments(["analyse", "errors", "run"]).store == DEFAULT_STORE
