"""The scores of runs as columns, read from their samples once and then from the catalogue."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, get_args

import msgspec
from msgspec import Struct

from snellen.core.arrays import Floats, Ints, np
from snellen.core.record import Unscored
from snellen.store.run_catalog_file import RunCatalogFile, is_worth_keeping, samples_state
from snellen.store.runs import RunFolder

UNSCORED: tuple[str | None, ...] = (None, *get_args(Unscored))
"""Why a sample has no score, by the code of `RunScores.unscored`."""
_CODES = {name: code for code, name in enumerate(UNSCORED)}
_decode_ids = msgspec.json.Decoder(tuple[str, ...]).decode
_PUT_AT_ONCE = 256


class ScoredRecord(Struct, frozen=True, gc=False):
    """The fields of a record that a comparison needs of every run."""

    id: str
    score: float | None = None
    unscored: Unscored | None = None


class RunScores(NamedTuple):
    """Samples of a run sorted by id: their scores in 0..1, NaN without one, and the codes of
    `UNSCORED`. Runs of the same samples share one tuple of ids."""

    ids: tuple[str, ...]
    scores: Floats
    unscored: Ints


def read_scores(runs: Sequence[RunFolder]) -> list[RunScores]:
    """The scores of runs, failures included. Raises DataError for a line that is no record."""
    shared: dict[bytes, tuple[str, ...]] = {}
    if not is_worth_keeping(run.path for run in runs):
        return [_read_run(run, shared)[1] for run in runs]
    catalog = RunCatalogFile()
    paths = [str(run.path.resolve()) for run in runs]
    states = [samples_state(run.path) for run in runs]
    stored = _stored_scores(catalog, paths, states, shared)
    fresh: list[tuple[object, ...]] = []
    found: list[RunScores] = []
    for run, path, state in zip(runs, paths, states, strict=True):
        scores = stored.get(path)
        if scores is None:
            digest, scores = _read_run(run, shared)
            columns = (zlib.compress(one.tobytes(), 1) for one in (scores.scores, scores.unscored.astype(np.uint8)))
            fresh.append((path, state, digest, *columns))
        found.append(scores)
        if len(fresh) >= _PUT_AT_ONCE:
            _put(catalog, fresh, shared)
            fresh = []
    _put(catalog, fresh, shared)
    return found


def _read_run(run: RunFolder, shared: dict[bytes, tuple[str, ...]]) -> tuple[bytes, RunScores]:
    """The scores of a run from its samples, with the digest of its ids."""
    # Of samples with one id the last counts.
    records = {record.id: record for record in run.read_as(ScoredRecord)}
    ids = sorted(records)
    digest = hashlib.sha256(msgspec.json.encode(ids)).digest()[:16]
    ordered = [records[name] for name in ids]
    return digest, RunScores(
        shared.setdefault(digest, tuple(ids)),
        # None becomes NaN.
        np.array([record.score for record in ordered], dtype=np.float64),
        np.array([_CODES[record.unscored] for record in ordered], dtype=np.int64),
    )


def _stored_scores(
    catalog: RunCatalogFile, paths: Sequence[str], states: Sequence[str], shared: dict[bytes, tuple[str, ...]]
) -> dict[str, RunScores]:
    """The scores that the catalogue has of these paths in these states. What is damaged is missing."""
    state_of = dict(zip(paths, states, strict=True))
    columns = "path, state, ids, scores, unscored"
    rows = [row for row in catalog.rows_of("scores", columns, paths) if state_of[row[0]] == row[1]]
    wanted = list({row[2] for row in rows})
    for digest, packed in catalog.rows_of("ids", "digest, ids", wanted, "digest"):
        with suppress(zlib.error, msgspec.DecodeError, TypeError):
            shared[digest] = _decode_ids(zlib.decompress(packed))
    found = {}
    for path, _, digest, scores, unscored in rows:
        ids = shared.get(digest)
        with suppress(zlib.error, TypeError, ValueError):
            values, codes = np.frombuffer(zlib.decompress(scores)), np.frombuffer(zlib.decompress(unscored), np.uint8)
            if ids is not None and len(ids) == len(values) == len(codes):
                found[path] = RunScores(ids, values, codes.astype(np.int64))
    return found


def _put(catalog: RunCatalogFile, rows: Sequence[tuple[object, ...]], shared: dict[bytes, tuple[str, ...]]) -> None:
    digests = {row[2]: shared[row[2]] for row in rows if isinstance(row[2], bytes)}
    catalog.put("ids", [(digest, zlib.compress(msgspec.json.encode(ids), 1)) for digest, ids in digests.items()])
    catalog.put("scores", rows)
