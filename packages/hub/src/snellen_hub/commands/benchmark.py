"""`snellen hub benchmark`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.api.flags import FlagKey, argument, option, parse_keys, parse_share
from snellen.cli.output import FormatOptions, print_document, print_line
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import REPLACE, hub_folder
from snellen_hub.config import PUBLIC_SHARE

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from snellen.report.document import Document
    from snellen_hub.benchmark_data import NewBenchmark
    from snellen_hub.hub import Hub

_MOST_PARTS = 100


class HiddenAnswers(NamedTuple):
    """What `--hidden` says of a split whose answers are hidden."""

    share: float = PUBLIC_SHARE
    parts: int = 1
    public: Path | None = None
    answers: Path | None = None


def _parse_public_share(text: str) -> float:
    share = parse_share(text)
    if not 0 < share < 1:
        raise UsageError(f"share={text}: expected more than 0 and less than 1, such as 0.3 or 30%")
    return share


def _parse_parts(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_PARTS:
        raise UsageError(f"parts={text}: expected a number from 1 to {_MOST_PARTS}")
    return int(text)


HIDDEN_KEYS: Mapping[str, FlagKey] = {
    "public": FlagKey("the data without answers, for download", Path),
    "share": FlagKey(
        f"the share of questions whose scores are shown at once; the others are scored at a reveal ({PUBLIC_SHARE:g})",
        _parse_public_share,
    ),
    "parts": FlagKey("parts of the private questions, each for a reveal (1)", _parse_parts),
    "answers": FlagKey(
        "answers that snellen curate publish kept back (answers.sealed); the data are then the "
        "publication or its file of questions",
        Path,
    ),
}


def parse_hidden(text: str) -> HiddenAnswers:
    """Read the settings of `--hidden`. Raises UsageError."""
    return HiddenAnswers(**parse_keys(HIDDEN_KEYS, text) if text else {})


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub benchmark` takes."""

    folder: str = hub_folder()
    name: str | None = argument(
        "NAME", "its name in addresses, such as signs; without it, the benchmarks are listed", "?"
    )
    data: str | None = option(None, "--data")
    """The complete data: a file, or a data set folder of `snellen curate`. None: a board of
    reported numbers only, until data are added with `replace`."""
    title: str = option("", "--title")
    """Empty: its name."""
    description: str = option("", "--description")
    benchmark: str | None = option(None, "--benchmark")
    """The benchmark of Snellen that the data are of. None: the data alone; for the first data of a
    board without data, that of the board."""
    hidden: HiddenAnswers | None = option(
        None,
        "--hidden",
        "keep the answers hidden",
        metavar="KEY=VALUE,...",
        keys=HIDDEN_KEYS,
        parse=parse_hidden,
        bare_value="",
    )
    seal_key: str | None = option(None, "--seal-key")
    """Of the kept back answers; None: that of the environment."""
    rule: str | None = option(None, "--rule")
    columns: Mapping[str, str] = option({}, "--columns")
    replace: bool = option(False, "--replace", REPLACE, is_switch=True)
    out: str | None = option(None, "--out")
    """Only write the data of the benchmark with what readers flagged, for a review."""


def main(options: Options) -> int:
    """Add a benchmark, replace its data, write its flags, or list all of them."""
    from snellen_hub.hub import open_hub

    if options.name is None:
        if options != Options(folder=options.folder, format=options.format, json=options.json):
            raise UsageError("give NAME too; without it, hub benchmark lists the benchmarks")
        with open_hub(options.folder) as hub, hub.database.reading() as session:
            print_document(_list_benchmarks(session), options.form)
        return COMPLETE
    with open_hub(options.folder) as hub:
        if options.out is not None:
            _write_flags(hub, options.name, options.out)
        else:
            _add(hub, options, options.name)
    return COMPLETE


def _list_benchmarks(session: Session) -> Document:
    from sqlalchemy import func, select

    from snellen.report.document import Column, Document, Table
    from snellen_hub.database.tables import HostedBenchmark, Submission

    counts = dict(
        session.execute(
            select(Submission.benchmark_id, func.count())
            .where(Submission.visibility == "published")
            .group_by(Submission.benchmark_id)
        ).all()
    )
    rows: list[list[Any]] = [
        [
            row.name,
            row.title,
            ("hidden" if row.is_hidden else "open") if row.has_data else "no data",
            row.rows,
            row.version,
            counts.get(row.id, 0),
        ]
        for row in session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.name))
    ]
    columns = [
        Column("benchmark"),
        Column("title", is_optional=True),
        Column("answers"),
        *(Column(name, "count") for name in ("items", "version", "published")),
    ]
    return Document([Table("benchmarks", columns, rows)])


def _write_flags(hub: Hub, name: str, out: str) -> None:
    """Write the open flags of a benchmark for a review."""
    from snellen_hub.samples.review_folder import write_review_folder

    written = write_review_folder(hub, name, Path(out))
    print_line(f"{out}: {written.items:,} items, {written.flagged:,} of them flagged ({written.flags:,} flags)")
    print_line(f"review them with: snellen curate review {out}")


def _add(hub: Hub, options: Options, name: str) -> None:
    """Add a benchmark, or replace its data."""
    from snellen_hub.hosting import host_benchmark

    new = _new_benchmark(options, name)
    done, unreadable = host_benchmark(hub, new, replace=options.replace, keeps_spec=options.benchmark is None)
    print_line(f"{name}: {done}")
    if unreadable:
        print_line(f"{unreadable:,} pictures or videos could not be read", error=True)


def _new_benchmark(options: Options, name: str) -> NewBenchmark:
    """What the command names. Raises UsageError."""
    from snellen_hub.benchmark_data import NewBenchmark, Protocol

    hidden = options.hidden or HiddenAnswers()
    data, seal_key = (Path(each) if each else None for each in (options.data, options.seal_key))
    for path in filter(None, (data, hidden.public, hidden.answers, seal_key)):
        if not path.exists():
            raise UsageError(f"{path}: there is no such file")
    if seal_key is not None and hidden.answers is None:
        raise UsageError("--seal-key is the key of --hidden answers=FILE, which is not given")
    if data is None and options.replace:
        raise UsageError("--replace needs --data DATA: data cannot be taken away")
    return NewBenchmark(
        name=name,
        title=options.title or name,
        data=data,
        description=options.description,
        spec=options.benchmark or "",
        is_hidden=options.hidden is not None,
        protocol=Protocol(rule=options.rule, columns=dict(options.columns)),
        public_data=hidden.public,
        answers=hidden.answers,
        seal_key=seal_key,
        public_share=hidden.share,
        private_parts=hidden.parts,
    )
