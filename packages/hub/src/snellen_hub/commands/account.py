"""`snellen hub account`."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="name of the account")
    parser.add_argument(
        "--role", default=None, metavar="ROLE", help="owner, submitter (default) or viewer"
    )
    changes = parser.add_mutually_exclusive_group()
    changes.add_argument("--disable", action="store_true", help="end its sign-ins and tokens")
    changes.add_argument(
        "--confirm", action="store_true",
        help="let an account that signed up submit where answers are hidden",
    )  # fmt: skip
    changes.add_argument("--enable", action="store_true", help="let it sign in again")
    changes.add_argument(
        "--password", action="store_true", help="give it a new password, and end its sign-ins"
    )


def main(arguments: Namespace) -> int:
    """Add an account, or change one that exists."""
    from snellen_hub.accounts.access import account_called, create_account
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.accounts.changes import (
        confirm_account,
        disable_account,
        enable_account,
        set_password,
        set_role,
    )
    from snellen_hub.hub import open_hub

    password = read_password() if arguments.password else ""
    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        account = account_called(session, arguments.name)
        if account is None:
            if arguments.disable or arguments.enable or arguments.password or arguments.confirm:
                raise UsageError(f"there is no account called {arguments.name}")
            role = arguments.role or "submitter"
            account = create_account(session, arguments.name, role, read_password())
            done = f"added as {role}"
        elif arguments.disable:
            disable_account(session, account)
            done = "disabled"
        elif arguments.enable:
            enable_account(account)
            done = "enabled"
        elif arguments.confirm:
            confirm_account(account)
            done = "confirmed"
        elif arguments.password:
            set_password(session, account, password)
            done = "has a new password"
        elif arguments.role:
            set_role(session, account, arguments.role)
            done = f"is a {arguments.role} now"
        else:
            raise UsageError(
                f"there is an account called {arguments.name} already; change it with --role, "
                "--disable, --enable, --confirm or --password"
            )
        note_action(session, "account", account_id=account.id, subject=account.name, done=done)
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
