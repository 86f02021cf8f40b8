"""docs/llms.txt: what the documentation holds, for language models (https://llmstxt.org).

The pages are those of the navigation in mkdocs.yml, each with its first sentence; the commands are
those of the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from snellen.cli.parser import COMMANDS, PACKAGE_COMMANDS

FOLDER = Path(__file__).parent
SUMMARY = (
    "Snellen evaluates vision-language models: it asks a model the questions of a benchmark, "
    "parses the replies, and reports a score with a confidence interval, the outcome of every "
    "question, and the reason for each outcome."
)
START = """\
```text
pip install snellen                                  # extras: hf, api, draw, video, pdf, mcp, all
snellen run -m random -b eyechart --limit 20         # ask a model; offline
snellen run -m openai/gpt-4o -b mmbench --budget 5usd
snellen compare RUN RUN --json                       # also: why, plan, parity, gains, items
snellen score FILE                                   # predictions of any tool, without a model
snellen export RUN --to inspect -o FILE.eval
snellen mcp RESULTS                                  # runs as tools of an MCP server
```
```python
import snellen

results = snellen.evaluate("random", "eyechart", limit=20)
```"""
_MARKS = re.compile(r"[*`]|\\(?=[_*])")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.:。])\s")
_MAX_LENGTH = 240


def page() -> str:
    lines = ["# Snellen", "", f"> {SUMMARY}", "", START, "", "## Commands", ""]
    lines += [f"- `snellen {name}`: {help}" for name, help in (COMMANDS | PACKAGE_COMMANDS).items()]
    lines.append("- Every command: `snellen COMMAND --help`, [Commands](cli.html)")
    for section, pages in _sections():
        lines += ["", f"## {section}", ""]
        for title, name in pages:
            lines.append(f"- [{title}]({name.removesuffix('.md')}.html): {_first_sentence(name)}")
    return "\n".join(lines) + "\n"


def _sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    navigation = yaml.safe_load((FOLDER.parent / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    alone: list[tuple[str, str]] = []
    for entry in navigation:
        ((title, value),) = entry.items()
        if isinstance(value, str):
            alone.append((title, value))
        else:
            yield title, list(_pages(value))
    yield "Also", alone


def _pages(entries: list[Any]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        ((title, value),) = entry.items()
        if isinstance(value, str):
            yield title, value
        else:
            yield from _pages(value)


def _first_sentence(name: str) -> str:
    """The first sentence of a page's first paragraph of text."""
    text = _COMMENT.sub("", (FOLDER / name).read_text(encoding="utf-8"))
    for paragraph in text.split("\n\n"):
        if _LINK.fullmatch(paragraph.strip()):
            continue  # to the same page in another language
        plain = _LINK.sub(r"\1", " ".join(paragraph.split()))
        plain = _MARKS.sub("", plain)
        if plain and plain[0] not in "#|-<!`>" and not paragraph.lstrip().startswith("```"):
            sentence = _SENTENCE_END.split(plain)[0].rstrip(":")
            return sentence if len(sentence) <= _MAX_LENGTH else f"{sentence[:_MAX_LENGTH]}..."
    return ""
