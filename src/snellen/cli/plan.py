"""`snellen plan`."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from snellen.cli.main import COMPLETE, MISTAKE
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.api.planning import Line, Planned
    from snellen.engine.planning import Assumptions

_UNKNOWN = "–"
_COLUMNS = ("model", "benchmark", "asks", "most", "stored", "in", "out", "$", "time")
"""`asks`: expected requests; `most`: if every pass were right; `in`, `out`: tokens."""


def main(arguments: Namespace) -> int:
    import msgspec

    from snellen.api.planning import plan
    from snellen.models.prices import parse_price

    planned = plan(
        arguments.model,
        arguments.benchmark,
        out=arguments.out,
        store=arguments.store,
        variant=Variant(
            data=arguments.data,
            circular=arguments.circular,
            max_new_tokens=arguments.max_new_tokens,
            control=arguments.control,
            failures=arguments.failures,
            rule=arguments.rule,
            columns=arguments.columns or {},
        ),
        limit=arguments.limit,
        seed=arguments.seed,
        extractors=arguments.extractor,
        judges=arguments.judge,
        clip=arguments.clip,
        load=arguments.load,
        recipes=not arguments.no_recipe,
        assumed=_assumed(arguments),
        price=parse_price(arguments.price) if arguments.price else None,
        probe=arguments.probe,
    )
    if arguments.json:
        print(msgspec.json.encode(planned).decode())
    else:
        _print(planned)
    return MISTAKE if planned.missing else COMPLETE


def _assumed(arguments: Namespace) -> Assumptions:
    from snellen.engine.planning import Assumptions

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


def _print(planned: Planned) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in _COLUMNS[:2] else "right", overflow="fold")
    for line in planned.lines:
        table.add_row(*_cells(line))
    console.print(table)
    console.print("asks: requests expected, and at most; in, out: tokens", highlight=False)
    for text in _sentences(planned):
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    sys.stdout.flush()


def _cells(line: Line) -> tuple[str, ...]:
    names = (line.model, line.benchmark)
    found = line.estimate
    if found is None:
        return (*names, *[_UNKNOWN] * (len(_COLUMNS) - len(names)))
    return (
        *names,
        f"{found.requests:.0f}",
        str(found.most_requests),
        str(found.stored),
        _short(found.prompt_tokens),
        _short(found.completion_tokens),
        _UNKNOWN if line.dollars is None else f"{line.dollars:.2f}",
        _UNKNOWN if found.seconds is None else _duration(found.seconds),
    )


def _sentences(planned: Planned) -> list[str]:
    told: list[str] = []
    for line in planned.lines:
        where = f"{line.model} on {line.benchmark}"
        if line.skipped:
            told.append(f"{where}: skipped, it {line.skipped}")
        found = line.estimate
        if found is None:
            continue
        told.extend(f"{where}: {text}" for text in found.said)
        if found.equal:
            told.append(f"{where}: {found.equal} more requests are equal to others, and sent once")
        if found.unsupported:
            told.append(f"{where}: {found.unsupported} samples are beyond the model")
        for role, count in found.asked_of_others.items():
            told.append(f"{where}: up to {count} requests to the {role} besides")
        if line.price is not None and line.price.source:
            read = f", read {line.price.date}" if line.price.date else ""
            told.append(f"{where}: price from {line.price.source}{read}")
    told += planned.notes
    told += [f"to download: {what}" for what in planned.downloads]
    grows = sum(line.estimate.store_bytes for line in planned.lines if line.estimate)
    told.append(f"disk: the store grows by {_size(grows)}; {_size(planned.disk_free)} are free")
    if planned.dollars is not None and len(planned.lines) > 1:
        told.append(f"all together: {planned.dollars:.2f} $")
    told += [f"missing {one.what}: {one.sentence}" for one in planned.missing]
    return list(dict.fromkeys(told))


def _short(count: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f}"


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def _duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"
