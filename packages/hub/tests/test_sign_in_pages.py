"""Signing in and out by browser, sign-up, invitations, and links for a new password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from hub_browsers import PASSWORD, HubBrowser, add_accounts
from msgspec.structs import replace
from sqlalchemy import select

from snellen_hub.accounts.access import invite
from snellen_hub.accounts.changes import create_reset
from snellen_hub.config import SessionLimits
from snellen_hub.database.tables import Account, AuditEntry, SignIn
from snellen_hub.hub import Hub, create_hub
from snellen_hub.web.app import create_app


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = create_hub(tmp_path / "hub")
    add_accounts(opened, olga="owner", ann="submitter")
    yield opened
    opened.close()


@pytest.fixture
def app(hub: Hub) -> FastAPI:
    return create_app(hub)


def with_settings(hub: Hub, **settings: object) -> Hub:
    return Hub(hub.folder, replace(hub.config, **settings), hub.database, hub.storage)


def actions(hub: Hub) -> list[str]:
    with hub.database.reading() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def test_a_person_signs_in_and_out(hub: Hub, app: FastAPI) -> None:
    browser = HubBrowser(app)
    going = browser.send("/sign-in", {"name": "ANN", "password": PASSWORD, "next": "/?a=b"})
    assert (going.status_code, going.headers["location"]) == (303, "/?a=b")
    cookie = next(c for c in going.headers.get_list("set-cookie") if c.startswith("snellen_hub="))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie
    assert '<a href="/account">ann</a>' in browser.get("/").text
    assert browser.get("/sign-in").status_code == 303
    assert browser.send("/sign-out", page="/").status_code == 303
    assert browser.cookie() == ""
    assert "Sign in" in browser.get("/").text
    assert actions(hub) == ["sign-in", "sign-out"]


def test_https_cookies_belong_to_this_host_alone(hub: Hub) -> None:
    app = create_app(with_settings(hub, url="https://hub.example"))
    browser = HubBrowser(app)
    browser.client.base_url = "https://hub.example"  # type: ignore[assignment]
    done = browser.send("/sign-in", {"name": "ann", "password": PASSWORD}, headers={"Origin": "https://hub.example"})
    cookie = next(c for c in done.headers.get_list("set-cookie") if "__Host-snellen_hub=" in c)
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert "Path=/" in cookie


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "ann", "password": "a wrong password"}, "name or password is wrong"),
        ({"name": "nobody", "password": PASSWORD}, "name or password is wrong"),
        ({"name": "a\x00b", "password": PASSWORD}, "name or password is wrong"),
        ({"name": "", "password": PASSWORD}, "Name: type your name"),
        ({"name": "ann", "password": ""}, "Password: type your password"),
    ],
)
def test_a_failed_sign_in_keeps_the_name(app: FastAPI, fields: dict[str, str], sentence: str) -> None:
    page = HubBrowser(app).send("/sign-in", fields)
    assert page.status_code == 422
    assert sentence in page.text
    assert PASSWORD not in page.text
    assert "a wrong password" not in page.text
    if fields["name"] == "ann":
        assert 'value="ann"' in page.text


def test_sign_up_is_only_where_the_hub_lets_anyone(hub: Hub, app: FastAPI) -> None:
    assert HubBrowser(app).get("/sign-up").status_code == 404
    assert "by invitation" in HubBrowser(app).get("/sign-in").text
    browser = HubBrowser(create_app(with_settings(hub, sign_up=True)))
    fields = {"name": "bob", "password": PASSWORD, "again": PASSWORD}
    done = browser.send("/sign-up", fields)
    assert (done.status_code, done.headers["location"]) == (303, "/account")
    with hub.database.reading() as session:
        assert session.scalars(select(Account.role).where(Account.name == "bob")).one() == ("submitter")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "ANN"}, "Name: this name is taken"),
        ({"name": "x y"}, "Name: a name has 2 to 63 letters"),
        ({"password": "short", "again": "short"}, "Password: a password has 10 to 200"),
        ({"again": "something else"}, "Password once more: the two passwords differ"),
        ({"name": "bob-bob-bob", "password": "bob-bob-bob", "again": "bob-bob-bob"}, "is the name"),
    ],
)
def test_mistakes_in_a_sign_up_are_shown_at_the_field(hub: Hub, fields: dict[str, str], sentence: str) -> None:
    browser = HubBrowser(create_app(with_settings(hub, sign_up=True)))
    page = browser.send("/sign-up", {"name": "bob", "password": PASSWORD, "again": PASSWORD, **fields})
    assert page.status_code == 422
    assert sentence in page.text
    assert 'aria-invalid="true"' in page.text
    assert PASSWORD not in page.text


def test_accounts_of_an_address_are_limited(hub: Hub) -> None:
    app = create_app(with_settings(hub, sign_up=True))
    codes = [
        HubBrowser(app, "10.9.9.9")
        .send("/sign-up", {"name": f"bob{n}", "password": PASSWORD, "again": PASSWORD})
        .status_code
        for n in range(6)
    ]
    assert codes == [303] * 5 + [429]


def test_an_invitation_makes_one_account(hub: Hub, app: FastAPI) -> None:
    with hub.database.writing() as session:
        owner = session.scalars(select(Account.id).where(Account.name == "olga")).one()
        secret = invite(session, "viewer", owner, hub.config.sessions)
        late = invite(session, "viewer", owner, SessionLimits(invitation_days=1e-9))
    browser = HubBrowser(app)
    path = f"/invitations/{secret}"
    assert "as a viewer" in browser.get(path).text
    fields = {"name": "vera", "password": PASSWORD, "again": PASSWORD}
    # A mistake does not use it up.
    assert browser.send(path, {**fields, "name": "ann"}).status_code == 422
    assert browser.send(path, fields).headers["location"] == "/account"
    assert "vera" in browser.get("/").text
    for used in (path, f"/invitations/{late}", "/invitations/made-up"):
        page = HubBrowser(app).get(used)
        assert (page.status_code, "unknown, used or expired" in page.text) == (404, True)
    assert "invitation accepted" in actions(hub)


def test_a_link_gives_a_new_password_once(hub: Hub, app: FastAPI) -> None:
    signed_in = HubBrowser(app).sign_in("ann")
    with hub.database.writing() as session:
        ann = session.scalars(select(Account).where(Account.name == "ann")).one()
        earlier = create_reset(session, ann, ann.id)
        secret = create_reset(session, ann, ann.id)
    path = f"/password-resets/{secret}"
    browser = HubBrowser(app)
    assert browser.get(f"/password-resets/{earlier}").status_code == 404
    new = "another long password"
    assert browser.send(path, {"password": new, "again": "x"}).status_code == 422
    assert browser.send(path, {"password": new, "again": new}).headers["location"] == "/sign-in"
    assert HubBrowser(app).get(path).status_code == 404
    assert "/sign-in" in signed_in.get("/").text
    HubBrowser(app).sign_in("ann", new)


def test_a_sign_in_expires(hub: Hub) -> None:
    app = create_app(with_settings(hub, sessions=SessionLimits(session_days=1e-9)))
    browser = HubBrowser(app)
    browser.send("/sign-in", {"name": "ann", "password": PASSWORD})
    assert "Sign in" in browser.get("/").text


def test_signing_in_again_ends_the_earlier_sign_in(hub: Hub, app: FastAPI) -> None:
    browser = HubBrowser(app).sign_in("ann")
    earlier = browser.cookie()
    browser.client.cookies.delete("snellen_hub")
    browser.sign_in("ann")
    assert browser.cookie() != earlier
    with hub.database.reading() as session:
        assert len(session.scalars(select(SignIn)).all()) == 2
