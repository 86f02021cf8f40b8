"""A provider of OpenID Connect on the loopback, with real keys; it can be told to misbehave."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "the-hub", "a secret of the tests"


@cache
def first_key() -> RSAKey:
    """The key of every provider, unless it is given another one: making one takes a while."""
    return RSAKey.generate_key(2048, {"kid": "first"})


class OpenIdServer:
    """State of the provider: who signs in, and what is wrong with its answers."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.key: RSAKey | ECKey = first_key()
        self.algorithm = "RS256"
        self.person: dict[str, Any] = {"sub": "person-1", "preferred_username": "zoe"}
        self.claims: dict[str, Any] = {}
        """Claims of the token that replace the right ones; None leaves one out."""
        self.metadata: dict[str, Any] = {}
        self.user: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.requests: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/user",
            **self.metadata,
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Sign the person in at once; returns where the browser goes."""
        assert query["client_id"] == CLIENT_ID
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Tokens for a code, once, for the client and the verifier."""
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        posted = (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
        if authorization != f"Basic {basic}" and not posted:
            return 401, {"error": "invalid_client"}
        query = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = _base64(digest)
        if query is None or query["code_challenge"] != challenge or query["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": query["nonce"],
            **self.person,
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return 200, {"access_token": "an access token", "token_type": "Bearer", "id_token": self.sign(claims)}

    def sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": self.algorithm, "kid": self.key.kid}
        if self.algorithm == "none":
            return f"{_unsigned(header, claims)}."
        if self.algorithm == "HS256":
            # As if the public key were a shared secret, which everybody knows.
            body = _unsigned(header, claims)
            digest = hmac.digest(self.key.as_pem(private=False), body.encode(), hashlib.sha256)
            return f"{body}.{_base64(digest)}"
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


def _unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@contextmanager
def serve_openid() -> Iterator[OpenIdServer]:
    """Serve a provider until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            provider.requests.append(parts.path)
            if parts.path == "/.well-known/openid-configuration":
                self._answer(200, provider.describe())
            elif parts.path == "/keys":
                self._answer(200, {"keys": [provider.key.as_dict(private=False, use="sig")]})
            elif parts.path == "/user":
                self._answer(200, provider.user)
            elif parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(dict(parse_qsl(parts.query))))
                self.end_headers()
            else:
                self._answer(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(*provider.exchange(form, self.headers.get("Authorization", "")))

        def _answer(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = OpenIdServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
