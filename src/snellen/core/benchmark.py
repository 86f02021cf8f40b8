"""A benchmark is a frozen value made of small functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from msgspec import structs

from snellen.core.flow import Flow
from snellen.core.headline import SumsOf
from snellen.core.model import Capabilities, Modality
from snellen.core.record import Record, credits_empty_reply
from snellen.core.repeats import draws_of
from snellen.core.run import FewShotInfo
from snellen.core.sample import Kind, Row, Sample
from snellen.core.summary import Metric, Summary


class Table(Protocol):
    """Rows of a data source, read late. `digest` is the SHA-256 of the content, in hex."""

    @property
    def path(self) -> str: ...

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def digest(self) -> str: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...


@runtime_checkable
class HasIds(Protocol):
    """A table that knows the ids of its rows, in their order, without reading the rows."""

    def ids(self) -> Iterator[str]: ...


FetchProgress = Callable[[int, int | None], None]
"""Told the bytes received so far, and the total where it is known."""


class Requirement(Protocol):
    """Says why a model cannot take a benchmark, or None."""

    def __call__(self, capabilities: Capabilities) -> str | None: ...


def requires(*inputs: Modality, many_images: bool = False) -> Requirement:
    """A benchmark whose samples hold these kinds of input."""

    def missing_input(capabilities: Capabilities) -> str | None:
        missing = sorted(set(inputs) - capabilities.inputs)
        if missing:
            return f"needs {' and '.join(missing)} input, which the model does not take"
        if many_images and not capabilities.many_images:
            return "needs several images in one prompt, which the model does not take"
        return None

    return missing_input


REQUIRES_TEXT = requires("text")

CHANCE = "chance"
"""The metric that says what guessing would score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Where rows come from, how a row becomes a sample, how it is asked, how it is summed up.

    `version` changes whenever a change could move a score.
    """

    name: str
    version: str
    title: str
    headline: str
    """Name of the headline metric; its range is 0..100 unless `unit` says otherwise."""
    open: Callable[[], Table]
    samples: Callable[[Iterable[Row]], Iterator[Sample]]
    flow: Callable[[Sample], Flow]
    summarise: Callable[[Sequence[Record]], Summary]
    """Of records that may lack what no number is made of: passes, requests, texts of options."""
    headline_sums: SumsOf | None = None
    """The headline as a function of sums over samples, of the same records; None where it is the
    plain mean of the samples' scores, on the headline's scale."""
    weighs_scores: bool = False
    """Whether `headline_sums` makes a weighted mean of the samples' scores, whose weights it tells
    from the samples' groups and gold alone."""
    fetch: Callable[[FetchProgress | None], Path] | None = None
    """Brings the data to this machine, where they are not shipped: the file's path."""
    requires: Requirement = REQUIRES_TEXT
    unsupported_reason: Callable[[Sample, Capabilities], str | None] | None = None
    """Says why a model cannot take one sample, or None: it is then counted as unsupported."""
    prepare: Callable[[Sample], Sample] | None = None
    """Makes of a sample what is shown, right before it is asked: images stitched, boxed or
    black. Recorded replies are scored without it, so it changes neither options nor gold."""
    extra_roles: tuple[str, ...] = ()
    """Roles of further models that its flows ask, e.g. `clip`; an `extractor` may always be."""
    paper: str = ""
    provenance: str = ""
    """Where the data come from and under which licence."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Variants there are: option name to its values, the default first."""
    rules: tuple[str, ...] = ("snellen",)
    """Whose rules can read its replies."""
    oracle: float | None = 100.0
    """Headline if every reply were the gold answer; None where `unscorable` says why not."""
    blank: float = 0.0
    """Headline if every reply were empty."""
    chance: float | None = None
    """Headline of guessing, where the data do not tell it row by row."""
    unscorable: str = ""
    """Why no headline can be computed here, e.g. answers that are withheld."""
    coverage: Literal["exact", "generic type", "inference only"] = "exact"
    """Whether the authors' own rule is implemented, a rule of the same type, or only asking."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Resolved variant, e.g. {"split": "test", "circular": "early"}: part of the run's config."""
    max_new_tokens: int = 512
    few_shot_pool: str = ""
    """Where examples may come from that are never asked: a value of the option `split`, or a data
    file or set; "" where nothing of the kind is published."""
    counts_duplicates: bool = False
    """Its authors count every row of a file of results, also where an id stands there twice."""
    notice: str = ""
    """What a reader must know of the number beside its name, such as that another tool means
    something else by it."""
    few_shot_info: Callable[[], FewShotInfo] | None = None
    """Says what is shown before each question, where something is (`shots=k`). Reads the data."""


FewShotSelector = Callable[[Kind], Sequence[Sample]]
"""The examples for questions of a kind, in the order in which they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a benchmark is to be made: options from the name (`eyechart:split=photos`) and run."""

    options: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    """A data file of the user's own in place of the declared source."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What the columns of the user's own data are called: our name to theirs."""
    circular: str | None = None
    """`off`, `early` (stop at the first failed pass) or `full` (ask every pass); None leaves it
    to the benchmark."""
    extractor: bool = False
    """Whether replies that no rule can read go to the role `extractor`."""
    judges: int = 0
    """How many roles (`judge`, `judge-2`, ...) are there to grade replies."""
    judge_repeats: int = 1
    """How often each judge is asked for each verdict, in the same way."""
    recorded_verdicts: bool = False
    """Whether the judges' verdicts stand in a file: they cost nothing, and decide every reply they
    are about, also where a rule could read it."""
    clip: bool = False
    """Whether the role `clip` is there to compare pictures."""
    max_new_tokens: int | None = None
    rule: str | None = None
    """Whose rules read the replies: `snellen`, `vlmevalkit` or `official`; None leaves it to the
    benchmark."""
    control: str | None = None
    """`blind` (no picture is shown), `black`, `blur[:PERCENT]`, `wrong-image[:SEED]` or
    `shuffled-options[:SEED]`: what a score owes to the pictures, or to the order of options."""
    failures: str = "exclude"
    """`exclude`, `count-wrong`, `withhold`, or `withhold>5%` (only where more than that share of
    the samples did): what failed and missing samples do to scores."""
    shots: FewShotSelector | None = None
    """Gives the examples that the options ask for; `open_benchmark` draws them."""


BenchmarkFactory = Callable[[Variant], Benchmark]


def final_summary(
    benchmark: Benchmark, records: Sequence[Record], examples: FewShotInfo | None = None
) -> Summary:
    """The benchmark's numbers, with the `chance` it declares where guessing is one pass: the
    data do not tell it row by row then, the reason where it has no score, and how many empty
    replies were given credit. `few_shot_info` are those the records were asked with."""
    summary = benchmark.summarise(records)
    if benchmark.unscorable and summary.headline.value is None:
        notices = (benchmark.unscorable, *summary.notices)
        headline = structs.replace(summary.headline, note=benchmark.unscorable)
        summary = structs.replace(summary, headline=headline, notices=notices)
    if examples is not None and examples.aside:
        questions = "question" if examples.aside == 1 else "questions"
        notice = f"{examples.aside} {questions} set aside as examples, {summary.n} scored"
        summary = structs.replace(summary, notices=(notice, *summary.notices))
    credited = _credited_empty_replies(benchmark, records)
    if credited:
        summary = structs.replace(summary, notices=(*summary.notices, credited))
    if benchmark.notice:
        summary = structs.replace(summary, notices=(benchmark.notice, *summary.notices))
    chance = benchmark.chance
    if chance is None or "circular" in benchmark.parameters:
        return summary
    headline = summary.headline
    guessed = Metric(CHANCE, chance, headline.n, unit=headline.unit, top=headline.top)
    return structs.replace(summary, metrics={**summary.metrics, CHANCE: guessed})


def _credited_empty_replies(benchmark: Benchmark, records: Sequence[Record]) -> str:
    """How many empty replies the rule in force takes for answers; nothing where it takes none."""
    draws = [draw for record in records for draw in draws_of(record)]
    count = sum(credits_empty_reply(draw.score, draw.passes) for draw in draws)
    if not count:
        return ""
    rule = benchmark.parameters.get("rule") or benchmark.parameters.get("reading", "")
    of = "samples" if len(draws) == len(records) else "draws"
    have = "has" if count == 1 else "have"
    said = f"{count} of {len(draws)} {of} {have} an empty reply that is scored as right"
    return f"{said}: so does the rule {rule}" if rule else said
