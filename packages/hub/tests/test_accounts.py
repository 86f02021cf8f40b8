"""Accounts: passwords, sign-ins, tokens, invitations and their limits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select, update

from snellen.core.errors import UsageError
from snellen_hub.accounts import passwords
from snellen_hub.accounts.access import (
    AccessDenied,
    accept_invitation,
    browser_caller,
    create_account,
    create_token,
    delete_expired,
    invite,
    now,
    sign_in,
    sign_out,
    token_caller,
)
from snellen_hub.accounts.attempts import MAX_FAILURES, MAX_FAILURES_OF_ADDRESS
from snellen_hub.accounts.roles import scopes_of
from snellen_hub.config import SessionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import AccessToken, Account, SignIn

PASSWORD = "correct horse battery"
LIMITS = SessionLimits()


@pytest.fixture
def ann(database: Database) -> int:
    with database.writing() as session:
        return create_account(session, "Ann", "submitter", PASSWORD).id


def test_a_password_signs_in_until_it_is_ended(database: Database, ann: int) -> None:
    done = sign_in(database, "ann", PASSWORD, "1.2.3.4", LIMITS)
    assert done is not None
    secret = done[1].secret
    with database.writing() as session:
        stored = session.scalars(select(Account.password_hash)).one()
        assert stored is not None
        assert stored.startswith("$argon2id$")
        assert PASSWORD not in stored
        assert secret.encode() not in session.scalars(select(SignIn.digest)).one()
    with database.writing() as session:
        known = browser_caller(session, secret)
        assert known is not None
        assert (known[0].account_id, known[0].may("submit"), known[0].may("admin")) == (ann, True, False)
        sign_out(session, secret)
        assert browser_caller(session, secret) is None


def test_passwords_are_hashed_at_the_costs_of_rfc_9106() -> None:
    parameters = passwords.PARAMETERS
    assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (65536, 3, 4)
    stored = PasswordHasher.from_parameters(parameters).hash(PASSWORD)
    assert passwords.verify_password(stored, PASSWORD)
    # The fixture's hasher has other costs, as a hub whose costs were raised.
    assert passwords.needs_rehash(stored)


def test_guessing_a_password_ends_soon(database: Database, ann: int) -> None:
    for _ in range(MAX_FAILURES):
        assert sign_in(database, "ann", "a wrong password", "1.2.3.4", LIMITS) is None
    with pytest.raises(AccessDenied, match="too many failed sign-ins"):
        sign_in(database, "ann", PASSWORD, "1.2.3.4", LIMITS)
    assert sign_in(database, "ann", PASSWORD, "9.9.9.9", LIMITS) is not None
    # Others at the same address are not locked out with it, until there are many guesses.
    for n in range(MAX_FAILURES_OF_ADDRESS - MAX_FAILURES):
        assert sign_in(database, f"bob{n}", PASSWORD, "1.2.3.4", LIMITS) is None
    with pytest.raises(AccessDenied, match="too many failed sign-ins"):
        sign_in(database, "eve", PASSWORD, "1.2.3.4", LIMITS)
    # Nobody is told whether there is such an account.
    assert sign_in(database, "nobody", PASSWORD, "5.6.7.8", LIMITS) is None


def test_a_disabled_account_can_do_nothing(database: Database, ann: int) -> None:
    done = sign_in(database, "ann", PASSWORD, "1.2.3.4", LIMITS)
    assert done is not None
    with database.writing() as session:
        account = session.get_one(Account, ann)
        token = create_token(session, account, "ci", frozenset({"submit"}), LIMITS)
        account.disabled = now()
    with database.writing() as session:
        assert browser_caller(session, done[1].secret) is None
        assert token_caller(session, token) is None
    assert sign_in(database, "ann", PASSWORD, "1.2.3.4", LIMITS) is None


def test_tokens_have_scopes_and_an_end(database: Database, ann: int) -> None:
    with database.writing() as session:
        account = session.get_one(Account, ann)
        token = create_token(session, account, "ci", frozenset({"read"}), LIMITS)
        identity = token_caller(session, token)
        assert identity is not None
        assert (identity.may("read"), identity.may("submit")) == (True, False)
        assert token_caller(session, token + "x") is None
        for scopes, sentence in (
            (frozenset({"admin"}), "a submitter may not have the scope admin"),
            (frozenset({"fly"}), "the scopes fly"),
            (frozenset[str](), "the scopes none"),
        ):
            with pytest.raises(UsageError, match=sentence):
                create_token(session, account, "", scopes, LIMITS)
        session.execute(update(AccessToken).values(expires=now() - timedelta(seconds=1)))
        assert token_caller(session, token) is None
        session.execute(update(AccessToken).values(expires=now() + timedelta(days=1), revoked=now()))
        assert token_caller(session, token) is None


def test_a_token_loses_what_its_owners_role_loses() -> None:
    assert scopes_of("viewer", frozenset({"read", "submit", "admin"})) == {"read"}
    assert scopes_of("someone", frozenset({"read"})) == frozenset()


def test_an_invitation_makes_one_account(database: Database, ann: int) -> None:
    with database.writing() as session:
        secret = invite(session, "viewer", ann, LIMITS)
        late = invite(session, "viewer", ann, SessionLimits(invitation_days=1e-9))
        bob = accept_invitation(session, secret, "bob", PASSWORD)
        assert bob.role == "viewer"
        for used in (secret, late, "made up"):
            with pytest.raises(AccessDenied, match="unknown, used or expired"):
                accept_invitation(session, used, "eve", PASSWORD)


def test_expired_sign_ins_are_deleted(database: Database, ann: int) -> None:
    assert sign_in(database, "ann", PASSWORD, "1.2.3.4", SessionLimits(session_days=1e-9))
    with database.writing() as session:
        delete_expired(session)
        assert session.scalars(select(SignIn)).all() == []


@pytest.mark.parametrize(
    ("name", "role", "password", "sentence"),
    [
        ("ANN", "viewer", PASSWORD, "called ANN already"),
        ("a", "viewer", PASSWORD, "cannot be called 'a'"),
        ("x\ny", "viewer", PASSWORD, "cannot be called"),
        ("bob", "king", PASSWORD, "the role is 'king'"),
        ("bob", "viewer", "short", "10 to 200 characters; this one has 5"),
    ],
)
def test_accounts_that_cannot_be_made(
    database: Database, ann: int, name: str, role: str, password: str, sentence: str
) -> None:
    with database.writing() as session, pytest.raises(UsageError, match=sentence):
        create_account(session, name, role, password)
