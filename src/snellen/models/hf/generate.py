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
from snellen.models.hf.batch_size import Sizing, Work
from snellen.models.hf.checkpoint import DRAWING_TYPES
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.prompt import Prompt, check_length, encode
from snellen.models.reasoning import TAGS
from snellen.models.split_batch import MODEL_ERRORS, failure_of, halving

if TYPE_CHECKING:
    from torch import Tensor


class Asked(NamedTuple):
    """A request, rendered."""

    request: Generate
    prompt: Prompt


def generate(loaded: Loaded, batch: Sequence[Asked], settings: Generation) -> list[Generated]:
    """Replies to prompts that share their settings, all with pictures or all without."""
    import torch

    texts = [asked.prompt.text for asked in batch]
    # A decoder goes on from the end; an encoder counts from the beginning.
    side = "right" if loaded.encodes else "left"
    inputs = encode(loaded, texts, [asked.prompt.images for asked in batch], side)
    lengths = inputs["attention_mask"].sum(1).tolist()
    check_length(loaded, lengths)
    extra: dict[str, Any] = {}
    if settings.temperature > 0:
        lots = Lots(settings, [asked.request for asked in batch], loaded)
        extra["logits_processor"] = [lambda _, scores: lots(scores, range(len(batch)))]
    if settings.stop:
        extra |= {"stop_strings": list(settings.stop), "tokenizer": loaded.tokenizer}
    with torch.inference_mode():
        made = generating(loaded)(
            **inputs,
            max_new_tokens=settings.max_new_tokens,
            do_sample=False,
            return_dict_in_generate=True,
            output_logits=settings.logprobs > 0,
            **extra,
        )
    before = 1 if loaded.encodes else inputs["input_ids"].shape[1]
    replies = made.sequences[:, before:].tolist()
    first = made.logits[0] if settings.logprobs else [None] * len(replies)
    return [
        reply_of(loaded, reply, length, settings, scores)
        for reply, length, scores in zip(replies, lengths, first, strict=True)
    ]


def alike(settings: Generation) -> Generation:
    """What requests of one batch must share: all but the seed, since each row draws by its own."""
    return structs.replace(settings, seed=None)


def generating(loaded: Loaded) -> Callable[..., Any]:
    """The model's `generate`; of a model that also draws the general one, since its own passes
    nothing on that changes the choice of words."""
    from transformers import GenerationMixin

    if loaded.model.config.model_type in DRAWING_TYPES:
        return partial(GenerationMixin.generate, loaded.model)
    found: Callable[..., Any] = loaded.model.generate
    return found


def reply_of(
    loaded: Loaded,
    tokens: Sequence[int],
    length: int,
    settings: Generation,
    first: Tensor | None = None,
) -> Generated:
    """The reply that generated tokens are, to a prompt of `length` tokens. `first` holds the
    logits (words,) of the first of them."""
    end = next((place for place, token in enumerate(tokens) if token in loaded.ends), None)
    spoken = tokens if end is None else tokens[:end]
    text = _words(loaded.tokenizer, spoken)
    cuts = [place for stop in settings.stop if (place := text.find(stop)) >= 0]
    reason: StopReason = "stop" if end is not None or cuts else "length"
    if cuts:
        text = text[: min(cuts)]
    spent = len(tokens) if end is None else end + 1
    return Generated(
        text.strip(),
        reason,
        usage=Usage(length, spent),
        first_logprobs=_likeliest(loaded, first, settings.logprobs),
    )


def _words(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of tokens without special ones, but for those that open and close a thought."""

    def decoded(run: Sequence[int]) -> str:
        said: str = tokenizer.decode(
            run, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return said

    marks = _thought_marks(tokenizer)
    parts: list[str] = []
    begin = 0
    for place, token in enumerate(tokens if marks else ()):
        if token in marks:
            parts += [decoded(tokens[begin:place]), marks[token]]
            begin = place + 1
    return "".join([*parts, decoded(tokens[begin:])])


@functools.lru_cache(maxsize=8)
def _thought_marks(tokenizer: Any) -> Mapping[int, str]:
    """Special tokens that are tags of a thought, as Magistral's are, by their number."""
    tags = {tag for pair in TAGS for tag in pair}
    # Mistral's own tokenizers do not tell.
    added = getattr(tokenizer, "added_tokens_decoder", {}).items()
    return {number: one.content for number, one in added if one.special and one.content in tags}


def _likeliest(loaded: Loaded, logits: Tensor | None, count: int) -> dict[str, float]:
    if logits is None or count == 0:
        return {}
    found = logits.float().log_softmax(-1).topk(min(count, len(logits)))
    words = [loaded.tokenizer.decode([token]) for token in found.indices.tolist()]
    return dict(zip(words, found.values.tolist(), strict=True))


class Lots:
    """Samples by adding Gumbel noise of the row's own seed: the largest sum is the draw.

    (Gumbel 1954; exact for the tempered, top-p truncated distribution.) Neighbours in the batch
    cannot change a row's draw, as they would with one generator for all rows.
    """

    def __init__(self, settings: Generation, requests: Sequence[Generate], loaded: Loaded) -> None:
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
            share = ranked.softmax(-1)
            outside = share.cumsum(-1) - share >= self._settings.top_p
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


class Answered(NamedTuple):
    """What became of one batch."""

    start: int
    """Place of its first prompt."""
    replies: Sequence[Generated | Failure]
    seconds: float


def apart(loaded: Loaded, asked: Sequence[Asked], size: Sizing) -> Iterator[Answered]:
    """Replies to prompts that share their settings, all with as many pictures, batch by batch."""
    settings = asked[0].request.settings

    def work(batch: Sequence[Asked]) -> list[Generated]:
        # How long prompts are is not known before they are read: each counts as one token.
        task = Work(len(batch), 1)
        try:
            with size.measured(task):
                replies = generate(loaded, batch, settings)
                task.has_said(sum(one.usage.completion_tokens for one in replies if one.usage))
        except MODEL_ERRORS as error:
            if failure_of(error).kind == "out_of_memory":
                size.short(len(batch))
            raise
        return replies

    alone = loaded.profile is not None and loaded.profile.alone
    start = 0
    while start < len(asked):
        room = 1 if alone else size.room(1)
        started = time.perf_counter()
        replies = halving(asked[start : start + room], work)
        yield Answered(start, replies, time.perf_counter() - started)
        start += len(replies)


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
