"""Whose rules read the replies: Snellen's, VLMEvalKit's, or the benchmark authors' own.

`vlmevalkit@2025-04` reads as VLMEvalKit did at the end of that month, where it reads by its rule
for all choices; other readers of its own are known as of one commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal, NamedTuple, get_args

from snellen.benchmarks.protocol.flows import (
    EQUALITY,
    ChoiceReader,
    GoldChoiceReader,
    OpenRule,
    YesNoReader,
    rules_reader,
    words_reader,
)
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.extract.published.vlmevalkit import (
    COMMIT,
    FIRST,
    LATEST,
    read_choice_vlmevalkit,
    read_yes_no_vlmevalkit,
)

Rule = Literal["snellen", "vlmevalkit", "official"]
RULES: tuple[str, ...] = get_args(Rule)
OWN = "snellen"
VLMEVALKIT = "vlmevalkit"
OFFICIAL = "official"
_RELEASE = "@"
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")


class Readers(NamedTuple):
    """How one rule reads, and how it reads and grades open questions."""

    choice: ChoiceReader
    yes_no: YesNoReader
    open: OpenRule = EQUALITY
    given_gold: GoldChoiceReader | None = None
    """Reads choices with a look at the gold, where there is any: VLMEvalKit has such rules."""
    by_meaning: bool = False
    """As `Manner.by_meaning`."""


READERS: Mapping[str, Readers] = {
    OWN: Readers(rules_reader, words_reader, by_meaning=True),
    VLMEVALKIT: Readers(read_choice_vlmevalkit, read_yes_no_vlmevalkit),
}


def known_rules(
    official: Readers | None, vlmevalkit: Readers | None = READERS[VLMEVALKIT]
) -> Mapping[str, Readers]:
    """The rules a benchmark has. `official` is None where its authors published none,
    `vlmevalkit` where VLMEvalKit has none, or one that is not restated here."""
    told = {OWN: READERS[OWN], VLMEVALKIT: vlmevalkit, "official": official}
    return {name: readers for name, readers in told.items() if readers is not None}


def chosen_rule(name: str, variant: Variant, known: Mapping[str, object]) -> str:
    """The variant's rule, Snellen's where none is asked for. Raises UsageError."""
    rule = variant.rule or OWN
    _refuse(name, rule, known)
    return rule


def readers_of(rule: str, known: Mapping[str, Readers]) -> Readers:
    """The readers of a chosen rule, as they were in the release that it names."""
    base, _, release = rule.partition(_RELEASE)
    readers = known[base]
    if not release:
        return readers
    return readers._replace(choice=partial(read_choice_vlmevalkit, release=release))


def reading_of_rule(name: str, variant: Variant, chosen: str, readings: Mapping[str, str]) -> str:
    """The reading that the variant's rule stands for in a benchmark with named readings
    (`readings`, by rule): the `chosen` one, which is the benchmark's own where nothing was chosen,
    for Snellen's rule, so that asking for it changes nothing. Raises UsageError."""
    rule = chosen_rule(name, variant, readings)
    return chosen if rule == OWN else readings[rule]


def rule_parameter(variant: Variant) -> dict[str, str]:
    """What a run records of its rule: nothing of Snellen's, which is the default, and of
    VLMEvalKit's the commit that it restates."""
    if variant.rule is None or variant.rule == OWN:
        return {}
    told = {"rule": variant.rule}
    return {**told, "rule_commit": COMMIT} if variant.rule == VLMEVALKIT else told


def described_rules(rules: Iterable[str]) -> str:
    """The rules of a benchmark in a line, VLMEvalKit's with its commit."""
    notes = {OWN: " (default)", VLMEVALKIT: f" (commit {COMMIT}, {LATEST})"}
    return ", ".join(f"{rule}{notes.get(rule, '')}" for rule in rules)


def check_rule(benchmark: Benchmark, variant: Variant) -> None:
    """Raises UsageError where a benchmark was made without the rule that is asked for."""
    if variant.rule is not None:
        _refuse(benchmark.name, variant.rule, dict.fromkeys(benchmark.rules, READERS[VLMEVALKIT]))


def _refuse(name: str, rule: str, known: Mapping[str, object]) -> None:
    base, at, release = rule.partition(_RELEASE)
    if base not in RULES or (at and base != VLMEVALKIT):
        raise UsageError(
            f"--rule {rule!r}: expected one of {', '.join(RULES)}, or a release such as "
            "vlmevalkit@2025-04"
        )
    if base not in known:
        raise UsageError(f"{name} cannot be read by the rule {base!r}, only {_listed(known)}")
    if not at:
        return
    if not (_MONTH.fullmatch(release) and FIRST <= release <= LATEST):
        raise UsageError(
            f"--rule {rule!r}: expected a month from {FIRST} to {LATEST}, such as "
            "vlmevalkit@2025-04"
        )
    readers = known[base]
    if not (isinstance(readers, Readers) and _reads_all_choices(readers)):
        raise UsageError(
            f"{name}: how VLMEvalKit reads it is known as of one release, commit {COMMIT} of "
            f"{LATEST}; leave out {_RELEASE}{release}"
        )


def _reads_all_choices(readers: Readers) -> bool:
    return readers.given_gold is None and readers.choice is read_choice_vlmevalkit


def _listed(known: Iterable[str]) -> str:
    return ", ".join(known)
