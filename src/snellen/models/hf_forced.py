"""Log-likelihoods of replies that the model is made to say, token by token.

For architectures whose replies cannot be read along with the prompt: encoder-decoders, prompts
that are read in both directions (PaliGemma), pictures that are looked at with the words in mind
(InstructBLIP), and processors that end the prompt themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.output import CandidateScore
from snellen.core.request import Rank
from snellen.models.hf_generate import generating
from snellen.models.hf_loaded import Loaded
from snellen.models.hf_prompt import Prompt, check_length, encode

if TYPE_CHECKING:
    from torch import Tensor


def is_forced(loaded: Loaded) -> bool:
    """Whether a reply must be said rather than read."""
    wanted = loaded.profile is not None and loaded.profile.said
    return wanted or loaded.encodes


def said(
    loaded: Loaded, request: Rank, prompt: Prompt, places: Sequence[int]
) -> list[tuple[CandidateScore, int]]:
    """Scores of the candidates at those places, each with the tokens of the prompt before it."""
    import torch

    between = loaded.profile.between if loaded.plain and loaded.profile else ""
    texts = [between + request.candidates[place] for place in places]
    tails = [loaded.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    if not all(tails):
        raise ValueError("a candidate without tokens")
    images = [prompt.images] * len(places)
    inputs = encode(loaded, [prompt.text] * len(places), images, "left")
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, [length + len(tail) for length, tail in zip(lengths, tails, strict=True)])
    with torch.inference_mode():
        made = generating(loaded)(
            **inputs,
            max_new_tokens=max(map(len, tails)),
            do_sample=False,
            return_dict_in_generate=True,
            output_logits=True,
            logits_processor=[_Forcing(tails, loaded.tokenizer.pad_token_id)],
        )
    found = []
    for row, (tail, length) in enumerate(zip(tails, lengths, strict=True)):
        steps = [made.logits[at][row].float().log_softmax(-1) for at in range(len(tail))]
        total = float(sum(step[token] for step, token in zip(steps, tail, strict=True)))
        found.append((CandidateScore(total, len(tail)), length))
    return found


class _Forcing:
    """Leaves one token to each row: the next of its reply, padding behind it."""

    def __init__(self, tails: Sequence[Sequence[int]], pad: int) -> None:
        self._tails = tails
        self._pad = pad
        self._step = 0

    def __call__(self, _: Any, scores: Tensor) -> Tensor:
        import torch

        only = torch.full_like(scores, -torch.inf)
        for row, tail in enumerate(self._tails):
            only[row, tail[self._step] if self._step < len(tail) else self._pad] = 0.0
        self._step += 1
        return only
