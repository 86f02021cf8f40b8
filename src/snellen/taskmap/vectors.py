"""Task vectors on disk. A file is named by a digest of everything its vector depends on, so an
interrupted run continues where it stopped, and changed settings never use an old vector.

  <digest>.safetensors    the factors of every layer; the header holds the facts and a checksum

The distance of two tasks is `1 - cos` of their vectors (MMT-Bench, Sec. 5.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from snellen.core.arrays import Floats, np
from snellen.core.atomic_write import atomic_file
from snellen.core.errors import storage_errors
from snellen.core.request import request_digest
from snellen.models.hf.lora import LoraOptions, TrainingProgress, TuningResult
from snellen.taskmap.tasks import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray


_VERSION = "1"
"""To be changed whenever the same settings would give another vector."""
_DOWN, _UP = ".down", ".up"


class VectorFacts(Struct, frozen=True):
    """What is known about a vector, without its numbers."""

    task: str
    samples: int
    numbers: int
    """The count of numbers in the two factors of all layers."""
    before: TrainingProgress
    after: TrainingProgress
    seconds: float


def vector_digest(task: Task, identity: str, tuning: LoraOptions) -> str:
    """SHA-256 (hex) of everything that a vector depends on: the model's identity digest, the
    settings, and the request and reply of each example in order."""
    digest = hashlib.sha256(f"{_VERSION}\n".encode())
    digest.update(msgspec.json.encode(tuning, order="sorted"))
    for request, reply in task.examples:
        digest.update(request_digest(request, identity))
        digest.update(hashlib.sha256(reply.encode()).digest())
    return digest.hexdigest()


def vector_path(folder: Path, digest: str) -> Path:
    return folder / f"{digest[:24]}.safetensors"


def write_vector(path: Path, task: Task, tuned: TuningResult, seconds: float) -> VectorFacts:
    """Write the vector atomically. Raises StorageError."""
    from safetensors.numpy import save_file

    tensors = {}
    for name, factors in tuned.factors.items():
        tensors[name + _DOWN], tensors[name + _UP] = factors
    facts = VectorFacts(
        task=task.name,
        samples=len(task.examples),
        numbers=sum(factor.size for factor in tensors.values()),
        before=tuned.before,
        after=tuned.after,
        seconds=round(seconds, 3),
    )
    header = {"facts": msgspec.json.encode(facts).decode(), "sha256": _checksum(tensors)}
    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as part:
            save_file(tensors, part, metadata=header)
    return facts


def read_facts(path: Path) -> VectorFacts | None:
    """The facts of an undamaged vector; None if there is no such file, or if it is damaged."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header.get("sha256") != _checksum(tensors):
            return None
        return msgspec.json.decode(header.get("facts", ""), type=VectorFacts)
    except (SafetensorError, msgspec.DecodeError):
        return None


def gram_matrix(paths: Sequence[Path]) -> Floats:
    """Inner products of the weight changes in these files, shape (files, files), float64.

    Memory holds one layer of all files at a time. The scale `alpha / rank`, which all files share,
    is omitted, since it cancels in a cosine.
    """
    from safetensors import safe_open

    total = np.zeros((len(paths), len(paths)))
    for name in layer_names(paths[0]):
        downs, ups = [], []
        for path in paths:
            with safe_open(path, framework="numpy") as file:
                downs.append(file.get_tensor(name + _DOWN))
                ups.append(file.get_tensor(name + _UP))
        total += gram_of_products(np.stack(downs).astype(np.float64), np.stack(ups).astype(np.float64))
    return total


def layer_names(path: Path) -> list[str]:
    """Names of the layers that the vector changes, sorted."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        names: list[str] = list(file.keys())
    return sorted(name.removesuffix(_DOWN) for name in names if name.endswith(_DOWN))


def _checksum(tensors: Mapping[str, NDArray[np.float32]]) -> str:
    """SHA-256 (hex) over names, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name}\0{tensors[name].shape}\n".encode())
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()


def gram_of_products(downs: Floats, ups: Floats) -> Floats:
    """Inner products of the matrices `up @ down` of several tasks, shape (tasks, tasks).

    The matrices themselves are never built: with `downs` of shape (tasks, rank, inputs) and `ups`
    of shape (tasks, outputs, rank), <B A, B' A'> = sum of (B^T B') * (A A'^T). A weight change of a
    billion numbers costs no more than its two factors.
    """
    tasks, rank, _ = downs.shape
    # Every factor row of every task against every other: (tasks * rank, tasks * rank).
    inputs = downs.reshape(tasks * rank, -1)
    outputs = ups.transpose(0, 2, 1).reshape(tasks * rank, -1)
    products = (inputs @ inputs.T) * (outputs @ outputs.T)
    # The sum over both ranks leaves one number for each pair of tasks.
    gram: Floats = products.reshape(tasks, rank, tasks, rank).sum(axis=(1, 3))
    return gram


def cosine_distances(gram: Floats) -> Floats:
    """Distances 0..2 from inner products, shape (tasks, tasks), symmetric with a zero diagonal.
    Raises ValueError for a vector of length zero, which has no direction.
    """
    norms = np.sqrt(np.diag(gram))
    if not np.all(norms > 0):
        raise ValueError(f"vector {int(np.argmin(norms))} has no length")
    cosines = gram / np.outer(norms, norms)
    distances: Floats = np.clip(1 - (cosines + cosines.T) / 2, 0.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def nearest_tasks(distances: Floats, task: int, candidates: Sequence[int], count: int) -> list[int]:
    """The `count` tasks of `candidates` that are nearest to `task`, without itself, the nearest
    first."""
    others = [other for other in candidates if other != task]
    return sorted(others, key=lambda other: (distances[task, other], other))[:count]
