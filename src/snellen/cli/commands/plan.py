"""`snellen plan`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snellen.cli.commands.run import run_arguments
from snellen.cli.main import COMPLETE, MISTAKE
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.analysis.comparison.planned_study import Aims
    from snellen.api.plan import Planned
    from snellen.api.planned_studies import PlanLine
    from snellen.engine.offline.estimate import Assumptions

_UNKNOWN = "–"
_MAX_NAMED = 3
"""Most lines of the table that a sentence names; of more it tells their number."""
_COLUMNS = ("model", "benchmark", "asks", "most", "stored", "in", "out", "$", "time")
"""`asks`: expected requests; `most`: if every pass were right; `in`, `out`: tokens."""


def main(arguments: Namespace) -> int:
    import msgspec

    from snellen.api.plan import plan

    planned = plan(
        **run_arguments(arguments),
        assumed=_assumptions(arguments),
        probe=arguments.probe,
        aims=_aims(arguments),
        like=arguments.like,
    )
    if arguments.json:
        print(msgspec.json.encode(planned).decode())
    else:
        from snellen.report.console import Terminal

        print_plan(planned, Terminal(), quiet=arguments.quiet)
        sys.stdout.flush()
    return MISTAKE if planned.missing else COMPLETE


def _assumptions(arguments: Namespace) -> Assumptions:
    from snellen.engine.offline.estimate import Assumptions

    given = {
        name: value
        for name in ("accuracy", "reply_tokens", "picture_tokens")
        if (value := getattr(arguments, name)) is not None
    }
    if not 0 <= given.get("accuracy", 0) <= 1:
        raise UsageError(f"--accuracy is {given['accuracy']}; expected a share from 0 to 1")
    for name in ("reply_tokens", "picture_tokens"):
        if given.get(name, 0) < 0:
            raise UsageError(f"--{name.replace('_', '-')} is {given[name]}; expected 0 or more")
    return Assumptions(**given)


def _aims(arguments: Namespace) -> Aims | None:
    """What a study is to tell, where something was asked for. Raises UsageError for flags that
    belong to a study where there is none."""
    from snellen.analysis.comparison.planned_study import Aims

    shares = ("discordance", "correlation", "draw_share")
    if arguments.detect is None and arguments.no_worse is None:
        alone = [
            name for name in (*shares, "power", "level") if getattr(arguments, name) is not None
        ]
        if alone:
            raise UsageError(
                f"--{alone[0].replace('_', '-')} belongs to a study of two models: say what it is "
                "to tell, e.g. --detect 2 or --no-worse 1"
            )
        return None
    given = {
        name: getattr(arguments, name) / 100
        for name in ("power", "level")
        if getattr(arguments, name) is not None
    }
    return Aims(
        detect=arguments.detect,
        no_worse=arguments.no_worse,
        **given,
        **{name: getattr(arguments, name) for name in shares},
    )


def print_plan(planned: Planned, console: Console, quiet: bool = False) -> None:
    """The table, and sentences unless `quiet`."""
    from snellen.report.findings.finding import FindingTable, TableColumn, print_table
    from snellen.report.terminal.planned_study import study_lines, study_table

    columns = [TableColumn(name, "text" if name in _COLUMNS[:2] else "count") for name in _COLUMNS]
    print_table(FindingTable("", columns, [_cells(line) for line in planned.lines]), console)
    console.print("asks: requests expected, and at most; in, out: tokens", highlight=False)
    for study in planned.studies:
        console.print()
        print_table(study_table(study), console)
        for text in study_lines(study):
            console.print(text, highlight=False, markup=False, soft_wrap=True)
    if planned.studies:
        console.print()
    for text in (*([] if quiet else _notice_lines(planned)), *_missing_lines(planned)):
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _cells(line: PlanLine) -> tuple[str, ...]:
    from snellen.report import format as fmt

    names = (line.model, line.benchmark)
    found = line.estimate
    if found is None:
        return (*names, *[_UNKNOWN] * (len(_COLUMNS) - len(names)))
    return (
        *names,
        f"{found.requests:.0f}",
        str(found.most_requests),
        str(found.stored),
        _short_count(found.prompt_tokens),
        _short_count(found.completion_tokens),
        _UNKNOWN if line.dollars is None else f"{line.dollars:.2f}",
        _UNKNOWN if found.seconds is None else fmt.duration(found.seconds),
    )


def _notice_lines(planned: Planned) -> list[str]:
    from snellen.report import format as fmt

    lines: dict[str, list[str]] = {}
    for line in planned.lines:
        for text in _line_notices(line):
            lines.setdefault(text, []).append(f"{line.model} on {line.benchmark}")
    notices = [
        f"{', '.join(wheres) if len(wheres) <= _MAX_NAMED else f'{len(wheres)} lines'}: {text}"
        for text, wheres in lines.items()
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
    found = line.estimate
    if found is None:
        return
    yield from found.said
    if found.equal:
        yield f"{found.equal} more requests are equal to others, and sent once"
    if found.unsupported:
        yield f"{found.unsupported} samples are beyond the model"
    for role, count in found.asked_of_others.items():
        yield f"up to {count} requests to the {role} besides"
    if line.price is not None and line.price.source:
        read = f", read {line.price.date}" if line.price.date else ""
        yield f"price from {line.price.source}{read}"


def _missing_lines(planned: Planned) -> list[str]:
    return [f"missing {one.what}: {one.sentence}" for one in planned.missing]


def _short_count(count: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f}"
