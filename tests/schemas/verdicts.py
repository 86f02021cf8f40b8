"""What the oracles said of the bodies, as stored: which bodies, which problems, and why they differ."""

from __future__ import annotations

import fnmatch
import gzip
import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from tests.schemas.shapes import Shape

from snellen.models.remote.evidence import ProviderRecord
from snellen.models.remote.profile import profiles

FOLDER = Path(__file__).parent
BODIES = FOLDER / "bodies.json.gz"
VERDICTS = FOLDER / "verdicts.json"
RECORDS = FOLDER.parent / "provider_evidence" / "schemas.json"


class Oracle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published description of an API, or a client's types (`oracles.toml`)."""

    script: Literal["typed", "described", "botocore_model"]
    level: Literal["schema", "client"]
    repository: str
    licence: str
    package: str = ""
    """Package of the types, whose installed version is judged by."""
    folder: str = ""
    """Checkout, below the folder of all checkouts."""
    file: str = ""
    """The description in the checkout."""
    code: str = ""
    """Folder of the types in the checkout."""
    version: str = ""
    """Version of the code in the checkout."""
    providers: tuple[str, ...] = ()
    dialect: str = ""
    """Instead of providers: all of this dialect."""
    types: dict[str, str] = {}
    replies: str = ""
    """The source (`sources.toml`) whose examples of replies are this API's."""
    blind: tuple[str, ...] = ()
    """Faults of `mutations.py` that it lets pass."""

    def judged_providers(self) -> tuple[str, ...]:
        if not self.dialect:
            return self.providers
        return tuple(name for name, profile in profiles().items() if profile.dialect == self.dialect)


class Group(Struct, frozen=True):
    """Bodies with the same problems."""

    bodies: int
    example: str
    problems: tuple[str, ...]


class Verdict(Struct, frozen=True):
    """What one oracle says of one provider's bodies."""

    oracle: str
    provider: str
    version: str
    commit: str
    read: str
    bodies: int
    groups: tuple[Group, ...]
    refused: tuple[str, ...]
    """Faults that it refused."""
    passed: tuple[str, ...]
    """Faults that it let pass."""


class Difference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why bodies differ from what an oracle knows (`explained.toml`)."""

    oracles: tuple[str, ...]
    providers: tuple[str, ...] = ("*",)
    problems: tuple[str, ...]
    cause: str
    right: Literal["snellen", "theirs", "convention"]

    def covers(self, verdict: Verdict, problem: str) -> bool:
        return all(
            any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)
            for name, patterns in (
                (verdict.oracle, self.oracles),
                (verdict.provider, self.providers),
                (problem, self.problems),
            )
        )


def load_oracles() -> dict[str, Oracle]:
    return msgspec.toml.decode((FOLDER / "oracles.toml").read_bytes(), type=dict[str, Oracle])


def load_differences() -> list[Difference]:
    text = tomllib.loads((FOLDER / "explained.toml").read_text(encoding="utf-8"))
    return msgspec.convert(text["bodies"], list[Difference])


def load_verdicts() -> list[Verdict]:
    return msgspec.json.decode(VERDICTS.read_bytes(), type=list[Verdict])


def load_bodies() -> dict[str, dict[str, str]]:
    """Digests of the judged bodies by provider and shape."""
    loaded: dict[str, dict[str, str]] = json.loads(gzip.decompress(BODIES.read_bytes()))
    return loaded


def write_bodies(shapes: dict[str, list[Shape]]) -> None:
    stored = {provider: {each.key(): each.digest() for each in made} for provider, made in shapes.items()}
    BODIES.write_bytes(gzip.compress(json.dumps(stored).encode(), mtime=0))


def write_verdicts(verdicts: Sequence[Verdict]) -> None:
    ordered = sorted(verdicts, key=lambda each: (each.oracle, each.provider))
    VERDICTS.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def records(verdicts: Sequence[Verdict]) -> list[ProviderRecord]:
    """What the verdicts prove of each provider. Those with a problem that is not explained prove nothing."""
    oracles, differences = load_oracles(), load_differences()
    made = []
    for verdict in verdicts:
        oracle = oracles[verdict.oracle]
        if any(unexplained(verdict, differences)):
            continue
        differing = sum(group.bodies for group in verdict.groups)
        made.append(
            ProviderRecord(
                provider=verdict.provider,
                level=oracle.level,
                source=oracle.repository,
                version=verdict.commit if oracle.script == "described" else verdict.version,
                licence=oracle.licence,
                agreeing=verdict.bodies - differing,
                compared=verdict.bodies,
                explained=differing,
                about="request bodies",
                test="tests/schemas/test_bodies.py",
                read=verdict.read,
                replies=_example_count(oracle.replies),
            )
        )
    return sorted(made, key=lambda record: (record.provider, record.level, record.source))


def _example_count(source: str) -> int:
    """How many examples of a source there are, all of which come to their outcomes (`test_replies.py`)."""
    if not source:
        return 0
    return len(json.loads((FOLDER / "replies" / f"{source}.json").read_text(encoding="utf-8"))["examples"])


def write_records(verdicts: Sequence[Verdict]) -> None:
    RECORDS.write_bytes(msgspec.json.format(msgspec.json.encode(records(verdicts)), indent=1) + b"\n")


def unexplained(verdict: Verdict, differences: Sequence[Difference]) -> Iterator[tuple[Group, str]]:
    """Problems that no difference covers, with the bodies that have them."""
    for group in verdict.groups:
        for problem in group.problems:
            if not any(each.covers(verdict, problem) for each in differences):
                yield group, problem
