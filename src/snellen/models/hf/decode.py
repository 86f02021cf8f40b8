"""Words one by one, for a batch of prompts that have been read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.request import Generation
from snellen.models.hf.prefix_sharing import PrefillState, PrefixSharing

if TYPE_CHECKING:
    from torch import Tensor


class Decoder:
    """Greedy decoding, or what `sampler` makes of the scores; rows that have ended leave the batch
    when half of it has."""

    def __init__(
        self,
        sharing: PrefixSharing,
        tokenizer: Any,
        eos_token_ids: frozenset[int],
        suppressed: Sequence[int] = (),
    ) -> None:
        self._sharing = sharing
        self._tokenizer = tokenizer
        self._eos_token_ids = eos_token_ids
        self._suppressed = list(suppressed)

    def decode(
        self, state: PrefillState, settings: Generation, sampler: Any = None
    ) -> list[list[int]]:
        """The tokens of each reply, an end token included where one was reached."""
        replies: list[list[int]] = [[] for _ in range(len(state.positions))]
        batch = list(range(len(replies)))
        unfinished = set(batch)
        logits = state.logits[:, -1]
        while True:
            chosen = self._next_tokens(logits, sampler, batch)
            for index, token in zip(batch, chosen.tolist(), strict=True):
                if index in unfinished:
                    replies[index].append(token)
            unfinished = {
                place for place in unfinished if self._is_unfinished(replies[place], settings)
            }
            if not unfinished:
                return replies
            if 2 * len(unfinished) <= len(batch):
                kept = [at for at, place in enumerate(batch) if place in unfinished]
                chosen = chosen[_index_tensor(kept, chosen)]
                _select_rows(state, kept)
                batch = [batch[at] for at in kept]
            logits = self._sharing.step(state, chosen)

    def _next_tokens(self, logits: Tensor, sampler: Any, rows: Sequence[int]) -> Tensor:
        import torch

        scores = logits.float()
        if self._suppressed:
            scores = scores.index_fill(1, _index_tensor(self._suppressed, scores), -torch.inf)
        if sampler is not None:
            scores = sampler(scores, rows)
        return scores.argmax(-1)

    def _is_unfinished(self, reply: Sequence[int], settings: Generation) -> bool:
        if len(reply) >= settings.max_new_tokens or reply[-1] in self._eos_token_ids:
            return False
        if not settings.stop:
            return True
        text = self._tokenizer.decode(reply, skip_special_tokens=True)
        return not any(stop in text for stop in settings.stop)


def _select_rows(state: PrefillState, rows: Sequence[int]) -> None:
    index = _index_tensor(rows, state.mask)
    state.cache.batch_select_indices(index)
    state.mask = state.mask[index]
    state.positions = state.positions[index]


def _index_tensor(indices: Sequence[int], like: Tensor) -> Tensor:
    import torch

    return torch.tensor(list(indices), device=like.device)
