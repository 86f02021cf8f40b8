"""Benchmarks whose replies are graded: what they all have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from msgspec import structs

from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.questions import failures_of, resolve
from snellen.benchmarks.protocol.judged_summary import NEEDS_JUDGE, Told, summarise_graded
from snellen.benchmarks.protocol.judging import VOTES, Panel, judge_parameters, panel_of
from snellen.benchmarks.protocol.parsers import chosen_rule
from snellen.core.benchmark import Benchmark, Needs, Table, Variant, needs
from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.headline import HeadlineSums
from snellen.core.message import Message
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary
from snellen.data.columns import parse_list
from snellen.prompts.choice import Wording, prompt

BY_RULES = "accuracy_by_rules"
"""Headline of benchmarks that judges help to read, where no judge is there."""
ACCURACY = "accuracy"
OWN_RULE = "snellen"
OFFICIAL = "official"
RULE = "rule"
PICTURES = needs("text", "image")
_AS_IS = Wording(question="{question}", hint="{hint}", open="", yes_no="", choose="")

Asked = Callable[[Generation, Panel, Mapping[str, str]], Callable[[Sample], Flow]]
"""How samples are asked: settings, judges and the variant's options, to a flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What one benchmark says about itself."""

    name: str
    version: str
    title: str
    data: Published
    samples: Callable[[Iterable[Row]], Iterator[Sample]]
    flow: Asked
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
    several: tuple[str, ...] = ()
    summarise: Callable[[Sequence[Record], Told], Summary] = summarise_graded
    headline_sums: Callable[[Told, Sequence[Record]], HeadlineSums | None] | None = None
    """As `Benchmark.headline_sums`."""
    needs: Needs = PICTURES
    max_new_tokens: int = 512
    judge_tokens: int = 256
    oracle: float | None = 100.0
    blank: float = 0.0
    chance: float | None = None
    coverage: Literal["exact", "generic type"] = "exact"
    """`generic type` where the judge is asked in our own words, or a rule is not the authors'."""
    check: Callable[[], None] | None = None
    """Raises MissingExtra, before anything is asked, where scoring needs a library."""
    chosen: Callable[[Row, Mapping[str, str]], bool] | None = None
    """Whether a row belongs to the variant."""


def graded_benchmark(variant: Variant, declared: Declared) -> Benchmark:
    """A benchmark graded by judges, or by rules with their help. Raises UsageError."""
    votes = {"votes": VOTES} if declared.must_judge else {}
    known = {**declared.data.options, **declared.options, **votes}
    options = resolve(declared.name, variant, known)
    if variant.circular not in (None, "off"):
        raise UsageError(f"{declared.name} is asked once; it has no options to rotate")
    options[RULE] = chosen_rule(declared.name, variant, dict.fromkeys(declared.rules))
    panel = panel_of(
        variant, votes=int(options.pop("votes", "1")), max_new_tokens=declared.judge_tokens
    )
    settings = Generation(max_new_tokens=variant.max_new_tokens or declared.max_new_tokens)
    told = _told(declared, variant, panel)
    scored = not declared.must_judge or bool(panel)
    return Benchmark(
        name=declared.name,
        version=declared.version,
        title=declared.title,
        headline=told.headline,
        open=partial(_open, declared, variant),
        fetch=partial(declared.data.fetch, replace(variant, options=_of_file(declared, options))),
        samples=partial(_samples, declared, options),
        flow=declared.flow(settings, panel, options),
        summarise=partial(_summed, declared.summarise, told),
        headline_sums=declared.headline_sums and partial(declared.headline_sums, told),
        needs=declared.needs,
        asks=panel.roles,
        paper=declared.paper,
        source=declared.source,
        options=known,
        rules=declared.rules,
        oracle=declared.oracle if scored else None,
        blank=declared.blank,
        chance=declared.chance,
        coverage=declared.coverage,
        unscorable="" if scored else NEEDS_JUDGE,
        parameters={**_recorded(options), **judge_parameters(panel, *declared.rubrics)},
        max_new_tokens=settings.max_new_tokens,
    )


def _told(declared: Declared, variant: Variant, panel: Panel) -> Told:
    by_rules = not panel and not declared.must_judge
    return Told(
        headline=BY_RULES if by_rules and declared.headline == ACCURACY else declared.headline,
        panel=panel,
        failures=failures_of(variant),
        several=declared.several,
        must_judge=declared.must_judge,
    )


def _open(declared: Declared, variant: Variant) -> Table:
    if declared.check is not None:
        declared.check()
    return declared.data.table(variant)


def _samples(
    declared: Declared, options: Mapping[str, str], rows: Iterable[Row]
) -> Iterator[Sample]:
    path = getattr(rows, "path", declared.name)
    keep = declared.chosen
    kept = rows if keep is None else (row for row in rows if keep(row, options))
    return distinct(declared.samples(kept), path)


def as_is(sample: Sample) -> tuple[Message, ...]:
    """The media, then the question as the data have it; nothing is added."""
    return prompt(structs.replace(sample, kind="choice"), {}, _AS_IS)


def cell(cells: Mapping[str, str], *names: str) -> str:
    """The first of these cells that is there."""
    return next((cells[name] for name in names if name in cells), "")


def listed(text: str) -> tuple[str, ...]:
    """The items of a cell that holds a list, as JSON or Python writes it, or joined by commas."""
    items = parse_list(text)
    parts = text.split(",") if items is None else map(str, items)
    return tuple(part for item in parts if (part := item.strip()))


def distinct(samples: Iterable[Sample], path: str) -> Iterator[Sample]:
    """The samples. Raises DataError for an id that stands there twice."""
    from snellen.core.errors import DataError

    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise DataError(f"{path}: the id {sample.id!r} stands there twice; ids must be unique")
        seen.add(sample.id)
        yield sample


def _summed(
    summarise: Callable[[Sequence[Record], Told], Summary], told: Told, records: Sequence[Record]
) -> Summary:
    return summarise(records, told)


def _recorded(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if (name, value) != (RULE, OWN_RULE)}


def _of_file(declared: Declared, options: Mapping[str, str]) -> dict[str, str]:
    return {name: options[name] for name in declared.data.options}
