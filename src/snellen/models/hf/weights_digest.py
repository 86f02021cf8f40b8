"""A digest of weights in memory: fast enough to be taken before every run.

All weights are read, on the device where they are: a sample would miss a fine-tuned adapter. Each
tensor is cut into blocks of words of 32 bits. The hash of a block is the sum of its words, each
multiplied by an odd random number of 64 bits, modulo 2^64 (multilinear hashing, Carter and Wegman
1979). A change of one word always changes the sum, and changes of several cancel out with a
probability of about 2^-33. It does not protect against deliberate collisions.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1 << 18
"""Words of a block: with their factors, they fit into a core's cache."""
_BLOCKS_AT_ONCE = 32
"""Blocks that a GPU hashes in one launch: 64 MB of factors and products."""


class TensorHash(NamedTuple):
    """Type, shape and block hashes of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    blocks: tuple[int, ...]


def hash_weights(model: Any) -> dict[str, TensorHash]:
    """The hash of each parameter and persistent buffer, by name.

    Raises UsageError if some are not in this process: on no device, or split over several.
    """
    tensors = dict(
        part
        for name, tensor in model.state_dict().items()
        if hasattr(tensor, "dtype")
        for part in _plain_parts(name, tensor)
    )
    for name, tensor in tensors.items():
        if tensor.is_meta or hasattr(tensor, "full_tensor"):
            raise UsageError(
                f"the weights of {type(model).__name__} are not all in this process (e.g. {name}), "
                "so that they cannot be told from those of another checkpoint; name them: "
                "snellen.wrap_model(model, revision='step-500')"
            )
    return dict(zip(tensors, hash_tensors(list(tensors.values())), strict=True))


def _plain_parts(name: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The tensor itself, or the tensors that it is composed of, as in quantisation by torchao."""
    if hasattr(tensor, "full_tensor") or not hasattr(tensor, "__tensor_flatten__"):
        yield name, tensor
        return
    for part in tensor.__tensor_flatten__()[0]:
        yield from _plain_parts(f"{name}.{part}", getattr(tensor, part))


def combine_hashes(hashes: Mapping[str, TensorHash]) -> str:
    """SHA-256 (hex) over the hashes of all weights, with their names."""
    digest = hashlib.sha256()
    for name, each in sorted(hashes.items()):
        digest.update(f"{name} {each.dtype} {each.shape} {each.blocks}\n".encode())
    return digest.hexdigest()


def hash_tensors(tensors: Sequence[Tensor]) -> list[TensorHash]:
    """The hashes of tensors, computed where they are."""
    import torch

    with torch.no_grad():
        sums = [_block_sums(_words(tensor)) for tensor in tensors]
    return [
        TensorHash(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), blocks)
        for tensor, blocks in zip(tensors, sums, strict=True)
    ]


def _block_sums(words: Tensor) -> tuple[int, ...]:
    """The hash of each block of words, (words,)."""
    return sums_by_numpy(words) if words.device.type == "cpu" else sums_by_torch(words)


def sums_by_numpy(words: Tensor) -> tuple[int, ...]:
    """The hashes of blocks in main memory, by one thread: faster than torch's, which spin."""
    import numpy as np

    array, factors = words.numpy(), _factors("cpu").numpy()
    return tuple(
        int(np.dot(block.astype(np.int64), factors[: len(block)]))
        for block in (array[start : start + _BLOCK] for start in range(0, len(array), _BLOCK))
    )


def sums_by_torch(words: Tensor) -> tuple[int, ...]:
    """The hashes of blocks on any device; its memory is read once."""
    import torch

    factors = _factors(str(words.device))
    whole = len(words) // _BLOCK * _BLOCK
    rows = words[:whole].reshape(-1, _BLOCK)
    sums = [(part.long() * factors).sum(1) for part in rows.split(_BLOCKS_AT_ONCE)]
    rest = words[whole:]
    if len(rest):
        sums.append((rest.long() * factors[: len(rest)]).sum()[None])
    return tuple(torch.cat(sums).tolist()) if sums else ()


def are_those_of_folder(hashes: Mapping[str, TensorHash], folder: Path) -> bool:
    """Whether weights in memory are those of the safetensors files of a folder, after conversion to
    the types in memory. Names may differ: then the tensors must be the same.

    Stops at the first tensor that differs, small ones first. False without such files.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    dtypes = {name: getattr(torch, each.dtype) for name, each in hashes.items()}
    floating = [dtype for dtype in dtypes.values() if dtype.is_floating_point]
    usual = max(set(floating), key=floating.count, default=torch.float32)
    of_folder: set[TensorHash] = set()
    equal_names: set[str] = set()
    try:
        files: list[Any] = [safe_open(path, "pt") for path in sorted(folder.glob("*.safetensors"))]
        entries = [
            (_size(file.get_slice(name).get_shape()), name, file)
            for file in files
            for name in file.keys()  # noqa: SIM118 - it has no iterator
        ]
        for _, name, file in sorted(entries, key=lambda entry: entry[:2]):
            tensor = file.get_tensor(name)
            wanted = dtypes.get(name, usual if tensor.is_floating_point() else tensor.dtype)
            (tensor_hash,) = hash_tensors([tensor.to(wanted)])
            of_folder.add(tensor_hash)
            if name in hashes:
                if tensor_hash != hashes[name]:
                    return False
                equal_names.add(name)
    except (OSError, SafetensorError):
        return False
    # Tensors with another name in the files, or tied to another weight.
    return bool(of_folder) and all(name in equal_names or each in of_folder for name, each in hashes.items())


def _words(tensor: Tensor) -> Tensor:
    """The bytes of a tensor as integers of 32 bits, or of its own width where they do not fit."""
    import torch

    flat = tensor.detach().contiguous().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.dtype == torch.bool:
        return flat.to(torch.int8)
    size = flat.element_size()
    if size < 4 and (flat.numel() * size) % 4 == 0 and (flat.storage_offset() * size) % 4 == 0:
        return flat.view(torch.int32)
    if size == 8:
        return flat.view(torch.int32)
    return flat.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[size])


@functools.cache
def _factors(device: str) -> Tensor:
    """The odd numbers that the words of a block are multiplied by."""
    import numpy as np
    import torch

    # The raw stream of a bit generator is the same in every version of numpy.
    raw = np.random.PCG64(1979).random_raw(_BLOCK) | np.uint64(1)
    return torch.from_numpy(raw.view(np.int64)).to(device)


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
