"""What an account may do, by its role and the scopes of its token."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from snellen.core.errors import UsageError

Role = Literal["owner", "submitter", "viewer"]
Scope = Literal["read", "submit", "admin"]
ROLES: tuple[str, ...] = get_args(Role)
SCOPES: tuple[str, ...] = get_args(Scope)

_SCOPES_OF_ROLE: dict[str, frozenset[str]] = {
    "owner": frozenset(SCOPES),
    "submitter": frozenset({"read", "submit"}),
    "viewer": frozenset({"read"}),
}


class Caller(NamedTuple):
    """Who makes a request: an account, and what it may do."""

    account_id: int
    name: str
    role: str
    scopes: frozenset[str]

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes


def scopes_of(role: str, granted: frozenset[str] | None = None) -> frozenset[str]:
    """The scopes of a role, of which a token has at most those that were `granted`."""
    scopes = _SCOPES_OF_ROLE.get(role, frozenset())
    return scopes if granted is None else scopes & granted


def check_role(role: str) -> str:
    """Raises UsageError for an unknown role."""
    if role not in ROLES:
        raise UsageError(f"the role is {role!r}; expected one of {', '.join(ROLES)}")
    return role
