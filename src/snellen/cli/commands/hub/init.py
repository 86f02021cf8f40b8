"""`snellen hub init`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.commands.hub import add_folder
from snellen.cli.commands.hub.account import read_password
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--owner", metavar="NAME", default="owner", help="the first account")


def main(arguments: Namespace) -> int:
    """Make a hub and its owner; the password is asked for, or read from standard input."""
    from snellen.leaderboard_hub.accounts.access import create_account
    from snellen.leaderboard_hub.accounts.audit import note_action
    from snellen.leaderboard_hub.hub import create_hub

    password = read_password()
    hub = create_hub(arguments.folder)
    with hub.database.writing() as session:
        account = create_account(session, arguments.owner, "owner", password)
        note_action(session, "init", account_id=account.id)
    hub.close()
    print_line(f"{hub.folder}: a hub, owned by {arguments.owner}")
    print_line(f"serve it with: snellen hub serve {arguments.folder}")
    return COMPLETE
