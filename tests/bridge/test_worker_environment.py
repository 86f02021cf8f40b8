"""What the process of a tool sees of the user: data of the hub, and no key."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from snellen.settings import worker_variables

USER = {"HOME": "/home/me", "OPENAI_API_KEY": "k", "HF_TOKEN": "k", "LANG": "C", "HTTPS_PROXY": "http://proxy"}


def test_what_was_fetched_is_shared_and_no_key_is() -> None:
    shown = worker_variables("/emptied", network=False, environment=USER)
    assert shown["HF_HOME"] == "/home/me/.cache/huggingface"
    assert (shown["HOME"], shown["HF_TOKEN_PATH"]) == ("/emptied", "/emptied/no-token")
    assert shown["HF_HUB_OFFLINE"] == "1"
    assert not {"OPENAI_API_KEY", "HF_TOKEN", "HTTPS_PROXY", "HF_HUB_CACHE"} & shown.keys()
    shown = worker_variables("/emptied", network=True, environment={**USER, "HF_HOME": "/hf", "HF_HUB_CACHE": "/hub"})
    assert (shown["HF_HOME"], shown["HF_HUB_CACHE"], shown["HTTPS_PROXY"]) == ("/hf", "/hub", "http://proxy")
    assert "HF_HUB_OFFLINE" not in shown


@pytest.fixture
def choose_home(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Any]], Path]:
    """That of the worker, with its changes to the environment undone."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "set")
        monkeypatch.delenv(name)
    from snellen.bridge.worker import local_data

    return local_data.choose_home


def test_a_folder_of_data_has_its_own_caches_or_leaves_the_usual(
    choose_home: Callable[[Mapping[str, Any]], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", "/usual")
    (tmp_path / "hub").mkdir()
    assert choose_home({"data": str(tmp_path)}) == tmp_path
    assert os.environ["HF_HOME"] == str(tmp_path)
    assert os.environ["HF_HUB_CACHE"] == str(tmp_path / "hub")
    assert os.environ["HF_DATASETS_CACHE"] == "/usual/datasets"


def test_without_a_folder_the_usual_cache_is_read(
    choose_home: Callable[[Mapping[str, Any]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", "/usual")
    assert choose_home({}) == Path("/usual")
    assert os.environ["HF_HUB_CACHE"] == "/usual/hub"
