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
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Scoring, Video
from snellen.benchmarks.declaration.described import DescribedBenchmark, TemplateStrings, read_fields
from snellen.benchmarks.declaration.described_judge import DescribedJudge, described_judging, judged_headline
from snellen.benchmarks.declaration.open_questions import against_gold, open_answers, open_rules
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.row_layout import RowLayout, keep_cells
from snellen.benchmarks.declaration.rows import AdjustSample
from snellen.benchmarks.declaration.scoring import RuleScoring, choices
from snellen.benchmarks.declaration.video_questions import adjust_choice, group_mean
from snellen.benchmarks.declaration.videos import VIDEO_TEMPLATE
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT, ParserSet, Rule
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.benchmark import requires
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.data.download import RemoteFile
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
    text: bool = False
    """Whether models are asked that see nothing: all questions or some are texts alone."""
    max_new_tokens: int | None = None
    """Longest reply in tokens."""
    layout: RowLayout = RowLayout()
    """Where the parts of a question stand in the authors' files."""
    keep: tuple[str, ...] = ()
    """Cells that are kept with a sample, for rubrics of judges."""
    question: str = ""
    """Asked of rows that have none."""
    rules: dict[Rule, str] = {}
    """By rule, a function of Snellen: a parser of choices, `extract.published.official.parse_x`, or
    a formula that compares an open answer with the gold answers, `scoring.exact.equal_folded`.

    With a formula for `snellen` all questions are open, and the other rules compare by it unless
    they name one. VLMEvalKit's parser of all choices needs no name; `none` if it has another that
    is not restated here.
    """
    parse: dict[Rule, str] = {}
    """By rule, the function that parses replies to open questions, `extract.open_text.parse_open`."""
    judges: tuple[DescribedJudge, ...] = ()
    """What judges are asked about each reply, in place of `rules`."""
    refused: float | None = None
    """Score of a reply that a content filter withheld, where judges count refusals."""
    beside: dict[str, str] = {}
    """Further formulas of open answers, by the name of their metric."""
    oracle: float = 100.0
    """`Declaration.oracle`: 0 where the data hold no gold answers."""
    check: str = ""
    """`Declaration.check`, a function of Snellen."""
    counts_missing: tuple[str, ...] = ()
    """`Declaration.counts_missing`."""
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
        data=_data(family),
        aliases=_aliases(family),
        other_tools=family.elsewhere,
        group_by=family.groups,
        kind=family.kind,
        adjust=_adjust(family),
        question=family.question,
        requires=requires("text") if family.video or family.text else requires("text", "image"),
        template=_template(family),
        video=Video() if family.video else None,
        adjust_row=family.layout.read if family.layout != RowLayout() else None,
        max_new_tokens=family.max_new_tokens,
        scoring=_scoring(family),
        headline=_headline(family),
        rule_headlines={VLMEVALKIT: group_mean("mean_of_types", TYPE)} if family.types else {},
        counts_missing=family.counts_missing,
        check=_function(family.check) if family.check else None,
        hidden_answers=family.hidden,
        unscorable=family.unscored,
        oracle=family.oracle,
        coverage=family.coverage,
    )


def _data(family: DescribedFamily) -> Published:
    options = {family.option: tuple(file.value for file in family.files)} if family.option else {}
    files: dict[tuple[str, ...], PublishedFile | HubSplit] = {
        (file.value,) if options else (): file.declared_file() for file in family.files
    }
    return Published(options, files, family.held_out)


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


def _scoring(family: DescribedFamily) -> Scoring:
    if family.judges:
        return described_judging(family.judges, _template(family), family.refused)
    return _open_scoring(family) if OWN in family.rules else _choice_scoring(family)


def _open_scoring(family: DescribedFamily) -> RuleScoring:
    grades = {rule: against_gold(_function(name)) for rule, name in family.rules.items()}
    rules = open_rules(
        grades["snellen"],
        official=grades.get("official"),
        vlmevalkit=grades.get("vlmevalkit"),
        secondary={name: against_gold(_function(of)) for name, of in family.beside.items()},
    )
    for rule, name in family.parse.items():
        rules[rule] = rules[rule]._replace(open=replace(rules[rule].open, parse=_function(name)))
    if family.text:
        return RuleScoring(rules={rule: rules[rule] for rule in family.rules}, metric=family.headline, kind="open")
    return open_answers(family.headline, rules)


def _choice_scoring(family: DescribedFamily) -> RuleScoring:
    official, vlmevalkit = family.rules.get("official"), family.rules.get("vlmevalkit")
    of_tool: ParserSet | None = PARSERS[VLMEVALKIT]
    if vlmevalkit == NO_RULE:
        of_tool = None
    elif vlmevalkit:
        of_tool = PARSERS[VLMEVALKIT]._replace(choice=_function(vlmevalkit))
    return choices(
        official=ParserSet(_function(official)) if official else None, vlmevalkit=of_tool, circular=family.circular
    )


def _function(name: str) -> Any:
    """A function of Snellen by its module and name."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"snellen.{module}"), function)


def _adjust(family: DescribedFamily) -> AdjustSample | None:
    if family.unscored:
        return _drop_gold
    if family.types:
        return partial(_add_type, family)
    if family.keep:
        return partial(keep_cells, family.keep)
    return adjust_choice if family.video and family.kind == "choice" else None


def _headline(family: DescribedFamily) -> Headline:
    if family.unscored:
        return Headline(summarise=summarise_without_gold)
    if family.judges:
        return judged_headline(family.judges, family.headline)
    if family.sections:
        return Headline(summarise=partial(summarise_sections, family.groups[0], family.sections))
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


def _drop_gold(sample: Sample, row: Row) -> Sample:
    """A gold answer that no rule here can compare must not make a number."""
    return structs.replace(sample, gold=())
