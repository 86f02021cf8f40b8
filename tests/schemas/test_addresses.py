"""Where requests are sent, and the header with the key, are those of the providers' client packages."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path

import pytest
from tests.schemas.shapes import decoded, plain_shape

from snellen.core.secret import Secret
from snellen.models.remote.address import build_endpoint, find_origin
from snellen.models.remote.profile import profiles

FOLDER = Path(__file__).parent
THEIRS = json.loads((FOLDER / "addresses.json").read_text(encoding="utf-8"))
EXPLAINED = {
    each["provider"]: each["fields"]
    for each in tomllib.loads((FOLDER / "explained.toml").read_text(encoding="utf-8"))["addresses"]
}


@pytest.mark.parametrize("provider", THEIRS)
def test_requests_go_where_the_client_sends_them(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profiles()[provider]
    for name in profile.base_url_env:
        monkeypatch.delenv(name, raising=False)
    for place, variables in profile.place.items():
        monkeypatch.setenv(variables[0], "some-project" if place == "project" else "europe-west1")
    endpoint = build_endpoint(find_origin(provider, profile, {}), profile, Secret("opens.nothing"), "some-model", {})
    shape = plain_shape(provider)
    url = endpoint.url(shape.path)
    sent = asyncio.run(endpoint.headers_with_key("POST", url, shape.body))
    headers = {name.lower(): value for name, value in sent.items()}
    [header] = [name for name, value in headers.items() if "opens.nothing" in value]
    ours = {
        "url": url,
        "header": header,
        "bearer": headers[header].startswith("Bearer "),
        "version": headers.get("anthropic-version") or decoded(shape).get("anthropic_version"),
    }
    theirs = {"version": None, **THEIRS[provider]}
    assert [name for name in ours if ours[name] != theirs[name]] == EXPLAINED.get(provider, [])
