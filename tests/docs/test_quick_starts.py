"""The commands beside those of other tools' quick starts run, on the rows of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.test_docs import DOCS, blocks, run_command
from tests.docs.test_docs import folder as folder  # the examples, as a reader has them

from snellen.models.naming.catalog import facts_of
from snellen.models.naming.registry import is_provider

PAGE = DOCS / "migrating.md"
HEADING = "## Their quick starts, here\n"
TABLE = re.compile(r"^\| (?P<tool>[\w-]+) \| here \|\n.*\n(?P<rows>(?:\|.*\n?)+)", re.MULTILINE)
OURS = re.compile(r"\| `(snellen [^`]+)` \|$", re.MULTILINE)
MODEL = re.compile(r"(?<=-m )\S+")


def tables() -> dict[str, list[str]]:
    """The commands of the right column, by tool."""
    text = PAGE.read_text("utf-8").partition(HEADING)[2]
    return {found["tool"]: OURS.findall(found["rows"]) for found in TABLE.finditer(text)}


def test_every_tool_has_ten() -> None:
    assert {tool: len(commands) for tool, commands in tables().items()} == {
        "VLMEvalKit": 10,
        "lmms-eval": 10,
        "Inspect": 10,
    }


@pytest.mark.parametrize("tool", tables())
def test_the_commands_run_one_after_the_other(tool: str, folder: Path) -> None:
    for block in blocks(PAGE):
        if name := block.marks.get("file"):
            Path(name).write_text(block.text, encoding="utf-8")
    for command in tables()[tool]:
        models = {name: f"random:seed={number}" for number, name in enumerate(MODEL.findall(command))}
        ended = run_command(MODEL.sub(lambda found: models[found[0]], command))  # noqa: B023 - called at once
        assert ended.code == 0, f"{command}: {ended.code}\n{ended.out}{ended.err}"


def test_the_models_have_names_here() -> None:
    names = {name for commands in tables().values() for command in commands for name in MODEL.findall(command)}
    assert len(names) > 5
    for name in names:
        assert facts_of(name) or is_provider(name.partition("/")[0]), name
