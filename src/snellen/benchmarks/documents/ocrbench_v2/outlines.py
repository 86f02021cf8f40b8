"""STEDS: how alike two documents in Markdown are as outlines of headings and the lines below them (Fu et al.
2024, https://arxiv.org/abs/2501.00321, Sec. 4).

Below the root stand a node for what precedes the first heading, and the headings of all levels; below each,
its lines. 1 - edits / nodes of the larger tree, where two lines differ if one of them is blank: what they
say does not count. The distance is that of the package `apted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from snellen.core import lazy_re as re

_ROOT, _TITLE = "ROOT", "TITLE"
_SUBSTITUTIONS = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"<bos>|<eos>|<pad>|<unk>", ""),
        (r"\s##(\S)", r"\1"),
        (r"\\\s", r"\\"),
        (r"\s\*\s\*\s", "**"),
        (r"{\s", "{"),
        (r"\s}", "}"),
        (r"\s}", "}"),
        (r"\\begin\s", r"\\begin"),
        (r"\\end\s", r"\\end"),
        (r"\\end{table}", r"\\end{table}   "),
        (r"[*_]", " "),
    )
)
"""What the authors' script takes out of a line, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class OutlineNode:
    """A heading or a line."""

    label: str
    children: list[OutlineNode] = field(default_factory=list)

    def __iter__(self) -> Iterator[OutlineNode]:
        """This node and all below, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


def outline_similarity(reply: str, gold: str) -> float:
    """0..1."""
    ours, theirs = read_outline(reply), read_outline(gold)
    size = max(sum(1 for _ in ours), sum(1 for _ in theirs))
    return max(0.0, 1 - _distance(ours, theirs) / size)


def read_outline(text: str) -> OutlineNode:
    """The tree of a text. Lines belong to the first node of the name of the last heading, as in the
    authors' script, so that those of a repeated heading come below the first one."""
    root = OutlineNode(_ROOT, [OutlineNode(_TITLE)])
    parent = root.children[0]
    for line in map(_clean_line, text.split("\n")):
        if not line.startswith("#"):
            parent.children.append(OutlineNode(line))
            continue
        heading = line.replace("#", "")
        root.children.append(OutlineNode(heading))
        parent = next(node for node in root if node.label == (heading or _TITLE))
    return root


def _clean_line(line: str) -> str:
    for pattern, put in _SUBSTITUTIONS:
        line = pattern.sub(put, line)
    return line


def _distance(first: OutlineNode, second: OutlineNode) -> float:
    from apted import APTED, Config

    class LineCosts(Config):  # type: ignore[misc]
        def rename(self, node1: OutlineNode, node2: OutlineNode) -> int:
            return int(not node1.label.strip() or not node2.label.strip())

    return float(APTED(first, second, LineCosts()).compute_edit_distance())
