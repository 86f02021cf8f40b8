"""Hosts: accounts that manage one benchmark, and nothing else of the hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import account_called
from snellen_hub.accounts.audit import note_action
from snellen_hub.accounts.roles import Caller
from snellen_hub.database.tables import BoardHost, HostedBenchmark
from snellen_hub.errors import NotAllowed
from snellen_hub.phase_text import Phase
from snellen_hub.phases import set_phases

BoardRole = Literal["owner", "host"]
BOARD_ROLES: tuple[BoardRole, ...] = get_args(BoardRole)


class NotHost(NotAllowed):
    """The account does not manage the benchmark, or not as what is needed."""


def board_role(session: Session, benchmark: HostedBenchmark, caller: Caller) -> str:
    """The role of a caller at a benchmark; empty without one. Who owns the hub owns them all."""
    if caller.may("admin"):
        return "owner"
    row = session.get(BoardHost, (benchmark.id, caller.account_id))
    return row.role if row is not None and caller.may("submit") else ""


def check_host(session: Session, benchmark: HostedBenchmark, caller: Caller, role: BoardRole = "host") -> None:
    """Raises NotHost unless the caller manages the benchmark, as its owner if the role says so."""
    if board_role(session, benchmark, caller) not in {"owner", role}:
        raise NotHost(f"{caller.name} is no {role} of {benchmark.name}")


def host_phases(
    session: Session, benchmark: HostedBenchmark, caller: Caller, phases: Sequence[Phase], address: str
) -> None:
    """Give a benchmark other phases, as a host. Raises NotHost, and UsageError as `set_phases`."""
    check_host(session, benchmark, caller)
    set_phases(session, benchmark, phases)
    note_action(
        session,
        "phases",
        account_id=caller.account_id,
        address=address,
        subject=benchmark.name,
        phases=benchmark.phases,
    )


def read_hosts(session: Session, benchmark: HostedBenchmark) -> list[BoardHost]:
    """Who manages a benchmark, the first ones first."""
    query = select(BoardHost).where(BoardHost.benchmark_id == benchmark.id)
    return list(session.scalars(query.options(joinedload(BoardHost.account)).order_by(BoardHost.created)))


def hosted_benchmarks(session: Session, account_id: int) -> list[HostedBenchmark]:
    """The benchmarks that an account manages, by name."""
    query = select(HostedBenchmark).join(BoardHost, BoardHost.benchmark_id == HostedBenchmark.id)
    query = query.where(BoardHost.account_id == account_id).order_by(HostedBenchmark.name)
    return list(session.scalars(query))


def set_host(session: Session, benchmark: HostedBenchmark, name: str, role: str) -> str:
    """Let an account manage a benchmark, or with an empty role no longer; returns what was done.
    Raises UsageError for an unknown account or role."""
    account = account_called(session, name)
    if account is None or account.disabled is not None:
        raise UsageError(f"there is no account called {name}")
    row = session.get(BoardHost, (benchmark.id, account.id))
    if role not in ("", *BOARD_ROLES):
        raise UsageError(f"the role is {role!r}; expected one of {', '.join(BOARD_ROLES)}")
    if account.role == "viewer" and role:
        raise UsageError(f"{account.name} is a viewer, who only reads; make it a submitter first")
    if row is not None and role:
        row.role = role
    elif role:
        session.add(BoardHost(benchmark_id=benchmark.id, account_id=account.id, role=role))
    elif row is None:
        raise UsageError(f"{account.name} is no host of {benchmark.name}")
    else:
        session.delete(row)
    return f"{account.name} is {f'its {role}' if role else 'no host any more'}"
