"""`snellen hub serve`."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.api.flags import option
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE
from snellen_hub.commands import hub_folder


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub serve` takes."""

    folder: str = hub_folder()
    host: str = option("127.0.0.1", "--host", "address to listen on", metavar="ADDRESS")
    port: int = option(8440, "--port")


def main(options: Options) -> int:
    """Serve until Ctrl-C or SIGTERM; requests that are going on may end."""
    from snellen_hub.hub import open_hub
    from snellen_hub.key_check import check_key
    from snellen_hub.storage import KEY_VARIABLE
    from snellen_hub.web.app import create_app
    from snellen_hub.web.logs import start_log
    from snellen_hub.web.server import bind_socket, serve_app

    with open_hub(options.folder) as hub:
        if not check_key(hub):
            print_line(f"{KEY_VARIABLE} is not set: submissions to hidden splits are refused", error=True)
        with bind_socket(options.host, options.port) as bound:
            port = bound.getsockname()[1]
            host = f"[{options.host}]" if ":" in options.host else options.host
            line = f"serving {hub.config.title} at http://{host}:{port}"
            start_log()
            serve_app(create_app(hub), bound, lambda: print_line(line, flush=True))
    return COMPLETE
