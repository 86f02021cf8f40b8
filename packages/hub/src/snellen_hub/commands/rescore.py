"""`snellen hub rescore`."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.api.flags import argument
from snellen.cli.output import FormatOptions, print_document
from snellen.core.errors import COMPLETE
from snellen_hub.commands import hub_folder


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub rescore` takes."""

    folder: str = hub_folder()
    name: str | None = argument(
        "BENCHMARK",
        "score all of its submissions again (default: of every benchmark those whose "
        "scores are of another version of Snellen)",
        "?",
    )


def main(options: Options) -> int:
    """Queue submissions to be scored again."""
    from sqlalchemy import select

    from snellen import __version__
    from snellen.report.document import Document, Line
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.database.tables import HostedBenchmark
    from snellen_hub.hosting import find_hosted_benchmark, rescore
    from snellen_hub.hub import open_hub

    lines, data = [], []
    with open_hub(options.folder) as hub, hub.database.writing() as session:
        every = select(HostedBenchmark).order_by(HostedBenchmark.name)
        named = [find_hosted_benchmark(session, options.name)] if options.name else None
        for row in named or session.scalars(every):
            count = rescore(session, row, always=options.name is not None)
            done = f"version {row.version}; {count:,} submissions are scored again"
            if not count and options.name is None:
                done = f"no score is of another version of Snellen than {__version__}"
            note_action(session, "rescore", subject=row.name, done=done)
            lines.append(f"{row.name}: {done}")
            data.append({"benchmark": row.name, "version": row.version, "submissions": count})
    blocks = [Line(line, is_unbroken=True) for line in lines or ["the hub holds no benchmarks"]]
    print_document(Document(blocks, data=data), options.form)
    return COMPLETE
