"""The file of answers: what it says, and that nobody reads or changes it without the key."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from snellen.core.errors import DataError, UsageError
from snellen.core.secret import Secret
from snellen.data_sets.sealing import SealedHeader, encode_answers, open_sealed, read_key, seal

HEADER = SealedHeader(benchmark="b", release="1.0", split="test", questions="ab", items=2)
ANSWERS = {"2": ("B",), "1": ("Paris", "paris")}
KEY = Secret(base64.urlsafe_b64encode(bytes(range(64))).decode())
OTHER = Secret(base64.urlsafe_b64encode(bytes(64)).decode())


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_answers_come_back_plain_and_encrypted(tmp_path: Path) -> None:
    plain = encode_answers(HEADER, ANSWERS)
    for name, content, key in (("plain", plain, None), ("sealed", seal(plain, KEY), KEY)):
        read = open_sealed(write(tmp_path / name, content), key)
        assert (read.header, read.answers) == (HEADER, ANSWERS)


def test_the_same_answers_and_key_give_the_same_bytes_without_any_answer() -> None:
    plain = encode_answers(HEADER, ANSWERS)
    assert plain == encode_answers(HEADER, dict(reversed(ANSWERS.items())))
    sealed = seal(plain, KEY)
    assert sealed == seal(plain, KEY) != seal(plain, OTHER)
    assert b"Paris" not in sealed
    assert len(sealed) == len(plain) + len(sealed.splitlines()[0]) + 1 + 16


def test_another_implementation_of_aes_siv_opens_it(tmp_path: Path) -> None:
    """By RFC 5297: S2V over AES-CMAC, then AES-CTR, written with the primitives alone."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.cmac import CMAC

    plain = encode_answers(HEADER, ANSWERS)
    first, _, rest = seal(plain, KEY).partition(b"\n")
    key = bytes(range(64))
    tag, text = rest[:16], rest[16:]
    counter = bytearray(tag)
    counter[8] &= 0x7F
    counter[12] &= 0x7F
    decrypted = Cipher(algorithms.AES(key[32:]), modes.CTR(bytes(counter))).decryptor().update(text)
    assert decrypted == plain

    def cmac(data: bytes) -> bytes:
        mac = CMAC(algorithms.AES(key[:32]))
        mac.update(data)
        return mac.finalize()

    def double(data: bytes) -> bytes:
        number = int.from_bytes(data, "big") << 1
        return (number & (2**128 - 1) ^ (0x87 if number >> 128 else 0)).to_bytes(16, "big")

    def xor(one: bytes, other: bytes) -> bytes:
        return bytes(a ^ b for a, b in zip(one, other, strict=True))

    chained = xor(double(cmac(bytes(16))), cmac(first + b"\n"))
    assert cmac(plain[:-16] + xor(plain[-16:], chained)) == tag


@pytest.mark.parametrize(
    ("change", "key", "sentence"),
    [
        (lambda data: data, None, "is encrypted: name its key file"),
        (lambda data: data, OTHER, "was encrypted with another key"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), KEY, "damaged or changed"),
        (lambda data: data.replace(b'"version":1', b'"version":1 '), KEY, "damaged or changed"),
        (lambda data: data[:-20], KEY, "damaged or changed"),
    ],
)
def test_damaged_sealed_file_gives_one_sentence(tmp_path, change, key, sentence: str) -> None:
    path = write(tmp_path / "a", change(seal(encode_answers(HEADER, ANSWERS), KEY)))
    with pytest.raises((UsageError, DataError), match=sentence):
        open_sealed(path, key)


def test_refuses_truncated_file_of_answers(tmp_path: Path) -> None:
    lines = encode_answers(HEADER, ANSWERS).splitlines(keepends=True)
    with pytest.raises(DataError, match="2 answers expected, got 1"):
        open_sealed(write(tmp_path / "a", b"".join(lines[:-1])))
    with pytest.raises(DataError, match="no file of answers"):
        open_sealed(write(tmp_path / "b", b"\x89PNG"))


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = read_key(path, create=True)
    again = read_key(path, create=True)
    assert made is not None
    assert again is not None
    assert made.reveal() == again.reveal()
    assert path.stat().st_mode & 0o777 == 0o600
    assert made.reveal() not in repr(made)


def test_a_key_of_another_form_is_refused(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(UsageError, match="holds no key: expected 64 bytes"):
        read_key(write(tmp_path / "key", b"secret"))
    monkeypatch.setenv("SNELLEN_SEAL_KEY", "short")
    with pytest.raises(UsageError, match="SNELLEN_SEAL_KEY holds no key"):
        read_key(None)
    monkeypatch.setenv("SNELLEN_SEAL_KEY", KEY.reveal())
    key = read_key(None)
    assert key is not None
    assert key.reveal() == KEY.reveal()
