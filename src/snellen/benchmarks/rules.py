"""Whose rules read the replies: Snellen's, VLMEvalKit's, or the benchmark authors' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from snellen.benchmarks.flows import (
    EQUALITY,
    ChoiceReader,
    OpenRule,
    YesNoReader,
    rules_reader,
    words_reader,
)
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.extract.rules_vlmevalkit import read_choice_vlmevalkit, read_yes_no_vlmevalkit

Rule = Literal["snellen", "vlmevalkit", "official"]
RULES: tuple[str, ...] = get_args(Rule)


class Readers(NamedTuple):
    """How one rule reads, and how it reads and grades open questions."""

    choice: ChoiceReader
    yes_no: YesNoReader
    open: OpenRule = EQUALITY


READERS: Mapping[str, Readers] = {
    "snellen": Readers(rules_reader, words_reader),
    "vlmevalkit": Readers(read_choice_vlmevalkit, read_yes_no_vlmevalkit),
}


def known_rules(official: Readers | None) -> Mapping[str, Readers]:
    """The rules a benchmark has, whose authors published `official` or nothing."""
    return READERS if official is None else {**READERS, "official": official}


def chosen_rule(name: str, variant: Variant, known: Mapping[str, object]) -> str:
    """The variant's rule, Snellen's where none is asked for. Raises UsageError."""
    rule = variant.rule or "snellen"
    _refuse(name, rule, known)
    return rule


def reading_of_rule(name: str, variant: Variant, chosen: str, readings: Mapping[str, str]) -> str:
    """The reading that the variant's rule stands for in a benchmark with named readings
    (`readings`, by rule); the `chosen` one where no rule is asked for. Raises UsageError."""
    return chosen if variant.rule is None else readings[chosen_rule(name, variant, readings)]


def check_rule(benchmark: Benchmark, variant: Variant) -> None:
    """Raises UsageError where a benchmark was made without the rule that is asked for."""
    if variant.rule is not None:
        _refuse(benchmark.name, variant.rule, benchmark.rules)


def _refuse(name: str, rule: str, known: Iterable[str]) -> None:
    if rule not in RULES:
        raise UsageError(f"--rule {rule!r}: expected one of {', '.join(RULES)}")
    if rule not in known:
        raise UsageError(f"{name} cannot be read by the rule {rule!r}, only {', '.join(known)}")
