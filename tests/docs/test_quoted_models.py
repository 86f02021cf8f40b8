"""The models that are quoted most, on the page of routes: each command leads where it says."""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path

import pytest

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.models.hf.routing import command_of
from snellen.models.naming.catalog import find_entry
from snellen.models.naming.registry import open_model
from snellen.models.naming.routes import routes_of

DOCS = Path(__file__).parents[2] / "docs"


def _quoted() -> tuple[str, ...]:
    """The names on the page, of the script that writes it."""
    sys.path.insert(0, str(DOCS))
    try:
        names: tuple[str, ...] = runpy.run_path(str(DOCS / "routes.py"))["QUOTED"]
    finally:
        sys.path.remove(str(DOCS))
    return names


NAMES = _quoted()


def test_the_page_has_twenty_models_with_a_command_each() -> None:
    page = (DOCS / "routes.md").read_text(encoding="utf-8")
    assert len(set(NAMES)) == 20
    for name in NAMES:
        entry = find_entry(name)
        assert entry is not None, name
        row = next(line for line in page.splitlines() if line.startswith(f"| {entry.name} | "))
        assert f"`snellen run {command_of(entry)} -b mmstar`" in row


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_model_has_a_route_and_its_command_says_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = find_entry(name)
    assert entry is not None
    best = routes_of(entry)[0]
    command = command_of(entry)
    assert best.kind != "none"
    assert main(["info", name]) == 0
    out = capsys.readouterr().out
    assert f"snellen run {command} -b BENCHMARK" in " ".join(out.split())
    assert str(best) in out
    flag, spec = shlex.split(command)
    assert flag == "-m"
    assert spec == name


@pytest.mark.parametrize("name", [name for name in NAMES if "gpt" in name or "Ovis2" in name])
def test_unusable_name_suggests_the_working_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"OPENAI_API_KEY|-m vllm/AIDC-AI/Ovis2-34B:trust_remote"):
        open_model(name)
