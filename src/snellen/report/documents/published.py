"""What `snellen why RUN` shows: a run against the published numbers."""

from __future__ import annotations

from snellen.analysis.published.explanation import PublishedExplanation, PublishedNumberExplained
from snellen.report.document import Block, Document, EmptyLine, Line
from snellen.report.table import Column, Table, table_of


def published_document(explanation: PublishedExplanation) -> Document:
    """Each published number with the settings that differ from its own, then what is known of how
    the makers ask the model."""
    blocks: list[Block] = [Line(f"{explanation.model} on {explanation.benchmark}", "heading")]
    for number in explanation.numbers:
        blocks += [EmptyLine(), *_number_blocks(number)]
    blocks.append(EmptyLine())
    if explanation.setup:
        source = f"{explanation.setup} ({explanation.setup_source})"
        blocks.append(Line(f"set-up of the makers: {source}"))
    else:
        blocks.append(Line("how the makers ask this model is not known"))
    if explanation.setup_note:
        blocks.append(Line(f"not applied of it: {explanation.setup_note}"))
    blocks += [Line(f"also: {sentence}") for sentence in explanation.deviations]
    return Document(blocks, explanation, _records(explanation))


def _number_blocks(number: PublishedNumberExplained) -> list[Block]:
    blocks: list[Block] = [Line(number.sentence), Line(f"{number.difference:+.1f}; {number.url}", is_unbroken=True)]
    if number.note:
        blocks.append(Line(number.note))
    if not number.settings:
        return [*blocks, Line("no setting is known to differ")]
    columns = [Column(name) for name in ("setting", "there", "here", "known by")]
    rows = [(one.setting, one.published, one.own, one.basis) for one in number.settings]
    return [*blocks, Table("", columns, rows)]


def _records(explanation: PublishedExplanation) -> Table:
    def settings(number: PublishedNumberExplained) -> str:
        return "; ".join(f"{one.setting}: {one.published} there, {one.own} here" for one in number.settings)

    return table_of(
        "",
        explanation.numbers,
        [
            (Column("model"), lambda number: explanation.model),
            (Column("benchmark"), lambda number: explanation.benchmark),
            (Column("published", "points"), lambda number: number.published),
            (Column("own", "points"), lambda number: number.own),
            (Column("difference", "signed"), lambda number: number.difference),
            (Column("url"), lambda number: number.url),
            (Column("settings that differ"), settings),
        ],
    )
