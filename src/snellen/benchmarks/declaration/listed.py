"""Benchmarks that are a file, a kind of question and a rule: listed in `data/listed.toml`.

One example entry: `[mmcr]` with title, paper, source, kind "choice", circular "early", coverage
"generic type" and one file. Each name is an entry point of its own, `listed:mmcr`.

Their rules are generic: choices and yes/no as everywhere in Snellen, open answers by the metric
that the entry names (see `described.METRICS`). Where the authors' rule is of another type, nothing
is scored: replies are kept, and `unscored` says what is missing. Oddities are those of the files.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct, structs

from snellen.benchmarks.declaration.listed_rules import ListedRules, listed_rules
from snellen.benchmarks.declaration.open_questions import against_gold
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, AdjustSample
from snellen.benchmarks.declaration.toml import METRICS
from snellen.benchmarks.declaration.video_questions import adjust_choice, video_table
from snellen.benchmarks.declaration.videos import VIDEO_TEMPLATE, split_video_options, with_video
from snellen.benchmarks.protocol.flows import EQUALITY, Circular, OpenScoring
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT, ParserSet, rules_of
from snellen.core.benchmark import Benchmark, Table, Variant, requires
from snellen.core.model import Modality
from snellen.core.record import Record
from snellen.core.sample import Kind, Row, Sample
from snellen.core.summary import Summary
from snellen.data.download import RemoteFile
from snellen.extract.published.listed import (
    REPLY_SEPARATOR,
    parse_medxpertqa,
    parse_mmsi,
    parse_phyx,
    parse_spatial457,
    phyx_choice_parser,
)
from snellen.extract.published.vlmevalkit_own import parse_first_capital
from snellen.prompts.choice import DEFAULT_TEMPLATE
from snellen.scoring.accuracy import FailurePolicy, score_notices
from snellen.scoring.phyx import equal_phyx
from snellen.scoring.spatial457 import equal_spatial457

VERSION = "6"
_FILE = "listed.toml"
_OFFICIAL: Mapping[str, ParserSet | None] = {
    "none": None,
    "mmsi": PARSERS[OWN]._replace(choice=parse_mmsi),
    "medxpertqa": PARSERS[OWN]._replace(choice=parse_medxpertqa),
}
_VLMEVALKIT: Mapping[str, ParserSet | None] = {
    "generic": PARSERS[VLMEVALKIT],
    "phyx": PARSERS[VLMEVALKIT]._replace(
        choice_with_gold=phyx_choice_parser,
        open=OpenScoring(parse_phyx, against_gold(partial(equal_phyx, separator=REPLY_SEPARATOR))),
    ),
    "spatial457": PARSERS[VLMEVALKIT]._replace(
        open=OpenScoring(parse_spatial457, against_gold(equal_spatial457))
    ),
    "first-capital": PARSERS[VLMEVALKIT]._replace(choice=parse_first_capital),
    "none": None,
}


class ListedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A data file; `value` is the option's value that means it, `alias` another tool's name."""

    name: str
    url: str = ""
    md5: str | None = None
    hub: str = ""
    value: str = ""
    alias: str = ""
    made: str = ""
    """Who makes the file of what, where nobody publishes it."""

    def published(self) -> PublishedFile | HubSplit:
        """With a checksum, a file that other tools make of the rows on the hub wins over these."""
        hub = HubSplit(self.hub) if self.hub else None
        if hub is not None and self.md5 is None:
            return hub
        urls = (self.url,) if self.url else ()
        return PublishedFile(self.name, RemoteFile(urls=urls, md5=self.md5), hub, self.made)


class ListedEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What the list says about one benchmark."""

    title: str
    paper: str
    source: str
    coverage: Literal["exact", "generic type", "inference only"]
    files: tuple[ListedFile, ...]
    option: str = ""
    """Name of the option that chooses the file, where there are several."""
    kind: Kind | None = None
    """Of all rows; None where each tells its own."""
    metric: str = "accuracy"
    """Of open answers."""
    rules: str = ""
    """Of `listed_rules`, where open answers are graded by rules of their own."""
    groups: tuple[str, ...] = GROUP_COLUMNS
    aliases: tuple[str, ...] = ()
    named: dict[str, dict[str, str]] = {}
    """Other tools' names with the options that they mean."""
    circular: Circular = "off"
    many_images: bool = False
    video: bool = False
    question: str = ""
    """Asked of rows that have none."""
    skip: dict[str, str] = {}
    """Rows whose cells have these values are left out."""
    unscored: str = ""
    """Why nothing is scored."""
    vlmevalkit: Literal["generic", "first-capital", "phyx", "spatial457", "none"] = "generic"
    """VLMEvalKit's rule: that for all choices and yes/no replies, one of its own, or one that is
    not restated here."""
    official: Literal["none", "mmsi", "medxpertqa"] = "none"
    """The reader in the authors' repository, where there is one."""


class ListedFactory:
    """The factory of one entry. `aliases` are its names in other tools."""

    def __init__(self, name: str, entry: ListedEntry) -> None:
        self.name, self.entry = name, entry
        first = {entry.option: entry.files[0].value} if entry.option else {}
        self.aliases: Mapping[str, Mapping[str, str]] = {
            **dict.fromkeys(entry.aliases, first),
            **{one.alias: {entry.option: one.value} for one in entry.files if one.alias},
            **entry.named,
        }

    def __call__(self, variant: Variant) -> Benchmark:
        if not self.entry.video:
            return self._build(variant, partial(self._data().table, variant))
        rest, watching = split_video_options(variant)
        made = self._build(rest, partial(video_table, rest, self._data(), self.name))
        return with_video(made, watching)

    @property
    def published(self) -> Published:
        """The files of the entry."""
        return self._data()

    def _data(self) -> Published:
        entry = self.entry
        if not entry.option:
            return Published({}, {(): entry.files[0].published()})
        values = tuple(one.value for one in entry.files)
        return Published(
            {entry.option: values}, {(one.value,): one.published() for one in entry.files}
        )

    def _build(self, variant: Variant, open: Callable[[], Table]) -> Benchmark:
        entry, data, rules = self.entry, self._data(), self._rules()
        inputs: tuple[Modality, ...] = ("text",) if entry.video else ("text", "image")
        benchmark = question_benchmark(
            variant,
            name=self.name,
            version=VERSION,
            title=entry.title,
            open=open,
            fetch=partial(data.fetch, variant),
            options=data.options,
            requires=requires(*inputs, many_images=entry.many_images),
            keep=self._keeps if entry.skip else None,
            kind=entry.kind,
            adjust=rules.adjust or self._adjust(),
            question=entry.question,
            groups=entry.groups,
            rules=rules.rules,
            template=VIDEO_TEMPLATE if entry.video else DEFAULT_TEMPLATE,
            metric=rules.metric,
            circular_default=entry.circular,
            paper=entry.paper,
            source=entry.source,
        )
        if entry.unscored:
            failures = failures_of(variant)
            benchmark = replace(
                benchmark, summarise=partial(_summarise_without_gold, benchmark.summarise, failures)
            )
        return replace(
            benchmark,
            coverage=entry.coverage,
            unscorable=entry.unscored,
            oracle=None if entry.unscored else 100.0,
        )

    def _rules(self) -> ListedRules:
        entry, metric = self.entry, METRICS[self.entry.metric]
        if entry.rules:
            return listed_rules(entry.rules)
        known = rules_of(_OFFICIAL[entry.official], _VLMEVALKIT[entry.vlmevalkit])
        graded = OpenScoring(metric.parse, metric.grade)
        # A rule with a grade of its own keeps it; the others grade by the entry's metric.
        rules = {
            name: one if one.open is not EQUALITY else one._replace(open=graded)
            for name, one in known.items()
        }
        return ListedRules(entry.metric, rules)

    def _adjust(self) -> AdjustSample | None:
        if self.entry.unscored:
            return _drop_gold
        return adjust_choice if self.entry.video and self.entry.kind == "choice" else None

    def _keeps(self, row: Row) -> bool:
        return all(row.cells.get(column) != value for column, value in self.entry.skip.items())


def _summarise_without_gold(
    summarise: Callable[[Sequence[Record]], Summary],
    failures: FailurePolicy,
    records: Sequence[Record],
) -> Summary:
    """The summary without the notice of golds that are not there: they were left out here."""
    gold_not_expected = [
        structs.replace(one, unscored=None) if one.unscored == "no_gold" else one for one in records
    ]
    return structs.replace(
        summarise(records), notices=tuple(score_notices(gold_not_expected, failures))
    )


def _drop_gold(sample: Sample, row: Row) -> Sample:
    """A gold that no rule here can compare must not make a number."""
    return structs.replace(sample, gold=())


@functools.cache
def listed_entries() -> Mapping[str, ListedEntry]:
    text = (files("snellen.benchmarks") / "data" / _FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ListedEntry])


def __getattr__(name: str) -> ListedFactory:
    """The factory of an entry, by its name with underscores."""
    for known, entry in listed_entries().items():
        if known.replace("-", "_") == name:
            return ListedFactory(known, entry)
    raise AttributeError(f"{_FILE} has no entry {name!r}")
