"""Attacks on accounts: fixed sessions, forged forms, replayed secrets, guessing, ways elsewhere."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hub_browsers import ORIGIN, PASSWORD, HubBrowser, add_accounts
from msgspec.structs import replace
from prepared_hub import FORMS, Prepared, open_copy, prepare_hub, routes_of
from sqlalchemy import event, func, select

from snellen_hub.accounts import access, passwords
from snellen_hub.accounts.access import create_token, invite, now
from snellen_hub.accounts.attempts import MAX_FAILURES
from snellen_hub.database.tables import AccessToken, Account, AuditEntry, Invitation, SignIn
from snellen_hub.hub import Hub, create_hub
from snellen_hub.web.app import create_app

NEW = "another long password"
ELSEWHERE = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/a\r\nSet-Cookie: x=y",
    "///evil.example",
    "evil.example",
    "/\x00/evil",
]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = create_hub(tmp_path / "hub")
    add_accounts(opened, olga="owner", ann="submitter", bob="submitter")
    yield opened
    opened.close()


@pytest.fixture
def app(hub: Hub) -> FastAPI:
    return create_app(hub)


def count(hub: Hub, table: Any) -> int:
    with hub.database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


# Sessions


@pytest.mark.attack("a cookie that was planted before the sign-in", "worth nothing after it")
def test_a_cookie_planted_before_is_not_the_one_after(app: FastAPI) -> None:
    victim = HubBrowser(app)
    planted = "planted-by-somebody-else-0123456789abcdefghi"
    victim.client.cookies.set("snellen_hub", planted, domain="testserver.local")
    victim.sign_in("ann", PASSWORD)
    assert victim.cookie() != planted
    attacker = HubBrowser(app)
    attacker.client.cookies.set("snellen_hub", planted, domain="testserver.local")
    assert attacker.get("/account").status_code == 303


@pytest.mark.attack("a visitor's cookie that the attacker knows", "gone after the sign-in")
def test_the_visitors_cookie_does_not_outlive_the_sign_in(app: FastAPI) -> None:
    attacker = HubBrowser(app)
    csrf = attacker.csrf("/sign-in")
    victim = HubBrowser(app)
    victim.client.cookies.set("snellen_visitor", attacker.cookie("snellen_visitor"), domain="testserver.local")
    victim.sign_in("ann", PASSWORD)
    assert victim.cookie("snellen_visitor") == ""
    # Its secret opens no form of the sign-in.
    forged = victim.client.post("/account/sign-out-everywhere", data={"csrf": csrf})
    assert forged.status_code == 403


@pytest.mark.attack("a sign-in's cookie, sent after its end", "nobody is signed in")
@pytest.mark.parametrize("ending", ["sign-out", "everywhere", "password", "disabled", "role"])
def test_a_cookie_is_worth_nothing_after_the_sign_in(app: FastAPI, ending: str) -> None:
    ann, olga = HubBrowser(app).sign_in("ann"), HubBrowser(app).sign_in("olga")
    stolen = ann.cookie()
    if ending == "sign-out":
        ann.send("/sign-out", page="/account")
    elif ending == "everywhere":
        ann.send("/account/sign-out-everywhere", page="/account")
    elif ending == "password":
        ann.send("/account/password", {"old": PASSWORD, "password": NEW, "again": NEW})
    else:
        olga.send("/manage/accounts/2", {"action": ending, "role": "viewer"})
    thief = HubBrowser(app)
    thief.client.cookies.set("snellen_hub", stolen, domain="testserver.local")
    assert thief.get("/account").status_code == 303


@pytest.mark.attack("a token, sent after it was revoked, expired or lost its account", "401")
@pytest.mark.parametrize("ending", ["revoked", "expired", "disabled", "role", "deleted"])
def test_a_token_is_worth_nothing_after_its_end(hub: Hub, app: FastAPI, ending: str) -> None:
    with hub.database.writing() as session:
        account = session.get_one(Account, 2)
        scopes = frozenset({"read", "submit"})
        token = create_token(session, account, "", scopes, hub.config.sessions)
    client = TestClient(app)
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/submissions", headers=headers).status_code == 200
    olga = HubBrowser(app).sign_in("olga")
    if ending == "revoked":
        assert client.delete("/api/v1/tokens/1", headers=headers).status_code == 204
    elif ending == "expired":
        with hub.database.writing() as session:
            session.get_one(AccessToken, 1).expires = now() - timedelta(seconds=1)
    else:
        olga.send("/manage/accounts/2", {"action": ending, "role": "viewer", "name": "ann"})
    expected = 403 if ending == "role" else 401
    assert client.get("/api/v1/submissions", headers=headers).status_code == expected
    # Enabled again, the account makes new tokens; old ones stay dead.
    olga.send("/manage/accounts/2", {"action": "enabled"}, page="/manage")
    assert client.get("/api/v1/submissions", headers=headers).status_code == expected


# Forged forms


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare_hub(tmp_path_factory.mktemp("forms") / "hub")


@pytest.mark.attack("every form, sent by a page of another site or sign-in", "403, and nothing is changed")
@pytest.mark.parametrize(
    "attack", ["missing", "of another", "empty", "other site", "no origin", "sibling", "navigation"]
)
def test_no_form_of_another_page_is_taken(prepared: Prepared, tmp_path: Path, attack: str) -> None:
    """Every form of every page, sent with the owner's cookie by somebody else's page."""
    with open_copy(prepared, tmp_path / "copy") as app:
        send_forged_forms(app, prepared, attack)


def send_forged_forms(app: FastAPI, prepared: Prepared, attack: str) -> None:
    hub: Hub = app.state.hub
    tables = (Account, SignIn, AccessToken, Invitation, AuditEntry)
    before = [count(hub, table) for table in tables]
    taken = []
    routes = [name for name in routes_of(app) if name.startswith("POST /") and "/api/" not in name]
    assert len(routes) > 15
    for route in routes:
        client = TestClient(
            app, base_url=ORIGIN, follow_redirects=False, cookies={"snellen_hub": prepared.cookies["olga"]}
        )
        form = {**FORMS.get(route, {}), "csrf": prepared.csrf["olga"]}
        headers = {}
        if attack == "missing":
            del form["csrf"]
        elif attack == "of another":
            form["csrf"] = prepared.csrf["ann"]
        elif attack == "empty":
            form["csrf"] = ""
        elif attack == "other site":
            headers["Origin"] = "https://evil.example"
        elif attack == "no origin":
            headers["Origin"] = "null"
        elif attack == "sibling":
            headers["Sec-Fetch-Site"] = "same-site"
        else:
            headers["Sec-Fetch-Site"] = "cross-site"
        path = prepared.fill(route)
        if client.post(path, data=form, headers=headers).status_code != 403:
            taken.append(route)
    assert taken == []
    assert [count(hub, table) for table in tables] == before


@pytest.mark.attack("the sign-in form, sent by another site", "403")
def test_sign_in_from_another_site_is_refused(app: FastAPI) -> None:
    fields = {"name": "bob", "password": PASSWORD}
    for csrf, headers in (
        ("", {}),
        ("0" * 64, {}),
        (HubBrowser(app).csrf("/sign-in"), {}),
        ("own", {"Origin": "https://evil.example"}),
        ("own", {"Sec-Fetch-Site": "cross-site"}),
    ):
        victim = HubBrowser(app)
        own = victim.csrf("/sign-in")
        form = {**fields, "csrf": own if csrf == "own" else csrf}
        sent = victim.client.post("/sign-in", headers=headers, data=form)
        assert sent.status_code == 403
        assert victim.cookie() == ""


@pytest.mark.attack("a page in another site's frame, or in a shared cache", "headers forbid both")
def test_pages_are_in_no_frame_and_no_cache(app: FastAPI) -> None:
    ann = HubBrowser(app).sign_in("ann")
    for path in ("/account", "/account/tokens", "/account/password"):
        headers = ann.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "form-action 'self'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        # Other sites do not learn addresses, and forms name their origin.
        assert headers["referrer-policy"] == "same-origin"


# Guessing

OF_ADDRESS = 12
"""Failed sign-ins of an address; more take their time."""


@pytest.fixture
def few_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_FAILURES_OF_ADDRESS", OF_ADDRESS)


@pytest.mark.attack("many passwords for one name", "refused for a while")
def test_guessing_a_password_ends_soon(app: FastAPI) -> None:
    guess = {"name": "ann", "password": "a wrong password"}
    browser = HubBrowser(app)
    codes = [browser.send("/sign-in", guess).status_code for _ in range(MAX_FAILURES + 2)]
    assert codes == [422] * MAX_FAILURES + [429] * 2
    # The right password does not help there; neither the account elsewhere nor others suffer.
    right = {"name": "ann", "password": PASSWORD}
    assert browser.send("/sign-in", right).status_code == 429
    HubBrowser(app, "10.0.0.2").sign_in("ann", PASSWORD)
    HubBrowser(app, "10.0.0.3").sign_in("bob", PASSWORD)


def guess_from_many_addresses(app: FastAPI, name: str, most: int) -> None:
    """Fail from as many addresses as an account bears, and see that one more is refused."""
    codes = [
        HubBrowser(app, f"10.9.0.{n}").send("/sign-in", {"name": name, "password": "a wrong password"}).status_code
        for n in range(most + 1)
    ]
    assert codes == [422] * most + [429]


@pytest.mark.attack("passwords for one name from many addresses", "refused at new addresses")
def test_failed_sign_ins_do_not_lock_out_signed_in_users(
    hub: Hub, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MAX_FAILURES_OF_ACCOUNT", 5)
    at_home = HubBrowser(app, "2001:db8::1").sign_in("olga", PASSWORD)
    with hub.database.writing() as session:
        olga = session.get_one(Account, 1)
        token = create_token(session, olga, "", frozenset({"admin"}), hub.config.sessions)
    guess_from_many_addresses(app, "olga", 5)
    # Nobody signs in elsewhere, and the page says what to do.
    right = {"name": "olga", "password": PASSWORD}
    refused = HubBrowser(app, "10.9.1.1").send("/sign-in", right)
    assert refused.status_code == 429
    assert "sign in where you are signed in already" in refused.text
    # The owner goes on: the browser, the token, and another browser of the same network.
    assert at_home.get("/manage").status_code == 200
    headers = {"Authorization": f"Bearer {token}"}
    assert TestClient(app).get("/api/v1/suites", headers=headers).status_code == 200
    HubBrowser(app, "2001:db8::2").sign_in("olga", PASSWORD)
    # A new password by a link of an owner opens the account again at every address.
    link = at_home.send("/manage/accounts/1", {"action": "reset"}, page="/manage").text
    (path,) = set(re.findall(r"/password-resets/[\w-]+", link))
    HubBrowser(app, "10.9.1.1").send(path, {"password": NEW, "again": NEW})
    HubBrowser(app, "10.9.1.1").sign_in("olga", NEW)


@pytest.mark.attack("a guesser who waits for sign-ins of the account", "earlier guesses count on")
def test_a_sign_in_gives_no_further_guesses(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_FAILURES_OF_ACCOUNT", 5)
    guess = {"name": "ann", "password": "a wrong password"}
    for n in range(5):
        assert HubBrowser(app, f"10.9.0.{n}").send("/sign-in", guess).status_code == 422
        if n == 2:
            HubBrowser(app, "10.8.0.1").sign_in("ann", PASSWORD)
    assert HubBrowser(app, "10.9.0.9").send("/sign-in", guess).status_code == 429


@pytest.mark.attack("one password for many names", "the address is refused for a while")
def test_sign_in_attempts_of_an_address_are_limited(app: FastAPI, few_of_an_address: None) -> None:
    browser = HubBrowser(app, "10.0.0.9")
    codes = [
        browser.send("/sign-in", {"name": f"name{n}", "password": PASSWORD}).status_code for n in range(OF_ADDRESS + 1)
    ]
    assert codes == [422] * OF_ADDRESS + [429]


@pytest.mark.attack("guesses from many addresses of one IPv6 network", "they count as one address")
def test_an_ipv6_network_is_one_address(app: FastAPI, few_of_an_address: None) -> None:
    codes = [
        HubBrowser(app, f"2001:db8::{n:x}").send("/sign-in", {"name": f"name{n}", "password": PASSWORD}).status_code
        for n in range(1, OF_ADDRESS + 2)
    ]
    assert codes == [422] * OF_ADDRESS + [429]


@pytest.mark.attack("a made-up X-Forwarded-For", "it is not believed")
def test_a_made_up_address_of_a_proxy_is_not_believed(app: FastAPI, few_of_an_address: None) -> None:
    codes = [
        HubBrowser(app, "10.0.0.8")
        .send("/sign-in", {"name": f"name{n}", "password": PASSWORD}, headers={"X-Forwarded-For": f"203.0.113.{n}"})
        .status_code
        for n in range(OF_ADDRESS + 1)
    ]
    assert codes[-1] == 429


@pytest.mark.attack("many guesses at the same moment", "each is counted")
@pytest.mark.parametrize("addresses", [1, 24])
def test_many_guesses_at_once_are_many_guesses(app: FastAPI, monkeypatch: pytest.MonkeyPatch, addresses: int) -> None:
    monkeypatch.setattr(access, "MAX_FAILURES_OF_ACCOUNT", 15)
    most = MAX_FAILURES if addresses == 1 else 15
    browsers = [HubBrowser(app, f"10.1.0.{n % addresses}") for n in range(24)]
    secrets = [browser.csrf("/sign-in") for browser in browsers]

    def guess(position: int) -> int:
        form = {"name": "ann", "password": "a wrong password", "csrf": secrets[position]}
        return int(browsers[position].client.post("/sign-in", data=form).status_code)

    with ThreadPoolExecutor(12) as pool:
        codes = list(pool.map(guess, range(len(browsers))))
    assert sorted(codes) == [422] * most + [429] * (len(browsers) - most)


@pytest.mark.attack("guesses of the password from a stolen session", "refused for a while")
def test_a_stolen_session_does_not_guess_the_password(app: FastAPI) -> None:
    ann = HubBrowser(app).sign_in("ann")
    fields = {"password": NEW, "again": NEW}
    for _ in range(MAX_FAILURES):
        ann.send("/account/password", {"old": "a wrong password", **fields})
    page = ann.send("/account/password", {"old": PASSWORD, **fields})
    assert "too many wrong passwords" in page.text


@pytest.mark.attack("names tried for whether they exist", "the same steps and the same answer")
def test_unknown_names_take_the_same_steps(hub: Hub, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same statements, and one password hash that is checked, whatever is wrong."""
    with hub.database.writing() as session:
        session.get_one(Account, 3).disabled = now()
        session.get_one(Account, 1).password_hash = None
    checked: list[str] = []
    verify = passwords._hasher.verify

    def note(stored: str, password: bytes) -> bool:
        checked.append(stored.rpartition("$")[0].rpartition("$")[0])
        return verify(stored, password)

    class Noting:
        verify = staticmethod(note)

    monkeypatch.setattr(passwords, "_hasher", Noting)
    work: dict[str, list[str]] = {}
    for name in ("ann", "bob", "olga", "nobody"):
        statements: list[str] = []

        def keep(*arguments: Any, kept: list[str] = statements) -> None:
            kept.append(arguments[2])

        event.listen(hub.database.engine, "before_cursor_execute", keep)
        done = access.sign_in(hub.database, name, "a wrong password", f"10.2.0.{len(work)}", hub.config.sessions)
        event.remove(hub.database.engine, "before_cursor_execute", keep)
        assert done is None
        work[name] = statements
    assert len(checked) == 4
    # The parameters of the hash, and so its cost, are the same.
    assert len(set(checked)) == 1
    assert all(statements == work["nobody"] for statements in work.values())
    assert len(work["nobody"]) > 3


# Links and ways elsewhere


@pytest.mark.attack("an invitation used twice at once", "one account")
def test_an_invitation_at_once_twice_makes_one_account(hub: Hub, app: FastAPI) -> None:
    with hub.database.writing() as session:
        secret = invite(session, "viewer", 1, hub.config.sessions)
    browsers = [HubBrowser(app, f"10.3.0.{n}") for n in range(6)]
    path = f"/invitations/{secret}"
    secrets = [browser.csrf(path) for browser in browsers]

    def accept(position: int) -> int:
        form = {"name": f"eve{position}", "password": PASSWORD, "again": PASSWORD, "csrf": secrets[position]}
        return int(browsers[position].client.post(path, data=form).status_code)

    with ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(accept, range(len(browsers))))
    assert codes == [303] + [404] * 5
    assert count(hub, Account) == 4


@pytest.mark.attack("another site as the page after the sign-in", "the hub's first page")
@pytest.mark.parametrize("target", ELSEWHERE)
def test_sign_in_redirects_only_within_the_hub(app: FastAPI, target: str) -> None:
    fields = {"name": "ann", "password": PASSWORD, "next": target}
    done = HubBrowser(app).send("/sign-in", fields)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert "x=y" not in str(done.headers.get_list("set-cookie"))
    signed_in = HubBrowser(app).sign_in("ann")
    going = signed_in.get("/sign-in", params={"next": target})
    assert (going.status_code, going.headers["location"]) == (303, "/")
    settings = HubBrowser(app).get("/settings", params={"next": target})
    assert settings.headers["location"] == "/"


@pytest.mark.attack("a made-up Host header", "links name the hub")
def test_links_name_the_hub_and_not_the_host_of_the_request(hub: Hub, app: FastAPI) -> None:
    olga = HubBrowser(app).sign_in("olga")
    headers = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    for path, fields in (("/manage/invitations", {"role": "viewer"}), ("/manage/accounts/2", {"action": "reset"})):
        page = olga.send(path, fields, headers=headers).text
        assert "evil.example" not in page
        assert f"{hub.config.url}/" in page


@pytest.mark.attack("a cookie over http", "it is sent over https alone")
def test_the_hub_on_https_gives_no_cookie_to_http(hub: Hub) -> None:
    config = replace(hub.config, url="https://hub.example")
    app = create_app(Hub(hub.folder, config, hub.database, hub.storage))
    browser = HubBrowser(app).sign_in("ann")
    # A cookie without the prefix may come from a neighbouring host, and counts for nothing.
    assert browser.get("/account").status_code == 303


@pytest.mark.attack("passwords, tokens and links looked for in logs and audit", "none stands there")
def test_logs_and_audit_contain_no_secrets(hub: Hub, app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    olga = HubBrowser(app).sign_in("olga", PASSWORD)
    page = olga.send("/manage/invitations", {"role": "viewer"}).text
    page += olga.send("/manage/accounts/2", {"action": "reset"}).text
    page += olga.send("/account/tokens", {"label": "x", "scope-read": "1", "days": "1"}).text
    links = re.findall(r"/(?:invitations|password-resets)/([\w-]{30,})", page)
    secrets = {*links, *re.findall(r"snl_[\w-]+", page), olga.cookie(), PASSWORD}
    assert len(secrets) == 5
    for link in links:
        HubBrowser(app).get(f"/invitations/{link}")
    HubBrowser(app).send("/sign-in", {"name": PASSWORD, "password": "x"})
    HubBrowser(app).send("/sign-in", {"name": "correct-horse", "password": PASSWORD})
    with hub.database.reading() as session:
        entries = session.scalars(select(AuditEntry)).all()
        texts = [f"{entry.subject} {entry.detail}" for entry in entries]
    # The browsers of this test log what they ask for, too.
    texts += [str(vars(each)) for each in caplog.records if not each.name.startswith("httpx")]
    written = "\n".join(texts)
    assert "/invitations/{secret}" in written
    assert "sign-in" in {entry.action for entry in entries}
    assert [secret for secret in secrets if secret in written] == []
