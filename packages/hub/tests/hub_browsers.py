"""Browsers for the tests of the hub's pages: they keep cookies, read forms and send them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from snellen_hub.accounts.access import account_called, create_account, start_sign_in
from snellen_hub.accounts.passwords import hash_password
from snellen_hub.hub import Hub

PASSWORD = "correct horse battery"
ORIGIN = "http://testserver"
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class HubBrowser:
    """One browser at the pages of a hub."""

    def __init__(self, app: FastAPI, address: str = "10.0.0.1") -> None:
        self._hub: Hub = app.state.hub
        self.client = TestClient(
            app, base_url=ORIGIN, client=(address, 50_000), headers={"Accept": "text/html"}, follow_redirects=False
        )

    def get(self, path: str, **options: Any) -> Response:
        return self.client.get(path, **options)

    def csrf(self, path: str) -> str:
        """The secret in the forms of a page."""
        page = self.get(path)
        assert page.status_code == 200, (path, page.status_code, page.text)
        found = re.findall(_CSRF, page.text)
        assert found, f"{path} has no form"
        return str(found[-1])

    def send(self, path: str, fields: dict[str, Any] | None = None, page: str = "", **options: Any) -> Response:
        """Send a form of a page as a browser does; `page` is where the form stands."""
        data = {"csrf": self.csrf(page or path), **(fields or {})}
        headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", **options.pop("headers", {})}
        return self.client.post(path, data=data, headers=headers, **options)

    def sign_in(self, name: str, password: str = "") -> HubBrowser:
        """Sign in with a password, or without one as if it had been typed, which is quicker."""
        if password:
            answer = self.send("/sign-in", {"name": name, "password": password})
            assert answer.status_code == 303, answer.text
            return self
        hub = self._hub
        with hub.database.writing() as session:
            account = account_called(session, name)
            assert account is not None
            agent = self.client.headers["User-Agent"]
            created = start_sign_in(session, account, hub.config.sessions, "10.0.0.1", agent)
        self.client.cookies.set("snellen_hub", created.secret, domain="testserver.local")
        return self

    def cookie(self, name: str = "snellen_hub") -> str:
        return str(self.client.cookies.get(name) or "")


@cache
def _hash() -> str:
    return hash_password(PASSWORD)


def add_accounts(hub: Hub, **roles: str) -> dict[str, int]:
    """Accounts by name and role, all with the same password; returns their ids."""
    with hub.database.writing() as session:
        accounts = [create_account(session, name, role, None) for name, role in roles.items()]
        for account in accounts:
            account.password_hash = _hash()
        return {account.name: account.id for account in accounts}
