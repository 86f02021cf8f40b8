"""`snellen hub account`."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser, Namespace

from snellen.cli.commands.hub import add_folder
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="name of the account")
    parser.add_argument(
        "--role", default=None, metavar="ROLE", help="owner, submitter (default) or viewer"
    )
    parser.add_argument("--disable", action="store_true", help="end its sign-ins and tokens")


def main(arguments: Namespace) -> int:
    """Add an account, or change one that exists."""
    from sqlalchemy import select

    from snellen.leaderboard_hub.accounts.access import (
        create_account,
        now,
        sign_out_everywhere,
    )
    from snellen.leaderboard_hub.accounts.audit import note_action
    from snellen.leaderboard_hub.accounts.roles import check_role
    from snellen.leaderboard_hub.database.tables import Account
    from snellen.leaderboard_hub.hub import open_hub

    hub = open_hub(arguments.folder)
    with hub.database.writing() as session:
        account = session.scalar(select(Account).where(Account.name == arguments.name))
        if account is None:
            if arguments.disable:
                raise UsageError(f"there is no account called {arguments.name}")
            role = arguments.role or "submitter"
            account = create_account(session, arguments.name, role, read_password())
            done = f"added as {role}"
        elif arguments.disable:
            account.disabled = now()
            sign_out_everywhere(session, account.id)
            done = "disabled"
        elif arguments.role:
            account.role = check_role(arguments.role)
            sign_out_everywhere(session, account.id)
            done = f"is a {arguments.role} now"
        else:
            raise UsageError(
                f"there is an account called {arguments.name} already; change it with --role or "
                "--disable"
            )
        note_action(session, "account", account_id=account.id, subject=account.name, done=done)
    hub.close()
    print_line(f"{arguments.name}: {done}")
    return COMPLETE


def read_password() -> str:
    """A password from the terminal, typed twice, or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("password: ")
    if password != getpass.getpass("once more: "):
        raise UsageError("the two passwords differ")
    return password
