"""`snellen view`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.cli.printing import say


def _say(sentence: str) -> None:
    say(f"snellen: {sentence}", error=True, flush=True)


def main(arguments: Namespace) -> int:
    from snellen.view.run_view import Shelf
    from snellen.view.server import PageServer

    try:
        with PageServer(Shelf(arguments.runs, arguments.data, _say), arguments.port) as server:
            say(f"{server.url}  (Ctrl-C stops it)", flush=True)
            if arguments.open:
                import webbrowser

                webbrowser.open(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        say()
    return COMPLETE
