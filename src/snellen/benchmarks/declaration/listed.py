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

from snellen.benchmarks.declaration.listed_rules import OwnRules, own_rules
from snellen.benchmarks.declaration.open_questions import on_golds
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.declaration.rows import GROUP_COLUMNS, Shape
from snellen.benchmarks.declaration.toml import METRICS
from snellen.benchmarks.declaration.video_questions import choice_sample, video_table
from snellen.benchmarks.declaration.videos import WORDING, watching_of, with_video
from snellen.benchmarks.protocol.flows import EQUALITY, Circular, OpenRule
from snellen.benchmarks.protocol.parsers import OWN, READERS, VLMEVALKIT, Readers, known_rules
from snellen.core.benchmark import Benchmark, Table, Variant, needs
from snellen.core.model import Modality
from snellen.core.record import Record
from snellen.core.sample import Kind, Row, Sample
from snellen.core.summary import Summary
from snellen.data.download import Remote
from snellen.extract.published.listed import (
    BESIDE,
    phyx_given_gold,
    read_medxpertqa,
    read_mmsi,
    read_phyx,
    read_spatial457,
)
from snellen.extract.published.vlmevalkit_own import read_first_capital
from snellen.prompts.choice import DEFAULT
from snellen.scoring.accuracy import FailurePolicy, notices
from snellen.scoring.phyx import equal_phyx
from snellen.scoring.spatial457 import equal_spatial457

VERSION = "6"
_FILE = "listed.toml"
_OFFICIAL: Mapping[str, Readers | None] = {
    "none": None,
    "mmsi": READERS[OWN]._replace(choice=read_mmsi),
    "medxpertqa": READERS[OWN]._replace(choice=read_medxpertqa),
}
_VLMEVALKIT: Mapping[str, Readers | None] = {
    "generic": READERS[VLMEVALKIT],
    "phyx": READERS[VLMEVALKIT]._replace(
        given_gold=phyx_given_gold,
        open=OpenRule(read_phyx, on_golds(partial(equal_phyx, beside=BESIDE))),
    ),
    "spatial457": READERS[VLMEVALKIT]._replace(
        open=OpenRule(read_spatial457, on_golds(equal_spatial457))
    ),
    "first-capital": READERS[VLMEVALKIT]._replace(choice=read_first_capital),
    "none": None,
}


class File(Struct, frozen=True, forbid_unknown_fields=True):
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
        return PublishedFile(self.name, Remote(urls=urls, md5=self.md5), hub, self.made)


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """What the list says about one benchmark."""

    title: str
    paper: str
    source: str
    coverage: Literal["exact", "generic type", "inference only"]
    files: tuple[File, ...]
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


class Listed:
    """The factory of one entry. `aliases` are its names in other tools."""

    def __init__(self, name: str, entry: Entry) -> None:
        self.name, self.entry = name, entry
        first = {entry.option: entry.files[0].value} if entry.option else {}
        self.aliases: Mapping[str, Mapping[str, str]] = {
            **dict.fromkeys(entry.aliases, first),
            **{one.alias: {entry.option: one.value} for one in entry.files if one.alias},
            **entry.named,
        }

    def __call__(self, variant: Variant) -> Benchmark:
        if not self.entry.video:
            return self._made(variant, partial(self._data().table, variant))
        rest, watching = watching_of(variant)
        made = self._made(rest, partial(video_table, rest, self._data(), self.name))
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

    def _made(self, variant: Variant, open: Callable[[], Table]) -> Benchmark:
        entry, data, own = self.entry, self._data(), self._rules()
        inputs: tuple[Modality, ...] = ("text",) if entry.video else ("text", "image")
        made = question_benchmark(
            variant,
            name=self.name,
            version=VERSION,
            title=entry.title,
            open=open,
            fetch=partial(data.fetch, variant),
            options=data.options,
            needs=needs(*inputs, many_images=entry.many_images),
            keep=self._kept if entry.skip else None,
            kind=entry.kind,
            shape=own.shape or self._shape(),
            question=entry.question,
            groups=entry.groups,
            rules=own.rules,
            wording=WORDING if entry.video else DEFAULT,
            metric=own.metric,
            circular_default=entry.circular,
            paper=entry.paper,
            source=entry.source,
        )
        if entry.unscored:
            failures = failures_of(variant)
            made = replace(made, summarise=partial(_no_gold_lost, made.summarise, failures))
        return replace(
            made,
            coverage=entry.coverage,
            unscorable=entry.unscored,
            oracle=None if entry.unscored else 100.0,
        )

    def _rules(self) -> OwnRules:
        entry, metric = self.entry, METRICS[self.entry.metric]
        if entry.rules:
            return own_rules(entry.rules)
        known = known_rules(_OFFICIAL[entry.official], _VLMEVALKIT[entry.vlmevalkit])
        graded = OpenRule(metric.read, metric.grade)
        # A rule with a grade of its own keeps it; the others grade by the entry's metric.
        rules = {
            name: one if one.open is not EQUALITY else one._replace(open=graded)
            for name, one in known.items()
        }
        return OwnRules(entry.metric, rules)

    def _shape(self) -> Shape | None:
        if self.entry.unscored:
            return _without_gold
        return choice_sample if self.entry.video and self.entry.kind == "choice" else None

    def _kept(self, row: Row) -> bool:
        return all(row.cells.get(column) != value for column, value in self.entry.skip.items())


def _no_gold_lost(
    summarise: Callable[[Sequence[Record]], Summary],
    failures: FailurePolicy,
    records: Sequence[Record],
) -> Summary:
    """The summary without the notice of golds that are not there: they were left out here."""
    asked = [
        structs.replace(one, unscored=None) if one.unscored == "no_gold" else one for one in records
    ]
    return structs.replace(summarise(records), notices=tuple(notices(asked, failures)))


def _without_gold(sample: Sample, row: Row) -> Sample:
    """A gold that no rule here can compare must not make a number."""
    return structs.replace(sample, gold=())


@functools.cache
def listed() -> Mapping[str, Entry]:
    text = (files("snellen.benchmarks") / "data" / _FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Entry])


def __getattr__(name: str) -> Listed:
    """The factory of an entry, by its name with underscores."""
    for known, entry in listed().items():
        if known.replace("-", "_") == name:
            return Listed(known, entry)
    raise AttributeError(f"{_FILE} has no entry {name!r}")
