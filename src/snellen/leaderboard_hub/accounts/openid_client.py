"""Sign-in at a lab's provider of OpenID Connect: discovery, authorization code with PKCE, and the
check of the identity token.

After OpenID Connect Core 1.0 (sections 3.1.2 and 3.1.3.7), OpenID Connect Discovery 1.0, RFC 7636
(PKCE) and RFC 9207 (the issuer in the answer).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from snellen.core.errors import MissingExtra, UsageError
from snellen.core.secret import Secret
from snellen.leaderboard_hub.config import OpenIdProvider

SECRET_VARIABLE = "SNELLEN_HUB_OIDC_SECRET"
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
               "EdDSA", "Ed25519"]  # fmt: skip
"""Of signatures with a public key: `none` and those with a shared secret are not among them."""
_TIMEOUT = 10.0
_LONGEST = 1_000_000
"""Bytes of an answer."""
_KEPT = 3600.0
"""Seconds for which the provider's description is kept."""
_KEYS_EVERY = 60.0
"""Seconds between two looks for new keys."""
_LEEWAY = 60
"""Seconds by which two clocks may differ."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class OpenIdRefused(UsageError):
    """A sign-in that is not accepted: what came back is not what a sign-in of ours gives."""


class OpenIdUnavailable(UsageError):
    """The provider cannot be reached, or answers what no provider does."""


class ProviderMetadata(Struct, frozen=True):
    """What a provider says about itself, at `/.well-known/openid-configuration`."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


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


class OpenIdClient:
    """One hub at one provider. May be used by several threads."""

    def __init__(
        self, provider: OpenIdProvider, redirect_uri: str, secret: Secret | None = None
    ) -> None:
        self._provider = provider
        self._redirect_uri = redirect_uri
        self._secret = secret
        self._lock = Lock()
        self._metadata: ProviderMetadata | None = None
        self._metadata_read = 0.0
        self._keys: dict[str, Any] | None = None
        self._keys_read = 0.0

    def authorization_url(self, secrets: SignInSecrets) -> str:
        """Where the browser goes to sign in. Raises OpenIdUnavailable."""
        metadata = self._read_metadata()
        with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint,
                state=secrets.state,
                code_verifier=secrets.verifier,
                nonce=secrets.nonce,
            )
        return str(url)

    def check_issuer(self, issuer: str | None) -> None:
        """Check the issuer that an answer names. Raises OpenIdRefused if it is another one, or none
        where the provider says that it names itself."""
        metadata = self._read_metadata()
        if issuer is None and not metadata.authorization_response_iss_parameter_supported:
            return
        if issuer != metadata.issuer:
            raise OpenIdRefused("the sign-in came back from another provider; start again")

    def read_claims(self, code: str, secrets: SignInSecrets) -> dict[str, Any]:
        """Exchange a code for what the provider says of the person, checked.

        Raises OpenIdRefused and OpenIdUnavailable.
        """
        metadata = self._read_metadata()
        tokens = self._exchange(metadata, code, secrets)
        claims = self._check_token(metadata, tokens, secrets)
        if metadata.userinfo_endpoint and not self._has_all(claims):
            claims = self._read_user(metadata, tokens, claims) | claims
        return claims

    def _has_all(self, claims: Mapping[str, Any]) -> bool:
        """Whether the token holds what the restrictions ask for."""
        provider = self._provider
        return ("email" in claims or not provider.email_domains) and (
            provider.groups_claim in claims or not provider.groups
        )

    def _client(self, metadata: ProviderMetadata) -> Any:
        method = "none"
        if self._secret is not None:
            methods = metadata.token_endpoint_auth_methods_supported
            method = "client_secret_basic"
            if method not in methods and "client_secret_post" in methods:
                method = "client_secret_post"
        return _oauth_client()(
            client_id=self._provider.client_id,
            client_secret=None if self._secret is None else self._secret.reveal(),
            token_endpoint_auth_method=method,
            scope=" ".join(self._provider.scopes),
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
            timeout=_TIMEOUT,
        )

    def _exchange(
        self, metadata: ProviderMetadata, code: str, secrets: SignInSecrets
    ) -> dict[str, Any]:
        from authlib.integrations.base_client import OAuthError

        try:
            with self._client(metadata) as client:
                tokens = client.fetch_token(
                    metadata.token_endpoint,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=secrets.verifier,
                )
        except OAuthError as error:
            raise OpenIdRefused(
                f"the provider does not accept this sign-in ({_word(error.error)}); start again"
            ) from error
        except _network_errors() as error:
            raise _unavailable(self._provider) from error
        if not isinstance(tokens.get("id_token"), str):
            raise OpenIdRefused("the provider sent no identity token; tell an owner of this hub")
        return dict(tokens)

    def _check_token(
        self, metadata: ProviderMetadata, tokens: Mapping[str, Any], secrets: SignInSecrets
    ) -> dict[str, Any]:
        """The claims of the identity token. Raises OpenIdRefused."""
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        try:
            token = self._decode(metadata, tokens["id_token"])
            claims = CodeIDToken(
                token.claims,
                token.header,
                {"iss": {"essential": True, "value": metadata.issuer},
                 "aud": {"essential": True, "value": self._provider.client_id}},
                {"nonce": secrets.nonce, "client_id": self._provider.client_id,
                 "access_token": tokens.get("access_token")},
            )  # fmt: skip
            claims.validate(leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise OpenIdRefused(
                f"the identity token of the provider is not valid ({_reason(error)}); start again, "
                "and tell an owner of this hub if it happens again"
            ) from error
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise OpenIdRefused("the identity token names nobody; tell an owner of this hub")
        return dict(claims)

    def _decode(self, metadata: ProviderMetadata, text: str) -> Any:
        """The token, its signature checked; with new keys, if it is of a key that is not known."""
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        keys = self._read_keys(metadata)
        try:
            return jwt.decode(
                text, KeySet.import_key_set(_as_key_set(keys)), algorithms=_ALGORITHMS
            )
        except (JoseError, ValueError):
            newer = self._read_keys(metadata, renew=True)
            if newer == keys:
                raise
            return jwt.decode(
                text, KeySet.import_key_set(_as_key_set(newer)), algorithms=_ALGORITHMS
            )

    def _read_user(
        self, metadata: ProviderMetadata, tokens: Mapping[str, Any], claims: Mapping[str, Any]
    ) -> dict[str, Any]:
        """More about the person, from the provider's user endpoint. Raises OpenIdRefused if it
        speaks of somebody else."""
        headers = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        user = self._get(metadata, metadata.userinfo_endpoint, headers)
        if user.get("sub") != claims["sub"]:
            raise OpenIdRefused("the provider speaks of two persons; tell an owner of this hub")
        return user

    def _read_metadata(self) -> ProviderMetadata:
        with self._lock:
            if self._metadata is not None and time.monotonic() - self._metadata_read < _KEPT:
                return self._metadata
        issuer = self._provider.issuer
        _check_url(issuer)
        content = self._get(None, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            metadata = msgspec.convert(content, ProviderMetadata)
        except msgspec.ValidationError as error:
            raise _unavailable(self._provider) from error
        if metadata.issuer != issuer:
            raise OpenIdUnavailable(
                f"the provider calls itself {metadata.issuer!r}, and hub.toml {issuer!r}; they "
                "must be equal"
            )
        for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri,
                    metadata.userinfo_endpoint):  # fmt: skip
            if url:
                _check_url(url)
        with self._lock:
            self._metadata, self._metadata_read = metadata, time.monotonic()
        return metadata

    def _read_keys(self, metadata: ProviderMetadata, *, renew: bool = False) -> dict[str, Any]:
        with self._lock:
            age = time.monotonic() - self._keys_read
            if self._keys is not None and age < (_KEYS_EVERY if renew else _KEPT):
                return self._keys
        keys = self._get(metadata, metadata.jwks_uri)
        with self._lock:
            self._keys, self._keys_read = keys, time.monotonic()
        return keys

    def _get(
        self, metadata: ProviderMetadata | None, url: str, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """A JSON object. Raises OpenIdUnavailable."""
        accept = {"Accept": "application/json", **(headers or {})}
        try:
            with self._client(metadata or _UNKNOWN) as client:
                answer = client.request("GET", url, headers=accept, withhold_token=True)
            if answer.status_code != 200 or len(answer.content) > _LONGEST:
                raise _unavailable(self._provider)
            content = msgspec.json.decode(answer.content, type=dict[str, Any])
        except _network_errors() as error:
            raise _unavailable(self._provider) from error
        return content


_UNKNOWN = ProviderMetadata("", "", "", "")


def _derive(secret: str, name: str) -> str:
    digest = hmac.digest(secret.encode("utf-8", "surrogatepass"), name.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _check_url(url: str) -> None:
    """Raises OpenIdUnavailable for an address that is not encrypted, but on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise OpenIdUnavailable(f"the provider has the address {url!r}; expected one with https://")


def _unavailable(provider: OpenIdProvider) -> OpenIdUnavailable:
    return OpenIdUnavailable(
        f"the provider {provider.issuer} cannot be reached, or does not answer as one; try again "
        "later, and tell an owner of this hub"
    )


def _reason(error: Exception) -> str:
    """What is wrong with a token, in a word or two."""
    from joserfc.errors import ExpiredTokenError

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


def _oauth_client() -> Any:
    try:
        from authlib.integrations.httpx_client import OAuth2Client
    except ModuleNotFoundError as error:
        raise MissingExtra("sign-in by OpenID Connect", "hub", str(error.name)) from error
    return OAuth2Client


def _as_key_set(keys: dict[str, Any]) -> Any:
    """Keys as JSON, which joserfc checks itself, whatever its type says."""
    return keys


def _network_errors() -> tuple[type[Exception], ...]:
    from httpx2 import HTTPError, InvalidURL

    return (HTTPError, InvalidURL, ValueError, msgspec.DecodeError)
