"""`snellen view`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from threading import Thread

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_runs, print_warning, read_options
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument(
        "--port", type=int, metavar="N", help="port to serve on (default: 8420, or any free port)"
    )
    parser.add_argument(
        "--annotator", metavar="NAME",
        help="author of annotations (default: the user of this machine)",
    )  # fmt: skip
    parser.add_argument("--open", action="store_true", help="open the browser")


def main(arguments: Namespace) -> int:
    """Serve the pages until Ctrl-C."""
    from snellen.api.run_sources import source_folders
    from snellen.store.runs import RUN_FILE
    from snellen.view.run_view import RunLibrary
    from snellen.view.server import PageServer

    options = read_options(arguments, SourceOptions)
    folders = source_folders(arguments.runs, options, print_warning)
    if folders != list(map(Path, arguments.runs)):
        print_warning(
            "predictions are shown from the cache, and what is noted about them is kept there; "
            "snellen score --out DIR makes a run folder of them elsewhere"
        )
    try:
        with PageServer(
            RunLibrary(folders, options.data, print_warning),
            arguments.port,
            arguments.annotator,
        ) as server:
            for folder in server.library.catalog.roots_without_runs():
                print_warning(
                    f"there is no run in {folder} yet: neither it nor the folders in it have a "
                    f"{RUN_FILE}; runs that are written there will appear (snellen run ... --out "
                    f"{folder}), or stop this and name the folder of the runs"
                )
            # Thousands of runs are read while the browser starts.
            Thread(target=server.library.catalog.read_all, daemon=True).start()
            print_line(f"{server.url}  (Ctrl-C stops it)", flush=True)
            if arguments.open:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        print_line()
    return COMPLETE
