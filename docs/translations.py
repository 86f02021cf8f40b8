"""Translated pages: whether they are in step with the English ones.

A translation has the headings, code blocks and links of its original, in the same order. Above each
heading stands a comment with the digest of the English section it was translated from:

    <!-- translated from: 1a2b3c4d -->

`python docs/translations.py` lists what differs. `--sync` copies code blocks from the originals;
`--mark` writes today's digests, which says that the text has been brought up to date.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TRANSLATIONS = {"README.zh-CN.md": "README.md", "docs/getting-started.zh-CN.md": "docs/getting-started.md"}

_FENCE = re.compile(
    r"^(?P<marks>(?:<!-- (?:file|exit|not run|output of): .+? -->\n)*)"
    r"```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^<!-- translated from: (\w+) -->\n", re.MULTILINE)
_HEADING = re.compile(r"^(?:<!-- translated from: \w+ -->\n)?#{1,6} ", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PROSE = "text"
"""Language of blocks that are prose, such as the tree of the repository: these are translated."""


_PAIRS = frozenset(Path(name).name for pair in TRANSLATIONS.items() for name in pair)
"""Names by which a page and its translation link to each other."""


class Section(NamedTuple):
    level: int
    title: str
    digest: str
    """Of the English text without code blocks; in a translation, the digest in its comment."""
    blocks: list[str]
    links: list[str]


def sections(text: str) -> Iterator[Section]:
    """The sections of a page, each from its heading to the next one."""
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:
        hidden.append(match[0])
        return f"\0{len(hidden) - 1}\0"

    without_blocks = _FENCE.sub(hide, text)
    starts = [found.start() for found in _HEADING.finditer(without_blocks)]
    for start, end in zip(starts, [*starts[1:], len(without_blocks)], strict=True):
        part = without_blocks[start:end]
        mark = _MARK.match(part)
        body = _MARK.sub("", part)
        heading, _, _ = body.partition("\n")
        numbers = [int(number) for number in re.findall(r"\0(\d+)\0", body)]
        prose = re.sub(
            r"\0(\d+)\0", lambda found: hidden[int(found[1])] if _is_prose(hidden[int(found[1])]) else "", body
        )
        yield Section(
            level=len(heading) - len(heading.lstrip("#")),
            title=heading.lstrip("# "),
            digest=mark[1] if mark else _digest(prose),
            blocks=[hidden[number] for number in numbers if not _is_prose(hidden[number])],
            links=_LINK.findall(body),
        )


def _is_prose(block: str) -> bool:
    found = _FENCE.match(block)
    return found is not None and found["language"] == _PROSE


def _digest(prose: str) -> str:
    return hashlib.sha256(" ".join(prose.split()).encode()).hexdigest()[:8]


def _english_link(link: str) -> str:
    """The page to which a link of a translation corresponds."""
    path, sharp, anchor = link.replace(".zh-CN.md", ".md").partition("#")
    return path + sharp + anchor


def differences(translation: str, original: str) -> list[str]:
    """What a translation lacks or has too much, in sentences. Both are texts of pages."""
    here, there = list(sections(translation)), list(sections(original))
    shape = [(section.level, len(section.blocks)) for section in here]
    if [section.level for section in here] != [section.level for section in there]:
        titles = "\n  ".join(f"{'#' * section.level} {section.title}" for section in there)
        return [f"the headings differ ({shape}); the original has\n  {titles}"]
    found = []
    for ours, theirs in zip(here, there, strict=True):
        where = f"{ours.title!r}, translated from {theirs.title!r}:"
        if ours.digest != theirs.digest:
            found.append(
                f"{where} the English text has changed; translate it anew, then write "
                f"`<!-- translated from: {theirs.digest} -->` above the heading"
            )
        if ours.blocks != theirs.blocks:
            found.append(f"{where} other code blocks; python docs/translations.py --sync copies them")
        links = [_english_link(link) for link in ours.links if link not in _PAIRS]
        expected = [link for link in theirs.links if link not in _PAIRS]
        if sorted(links) != sorted(expected):
            found.append(f"{where} other links: {sorted(set(links) ^ set(expected))}")
    return found


def synchronised(translation: str, original: str, mark: bool) -> str:
    """The translation with the original's code blocks and, if `mark`, with its digests.

    Raises ValueError if the two have other numbers of sections or blocks."""
    blocks = [found[0] for found in _FENCE.finditer(original) if not _is_prose(found[0])]
    there = list(sections(original))

    def next_block(match: re.Match[str]) -> str:
        return match[0] if _is_prose(match[0]) else blocks.pop(0)

    try:
        text = _FENCE.sub(next_block, translation)
    except IndexError:
        raise ValueError("the translation has more code blocks than the original") from None
    if blocks:
        raise ValueError(f"the translation has {len(blocks)} code blocks less than the original")
    if not mark:
        return text
    if len(list(sections(text))) != len(there):
        raise ValueError("the translation has another number of sections than the original")
    digests = [section.digest for section in there]
    kept: list[str] = []

    def hide(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    bare = _MARK.sub("", _FENCE.sub(hide, text))
    marked = re.sub(r"^(?=#{1,6} )", lambda _: f"<!-- translated from: {digests.pop(0)} -->\n", bare, flags=re.M)
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], marked)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python docs/translations.py")
    parser.add_argument("--sync", action="store_true", help="copy code blocks from the originals")
    parser.add_argument("--mark", action="store_true", help="and write the digests of today")
    arguments = parser.parse_args()
    wrong = 0
    for name, source in TRANSLATIONS.items():
        original = (ROOT / source).read_text(encoding="utf-8")
        page = ROOT / name
        if arguments.sync or arguments.mark:
            text = page.read_text(encoding="utf-8")
            page.write_text(synchronised(text, original, arguments.mark), encoding="utf-8")
        for sentence in differences(page.read_text(encoding="utf-8"), original):
            wrong += 1
            print(f"{name}: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
