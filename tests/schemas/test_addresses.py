"""Where requests are sent, and the header with the key, are those of the providers' client packages."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from snellen.core.secret import Secret
from snellen.models.remote.address import build_endpoint, find_origin
from snellen.models.remote.profile import profiles

FOLDER = Path(__file__).parent
THEIRS = json.loads((FOLDER / "addresses.json").read_text(encoding="utf-8"))
EXPLAINED = {
    each["provider"]: each["fields"]
    for each in tomllib.loads((FOLDER / "explained.toml").read_text(encoding="utf-8"))["addresses"]
}
_PATHS = {"anthropic": "messages", "google": "models/some-model:generateContent"}


@pytest.mark.parametrize("provider", THEIRS)
def test_requests_go_where_the_client_sends_them(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profiles()[provider]
    for name in profile.base_url_env:
        monkeypatch.delenv(name, raising=False)
    endpoint = build_endpoint(find_origin(provider, profile, {}), profile, Secret("opens.nothing"), "some-model", {})
    headers = {name.lower(): value for name, value in endpoint.headers_with_key().items()}
    [header] = [name for name, value in headers.items() if "opens.nothing" in value]
    ours = {
        "url": endpoint.url(_PATHS.get(profile.dialect, "chat/completions")),
        "header": header,
        "bearer": headers[header].startswith("Bearer "),
        "version": headers.get("anthropic-version"),
    }
    theirs = {"version": None, **THEIRS[provider]}
    assert [name for name in ours if ours[name] != theirs[name]] == EXPLAINED.get(provider, [])
