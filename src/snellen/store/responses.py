"""The response store: every output under the digest of its request.

Resuming, caching and re-scoring all rest on it. It is one SQLite file in WAL mode. Each output is
committed before its flow sees it, so a killed process loses at most the requests in flight.
Several processes may share a store; each writes from one thread. Each row has a checksum, so that
a reply that was changed on disk is noticed. The schema is made by numbered migrations, of which
`PRAGMA user_version` counts the applied ones.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import structs

from snellen.core.errors import StorageError, UsageError, storage_errors
from snellen.core.model import Identity
from snellen.core.output import Drawn, Failure, Output

if TYPE_CHECKING:
    from snellen.store.checkpoints import Checkpointer

STORE_FILE = "store.sqlite"
"""Name of the store in the folder of the runs that share it."""
ASKED_FILE = "asked.bin"
"""In the folder of a run while it goes on: the digests of the requests that its latest start has sent."""
DIGEST_BYTES = 32
"""Bytes of a key. Keys are hashes, so they are distributed evenly."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE models (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        identity TEXT NOT NULL
    );
    CREATE TABLE responses (
        digest BLOB PRIMARY KEY,
        model INTEGER NOT NULL REFERENCES models (id),
        packed INTEGER NOT NULL,
        output BLOB NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE media (
        digest TEXT PRIMARY KEY,
        data BLOB NOT NULL
    );
    """,
    # Older rows have no checksum, time or run; they are read without.
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        folder TEXT NOT NULL UNIQUE
    );
    ALTER TABLE responses ADD COLUMN checksum INTEGER;
    ALTER TABLE responses ADD COLUMN stored_at REAL;
    ALTER TABLE responses ADD COLUMN run INTEGER REFERENCES runs (id);
    CREATE TABLE askers (
        id INTEGER PRIMARY KEY,
        machine TEXT NOT NULL,
        process INTEGER NOT NULL,
        lease REAL NOT NULL,
        sharing INTEGER NOT NULL
    );
    CREATE TABLE in_flight (
        digest BLOB PRIMARY KEY,
        asker INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
    # Batches that wait at a provider (`store.batches`).
    """
    CREATE TABLE batches (
        name TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        model INTEGER NOT NULL REFERENCES models (id),
        place TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL,
        prepared REAL NOT NULL,
        created REAL NOT NULL DEFAULT 0,
        requests INTEGER NOT NULL
    );
    CREATE TABLE batch_requests (
        digest BLOB PRIMARY KEY,
        batch TEXT NOT NULL,
        facts TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
)

UNANSWERED_BATCHES = """
    SELECT batch FROM batch_requests AS request
    WHERE NOT EXISTS (SELECT 1 FROM responses WHERE digest = request.digest)
"""
"""The names of batches that hold a request without a reply: the others have nothing new."""


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate a store to the newest schema; safe if two processes open it at once.

    Raises StorageError if a newer Snellen wrote it.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise StorageError(
                f"the response store has schema {version}, written by a newer Snellen; "
                f"this one knows up to {len(MIGRATIONS)}: upgrade, or choose another --store"
            )
        for step in MIGRATIONS[version:]:
            for statement in filter(str.strip, step.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


WAIT = 60.0
"""Seconds for which a write waits while another process holds the store."""
BRIEF = 0.02
"""The same for a caller on an event loop, which must not block."""
_ROOM = 1 << 15
"""Bytes of a few short replies: the free space that a run requires at its start."""
_COMPRESS_ABOVE = 512
_CHECKPOINT_COMMITS = 1_000
"""Replies after which the log is copied back into the file."""
_MAX_LOG_PAGES = 40_000
"""Pages of the log (160 MB) at which a commit copies it back itself, if the thread does not come to it."""
_KEPT_LOG_BYTES = 64_000_000
"""What the log is cut to once it was copied back: a long reader makes it grow."""
_LOOKED_AT = 50_000
"""Replies that are looked at where a few of a model are wanted. Keys are hashes, so the first are a random sample."""
_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Output] = msgspec.json.Decoder(Output).decode


class StoreBusy(StorageError):
    """Another process has the store locked."""


class ReplyOrigin(NamedTuple):
    """When a reply was stored (seconds since 1970), and the folder of the run that asked for it.

    Both are None for replies that older versions stored.
    """

    stored_at: float | None
    run: str | None


class ResponseStore(AbstractContextManager["ResponseStore"]):
    """Outputs by request digest. `path=None` keeps them in memory only.

    A new file is made by the first write, so that a command that is refused leaves none. Raises
    StorageError when the file cannot be opened or made, is not a store, or the disk is full.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._is_made = path is None or path.exists() or not _can_make(path.absolute())
        self._connect(path if self._is_made else None)
        self._models: dict[str, int] = {}
        self._run: int | None = None
        self._list: int | None = None
        """The file `ASKED_FILE` of the run, open for appending."""
        self._commits = 0
        self._checkpointer: Checkpointer | None = None
        self.unreadable: set[bytes] = set()
        """Requests whose stored output was damaged when it was looked up."""
        self._unreadable_media: set[str] = set()

    def _connect(self, path: Path | None) -> None:
        self._connection = connect(path)
        self._execute = self._connection.cursor().execute
        """Of one cursor for all statements of single rows: a new one for each takes longer."""
        self._busy_timeout = WAIT

    def close(self) -> None:
        if self._checkpointer is not None:
            self._checkpointer.close()
            self._checkpointer = None
        self._close_list()
        self._connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        count: int = self._connection.execute("SELECT count(*) FROM responses").fetchone()[0]
        return count

    def model_key(self, identity: Identity) -> int:
        """The store's number for a model; adds the model if it is new."""
        digest = identity.digest()
        if digest not in self._models:
            wire = msgspec.json.encode(identity, order="sorted").decode()
            self._write("INSERT INTO models (digest, identity) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, wire))
            row = self._connection.execute("SELECT id FROM models WHERE digest = ?", (digest,))
            self._models[digest] = row.fetchone()[0]
        return self._models[digest]

    def set_run_folder(self, folder: Path, *, with_list: bool = False) -> None:
        """Set the run folder that is recorded with the replies stored from now on; `with_list` adds them to the
        folder's list of all its replies, so that they can be found if this process is killed.

        Raises StorageError if the disk is full: replies could not be stored, and would be paid for
        in vain.
        """
        self._check_room()
        name = str(folder.absolute())
        self._write("INSERT OR IGNORE INTO runs (folder) VALUES (?)", (name,))
        self._run = self._read("SELECT id FROM runs WHERE folder = ?", name)[0]
        self._close_list()
        if with_list and self.path is not None:
            with storage_errors("write to", folder):
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
                self._list = os.open(folder / ASKED_FILE, flags, 0o644)
                # A full disk may have cut the last digest.
                size = os.fstat(self._list).st_size
                os.ftruncate(self._list, size - size % DIGEST_BYTES)

    def _close_list(self) -> None:
        if self._list is not None:
            os.close(self._list)
            self._list = None

    def _check_room(self) -> None:
        """Raises StorageError if the disk is full, tested by a file beside the store: SQLite would
        only notice once the first reply was paid for."""
        if self.path is None:
            return
        room = self.path.with_name(self.path.name + ".room")
        try:
            room.parent.mkdir(parents=True, exist_ok=True)
            # Not zeros, which some file systems store without using space.
            room.write_bytes(os.urandom(_ROOM))
        except OSError as error:
            raise StorageError(
                f"no room for replies in the response store {self.path}: "
                f"{error.strerror or error}; nothing was asked: make room, and the same command "
                "continues from there"
            ) from error
        finally:
            with suppress(OSError):
                room.unlink()

    def reply_origin(self, digest: bytes) -> ReplyOrigin | None:
        """When and for which run the reply to a request was stored; None if there is none."""
        statement = "SELECT stored_at, folder FROM responses LEFT JOIN runs ON runs.id = responses.run WHERE digest = ?"
        row = self._read(statement, digest)
        return None if row is None else ReplyOrigin(*row)

    def outputs_since(self, folder: Path, identity: Identity, since: float) -> list[Output]:
        """The replies of a model that a run stored since a time (seconds since 1970), without the
        bytes of drawn images. Without the list that a run makes of them (`set_run_folder`), as versions before
        that left none, the entire store is read."""
        statement = (
            "SELECT digest, packed, output, checksum FROM responses "
            "WHERE run = (SELECT id FROM runs WHERE folder = ?) "
            "AND model = (SELECT id FROM models WHERE digest = ?) AND stored_at >= ?"
        )
        values = (str(folder.absolute()), identity.digest(), since)
        try:
            listed = (folder / ASKED_FILE).read_bytes()
        except OSError:
            rows: Iterable[Any] = self._connection.execute(statement, values)
        else:
            digests = sorted({listed[at : at + DIGEST_BYTES] for at in range(0, len(listed), DIGEST_BYTES)})
            one = f"{statement} AND digest = ?"
            rows = chain.from_iterable(self._connection.execute(one, (*values, digest)) for digest in digests)
        outputs = (decode_output(*row) for row in rows)
        return [output for output in outputs if output is not None]

    def has_replies_of(self, identity: Identity) -> bool:
        """Whether the store has replies of this model; of a large store a random part is looked at."""
        number = self._read("SELECT id FROM models WHERE digest = ?", identity.digest())
        statement = f"SELECT 1 FROM (SELECT model FROM responses LIMIT {_LOOKED_AT}) WHERE model = ? LIMIT 1"
        return number is not None and self._read(statement, number[0]) is not None

    def sample_outputs(self, identity: Identity, limit: int) -> list[Output]:
        """Up to `limit` replies of a model, without the bytes of drawn images, for averages; of a large store a
        random part is looked at."""
        statement = (
            f"SELECT digest, packed, output, checksum FROM (SELECT * FROM responses LIMIT {_LOOKED_AT}) WHERE model = "
            "(SELECT id FROM models WHERE digest = ?) LIMIT ?"
        )
        rows = self._connection.execute(statement, (identity.digest(), limit)).fetchall()
        outputs = (decode_output(*row) for row in rows)
        return [output for output in outputs if output is not None]

    def waiting_batches(self, identity: Identity) -> tuple[int, int]:
        """How many batches of a model wait at a provider, and how many requests in them."""
        statement = (
            "SELECT count(*), coalesce(sum(requests), 0) FROM batches WHERE created > 0 "
            f"AND name IN ({UNANSWERED_BATCHES}) AND model = (SELECT id FROM models WHERE digest = ?)"
        )
        batches, requests = self._read(statement, identity.digest())
        return batches, requests

    def get(self, digest: bytes) -> Output | None:
        """The stored output of a request, or None.

        A damaged output counts as missing: its digest is added to `unreadable`, and the next output
        of that request replaces it.
        """
        row = self._read("SELECT packed, output, checksum FROM responses WHERE digest = ?", digest)
        if row is None:
            return None
        output = decode_output(digest, *row)
        if output is None:
            self.unreadable.add(digest)
            return None
        if not isinstance(output, Drawn):
            return output
        images = {name: self.medium(name) for name in output.images}
        data = {name: image for name, image in images.items() if image is not None}
        # Without all of its images the reply is useless: the request is sent again.
        return structs.replace(output, data=data) if len(data) == len(images) else None

    def medium(self, digest: str) -> bytes | None:
        """The bytes of a drawn image, by their SHA-256 in hex; None if missing or damaged."""
        row = self._read("SELECT data FROM media WHERE digest = ?", digest)
        if row is None:
            return None
        if not is_sound_medium(digest, row[0]):
            self._unreadable_media.add(digest)
            return None
        data: bytes = row[0]
        return data

    def put(self, digest: bytes, output: Output, model_key: int, *, wait: float = WAIT) -> None:
        """Store an output so that it survives the death of this process. Raises TypeError for a
        Failure, and StoreBusy if another process holds the store for more than `wait` seconds."""
        if isinstance(output, Failure):
            raise TypeError("a Failure is never stored: it would be taken for an answer")
        if isinstance(output, Drawn):
            # Images before the reply that names them: a process killed in between then leaves no
            # reply without its images.
            for name, image in output.data.items():
                other = "REPLACE" if name in self._unreadable_media else "IGNORE"
                self._write(f"INSERT OR {other} INTO media VALUES (?, ?)", (name, image), wait)
            output = output.without_data()
        data = _encode(output)
        packed = len(data) > _COMPRESS_ABOVE
        if packed:
            data = zlib.compress(data, 1)
        # If two processes send the same request at once, the first reply counts.
        other = "REPLACE" if digest in self.unreadable else "IGNORE"
        if self._list is not None:
            try:
                if os.write(self._list, digest) < DIGEST_BYTES:
                    # All later digests would be cut at other places.
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                raise StorageError(
                    f"cannot write to {ASKED_FILE} of the run: {error.strerror or error}; "
                    "what was stored before is safe, the same command continues from there"
                ) from error
        self._write(
            f"INSERT OR {other} INTO responses (digest, model, packed, output, checksum, "
            "stored_at, run) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (digest, model_key, packed, data, checksum(digest, data), time.time(), self._run),
            wait,
        )
        self._commits += 1
        if self._commits == _CHECKPOINT_COMMITS and self.path is not None:
            self._commits = 0
            if self._checkpointer is None:
                # A short run does without.
                from snellen.store.checkpoints import Checkpointer

                self._checkpointer = Checkpointer(self.path)
            self._checkpointer.request()

    def _set_busy_timeout(self, seconds: float) -> None:
        """How long statements wait for another process from now on: it stays, because setting it
        is a statement too, and a run sends thousands of the same kind."""
        self._connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
        self._busy_timeout = seconds

    def _read(self, statement: str, key: bytes | str | int) -> Any:
        """The first row of a query with one parameter, or None."""
        try:
            return self._execute(statement, (key,)).fetchone()
        except sqlite3.OperationalError as error:
            if _is_busy(error) and self._busy_timeout != WAIT:
                self._set_busy_timeout(WAIT)
                return self._read(statement, key)
            raise StorageError(
                f"cannot read the response store {self.path}: {error}; the same command continues from there"
            ) from error
        except sqlite3.DatabaseError as error:
            raise _damaged_error(self.path, error) from error

    def _write(self, statement: str, values: tuple[object, ...], wait: float = WAIT) -> None:
        if not self._is_made:
            self.close()
            self._connect(self.path)
            self._is_made = True
        try:
            if wait != self._busy_timeout:
                self._set_busy_timeout(wait)
            self._execute(statement, values)
        except sqlite3.OperationalError as error:
            raise (StoreBusy if _is_busy(error) else StorageError)(
                f"cannot write to the response store {self.path}: {error}; "
                "what was stored before is safe, the same command continues from there"
            ) from error
        except sqlite3.DatabaseError as error:
            raise _damaged_error(self.path, error) from error


def _is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether another process has the store locked."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def checksum(digest: bytes, data: bytes) -> int:
    """CRC-32 of a row's key and its output as stored. It detects accidents, not forgery: whoever
    can write the store can also write the checksum."""
    return zlib.crc32(data, zlib.crc32(digest))


def decode_output(digest: bytes, packed: object, data: bytes, expected: int | None) -> Output | None:
    """Decode a stored output; None if it is damaged. A row of an older version, without a checksum
    (`expected` is None), counts as damaged only if it cannot be decoded."""
    try:
        if expected is not None and checksum(digest, data) != expected:
            return None
        return _decode(zlib.decompress(data) if packed else data)
    except (zlib.error, msgspec.DecodeError, ValueError, TypeError):
        return None


def is_sound_medium(digest: str, data: object) -> bool:
    """Whether the data are bytes with this SHA-256 (hex)."""
    return isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == digest


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a store and migrate it to the newest schema; None: in memory. Raises StorageError."""
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Autocommit: each output is a transaction of its own. WAL without a sync per commit
        # survives the death of the process (not of the machine), which is what resuming requires.
        # An absolute path: SQLite would take a relative one that begins with "file:" for a URI.
        connection = sqlite3.connect(
            path.absolute() if path else ":memory:",
            isolation_level=None,
            timeout=WAIT,
            check_same_thread=False,
            uri=True,
        )
        if path is not None and not (path.exists() and path.stat().st_size):
            # A file keeps this from its first page on: its unused pages can be cut off in small steps.
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        # Keys are hashes, so every reply changes another page. The less often the log is copied
        # back, the fewer times the pages of a large store are written.
        connection.execute(f"PRAGMA wal_autocheckpoint={_MAX_LOG_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit={_KEPT_LOG_BYTES}")
        migrate(connection)
    except (OSError, sqlite3.OperationalError) as error:
        raise StorageError(
            f"cannot open the response store {path}: {error}; "
            "choose another place with --out or --store, or fix the folder's rights"
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged_error(path, error) from error
    return connection


def check_is_file(path: Path) -> None:
    """Raises UsageError if there is no file that could be a store."""
    if not path.is_file():
        raise UsageError(f"{path} is not a store: there is no such file; expected a store.sqlite")


def readable_file(path: Path) -> str:
    """What SQLite opens or attaches to read a store: one that may be written to in its newest schema, one on a disk
    that may not as it is. Raises StorageError."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        connect(path).close()
        return str(path.absolute())
    log = path.with_name(f"{path.name}-wal")
    # Of a process that was killed: without it the store lacks its last replies.
    has_log = log.is_file() and log.stat().st_size > 0
    return f"{path.absolute().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}"


def _can_make(path: Path) -> bool:
    """Whether rights allow a file there, with its folders."""
    folder = next(parent for parent in path.parents if parent.exists())
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _damaged_error(path: Path | None, error: Exception) -> StorageError:
    return StorageError(
        f"the response store {path} is damaged or is not a store ({error}); save what is sound "
        f"with `snellen doctor {path} --repair`, or move it away or choose another file with "
        "--store: finished samples are kept in the run folders, only the others are asked again"
    )
