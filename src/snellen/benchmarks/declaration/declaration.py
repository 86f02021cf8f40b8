"""One benchmark as its file declares it, and what a variant makes of the declaration.

Multiple choice, yes/no, open, judged and video benchmarks, and those described in TOML, are all a
`Declaration`; `build.build` makes of it the value that the engine runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import structs

from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, AdjustSample
from snellen.benchmarks.declaration.videos import VideoOptions
from snellen.benchmarks.protocol.ask_config import allowed_values
from snellen.benchmarks.protocol.parsers import OWN
from snellen.core.benchmark import Benchmark, BenchmarkFacts, DataTable, FetchProgress, Requirement, Variant, requires
from snellen.core.record import Record
from snellen.core.sample import Kind, Row, Sample
from snellen.core.summary import FailurePolicy, HeadlineSums, Summary, SummaryContext
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.headlines import plain_mean

Options = Mapping[str, str]
"""Every option of a variant with its value, defaults filled in."""

MakeSample = Callable[[Row, Options], Sample | None]
"""Makes the sample of a row; None for a row that the variant does not ask. Raises DataError without
the place of the row, which is added."""

_Summarise = Callable[[SummaryContext, Sequence[Record]], Summary]
_Sums = Callable[[SummaryContext, Sequence[Record]], HeadlineSums | None]

IMAGE_INPUT = requires("text", "image")


class DataSource(Protocol):
    """Where the rows of a benchmark's variants are."""

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        """The options that choose the data, each with its values, the default first."""

    def table(self, variant: Variant) -> DataTable:
        """The rows. Raises DataError if they can neither be found nor fetched."""

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        """Brings the data to this machine; None if they are here already."""

    def few_shot_source(self, variant: Variant) -> str:
        """`Benchmark.few_shot_pool` of a variant."""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        """What `snellen info` says of the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A headline that is not the plain mean of the samples' scores.

    `sums` is `Benchmark.headline_sums`, and `weighs_scores` as there.
    """

    name: str = ""
    """Name of the metric; empty keeps the name of the plain mean."""
    summarise: _Summarise | None = None
    """None: the plain mean, under this name."""
    sums: _Sums | None = None
    weighs_scores: bool = False
    in_circular: bool = True
    """Whether it is the headline under CircularEval, too."""

    def led_by(self, other: Headline) -> Headline:
        """The headline `other`; without a summary of its own it names another metric of the same
        one, which without `sums` is the plain mean of the samples' scores."""
        if other.summarise is not None:
            return other
        return replace(
            self,
            name=other.name,
            summarise=partial(_lead_with, other.name, self.summarise),
            sums=other.sums or plain_sums,
            weighs_scores=other.sums is None,
        )


def _lead_with(name: str, summarise: _Summarise | None, context: SummaryContext, records: Sequence[Record]) -> Summary:
    summary = context.plain(records) if summarise is None else summarise(context, records)
    if not name:
        plain = context.plain(records)
        return structs.replace(plain, metrics={**plain.metrics, **summary.metrics})
    unknown = structs.replace(summary.headline, name=name, value=None, interval=None)
    headline = summary.metrics.get(name, unknown)
    return structs.replace(summary, headline=headline, metrics={name: headline, **summary.metrics})


def plain_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """`Headline.sums` of the plain mean of the samples' scores."""
    return plain_mean(context.failures, records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """That rows hold videos, and how these are shown unless the variant says otherwise."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    """Defaults of the options in `videos.video_options`."""
    in_every_question: bool = True
    """Whether every question has a video: a model that cannot be shown one is refused at once."""
    allow_shots: bool = False
    """Whether few-shot examples, which are never videos, may be shown."""
    search_cache: bool = True
    """Whether videos are looked for in `videos/<name>` of the cache, where archives that were
    fetched by hand are unpacked."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the published file that name a row's video, where their names do not tell: `video`,
    and `prefix` for its folder, to theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring(ABC):
    """How samples are asked and replies become scores: `scoring.RuleScoring`, `scoring.YesNo`,
    `judged.Judged`, or a benchmark's own."""

    kind: Kind | None = None
    """The kind of all questions; None: inferred row by row."""
    adjust: AdjustSample | None = None
    """Changes each sample of the common layout, before the declaration's own `adjust`."""
    rules: Mapping[str, object] = field(default_factory=lambda: {OWN: None})
    """Whose rules can parse the replies."""

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        """All options but those about videos, in the order in which they are listed."""
        return {**declaration.data.options, **declaration.options}

    def allowed_options(self, options: Mapping[str, Sequence[str]], variant: Variant) -> Mapping[str, Sequence[str]]:
        """The options with every value they take, also values that are not listed."""
        return allowed_values(options, variant.options)

    @abstractmethod
    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The benchmark with its flow, the plain summary and what a run records. Raises UsageError
        for choices that do not go together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration(BenchmarkFacts):
    """One benchmark as its file declares it. Nothing is opened or read before it is built."""

    data: DataSource
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' names, each with the options it means."""
    other_tools: Mapping[str, OtherToolName] = field(default_factory=dict)
    """Names of ours that mean something else in another tool, in lower case."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Options beside those that choose the data, each with its values, the default first."""
    for_variant: Callable[[Declaration, Variant], Declaration] | None = None
    """Changes the declaration for some variants; its own `options` list those of all."""

    # Rows and samples.
    sample: MakeSample | None = None
    """Makes the sample of a row in a layout of its own (see `rows.build_sample`)."""
    samples: Callable[[Iterable[Row]], Iterator[Sample]] | None = None
    """Makes samples of rows that say something only together. Without either: the common column
    layout, with what follows."""
    keep: Callable[[Row, Options], bool] | None = None
    """Whether a row belongs to the variant."""
    adjust_row: Callable[[Row], Row] | None = None
    """Brings a row into the common column layout."""
    kind: Kind | None = None
    """The kind of all questions; None: inferred row by row, or that of `scoring`."""
    group_by: tuple[str, ...] = GROUP_COLUMNS
    adjust: AdjustSample | None = None
    """Changes each sample with the help of its row."""
    question: str = ""
    """The question of rows that have none."""

    # How it is asked.
    requires: Requirement = IMAGE_INPUT
    template: PromptTemplate | None = None
    """None: that of `scoring`."""
    paper_prompt: str | None = None
    """The stored prompt template of the benchmark's paper, which is then the default."""
    max_new_tokens: int | None = None
    """Longest reply in tokens; None: that of `scoring`."""
    response_schema: str = ""
    """`Generation.response_schema` of every question."""
    video: Video | None = None

    # How it is scored.
    scoring: Scoring
    headline: Headline = Headline()
    rule_headlines: Mapping[str, Headline] = field(default_factory=dict)
    """By rule: which metric is the headline of the tool, where it is another (`led_by`)."""
    counts_missing: tuple[str, ...] = ()
    """Rules whose tool counts a row without a prediction as wrong; others leave it out."""
    hidden_answers: tuple[str, ...] = ()
    """Values of the option `split` whose answers the authors keep."""
    notices: tuple[str, ...] = ()
    """Sentences below every summary."""
    check: Callable[[], None] | None = None
    """Raises MissingExtra, before anything is asked, if scoring needs a library that is absent."""

    def __call__(self, variant: Variant) -> Benchmark:
        """The benchmark under the options of a variant: a declaration is a `BenchmarkFactory`.
        Few-shot examples, controls and gates are applied by `build.build`."""
        from snellen.benchmarks.declaration.build import assemble

        return assemble(self, variant)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedVariant:
    """A declaration under a variant: every option has its value, every choice is checked."""

    declaration: Declaration
    variant: Variant
    """Without the options about videos."""
    options: Options
    rule: str
    failures: FailurePolicy
    video: VideoOptions | None = None
