"""`snellen dev new-benchmark`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument, option
from snellen.cli.output import print_line
from snellen.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen dev new-benchmark` takes."""

    name: str = argument(
        "FOLDER/NAME",
        "the benchmark, and the folder of src/snellen/benchmarks that it belongs to, e.g. perception/colour-quiz",
    )
    task: str | None = option(None, "--from", metavar="TOOL/TASK")
    """The benchmark of another tool that the files are drafted from; None: files to be filled in."""
    out: str = option(".", "--out")
    """A checkout of Snellen's sources."""


def main(options: Options) -> None:
    """Write the files of a new benchmark."""
    folder, slash, name = options.name.partition("/")
    if not slash:
        raise UsageError(f"{options.name!r} names no folder; expected FOLDER/NAME, e.g. perception/{folder}")
    for path in _write(name, folder, options):
        print_line(path)


def _write(name: str, folder: str, options: Options) -> list[Path]:
    if options.task:
        from snellen.bridge.draft import write_draft

        return write_draft(name, folder, options.task, Path(options.out))
    from snellen.benchmarks.declaration.scaffold import write_new_benchmark

    return write_new_benchmark(name, folder, Path(options.out))
