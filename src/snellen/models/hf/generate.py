"""Batched generation by transformers, and replies that are forced to measure their likelihood.

Greedy, or sampled such that the draws of a row depend on that row alone.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from snellen.core.output import CandidateScore, Generated, StopReason, Usage
from snellen.core.request import Generate, Generation, request_digest
from snellen.models.hf.batch_size import BatchSizer, BatchTiming, FinishedBatch, run_batches
from snellen.models.hf.checkpoint import DRAWING_TYPES
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import GRID, Prompt, check_length, encode, seen_sizes
from snellen.models.reasoning import TAGS, end_before

if TYPE_CHECKING:
    from torch import Tensor


class RenderedRequest(NamedTuple):
    """A request with its rendered prompt."""

    request: Generate
    prompt: Prompt


def generate(loaded: LoadedModel, batch: Sequence[RenderedRequest], settings: Generation) -> list[Generated]:
    """Replies to prompts with equal settings, all with images or all without, in one batch."""
    import torch

    texts = [rendered.prompt.text for rendered in batch]
    images = [rendered.prompt.images for rendered in batch]
    videos = [rendered.prompt.videos for rendered in batch]
    inputs = encode(loaded, texts, images, _generation_side(loaded), videos=videos)
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, lengths)
    # Sequences of a decoder begin with the padded prompt, those of an encoder-decoder with the
    # decoder's start token.
    prompt_width = 1 if loaded.is_encoder_decoder else inputs["input_ids"].shape[1]
    extra: dict[str, Any] = {}
    processors: list[Callable[[Tensor, Tensor], Tensor]] = []
    if has_penalty(settings):
        processors.append(_Penalties(settings, inputs, prompt_width))
    if settings.temperature > 0:
        sampler = GumbelSampler(settings, [rendered.request for rendered in batch], loaded)
        # Noise on the scores makes greedy decoding (`do_sample=False`) a sampler.
        processors.append(lambda _, scores: sampler(scores, range(len(batch))))
    if processors:
        extra["logits_processor"] = processors
    if settings.stop:
        extra |= {"stop_strings": list(settings.stop), "tokenizer": loaded.tokenizer}
    with torch.inference_mode():
        result = generate_function(loaded)(
            **inputs,
            max_new_tokens=settings.max_new_tokens,
            do_sample=False,
            return_dict_in_generate=True,
            output_logits=settings.logprobs > 0,
            **extra,
        )
    replies = result.sequences[:, prompt_width:].tolist()
    first = result.logits[0] if settings.logprobs else [None] * len(replies)
    sizes = seen_sizes(inputs, loaded, images) if GRID in inputs else [()] * len(replies)
    return [
        decode_reply(loaded, reply, length, settings, scores, seen)
        for reply, length, scores, seen in zip(replies, lengths, first, sizes, strict=True)
    ]


def _generation_side(loaded: LoadedModel) -> str:
    """The side of the padding: a decoder continues from the last column; the positions of an
    encoder count from the first."""
    return "right" if loaded.is_encoder_decoder else "left"


def batch_settings(settings: Generation) -> Generation:
    """The settings that requests of one batch must share: all but the seed, which each row has for
    itself."""
    return structs.replace(settings, seed=None)


def generate_function(loaded: LoadedModel) -> Callable[..., Any]:
    """The model's `generate`. For a model that also draws images the one of transformers' mixin,
    because its own ignores logits processors and stop strings."""
    from transformers import GenerationMixin

    if loaded.model.config.model_type in DRAWING_TYPES:
        return partial(GenerationMixin.generate, loaded.model)
    generate_method: Callable[..., Any] = loaded.model.generate
    return generate_method


def decode_reply(
    loaded: LoadedModel,
    tokens: Sequence[int],
    prompt_length: int,
    settings: Generation,
    first_logits: Tensor | None = None,
    image_sizes: tuple[tuple[int, int], ...] = (),
) -> Generated:
    """Decode generated tokens into a reply, cut at the end token and at stop strings.

    `prompt_length` is in tokens. `first_logits`, shape (vocab_size,), are those of the first reply
    token; they give the reply's `first_logprobs`. `image_sizes` are the reply's.
    """
    end_tokens = loaded.eos_token_ids
    end = next((index for index, token in enumerate(tokens) if token in end_tokens), None)
    reply_tokens = tokens if end is None else tokens[:end]
    whole = decode_text(loaded.tokenizer, reply_tokens)
    text = end_before(whole, settings.stop)
    reason: StopReason = "stop" if end is not None or text != whole else "length"
    completion_tokens = len(tokens) if end is None else end + 1
    return Generated(
        text.strip(),
        reason,
        usage=Usage(prompt_length, completion_tokens),
        first_logprobs=_top_logprobs(loaded, first_logits, settings.logprobs),
        image_sizes=image_sizes,
    )


def decode_text(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of tokens, without special tokens except for those that open and close a thought."""

    def decode_run(run: Sequence[int]) -> str:
        text: str = tokenizer.decode(run, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    tags = _thought_tags(tokenizer)
    parts: list[str] = []
    start = 0
    for index, token in enumerate(tokens if tags else ()):
        if token in tags:
            parts += [decode_run(tokens[start:index]), tags[token]]
            start = index + 1
    return "".join([*parts, decode_run(tokens[start:])])


@functools.lru_cache(maxsize=8)
def _thought_tags(tokenizer: Any) -> Mapping[int, str]:
    """Special tokens that are tags of a thought, as in Magistral, by their id."""
    tags = {tag for pair in TAGS for tag in pair}
    # Mistral's own tokenizers have no such table.
    added = getattr(tokenizer, "added_tokens_decoder", {}).items()
    return {token_id: token.content for token_id, token in added if token.special and token.content in tags}


def _top_logprobs(loaded: LoadedModel, logits: Tensor | None, count: int) -> dict[str, float]:
    """The `count` most likely tokens and their log-probabilities, from logits (vocab_size,)."""
    if logits is None or count == 0:
        return {}
    top = logits.float().log_softmax(-1).topk(min(count, len(logits)))
    tokens = [loaded.tokenizer.decode([token]) for token in top.indices.tolist()]
    return dict(zip(tokens, top.values.tolist(), strict=True))


def has_penalty(settings: Generation) -> bool:
    """Whether scores depend on the tokens that came before."""
    return settings.repetition_penalty != 1 or settings.presence_penalty != 0


class _Penalties:
    """Logits processor for tokens that occurred already, as vLLM defines them.

    The repetition penalty (Keskar et al. 2019, Section 4.1) divides positive scores of tokens of
    prompt or reply and multiplies negative ones; the presence penalty is subtracted once from
    scores of tokens of the reply. Padding counts as nothing, so that the other rows of a batch
    change no reply, as they would with the processor of transformers.
    """

    def __init__(self, settings: Generation, inputs: Any, prompt_width: int) -> None:
        self._settings = settings
        self._prompt_ids = inputs["input_ids"]
        self._prompt_mask = inputs["attention_mask"].bool()
        self._prompt_width = prompt_width

    def __call__(self, ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocab_size) after `ids` (rows, length), which begin with the prompt."""
        import torch

        nothing = torch.zeros_like(scores, dtype=torch.bool)
        in_reply = nothing.scatter(1, ids[:, self._prompt_width :], True)
        if self._settings.repetition_penalty != 1:
            rows, columns = self._prompt_mask.nonzero(as_tuple=True)
            in_prompt = nothing.clone()
            in_prompt[rows, self._prompt_ids[rows, columns]] = True
            penalty = self._settings.repetition_penalty
            penalised = torch.where(scores > 0, scores / penalty, scores * penalty)
            scores = torch.where(in_reply | in_prompt, penalised, scores)
        return scores - self._settings.presence_penalty * in_reply.to(scores.dtype)


class GumbelSampler:
    """Samples tokens by adding Gumbel noise to their scores: the largest sum is the draw.

    Exact for the distribution with temperature, top-k and top-p (Gumbel 1954). Each row has a
    generator seeded by its request, so that the other rows of a batch cannot change its draws, as
    they would with one generator for all.
    """

    def __init__(self, settings: Generation, requests: Sequence[Generate], loaded: LoadedModel) -> None:
        import torch

        self._settings = settings
        self._generators = []
        for request in requests:
            seed = hashlib.sha256(request_digest(request, "")).digest()[:7]
            generator = torch.Generator(loaded.device)
            generator.manual_seed(int.from_bytes(seed))
            self._generators.append(generator)

    def __call__(self, scores: Tensor, rows: Sequence[int]) -> Tensor:
        """Scores (rows, vocab_size) with noise; `rows` are the indices of their requests."""
        import torch

        scores = scores.float() / self._settings.temperature
        if 0 < self._settings.top_k < scores.shape[-1]:
            lowest = scores.topk(self._settings.top_k).values[..., -1:]
            scores = scores.masked_fill(scores < lowest, -torch.inf)
        if self._settings.top_p < 1:
            ranked, order = scores.sort(descending=True)
            probabilities = ranked.softmax(-1)
            # A token is outside if those before it reach top_p; the first one never is.
            outside = probabilities.cumsum(-1) - probabilities >= self._settings.top_p
            # `scatter` brings the flags from sorted order back to the order of the vocabulary.
            scores = scores.masked_fill(outside.scatter(1, order, outside), -torch.inf)
        # -log of an exponential variable is Gumbel distributed.
        noise = torch.stack(
            [
                torch.empty_like(row_scores).exponential_(generator=self._generators[row])
                for row_scores, row in zip(scores, rows, strict=True)
            ]
        )
        return scores - noise.log()


def generate_unshared(
    loaded: LoadedModel, requests: Sequence[RenderedRequest], sizer: BatchSizer
) -> Iterator[FinishedBatch[RenderedRequest, Generated]]:
    """Replies to requests with equal settings and numbers of images, batch by batch, each prompt
    read from its first token."""
    settings = requests[0].request.settings

    def generate_batch(batch: Sequence[RenderedRequest], timing: BatchTiming) -> list[Generated]:
        replies = generate(loaded, batch, settings)
        timing.record_decode(sum(reply.usage.completion_tokens for reply in replies if reply.usage))
        return replies

    unbatched = loaded.profile is not None and loaded.profile.unbatched
    return run_batches(requests, sizer, generate_batch, one_by_one=unbatched)


def is_forced(loaded: LoadedModel) -> bool:
    """Whether candidates must be generated token by token to be scored, instead of being read with
    the prompt: the processor ends the prompt with tokens of its own, or an encoder reads it."""
    by_profile = loaded.profile is not None and loaded.profile.forced
    return by_profile or loaded.is_encoder_decoder


def forced_logprobs(
    loaded: LoadedModel, prompts: Sequence[Prompt], candidates: Sequence[str]
) -> list[tuple[CandidateScore, int]]:
    """Scores of candidates after their prompts, each with the length of its prompt in tokens.

    Generates with all tokens but the candidate's next one forbidden, and sums its log-probability
    under the model's own logits. All prompts have the same number of images.
    """
    import torch

    between = loaded.profile.between if loaded.uses_profile_prompt and loaded.profile else ""
    texts = [between + candidate for candidate in candidates]
    tails = [loaded.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    if not all(tails):
        raise ValueError("a candidate without tokens")
    inputs = encode(
        loaded,
        [prompt.text for prompt in prompts],
        [prompt.images for prompt in prompts],
        _generation_side(loaded),
        videos=[prompt.videos for prompt in prompts],
    )
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, [length + len(tail) for length, tail in zip(lengths, tails, strict=True)])
    with torch.inference_mode():
        result = generate_function(loaded)(
            **inputs,
            max_new_tokens=max(map(len, tails)),
            do_sample=False,
            return_dict_in_generate=True,
            output_logits=True,
            logits_processor=[_ForcedTokens(tails, loaded.tokenizer.pad_token_id)],
        )
    scores = []
    for row, (tail, length) in enumerate(zip(tails, lengths, strict=True)):
        # `logits` are those before the processor: one (rows, vocab_size) for each generated token.
        steps = [result.logits[step][row].float().log_softmax(-1) for step in range(len(tail))]
        total = float(sum(logprobs[token] for logprobs, token in zip(steps, tail, strict=True)))
        scores.append((CandidateScore(total, len(tail)), length))
    return scores


class _ForcedTokens:
    """Logits processor that allows one token a row: the next of its reply, then padding."""

    def __init__(self, tails: Sequence[Sequence[int]], pad: int) -> None:
        self._tails = tails
        self._pad = pad
        self._step = 0

    def __call__(self, _: Any, scores: Tensor) -> Tensor:
        import torch

        forced = torch.full_like(scores, -torch.inf)
        for row, tail in enumerate(self._tails):
            forced[row, tail[self._step] if self._step < len(tail) else self._pad] = 0.0
        self._step += 1
        return forced
