"""What is said where a tool's environment cannot be made, without uv, without a network, without git."""

from __future__ import annotations

import subprocess
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
    monkeypatch.setattr(environment, "find_program", lambda name: None)
    with pytest.raises(UsageError, match=r"made by uv, which is not installed: pip install uv; or name your own with"):
        find_python("vlmevalkit")


def test_what_uv_cannot_do_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise EnvironmentNotMade(NOT_LOCKED)

    monkeypatch.setattr(environment, "find_program", lambda name: "/usr/bin/uv")
    monkeypatch.setattr(environment, "make_environment", fail)
    with pytest.raises(UsageError, match=r"no versions fit.*SNELLEN_VLMEVALKIT_PYTHON"):
        find_python("vlmevalkit")


@pytest.mark.release
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("peer", "module"), [("inspect", "inspect_evals"), ("lmms-eval", "math_verify")])
def test_the_list_of_a_tool_is_installed(monkeypatch: pytest.MonkeyPatch, peer: str, module: str) -> None:
    """From the registry, by the uv of this environment, which need not be activated."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    python = find_python(peer)
    assert subprocess.run([python, "-I", "-c", f"import {module}"], check=False).returncode == 0
    assert find_python(peer) == python


def test_an_environment_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "bin-python"
    python.touch()
    made: list[Path] = []

    def make(network: str, uv: str, script: Path, folder: Path) -> str:
        made.append(script)
        return str(python)

    monkeypatch.setattr(environment, "find_program", lambda name: "/usr/bin/uv")
    monkeypatch.setattr(environment, "make_environment", make)
    assert find_python("vlmevalkit") == find_python("vlmevalkit") == str(python)
    assert len(made) == 1
    assert made[0].read_text().startswith("# /// script\n# requires-python")


def test_without_git_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"by git, which is not installed; name your own with the option checkout"):
        find_checkout("vlmevalkit")
