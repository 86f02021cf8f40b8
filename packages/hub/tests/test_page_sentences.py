"""Sentences that the pages' code writes, beside those of the templates, have a translation."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from snellen_hub.accounts.roles import ROLES, SCOPES
from snellen_hub.intake import ModelFacts

PAGES = Path(str(resources.files("snellen_hub.web.pages")))


def sentences(tree: ast.AST) -> Iterator[str]:
    """Arguments of `sentence(...)`, titles of pages, and what pages say after a form."""
    texts: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts += [keyword.value for keyword in node.keywords if keyword.arg == "title"]
            if isinstance(node.func, ast.Name) and node.func.id == "sentence":
                texts.append(node.args[0])
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == "_DONE":
                texts += node.value.values
    for text in texts:
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value


def test_every_sentence_of_the_code_has_a_translation() -> None:
    known: set[str] = set()
    for path in (PAGES / "translations").glob("*.json"):
        known |= json.loads(path.read_text(encoding="utf-8")).keys()
    used = {text for path in PAGES.glob("*.py") for text in sentences(ast.parse(path.read_text(encoding="utf-8")))}
    assert len(used) > 50
    used |= {*ROLES, *SCOPES, *ModelFacts.__struct_fields__}
    assert used - known == set()
