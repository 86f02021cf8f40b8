"""`snellen view`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_line


def _print_notice(sentence: str) -> None:
    print_line(f"snellen: {sentence}", error=True, flush=True)


def main(arguments: Namespace) -> int:
    from snellen.view.run_view import RunLibrary
    from snellen.view.server import PageServer

    try:
        with PageServer(
            RunLibrary(arguments.runs, arguments.data, _print_notice), arguments.port
        ) as server:
            print_line(f"{server.url}  (Ctrl-C stops it)", flush=True)
            if arguments.open:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        print_line()
    return COMPLETE
