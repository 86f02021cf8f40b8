"""Benchmarks whose replies are graded: what they all have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from msgspec import structs

from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.questions import failures_of, resolve_options
from snellen.benchmarks.protocol.judged_summary import (
    JUDGE_MISSING,
    GradedSummaryOptions,
    summarise_judged,
)
from snellen.benchmarks.protocol.judging import VOTES, JudgePanel, judge_parameters, panel_of
from snellen.benchmarks.protocol.parsers import select_rule
from snellen.core.benchmark import Benchmark, Requirement, Table, Variant, requires
from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.headline import HeadlineSums
from snellen.core.message import Message
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary
from snellen.data.columns import parse_list
from snellen.prompts.choice import PromptTemplate, prompt

BY_RULES = "accuracy_by_rules"
"""Headline of benchmarks that judges help to read, where no judge is there."""
ACCURACY = "accuracy"
OWN_RULE = "snellen"
OFFICIAL = "official"
RULE = "rule"
IMAGE_INPUT = requires("text", "image")
_AS_IS = PromptTemplate(question="{question}", hint="{hint}", open="", yes_no="", choose="")

FlowFactory = Callable[[Generation, JudgePanel, Mapping[str, str]], Callable[[Sample], Flow]]
"""How samples are asked: settings, judges and the variant's options, to a flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDeclaration:
    """What one benchmark says about itself."""

    name: str
    version: str
    title: str
    data: Published
    samples: Callable[[Iterable[Row]], Iterator[Sample]]
    flow: FlowFactory
    paper: str
    source: str
    rubrics: tuple[str, ...]
    headline: str = ACCURACY
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Variants beyond those that choose the file."""
    rules: tuple[str, ...] = (OWN_RULE,)
    """Whose rules can read and compare its replies; `flow` is given the chosen one as the option
    `rule`."""
    must_judge: bool = False
    multi_label: tuple[str, ...] = ()
    summarise: Callable[[Sequence[Record], GradedSummaryOptions], Summary] = summarise_judged
    headline_sums: (
        Callable[[GradedSummaryOptions, Sequence[Record]], HeadlineSums | None] | None
    ) = None
    """As `Benchmark.headline_sums`."""
    requires: Requirement = IMAGE_INPUT
    max_new_tokens: int = 512
    max_judge_tokens: int = 256
    oracle: float | None = 100.0
    blank: float = 0.0
    chance: float | None = None
    coverage: Literal["exact", "generic type"] = "exact"
    """`generic type` where the judge is asked in our own words, or a rule is not the authors'."""
    check: Callable[[], None] | None = None
    """Raises MissingExtra, before anything is asked, where scoring needs a library."""
    keep: Callable[[Row, Mapping[str, str]], bool] | None = None
    """Whether a row belongs to the variant."""


def judged_benchmark(variant: Variant, declaration: JudgedDeclaration) -> Benchmark:
    """A benchmark graded by judges, or by rules with their help. Raises UsageError."""
    votes = {"votes": VOTES} if declaration.must_judge else {}
    options_by_name = {**declaration.data.options, **declaration.options, **votes}
    options = resolve_options(declaration.name, variant, options_by_name)
    if variant.circular not in (None, "off"):
        raise UsageError(f"{declaration.name} is asked once; it has no options to rotate")
    options[RULE] = select_rule(declaration.name, variant, dict.fromkeys(declaration.rules))
    panel = panel_of(
        variant, votes=int(options.pop("votes", "1")), max_new_tokens=declaration.max_judge_tokens
    )
    settings = Generation(max_new_tokens=variant.max_new_tokens or declaration.max_new_tokens)
    summary_options = _summary_options(declaration, variant, panel)
    has_score = not declaration.must_judge or bool(panel)
    return Benchmark(
        name=declaration.name,
        version=declaration.version,
        title=declaration.title,
        headline=summary_options.headline,
        open=partial(_open, declaration, variant),
        fetch=partial(
            declaration.data.fetch, replace(variant, options=_file_options(declaration, options))
        ),
        samples=partial(_samples, declaration, options),
        flow=declaration.flow(settings, panel, options),
        summarise=partial(_summarise, declaration.summarise, summary_options),
        headline_sums=declaration.headline_sums
        and partial(declaration.headline_sums, summary_options),
        requires=declaration.requires,
        extra_roles=panel.roles,
        paper=declaration.paper,
        provenance=declaration.source,
        options=options_by_name,
        rules=declaration.rules,
        oracle=declaration.oracle if has_score else None,
        blank=declaration.blank,
        chance=declaration.chance,
        coverage=declaration.coverage,
        unscorable="" if has_score else JUDGE_MISSING,
        parameters={
            **_recorded_parameters(options),
            **judge_parameters(panel, *declaration.rubrics),
        },
        max_new_tokens=settings.max_new_tokens,
    )


def _summary_options(
    declaration: JudgedDeclaration, variant: Variant, panel: JudgePanel
) -> GradedSummaryOptions:
    by_rules = not panel and not declaration.must_judge
    return GradedSummaryOptions(
        headline=BY_RULES
        if by_rules and declaration.headline == ACCURACY
        else declaration.headline,
        panel=panel,
        failures=failures_of(variant),
        multi_label=declaration.multi_label,
        must_judge=declaration.must_judge,
    )


def _open(declaration: JudgedDeclaration, variant: Variant) -> Table:
    if declaration.check is not None:
        declaration.check()
    return declaration.data.table(variant)


def _samples(
    declaration: JudgedDeclaration, options: Mapping[str, str], rows: Iterable[Row]
) -> Iterator[Sample]:
    path = getattr(rows, "path", declaration.name)
    keep = declaration.keep
    kept = rows if keep is None else (row for row in rows if keep(row, options))
    return check_unique_ids(declaration.samples(kept), path)


def plain_messages(sample: Sample) -> tuple[Message, ...]:
    """The media, then the question as the data have it; nothing is added."""
    return prompt(structs.replace(sample, kind="choice"), {}, _AS_IS)


def first_cell(cells: Mapping[str, str], *names: str) -> str:
    """The first of these cells that is there."""
    return next((cells[name] for name in names if name in cells), "")


def split_list(text: str) -> tuple[str, ...]:
    """The items of a cell that holds a list, as JSON or Python writes it, or joined by commas."""
    items = parse_list(text)
    parts = text.split(",") if items is None else map(str, items)
    return tuple(part for item in parts if (part := item.strip()))


def check_unique_ids(samples: Iterable[Sample], path: str) -> Iterator[Sample]:
    """The samples. Raises DataError for an id that stands there twice."""
    from snellen.core.errors import DataError

    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise DataError(f"{path}: the id {sample.id!r} stands there twice; ids must be unique")
        seen.add(sample.id)
        yield sample


def _summarise(
    summarise: Callable[[Sequence[Record], GradedSummaryOptions], Summary],
    options: GradedSummaryOptions,
    records: Sequence[Record],
) -> Summary:
    return summarise(records, options)


def _recorded_parameters(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if (name, value) != (RULE, OWN_RULE)}


def _file_options(declaration: JudgedDeclaration, options: Mapping[str, str]) -> dict[str, str]:
    return {name: options[name] for name in declaration.data.options}
