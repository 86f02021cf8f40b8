"""A benchmark is a frozen value made of small functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from msgspec import structs

from snellen.core.model import Capabilities, Modality, Model
from snellen.core.record import Flow, Record, credits_empty_reply, draws_of
from snellen.core.run import FewShotInfo
from snellen.core.sample import Kind, Row, Sample
from snellen.core.summary import Metric, Summary, SumsOf


@runtime_checkable
class DataTable(Protocol):
    """Rows of a data source, read lazily. `digest` is the SHA-256 of the content, in hex."""

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
    """A table that lists the ids of its rows, in order, without reading the rows: all, or those of
    `at_least` as many characters."""

    def ids(self, at_least: int = 0) -> Iterator[str]: ...


FetchProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far, and the total if known."""


class Requirement(Protocol):
    """Returns why a model cannot take a benchmark, or None."""

    def __call__(self, capabilities: Capabilities) -> str | None: ...


BLIND_HINT = "--control blind asks text-only models, without images"
"""Advice for models that take no images."""


def requires(*inputs: Modality) -> Requirement:
    """Requirement of a benchmark whose samples hold these kinds of input. A model that takes one
    image is asked about several with the first (`engine.loop.plan`)."""

    def missing_input(capabilities: Capabilities) -> str | None:
        missing = sorted(set(inputs) - capabilities.inputs)
        if missing:
            reason = f"needs {' and '.join(missing)} input, which the model does not take"
            return reason if "text" in missing else f"{reason}; {BLIND_HINT}"
        return None

    return missing_input


REQUIRES_TEXT = requires("text")

IGNORED = "ignore"
"""Key of `Variant.columns`: the columns that are not read, joined by `+`."""

AS_RECORDED = "as_recorded"
"""The parameter of a run that names the tool and the column whose number is repeated."""
DESCRIBED = "described"
"""Parameter of a run: digest of the description, which decides what is asked and counted."""
RECIPE = "recipe"
"""Parameter of a run: the recipe by which its questions were asked."""
COORDINATES = "coordinates"
"""Option of benchmarks that ask for places, and of every model: a coordinate space."""
TIME_UNIT = "time_unit"
"""Option of benchmarks that ask for spans: a `core.place.TimeUnit`. A run does not record seconds."""
COORDINATES_FROM = "coordinates_from"
"""Parameter of a run: who declared the coordinate space of its option `coordinates`, `catalog` or
`model option`; absent where the user chose it, or it is the benchmark's default."""
CHANCE = "chance"
"""Name of the metric that reports the expected score of guessing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFacts:
    """What its declaration and the benchmark that is built of it have in common."""

    name: str
    version: str
    """Changes whenever a change could move a score."""
    title: str
    paper: str = ""
    provenance: str = ""
    """Where the data come from and under which licence."""
    requires: Requirement = REQUIRES_TEXT
    unsupported_reason: Callable[[Sample, Capabilities], str | None] | None = None
    """Why a model cannot take one sample, which then counts as unsupported; None if it can."""
    prepare: Callable[[Sample], Sample] | None = None
    """Transforms a sample right before it is asked: images stitched, boxed or blacked out. Recorded
    replies are scored without it, so it must change neither options nor gold."""
    oracle: float | None = 100.0
    """Headline if every reply were the gold answer; None if there is no gold (`unscorable`)."""
    blank: float = 0.0
    """Headline if every reply were empty."""
    chance: float | None = None
    """Expected headline of guessing, unless it is computed row by row from the data."""
    unscorable: str = ""
    """Why no headline can be computed here, e.g. hidden answers, or that no judge was named."""
    coverage: Literal["exact", "generic type", "inference only"] = "exact"
    """Whether the authors' own rule is implemented, a rule of the same type, or only asking."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Recorded in runs, as a part of their config: of a declaration those beside the options, of a
    benchmark the resolved variant, e.g. {"split": "test", "circular": "early"}."""
    counts_duplicates: bool = False
    """Whether the authors count every row of a results file, duplicate ids included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark(BenchmarkFacts):
    """Where rows come from, how a row becomes a sample, how it is asked and summarised."""

    headline: str
    """Name of the headline metric; its range is 0..100 unless `unit` says otherwise."""
    open: Callable[[], DataTable]
    samples: Callable[[Iterable[Row]], Iterator[Sample]]
    flow: Callable[[Sample], Flow]
    summarise: Callable[[Sequence[Record]], Summary]
    """Records may come without passes, requests and option texts."""
    headline_sums: SumsOf | None = None
    """The headline as a function of sums over samples; None if it is the plain mean of the
    samples' scores, on the headline's scale."""
    weighs_scores: bool = False
    """Whether `headline_sums` is a mean of the samples' scores whose weights depend on their groups
    and gold alone."""
    fetch: Callable[[FetchProgress | None], Path] | None = None
    """Downloads data that are not shipped and returns the file's path."""
    extra_roles: tuple[str, ...] = ()
    """Roles of further models that its flows ask, e.g. `clip`; an `extractor` is always allowed."""
    judges_see_media: bool = False
    """Whether a prompt of its judges shows the images or frames of the question."""
    own_roles: Mapping[str, Callable[[], Model]] = field(default_factory=dict)
    """Models that it brings itself, by role, such as one that runs programs: each is opened when a
    run begins, and its outputs are stored like those of others."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Options: name to allowed values, the default first."""
    rules: tuple[str, ...] = ("snellen",)
    """Tools whose parsing rules it offers."""
    failures: str = "exclude"
    """How failed and missing samples affect scores where the variant leaves it to the rule."""
    reads_errors: bool = False
    """Whether a recorded error message is scored like a reply."""
    max_new_tokens: int = 512
    few_shot_pool: str = ""
    """Where few-shot examples outside the questions come from: a value of the option `split`, or a
    data file or set; "" if none is published."""
    notice: str = ""
    """What a reader of the number must know, e.g. that another tool uses the name for something
    else."""
    few_shot_info: Callable[[], FewShotInfo] | None = None
    """The few-shot examples before each question, if any (`shots=k`). Reads the data."""


FewShotSelector = Callable[[Kind], Sequence[Sample]]
"""Returns the few-shot examples for questions of a kind, in prompt order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a benchmark is built: options of its name (`eyechart:split=photos`) and of the run."""

    options: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    """A data file of the user's own in place of the declared source."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the user's data file: our name to theirs."""
    circular: str | None = None
    """`off`, `early` (stop at the first failed pass) or `full` (ask every pass); None leaves it
    to the benchmark."""
    extractor: bool = False
    """Whether replies that no rule can parse go to the role `extractor`."""
    judges: int = 0
    """Number of judge roles (`judge`, `judge-2`, ...)."""
    judge_repeats: int = 1
    """Times each judge is asked for each verdict, with the same prompt."""
    recorded_verdicts: bool = False
    """Whether the judges' verdicts are recorded in a file: they cost nothing, and take precedence
    over parsing rules."""
    judge_prompt: str = ""
    """The user's TOML file with other words for the judges' prompts; empty: the stored prompts."""
    clip: bool = False
    """Whether the role `clip` is available to compare images."""
    max_new_tokens: int | None = None
    rule: str | None = None
    """Tool whose parsing rules apply: `snellen`, `vlmevalkit`, `lmms-eval` or `official`; None leaves
    it to the benchmark."""
    control: str | None = None
    """`blind` (no image), `black`, `blur[:PERCENT]`, `wrong-image[:SEED]` or
    `shuffled-options[:SEED]`: controls for how much a score depends on the images, or on the
    order of options."""
    system: str | None = None
    """A system prompt before everything that the measured model is asked."""
    failures: str | None = None
    """How failed and missing samples affect scores: `exclude`, `count-wrong`, `withhold`,
    `withhold>5%` (only if more than that fraction of samples failed), or `as-reply` (an error
    message counts as a reply; missing samples are left out). None: as the tool does whose rule
    applies, and `exclude` by Snellen's."""
    shots: FewShotSelector | None = None
    """Selects the few-shot examples that the options request; set by `open_benchmark`."""

    ignore_columns: Sequence[str] = ()
    """Columns of the user's data file that are not read."""

    def __post_init__(self) -> None:
        if self.ignore_columns:
            columns = {**self.columns, IGNORED: "+".join(self.ignore_columns)}
            object.__setattr__(self, "columns", columns)


BenchmarkFactory = Callable[[Variant], Benchmark]


def final_summary(benchmark: Benchmark, records: Sequence[Record], examples: FewShotInfo | None = None) -> Summary:
    """Summarise records.

    Adds the declared chance level (non-circular runs), the reason if there is no score, how many
    questions were set aside as `examples`, and how many empty replies were scored as right.
    """
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
    """How many empty replies the parsing rule scored as right; empty if none."""
    draws = [draw for record in records for draw in (draws_of(record) if record.repeats else (record,))]
    count = sum([credits_empty_reply(draw.score, draw.passes) for draw in draws if draw.score])
    if not count:
        return ""
    rule = benchmark.parameters.get("rule") or benchmark.parameters.get("reading", "")
    of = "samples" if len(draws) == len(records) else "draws"
    have = "has" if count == 1 else "have"
    notice = f"{count} of {len(draws)} {of} {have} an empty reply that is scored as right"
    return f"{notice}: so does the rule {rule}" if rule else notice
