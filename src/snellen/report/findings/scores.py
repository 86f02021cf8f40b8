"""Findings about scores by group: hard abilities, radars, strong and weak subtasks, and two
languages (MMBench Figs. 1, 7, 9, 10; MME Fig. 3; MMT-Bench Figs. A3, A4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snellen.analysis.causes.gains import Gain
from snellen.analysis.findings.abilities import Extremes, Gap, HardSample, abilities, extremes, hard_samples
from snellen.analysis.findings.score_tables import ScoreTable
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.document import Cell, Column, Document, Table, table_of, titled_document
from snellen.report.plots.series import Series, Value, dot_plot, radar_plot
from snellen.store.runs import RunFolder

MIN_AXES = 3
LANGUAGES = {"en": "English", "cn": "Chinese", "zh": "Chinese"}


def hard_abilities(table: ScoreTable, runs: Sequence[RunFolder], group: str, hardest: int, each: int) -> Document:
    """Groups by the best score of any model, and samples of the hardest groups that all models have
    wrong."""
    ordered = abilities(table)
    grids = [
        table_of(
            "",
            ordered,
            [
                (Column(fmt.display_name(group)), lambda ability: fmt.display_name(ability.name)),
                (Column("A_max", "points"), lambda ability: ability.best.value),
                (Column("interval", "points"), lambda ability: ability.best.interval),
                (Column("of", "name"), lambda ability: ability.model),
                (Column("mean of models", "points"), lambda ability: ability.mean),
                (Column("n", "count", is_optional=True), lambda ability: ability.best.n),
            ],
        )
    ]
    if runs and each:
        names = [ability.name for ability in ordered[:hardest]]
        grids.append(_hard_table(hard_samples(runs, group, names, each)))
    best = {ability.name: Value(ability.best.value, ability.best.interval) for ability in ordered}
    mean = {ability.name: Value(ability.mean) for ability in ordered}
    title = "The best of any model, hardest first"
    return titled_document(
        f"hardest for every model, {len(table.scores)} models",
        grids,
        table.notices,
        lambda: dot_plot(title, _with_labels({"A_max": best, "mean of models": mean}), top=table.top, connect=False),
    )


def _hard_table(samples: Sequence[HardSample]) -> Table:
    return table_of(
        "wrong in every run",
        samples,
        [
            (Column("ability"), lambda sample: fmt.display_name(sample.ability)),
            (Column("sample"), lambda sample: sample.record.id),
            (Column("question"), lambda sample: sample.record.question),
            (Column("gold"), _gold_text),
            (Column("said, by run"), lambda sample: ", ".join(answer or "none" for answer in sample.answers)),
        ],
    )


def _gold_text(sample: HardSample) -> str:
    from snellen.core.answer_text import answer_texts

    return ", ".join(answer_texts(sample.record.gold, sample.record.kind))


def radar(table: ScoreTable, group: str) -> Document:
    """The scores of every model by group, and the groups in which it stands out."""
    groups = table.groups
    if len(groups) < MIN_AXES:
        raise UsageError(
            f"{len(groups)} groups of {group!r} have a score in every model; a radar needs at least {MIN_AXES}"
        )
    models = list(table.scores)
    rows: list[Sequence[Cell]] = [
        (fmt.display_name(name), *(table.scores[model][name].value for model in models)) for name in groups
    ]
    columns = (Column(fmt.display_name(group)), *(Column(model, "points") for model in models))
    tables = [Table("", columns, rows)]
    if len(models) > 1:
        tables.append(_extremes_table(extremes(table)))
    title = f"Scores by {fmt.display_name(group)}"
    return titled_document(title, tables, table.notices, lambda: radar_plot(title, _series(table), top=table.top))


def _extremes_table(extremes: Sequence[Extremes]) -> Table:
    def gaps_text(gaps: Sequence[Gap]) -> str:
        return (
            ", ".join(f"{fmt.display_name(gap.name)} {fmt.difference_text(gap.value)}{_ends(gap)}" for gap in gaps)
            or fmt.NONE
        )

    rows = [(model.model, gaps_text(model.strong), gaps_text(model.weak)) for model in extremes]
    title = "furthest above and below the mean of these models"
    if any(gap.interval for model in extremes for gap in (*model.strong, *model.weak)):
        title += ", with intervals that hold in all groups of a model"
    return Table(title, (Column("model", "name"), Column("strong"), Column("weak")), rows)


def _ends(gap: Gap) -> str:
    interval = gap.interval
    return f" ({fmt.difference_text(interval.low)} to {fmt.difference_text(interval.high)})" if interval else ""


def profile(table: ScoreTable, group: str) -> Document:
    """Like `radar`, but with a dot plot, which is easier to read for many groups."""
    document = radar(table, group)
    return document._replace(plot=lambda: dot_plot(document.title, _series(table), top=table.top, connect=False))


def languages(gains: Sequence[Gain]) -> Document:
    """English next to Chinese, models by ascending average (MMBench Fig. 7)."""
    ordered = sorted(gains, key=lambda gain: gain.base_score + gain.score)
    first, second = (
        _language(dict.fromkeys(values))
        for values in ((gain.base for gain in ordered), (gain.value for gain in ordered))
    )
    scores = table_of(
        "",
        ordered,
        [
            (Column("model", "name"), lambda gain: gain.model),
            (Column(first, "points"), lambda gain: gain.base_score),
            (Column(second, "points"), lambda gain: gain.score),
            (Column("difference", "signed"), lambda gain: gain.gain),
            (Column("95 % interval", "signed"), lambda gain: gain.interval),
            (Column("n", "count", is_optional=True), lambda gain: gain.n),
        ],
    )
    series = {
        first: {gain.model: Value(gain.base_score) for gain in ordered},
        second: {gain.model: Value(gain.score) for gain in ordered},
    }
    lost = [
        f"{gain.model}: {fmt.plural(gain.left_out, 'sample')} left out, not scored in both or with another gold answer"
        for gain in ordered
        if gain.left_out
    ]
    title = f"{first} and {second}"
    return titled_document(title, [scores], lost, lambda: dot_plot(title, series))


def language_tables(first: ScoreTable, second: ScoreTable, label: str) -> Document:
    """Like `languages`, but from two tables of scores, English first. Models that are in only one
    of them are left out."""
    shared = [name for name in first.scores if name in second.scores]
    pairs = {
        name: (first.scores[name][label].value, second.scores[name][label].value)
        for name in shared
        if label in first.scores[name] and label in second.scores[name]
    }
    if not pairs:
        raise UsageError(f"no model has {label!r} in both tables; --group names the column to compare")
    ordered = sorted(pairs, key=lambda name: sum(pairs[name]))
    rows = [(name, *pairs[name], pairs[name][1] - pairs[name][0]) for name in ordered]
    series = {
        language: {name: Value(pairs[name][index]) for name in ordered}
        for index, language in enumerate(("English", "Chinese"))
    }
    columns = (
        Column("model", "name"),
        Column("English", "points"),
        Column("Chinese", "points"),
        Column("difference", "signed"),
    )
    lost = len({*first.scores, *second.scores}) - len(pairs)
    notices = (f"{lost} models have a score in one language alone",) if lost else ()
    return titled_document(
        "English and Chinese", (Table("", columns, rows),), notices, lambda: dot_plot("English and Chinese", series)
    )


def _language(names: Iterable[str]) -> str:
    return " / ".join(LANGUAGES.get(name, name) for name in names)


def _series(table: ScoreTable) -> Series:
    groups = table.groups
    return _with_labels(
        {
            model: {name: Value(scores[name].value, scores[name].interval) for name in groups}
            for model, scores in table.scores.items()
        }
    )


def _with_labels(series: Series) -> Series:
    return {name: {fmt.display_name(row): value for row, value in values.items()} for name, values in series.items()}
