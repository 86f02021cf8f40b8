"""Sign-in by OpenID Connect, at a provider that serves on the loopback with real keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from hub_browsers import PASSWORD, HubBrowser, add_accounts
from joserfc.jwk import ECKey, RSAKey
from msgspec.structs import replace
from openid_server import CLIENT_ID, CLIENT_SECRET, OpenIdServer, serve_openid
from sqlalchemy import select

from snellen.core.errors import UsageError
from snellen_hub.accounts.changes import delete_account
from snellen_hub.config import OpenIdProvider, read_config
from snellen_hub.database.tables import Account, AuditEntry, OpenIdRequest
from snellen_hub.hub import Hub, create_hub
from snellen_hub.web.app import create_app

HUB_URL = "http://127.0.0.1:8440"


@pytest.fixture
def provider() -> Iterator[OpenIdServer]:
    with serve_openid() as served:
        yield served


@pytest.fixture
def hub(tmp_path: Path, provider: OpenIdServer) -> Iterator[Hub]:
    made = create_hub(tmp_path / "hub")
    openid = OpenIdProvider(issuer=provider.issuer, client_id=CLIENT_ID, label="Sign in at the lab")
    opened = Hub(made.folder, replace(made.config, openid=openid), made.database, made.storage)
    add_accounts(opened, olga="owner", zoe="submitter")
    yield opened
    opened.close()


@pytest.fixture
def app(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    monkeypatch.setenv("SNELLEN_HUB_OIDC_SECRET", CLIENT_SECRET)
    return create_app(hub)


def with_openid(hub: Hub, **settings: Any) -> FastAPI:
    assert hub.config.openid is not None
    openid = replace(hub.config.openid, **settings)
    config = replace(hub.config, openid=openid)
    return create_app(Hub(hub.folder, config, hub.database, hub.storage))


def go_to_provider(url: str) -> str:
    """Sign in at the provider; returns path and query of the hub where the browser goes."""
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=30)) as connection:
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        answer.read()
    target = answer.headers["Location"]
    assert target.startswith(f"{HUB_URL}/oidc/callback?")
    return str(target.removeprefix(HUB_URL))


def start(browser: HubBrowser, to: str = "/account") -> str:
    """Start a sign-in; returns the provider's address."""
    going = browser.get("/oidc/start", params={"next": to})
    assert going.status_code == 303, going.text
    return str(going.headers["location"])


def sign_in(browser: HubBrowser, to: str = "/account") -> Any:
    return browser.get(go_to_provider(start(browser, to)))


def subjects(hub: Hub) -> dict[str, tuple[str, str]]:
    with hub.database.reading() as session:
        query = select(Account).where(Account.subject.is_not(None))
        return {row.subject or "": (row.name, row.role) for row in session.scalars(query)}


def test_the_first_sign_in_makes_an_account(hub: Hub, app: FastAPI, provider: OpenIdServer) -> None:
    browser = HubBrowser(app)
    assert "Sign in at the lab" in browser.get("/sign-in").text
    done = sign_in(browser, "/account/tokens")
    assert (done.status_code, done.headers["location"]) == (303, "/account/tokens")
    # The name zoe is taken by an account with a password, which stays as it is.
    assert subjects(hub) == {f"{provider.issuer} person-1": ("zoe-2", "submitter")}
    assert "zoe-2" in browser.get("/account").text
    assert "your organisation" in browser.get("/account").text
    again = HubBrowser(app)
    sign_in(again)
    assert len(subjects(hub)) == 1
    assert provider.requests.count("/.well-known/openid-configuration") == 1
    assert browser.get("/account/password").status_code == 200
    assert "has no password" in browser.get("/account/password").text
    with hub.database.reading() as session:
        assert session.scalars(select(OpenIdRequest)).all() == []
        assert list(session.scalars(select(AuditEntry.action))) == ["sign-in"] * 2


def test_an_account_of_the_provider_has_no_password(app: FastAPI) -> None:
    sign_in(HubBrowser(app))
    page = HubBrowser(app).send("/sign-in", {"name": "zoe-2", "password": PASSWORD})
    assert "name or password is wrong" in page.text


@pytest.mark.parametrize(
    ("person", "name"),
    [
        ({"preferred_username": "Zoë Müller"}, "Zo-M-ller"),
        ({"preferred_username": None, "email": "kim.lee@lab.example"}, "kim.lee"),
        ({"preferred_username": "../../etc"}, "etc"),
        ({"preferred_username": "王"}, "member"),
        ({"preferred_username": 7}, "member"),
        ({"preferred_username": "olga"}, "olga-2"),
        ({"preferred_username": "x" * 500}, "x" * 50),
    ],
)
def test_names_are_made_from_what_the_provider_says(
    hub: Hub, app: FastAPI, provider: OpenIdServer, person: dict[str, Any], name: str
) -> None:
    provider.person |= person
    assert sign_in(HubBrowser(app)).status_code == 303
    assert [one[0] for one in subjects(hub).values()] == [name]


@pytest.mark.parametrize("algorithm", ["ES256", "PS256"])
def test_other_signatures(app: FastAPI, provider: OpenIdServer, algorithm: str) -> None:
    if algorithm == "ES256":
        provider.key = ECKey.generate_key("P-256", {"kid": "curve"})
    provider.algorithm = algorithm
    assert sign_in(HubBrowser(app)).status_code == 303


def test_new_keys_of_the_provider_are_read(app: FastAPI, provider: OpenIdServer) -> None:
    assert sign_in(HubBrowser(app)).status_code == 303
    provider.key = RSAKey.generate_key(2048, {"kid": "second"})
    assert sign_in(HubBrowser(app)).status_code == 303


def test_client_secret_can_be_posted(app: FastAPI, provider: OpenIdServer) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert sign_in(HubBrowser(app)).status_code == 303


@pytest.mark.attack(
    "a reply of a provider, a token or a code that is forged, expired or another's", "nobody is signed in"
)
@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "of another sign-in"}, "wrong nonce"),
        ({"nonce": None}, "nonce"),
        ({"aud": "another client"}, "wrong aud"),
        ({"aud": ["another client", CLIENT_ID]}, "azp"),
        ({"aud": [CLIENT_ID], "azp": "another client"}, "wrong azp"),
        ({"aud": None}, "aud"),
        ({"iss": "https://evil.example"}, "wrong iss"),
        ({"exp": int(time.time()) - 3600}, "it has expired"),
        ({"exp": None}, "exp"),
        ({"iat": int(time.time()) + 3600}, "iat"),
        ({"nbf": int(time.time()) + 3600}, "nbf"),
        ({"sub": ""}, "names nobody"),
        ({"sub": "x" * 300}, "names nobody"),
        ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "wrong at_hash"),
    ],
)
def test_a_token_of_another_sign_in_is_refused(
    hub: Hub, app: FastAPI, provider: OpenIdServer, claims: dict[str, Any], reason: str
) -> None:
    provider.claims = claims
    browser = HubBrowser(app)
    page = sign_in(browser)
    assert page.status_code == 400
    assert "identity token" in page.text
    assert reason in page.text
    assert subjects(hub) == {}
    assert browser.get("/account").status_code == 303


@pytest.mark.attack("an ID token without a signature, or signed with a public key as a password", "nobody is signed in")
@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_that_anybody_can_sign_is_refused(
    hub: Hub, app: FastAPI, provider: OpenIdServer, algorithm: str
) -> None:
    provider.algorithm = algorithm
    assert sign_in(HubBrowser(app)).status_code == 400
    assert subjects(hub) == {}


@pytest.mark.attack("an ID token of another key than the provider publishes", "nobody is signed in")
def test_a_token_of_another_key_is_refused(hub: Hub, app: FastAPI, provider: OpenIdServer) -> None:
    assert sign_in(HubBrowser(app)).status_code == 303
    published = provider.key
    provider.key = RSAKey.generate_key(2048, {"kid": "first"})
    answer = provider.describe()
    assert answer["issuer"] == provider.issuer
    page = sign_in(HubBrowser(app))
    assert page.status_code == 400
    provider.key = published
    assert len(subjects(hub)) == 1


@pytest.mark.attack("the same way back from the provider once more", "it ends in no second sign-in")
def test_a_sign_in_ends_once(hub: Hub, app: FastAPI, provider: OpenIdServer) -> None:
    browser = HubBrowser(app)
    back = go_to_provider(start(browser))
    cookie = browser.cookie("snellen_openid")
    assert browser.get(back).status_code == 303
    # The same code and state again, in the same browser with the cookie put back.
    replay = HubBrowser(app)
    replay.client.cookies.set("snellen_openid", cookie, domain="testserver.local")
    page = replay.get(back)
    assert (page.status_code, "is over" in page.text) == (400, True)
    # Another browser, which started a sign-in of its own.
    other = HubBrowser(app)
    start(other)
    assert other.get(back).status_code == 400
    assert other.get("/account").status_code == 303


@pytest.mark.attack("another's way back, opened in a victim's browser", "nobody is signed in")
def test_a_victim_is_not_signed_in_to_the_account_of_another(app: FastAPI) -> None:
    attacker, victim = HubBrowser(app), HubBrowser(app)
    back = go_to_provider(start(attacker))
    for prepare in (lambda: None, lambda: start(victim)):
        prepare()
        page = victim.get(back)
        assert (page.status_code, "not started in this browser" in page.text) == (400, True)
        assert victim.get("/account").status_code == 303


@pytest.mark.attack("the code of another sign-in", "nobody is signed in")
def test_a_code_of_another_sign_in_is_refused(app: FastAPI) -> None:
    attacker, browser = HubBrowser(app), HubBrowser(app)
    code = go_to_provider(start(attacker)).partition("code=")[2].partition("&")[0]
    own = go_to_provider(start(browser))
    own_code = own.partition("code=")[2].partition("&")[0]
    page = browser.get(own.replace(own_code, code))
    assert (page.status_code, "invalid grant" in page.text.replace("_", " ")) == (400, True)


@pytest.mark.attack("another site as the page after the sign-in", "the hub's first page")
@pytest.mark.parametrize("to", ["https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nb"])
def test_openid_redirects_only_within_the_hub(app: FastAPI, to: str) -> None:
    assert sign_in(HubBrowser(app), to).headers["location"] == "/"


def test_a_sign_in_that_takes_too_long(hub: Hub, app: FastAPI) -> None:
    browser = HubBrowser(app)
    back = go_to_provider(start(browser))
    with hub.database.writing() as session:
        for row in session.scalars(select(OpenIdRequest)):
            row.expires = row.created
    assert "took too long" in browser.get(back).text


def test_the_provider_refuses(app: FastAPI) -> None:
    browser = HubBrowser(app)
    state = start(browser).partition("state=")[2].partition("&")[0]
    page = browser.get(f"/oidc/callback?error=access_denied%3Cb%3E&state={state}")
    assert (page.status_code, "without signing you in" in page.text) == (400, True)
    assert "<b>" not in page.text


def test_the_answer_names_its_issuer(app: FastAPI, provider: OpenIdServer) -> None:
    provider.metadata["authorization_response_iss_parameter_supported"] = True
    browser = HubBrowser(app)
    assert "another provider" in browser.get(go_to_provider(start(browser))).text
    back = f"{go_to_provider(start(browser))}&iss={provider.issuer}"
    assert browser.get(back).status_code == 303


@pytest.mark.parametrize(
    ("settings", "person", "sentence"),
    [
        ({"email_domains": ("lab.example",)}, {"email": "z@lab.example", "email_verified": True}, ""),
        ({"email_domains": ("lab.example",)}, {"email": "z@LAB.example", "email_verified": True}, ""),
        ({"email_domains": ("lab.example",)}, {"email": "z@lab.example"}, "address that your"),
        (
            {"email_domains": ("lab.example",)},
            {"email": "z@lab.example", "email_verified": "false"},
            "address that your",
        ),
        (
            {"email_domains": ("lab.example",)},
            {"email": "z@evil-lab.example", "email_verified": True},
            "at evil-lab.example",
        ),
        (
            {"email_domains": ("lab.example",)},
            {"email": "z@lab.example@evil.example", "email_verified": True},
            "at evil.example",
        ),
        ({"groups": ("vision",)}, {"groups": ["sound", "vision"]}, ""),
        ({"groups": ("vision",)}, {"groups": ["visionary"]}, "you are in none"),
        ({"groups": ("vision",)}, {"groups": "vision"}, ""),
        ({"groups": ("vision",)}, {}, "you are in none"),
        ({"groups": ("vision",), "groups_claim": "roles"}, {"roles": ["vision"]}, ""),
    ],
)
def test_restrictions(
    hub: Hub,
    provider: OpenIdServer,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    person: dict[str, Any],
    sentence: str,
) -> None:
    monkeypatch.setenv("SNELLEN_HUB_OIDC_SECRET", CLIENT_SECRET)
    provider.person |= person
    provider.user = {"sub": "person-1"}
    page = sign_in(HubBrowser(with_openid(hub, **settings)))
    assert page.status_code == (403 if sentence else 303), page.text
    assert sentence in page.text
    assert len(subjects(hub)) == (0 if sentence else 1)


def test_claims_missing_in_the_token_are_requested(
    hub: Hub, provider: OpenIdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HUB_OIDC_SECRET", CLIENT_SECRET)
    app = with_openid(hub, groups=("vision",))
    provider.user = {"sub": "person-1", "groups": ["vision"]}
    assert sign_in(HubBrowser(app)).status_code == 303
    provider.user = {"sub": "person-2", "groups": ["vision"]}
    assert "speaks of two persons" in sign_in(HubBrowser(app)).text


def test_a_disabled_account_stays_out(hub: Hub, app: FastAPI) -> None:
    browser = HubBrowser(app)
    sign_in(browser)
    olga = HubBrowser(app).sign_in("olga")
    olga.send("/manage/accounts/3", {"action": "disabled"})
    assert browser.get("/account").status_code == 303
    page = sign_in(HubBrowser(app))
    assert (page.status_code, "your account is disabled" in page.text) == (403, True)


@pytest.mark.attack(
    "an account of a provider is deleted and made again by signing in, for other limits and finals",
    "the second one is not confirmed, so that it cannot submit where answers are hidden",
)
def test_an_account_made_again_is_not_confirmed(hub: Hub, app: FastAPI) -> None:
    for number in (3, 4, 5):
        sign_in(HubBrowser(app))
        with hub.database.writing() as session:
            account = session.get_one(Account, number)
            assert (account.confirmed is not None) == (number == 3)
            delete_account(session, account)
            assert "person-1" not in str(account.subject)


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"issuer": "https://evil.example"}, "they must be equal"),
        ({"authorization_endpoint": "http://elsewhere.example/a"}, "expected one with https://"),
        ({"token_endpoint": None}, "expected one with https://"),
    ],
)
def test_invalid_provider_metadata_gives_503(
    app: FastAPI, provider: OpenIdServer, metadata: dict[str, Any], sentence: str
) -> None:
    provider.metadata = metadata
    for _ in range(2):
        page = HubBrowser(app).get("/oidc/start")
        assert (page.status_code, sentence in page.text) == (503, True)


def test_a_provider_that_is_away(hub: Hub) -> None:
    page = HubBrowser(with_openid(hub, issuer="http://127.0.0.1:9")).get("/oidc/start")
    assert (page.status_code, "cannot be reached" in page.text) == (503, True)
    plain = HubBrowser(with_openid(hub, issuer="http://lab.example")).get("/oidc/start")
    assert "expected one with https://" in plain.text


def test_a_wrong_secret_of_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HUB_OIDC_SECRET", "something else")
    page = sign_in(HubBrowser(with_openid(hub)))
    assert "invalid_client" in page.text
    assert "something else" not in page.text


def test_a_hub_without_a_provider(hub: Hub) -> None:
    app = create_app(Hub(hub.folder, replace(hub.config, openid=None), hub.database, hub.storage))
    browser = HubBrowser(app)
    assert browser.get("/oidc/start").status_code == 404
    assert browser.get("/oidc/callback").status_code == 404


def test_sign_in_starts_of_an_address_are_limited(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen_hub.web.pages.openid._STARTS", 6)
    browser = HubBrowser(app, "10.7.7.7")
    codes = [browser.get("/oidc/start").status_code for _ in range(7)]
    assert codes == [303] * 6 + [429]


def test_owners_are_not_made_by_a_provider(tmp_path: Path) -> None:
    (tmp_path / "hub.toml").write_text('[openid]\nissuer = "https://lab.example"\nclient_id = "hub"\nrole = "owner"\n')
    with pytest.raises(UsageError, match=r"Invalid enum value 'owner' - at `\$\.openid\.role`"):
        read_config(tmp_path)
