"""A plan as the table and the sentences of `snellen plan`, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.notebook import fragments as html
from snellen.report.terminal.forecast import interval_sentence, short_count

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.api.planned_studies import PlanLine
    from snellen.api.planning import Planned

_UNKNOWN = "–"
_MAX_NAMED = 3
"""Lines of the table that a sentence names at most; more are only counted."""
_COLUMNS = ("model", "benchmark", "asks", "most", "stored", "in", "out", "$", "time")
"""`asks`: expected requests; `most`: if every pass were right; `in`, `out`: tokens."""
_LEGEND = "asks: requests expected, and at most; in, out: tokens"


def print_plan(planned: Planned, console: Console, quiet: bool = False) -> None:
    """Print a plan: the table, and the sentences unless `quiet`."""
    from snellen.report.table import Column, Table
    from snellen.report.terminal.lines import print_text
    from snellen.report.terminal.planned_study import study_lines, study_table
    from snellen.report.writers.terminal import print_block

    columns = [Column(name, "name" if name in _COLUMNS[:2] else "count") for name in _COLUMNS]
    print_block(Table("", columns, [_cells(line) for line in planned.lines]), console)
    console.print(_LEGEND, highlight=False)
    for study in planned.studies:
        console.print()
        print_block(study_table(study), console)
        for text in study_lines(study):
            print_text(console, text)
    if planned.studies:
        console.print()
    for text in (*([] if quiet else _notice_lines(planned)), *_missing_lines(planned)):
        print_text(console, text)


def _cells(line: PlanLine) -> tuple[str, ...]:
    names = (line.model, line.benchmark)
    estimate = line.estimate
    if estimate is None:
        return (*names, *[_UNKNOWN] * (len(_COLUMNS) - len(names)))
    return (
        *names,
        f"{estimate.requests:.0f}",
        str(estimate.most_requests),
        str(estimate.stored),
        short_count(estimate.prompt_tokens),
        short_count(estimate.completion_tokens),
        _UNKNOWN if line.dollars is None else f"{line.dollars:.2f}",
        _UNKNOWN if estimate.seconds is None else fmt.duration(estimate.seconds),
    )


def _notice_lines(planned: Planned) -> list[str]:
    """Sentences under the table. One that several lines share names these lines, or their count."""
    lines: dict[str, list[str]] = {}
    for line in planned.lines:
        for text in _line_notices(line):
            lines.setdefault(text, []).append(f"{line.model} on {line.benchmark}")
    notices = [
        f"{', '.join(runs) if len(runs) <= _MAX_NAMED else f'{len(runs)} lines'}: {text}"
        for text, runs in lines.items()
    ]
    notices += planned.notes
    notices += [f"to download: {what}" for what in planned.downloads]
    grows = sum(line.estimate.store_bytes for line in planned.lines if line.estimate)
    notices.append(
        f"disk: the store grows by {fmt.size(round(grows))}; {fmt.size(planned.disk_free)} are free"
    )
    if planned.dollars is not None and len(planned.lines) > 1:
        notices.append(f"all together: {planned.dollars:.2f} $")
    return list(dict.fromkeys(notices))


def _line_notices(line: PlanLine) -> Iterator[str]:
    if line.skipped:
        yield f"skipped, it {line.skipped}"
    estimate = line.estimate
    if estimate is None:
        return
    if line.setup:
        yield f"asked by the set-up {line.setup} of its makers; --setup plain leaves it out"
    yield from estimate.said
    if estimate.equal:
        yield f"{estimate.equal} more requests are equal to others, and sent once"
    if estimate.unsupported:
        yield f"{estimate.unsupported} samples are beyond the model"
    if estimate.forecast is not None and (text := interval_sentence(estimate.forecast)):
        yield text
    for role, count in estimate.asked_of_others.items():
        amount = line.role_dollars.get(role)
        paid = "" if amount is None else f", {amount:.2f} $"
        yield f"up to {count} requests to the {role} besides{paid}"
    if line.price is not None and line.price.source:
        date_text = f", read {line.price.date}" if line.price.date else ""
        yield f"price from {line.price.source}{date_text}"


def _missing_lines(planned: Planned) -> list[str]:
    return [
        f"missing {requirement.what}: {requirement.sentence}" for requirement in planned.missing
    ]


def plan_html(planned: Planned) -> str:
    """The plan as HTML for a notebook."""
    numbers = range(2, len(_COLUMNS))
    rows = (
        html.row(
            html.cell(html.text(value), number=index in numbers)
            for index, value in enumerate(_cells(line))
        )
        for line in planned.lines
    )
    sentences = [*_notice_lines(planned), *_missing_lines(planned)]
    return html.block(html.table(_COLUMNS, rows, numbers), html.notes([_LEGEND, *sentences]))
