"""Whose rules parse the replies: Snellen's, VLMEvalKit's, lmms-eval's, or the benchmark authors' own.

`vlmevalkit@2025-04` parses as VLMEvalKit did at the end of that month, in benchmarks for which it
uses its rule for all choices; its other parsers are known as of one commit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

from snellen.benchmarks.protocol.flows import (
    EQUALITY,
    ChoiceParser,
    GoldChoiceParser,
    OpenScoring,
    PlaceScoring,
    YesNoParser,
)
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.extract.choice import parse_choice
from snellen.extract.published.vlmevalkit import (
    COMMIT,
    FIRST_RELEASE,
    LATEST_RELEASE,
    parse_choice_vlmevalkit,
    parse_yes_no_vlmevalkit,
)
from snellen.extract.yes_no import parse_yes_no

Rule = Literal["snellen", "vlmevalkit", "lmms-eval", "official"]
RULES: tuple[str, ...] = get_args(Rule)
OWN = "snellen"
VLMEVALKIT: Final = "vlmevalkit"
LMMS_EVAL: Final = "lmms-eval"
OFFICIAL: Final = "official"
_COMMITS = {VLMEVALKIT: COMMIT, LMMS_EVAL: "75571cfe"}
_RELEASE = "@"
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")


class ParserSet(NamedTuple):
    """How one rule parses replies of each kind, and how it grades open questions."""

    choice: ChoiceParser = parse_choice
    yes_no: YesNoParser = parse_yes_no
    open: OpenScoring = EQUALITY
    document: OpenScoring | None = None
    place: PlaceScoring | None = None
    choice_with_gold: GoldChoiceParser | None = None
    """Reads choices with a look at the gold, where there is any: VLMEvalKit has such rules."""
    by_meaning: bool = False
    """As `AskConfig.by_meaning`."""


PARSERS: Mapping[str, ParserSet] = {
    OWN: ParserSet(by_meaning=True),
    VLMEVALKIT: ParserSet(parse_choice_vlmevalkit, parse_yes_no_vlmevalkit),
}


def rules_of(
    official: ParserSet | None, vlmevalkit: ParserSet | None = PARSERS[VLMEVALKIT], lmms_eval: ParserSet | None = None
) -> Mapping[str, ParserSet]:
    """The rules of a benchmark. `official` is None if its authors published none, the others if
    the tool has none, or one that is not restated here."""
    parsers_by_rule = {OWN: PARSERS[OWN], VLMEVALKIT: vlmevalkit, LMMS_EVAL: lmms_eval, OFFICIAL: official}
    return {name: readers for name, readers in parsers_by_rule.items() if readers is not None}


def select_rule(name: str, variant: Variant, rules: Mapping[str, object]) -> str:
    """The variant's rule, by default Snellen's. Raises UsageError."""
    rule = variant.rule or OWN
    _check_rule(name, rule, rules)
    return rule


def base_rule(rule: str) -> str:
    """The rule without the release that it names."""
    return rule.partition(_RELEASE)[0]


def failures_of(rule: str, counts_missing: Collection[str]) -> str:
    """What a rule does with samples without a reply unless the user says otherwise.

    Snellen's leaves them out. Other tools write an error message in place of a reply, and score it
    like one; their files lack no row, and a row that is missing is left out, except by the rules in
    `counts_missing`, which count it as wrong.
    """
    if rule == OWN:
        return "exclude"
    return "count-wrong" if rule in counts_missing else "as-reply"


def parsers_of(rule: str, rules: Mapping[str, ParserSet]) -> ParserSet:
    """The parsers of a rule, as of the release that it names."""
    base, _, release = rule.partition(_RELEASE)
    parsers = rules[base]
    if not release:
        return parsers
    return parsers._replace(choice=partial(parse_choice_vlmevalkit, release=release))


def parsing_rule_of(name: str, variant: Variant, default: str, parsing_rules: Mapping[str, str]) -> str:
    """The named parsing rule that `--rule` stands for in a benchmark with several of them.

    `parsing_rules` maps each rule to it. Snellen's rule keeps `default`, the chosen one, so that
    asking for it by name changes nothing. Raises UsageError.
    """
    rule = select_rule(name, variant, parsing_rules)
    return default if rule == OWN else parsing_rules[rule]


def rule_parameter(variant: Variant) -> dict[str, str]:
    """What a run records of its rule: nothing for Snellen's, which is the default; for another
    tool's also the commit."""
    if variant.rule is None or variant.rule == OWN:
        return {}
    commit = _COMMITS.get(variant.rule)
    return {"rule": variant.rule, **({"rule_commit": commit} if commit else {})}


def describe_rules(rules: Iterable[str]) -> str:
    """The rules of a benchmark in one line, those of other tools with their commit."""
    notes = {
        OWN: " (default)",
        VLMEVALKIT: f" (commit {COMMIT}, {LATEST_RELEASE})",
        LMMS_EVAL: f" (commit {_COMMITS[LMMS_EVAL]})",
    }
    return ", ".join(f"{rule}{notes.get(rule, '')}" for rule in rules)


def check_rule(benchmark: Benchmark, rule: str) -> None:
    """Raise UsageError if a benchmark does not have the requested rule."""
    _check_rule(benchmark.name, rule, dict.fromkeys(benchmark.rules, PARSERS[VLMEVALKIT]))


def _check_rule(name: str, rule: str, rules: Mapping[str, object]) -> None:
    """Raise UsageError for an unknown rule, one that the benchmark does not have, or a release
    of a parser that is known as of one commit only."""
    base, mark, release = rule.partition(_RELEASE)
    if base not in RULES or (mark and base != VLMEVALKIT):
        raise UsageError(
            f"--rule {rule!r}: expected one of {', '.join(RULES)}, or a release such as vlmevalkit@2025-04"
        )
    if base not in rules:
        raise UsageError(f"{name} cannot be read by the rule {base!r}, only {', '.join(rules)}")
    if not mark:
        return
    if not (_MONTH.fullmatch(release) and FIRST_RELEASE <= release <= LATEST_RELEASE):
        raise UsageError(
            f"--rule {rule!r}: expected a month from {FIRST_RELEASE} to {LATEST_RELEASE}, such as vlmevalkit@2025-04"
        )
    parsers = rules[base]
    # Benchmarks with a reader of their own are known as of one commit.
    plain = parsers.choice_with_gold is None and parsers.choice if isinstance(parsers, ParserSet) else None
    if plain is not parse_choice_vlmevalkit:
        raise UsageError(
            f"{name}: how VLMEvalKit reads it is known as of one release, commit {COMMIT} of "
            f"{LATEST_RELEASE}; leave out {_RELEASE}{release}"
        )
