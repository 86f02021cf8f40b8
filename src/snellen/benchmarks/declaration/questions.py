"""Benchmarks made of plain questions: multiple choice, yes/no and open, scored right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast, get_args

from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, AdjustSample, rows_to_samples
from snellen.benchmarks.protocol.ask_config import (
    allowed_values,
    apply_prompt_options,
    few_shot_requirements,
    max_reply_tokens,
    prompt_options,
    prompt_parameters,
)
from snellen.benchmarks.protocol.flows import AskConfig, Circular, circular_flow, single_pass_flow
from snellen.benchmarks.protocol.parsers import (
    OWN,
    PARSERS,
    VLMEVALKIT,
    ParserSet,
    parsers_of,
    rule_parameter,
    rules_of,
    select_rule,
)
from snellen.benchmarks.protocol.similarity import with_similarity
from snellen.core.benchmark import (
    REQUIRES_TEXT,
    Benchmark,
    FetchProgress,
    Requirement,
    Table,
    Variant,
)
from snellen.core.errors import UsageError
from snellen.core.request import Generation
from snellen.core.sample import Kind, Row, Sample
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate
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
    requires: Requirement = REQUIRES_TEXT,
    keep: Callable[[Row], bool] | None = None,
    options: Mapping[str, Sequence[str]] | None = None,
    groups: tuple[str, ...] = GROUP_COLUMNS,
    paper: str = "",
    source: str = "",
    max_new_tokens: int = MAX_NEW_TOKENS,
    official: ParserSet | None = None,
    vlmevalkit: ParserSet | None = PARSERS[VLMEVALKIT],
    paper_prompt: str | None = None,
    circular_default: Circular = "off",
    kind: Kind | None = None,
    adjust: AdjustSample | None = None,
    question: str = "",
    template: PromptTemplate = DEFAULT_TEMPLATE,
    rules: Mapping[str, ParserSet] | None = None,
    metric: str = "accuracy",
    held_out: str = "",
) -> Benchmark:
    """A benchmark over rows in the common column layout.

    `options` lists the variants it has, the first being the default; `keep` selects rows;
    `official` reads replies as the benchmark's authors do, `vlmevalkit` as VLMEvalKit does, None
    where it has no such rule or another that is not restated here; `paper_prompt` names the stored
    wording of its paper. `kind`, `adjust` and `question` are those of `samples`; `rules` replaces
    the known ones, where open questions are graded by a rule of their own; `metric` names the mean
    of the scores; `few_shot_pool` is `Benchmark.few_shot_pool`.
    Raises UsageError for a variant it has not.
    """
    own_options = options or {}
    options = {
        **own_options,
        **{k: v for k, v in prompt_options(paper_prompt).items() if k not in own_options},
    }
    all_options = resolve_options(name, variant, allowed_values(options))
    resolved = {key: value for key, value in all_options.items() if key not in prompt_options()}
    max_reply = max_reply_tokens(max_new_tokens, all_options)
    settings = Generation(max_new_tokens=variant.max_new_tokens or max_reply)
    rules = rules or rules_of(official, vlmevalkit)
    rule = select_rule(name, variant, rules)
    mode = circular_of(variant, circular_default)
    headline = metric if mode == "off" else "circular"
    readers = parsers_of(rule, rules)
    config = _ask_config(variant, settings, readers, template)
    config = apply_prompt_options(config, all_options, paper_prompt, variant.shots)
    if rule != OWN:
        # What others' code takes out of a reply that thinks first is part of their rule.
        config = replace(
            config,
            choice=readers.choice,
            choice_with_gold=readers.choice_with_gold,
            yes_no=readers.yes_no,
            open=readers.open,
        )

    def samples_of_rows(rows: Iterable[Row]) -> Iterator[Sample]:
        path = getattr(rows, "path", name)
        return rows_to_samples(
            rows, groups=groups, path=path, kind=kind, adjust=adjust, question=question, keep=keep
        )

    benchmark = Benchmark(
        name=name,
        version=version,
        title=title,
        headline=headline,
        open=open,
        fetch=fetch,
        samples=samples_of_rows,
        flow=single_pass_flow(config) if mode == "off" else circular_flow(config, mode),
        summarise=partial(
            summarise,
            headline=headline,
            failures=failures_of(variant),
            secondary=tuple(config.open.secondary),
        ),
        requires=few_shot_requirements(requires, all_options, variant.control),
        paper=paper,
        provenance=source,
        options=options,
        rules=tuple(rules),
        parameters={
            **resolved,
            **prompt_parameters(all_options, paper_prompt),
            **({} if mode == "off" else {"circular": mode}),
            **rule_parameter(variant),
        },
        max_new_tokens=settings.max_new_tokens,
        few_shot_pool=held_out,
    )
    return with_similarity(benchmark, variant) if kind == "open" else benchmark


def _ask_config(
    variant: Variant, settings: Generation, parsers: ParserSet, template: PromptTemplate
) -> AskConfig:
    return AskConfig(
        settings,
        extractor=variant.extractor,
        choice=parsers.choice,
        choice_with_gold=parsers.choice_with_gold,
        yes_no=parsers.yes_no,
        open=parsers.open,
        template=template,
        by_meaning=parsers.by_meaning,
    )


def circular_of(variant: Variant, default: Circular) -> Circular:
    """How options are rotated. Raises UsageError for what no mode is called."""
    return cast(
        Circular, check_allowed("circular", variant.circular or default, get_args(Circular))
    )


def failures_of(variant: Variant) -> FailurePolicy:
    """What failed samples count. Raises UsageError for what no policy is called."""
    return cast(FailurePolicy, check_allowed("failures", variant.failures, get_args(FailurePolicy)))


def resolve_options(
    name: str, variant: Variant, allowed: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The variant's options with defaults filled in. Raises UsageError for an unknown one."""
    for key, value in variant.options.items():
        if key not in allowed:
            listed = ", ".join(allowed) or "none"
            raise UsageError(f"{name} has no option {key!r}; its options: {listed}")
        if value not in allowed[key]:
            raise UsageError(f"{name}:{key}={value}: expected one of {', '.join(allowed[key])}")
    return {key: variant.options.get(key, values[0]) for key, values in allowed.items()}


def check_allowed(flag: str, value: str, allowed: Sequence[str]) -> str:
    """The value, if it is one of the known ones. Raises UsageError."""
    if value not in allowed:
        raise UsageError(f"--{flag} {value!r}: expected one of {', '.join(allowed)}")
    return value
