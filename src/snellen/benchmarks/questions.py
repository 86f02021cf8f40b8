"""Benchmarks made of plain questions: multiple choice, yes/no and open, scored right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast, get_args

from snellen.benchmarks.flows import Circular, Manner, asked_once, circular
from snellen.benchmarks.manner import (
    asked_so,
    asking_options,
    asking_parameters,
    longest_reply,
    needing,
)
from snellen.benchmarks.rows import GROUP_COLUMNS, samples
from snellen.benchmarks.rules import Readers, chosen_rule, known_rules
from snellen.core.benchmark import TEXT, Benchmark, FetchProgress, Needs, Table, Variant
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Interval, Summary
from snellen.scoring.accuracy import FailurePolicy, summarise
from snellen.stats.intervals import clustered_mean, wilson

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
    paper_prompt: str | None = None,
    circular_default: Circular = "off",
) -> Benchmark:
    """A benchmark over rows in the common column layout.

    `options` lists the variants it has, the first being the default; `keep` selects rows;
    `official` reads replies as the benchmark's authors do; `paper_prompt` names the stored wording
    of its paper.
    Raises UsageError for a variant it has not.
    """
    own = options or {}
    options = {**own, **{k: v for k, v in asking_options(paper_prompt).items() if k not in own}}
    every = resolve(name, variant, options)
    resolved = {key: value for key, value in every.items() if key not in asking_options()}
    longest = longest_reply(max_new_tokens, every)
    settings = Generation(max_new_tokens=variant.max_new_tokens or longest)
    rules = known_rules(official)
    rule = chosen_rule(name, variant, rules)
    how = Manner(
        settings,
        extractor=variant.extractor,
        choice=rules[rule].choice,
        yes_no=rules[rule].yes_no,
    )
    mode = cast(
        Circular, one_of("circular", variant.circular or circular_default, get_args(Circular))
    )
    failures = cast(FailurePolicy, one_of("failures", variant.failures, get_args(FailurePolicy)))

    def rows_to_samples(rows: Iterable[Row]) -> Iterator[Sample]:
        kept = rows if keep is None else filter(keep, rows)
        return samples(kept, groups=groups, path=getattr(rows, "path", name))

    how = asked_so(how, every, paper_prompt, lambda: rows_to_samples(open()))
    return Benchmark(
        name=name,
        version=version,
        title=title,
        headline="accuracy" if mode == "off" else "circular",
        open=open,
        fetch=fetch,
        samples=rows_to_samples,
        flow=asked_once(how) if mode == "off" else circular(how, mode),
        summarise=partial(summarise_accuracy, failures=failures, mode=mode),
        needs=needing(needs, every, variant.control),
        paper=paper,
        source=source,
        options=options,
        rules=tuple(rules),
        parameters={
            **resolved,
            **asking_parameters(every, paper_prompt),
            **({} if mode == "off" else {"circular": mode}),
            **({} if rule == "snellen" else {"rule": rule}),
        },
        max_new_tokens=settings.max_new_tokens,
    )


def summarise_accuracy(
    records: Sequence[Record], *, failures: FailurePolicy, mode: Circular
) -> Summary:
    """Accuracy, or under CircularEval the share of questions right in all rotations."""
    headline = "accuracy" if mode == "off" else "circular"
    return summarise(records, spread=accuracy_interval, headline=headline, failures=failures)


def accuracy_interval(scores: Sequence[float]) -> Interval | None:
    """95 % interval of a mean of scores: Wilson for right or wrong, else Student's t."""
    if not scores:
        return None
    if all(score in (0.0, 1.0) for score in scores):
        return wilson(sum(scores), len(scores))
    if len(scores) < 2:
        return None
    return clustered_mean(scores, range(len(scores)))


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
