"""Families that need no code of their own: a TOML file, such as `perception/realworldqa.toml`.

    version = "4"
    title = "RealWorldQA, space in photographs"
    paper = "https://x.ai/news/grok-1.5v"
    source = "RealWorldQA of xAI (CC BY-ND 4.0), as VLMEvalKit's TSV"
    coverage = "exact"
    files = [{ url = "https://opencompass.openxlab.space/.../RealWorldQA.tsv", md5 = "4de0..." }]

The file's name is the benchmark's. Choices and yes/no are read as everywhere in Snellen, and open
answers are compared by the formula that `rules` names. Where the authors' rule is of another type,
nothing is scored: replies are kept, and `unscored` says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import DataSource, Declaration, Headline, Video
from snellen.benchmarks.declaration.described import DescribedBenchmark, TemplateStrings, read_fields
from snellen.benchmarks.declaration.judged import ACCURACY
from snellen.benchmarks.declaration.open_questions import against_gold, open_answers, open_rules
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.published_parts import PublishedParts
from snellen.benchmarks.declaration.rows import AdjustSample
from snellen.benchmarks.declaration.scoring import RuleScoring, choices
from snellen.benchmarks.declaration.units import summarise_units, unit_sums
from snellen.benchmarks.declaration.video_questions import adjust_choice, group_mean
from snellen.benchmarks.declaration.videos import VIDEO_TEMPLATE
from snellen.benchmarks.protocol.flows import EQUALITY
from snellen.benchmarks.protocol.parsers import OFFICIAL, OWN, PARSERS, VLMEVALKIT, ParserSet, Rule
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.benchmark import requires
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.data.download import RemoteFile
from snellen.extract.open_text import parse_final
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate
from snellen.scoring.accuracy import score_notices
from snellen.scoring.grouped import interval_of_mean, sums_by_label


def summarise_sections(
    column: str, sections: Mapping[str, Sequence[str]], context: SummaryContext, records: Sequence[Record]
) -> Summary:
    """The plain summary, with a metric for each section: the plain mean of the accuracies of its
    labels of the grouping `column`, each with the same weight. Without a score for all of its
    labels a section has no number, nor where the headline has none."""
    summary = context.plain(records)
    if summary.headline.value is None:
        unknown = {name: structs.replace(summary.headline, name=name) for name in sections}
        return structs.replace(summary, metrics={**summary.metrics, **unknown})
    sums = sums_by_label(records, column, context.failures)
    metrics = dict(summary.metrics)
    for name, labels in sections.items():
        lacking = [label for label in labels if label not in sums]
        if lacking:
            note = f"no score for {', '.join(lacking)}"
            metrics[name] = Metric(name, None, 0, note=note)
            continue
        parts = [sums[label] for label in labels]
        means = [summary.groups[column][label].value or 0.0 for label in labels]
        n = sum(part.total.n for part in parts)
        metrics[name] = Metric(name, sum(means) / len(means), n, interval_of_mean(parts))
    return structs.replace(summary, metrics=metrics)


TYPE = "type"
NO_RULE = "none"


class FamilyData(Struct, frozen=True, forbid_unknown_fields=True):
    """A data file. Without `url` it has no address that is known to be stable: it is put beside
    the others, or given with `--data`."""

    url: str = ""
    md5: str | None = None
    name: str = ""
    """Empty: as at its address."""
    hub: str = ""
    """The split of the hub that has the rows; where a checksum is given, too, other tools make a
    file of these rows, which is used if it is there."""
    value: str = ""
    """The value of the family's `option` that selects it."""
    alias: str = ""
    """Another tool's name for it."""
    made: str = ""
    """Who makes the file of what, where nobody publishes it."""

    def declared_file(self) -> PublishedFile | HubSplit:
        hub = HubSplit(self.hub) if self.hub else None
        if hub is not None and self.md5 is None:
            return hub
        remote = RemoteFile(urls=(self.url,) if self.url else (), md5=self.md5)
        return PublishedFile(self.name or self.url.rsplit("/", 1)[-1], remote, hub, self.made)


class UnitColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """Questions whose cells in a column begin alike are a unit, right if all of them are."""

    column: str
    headline: str
    length: int | None = None
    """How much of the cell names the unit; None: all of it."""


class DescribedFamily(DescribedBenchmark, Struct, frozen=True, kw_only=True):
    """The fields of a file. An example row, and what is odd in the data, are its comments."""

    version: str
    """Changes whenever a change could move a score."""
    coverage: Literal["exact", "generic type", "inference only"]
    """`Declaration.coverage`."""
    files: tuple[FamilyData, ...]
    option: str = ""
    """Name of the option that chooses the file, where there are several; the first is the
    default."""
    joined: bool = False
    """Whether the files are the parts of one table."""
    held_out: dict[str, str] = {}
    """`Published.held_out`."""
    hidden: tuple[str, ...] = ()
    """`Declaration.hidden_answers`."""
    aliases: tuple[str, ...] = ()
    """Other tools' names, beside those of `files`."""
    named: dict[str, dict[str, str]] = {}
    """Other tools' names with the options that they mean."""
    elsewhere: dict[str, OtherToolName] = {}
    """Names of ours that mean something else in another tool, in lower case."""
    video: bool = False
    columns: dict[str, str] = {}
    """`Published.columns`."""
    unit: UnitColumn | None = None
    """Which questions count together, where that is the headline."""
    mean_over: str = ""
    """The group the mean of whose labels is the headline, each with the same weight."""
    question: str = ""
    """Asked of rows that have none."""
    question_columns: tuple[str, ...] = ()
    """Columns whose texts are the question, one after the other as they stand."""
    rules: dict[Rule, str] = {}
    """By rule, a function of Snellen: a parser of choices, `extract.published.official.parse_x`, or
    a formula that compares an open answer with the gold answers, `scoring.exact.equal_folded`.

    With a formula for `snellen` all questions are open, and the other rules compare by it unless
    they name one; with `kind = "open"` and none for `snellen` it is equality. VLMEvalKit's parser
    of all choices needs no name; `none` for a rule that is not restated here.
    """
    yes_no: dict[Rule, str] = {}
    """By rule, its parser of yes and no, where rows ask for them among choices."""
    beside: dict[str, str] = {}
    """Further formulas of open answers, by the name of their metric."""
    counts_missing: tuple[str, ...] = ()
    """`Declaration.counts_missing`."""
    max_new_tokens: int | None = None
    """Of replies that think first: `Declaration.max_new_tokens`."""
    types: dict[str, str] = {}
    """The type of each label of the first of `groups`: VLMEvalKit's headline is their mean."""
    sections: dict[str, tuple[str, ...]] = {}
    """Metrics that are the mean over several labels of the first of `groups`."""
    unscored: str = ""
    """Why nothing is scored."""


def read_family(path: Path) -> Declaration:
    """The benchmark of a family's file. Raises DataError."""
    family = read_fields(str(path), DescribedFamily)
    return Declaration(
        name=path.stem,
        version=family.version,
        title=family.title,
        paper=family.paper,
        provenance=family.source,
        data=_data(path.stem, family),
        aliases=_aliases(family),
        other_tools=family.elsewhere,
        group_by=family.groups,
        kind=family.kind,
        adjust=_adjust(family),
        question=family.question,
        adjust_row=partial(_join_question, family.question_columns) if family.question_columns else None,
        requires=requires("text") if family.video else requires("text", "image"),
        template=_template(family),
        max_new_tokens=family.max_new_tokens,
        video=Video() if family.video else None,
        scoring=_open_scoring(family) if _is_open(family) else _choice_scoring(family),
        headline=_headline(family),
        rule_headlines={VLMEVALKIT: group_mean("mean_of_types", TYPE)} if family.types else {},
        counts_missing=family.counts_missing,
        hidden_answers=family.hidden,
        unscorable=family.unscored,
        coverage=family.coverage,
    )


def _data(name: str, family: DescribedFamily) -> DataSource:
    if family.joined:
        each = [Published({}, {(): file.declared_file()}, columns=family.columns) for file in family.files]
        return PublishedParts(name=name, parts=each)
    options = {family.option: tuple(file.value for file in family.files)} if family.option else {}
    files: dict[tuple[str, ...], PublishedFile | HubSplit] = {
        (file.value,) if options else (): file.declared_file() for file in family.files
    }
    return Published(options, files, family.held_out, family.columns)


def _aliases(family: DescribedFamily) -> dict[str, Mapping[str, str]]:
    first = {family.option: family.files[0].value} if family.option else {}
    return {
        **dict.fromkeys(family.aliases, first),
        **{file.alias: {family.option: file.value} for file in family.files if file.alias},
        **family.named,
    }


def _template(family: DescribedFamily) -> PromptTemplate | None:
    if family.prompt == TemplateStrings():
        return VIDEO_TEMPLATE if family.video else None
    return family.prompt.fill_template(DEFAULT_TEMPLATE)


def _is_open(family: DescribedFamily) -> bool:
    return OWN in family.rules or (family.kind == "open" and bool(set(family.rules.values()) - {NO_RULE}))


def _open_scoring(family: DescribedFamily) -> RuleScoring:
    grades = {rule: against_gold(_function(name)) for rule, name in family.rules.items() if name != NO_RULE}
    rules = open_rules(
        grades.get("snellen", EQUALITY.grade),
        parse=parse_final if OWN in family.rules else EQUALITY.parse,
        official=grades.get("official"),
        vlmevalkit=grades.get("vlmevalkit"),
        secondary={name: against_gold(_function(of)) for name, of in family.beside.items()},
    )
    lacking = {rule for rule, name in family.rules.items() if name == NO_RULE}
    known = set(rules) if OWN in family.rules else {OWN, *family.rules}
    rules = {rule: parsers for rule, parsers in rules.items() if rule in known - lacking}
    return open_answers(family.headline or ACCURACY, rules)


def _choice_scoring(family: DescribedFamily) -> RuleScoring:
    official, vlmevalkit = family.rules.get("official"), family.rules.get("vlmevalkit")
    of_tool: ParserSet | None = PARSERS[VLMEVALKIT]
    if vlmevalkit == NO_RULE:
        of_tool = None
    elif vlmevalkit:
        of_tool = PARSERS[VLMEVALKIT]._replace(choice=_function(vlmevalkit))
    if of_tool and VLMEVALKIT in family.yes_no:
        of_tool = of_tool._replace(yes_no=_function(family.yes_no[VLMEVALKIT]))
    of_authors = ParserSet(_function(official)) if official else None
    if of_authors and OFFICIAL in family.yes_no:
        of_authors = of_authors._replace(yes_no=_function(family.yes_no[OFFICIAL]))
    return choices(official=of_authors, vlmevalkit=of_tool, circular=family.circular)


def _function(name: str) -> Any:
    """A function of Snellen by its module and name."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"snellen.{module}"), function)


def _adjust(family: DescribedFamily) -> AdjustSample | None:
    if family.unscored:
        return _drop_gold
    if family.types:
        return partial(_add_type, family)
    if family.unit:
        return partial(_add_unit, family.unit)
    return adjust_choice if family.video and family.kind == "choice" else None


def _headline(family: DescribedFamily) -> Headline:
    if family.unscored:
        return Headline(summarise=summarise_without_gold)
    if family.sections:
        return Headline(summarise=partial(summarise_sections, family.groups[0], family.sections))
    if family.mean_over:
        return group_mean(f"mean_of_{family.mean_over}s", family.mean_over)
    if family.unit:
        name = family.unit.headline
        return Headline(name=name, summarise=partial(summarise_units, name), sums=unit_sums)
    return Headline()


def summarise_without_gold(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The summary without the notice of missing gold answers: they were left out on purpose."""
    expected = [
        structs.replace(record, unscored=None) if record.unscored == "no_gold" else record for record in records
    ]
    notices = tuple(score_notices(expected, context.failures))
    return structs.replace(context.plain(records), notices=notices)


def _add_type(family: DescribedFamily, sample: Sample, row: Row) -> Sample:
    label = sample.groups.get(family.groups[0], "")
    return structs.replace(sample, groups={**sample.groups, TYPE: family.types.get(label, label)})


def _join_question(columns: Sequence[str], row: Row) -> Row:
    question = "".join(row.cells.get(column, "") for column in columns)
    return structs.replace(row, cells={**row.cells, "question": question})


def _add_unit(unit: UnitColumn, sample: Sample, row: Row) -> Sample:
    return structs.replace(sample, unit=row.cells.get(unit.column, "")[: unit.length])


def _drop_gold(sample: Sample, row: Row) -> Sample:
    """A gold answer that no rule here can compare must not make a number."""
    return structs.replace(sample, gold=())
