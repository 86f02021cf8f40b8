"""Requests answered with shared beginnings, once it is seen that this changes no answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.output import CandidateScore, Failure, Generated, Output
from snellen.core.request import Generate, Generation, Rank
from snellen.models.hf.batch_size import BatchSizer, BatchSizers, BatchTiming
from snellen.models.hf.decode import Decoder
from snellen.models.hf.generate import GumbelSampler, decode_reply
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.logprobs import ranking_output
from snellen.models.hf.prefix_sharing import PrefillState, PrefixSharing
from snellen.models.hf.tokenise import PrefixSharingUnsupported, TokenisedPrompt
from snellen.models.split_batch import MODEL_ERRORS, failure_from_error, split_and_retry

if TYPE_CHECKING:
    from torch import Tensor

_CPU_BYTES = 1_000_000_000
"""Bytes of beginnings kept in main memory."""
_GPU_FRACTION = 0.15
"""Share of a GPU's memory for them."""
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""By how much logits may differ, as a share of the largest: rounding, and no more."""
_FULL = "full_attention"
_ATTENTION_LAYERS = {_FULL, "sliding_attention", "chunked_attention"}
"""Kinds of layers that remember a prompt token by token."""


class SharedGeneration:
    """Answers tokenised prompts with one model, computing shared prefixes once.

    `disabled_reason` says why this architecture cannot share prefixes, or is None. Whether it can
    is tested on the first prompts, with images and without, against a plain forward pass; if two
    prompts with different images are at hand, they are tested in one batch.
    """

    def __init__(self, loaded: LoadedModel, sizers: BatchSizers) -> None:
        self._loaded = loaded
        self._sizers = sizers
        self._sharing = PrefixSharing(
            loaded.model, _cache_budget(loaded.device), sizers.replies.size
        )
        suppressed = loaded.model.generation_config.suppress_tokens or ()
        self._decoder = Decoder(self._sharing, loaded.tokenizer, loaded.eos_token_ids, suppressed)
        self._tested_kinds: set[Hashable] = set()
        self._window = _attention_window(loaded.model)
        self.disabled_reason: str | None = _find_unsupported(loaded)

    def supports(self, request: Generate | Rank, rows: Sequence[TokenisedPrompt]) -> bool:
        """Whether words follow the pictures, and a sliding window of attention sees all of these
        prompts. Prompts in a batch may be filled up in front of and behind what was kept, and the
        window counts that."""
        if any(row.image_prefix_length >= len(row.ids) - row.scored_tokens for row in rows):
            return False
        reply_tokens = request.settings.max_new_tokens if isinstance(request, Generate) else 0
        max_length = 2 * max((len(row.ids) for row in rows), default=0) + reply_tokens
        return self._window is None or max_length <= self._window

    def verify(self, rows: Sequence[TokenisedPrompt]) -> bool:
        """Whether these rows may be answered here, tested where their like has not been yet. Where
        memory is too short for the test they may not, and the next are tested again."""
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
        """Replies to requests that share their settings."""

        def max_length(batch: Sequence[tuple[Generate, TokenisedPrompt]]) -> int:
            return max(len(row.ids) for _, row in batch) + settings.max_new_tokens

        def generate_batch(batch: Sequence[tuple[Generate, TokenisedPrompt]]) -> list[Generated]:
            rows = [row for _, row in batch]
            sampler = None
            if settings.temperature > 0:
                sampler = GumbelSampler(settings, [request for request, _ in batch], self._loaded)
            timing = BatchTiming(len(rows), max_length(batch))
            with self._sizers.replies.measure(timing):
                state = self._prefill(rows, timing)
                first_logits = state.logits[:, -1]
                replies = self._decoder.decode(state, settings, sampler)
                timing.record_decode(sum(map(len, replies)))
            return [
                decode_reply(self._loaded, reply, len(row.ids), settings, scores)
                for reply, row, scores in zip(replies, rows, first_logits, strict=True)
            ]

        outputs: list[Generated | Failure] = []
        while len(outputs) < len(requests):
            size = self._sizers.replies.max_prompts(max_length(requests[len(outputs) :]))
            batch = requests[len(outputs) : len(outputs) + size]
            outputs += split_and_retry(
                batch, self._clear_on_error(generate_batch, self._sizers.replies)
            )
        return outputs

    def rank(self, requests: Sequence[tuple[Rank, Sequence[TokenisedPrompt]]]) -> list[Output]:
        """Likelihoods of the candidates of each request, read together where they fit."""

        def max_length(batch: Sequence[TokenisedPrompt]) -> int:
            return max(len(row.ids) for row in batch)

        def score_batch(batch: Sequence[TokenisedPrompt]) -> list[float]:
            kept_logits = max(row.scored_tokens for row in batch) + 1
            timing = BatchTiming(len(batch), max_length(batch))
            with self._sizers.candidates.measure(timing):
                logits = self._prefill(batch, timing, kept_logits).logits
                return _sum_logprobs(logits, batch)

        rows = [row for _, request_rows in requests for row in request_rows]
        logprobs: list[float | Failure] = []
        while len(logprobs) < len(rows):
            size = self._sizers.candidates.max_prompts(max_length(rows[len(logprobs) :]))
            batch = rows[len(logprobs) : len(logprobs) + size]
            logprobs += split_and_retry(
                batch, self._clear_on_error(score_batch, self._sizers.candidates)
            )
        outputs, start = [], 0
        for request, of_request in requests:
            outputs.append(
                _ranking_output(request, of_request, logprobs[start : start + len(of_request)])
            )
            start += len(of_request)
        return outputs

    def _prefill(
        self, rows: Sequence[TokenisedPrompt], timing: BatchTiming, kept_logits: int = 1
    ) -> PrefillState:
        import torch

        tokens_before = self._sharing.prefill_tokens
        state = self._sharing.prefill(rows, kept_logits)
        if self._loaded.device.startswith("cuda"):
            # The words are waited for right afterwards anyway.
            torch.cuda.synchronize(self._loaded.device)
        timing.record_prefill(self._sharing.prefill_tokens - tokens_before)
        return state

    def _clear_on_error(
        self, work: Callable[[Sequence[Any]], list[Any]], sizer: BatchSizer
    ) -> Callable[[Sequence[Any]], Any]:
        """The work; where it fails what was kept is let go, and where memory was short, later
        batches are smaller."""

        def run(batch: Sequence[Any]) -> list[Any]:
            try:
                return work(batch)
            except MODEL_ERRORS as error:
                self._sharing.clear()
                if failure_from_error(error).kind == "out_of_memory":
                    sizer.shrink(len(batch))
                raise

        return run

    def _find_difference(self, rows: Sequence[TokenisedPrompt]) -> str | None:
        """What goes wrong when these rows are read with shared beginnings, or None. Raises
        MemoryError where there is not enough to find out."""
        try:
            unshared_logits = [self._sharing.logits_unshared(row).float() for row in rows]
            # Twice where prompts are kept: computed, and from what was kept.
            for _ in range(2 if self._sharing.keeps_prompts else 1):
                shared_logits = self._sharing.prefill(rows).logits[:, -1]
                for unshared, shared in zip(unshared_logits, shared_logits, strict=True):
                    difference = float(
                        (unshared - shared.float()).abs().max() / unshared.abs().max()
                    )
                    limit = _TOLERANCE.get(str(self._loaded.model.dtype).split(".")[-1], 0.1)
                    if not difference <= limit:
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
    """Why no prompt's beginning can be kept, where the architecture says so."""
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
    """Tokens that the narrowest attention layer looks back; None: all."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if kinds is not None and set(kinds) <= {_FULL}:
        return None
    sizes = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((size for size in sizes if isinstance(size, int)), default=None)


def _select_test_rows(rows: Sequence[TokenisedPrompt]) -> list[list[TokenisedPrompt]]:
    """Rows to test on: with and without pictures, two with different heads where there are."""
    selected: dict[bool, list[TokenisedPrompt]] = defaultdict(list)
    for row in rows:
        group = selected[bool(row.image_digests)]
        if len(group) < 2 and all(
            row.image_prefix_key() != one.image_prefix_key() for one in group
        ):
            group.append(row)
    return list(selected.values())


def _sum_logprobs(logits: Tensor, rows: Sequence[TokenisedPrompt]) -> list[float]:
    """Sums of the log-probabilities of each row's scored tokens, in float32; `logits` (rows,
    kept, words) end with those about the token behind the row."""
    import torch

    # One list of words goes to the device, and one of sums comes back.
    targets = torch.tensor(
        [word for row in rows for word in row.ids[len(row.ids) - row.scored_tokens :]]
    )
    row_targets = targets.long().to(logits.device).split([row.scored_tokens for row in rows])
    sums = []
    for scores, row, target in zip(logits, rows, row_targets, strict=True):
        steps = scores[scores.shape[0] - row.scored_tokens - 1 : -1].float().log_softmax(-1)
        sums.append(steps.gather(1, target[:, None]).sum())
    totals: list[float] = torch.stack(sums).tolist()
    return totals


def _ranking_output(
    request: Rank, rows: Sequence[TokenisedPrompt], logprobs: Sequence[float | Failure]
) -> Output:
    scores = []
    for row, likelihood in zip(rows, logprobs, strict=True):
        if isinstance(likelihood, Failure):
            return likelihood
        scores.append(CandidateScore(likelihood, row.scored_tokens))
    return ranking_output(request, scores, len(rows[0].ids) - rows[0].scored_tokens)


def _cache_budget(device: str) -> int:
    if not device.startswith("cuda"):
        return _CPU_BYTES
    import torch

    return int(_GPU_FRACTION * torch.cuda.get_device_properties(device).total_memory)
