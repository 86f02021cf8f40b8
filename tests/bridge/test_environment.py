"""What is said where a tool's environment cannot be made, without uv, without a network, without git."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.bridge import environment
from snellen.bridge.environment import find_checkout, find_python
from snellen.core.errors import UsageError
from snellen.engine.servers.environment_launcher import NOT_LOCKED, EnvironmentNotMade


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path))


def test_without_uv_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"made by uv, which is not installed: pip install uv; or name your own with"):
        find_python("vlmevalkit")


def test_what_uv_cannot_do_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise EnvironmentNotMade(NOT_LOCKED)

    monkeypatch.setattr(environment.shutil, "which", lambda _: "/usr/bin/uv")
    monkeypatch.setattr(environment, "make_environment", fail)
    with pytest.raises(UsageError, match=r"no versions fit.*SNELLEN_VLMEVALKIT_PYTHON"):
        find_python("vlmevalkit")


def test_an_environment_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "bin-python"
    python.touch()
    made: list[Path] = []

    def make(network: str, uv: str, script: Path, folder: Path) -> str:
        made.append(script)
        return str(python)

    monkeypatch.setattr(environment.shutil, "which", lambda _: "/usr/bin/uv")
    monkeypatch.setattr(environment, "make_environment", make)
    assert find_python("vlmevalkit") == find_python("vlmevalkit") == str(python)
    assert len(made) == 1
    assert made[0].read_text().startswith("# /// script\n# requires-python")


def test_without_git_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"by git, which is not installed; name your own with the option checkout"):
        find_checkout("vlmevalkit")
