"""Batched generation: greedy, or sampled so that a row's draw depends on that row alone."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from snellen.core.output import CandidateScore, Failure, Generated, StopReason, Usage
from snellen.core.request import Generate, Generation, Rank, request_digest
from snellen.models.hf.batch_size import BatchSizer, BatchTiming
from snellen.models.hf.checkpoint import DRAWING_TYPES
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import Prompt, check_length, encode
from snellen.models.reasoning import TAGS
from snellen.models.split_batch import MODEL_ERRORS, failure_from_error, split_and_retry

if TYPE_CHECKING:
    from torch import Tensor


class RenderedRequest(NamedTuple):
    """A request, rendered."""

    request: Generate
    prompt: Prompt


def generate(
    loaded: LoadedModel, batch: Sequence[RenderedRequest], settings: Generation
) -> list[Generated]:
    """Replies to prompts that share their settings, all with pictures or all without."""
    import torch

    texts = [asked.prompt.text for asked in batch]
    # A decoder goes on from the end; an encoder counts from the beginning.
    side = "right" if loaded.is_encoder_decoder else "left"
    inputs = encode(loaded, texts, [asked.prompt.images for asked in batch], side)
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, lengths)
    extra: dict[str, Any] = {}
    if settings.temperature > 0:
        sampler = GumbelSampler(settings, [asked.request for asked in batch], loaded)
        extra["logits_processor"] = [lambda _, scores: sampler(scores, range(len(batch)))]
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
    prompt_width = 1 if loaded.is_encoder_decoder else inputs["input_ids"].shape[1]
    replies = result.sequences[:, prompt_width:].tolist()
    first = result.logits[0] if settings.logprobs else [None] * len(replies)
    return [
        decode_reply(loaded, reply, length, settings, scores)
        for reply, length, scores in zip(replies, lengths, first, strict=True)
    ]


def batch_settings(settings: Generation) -> Generation:
    """What requests of one batch must share: all but the seed, since each row draws by its own."""
    return structs.replace(settings, seed=None)


def generate_function(loaded: LoadedModel) -> Callable[..., Any]:
    """The model's `generate`; of a model that also draws the general one, since its own passes
    nothing on that changes the choice of words."""
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
) -> Generated:
    """Decode generated tokens into a reply, cut at the end token and at stop strings.

    `prompt_length` is in tokens. `first_logits`, shape (vocab_size,), are those of the first reply
    token; they give the reply's `first_logprobs`.
    """
    end_tokens = loaded.eos_token_ids
    end = next((index for index, token in enumerate(tokens) if token in end_tokens), None)
    reply_tokens = tokens if end is None else tokens[:end]
    text = _decode_text(loaded.tokenizer, reply_tokens)
    cuts = [index for stop in settings.stop if (index := text.find(stop)) >= 0]
    reason: StopReason = "stop" if end is not None or cuts else "length"
    if cuts:
        text = text[: min(cuts)]
    completion_tokens = len(tokens) if end is None else end + 1
    return Generated(
        text.strip(),
        reason,
        usage=Usage(prompt_length, completion_tokens),
        first_logprobs=_top_logprobs(loaded, first_logits, settings.logprobs),
    )


def _decode_text(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of tokens without special ones, but for those that open and close a thought."""

    def decode_run(run: Sequence[int]) -> str:
        said: str = tokenizer.decode(
            run, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return said

    tags = _thought_tags(tokenizer)
    parts: list[str] = []
    start = 0
    for place, token in enumerate(tokens if tags else ()):
        if token in tags:
            parts += [decode_run(tokens[start:place]), tags[token]]
            start = place + 1
    return "".join([*parts, decode_run(tokens[start:])])


@functools.lru_cache(maxsize=8)
def _thought_tags(tokenizer: Any) -> Mapping[int, str]:
    """Special tokens that are tags of a thought, as Magistral's are, by their number."""
    tags = {tag for pair in TAGS for tag in pair}
    # Mistral's own tokenizers do not tell.
    added = getattr(tokenizer, "added_tokens_decoder", {}).items()
    return {number: one.content for number, one in added if one.special and one.content in tags}


def _top_logprobs(loaded: LoadedModel, logits: Tensor | None, count: int) -> dict[str, float]:
    if logits is None or count == 0:
        return {}
    top = logits.float().log_softmax(-1).topk(min(count, len(logits)))
    tokens = [loaded.tokenizer.decode([token]) for token in top.indices.tolist()]
    return dict(zip(tokens, top.values.tolist(), strict=True))


class GumbelSampler:
    """Samples by adding Gumbel noise of the row's own seed: the largest sum is the draw.

    (Gumbel 1954; exact for the tempered, top-p truncated distribution.) Neighbours in the batch
    cannot change a row's draw, as they would with one generator for all rows.
    """

    def __init__(
        self, settings: Generation, requests: Sequence[Generate], loaded: LoadedModel
    ) -> None:
        import torch

        self._settings = settings
        self._generators = []
        for request in requests:
            seed = hashlib.sha256(request_digest(request, "")).digest()[:7]
            generator = torch.Generator(loaded.device)
            generator.manual_seed(int.from_bytes(seed))
            self._generators.append(generator)

    def __call__(self, scores: Tensor, rows: Sequence[int]) -> Tensor:
        """Scores (rows, words), of those rows of the batch, with each row's noise."""
        import torch

        scores = scores.float() / self._settings.temperature
        if self._settings.top_p < 1:
            ranked, order = scores.sort(descending=True)
            probabilities = ranked.softmax(-1)
            outside = probabilities.cumsum(-1) - probabilities >= self._settings.top_p
            scores = scores.masked_fill(outside.scatter(1, order, outside), -torch.inf)
        noise = torch.stack(
            [
                torch.empty_like(row).exponential_(generator=generator)
                for row, generator in zip(
                    scores, [self._generators[number] for number in rows], strict=True
                )
            ]
        )
        return scores - noise.log()


class GeneratedBatch(NamedTuple):
    """What became of one batch."""

    start: int
    """Place of its first prompt."""
    replies: Sequence[Generated | Failure]
    seconds: float


def generate_unshared(
    loaded: LoadedModel, requests: Sequence[RenderedRequest], sizer: BatchSizer
) -> Iterator[GeneratedBatch]:
    """Replies to prompts that share their settings, all with as many pictures, batch by batch."""
    settings = requests[0].request.settings

    def generate_batch(batch: Sequence[RenderedRequest]) -> list[Generated]:
        # How long prompts are is not known before they are read: each counts as one token.
        timing = BatchTiming(len(batch), 1)
        try:
            with sizer.measure(timing):
                replies = generate(loaded, batch, settings)
                timing.record_decode(
                    sum(one.usage.completion_tokens for one in replies if one.usage)
                )
        except MODEL_ERRORS as error:
            if failure_from_error(error).kind == "out_of_memory":
                sizer.shrink(len(batch))
            raise
        return replies

    unbatched = loaded.profile is not None and loaded.profile.unbatched
    start = 0
    while start < len(requests):
        size = 1 if unbatched else sizer.max_prompts(1)
        started = time.perf_counter()
        replies = split_and_retry(requests[start : start + size], generate_batch)
        yield GeneratedBatch(start, replies, time.perf_counter() - started)
        start += len(replies)


def is_forced(loaded: LoadedModel) -> bool:
    """Whether a reply must be said rather than read."""
    by_profile = loaded.profile is not None and loaded.profile.forced
    return by_profile or loaded.is_encoder_decoder


def forced_logprobs(
    loaded: LoadedModel, request: Rank, prompt: Prompt, indices: Sequence[int]
) -> list[tuple[CandidateScore, int]]:
    """Scores of the candidates at those places, each with the tokens of the prompt before it."""
    import torch

    between = loaded.profile.between if loaded.uses_profile_prompt and loaded.profile else ""
    texts = [between + request.candidates[place] for place in indices]
    tails = [loaded.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    if not all(tails):
        raise ValueError("a candidate without tokens")
    images = [prompt.images] * len(indices)
    inputs = encode(loaded, [prompt.text] * len(indices), images, "left")
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
        steps = [result.logits[at][row].float().log_softmax(-1) for at in range(len(tail))]
        total = float(sum(step[token] for step, token in zip(steps, tail, strict=True)))
        scores.append((CandidateScore(total, len(tail)), length))
    return scores


class _ForcedTokens:
    """Leaves one token to each row: the next of its reply, padding behind it."""

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
