"""`snellen hub serve`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                        help="address to listen on (default: this machine alone)")  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=8440, metavar="N",
        help="port to listen on; 0 takes a free one (default: 8440)",
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; requests that are going on may end."""
    from snellen_hub.hub import open_hub
    from snellen_hub.key_check import check_key
    from snellen_hub.storage import KEY_VARIABLE
    from snellen_hub.web.app import create_app
    from snellen_hub.web.logs import start_log
    from snellen_hub.web.server import bind_socket, serve_app

    with open_hub(arguments.folder) as hub:
        if not check_key(hub):
            print_line(f"{KEY_VARIABLE} is not set: submissions to hidden splits are refused",
                       error=True)  # fmt: skip
        with bind_socket(arguments.host, arguments.port) as bound:
            port = bound.getsockname()[1]
            host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
            print_line(f"serving {hub.config.title} at http://{host}:{port}", flush=True)
            start_log()
            serve_app(create_app(hub), bound)
    return COMPLETE
