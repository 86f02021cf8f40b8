"""Answers to requests with shared prefixes, after a test that sharing changes no answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.core.output import CandidateScore, Failure, Generated, Output
from snellen.core.request import Generate, Generation, Rank
from snellen.models.hf.batch_size import BatchSizer, BatchSizers, BatchTiming, run_batches
from snellen.models.hf.generate import GumbelSampler, decode_reply, has_penalty
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.logprobs import ranking_output
from snellen.models.hf.prefix_sharing import PrefillState, PrefixSharing
from snellen.models.hf.tokenise import PrefixSharingUnsupported, TokenisedPrompt
from snellen.models.split_batch import MODEL_ERRORS, failure_from_error

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
R = TypeVar("R")


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


_CPU_BYTES = 1_000_000_000
"""Bytes of prefixes that are cached in main memory."""
_GPU_FRACTION = 0.15
"""Part of a GPU's memory that cached prefixes may take."""
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""By how much logits may differ, relative to the largest: rounding, and no more."""
_FULL = "full_attention"
_ATTENTION_LAYERS = {_FULL, "sliding_attention", "chunked_attention"}
"""Types of layers that keep keys and values of every token."""


class SharedGeneration:
    """Answers tokenised prompts with one model, computing shared prefixes once.

    `disabled_reason` says why this architecture cannot share prefixes, or is None. Whether it can
    is tested on the first prompts, with images and without, against a plain forward pass; if two
    prompts with different images are at hand, they are tested in one batch.
    """

    def __init__(self, loaded: LoadedModel, sizers: BatchSizers) -> None:
        self._loaded = loaded
        self._sizers = sizers
        self._sharing = PrefixSharing(loaded.model, _cache_budget(loaded.device), sizers.replies.size)
        suppressed = loaded.model.generation_config.suppress_tokens or ()
        self._decoder = Decoder(self._sharing, loaded.tokenizer, loaded.eos_token_ids, suppressed)
        self._tested_kinds: set[Hashable] = set()
        """(with images, rows in the batch) of the tests that passed."""
        self._window = _attention_window(loaded.model)
        self.disabled_reason: str | None = _find_unsupported(loaded)

    def supports(self, request: Generate | Rank, rows: Sequence[TokenisedPrompt]) -> bool:
        """Whether these prompts can be answered with shared prefixes: text must follow the images,
        the attention window must span the complete prompt and its reply, and no penalty may depend
        on the tokens before."""
        if isinstance(request, Generate) and has_penalty(request.settings):
            return False
        # At least one token after the image prefix must be left to read.
        if any(row.image_prefix_length >= len(row.ids) - row.scored_tokens for row in rows):
            return False
        reply_tokens = request.settings.max_new_tokens if isinstance(request, Generate) else 0
        # Twice, because a row of a batch may have padding before its prefix and after it, and the
        # window counts columns of the cache, padding included.
        max_length = 2 * max((len(row.ids) for row in rows), default=0) + reply_tokens
        return self._window is None or max_length <= self._window

    def verify(self, rows: Sequence[TokenisedPrompt]) -> bool:
        """Whether sharing is exact for these prompts; tests the first of each kind.

        False with `disabled_reason` set if the test fails. False without it if memory is too short
        for the test, which is then repeated on the next prompts.
        """
        for pair in _select_test_rows(rows):
            kind = (bool(pair[0].image_digests), len(pair))
            if self.disabled_reason is None and not {kind, (kind[0], 2)} & self._tested_kinds:
                try:
                    self.disabled_reason = self._find_difference(pair)
                except MemoryError:
                    return False
                self._tested_kinds.add(kind)
        return self.disabled_reason is None

    def generate(
        self, requests: Sequence[tuple[Generate, TokenisedPrompt]], settings: Generation
    ) -> list[Generated | Failure]:
        """Replies to requests with equal settings, in their order."""

        def max_length(batch: Sequence[tuple[Generate, TokenisedPrompt]]) -> int:
            return max(len(row.ids) for _, row in batch) + settings.max_new_tokens

        def generate_batch(batch: Sequence[tuple[Generate, TokenisedPrompt]], timing: BatchTiming) -> list[Generated]:
            rows = [row for _, row in batch]
            sampler = None
            if settings.temperature > 0:
                sampler = GumbelSampler(settings, [request for request, _ in batch], self._loaded)
            state = self._prefill(rows, timing)
            first_logits = state.logits[:, -1]
            replies = self._decoder.decode(state, settings, sampler)
            timing.record_decode(sum(map(len, replies)))
            return [
                decode_reply(self._loaded, reply, len(row.ids), settings, scores, row.image_sizes)
                for reply, row, scores in zip(replies, rows, first_logits, strict=True)
            ]

        return self._in_batches(requests, self._sizers.replies, generate_batch, max_length)

    def rank(self, requests: Sequence[tuple[Rank, Sequence[TokenisedPrompt]]]) -> list[Output]:
        """Log-likelihoods of the candidates of each request, batched across requests."""

        def max_length(batch: Sequence[TokenisedPrompt]) -> int:
            return max(len(row.ids) for row in batch)

        def score_batch(batch: Sequence[TokenisedPrompt], timing: BatchTiming) -> list[float]:
            kept_logits = max(row.scored_tokens for row in batch) + 1
            return _sum_logprobs(self._prefill(batch, timing, kept_logits).logits, batch)

        rows = [row for _, request_rows in requests for row in request_rows]
        logprobs = self._in_batches(rows, self._sizers.candidates, score_batch, max_length)
        outputs, start = [], 0
        for request, request_rows in requests:
            end = start + len(request_rows)
            outputs.append(_ranking_output(request, request_rows, logprobs[start:end]))
            start = end
        return outputs

    def _prefill(self, rows: Sequence[TokenisedPrompt], timing: BatchTiming, kept_logits: int = 1) -> PrefillState:
        """Read the prompts and record how many tokens that took, and how long."""
        import torch

        tokens_before = self._sharing.prefill_tokens
        state = self._sharing.prefill(rows, kept_logits)
        if self._loaded.device.startswith("cuda"):
            # For the timing; costs nothing, since the first tokens are waited for anyway.
            torch.cuda.synchronize(self._loaded.device)
        timing.record_prefill(self._sharing.prefill_tokens - tokens_before)
        return state

    def _in_batches(
        self,
        items: Sequence[T],
        sizer: BatchSizer,
        work: Callable[[Sequence[T], BatchTiming], Sequence[R]],
        longest: Callable[[Sequence[T]], int],
    ) -> list[R | Failure]:
        """The results of `run_batches`. An error clears the prefix cache, which may be inconsistent then."""
        batches = run_batches(items, sizer, work, longest=longest, on_error=self._sharing.clear)
        return [result for batch in batches for result in batch.results]

    def _find_difference(self, rows: Sequence[TokenisedPrompt]) -> str | None:
        """What goes wrong when these prompts are read with shared prefixes, in one batch, or None.

        Compares the last logits with those of a plain forward pass. Raises MemoryError if memory is
        too short to find out.
        """
        try:
            unshared_logits = [self._sharing.logits_unshared(row).float() for row in rows]
            # Where prompts are cached, once computed and once from the cache.
            for _ in range(2 if self._sharing.keeps_prompts else 1):
                shared_logits = self._sharing.prefill(rows).logits[:, -1]
                for unshared, shared in zip(unshared_logits, shared_logits, strict=True):
                    difference = float((unshared - shared.float()).abs().max() / unshared.abs().max())
                    limit = _TOLERANCE.get(str(self._loaded.model.dtype).split(".")[-1], 0.1)
                    if not difference <= limit:  # NaN is a difference too
                        return f"its logits differ by {difference:.1%} of the largest"
        except MODEL_ERRORS as error:
            self._sharing.clear()
            if isinstance(error, PrefixSharingUnsupported):
                return str(error)
            if failure_from_error(error).kind == "out_of_memory":
                raise MemoryError from None
            message = " ".join(str(error).split())[:200] or type(error).__name__
            return f"reading the rest of a prompt by itself fails: {message}"
        return None


def _find_unsupported(loaded: LoadedModel) -> str | None:
    """Why prefixes of this architecture cannot be cached, as far as its configuration shows."""
    if loaded.is_encoder_decoder:
        return "it is an encoder-decoder model"
    config = loaded.model.config.get_text_config()
    if getattr(config, "cross_attention_layers", None):
        return "it looks at pictures by cross-attention"
    kinds = set(getattr(config, "layer_types", None) or ())
    if not kinds <= _ATTENTION_LAYERS:
        return "some of its layers keep a state in place of keys and values"
    return None


def _attention_window(model: Any) -> int | None:
    """Tokens that the layer with the smallest attention window sees; None if all see everything."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if kinds is not None and set(kinds) <= {_FULL}:
        return None
    sizes = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((size for size in sizes if isinstance(size, int)), default=None)


def _select_test_rows(rows: Sequence[TokenisedPrompt]) -> list[list[TokenisedPrompt]]:
    """Prompts to test on: with images and without, two of each with different image prefixes if
    there are such."""
    selected: dict[bool, list[TokenisedPrompt]] = defaultdict(list)
    for row in rows:
        group = selected[bool(row.image_digests)]
        keys = [other.image_prefix_key() for other in group]
        if len(group) < 2 and row.image_prefix_key() not in keys:
            group.append(row)
    return list(selected.values())


def _sum_logprobs(logits: Tensor, rows: Sequence[TokenisedPrompt]) -> list[float]:
    """Sums of the log-probabilities of each row's scored tokens, in float32.

    `logits` is (rows, kept_logits, vocab_size). The last column predicts the token after the row,
    so that the scored tokens are predicted by the `scored_tokens` columns before it.
    """
    import torch

    # One transfer of all targets to the device, and one of all sums back.
    targets = torch.tensor([token for row in rows for token in row.ids[len(row.ids) - row.scored_tokens :]])
    row_targets = targets.long().to(logits.device).split([row.scored_tokens for row in rows])
    sums = []
    for scores, row, target in zip(logits, rows, row_targets, strict=True):
        steps = scores[scores.shape[0] - row.scored_tokens - 1 : -1].float().log_softmax(-1)
        sums.append(steps.gather(1, target[:, None]).sum())
    totals: list[float] = torch.stack(sums).tolist()
    return totals


def _ranking_output(request: Rank, rows: Sequence[TokenisedPrompt], logprobs: Sequence[float | Failure]) -> Output:
    """The ranking of one request, or the failure of any of its candidates."""
    scores = []
    for row, logprob in zip(rows, logprobs, strict=True):
        if isinstance(logprob, Failure):
            return logprob
        scores.append(CandidateScore(logprob, row.scored_tokens))
    return ranking_output(request, scores, len(rows[0].ids) - rows[0].scored_tokens)


def _cache_budget(device: str) -> int:
    """Bytes that cached prefixes may take."""
    if not device.startswith("cuda"):
        return _CPU_BYTES
    import torch

    return int(_GPU_FRACTION * torch.cuda.get_device_properties(device).total_memory)
