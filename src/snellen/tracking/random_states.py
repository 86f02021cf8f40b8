"""Preserve the random number generators of a training during an evaluation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from snellen.core.arrays import np


@contextmanager
def keep_random_states() -> Iterator[None]:
    """Restore, at the end of the block, the generators of random numbers of Python, numpy, and
    torch on every device of CUDA."""
    import torch

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
