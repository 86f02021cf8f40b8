"""Sign-in at a lab's provider of OpenID Connect: authorization code with PKCE, by Authlib.

What a provider says is checked as OpenID Connect Core 1.0 (sections 3.1.2 and 3.1.3.7), OpenID
Connect Discovery 1.0 and RFC 9207 (the issuer in the answer) ask.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from authlib.integrations.base_client import BaseApp, OAuth2Mixin, OAuthError, OpenIDMixin
from authlib.integrations.httpx_client import OAuth2Client
from httpx2 import HTTPError, InvalidURL
from joserfc.errors import ExpiredTokenError, JoseError

from snellen.core.errors import UsageError
from snellen.core.secret import Secret
from snellen_hub.config import OpenIdProvider

SECRET_VARIABLE = "SNELLEN_HUB_OIDC_SECRET"
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Of signatures with a public key: `none` and those with a shared secret are not among them."""
_TIMEOUT = 10.0
_KEPT = 3600.0
"""Seconds for which the provider's description and keys are kept."""
_LEEWAY = 60
"""Seconds by which two clocks may differ."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class OpenIdRefused(UsageError):
    """A sign-in that is not accepted: what came back is not what a sign-in of ours gives."""


class OpenIdUnavailable(UsageError):
    """The provider cannot be reached, or answers what no provider does."""


class SignInSecrets(NamedTuple):
    """The values of one sign-in, derived from the secret of the browser's cookie, so that nothing
    of them is stored and they belong to this browser alone."""

    state: str
    nonce: str
    verifier: str


def derive_secrets(secret: str) -> SignInSecrets:
    """State, nonce and PKCE verifier of a sign-in."""
    return SignInSecrets(*(_derive(secret, name) for name in SignInSecrets._fields))


def is_same_state(secret: str, state: str) -> bool:
    """Whether an answer belongs to the sign-in that this browser started."""
    given = state.encode("utf-8", "surrogatepass")
    return hmac.compare_digest(given, derive_secrets(secret).state.encode())


class _Application(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    """The hub at a provider, whose description is read and checked once."""

    client_cls = OAuth2Client

    def load_server_metadata(self) -> dict[str, Any]:
        """Raises OpenIdUnavailable for a description that is none, and of another provider."""
        metadata: dict[str, Any] = super().load_server_metadata()
        if "is_checked" not in metadata:
            try:
                self._check(metadata)
            except BaseException:
                metadata.clear()
                raise
        return metadata

    def _check(self, metadata: dict[str, Any]) -> None:
        if metadata["issuer"] != self.name:
            raise OpenIdUnavailable(
                f"the provider calls itself {metadata['issuer']!r}, and hub.toml {self.name!r}; they must be equal"
            )
        for name in (*_ENDPOINTS, "userinfo_endpoint"):
            if name in _ENDPOINTS or metadata.get(name):
                _check_url(metadata[name])
        methods = metadata.get("token_endpoint_auth_methods_supported", ("client_secret_basic",))
        if self.client_secret and "client_secret_basic" not in methods:
            self.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"
        metadata.update(id_token_signing_alg_values_supported=_ALGORITHMS, is_checked=True)


class OpenIdClient:
    """One hub at one provider. May be used by several threads."""

    def __init__(self, provider: OpenIdProvider, redirect_uri: str, secret: Secret | None = None) -> None:
        self._provider = provider
        self._redirect_uri = redirect_uri
        self._secret = secret
        self._lock = Lock()
        self._application: _Application | None = None
        self._made = 0.0

    def authorization_url(self, secrets: SignInSecrets) -> str:
        """Where the browser goes to sign in. Raises OpenIdUnavailable."""
        with self._answers() as application:
            made = application.create_authorization_url(
                self._redirect_uri, state=secrets.state, nonce=secrets.nonce, code_verifier=secrets.verifier
            )
        return str(made["url"])

    def check_issuer(self, issuer: str | None) -> None:
        """Check the issuer that an answer names. Raises OpenIdRefused if it is another one, or none
        where the provider says that it names itself."""
        with self._answers() as application:
            metadata = application.load_server_metadata()
        if issuer is None and not metadata.get("authorization_response_iss_parameter_supported"):
            return
        if issuer != metadata["issuer"]:
            raise OpenIdRefused("the sign-in came back from another provider; start again")

    def read_claims(self, code: str, secrets: SignInSecrets) -> dict[str, Any]:
        """Exchange a code for what the provider says of the person, checked.

        Raises OpenIdRefused and OpenIdUnavailable.
        """
        with self._answers() as application:
            try:
                tokens = application.fetch_access_token(
                    self._redirect_uri, code=code, code_verifier=secrets.verifier, grant_type="authorization_code"
                )
            except OAuthError as error:
                raise OpenIdRefused(
                    f"the provider does not accept this sign-in ({_word(error.error)}); start again"
                ) from error
            if not isinstance(tokens.get("id_token"), str):
                raise OpenIdRefused("the provider sent no identity token; tell an owner of this hub")
            claims = self._check_token(application, tokens, secrets)
            if application.load_server_metadata().get("userinfo_endpoint") and not self._has_all(claims):
                user = application.userinfo(token=tokens)
                if user.get("sub") != claims["sub"]:
                    raise OpenIdRefused("the provider speaks of two persons; tell an owner of this hub")
                claims = dict(user) | claims
        return claims

    def _check_token(
        self, application: _Application, tokens: Mapping[str, Any], secrets: SignInSecrets
    ) -> dict[str, Any]:
        """The claims of the identity token. Raises OpenIdRefused."""
        expected = {
            "iss": {"essential": True, "value": self._provider.issuer},
            "aud": {"essential": True, "value": self._provider.client_id},
        }
        application.fetch_jwk_set()
        try:
            claims = application.parse_id_token(tokens, secrets.nonce, expected, leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise OpenIdRefused(
                f"the identity token of the provider is not valid ({_reason(error)}); start again, "
                "and tell an owner of this hub if it happens again"
            ) from error
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise OpenIdRefused("the identity token names nobody; tell an owner of this hub")
        return dict(claims)

    def _has_all(self, claims: Mapping[str, Any]) -> bool:
        """Whether the token holds what the restrictions ask for."""
        provider = self._provider
        return ("email" in claims or not provider.email_domains) and (
            provider.groups_claim in claims or not provider.groups
        )

    @contextmanager
    def _answers(self) -> Iterator[_Application]:
        """The application, made anew each hour. Raises OpenIdUnavailable for answers that no
        provider gives."""
        issuer = self._provider.issuer
        _check_url(issuer)
        with self._lock:
            if self._application is None or time.monotonic() - self._made > _KEPT:
                self._application, self._made = self._make(), time.monotonic()
            application = self._application
        try:
            yield application
        except (HTTPError, InvalidURL, ValueError, TypeError, KeyError, AttributeError) as error:
            raise OpenIdUnavailable(
                f"the provider {issuer} cannot be reached, or does not answer as one; try again "
                "later, and tell an owner of this hub"
            ) from error

    def _make(self) -> _Application:
        provider = self._provider
        settings = {"scope": " ".join(provider.scopes), "code_challenge_method": "S256", "timeout": _TIMEOUT}
        return _Application(
            None,
            provider.issuer,
            client_id=provider.client_id,
            client_secret=None if self._secret is None else self._secret.reveal(),
            client_kwargs=settings,
            server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        )


def _derive(secret: str, name: str) -> str:
    digest = hmac.digest(secret.encode("utf-8", "surrogatepass"), name.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _check_url(url: str) -> None:
    """Raises OpenIdUnavailable for an address that is not encrypted, but on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise OpenIdUnavailable(f"the provider has the address {url!r}; expected one with https://")


def _reason(error: Exception) -> str:
    """What is wrong with a token, in a word or two."""
    if isinstance(error, ExpiredTokenError):
        return "it has expired"
    claim = getattr(error, "claim", None)
    if isinstance(claim, str):
        return f"wrong {claim}"
    return _word(getattr(error, "error", None) or "it cannot be read").replace("_", " ")


def _word(text: object) -> str:
    """A code of an error; nothing else that a provider writes is shown."""
    word = str(text)
    return word if word.replace("_", "").replace(" ", "").isalpha() and len(word) < 60 else "error"
