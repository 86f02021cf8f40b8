"""`snellen hub account`."""

from __future__ import annotations

import getpass
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.cli.output import FormatOptions, print_document
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import hub_folder, print_done

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from snellen.report.document import Document
    from snellen_hub.config import SessionLimits


_DONE = {"disable": "disabled", "enable": "enabled", "confirm": "confirmed", "password": "has a new password"}


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub account` takes: at most one of `role`, `change`, `manage` and `token`."""

    folder: str = hub_folder()
    name: str | None = argument("NAME", "name of the account; without it, all accounts are listed", "?")
    role: str | None = option(None, "--role", "owner, submitter (default) or viewer", metavar="ROLE")
    change: str | None = option(
        None,
        "--change",
        "disable: end its sign-ins and tokens; enable: let it sign in again; confirm: let an "
        "account that signed up submit where answers are hidden; password: give it a new password, "
        "and end its sign-ins",
        choices=tuple(_DONE),
    )
    manage: str | None = option(
        None,
        "--manage",
        "let it manage one benchmark, as host, who sets the phases (default), or owner, who names "
        "hosts too; with the role none no longer",
        metavar="BENCHMARK[:ROLE]",
    )
    token: str | None = option(
        None,
        "--token",
        "print a new token, with which programs submit, this once; LABEL says what it is for, and "
        "SCOPE is read, submit or admin (default: read+submit)",
        metavar="LABEL[:SCOPE+...]",
        bare_value="",
    )


def main(options: Options) -> int:
    """Add an account, change one that exists, make a token, or list the accounts."""
    from snellen_hub.hub import open_hub

    asked = [options.role, options.change, options.manage, options.token]
    if sum(value is not None for value in asked) > (0 if options.name is None else 1):
        raise UsageError(
            "give NAME with one of --role, --change, --manage and --token; without both, hub account lists the accounts"
        )
    password = read_password() if options.change == "password" else ""
    with open_hub(options.folder) as hub:
        if options.name is None:
            with hub.database.reading() as session:
                print_document(_list_accounts(session), options.form)
            return COMPLETE
        with hub.database.writing() as session:
            line, data = _change(session, options, options.name, password, hub.config.sessions)
    print_done(options.form, line, data)
    return COMPLETE


def _change(
    session: Session, options: Options, name: str, password: str, limits: SessionLimits
) -> tuple[str, dict[str, str]]:
    """Do what the options say; returns the line to print, and what JSON holds."""
    if options.token is not None:
        secret = _make_token(session, name, options.token, limits)
        return secret, {"account": name, "token": secret}
    if options.manage is not None:
        done = _set_host(session, name, options.manage)
        return done, {"account": name, "done": done}
    done = _set_account(session, options, name, password)
    return f"{name}: {done}", {"account": name, "done": done}


def _set_account(session: Session, options: Options, name: str, password: str) -> str:
    """Add or change an account; returns what was done."""
    from snellen_hub.accounts import changes
    from snellen_hub.accounts.access import account_called, create_account, find_account
    from snellen_hub.accounts.audit import note_action

    if options.change is not None:
        account = find_account(session, name)
        done = _DONE[options.change]
        if options.change == "password":
            changes.set_password(session, account, password)
        else:
            changes.CHANGES[done](session, account)
    elif (found := account_called(session, name)) is None:
        role = options.role or "submitter"
        account = create_account(session, name, role, read_password())
        done = f"added as {role}"
    elif options.role:
        account = found
        changes.set_role(session, account, options.role)
        done = f"is a {options.role} now"
    else:
        raise UsageError(f"there is an account called {name} already; change it with --role or --change")
    note_action(session, "account", account_id=account.id, subject=account.name, done=done)
    return done


def _make_token(session: Session, name: str, text: str, limits: SessionLimits) -> str:
    """Add the token of `LABEL[:SCOPE+...]`; returns it."""
    from snellen_hub.accounts.access import create_token, find_account
    from snellen_hub.accounts.audit import note_action

    account = find_account(session, name)
    label, _, named = text.partition(":")
    scopes = frozenset(named.split("+") if named else ["read", "submit"])
    secret = create_token(session, account, label, scopes, limits)
    note_action(session, "token", account_id=account.id, subject=account.name, scopes=sorted(scopes))
    return secret


def _set_host(session: Session, name: str, text: str) -> str:
    """Let an account manage `BENCHMARK[:ROLE]`, or no longer; returns what was done."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hosts import set_host

    benchmark, _, role = text.partition(":")
    row = find_hosted_benchmark(session, benchmark)
    done = set_host(session, row, name, "" if role == "none" else role or "host")
    note_action(session, "host", subject=row.name, done=done)
    return f"{row.name}: {done}"


def _list_accounts(session: Session) -> Document:
    """The accounts with what they manage."""
    from sqlalchemy import select

    from snellen.report.document import Column, Document, Table
    from snellen_hub.database.tables import Account, BoardHost, HostedBenchmark

    hosts: dict[int, list[str]] = {}
    query = select(BoardHost, HostedBenchmark.name).join(HostedBenchmark)
    for host, benchmark in session.execute(query.order_by(HostedBenchmark.name)):
        hosts.setdefault(host.account_id, []).append(f"{benchmark}:{host.role}")
    columns = [Column(name) for name in ("account", "role", "state", "manages", "since")]
    rows = [
        [
            account.name,
            account.role,
            "disabled" if account.disabled else "confirmed" if account.confirmed else "not confirmed",
            ", ".join(hosts.get(account.id, [])),
            account.created.date().isoformat(),
        ]
        for account in session.scalars(select(Account).where(Account.deleted.is_(None)).order_by(Account.id))
    ]
    return Document([Table("accounts", columns, rows)])


def read_password() -> str:
    """A password from the terminal, typed twice, or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("password: ")
    if password != getpass.getpass("once more: "):
        raise UsageError("the two passwords differ")
    return password
