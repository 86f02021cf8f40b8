"""Made-up response stores of any size, with the rows that `ResponseStore.put` writes.

SQLite itself writes a block of rows; the pages of that block are then repeated, with the keys and page numbers of
each place, and joined by a tree above them (https://www.sqlite.org/fileformat2.html, Sec. 1.6 and 1.8). So tens of
millions of replies are written at the speed of the disk. Pages are as full as after a compaction, which
leaves room for about one reply on each.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snellen.core.model import Identity
from snellen.core.output import Generated, Usage
from snellen.store.compaction import insert_with_room
from snellen.store.responses import ResponseStore

BLOCK, MODELS, RUNS = 4_096, 40, 2_000
"""Replies of a block, with as many texts; models and runs that gave them."""
PAGE = 4_096
BYTES_OF_REPLY = 463
"""Bytes of the file for a reply."""
_PREFIX, _HEAD = 8, 28
"""Bytes of a key that say its place; bytes before those that make the CRC-32 of every key the same."""
_MAP = PAGE // 5 + 1
"""Pages from one map of pages to the next."""
_LOCK_PAGE = (1 << 30) // PAGE + 1
"""SQLite leaves it unused."""
_AT_ONCE = 64
"""Blocks in memory."""
_WORDS = (
    "the picture shows a red sign beside two parked cars so that option B fits while the chart gives a value of 41 "
    "per cent for the second year and therefore the answer is between both lines as the caption below it says"
)
_TAILS = [hashlib.sha256(b"%d" % number).digest()[: _HEAD - _PREFIX] for number in range(BLOCK)]
Bytes = NDArray[np.uint8]


def replies_of(size: float) -> int:
    """How many replies a store of about `size` bytes has."""
    return max(2, round(size / BYTES_OF_REPLY / BLOCK)) * BLOCK - 1


def key(number: int, count: int, other: int = 0) -> bytes:
    """The digest of reply `number` of `count`, in the order of the digests; with `other` one that is just after it."""
    head = (number * _step(count) + other).to_bytes(_PREFIX) + _TAILS[number % BLOCK]
    return head + zlib.crc32(head).to_bytes(4, "little")


def _step(count: int) -> int:
    return (1 << 64) // (count + 1)


def model(number: int) -> Identity:
    return Identity("hf", f"lab/model-{number:03}", {"revision": "1", "dtype": "bfloat16"})


def outputs() -> list[Generated]:
    """Replies of 18 to 90 words; the longer ones are compressed by the store."""
    draw = random.Random(7)
    found = []
    for _ in range(BLOCK):
        words = draw.choices(_WORDS.split(), k=min(90, int(draw.expovariate(1 / 38)) + 18))
        usage = Usage(draw.randrange(300, 3_000), 2 * len(words))
        text = " ".join(words) + f". Answer: {draw.choice('ABCD')}"
        found.append(Generated(text, usage=usage, seconds=draw.uniform(0.2, 9)))
    return found


def run_folder(store: Path, number: int) -> Path:
    return store.parent / f"hf_lab_model-{number % MODELS:03}--made--{number:08x}"


def put_replies(path: Path, numbers: Sequence[int], count: int) -> None:
    """Store replies of `count` one by one, as a run does."""
    replies = outputs()
    with ResponseStore(path) as store:
        keys = [store.model_key(model(number)) for number in range(MODELS)]
        for number in range(RUNS):
            store.set_run_folder(run_folder(path, number))
        for number in numbers:
            at = number % BLOCK
            # Folders are numbered from 1 in the order in which they were set.
            store._run = at % RUNS + 1
            store.put(key(number, count), replies[at], keys[at % MODELS])


class _Block(NamedTuple):
    """The pages of a block, its root first, with the places of what differs from block to block."""

    pages: Bytes
    """Pages x PAGE."""
    children: NDArray[np.int64]
    """Places of page numbers, in bytes from the block's start."""
    targets: NDArray[np.int64]
    """Pages of the block that these name."""
    keys: NDArray[np.int64]
    """Places of the keys of all rows but the last."""
    separator: bytes
    """The last row, as a cell of an inner page without its page number."""


def write_store(path: Path, count: int) -> None:
    """Write a new store of `count` replies (`replies_of`)."""
    blocks, rest = divmod(count + 1, BLOCK)
    if rest or blocks < 2:
        raise ValueError(f"expected a multiple of {BLOCK:,} less one, got {count:,}")
    block, first, root = _block(path, count)
    numbers = _free_pages(first, blocks * (len(block.pages) + 1))
    parents = np.zeros(int(numbers[-1]) + 1, np.uint32)
    with path.open("r+b") as file:
        tops = _write_blocks(file, block, blocks, numbers, parents, count)
        used = _write_tree(file, block, tops, numbers[blocks * len(block.pages) :], parents, (root, count))
        _write_maps(file, parents[: used + 1], first)
        file.seek(28)
        file.write(used.to_bytes(4))
        file.truncate(used * PAGE)


def _block(path: Path, count: int) -> tuple[_Block, int, int]:
    """The block, the first page that can be used after those of the store that holds it, and the root of the replies;
    of that store all but the replies is left in the file."""
    put_replies(path, range(BLOCK), count)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("UPDATE responses SET stored_at = 1764500000.5")
        last = base.execute("SELECT * FROM responses ORDER BY digest DESC LIMIT 1").fetchone()
        base.execute("DELETE FROM responses WHERE digest = ?", last[:1])
        rows = base.execute("SELECT * FROM responses ORDER BY digest").fetchall()
        base.execute("DELETE FROM responses")
        base.execute("PRAGMA incremental_vacuum").fetchall()
        base.execute("VACUUM")
        (schema,) = base.execute("SELECT sql FROM sqlite_master WHERE name = 'responses'").fetchone()
        (root,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = 'responses'").fetchone()
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    separator, _ = _pages_of(schema, [last])
    cell = int.from_bytes(separator[0][8:10])
    pages, links = _pages_of(schema, rows)
    places = _key_places(pages)
    keys = [places[row[0]] for row in rows]
    children, targets = zip(*links, strict=True)
    found = _Block(pages, np.array(children), np.array(targets), np.array(keys), bytes(separator[0][cell:]))
    return found, path.stat().st_size // PAGE + 1, root


def _pages_of(schema: str, rows: Sequence[tuple[object, ...]]) -> tuple[Bytes, list[tuple[int, int]]]:
    """The pages on which SQLite stores rows, the root first; the place of each page number, and the page it names."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        base.execute(schema)
        base.execute("BEGIN")
        insert_with_room(base, rows)
        base.execute("COMMIT")
        image = np.frombuffer(base.serialize(), np.uint8).reshape(-1, PAGE)
        (root,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = 'responses'").fetchone()
    order, links = [root], []
    for at, number in enumerate(order):
        page = image[number - 1].tobytes()
        if page[0] != 2:
            continue
        cells = int.from_bytes(page[3:5])
        places = [8, *(int.from_bytes(page[12 + 2 * one : 14 + 2 * one]) for one in range(cells))]
        for place in places:
            links.append((at * PAGE + place, len(order)))
            order.append(int.from_bytes(page[place : place + 4]))
    return image[np.array(order) - 1], links


def _key_places(pages: Bytes) -> dict[bytes, int]:
    """Where the key of each row is; what stands in unused parts of pages is left over from others."""
    found = {}
    for at, page in enumerate(map(bytes, pages)):
        first, ahead = (12, 4) if page[0] == 2 else (8, 0)
        for one in range(int.from_bytes(page[3:5])):
            cell = int.from_bytes(page[first + 2 * one : first + 2 * one + 2]) + ahead
            # Before the key: the length of the row in one or two bytes, and the row's head, which begins with its own.
            head = cell + (2 if page[cell] & 0x80 else 1)
            place = head + page[head]
            found[page[place : place + _HEAD + 4]] = at * PAGE + place
    return found


def _free_pages(first: int, count: int) -> NDArray[np.int64]:
    """Numbers of pages from `first` on that are neither maps of pages nor the unused one."""
    numbers: NDArray[np.int64] = np.arange(first, first + count + count // (_MAP - 1) + 3)
    usable: NDArray[np.int64] = numbers[((numbers - 2) % _MAP != 0) & (numbers != _LOCK_PAGE)]
    return usable[:count]


def _write_blocks(
    file: BinaryIO, block: _Block, blocks: int, numbers: NDArray[np.int64], parents: NDArray[np.uint32], count: int
) -> NDArray[np.int64]:
    """Write all blocks; returns the pages of their roots."""
    size, crc = len(block.pages), _Crc()
    by_link = (block.children // PAGE, block.targets)
    for start in range(0, blocks, _AT_ONCE):
        some = np.arange(start, min(blocks, start + _AT_ONCE))
        own = numbers[some[0] * size : (some[-1] + 1) * size].reshape(len(some), size)
        parents[own[:, by_link[1]]] = own[:, by_link[0]]
        data = np.repeat(block.pages.reshape(1, -1), len(some), axis=0)
        data[:, block.children[:, None] + np.arange(4)] = _big_endian(own[:, block.targets], 4)
        at = np.arange(BLOCK - 1)
        places = (some[:, None] * BLOCK + at).astype(np.uint64) * np.uint64(_step(count))
        prefix = _big_endian(places, _PREFIX)
        data[:, block.keys[:, None] + np.arange(_PREFIX)] = prefix
        data[:, block.keys[:, None] + np.arange(_HEAD, _HEAD + 4)] = crc.of(prefix)
        whole = np.zeros((own[-1, -1] - own[0, 0] + 1, PAGE), np.uint8)
        whole[own.ravel() - own[0, 0]] = data.reshape(-1, PAGE)
        file.seek((int(own[0, 0]) - 1) * PAGE)
        file.write(whole.data)
    return numbers[: blocks * size : size]


class _Crc:
    """The last four bytes of the keys of a block. CRC-32 is linear, so that the bytes of a prefix count one by one."""

    def __init__(self) -> None:
        zero = bytes(_PREFIX)
        self._tails = np.array([zlib.crc32(zero + tail) for tail in _TAILS[:-1]], np.uint32)
        nothing = zlib.crc32(bytes(_HEAD))
        single = [[bytes(at) + bytes([one]) + bytes(_HEAD - at - 1) for one in range(256)] for at in range(_PREFIX)]
        self._bytes = np.array([[zlib.crc32(head) ^ nothing for head in heads] for heads in single], np.uint32)

    def of(self, prefix: Bytes) -> Bytes:
        """Of prefixes, blocks x rows x bytes."""
        value = np.broadcast_to(self._tails, prefix.shape[:2]).copy()
        for at in range(_PREFIX):
            value ^= self._bytes[at][prefix[:, :, at]]
        return value.astype("<u4")[:, :, None].view(np.uint8)


def _big_endian(values: NDArray[np.integer], width: int) -> Bytes:
    return values.astype(f">u{width}")[..., None].view(np.uint8)


def _write_tree(
    file: BinaryIO,
    block: _Block,
    tops: NDArray[np.int64],
    numbers: NDArray[np.int64],
    parents: NDArray[np.uint32],
    place: tuple[int, int],
) -> int:
    """Write the pages above the blocks, the topmost at `place[0]`, the root of the table; returns the last page."""
    root, count = place
    length = block.separator
    at = length.index(_TAILS[-1]) - _PREFIX
    fit = (PAGE - 12) // (len(length) + 6)
    children, last = tops.tolist(), int(tops[-1])
    separators = list(range(BLOCK - 1, count, BLOCK))
    free = iter(numbers.tolist())
    last = max(last, int(numbers[0]) - 1)
    while True:
        above, between = [], []
        # Of nearly equal length: a page of one child is none.
        bounds = np.linspace(0, len(children), -(-len(children) // (fit + 1)) + 1).astype(int).tolist()
        for start, end in pairwise(bounds):
            group = children[start:end]
            cells = [
                child.to_bytes(4) + length[:at] + key(number, count) + length[at + _HEAD + 4 :]
                for child, number in zip(group, separators[start : start + len(group) - 1], strict=False)
            ]
            number = root if len(children) <= fit + 1 else next(free)
            parents[group] = number
            last = max(last, number, *group)
            file.seek((number - 1) * PAGE)
            file.write(_inner_page(cells, group[-1]))
            above.append(number)
            between += separators[start + len(group) - 1 : start + len(group)]
        if above == [root]:
            return int(last)
        children, separators = above, between


def _inner_page(cells: Sequence[bytes], right: int) -> bytes:
    end, pointers, content = PAGE, b"", b""
    for cell in cells:
        end -= len(cell)
        pointers += end.to_bytes(2)
        content = cell + content
    head = b"\x02\0\0" + len(cells).to_bytes(2) + end.to_bytes(2) + b"\0" + right.to_bytes(4)
    return (head + pointers).ljust(end, b"\0") + content


def _write_maps(file: BinaryIO, parents: NDArray[np.uint32], first: int) -> None:
    """Write which page is above each, in the maps of pages, from page `first` on."""
    entry = np.zeros((len(parents), 5), np.uint8)
    entry[:, 0] = 5
    entry[:, 1:] = _big_endian(parents, 4)
    for page in range(2, len(parents), _MAP):
        end = min(len(parents), page + _MAP)
        start = max(first, page + 1)
        if start < end:
            file.seek((page - 1) * PAGE + 5 * (start - page - 1))
            file.write(entry[start:end].tobytes())
