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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import DataSource, Declaration, Headline, Options, Scoring, Video
from snellen.benchmarks.declaration.described import DescribedBenchmark, TemplateStrings, named_function, read_fields
from snellen.benchmarks.declaration.described_judge import DescribedJudge, described_judging, judged_headline
from snellen.benchmarks.declaration.joined_files import ALL, PART, JoinedFiles
from snellen.benchmarks.declaration.judged import ACCURACY, judges_alone
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.record_fields import FIELD_F1, plain_headline, record_headline
from snellen.benchmarks.declaration.row_layout import RowLayout, keep_cells
from snellen.benchmarks.declaration.rows import AdjustSample, compose_adjustments, rows_to_samples
from snellen.benchmarks.declaration.scoring import MAX_PAGE_TOKENS, RuleScoring, choices, place_questions
from snellen.benchmarks.declaration.units import summarise_units, unit_sums
from snellen.benchmarks.declaration.video_questions import (
    adjust_choice,
    answered_sums,
    group_mean,
    nested_weights,
    summarise_answered,
)
from snellen.benchmarks.declaration.videos import VIDEO_TEMPLATE
from snellen.benchmarks.protocol.flows import EQUALITY, OpenScoring, against_gold
from snellen.benchmarks.protocol.parsers import LMMS_EVAL, OFFICIAL, OWN, PARSERS, VLMEVALKIT, ParserSet, Rule
from snellen.benchmarks.protocol.yes_no_scores import MatchProtocol, summarise_matches
from snellen.core.benchmark import requires
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.extract.open_text import parse_final, parse_raw
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate, prompt
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
_WITH_GOLD = "_parser"


class FamilyData(Struct, frozen=True, forbid_unknown_fields=True):
    """A data file. Without `url` it has no address that is known to be stable: it is put beside
    the others, or given with `--data`."""

    url: str = ""
    md5: str | None = None
    name: str = ""
    """Empty: as at its address."""
    numbers: tuple[int, int] | None = None
    """The first and the last number of files that are numbered, where `{}` stands in address and name."""
    hub: str = ""
    """The split of the hub that has the rows; where a checksum is given, too, other tools make a
    file of these rows, which is used if it is there."""
    value: str = ""
    """The value of the family's `option` that selects it."""
    alias: str = ""
    """Another tool's name for it."""
    made: str = ""
    """Who makes the file of what, where nobody publishes it."""
    parts: dict[str, str] = {}
    """JSON files below `url` that are joined, by the label of `part_column`."""
    part_column: str = ""
    videos: str = ""
    """Folder of the videos of a part, `{}` being the name of its file."""

    def list_files(self) -> list[FamilyData]:
        """The files one by one."""
        if self.numbers is None:
            return [self]
        first, last = self.numbers
        every = range(first, last + 1)
        return [structs.replace(self, url=self.url.format(n), name=self.name.format(n)) for n in every]

    def declared_file(self) -> PublishedFile | HubSplit:
        if self.parts:
            return PublishedFile(self.name, RemoteFile(urls=()), self._joined_parts())
        hub = HubSplit(self.hub) if self.hub else None
        if hub is not None and self.md5 is None:
            return hub
        remote = RemoteFile(urls=(self.url,) if self.url else (), md5=self.md5)
        return PublishedFile(self.name or self.url.rsplit("/", 1)[-1], remote, hub, self.made)

    def _joined_parts(self) -> JsonParts:
        def part(label: str, file: str) -> JsonPart:
            folder = self.videos.format(file.removesuffix(".json"))
            return JsonPart(f"{self.url}/{file}", {self.part_column: label, "prefix": folder})

        return JsonParts(self.name, self.url, tuple(part(*both) for both in self.parts.items()))


class UnitColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """Questions whose cells in a column begin alike are a unit, right if all of them are."""

    column: str
    headline: str
    length: int | None = None
    """How much of the cell names the unit; None: all of it."""


class RowSelection(Struct, frozen=True, forbid_unknown_fields=True):
    """An option that asks the rows with one cell of a column, where one file has several parts."""

    option: str
    column: str
    values: dict[str, str]
    """By value of the option the cell, compared without blanks, `-`, `_` and case; empty: all rows.
    The first value is the default."""

    def keeps(self, row: Row, options: Options) -> bool:
        """Whether a row belongs to the part that is asked."""
        wanted = _bare(self.values[options[self.option]])
        return not wanted or _bare(row.cells.get(self.column, "")) == wanted


def _bare(cell: str) -> str:
    return cell.translate(str.maketrans("", "", " -_")).casefold()


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
    """Whether the files are the parts of one table; with an `option`, whether its default is all of
    them, one after the other: the value `all`."""
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
    video: bool | dict[str, str] = False
    """Whether rows name videos; or that they do, with the defaults of the options of `videos`."""
    video_columns: dict[str, str] = {}
    """`Video.columns`."""
    text: bool = False
    """Whether models are asked that see nothing: all questions or some are texts alone."""
    max_new_tokens: int | None = None
    """Longest reply in tokens."""
    layout: RowLayout = RowLayout()
    """Where the parts of a question stand in the authors' files."""
    keep: tuple[str, ...] = ()
    """Cells that are kept with a sample, for rubrics of judges."""
    columns: dict[str, str] = {}
    """`Published.columns`."""
    select: RowSelection | None = None
    """An option that asks a part of the rows."""
    left_out: dict[str, str] = {}
    """By column, what cells of rows hold that are not asked."""
    unit: UnitColumn | None = None
    """Which questions count together, where that is the headline."""
    question: str = ""
    """Asked of rows that have none."""
    question_columns: tuple[str, ...] = ()
    """Columns whose texts are the question, one after the other as they stand."""
    rules: dict[Rule, str] = {}
    """By rule, a function of Snellen: a parser of choices, `extract.published.official.parse_x`, or
    a formula that compares an open answer with the gold answers, `scoring.exact.equal_folded`. A
    parser whose name ends in `_parser` is made of the gold answers.

    With a formula for `snellen` all questions are open, and the other rules compare by it unless
    they name one; with `kind = "open"` and none for `snellen` it is equality. VLMEvalKit's parser
    of all choices needs no name; `none` for a rule that is not restated here.
    """
    open_rules: dict[Rule, str] = {}
    """By rule, a formula for open questions among choices, in place of that of all benchmarks."""
    parse: dict[Rule, str] = {}
    """By rule, the function that parses replies to open questions, `extract.open_text.parse_open`."""
    judges: tuple[DescribedJudge, ...] = ()
    """What judges are asked about each reply, in place of `rules`."""
    match: str = ""
    """A rubric of Video-ChatGPT's protocol, in place of `judges`: a verdict is yes or no, and how well
    the reply matches, 0 to 5."""
    refused: float | None = None
    """Score of a reply that a content filter withheld, where judges count refusals."""
    yes_no: dict[Rule, str] = {}
    """By rule, its parser of yes and no, where rows ask for them among choices."""
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
    mean_over: str = ""
    """A column: the headline is the mean of the accuracies of its labels."""
    merged: dict[str, str] = {}
    """Labels of `mean_over` that count together as one, to its name."""
    plain_by: tuple[Rule, ...] = ()
    """Rules of tools whose headline is the plain mean all the same."""
    answered_by: tuple[Rule, ...] = ()
    """Rules of tools whose headline is over the replies that they can parse."""
    unit_tests: bool = False
    """Whether the gold answers list unit tests of a page (`scoring.pages.unit_tests`). A rule then names a
    `PageRule` of `protocol.page_grading`, as in benchmarks of the kind `page`."""
    unscored: str = ""
    """Why nothing is scored."""

    def merged_label(self, label: str) -> str:
        return self.merged.get(label, label)

    def keeps(self, row: Row, options: Options) -> bool:
        """Whether a row is asked under these options."""
        selected = self.select is None or self.select.keeps(row, options)
        return selected and not any(text in row.cells.get(column, "") for column, text in self.left_out.items())


def read_family(path: Path) -> Declaration:
    """The benchmark of a family's file. Raises DataError."""
    family = read_fields(str(path), DescribedFamily)
    declaration = Declaration(
        name=path.stem,
        version=family.version,
        title=family.title,
        paper=family.paper,
        provenance=family.source,
        data=_data(family, path.stem),
        aliases=_aliases(family),
        other_tools=family.elsewhere,
        group_by=family.groups,
        kind=family.kind,
        samples=partial(_samples, family) if family.layout.questions else None,
        adjust=_adjust(family),
        question=family.question,
        options={family.select.option: tuple(family.select.values)} if family.select else {},
        keep=family.keeps if family.select or family.left_out else None,
        requires=requires("text") if family.video or family.text else requires("text", "image"),
        template=_template(family),
        adjust_row=_adjust_row(family),
        max_new_tokens=family.max_new_tokens,
        response_schema=family.schema_text(str(path)),
        video=_video(family),
        scoring=_scoring(family),
        headline=_headline(family),
        rule_headlines=_rule_headlines(family),
        counts_missing=family.counts_missing,
        check=named_function(family.check) if family.check else None,
        hidden_answers=family.hidden,
        unscorable=family.unscored,
        oracle=family.oracle,
        coverage=family.coverage,
    )
    if family.kind != "page":
        return declaration
    from snellen.benchmarks.declaration.page_summary import with_formulas

    return with_formulas(declaration, {rule: named_function(name) for rule, name in family.rules.items()})


def _data(family: DescribedFamily, name: str) -> DataSource:
    files = tuple(one for file in family.files for one in file.list_files())
    option = family.option or (PART if family.joined else "")
    values = tuple(file.value if family.option else str(place) for place, file in enumerate(files))
    declared: dict[tuple[str, ...], PublishedFile | HubSplit] = {
        (value,) if option else (): file.declared_file() for value, file in zip(values, files, strict=True)
    }
    published = Published({option: values} if option else {}, declared, family.held_out, family.columns)
    if not family.joined:
        return published
    return JoinedFiles(name=name, option=option, values=(ALL, *values) if family.option else (), published=published)


def _aliases(family: DescribedFamily) -> dict[str, Mapping[str, str]]:
    first = {family.option: ALL if family.joined else family.files[0].value} if family.option else {}
    return {
        **dict.fromkeys(family.aliases, first),
        **{file.alias: {family.option: file.value} for file in family.files if file.alias},
        **family.named,
    }


def _template(family: DescribedFamily) -> PromptTemplate | None:
    if family.video:
        return family.prompt.fill_template(VIDEO_TEMPLATE)
    return None if family.prompt == TemplateStrings() else family.prompt.fill_template(DEFAULT_TEMPLATE)


def _video(family: DescribedFamily) -> Video | None:
    if not family.video:
        return None
    return Video(defaults=family.video if isinstance(family.video, dict) else {}, columns=family.video_columns)


def _samples(family: DescribedFamily, rows: Iterable[Row]) -> Iterator[Sample]:
    """The samples of rows that list the questions about a video."""
    return rows_to_samples(
        family.layout.rows(rows),
        groups=family.groups,
        path=getattr(rows, "path", "the data"),
        kind=family.kind,
        keep=family.layout.keeps,
        adjust=_adjust(family),
        adjust_row=family.layout.read,
    )


def _scoring(family: DescribedFamily) -> Scoring:
    if family.match:
        matches = MatchProtocol(
            rubric=family.match, build_messages=partial(prompt, template=_template(family) or VIDEO_TEMPLATE)
        )
        return judges_alone(matches, max_judge_tokens=128)
    if family.judges:
        return described_judging(family.judges, _template(family), family.refused)
    if family.kind == "fields":
        return _record_scoring(family)
    if family.kind == "page" or family.unit_tests:
        return _page_scoring(family)
    if family.place:
        return place_questions(family.place, "" if family.mean_over else family.headline)
    return _open_scoring(family) if _is_open(family) else _choice_scoring(family)


def _is_open(family: DescribedFamily) -> bool:
    return OWN in family.rules or (family.kind == "open" and bool(set(family.rules.values()) - {NO_RULE}))


def _record_scoring(family: DescribedFamily) -> RuleScoring:
    """Scoring of records: each rule but Snellen's compares the raw reply by its own formula."""
    rules = {OWN: PARSERS[OWN]}
    for rule, name in family.rules.items():
        grade = against_gold(named_function(name))
        parse = named_function(family.parse[rule]) if rule in family.parse else parse_raw
        rules[rule] = ParserSet(document=OpenScoring(parse, grade))
    return replace(open_answers(FIELD_F1, rules), kind="fields", max_new_tokens=1024)


def _page_scoring(family: DescribedFamily) -> RuleScoring:
    """Scoring of pages, against gold pages or unit tests; the rules of other tools take the raw reply."""
    from snellen.benchmarks.protocol.page_grading import page_grades

    rules = {OWN: PARSERS[OWN]}
    for rule, name in family.rules.items():
        described = named_function(name)
        grade, parts = page_grades(described.parts, described.overall)
        parse = named_function(family.parse[rule]) if rule in family.parse else parse_raw
        scoring = OpenScoring(parse, grade, parts=parts)
        rules[rule] = ParserSet(open=scoring) if family.unit_tests else ParserSet(document=scoring)
    return replace(open_answers("page_score", rules), kind=family.kind, max_new_tokens=MAX_PAGE_TOKENS)


def _open_scoring(family: DescribedFamily) -> RuleScoring:
    grades = {rule: against_gold(named_function(name)) for rule, name in family.rules.items() if name != NO_RULE}
    rules = open_rules(
        grades.get("snellen", EQUALITY.grade),
        parse=parse_final if OWN in family.rules else EQUALITY.parse,
        official=grades.get("official"),
        vlmevalkit=grades.get("vlmevalkit"),
        lmms_eval=grades.get("lmms-eval"),
        secondary={name: against_gold(named_function(of)) for name, of in family.beside.items()},
    )
    for rule, name in family.parse.items():
        rules[rule] = rules[rule]._replace(open=replace(rules[rule].open, parse=named_function(name)))
    if family.text:
        return RuleScoring(rules={rule: rules[rule] for rule in family.rules}, metric=family.headline, kind="open")
    lacking = {rule for rule, name in family.rules.items() if name == NO_RULE}
    known = set(rules) if OWN in family.rules else {OWN, *family.rules}
    rules = {rule: parsers for rule, parsers in rules.items() if rule in known - lacking}
    return open_answers(family.headline or ACCURACY, rules)


def _choice_scoring(family: DescribedFamily) -> RuleScoring:
    scoring = choices(
        official=_parser_set(family, OFFICIAL),
        vlmevalkit=_parser_set(family, VLMEVALKIT, PARSERS[VLMEVALKIT]),
        lmms_eval=_parser_set(family, LMMS_EVAL),
        circular=family.circular,
    )
    rules = {
        rule: parsers._replace(open=_open_rule(family, rule)) if rule in family.open_rules else parsers
        for rule, parsers in scoring.rules.items()
    }
    return replace(scoring, rules=rules)


def _parser_set(family: DescribedFamily, rule: Rule, usual: ParserSet | None = None) -> ParserSet | None:
    """The parsers of a rule; None without any."""
    name = family.rules.get(rule)
    if name is None or name == NO_RULE:
        usual = usual if name is None else None
        of_yes_no = family.yes_no.get(rule)
        return usual._replace(yes_no=named_function(of_yes_no)) if usual and of_yes_no else usual
    parse = named_function(name)
    plain = usual or ParserSet()
    if rule in family.yes_no:
        plain = plain._replace(yes_no=named_function(family.yes_no[rule]))
    return plain._replace(choice_with_gold=parse) if name.endswith(_WITH_GOLD) else plain._replace(choice=parse)


def _open_rule(family: DescribedFamily, rule: Rule) -> OpenScoring:
    """How a rule grades open questions. The replies are read as a whole but by Snellen's rule."""
    name = family.parse.get(rule)
    usual = parse_final if rule == OWN else parse_raw
    grade = against_gold(named_function(family.open_rules[rule]))
    return OpenScoring(named_function(name) if name else usual, grade)


def _adjust(family: DescribedFamily) -> AdjustSample | None:
    if family.unscored:
        return _drop_gold
    changes: tuple[AdjustSample | None, ...] = (
        adjust_choice if family.video or family.layout.lettered else None,
        partial(_add_type, family) if family.types else None,
        partial(_add_unit, family.unit) if family.unit else None,
        partial(keep_cells, family.keep) if family.keep else None,
        _add_gold(family.place) if family.place else None,
    )
    return reduce(compose_adjustments, changes)


def _add_gold(rules: PlaceRules) -> AdjustSample:
    from snellen.benchmarks.declaration.places import add_gold

    return partial(add_gold, rules)


def _headline(family: DescribedFamily) -> Headline:
    if family.unscored:
        return Headline(summarise=summarise_without_gold)
    if family.place and not family.mean_over:
        from snellen.benchmarks.declaration.places import place_headline

        return place_headline(family.place)
    if family.mean_over:
        weights = partial(nested_weights, family.merged_label) if family.merged else None
        return group_mean(family.headline or f"mean_of_{family.mean_over}s", family.mean_over, weights=weights)
    if family.match:
        return Headline(summarise=summarise_matches)
    if family.kind == "fields":
        return record_headline(family.headline)
    if family.unit_tests:
        from snellen.benchmarks.declaration.page_summary import unit_test_headline

        return unit_test_headline(family.headline)
    if family.kind == "page":
        from snellen.benchmarks.declaration.page_summary import page_headline

        return page_headline(family.headline)
    if family.judges:
        return judged_headline(family.judges, family.headline)
    if family.sections:
        return Headline(summarise=partial(summarise_sections, family.groups[0], family.sections))
    if family.unit:
        name = family.unit.headline
        return Headline(name=name, summarise=partial(summarise_units, name), sums=unit_sums)
    return Headline()


def _rule_headlines(family: DescribedFamily) -> dict[str, Headline]:
    if family.kind == "fields":
        return {rule: plain_headline(name.rpartition(".")[2]) for rule, name in family.rules.items()}
    if family.kind == "page":
        from snellen.benchmarks.declaration.page_summary import page_headline

        rules = {rule: named_function(name) for rule, name in family.rules.items()}
        return {rule: page_headline(described.name, described.overall) for rule, described in rules.items()}
    if family.types:
        return {VLMEVALKIT: group_mean("mean_of_types", TYPE)}
    answered = Headline(summarise=summarise_answered, sums=answered_sums)
    return {**dict.fromkeys(family.plain_by, Headline()), **dict.fromkeys(family.answered_by, answered)}


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


def _adjust_row(family: DescribedFamily) -> Callable[[Row], Row] | None:
    if family.question_columns:
        return partial(_join_question, family.question_columns)
    return family.layout.read if family.layout != RowLayout() else None


def _join_question(columns: Sequence[str], row: Row) -> Row:
    question = "".join(row.cells.get(column, "") for column in columns)
    return structs.replace(row, cells={**row.cells, "question": question})


def _add_unit(unit: UnitColumn, sample: Sample, row: Row) -> Sample:
    return structs.replace(sample, unit=row.cells.get(unit.column, "")[: unit.length])


def _drop_gold(sample: Sample, row: Row) -> Sample:
    """A gold answer that no rule here can compare must not make a number."""
    return structs.replace(sample, gold=())
