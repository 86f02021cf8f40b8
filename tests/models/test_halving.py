from __future__ import annotations

from collections.abc import Sequence

import torch

from snellen.core.output import Failure
from snellen.models.split_batch import failure_from_error, split_and_retry


def test_a_batch_too_large_for_memory_is_halved_until_it_fits() -> None:
    sizes: list[int] = []

    def work(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        if len(items) > 2:
            torch.empty(2**60, dtype=torch.uint8)
        return [item * 10 for item in items]

    assert split_and_retry(range(7), work) == [0, 10, 20, 30, 40, 50, 60]
    assert sizes == [7, 3, 1, 2, 4, 2, 2]


def test_oversized_item_fails_alone_as_out_of_memory() -> None:
    def work(items: Sequence[int]) -> list[int]:
        if 3 in items:
            torch.empty(2**60, dtype=torch.uint8)
        return list(items)

    *rest, last = split_and_retry([0, 1, 2, 3], work)
    assert rest == [0, 1, 2]
    assert isinstance(last, Failure)
    assert last.kind == "out_of_memory"


def test_recognises_out_of_memory_errors_of_libraries() -> None:
    for said in (
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory",
    ):
        assert failure_from_error(RuntimeError(said)).kind == "out_of_memory", said
    assert failure_from_error(MemoryError()).kind == "out_of_memory"
    assert failure_from_error(RuntimeError("CUDA error: device-side assert")).kind == "request"


def test_another_error_of_one_item_is_a_failed_request() -> None:
    assert split_and_retry(["1", "x"], lambda items: [int(item) for item in items]) == [
        1,
        Failure("request", "invalid literal for int() with base 10: 'x'"),
    ]
