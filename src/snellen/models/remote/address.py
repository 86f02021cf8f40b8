"""Base URL and key of a provider, from options, `providers.toml` and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from snellen.core.errors import UsageError
from snellen.core.secret import Secret
from snellen.models.naming.spec import refuse_password
from snellen.models.remote.credentials import find_credentials
from snellen.models.remote.http import Endpoint
from snellen.models.remote.profile import URL_SCHEMES, ProviderProfile, other_credentials
from snellen.settings import first_nonblank, read_secret

_PASTED_PATHS = ("/chat/completions", "/completions", "/messages", "/images/generations", "/models")
"""Paths that users paste with a base URL; they are removed."""
_PLACE = re.compile(r"[\w.:-]+")
"""A region, location or project, which stands in the host or path of a URL."""
_LOCAL = ("http://localhost", "http://127.0.0.1")


class ServerOrigin(NamedTuple):
    """A provider's address and key variables, as error messages name them."""

    provider: str
    base_url: str
    key_env: tuple[str, ...]
    """Environment variables that may hold the key, or what else has it."""

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_custom(self) -> bool:
        """Whether it is the user's server: named by its URL, or on this machine."""
        return self.provider in URL_SCHEMES or self.base_url.startswith(_LOCAL)


def provider_label(origin: ServerOrigin) -> str:
    """The provider's name; for servers named by URL, the address."""
    return origin.base_url if origin.provider in URL_SCHEMES else origin.provider


def find_origin(provider: str, profile: ProviderProfile, options: Mapping[str, str]) -> ServerOrigin:
    """Find the base URL. Raises UsageError if it is missing or not a URL."""
    key_env = (options["key_env"],) if "key_env" in options else profile.key_env
    url = options.get("base_url") or first_nonblank(profile.base_url_env) or profile.base_url
    if "{" in url and url == profile.base_url:
        url = url.format(**_place(provider, profile))
    if not url:
        variables = f" or set {' or '.join(profile.base_url_env)}" if profile.base_url_env else ""
        raise UsageError(f"{provider} models need the option base_url=https://...{variables}")
    refuse_password(url)
    return ServerOrigin(provider, _normalise_url(provider, url, profile.dialect != "converse"), key_env)


def find_replicas(origin: ServerOrigin, profile: ProviderProfile, urls: Sequence[str]) -> list[ServerOrigin]:
    """The server, and its replicas at these URLs. Raises UsageError for what is no URL, or stands twice."""
    if urls and not origin.is_custom:
        raise UsageError(
            f"option replicas of {origin.provider} models: only servers named by their URL have replicas; "
            "name the first as http://HOST:PORT/v1#MODEL"
        )
    origins = [origin]
    for url in urls:
        refuse_password(url)
        address = _normalise_url(origin.provider, url.partition("#")[0], profile.dialect != "converse")
        if any(address == other.base_url for other in origins):
            raise UsageError(f"option replicas: {address} is named twice")
        origins.append(origin._replace(base_url=address))
    return origins


def _place(provider: str, profile: ProviderProfile) -> dict[str, str]:
    """The fields of the base URL, with the host of a location. Raises UsageError for one that is missing."""
    place = {}
    for name, variables in profile.place.items():
        place[name] = first_nonblank(variables) or profile.place_default.get(name, "")
        if not _PLACE.fullmatch(place[name]):
            got = f"; got {place[name]!r}" if place[name] else ""
            raise UsageError(f"{provider} models need a {name}: set {_either(variables)}{got}")
    return {**place, "host": _google_host(place["location"])} if "location" in place else place


def _google_host(location: str) -> str:
    """The host of Vertex AI for a region, for one of the two unions of regions, or for all."""
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


def find_key(origin: ServerOrigin, profile: ProviderProfile, options: Mapping[str, str]) -> Secret | None:
    """Read the key from the environment. Raises UsageError if it is required and missing."""
    key = read_secret(origin.key_env)
    if key is None and "key_env" not in options and find_credentials(profile) is not None:
        return None
    if key is None and (profile.key_needed or "key_env" in options):
        raise UsageError(
            f"{provider_label(origin)} models need a key: set {_either(origin.key_env)}{other_credentials(profile)} "
            "in the environment, or name another variable with the option key_env=NAME"
        )
    if key is not None and not key.fits_header():
        raise UsageError(
            f"the key in {_either(origin.key_env)} holds a line break or another sign that no key has; set it again"
        )
    return key


def build_endpoint(
    origin: ServerOrigin, profile: ProviderProfile, key: Secret | None, model: str, options: Mapping[str, str]
) -> Endpoint:
    """The endpoint, with the headers and query of every request."""
    headers = {"Content-Type": "application/json"}
    credentials = None
    if key is None:
        # Whoever names the address must name the region too: it is signed.
        region = _place(origin.provider, profile)["region"] if profile.sign else ""
        credentials = find_credentials(profile, region)
    if profile.anthropic_version and not profile.model_in_path:
        headers["anthropic-version"] = profile.anthropic_version
    base_url, query = origin.base_url, ""
    if origin.provider == "azure":
        version = options.get("api_version")
        query = f"api-version={version}" if version else ""
        base_url += f"/openai/deployments/{model}" if version else "/openai/v1"
    return Endpoint(
        base_url=base_url,
        key=key,
        key_header=profile.key_header,
        key_scheme=profile.key_scheme,
        credentials=credentials,
        headers=headers,
        query=query,
    )


def _normalise_url(provider: str, url: str, has_version: bool) -> str:
    """Strip pasted paths from a URL and append /v1 to a bare host, if its API has one. Raises UsageError."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        valid = valid and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(sign.isspace() for sign in url):
        raise UsageError(f"{url!r} is not a URL; expected e.g. http://localhost:8000/v1")
    url = url.rstrip("/")
    for end in _PASTED_PATHS:
        url = url.removesuffix(end)
    if provider == "azure":
        return url.removesuffix("/openai/v1").removesuffix("/openai")
    return url if urlsplit(url).path or not has_version else f"{url}/v1"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
