"""`snellen hub serve`."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from snellen.cli.commands.hub import add_folder
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.errors import MissingExtra, UsageError

_GRACE = 20
"""Seconds that requests have to end once the server is stopped."""


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                        help="address to listen on (default: this machine alone)")  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=8440, metavar="N", help="port to listen on (default: 8440)"
    )


def main(arguments: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; requests that are going on may end."""
    try:
        import uvicorn

        from snellen.leaderboard_hub.web.app import create_app
    except ModuleNotFoundError as error:
        raise MissingExtra("a hub", "hub", str(error.name)) from error
    from snellen.leaderboard_hub.hub import open_hub

    hub = open_hub(arguments.folder)
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    address = f"http://{arguments.host}:{arguments.port}"
    print_line(f"serving {hub.config.title} at {address}", flush=True)
    config = uvicorn.Config(
        create_app(hub), host=arguments.host, port=arguments.port, access_log=False,
        log_level="warning", timeout_graceful_shutdown=_GRACE, timeout_keep_alive=15,
        h11_max_incomplete_event_size=64_000, server_header=False,
    )  # fmt: skip
    try:
        # It raises the signal once more after it has ended the requests.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run()
    except SystemExit as error:
        raise UsageError(
            f"port {arguments.port} of {arguments.host} cannot be used; choose another with --port"
        ) from error
    finally:
        hub.close()
    return COMPLETE
