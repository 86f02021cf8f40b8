"""Files of a hub, in a folder and in an S3 server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.core.errors import StorageError, UsageError
from snellen.core.secret import Secret
from snellen_hub.storage import Storage

KEY = Secret("a key of the tests, long enough")


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < end, "the S3 server did not start"
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait(30)


@pytest.fixture(params=["folder", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path / "storage")
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_address"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    name = f"hub{abs(hash(str(tmp_path))) % 10**9}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}/snellen"


def test_stored_file_is_read_again(url: str) -> None:
    storage = Storage(url, KEY)
    storage.check()
    plain, sealed = storage.put(b"questions"), storage.put(b"answers", seal=True)
    assert storage.put(b"questions") == plain
    # A sealed name says nothing of its content, and is not that of equal content.
    assert storage.put(b"answers", seal=True) != sealed
    again = Storage(url, KEY)
    assert (again.get(plain), again.get(sealed)) == (b"questions", b"answers")
    assert {plain, sealed} < {file.key for file in again.list_files()}
    storage.delete(plain)
    storage.delete(plain)
    with pytest.raises(StorageError, match="has no file"):
        storage.get(plain)


def test_only_the_key_opens_what_is_sealed(url: str) -> None:
    sealed = Storage(url, KEY).put(b"answers", seal=True)
    with pytest.raises(StorageError, match="was sealed with another"):
        Storage(url, Secret("another key, as long as it")).get(sealed)
    with pytest.raises(UsageError, match="SNELLEN_HUB_KEY is not set"):
        Storage(url).get(sealed)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path), KEY)
    plain, sealed = storage.put(b"questions"), storage.put(b"answers", seal=True)
    for key in (plain, sealed):
        path = next(tmp_path.rglob(key))
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        with pytest.raises(StorageError, match="damaged"):
            storage.get(key)
    # One sealed file in place of another is noticed too.
    other = storage.put(b"other answers", seal=True)
    next(tmp_path.rglob(sealed)).write_bytes(next(tmp_path.rglob(other)).read_bytes())
    with pytest.raises(StorageError, match="damaged"):
        storage.get(sealed)


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "a/b", "..", "x\0"])
def test_refuses_keys_outside_the_storage(tmp_path: Path, key: str) -> None:
    with pytest.raises(StorageError, match="is no key of the storage"):
        Storage(str(tmp_path)).get(key)


def test_a_storage_that_cannot_be_opened() -> None:
    with pytest.raises(UsageError, match="URL of the storage"):
        Storage("nonsense://x")
