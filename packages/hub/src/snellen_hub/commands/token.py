"""`snellen hub token`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="name of the account")
    parser.add_argument(
        "--scope", action="append", default=[], metavar="SCOPE",
        help="read, submit or admin; repeat for several (default: read and submit)",
    )  # fmt: skip
    parser.add_argument("--label", default="", metavar="TEXT", help="what the token is for")


def main(arguments: Namespace) -> int:
    """Print a new token, which is displayed this once."""
    from sqlalchemy import select

    from snellen_hub.accounts.access import create_token
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.database.tables import Account
    from snellen_hub.hub import open_hub

    scopes = frozenset(arguments.scope or ["read", "submit"])
    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        account = session.scalar(select(Account).where(Account.name == arguments.name))
        if account is None:
            raise UsageError(f"there is no account called {arguments.name}")
        secret = create_token(session, account, arguments.label, scopes, hub.config.sessions)
        note_action(session, "token", account_id=account.id, subject=account.name,
                    scopes=sorted(scopes))  # fmt: skip
    print_line(secret)
    return COMPLETE
