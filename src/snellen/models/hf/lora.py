"""Low-rank fine-tuning (LoRA, Hu et al. 2021) of a loaded checkpoint, by `peft`: the weights stay
as they are, and what was learnt is returned as two thin factors for each matrix."""

from __future__ import annotations

import importlib.util
import math
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from snellen.core.errors import MissingExtra, UsageError
from snellen.core.request import Request
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.prompt import adds_special_tokens, check_length, encode, render, with_reply
from snellen.models.image_cache import PictureCache

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from torch import Tensor

LANGUAGE = "language"
"""Targets: every linear layer of the language model, its output layer left out."""


class Tuning(Struct, frozen=True, kw_only=True):
    """How a task vector is trained. The same seed starts every task from the same factors, shows
    as many samples in the same order, so that vectors differ by their data alone."""

    epochs: int = 3
    rank: int = 8
    alpha: int = 16
    learning_rate: float = 2e-4
    batch_size: int = 16
    seed: int = 0
    targets: str = LANGUAGE
    """`language`, or a regular expression that a layer's whole name must match."""


class Lesson(NamedTuple):
    """One sample in instruction form: what is asked, and the reply to be learnt."""

    request: Request
    reply: str


class Factors(NamedTuple):
    """The change of one weight matrix, `scale * up @ down`, the scale being the same for all."""

    down: NDArray[float32]
    """Shape (rank, inputs)."""
    up: NDArray[float32]
    """Shape (outputs, rank)."""


class Progress(Struct, frozen=True):
    """How well the replies are known, by teacher forcing."""

    loss: float
    """Mean negative log-likelihood of a reply's token, in nats."""
    right: float
    """Share of the replies whose every token is the likeliest one."""


class Tuned(NamedTuple):
    """What one task taught."""

    factors: Mapping[str, Factors]
    """By the name of the layer."""
    before: Progress
    after: Progress
    """On the samples that were trained on."""


def require_tuning(what: str) -> None:
    """Raises MissingExtra for the first library that is not installed."""
    for library in ("torch", "transformers", "peft", "scipy"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(what, "taskmap", library)


def target_layers(loaded: Loaded, targets: str) -> tuple[str, ...]:
    """Names of the layers that are tuned. Raises UsageError where there are none."""
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    output = getattr(loaded.model, "get_output_embeddings", lambda: None)()
    linear = [
        name
        for name, module in loaded.model.named_modules()
        if isinstance(module, Linear | Conv1D) and module is not output
    ]
    if targets != LANGUAGE:
        try:
            found = [name for name in linear if re.fullmatch(targets, name)]
        except re.error as error:
            raise UsageError(f"{targets!r} is no regular expression: {error}") from error
        if not found:
            example = f", e.g. {linear[0]!r}" if linear else ""
            raise UsageError(
                f"no layer that can be tuned is named {targets!r}; the model has {len(linear)} "
                f"linear layers{example}; the whole name must match"
            )
        return tuple(found)
    decoder = loaded.model.get_decoder() if hasattr(loaded.model, "get_decoder") else loaded.model
    inside = {id(module) for module in decoder.modules()}
    modules = dict(loaded.model.named_modules())
    found = [name for name in linear if id(modules[name]) in inside]
    if not found:
        raise UsageError(
            f"{type(loaded.model).__name__} has no linear layer in its language model that LoRA "
            "can tune; name layers by a regular expression with --targets, or use another model"
        )
    return tuple(found)


def tune(
    loaded: Loaded,
    lessons: Sequence[Lesson],
    how: Tuning,
    policy: str = "native",
    step: Callable[[], None] = lambda: None,
) -> Tuned:
    """Train factors on `lessons` and take them out of the model again, also when interrupted.

    `step` is called after each batch. Raises UsageError (a model with an encoder, no layer to
    tune, a loss that is not a number) and what models raise on a request (`MODEL_ERRORS`,
    MediaError).
    """
    import torch

    _check(loaded)
    torch.set_num_threads(loaded.threads)
    pupil = _Pupil(loaded, policy)
    with _adapted(loaded, how) as adapted:
        before = pupil.progress(lessons, how.batch_size)
        weights = [weight for weight in adapted.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=how.learning_rate, weight_decay=0.0)
        for epoch in range(how.epochs):
            for batch in _batches(lessons, how, epoch):
                loss = pupil.loss(batch)
                if not math.isfinite(float(loss.detach())):
                    raise UsageError(
                        f"the loss became {float(loss.detach())} in epoch {epoch + 1}; use a "
                        f"smaller --learning-rate than {how.learning_rate:g}, or another dtype"
                    )
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
                step()
        after = pupil.progress(lessons, how.batch_size)
        return Tuned(_factors(adapted), before, after)


def _check(loaded: Loaded) -> None:
    if getattr(loaded.model.config, "is_encoder_decoder", False):
        raise UsageError(
            f"{type(loaded.model).__name__} reads prompts with an encoder of its own; only models "
            "that continue their prompt can be fine-tuned here: use another one"
        )


@contextmanager
def _adapted(loaded: Loaded, how: Tuning) -> Iterator[Any]:
    """The model with fresh factors, which are gone afterwards."""
    import torch
    from peft import LoraConfig, get_peft_model

    wanted = {name: weight.requires_grad for name, weight in loaded.model.named_parameters()}
    config = LoraConfig(
        r=how.rank,
        lora_alpha=how.alpha,
        lora_dropout=0.0,
        target_modules=list(target_layers(loaded, how.targets)),
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(how.seed)
        warnings.simplefilter("ignore")  # peft's advice to those who train one adapter
        adapted = get_peft_model(loaded.model, config)
    adapted.eval()
    try:
        yield adapted
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adapted.unload()
        for name, weight in loaded.model.named_parameters():
            weight.requires_grad_(wanted[name])


def _batches(lessons: Sequence[Lesson], how: Tuning, epoch: int) -> Iterator[list[Lesson]]:
    order = list(range(len(lessons)))
    random.Random(f"{how.seed}/{epoch}").shuffle(order)
    for start in range(0, len(order), how.batch_size):
        yield [lessons[at] for at in order[start : start + how.batch_size]]


def _factors(adapted: Any) -> dict[str, Factors]:
    found: dict[str, Factors] = {}
    for name, module in adapted.base_model.model.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            down = module.lora_A["default"].weight.detach().float().cpu().numpy().copy()
            up = module.lora_B["default"].weight.detach().float().cpu().numpy().copy()
            found[name] = Factors(down, up)
    return found


class _Pupil:
    """The losses of a model on lessons; only the replies' tokens count."""

    def __init__(self, loaded: Loaded, policy: str) -> None:
        self._loaded = loaded
        self._policy = policy
        self._pictures = PictureCache()

    def loss(self, lessons: Sequence[Lesson]) -> Tensor:
        """Mean over the tokens of these replies, with gradient."""
        return self._measure(lessons).losses.mean()

    def progress(self, lessons: Sequence[Lesson], at_once: int) -> Progress:
        import torch

        losses: list[float] = []
        right = 0
        with torch.no_grad():
            for start in range(0, len(lessons), at_once):
                found = self._measure(lessons[start : start + at_once])
                losses += found.losses.tolist()
                right += found.right
        return Progress(sum(losses) / len(losses), right / len(lessons))

    def _measure(self, lessons: Sequence[Lesson]) -> _Measured:
        """Lessons with pictures and without cannot share a batch: they are measured apart."""
        with_pictures = [one for one in lessons if any(m.media() for m in one.request.messages)]
        without = [one for one in lessons if not any(m.media() for m in one.request.messages)]
        parts = [self._batch(group) for group in (with_pictures, without) if group]
        if len(parts) == 1:
            return parts[0]
        import torch

        losses = torch.cat([part.losses for part in parts])
        return _Measured(losses, sum(part.right for part in parts))

    def _batch(self, lessons: Sequence[Lesson]) -> _Measured:
        import torch

        texts, images, tails = [], [], []
        for request, reply in lessons:
            prompt = render(request, self._loaded, self._pictures, self._policy)
            whole = with_reply(request, prompt, reply, self._loaded, self._policy)
            texts.append(whole)
            images.append(prompt.images)
            tails.append(self._tail(prompt.text, whole))
        inputs = encode(self._loaded, texts, images, "right")
        lengths = [int(length) for length in inputs["attention_mask"].sum(1)]
        check_length(self._loaded, lengths)
        begins = [length - tail for length, tail in zip(lengths, tails, strict=True)]
        # The logits at one place are about the next token, hence the steps back by one.
        kept = inputs["input_ids"].shape[1] - (min(begins) - 1)
        logits = self._loaded.model(**inputs, use_cache=False, logits_to_keep=kept).logits
        offset = inputs["input_ids"].shape[1] - kept
        logits = logits[:, -kept:].float()
        losses, right = [], 0
        for row, (begin, tail) in enumerate(zip(begins, tails, strict=True)):
            told = logits[row, begin - 1 - offset : begin - 1 - offset + tail]
            wanted = inputs["input_ids"][row, begin : begin + tail]
            losses.append(torch.nn.functional.cross_entropy(told, wanted, reduction="none"))
            right += bool((told.argmax(-1) == wanted).all())
        return _Measured(torch.cat(losses), right)

    def _tail(self, prompt: str, whole: str) -> int:
        """Tokens of the reply: those behind what both texts begin with."""
        special = adds_special_tokens(self._loaded, prompt)
        asked, answered = self._loaded.tokenizer([prompt, whole], add_special_tokens=special)[
            "input_ids"
        ]
        shared = 0
        for left, right in zip(asked, answered, strict=False):
            if left != right:
                break
            shared += 1
        return max(1, len(answered) - shared)


class _Measured(NamedTuple):
    losses: Tensor
    """Of each reply token, of shape (tokens,)."""
    right: int
    """Replies whose every token is the likeliest one."""
