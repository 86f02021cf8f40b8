"""Token by token generation for a batch of prompts that the model has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.request import Generation
from snellen.models.hf.prefix_sharing import PrefillState, PrefixSharing

if TYPE_CHECKING:
    from torch import Tensor


class Decoder:
    """Generates replies after a prefill, greedily or with a sampler.

    `suppressed` are token ids that are never generated. Rows whose reply has ended are removed
    from the batch once they are half of it: removing rows copies the cache.
    """

    def __init__(
        self, sharing: PrefixSharing, tokenizer: Any, eos_token_ids: frozenset[int], suppressed: Sequence[int] = ()
    ) -> None:
        self._sharing = sharing
        self._tokenizer = tokenizer
        self._eos_token_ids = eos_token_ids
        self._suppressed = list(suppressed)

    def decode(self, state: PrefillState, settings: Generation, sampler: Any = None) -> list[list[int]]:
        """The token ids of each reply, with the end token if one was generated.

        `sampler(scores, rows)` adds noise to scores (rows, vocab_size); None decodes greedily.
        The state is used up.
        """
        replies: list[list[int]] = [[] for _ in range(len(state.positions))]
        batch = list(range(len(replies)))
        """For each row of the state the index of its reply."""
        unfinished = set(batch)
        logits = state.logits[:, -1]
        while True:
            tokens = self._next_tokens(logits, sampler, batch)
            for index, token in zip(batch, tokens.tolist(), strict=True):
                if index in unfinished:
                    replies[index].append(token)
            unfinished = {index for index in unfinished if self._is_unfinished(replies[index], settings)}
            if not unfinished:
                return replies
            if 2 * len(unfinished) <= len(batch):
                rows = [row for row, index in enumerate(batch) if index in unfinished]
                tokens = tokens[_index_tensor(rows, tokens)]
                _select_rows(state, rows)
                batch = [batch[row] for row in rows]
            logits = self._sharing.step(state, tokens)

    def _next_tokens(self, logits: Tensor, sampler: Any, rows: Sequence[int]) -> Tensor:
        """The next token of each row, (rows,), from logits (rows, vocab_size)."""
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
        # The whole reply again for each token: a stop string may lie across token boundaries.
        text = self._tokenizer.decode(reply, skip_special_tokens=True)
        return not any(stop in text for stop in settings.stop)


def _select_rows(state: PrefillState, rows: Sequence[int]) -> None:
    """Drop the other rows from the state."""
    index = _index_tensor(rows, state.mask)
    state.cache.batch_select_indices(index)
    state.mask = state.mask[index]
    state.positions = state.positions[index]


def _index_tensor(indices: Sequence[int], like: Tensor) -> Tensor:
    import torch

    return torch.tensor(list(indices), device=like.device)
