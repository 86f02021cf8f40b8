"""Teams: accounts that submit to a benchmark as one, with the limits and the final of one.

Whoever has submitted cannot join a team, and no submission leaves one, so that nobody gains a limit
or a second final by changing teams. A team's founder stands for it wherever one entry is counted.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session, aliased

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import AccessDenied, account_called, one_line
from snellen_hub.accounts.random_secrets import new_secret, secret_digest
from snellen_hub.config import SessionLimits
from snellen_hub.database.tables import Account, HostedBenchmark, Submission, Team, TeamMember
from snellen_hub.moment_text import now


def team_of(session: Session, benchmark_id: int, account_id: int) -> Team | None:
    """The team of an account at a benchmark; None without one."""
    query = select(Team).join(TeamMember, TeamMember.team_id == Team.id)
    return session.scalar(query.where(TeamMember.benchmark_id == benchmark_id, TeamMember.account_id == account_id))


def read_founders(session: Session, benchmark_id: int) -> dict[int, int]:
    """The founder of the team of each account that is in one."""
    query = select(TeamMember.account_id, Team.founder_id).join(TeamMember.team)
    rows = session.execute(query.where(Team.benchmark_id == benchmark_id))
    return {row[0]: row[1] for row in rows}


def is_shared_with(account_id: int) -> ColumnElement[bool]:
    """Of submissions: whether one is of an account, or of its team."""
    own, mate = aliased(TeamMember), aliased(TeamMember)
    mates = (
        select(mate.account_id)
        .join(own, own.team_id == mate.team_id)
        .where(own.account_id == account_id, own.benchmark_id == Submission.benchmark_id)
    )
    return or_(Submission.account_id == account_id, Submission.account_id.in_(mates))


def is_own(session: Session, row: Submission, account_id: int | None) -> bool:
    """Whether a submission is of an account, or of its team; of nobody's it is not."""
    if account_id is None:
        return False
    query = select(Submission.id).where(Submission.id == row.id, is_shared_with(account_id))
    return session.scalar(query) is not None


def create_team(session: Session, benchmark: HostedBenchmark, account_id: int, name: str) -> Team:
    """Make a team, whose founder's earlier submissions are its own. Raises UsageError."""
    name = one_line(name, 64)
    _lock(session, account_id)
    if team_of(session, benchmark.id, account_id) is not None:
        raise UsageError(f"you are in a team of {benchmark.name} already")
    taken = select(Team.id).where(Team.benchmark_id == benchmark.id, func.lower(Team.name) == name.lower())
    other = account_called(session, name)
    if not name or session.scalar(taken) or (other is not None and other.id != account_id):
        raise UsageError(f"a team cannot be called {name!r}; choose another name")
    team = Team(benchmark_id=benchmark.id, name=name, founder_id=account_id)
    team.members.append(TeamMember(benchmark_id=benchmark.id, account_id=account_id))
    session.add(team)
    session.flush()
    return team


def invite_member(team: Team, limits: SessionLimits) -> str:
    """A link by which one account joins the team, in place of an earlier one; returns its secret,
    once."""
    secret = new_secret()
    team.invitation = secret_digest(secret)
    team.expires = now() + timedelta(days=limits.invitation_days)
    return secret


def open_team(session: Session, secret: str, *, lock: bool = False) -> Team:
    """The team that a link invites to. Raises AccessDenied if it is used, expired or unknown."""
    query = select(Team).where(Team.invitation == secret_digest(secret))
    team = session.scalar(query.with_for_update() if lock else query)
    if team is None or team.expires is None or team.expires < now():
        raise AccessDenied("this invitation is unknown, used or expired; ask for a new one")
    return team


def join_team(session: Session, secret: str, account_id: int) -> Team:
    """Join the team of a link, which is used up. Raises AccessDenied as `open_team`, UsageError for
    an account that is in a team or has submitted."""
    _lock(session, account_id)
    team = open_team(session, secret, lock=True)
    name = team.benchmark.name
    if team_of(session, team.benchmark_id, account_id) is not None:
        raise UsageError(f"you are in a team of {name} already")
    if _has_submitted(session, team.benchmark_id, account_id):
        raise UsageError(
            f"you have submitted to {name} yourself, and who has cannot join a team there; make "
            "one, and invite the others"
        )
    team.members.append(TeamMember(benchmark_id=team.benchmark_id, account_id=account_id))
    team.invitation = team.expires = None
    session.flush()
    return team


def leave_team(session: Session, team: Team, account_id: int) -> None:
    """Leave a team; with its founder everybody leaves, and it is gone. Raises UsageError if an
    account that leaves has submitted, the founder excepted: its submissions stay its own."""
    session.get_one(Team, team.id, with_for_update=True, populate_existing=True)
    is_founder = account_id == team.founder_id
    leaving = [each for each in team.members if is_founder or each.account_id == account_id]
    for member in leaving:
        # What a founder sent counts for the founder, as it did; and uploads of members wait for the
        # founder's row, so that nobody who holds it may wait for theirs.
        if member.account_id == team.founder_id:
            continue
        _lock(session, member.account_id)
        if _has_submitted(session, team.benchmark_id, member.account_id):
            raise UsageError(
                f"{member.account.name} has submitted to {team.benchmark.name} for {team.name}, and stays in it"
            )
    if is_founder:
        session.delete(team)
    else:
        team.members.remove(leaving[0])
    session.flush()


def _has_submitted(session: Session, benchmark_id: int, account_id: int) -> bool:
    query = select(Submission.id).where(Submission.benchmark_id == benchmark_id, Submission.account_id == account_id)
    return session.scalar(query.limit(1)) is not None


def _lock(session: Session, account_id: int) -> None:
    """Keep an account from submitting until the transaction ends, as `take_submission` does."""
    session.get_one(Account, account_id, with_for_update=True)
