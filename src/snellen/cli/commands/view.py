"""`snellen view`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from snellen.api.flags import argument, option, options_field
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, print_warning
from snellen.cli.output import print_line


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen view` takes."""

    runs: Sequence[str] = argument("RUN", RUNS, "+")
    sources: SourceOptions = options_field(SourceOptions)
    port: int | None = option(None, "--port")
    """None: 8420, or any free port."""
    name: str | None = option(None, "--name")
    """The author of annotations; None: the user of this machine."""
    open: bool = option(False, "--open")


def main(options: Options) -> None:
    """Serve the pages until Ctrl-C."""
    from snellen.api.run_sources import source_folders
    from snellen.store.runs import RUN_FILE
    from snellen.view.run_view import RunLibrary
    from snellen.view.server import PageServer

    folders = source_folders(options.runs, options.sources, print_warning)
    if folders != list(map(Path, options.runs)):
        print_warning(
            "predictions are shown from the cache, and what is noted about them is kept there; "
            "snellen score --out DIR makes a run folder of them elsewhere"
        )
    library = RunLibrary(folders, options.sources.data, print_warning)
    try:
        with PageServer(library, options.port, options.name) as server:
            for folder in server.library.catalog.roots_without_runs():
                print_warning(
                    f"there is no run in {folder} yet: neither it nor the folders in it have a "
                    f"{RUN_FILE}; runs that are written there will appear (snellen run ... --out "
                    f"{folder}), or stop this and name the folder of the runs"
                )
            # Thousands of runs are read while the browser starts.
            Thread(target=server.library.catalog.read_all, daemon=True).start()
            print_line(f"{server.url}  (Ctrl-C stops it)", flush=True)
            if options.open:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        print_line()
