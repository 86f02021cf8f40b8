"""Benchmarks made of plain questions: multiple choice, yes/no and open, scored right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast, get_args

from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, Shape, samples
from snellen.benchmarks.protocol.ask_config import (
    asked_so,
    asking_options,
    asking_parameters,
    longest_reply,
    needing,
    taken,
)
from snellen.benchmarks.protocol.flows import Circular, Manner, asked_once, circular
from snellen.benchmarks.protocol.parsers import (
    OWN,
    READERS,
    VLMEVALKIT,
    Readers,
    chosen_rule,
    known_rules,
    readers_of,
    rule_parameter,
)
from snellen.benchmarks.protocol.similarity import with_similarity
from snellen.core.benchmark import TEXT, Benchmark, FetchProgress, Needs, Table, Variant
from snellen.core.errors import UsageError
from snellen.core.request import Generation
from snellen.core.sample import Kind, Row, Sample
from snellen.prompts.choice import DEFAULT, Wording
from snellen.scoring.accuracy import FailurePolicy, summarise

MAX_NEW_TOKENS = 512


def question_benchmark(
    variant: Variant,
    *,
    name: str,
    version: str,
    title: str,
    open: Callable[[], Table],
    fetch: Callable[[FetchProgress | None], Path] | None = None,
    needs: Needs = TEXT,
    keep: Callable[[Row], bool] | None = None,
    options: Mapping[str, Sequence[str]] | None = None,
    groups: tuple[str, ...] = GROUP_COLUMNS,
    paper: str = "",
    source: str = "",
    max_new_tokens: int = MAX_NEW_TOKENS,
    official: Readers | None = None,
    vlmevalkit: Readers | None = READERS[VLMEVALKIT],
    paper_prompt: str | None = None,
    circular_default: Circular = "off",
    kind: Kind | None = None,
    shape: Shape | None = None,
    question: str = "",
    wording: Wording = DEFAULT,
    rules: Mapping[str, Readers] | None = None,
    metric: str = "accuracy",
    held_out: str = "",
) -> Benchmark:
    """A benchmark over rows in the common column layout.

    `options` lists the variants it has, the first being the default; `keep` selects rows;
    `official` reads replies as the benchmark's authors do, `vlmevalkit` as VLMEvalKit does, None
    where it has no such rule or another that is not restated here; `paper_prompt` names the stored
    wording of its paper. `kind`, `shape` and `question` are those of `samples`; `rules` replaces
    the known ones, where open questions are graded by a rule of their own; `metric` names the mean
    of the scores; `held_out` is `Benchmark.held_out`.
    Raises UsageError for a variant it has not.
    """
    own = options or {}
    options = {**own, **{k: v for k, v in asking_options(paper_prompt).items() if k not in own}}
    every = resolve(name, variant, taken(options))
    resolved = {key: value for key, value in every.items() if key not in asking_options()}
    longest = longest_reply(max_new_tokens, every)
    settings = Generation(max_new_tokens=variant.max_new_tokens or longest)
    rules = rules or known_rules(official, vlmevalkit)
    rule = chosen_rule(name, variant, rules)
    mode = circular_of(variant, circular_default)
    headline = metric if mode == "off" else "circular"
    readers = readers_of(rule, rules)
    how = _manner(variant, settings, readers, wording)
    how = asked_so(how, every, paper_prompt, variant.shots)
    if rule != OWN:
        # What others' code takes out of a reply that thinks first is part of their rule.
        how = replace(
            how,
            choice=readers.choice,
            given_gold=readers.given_gold,
            yes_no=readers.yes_no,
            open=readers.open,
        )

    def rows_to_samples(rows: Iterable[Row]) -> Iterator[Sample]:
        path = getattr(rows, "path", name)
        return samples(
            rows, groups=groups, path=path, kind=kind, shape=shape, question=question, keep=keep
        )

    made = Benchmark(
        name=name,
        version=version,
        title=title,
        headline=headline,
        open=open,
        fetch=fetch,
        samples=rows_to_samples,
        flow=asked_once(how) if mode == "off" else circular(how, mode),
        summarise=partial(
            summarise,
            headline=headline,
            failures=failures_of(variant),
            beside=tuple(how.open.beside),
        ),
        needs=needing(needs, every, variant.control),
        paper=paper,
        source=source,
        options=options,
        rules=tuple(rules),
        parameters={
            **resolved,
            **asking_parameters(every, paper_prompt),
            **({} if mode == "off" else {"circular": mode}),
            **rule_parameter(variant),
        },
        max_new_tokens=settings.max_new_tokens,
        held_out=held_out,
    )
    return with_similarity(made, variant) if kind == "open" else made


def _manner(variant: Variant, settings: Generation, rule: Readers, wording: Wording) -> Manner:
    return Manner(
        settings,
        extractor=variant.extractor,
        choice=rule.choice,
        given_gold=rule.given_gold,
        yes_no=rule.yes_no,
        open=rule.open,
        wording=wording,
        by_meaning=rule.by_meaning,
    )


def circular_of(variant: Variant, default: Circular) -> Circular:
    """How options are rotated. Raises UsageError for what no mode is called."""
    return cast(Circular, one_of("circular", variant.circular or default, get_args(Circular)))


def failures_of(variant: Variant) -> FailurePolicy:
    """What failed samples count. Raises UsageError for what no policy is called."""
    return cast(FailurePolicy, one_of("failures", variant.failures, get_args(FailurePolicy)))


def resolve(name: str, variant: Variant, known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The variant's options with defaults filled in. Raises UsageError for an unknown one."""
    for key, value in variant.options.items():
        if key not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"{name} has no option {key!r}; its options: {listed}")
        if value not in known[key]:
            raise UsageError(f"{name}:{key}={value}: expected one of {', '.join(known[key])}")
    return {key: variant.options.get(key, values[0]) for key, values in known.items()}


def one_of(flag: str, value: str, known: Sequence[str]) -> str:
    """The value, if it is one of the known ones. Raises UsageError."""
    if value not in known:
        raise UsageError(f"--{flag} {value!r}: expected one of {', '.join(known)}")
    return value
