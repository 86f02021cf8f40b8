"""What `snellen plan` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from snellen.analysis.comparison.planned_study import StudyPlan
from snellen.api.offline import MissingRequirement
from snellen.api.planned_studies import PlanLine
from snellen.core.output import Usage, cost
from snellen.report import format as fmt
from snellen.report.console import printed_text
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, Line, Table
from snellen.report.documents.forecast import interval_sentence, short_count, study_lines, study_table
from snellen.report.writers.terminal import print_document

_MAX_NAMED = 3
"""Lines of the table that a sentence names at most; more are only counted."""
_COLUMNS = (
    Column("model", "name"),
    Column("benchmark", "name"),
    *(Column(name, "count") for name in ("asks", "most", "stored", "in", "out")),
    Column("$", "number", digits=2),
    Column("time", "count"),
)
"""`asks`: expected requests; `most`: if every pass were right; `in`, `out`: tokens."""
_LEGEND = "asks: requests expected, and at most; in, out: tokens"
_RECORDS = (
    "model",
    "benchmark",
    "requests",
    "most_requests",
    "stored",
    "prompt_tokens",
    "completion_tokens",
    "dollars",
    "seconds",
)


class Planned(Struct, frozen=True, kw_only=True):
    """What `plan` returns, and `snellen plan --json` prints."""

    lines: list[PlanLine]
    missing: list[MissingRequirement]
    downloads: list[str]
    """What would be fetched first."""
    notes: list[str]
    dollars: float | None
    """Cost of all lines; None if the price of one is unknown."""
    disk_free: int
    """Free bytes where the runs are kept."""
    studies: list[StudyPlan] = []
    """With aims: what each benchmark takes to reach them."""

    def __repr__(self) -> str:
        return printed_text(lambda console: print_document(plan_document(self), console))

    def _repr_html_(self) -> str:
        from snellen.report.writers.html import write_fragment

        return write_fragment(plan_document(self))


def plan_document(planned: Planned, quiet: bool = False) -> Document:
    """The runs, the studies, and sentences on what is assumed and missing; `quiet`: what is missing
    alone."""
    rows = [_cells(line) for line in planned.lines]
    title = "requests, tokens and cost"
    blocks: list[Block] = [Table(title, _COLUMNS, rows, [_LEGEND], on_terminal="untitled")]
    for study in planned.studies:
        blocks += [EmptyLine(), study_table(study), *_sentences(study_lines(study))]
    if planned.studies:
        blocks.append(EmptyLine())
    blocks += _sentences([] if quiet else _notice_lines(planned))
    blocks += _sentences([f"missing {one.what}: {one.sentence}" for one in planned.missing])
    columns = [Column(name, "number") for name in _RECORDS]
    return Document(blocks, planned, Table("", columns, list(map(_record, planned.lines))))


def _sentences(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(text, is_unbroken=True) for text in texts)


def _cells(line: PlanLine) -> tuple[Cell, ...]:
    names = (line.model, line.benchmark)
    estimate = line.estimate
    if estimate is None:
        return (*names, *[None] * (len(_COLUMNS) - len(names)))
    return (
        *names,
        round(estimate.requests),
        estimate.most_requests,
        estimate.stored,
        short_count(estimate.prompt_tokens),
        short_count(estimate.completion_tokens),
        line.dollars,
        line.wait or (None if estimate.seconds is None else fmt.duration(estimate.seconds)),
    )


def _record(line: PlanLine) -> tuple[Cell, ...]:
    names = (line.model, line.benchmark)
    estimate = line.estimate
    if estimate is None:
        return (*names, *[None] * (len(_RECORDS) - len(names)))
    return (
        *names,
        estimate.requests,
        estimate.most_requests,
        estimate.stored,
        estimate.prompt_tokens,
        estimate.completion_tokens,
        line.dollars,
        estimate.seconds,
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
    notices.append(f"disk: the store grows by {fmt.size(round(grows))}; {fmt.size(planned.disk_free)} are free")
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
    if line.coordinates:
        yield f"places are asked for in {line.coordinates}"
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
    price = line.price
    if estimate.cached_tokens and price is not None:
        count = round(estimate.cached_tokens)
        saved = cost(Usage(count), price) - cost(Usage(count, cached_tokens=count), price)
        share = estimate.cached_tokens / estimate.prompt_tokens
        yield f"about {share:.0%} of the tokens of prompts come from the provider's cache, for {saved:.2f} $ less"
    if estimate.waves:
        follow = "" if estimate.waves == 1 else f", up to {estimate.waves} of them one after the other"
        yield f"asked in batches, each answered within {line.batch_hours} h{follow}"
    if price is not None and price.source:
        date_text = f", read {price.date}" if price.date else ""
        yield f"price from {price.source}{date_text}"
