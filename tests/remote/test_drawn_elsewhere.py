"""Drawn pictures that a server names by an address: what is fetched, and what is not."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, drawing
from PIL import Image
from standin_server import StandIn, running

from snellen.core.errors import ModelError
from snellen.core.output import Drawn
from snellen.models.remote.image_urls import (
    ImageHostPolicy,
    PrivateAddress,
    is_public,
    private_address_error,
    public_resolver,
)

_OUT = io.BytesIO()
Image.new("RGB", (4, 4), "green").save(_OUT, "PNG")
PICTURE = _OUT.getvalue()


@pytest.fixture
def other() -> Iterator[StandIn]:
    """A second server on this machine, as a service of the network would be."""
    with running() as stand_in:
        stand_in.files["picture.png"] = PICTURE
        yield stand_in


def asked_for(server: StandIn, address: str, options: str = "") -> Any:
    server.says({"data": [{"url": address}]})
    [output] = ask(f"{server.url}#tiny:endpoint=images{options}", drawing("a cat"))
    return output


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/x.png",
        "https://10.0.0.1/x.png",
        "https://169.254.169.254/latest/meta-data/iam",
        "https://[::1]/x.png",
        "https://[::ffff:127.0.0.1]/x.png",
        "https://[64:ff9b::7f00:1]/x.png",
        "https://[2002:7f00:1::]/x.png",
        "https://[fe80::1%25lo]/x.png",
        "https://0.0.0.0/x.png",
        "https://100.64.0.1/x.png",
        "https://localhost/x.png",
        "https://service.localhost/x.png",
        "https://0x7f000001/x.png",
        "http://8.8.8.8/x.png",
        "http://example.org/x.png",
        "https://user@127.0.0.1/x.png",
    ],
)
def test_refuses_private_network_addresses(server: StandIn, address: str) -> None:
    with pytest.raises(ModelError, match=r"not fetched; if you trust that host, .*picture_host="):
        asked_for(server, address)


def test_another_port_of_the_servers_host_is_another_place(server: StandIn, other: StandIn) -> None:
    address = f"{other.url}/picture.png"
    with pytest.raises(ModelError, match="not fetched"):
        asked_for(server, address)
    assert other.got == []
    place = other.url.split("/")[2]
    for host in (place, "127.0.0.1", f"example.org+{place}"):
        assert isinstance(asked_for(server, address, f",picture_host={host}"), Drawn)
    assert len(other.got) == 3
    assert not any("Authorization" in headers for headers in other.got)


def test_redirect_to_a_private_address_is_refused(server: StandIn, other: StandIn) -> None:
    # The server's own address is fetched, what it leads to is looked at anew.
    where = {"to": f"{other.url}/picture.png"}

    def listing(request: web.Request) -> web.Response:
        if request.query.get("at") == "last":
            return web.Response(body=PICTURE)
        return web.Response(status=302, headers={"Location": where["to"]})

    server.listing = listing
    start = f"{server.url}/models"
    with pytest.raises(ModelError, match="not fetched"):
        asked_for(server, start)
    assert other.got == []
    where["to"] = "/v1/models?at=last"
    assert isinstance(asked_for(server, start), Drawn)
    where["to"] = start
    with pytest.raises(ModelError, match="from address to address"):
        asked_for(server, start)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("127.0.0.1", False),
        ("192.168.1.1", False),
        ("172.16.0.1", False),
        ("224.0.0.1", False),
        ("fd00:ec2::254", False),
        ("fe80::1%eth0", False),
        ("2001::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "address", ["https://", "https://127.1/x", "https://2130706433/x", "http://[::1", "https://a:99999/x", "https:///x"]
)
def test_refuses_invalid_addresses(server: StandIn, address: str) -> None:
    with pytest.raises(ModelError, match=r"no URL|not a URL|no public address"):
        asked_for(server, address)


def test_public_addresses_by_https_pass() -> None:
    elsewhere = ImageHostPolicy("https://api.example.com/v1")
    elsewhere.check("https://cdn.example.net/a.png")
    elsewhere.check("https://8.8.8.8/a.png")
    assert elsewhere.is_trusted("https://api.example.com:443/files/a.png")
    assert not elsewhere.is_trusted("http://api.example.com/files/a.png")
    assert not elsewhere.is_trusted("https://api.example.com:8443/a.png")


def test_names_are_looked_at_when_they_are_resolved() -> None:
    """A name may mean another address each time it is asked for."""

    async def resolved() -> None:
        resolver = public_resolver()
        try:
            await resolver.resolve("0x7f000001", 443)
        finally:
            await resolver.close()

    with pytest.raises(PrivateAddress):
        asyncio.run(resolved())
    error = private_address_error("https://cdn.example.net/x.png")
    assert "leads to no public address" in str(error)
