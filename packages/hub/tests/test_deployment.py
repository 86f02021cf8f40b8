"""The container, compose, nginx and Caddy files of examples/hub: what they name exists, and Caddy
and nginx serve a hub with their files. No image is built here."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from test_api import HUB, command, environment, free_port
from test_scoring import predictions, write_data

from snellen.cli.parser import parse_arguments
from snellen_hub.config import parse_config

FOLDER = Path(__file__).parents[3] / "examples" / "hub"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CADDY = shutil.which("caddy")
KEYS = {
    "build",
    "cap_add",
    "cap_drop",
    "command",
    "cpus",
    "depends_on",
    "deploy",
    "entrypoint",
    "environment",
    "healthcheck",
    "image",
    "mem_limit",
    "networks",
    "pids_limit",
    "ports",
    "read_only",
    "restart",
    "security_opt",
    "shm_size",
    "stop_grace_period",
    "tmpfs",
    "volumes",
}
"""Of a service, by the Compose specification; those that are used."""


def test_compose_has_postgresql_two_workers_and_a_proxy() -> None:
    assert set(COMPOSE) == {"name", "x-hub", "services", "networks", "volumes"}
    assert set(SERVICES) == {"backup", "database", "proxy", "server", "tls", "worker"}
    assert SERVICES["worker"]["deploy"] == {"replicas": 2}
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
        named = [each.partition(":")[0] for each in service.get("volumes", [])]
        assert {each for each in named if not each.startswith(".")} <= set(COMPOSE["volumes"])
        assert set(service.get("depends_on", ())) <= set(SERVICES)
    # Only Caddy can be reached from outside.
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["tls"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_limits(name: str) -> None:
    """Of memory, with room for what its folders in memory may hold, of processors and processes."""
    service = SERVICES[name]
    in_memory = sum(int(size) for each in service.get("tmpfs", ()) for size in re.findall(r"size=(\d+)g", each))
    assert int(service["mem_limit"].removesuffix("g")) > in_memory
    assert 0 < service["cpus"] <= 1
    assert 100 < service["pids_limit"] <= 512


@pytest.mark.parametrize("name", ["server", "worker"])
def test_commands_of_containers_exist(name: str) -> None:
    arguments = parse_arguments(SERVICES[name]["command"])
    assert (arguments.command, arguments.HUB) == ("hub", "/hub/hub")


def test_commands_of_the_containerfile_exist() -> None:
    text = (FOLDER / "Containerfile").read_text()
    (default,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    assert parse_arguments(json.loads(default)).host == "0.0.0.0"
    build = SERVICES["server"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).resolve() == FOLDER / "Containerfile"


def test_every_secret_comes_from_outside() -> None:
    """And a missing one stops everything, instead of being empty."""
    text = (FOLDER / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+)(:\?)?\}", text)) == {("SNELLEN_HUB_KEY", ":?"), ("POSTGRES_PASSWORD", ":?")}


def test_the_backup_service_makes_a_backup(tmp_path: Path) -> None:
    """Its loop, once, with paths of this machine."""
    service = SERVICES["backup"]
    assert service["entrypoint"] == ["sh", "-c"]
    (script,) = service["command"]
    folder, backups = tmp_path / "hub", tmp_path / "backups"
    backups.mkdir()
    old = backups / "2020-01-01.zip"
    old.touch()
    os.utime(old, (0, 0))
    once = script.replace("$$", "$").replace("sleep 86400", "break")
    once = once.replace("/hub/hub", str(folder)).replace("/backups", str(backups))
    once = once.replace("snellen hub", " ".join(HUB))
    # Without a new one the old ones stay.
    subprocess.run(["sh", "-c", once], env=environment(), check=True)
    assert list(backups.iterdir()) == [old]
    command("hub", "init", folder, "--owner", "olga", stdin="a long password\n")
    subprocess.run(["sh", "-c", once], env=environment(), check=True)
    (made,) = backups.iterdir()
    command("hub", "restore", made, tmp_path / "restored")


def test_the_environment_names_the_address_and_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing is edited inside of a volume."""
    for name in ("SNELLEN_HUB_URL", "SNELLEN_HUB_TRUSTED_PROXIES"):
        assert name in SERVICES["server"]["environment"]
    address = SERVICES["proxy"]["networks"]["default"]["ipv4_address"]
    assert SERVICES["server"]["environment"]["SNELLEN_HUB_TRUSTED_PROXIES"] == address
    monkeypatch.setenv("SNELLEN_HUB_URL", "https://boards.example.org/")
    monkeypatch.setenv("SNELLEN_HUB_TRUSTED_PROXIES", f"{address}, 10.0.0.1")
    config = parse_config('url = "http://other"\n', tmp_path)
    assert config.url == "https://boards.example.org"
    assert list(config.trusted_proxies) == [address, "10.0.0.1"]


def test_nginx_and_the_hub_agree() -> None:
    text = (FOLDER / "nginx.conf").read_text()
    assert "server server:8440" in text
    assert "application/atom+xml" in text
    address = SERVICES["tls"]["networks"]["default"]["ipv4_address"]
    assert f"set_real_ip_from {address};" in text
    assert "reverse_proxy proxy:8080" in (FOLDER / "Caddyfile").read_text()


class Proxied(NamedTuple):
    url: str
    folder: Path
    log: Path
    server: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """A hub behind nginx, both as processes."""
    assert NGINX is not None, "a release needs nginx (Debian: apt install nginx)"
    place = tmp_path_factory.mktemp("nginx")
    hub_port, port = free_port(), free_port()
    text = (FOLDER / "nginx.conf").read_text()
    # Of nginx 1.27.3 and later; Debian's is older.
    text = (
        text.replace(" resolve;", ";")
        .replace("server:8440", f"127.0.0.1:{hub_port}")
        .replace("/tmp/", f"{place}/")
        .replace("172.30.0.9", "127.0.0.1")
    )
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("202m", "2m")
    if os.geteuid() == 0:
        text = f"user root;\n{text}"
    (place / "nginx.conf").write_text(text)
    flags = [NGINX, "-p", str(place), "-e", "stderr", "-c", str(place / "nginx.conf")]
    checked = subprocess.run([*flags, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    folder = place / "hub"
    command("hub", "init", folder, "--owner", "olga", stdin="a long password\n")
    with (folder / "hub.toml").open("a") as file:
        file.write('trusted_proxies = ["127.0.0.1"]\n')
    data = write_data(place / "signs.tsv")
    command("hub", "benchmark", folder, "signs", "--data", data)
    with ExitStack() as ending:
        log = ending.enter_context((place / "log").open("w"))
        server = subprocess.Popen([*HUB, "serve", str(folder), "--port", str(hub_port)], env=environment(), stderr=log)
        ending.callback(_end, server)
        proxy = subprocess.Popen([*flags, "-g", "daemon off;"])
        ending.callback(_end, proxy)
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                is_alive = server.poll() is None and time.monotonic() < end
                assert is_alive, (place / "log").read_text()
                time.sleep(0.2)
        yield Proxied(url, folder, place / "log", server)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


def logged_addresses(proxied: Proxied, route: str) -> list[str]:
    """The addresses that the hub saw on a route."""
    end = time.monotonic() + 30
    while True:
        # It is written after the answer.
        lines = [json.loads(line) for line in proxied.log.read_text().splitlines()]
        own = [str(line["address"]) for line in lines if line.get("route") == route]
        if own or time.monotonic() > end:
            return own
        time.sleep(0.1)


@pytest.mark.release
def test_a_submission_passes_the_proxy(proxied: Proxied, tmp_path: Path) -> None:
    token = command("hub", "account", proxied.folder, "olga", "--token").strip()
    file = tmp_path / "p.jsonl"
    file.write_bytes(predictions(45))
    said = command("submit", file, "--hub", proxied.url, "--benchmark", "signs", "--name", "m", SNELLEN_HUB_TOKEN=token)
    assert "queued, private" in said
    file.write_bytes(predictions(45) * 2000)
    said = command(
        "submit", file, "--hub", proxied.url, "--benchmark", "signs", "--name", "m", SNELLEN_HUB_TOKEN=token, code=2
    )
    assert "413" in said or "cannot be reached" in said


@pytest.mark.release
def test_forwarded_address_of_a_stranger_is_ignored(proxied: Proxied) -> None:
    # From another address than Caddy's, whose word nginx takes.
    with closing(HTTPConnection(proxied.url[7:], source_address=("127.0.0.2", 0))) as connection:
        connection.request("GET", "/api/v1/benchmarks", headers={"X-Forwarded-For": "198.51.100.7"})
        connection.getresponse().read()
    assert logged_addresses(proxied, "/api/v1/benchmarks") == ["127.0.0.2"]


@pytest.mark.release
def test_caddy_ends_tls(proxied: Proxied, tmp_path: Path) -> None:
    """With a certificate of its own, since nobody else gives one for localhost."""
    assert CADDY is not None, "a release needs Caddy (Debian: apt install caddy)"
    port, plain_port = free_port(), free_port()
    text = (FOLDER / "Caddyfile").read_text().replace("proxy:8080", proxied.url[7:])
    own = f"local_certs\n\tskip_install_trust\n\thttp_port {plain_port}"
    (tmp_path / "Caddyfile").write_text(text.replace("admin off", f"admin off\n\t{own}"))
    url = f"https://localhost:{port}"
    made = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    flags = ["--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
    with (tmp_path / "log").open("w") as log:
        caddy = subprocess.Popen([CADDY, "run", *flags], stderr=log, env=os.environ | made | {"SNELLEN_HUB_URL": url})
    try:
        root = tmp_path / "caddy/pki/authorities/local/root.crt"
        end = time.monotonic() + 60
        while True:
            try:
                trust = ssl.create_default_context(cafile=root)
                request = urllib.request.Request(f"{url}/api/v1/suites", headers={"X-Forwarded-For": "198.51.100.7"})
                answer = urllib.request.urlopen(request, context=trust, timeout=30)
                break
            except OSError:
                assert time.monotonic() < end, (tmp_path / "log").read_text()
                time.sleep(0.2)
        with answer:
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
            assert json.load(answer) == []
        own = logged_addresses(proxied, "/api/v1/suites")
        assert own
        assert set(own) <= {"127.0.0.1", "::1"}
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(url, context=ssl.create_default_context(), timeout=30)
    finally:
        caddy.terminate()
        caddy.wait(30)


@pytest.mark.release
def test_pages_are_compressed_and_static_files_kept(proxied: Proxied) -> None:
    def read(path: str) -> tuple[str, bytes]:
        request = urllib.request.Request(proxied.url + path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=30) as response:
            encoding, body = response.headers.get("Content-Encoding", ""), response.read()
        return encoding, gzip.decompress(body) if encoding == "gzip" else body

    encoding, described = read("/api/v1/openapi.json")
    assert encoding == "gzip"
    assert json.loads(described)["info"]["title"] == "Leaderboards"
    (style,) = re.findall(r'href="(/static/hub\.css[^"]*)"', read("/")[1].decode())
    text = read(style)
    # The hub is gone, and the style sheet still comes.
    proxied.server.terminate()
    proxied.server.wait(30)
    assert read(style) == text
    with pytest.raises(urllib.error.HTTPError, match="502") as refused:
        read("/")
    refused.value.close()
