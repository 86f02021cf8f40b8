"""The stored cards of the registered benchmarks, and the command that rewrites them:

    python -m snellen.analysis.card_file tests/benchmarks/layouts

A card whose parts changed while the benchmark's version did not is refused: raise the version
first, or stored numbers would be compared with numbers that mean something else. `--same-version`
writes it all the same, for a change that cannot move a score.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.analysis.cards import PARTS, ProtocolCard, RoleReplies, build_card
from snellen.benchmarks.declaration.registry import JUDGE_PROMPT, open_benchmark, split_spec
from snellen.core.atomic_write import save
from snellen.core.benchmark import Variant


def protocol_card(spec: str) -> ProtocolCard:
    """The protocol card of a benchmark.

    The stored one, if there is one for the version; for a variant or a data file of the user's it
    is made from the first rows. Raises a UsageError subclass if the name is unknown, or the data of
    a variant are not on this machine.
    """
    options = split_spec(spec).options
    benchmark = open_benchmark(spec, Variant(judges=int(JUDGE_PROMPT in options)))
    variant_text = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    key = f"{benchmark.name}@{variant_text}" if variant_text else benchmark.name
    stored = stored_cards().get(key)
    if stored is not None and stored.version == benchmark.version:
        return stored
    return build_card(benchmark, benchmark.open())


FILE = "cards.json"
_ROLES = ".roles"


class CanonicalFile(NamedTuple):
    """A small file in a benchmark's layout: `name.tsv`, or `name@option=value.tsv`."""

    key: str
    """The file's name without its suffix: the key of the card."""
    path: Path
    benchmark: str
    options: dict[str, str]


def canonical_files(folder: Path) -> Iterator[CanonicalFile]:
    """The canonical files of a folder, in the order of their names."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".md" or f"{_ROLES}." in path.name or path.is_dir():
            continue
        key = path.name.removesuffix(path.suffix)
        name, _, option_text = key.partition("@")
        pairs = (pair.split("=", 1) for pair in option_text.split(",") if pair)
        yield CanonicalFile(key, path, name, dict(pairs))


def card_of(canonical: CanonicalFile) -> ProtocolCard:
    """Build the card of a canonical file with the current code."""
    roles = _roles(canonical)
    variant = Variant(data=str(canonical.path), options=canonical.options, judges=int("judge" in roles))
    benchmark = open_benchmark(canonical.benchmark, variant)
    others = {
        rule: open_benchmark(canonical.benchmark, replace(variant, rule=rule))
        for rule in benchmark.rules
        if rule != benchmark.parameters.get("rule", "snellen")
    }
    layout = hashlib.sha256(canonical.path.read_bytes()).hexdigest()
    return build_card(benchmark, benchmark.open(), roles, layout, others)


@functools.cache
def stored_cards() -> Mapping[str, ProtocolCard]:
    """The cards shipped with the package, by the name of their canonical file."""
    file = files("snellen.benchmarks") / "data" / FILE
    return msgspec.json.decode(file.read_bytes(), type=dict[str, ProtocolCard]) if file.is_file() else {}


def stored_card(name: str, version: str) -> ProtocolCard | None:
    """The stored card of a benchmark if it is of this version."""
    card = stored_cards().get(name)
    return card if card is not None and card.version == version else None


def complaint(current: ProtocolCard, stored: ProtocolCard | None) -> str:
    """What is wrong with a stored card; empty if it equals the current one."""
    renew = "python -m snellen.analysis.card_file tests/benchmarks/layouts"
    if stored is None:
        return f"{current.name} has no stored card; write it with: {renew}"
    if current == stored:
        return ""
    if current.version != stored.version or current.layout != stored.layout:
        return f"the card of {current.name} is out of date; write it anew with: {renew}"
    changed = [part for part in PARTS if current.parts[part] != stored.parts.get(part)]
    if not changed:
        return f"the words on the card of {current.name} changed; write it anew with: {renew}"
    return (
        f"{current.name}: {', '.join(changed)} changed and its version {current.version} did not; "
        f"raise the version, then: {renew}"
    )


def rewrite_cards(folder: Path, target: Path, *, same_version: bool = False) -> list[str]:
    """Write the cards of the folder's files to `target`. A card that may not be written keeps its
    stored form; the sentences that say so are returned."""
    old = stored_cards()
    cards, refused = {}, []
    for canonical in canonical_files(folder):
        current, stored = card_of(canonical), old.get(canonical.key)
        problem = complaint(current, stored)
        if stored is not None and "raise the version" in problem and not same_version:
            refused.append(problem)
            current = stored
        cards[canonical.key] = current
    text = msgspec.json.format(msgspec.json.encode(cards, order="deterministic"), indent=1)
    save(target, text + b"\n")
    stored_cards.cache_clear()
    return refused


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the stored cards; exit code 1 if some were refused."""
    parser = argparse.ArgumentParser(prog="python -m snellen.analysis.card_file")
    parser.add_argument("folder", type=Path, help="the canonical files")
    parser.add_argument("--same-version", action="store_true", help="the change cannot move a score")
    arguments = parser.parse_args(argv)
    refused = rewrite_cards(
        arguments.folder, Path(str(files("snellen.benchmarks") / "data" / FILE)), same_version=arguments.same_version
    )
    for problem in refused:
        print(problem, file=sys.stderr)
    return 1 if refused else 0


def _roles(canonical: CanonicalFile) -> RoleReplies:
    """Replies of the roles other than the model, if a file provides them."""
    path = canonical.path.parent / f"{canonical.benchmark}{_ROLES}.json"
    if not path.exists():
        return {}
    stored = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, str]])
    return {role: replies["gold"] for role, replies in stored.items()}


if __name__ == "__main__":
    sys.exit(main())
