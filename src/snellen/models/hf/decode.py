"""Words one by one, for a batch of prompts that have been read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.request import Generation
from snellen.models.hf.prefix_sharing import Begun, Sharing

if TYPE_CHECKING:
    from torch import Tensor


class Decoding:
    """Greedy decoding, or what `lots` makes of the scores; rows that have ended leave the batch
    when half of it has."""

    def __init__(
        self,
        sharing: Sharing,
        tokenizer: Any,
        ends: frozenset[int],
        suppressed: Sequence[int] = (),
    ) -> None:
        self._sharing = sharing
        self._tokenizer = tokenizer
        self._ends = ends
        self._suppressed = list(suppressed)

    def words(self, begun: Begun, settings: Generation, lots: Any = None) -> list[list[int]]:
        """The tokens of each reply, an end token included where one was reached."""
        replies: list[list[int]] = [[] for _ in range(len(begun.positions))]
        batch = list(range(len(replies)))
        going = set(batch)
        logits = begun.logits[:, -1]
        while True:
            chosen = self._chosen(logits, lots, batch)
            for place, token in zip(batch, chosen.tolist(), strict=True):
                if place in going:
                    replies[place].append(token)
            going = {place for place in going if self._goes_on(replies[place], settings)}
            if not going:
                return replies
            if 2 * len(going) <= len(batch):
                kept = [at for at, place in enumerate(batch) if place in going]
                chosen = chosen[_index(kept, chosen)]
                _keep(begun, kept)
                batch = [batch[at] for at in kept]
            logits = self._sharing.step(begun, chosen)

    def _chosen(self, logits: Tensor, lots: Any, alive: Sequence[int]) -> Tensor:
        import torch

        scores = logits.float()
        if self._suppressed:
            scores = scores.index_fill(1, _index(self._suppressed, scores), -torch.inf)
        if lots is not None:
            scores = lots(scores, alive)
        return scores.argmax(-1)

    def _goes_on(self, reply: Sequence[int], settings: Generation) -> bool:
        if len(reply) >= settings.max_new_tokens or reply[-1] in self._ends:
            return False
        if not settings.stop:
            return True
        text = self._tokenizer.decode(reply, skip_special_tokens=True)
        return not any(stop in text for stop in settings.stop)


def _keep(begun: Begun, rows: Sequence[int]) -> None:
    index = _index(rows, begun.mask)
    begun.cache.batch_select_indices(index)
    begun.mask = begun.mask[index]
    begun.positions = begun.positions[index]


def _index(numbers: Sequence[int], like: Tensor) -> Tensor:
    import torch

    return torch.tensor(list(numbers), device=like.device)
