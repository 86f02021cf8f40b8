"""`snellen hub init`."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder
from snellen_hub.commands.account import read_password


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--owner", metavar="NAME", default="owner", help="the first account")


def main(arguments: Namespace) -> int:
    """Make a hub and its owner; the password is asked for, or read from standard input."""
    from snellen.settings import read_secret
    from snellen_hub.hub import create_hub
    from snellen_hub.storage import KEY_VARIABLE

    hub = create_hub(arguments.folder, arguments.owner, read_password())
    hub.close()
    print_line(f"{hub.folder}: a hub, owned by {arguments.owner}")
    folder = shlex.quote(str(arguments.folder))
    print_line("next:")
    if read_secret([KEY_VARIABLE]) is None:
        print_line(f"  export {KEY_VARIABLE}=$(snellen hub key)")
    for action in ("benchmark", "account", "serve", "worker"):
        more = {"benchmark": " NAME --data FILE", "account": " NAME"}.get(action, "")
        print_line(f"  snellen hub {action} {folder}{more}")
    return COMPLETE
