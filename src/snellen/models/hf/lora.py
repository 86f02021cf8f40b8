"""Low-rank fine-tuning (LoRA, Hu et al. 2021) of a loaded checkpoint with `peft`.

The weights stay as they are; the result is two thin factors for each tuned matrix.
"""

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
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import adds_special_tokens, check_length, encode, render, with_reply
from snellen.models.hf.tokenise import shared_prefix_length
from snellen.models.image_cache import ImageCache

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from torch import Tensor

LANGUAGE_LAYERS = "language"
"""Targets: every linear layer of the language model except its output layer."""


class LoraOptions(Struct, frozen=True, kw_only=True):
    """How a task vector is trained.

    With the same seed every task starts from the same factors and orders its samples alike, so that
    task vectors differ by their data only.
    """

    epochs: int = 3
    rank: int = 8
    alpha: int = 16
    learning_rate: float = 2e-4
    batch_size: int = 16
    seed: int = 0
    targets: str = LANGUAGE_LAYERS
    """`language`, or a regular expression that a layer's complete name must match."""


class TrainingExample(NamedTuple):
    """One sample in instruction form: a request, and the reply to learn."""

    request: Request
    reply: str


class LoraFactors(NamedTuple):
    """The change of one weight matrix, `scale * up @ down`, with one scale for all matrices."""

    down: NDArray[float32]
    """Shape (rank, inputs)."""
    up: NDArray[float32]
    """Shape (outputs, rank)."""


class TrainingProgress(Struct, frozen=True):
    """How well a model predicts the replies, by teacher forcing."""

    loss: float
    """Mean negative log-likelihood of a reply token, in nats."""
    right: float
    """Fraction of the replies whose tokens are all the most likely ones."""


class TuningResult(NamedTuple):
    """The factors that one task has trained, with its losses before and after."""

    factors: Mapping[str, LoraFactors]
    """By the name of the layer."""
    before: TrainingProgress
    after: TrainingProgress
    """On the training samples."""


def require_tuning(what: str) -> None:
    """Check that the libraries of fine-tuning are installed. Raises MissingExtra."""
    for library in ("torch", "transformers", "peft", "scipy"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(what, "taskmap", library)


def target_layers(loaded: LoadedModel, targets: str) -> tuple[str, ...]:
    """Names of the layers to tune. Raises UsageError if there are none."""
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    output = getattr(loaded.model, "get_output_embeddings", lambda: None)()
    linear = [
        name
        for name, module in loaded.model.named_modules()
        if isinstance(module, Linear | Conv1D) and module is not output
    ]
    if targets != LANGUAGE_LAYERS:
        try:
            matches = [name for name in linear if re.fullmatch(targets, name)]
        except re.error as error:
            raise UsageError(f"{targets!r} is not a regular expression: {error}") from error
        if not matches:
            example = f", e.g. {linear[0]!r}" if linear else ""
            raise UsageError(
                f"no layer that can be tuned is named {targets!r}; the model has {len(linear)} "
                f"linear layers{example}; the whole name must match"
            )
        return tuple(matches)
    decoder = loaded.model.get_decoder() if hasattr(loaded.model, "get_decoder") else loaded.model
    inside = {id(module) for module in decoder.modules()}
    modules = dict(loaded.model.named_modules())
    matches = [name for name in linear if id(modules[name]) in inside]
    if not matches:
        raise UsageError(
            f"{type(loaded.model).__name__} has no linear layer in its language model that LoRA "
            "can tune; name layers by a regular expression, --tuning targets=..., or use "
            "another model"
        )
    return tuple(matches)


def tune(
    loaded: LoadedModel,
    examples: Sequence[TrainingExample],
    options: LoraOptions,
    policy: str = "native",
    on_batch: Callable[[], None] = lambda: None,
) -> TuningResult:
    """Train factors on `examples`, and remove them from the model again, also after an error.

    `on_batch` is called after each batch. Raises UsageError (a model with an encoder, no layer to
    tune, a loss that is not a number) and what models raise on a request (`MODEL_ERRORS`,
    MediaError).
    """
    import torch

    _check_tunable(loaded)
    torch.set_num_threads(loaded.threads)
    losses = _ReplyLosses(loaded, policy)
    with _add_adapter(loaded, options) as adapted:
        before = losses.progress(examples, options.batch_size)
        weights = [weight for weight in adapted.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=options.learning_rate, weight_decay=0.0)
        for epoch in range(options.epochs):
            for batch in _batches(examples, options, epoch):
                loss = losses.mean_loss(batch)
                if not math.isfinite(float(loss.detach())):
                    raise UsageError(
                        f"the loss became {float(loss.detach())} in epoch {epoch + 1}; use a "
                        f"smaller --tuning learning_rate than {options.learning_rate:g}, or "
                        "another dtype"
                    )
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
                on_batch()
        after = losses.progress(examples, options.batch_size)
        return TuningResult(_read_factors(adapted), before, after)


def _check_tunable(loaded: LoadedModel) -> None:
    """Raise UsageError for an encoder-decoder model."""
    if getattr(loaded.model.config, "is_encoder_decoder", False):
        raise UsageError(
            f"{type(loaded.model).__name__} reads prompts with an encoder of its own; only models "
            "that continue their prompt can be fine-tuned here: use another one"
        )


@contextmanager
def _add_adapter(loaded: LoadedModel, options: LoraOptions) -> Iterator[Any]:
    """The model with new factors, which are removed at the end of the `with` block."""
    import torch
    from peft import LoraConfig, get_peft_model

    had_gradient = {name: weight.requires_grad for name, weight in loaded.model.named_parameters()}
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=0.0,
        target_modules=list(target_layers(loaded, options.targets)),
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(options.seed)
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
            weight.requires_grad_(had_gradient[name])


def _batches(examples: Sequence[TrainingExample], options: LoraOptions, epoch: int) -> Iterator[list[TrainingExample]]:
    """The examples of an epoch in random order, which depends on seed and epoch alone."""
    order = list(range(len(examples)))
    random.Random(f"{options.seed}/{epoch}").shuffle(order)
    for start in range(0, len(order), options.batch_size):
        yield [examples[index] for index in order[start : start + options.batch_size]]


def _read_factors(adapted: Any) -> dict[str, LoraFactors]:
    """Copies of the trained factors by layer, in float32."""
    factors: dict[str, LoraFactors] = {}
    for name, module in adapted.base_model.model.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            down = module.lora_A["default"].weight.detach().float().cpu().numpy().copy()
            up = module.lora_B["default"].weight.detach().float().cpu().numpy().copy()
            factors[name] = LoraFactors(down, up)
    return factors


class _ReplyLosses:
    """Computes losses of a model on training examples, over the tokens of the replies only."""

    def __init__(self, loaded: LoadedModel, policy: str) -> None:
        self._loaded = loaded
        self._policy = policy
        self._image_cache = ImageCache()

    def mean_loss(self, examples: Sequence[TrainingExample]) -> Tensor:
        """Mean loss over the tokens of these replies, a scalar with gradient."""
        return self._measure(examples).losses.mean()

    def progress(self, examples: Sequence[TrainingExample], batch_size: int) -> TrainingProgress:
        """Loss and accuracy over all examples, without gradient."""
        import torch

        losses: list[float] = []
        correct = 0
        with torch.no_grad():
            for start in range(0, len(examples), batch_size):
                measured = self._measure(examples[start : start + batch_size])
                losses += measured.losses.tolist()
                correct += measured.correct
        return TrainingProgress(sum(losses) / len(losses), correct / len(examples))

    def _measure(self, examples: Sequence[TrainingExample]) -> _BatchLosses:
        """Losses of examples, in one batch for those with images and one for those without, which
        processors cannot mix."""
        groups: dict[bool, list[TrainingExample]] = {True: [], False: []}
        for example in examples:
            groups[any(message.media() for message in example.request.messages)].append(example)
        parts = [self._measure_batch(group) for group in groups.values() if group]
        if len(parts) == 1:
            return parts[0]
        import torch

        losses = torch.cat([part.losses for part in parts])
        return _BatchLosses(losses, sum(part.correct for part in parts))

    def _measure_batch(self, examples: Sequence[TrainingExample]) -> _BatchLosses:
        """Losses of examples that are all with images or all without, in one forward pass."""
        import torch

        texts, images, tails = [], [], []
        for request, reply in examples:
            prompt = render(request, self._loaded, self._image_cache, self._policy)
            full_text = with_reply(request, prompt, reply, self._loaded, self._policy)
            texts.append(full_text)
            images.append(prompt.images)
            tails.append(self._count_reply_tokens(prompt.text, full_text))
        inputs = encode(self._loaded, texts, images, "right")
        lengths = [int(length) for length in inputs["attention_mask"].sum(1)]
        check_length(self._loaded, lengths)
        starts = [length - tail for length, tail in zip(lengths, tails, strict=True)]
        # The logits in one column predict the token in the next, hence the steps back by one.
        # Only the columns from the first reply token's prediction on are computed.
        kept_count = inputs["input_ids"].shape[1] - (min(starts) - 1)
        logits = self._loaded.model(**inputs, use_cache=False, logits_to_keep=kept_count).logits
        offset = inputs["input_ids"].shape[1] - kept_count
        logits = logits[:, -kept_count:].float()
        losses, correct = [], 0
        for row, (start, tail) in enumerate(zip(starts, tails, strict=True)):
            reply_logits = logits[row, start - 1 - offset : start - 1 - offset + tail]
            targets = inputs["input_ids"][row, start : start + tail]
            losses.append(torch.nn.functional.cross_entropy(reply_logits, targets, reduction="none"))
            correct += bool((reply_logits.argmax(-1) == targets).all())
        return _BatchLosses(torch.cat(losses), correct)

    def _count_reply_tokens(self, prompt: str, full_text: str) -> int:
        """Tokens after the common prefix of the prompt and the prompt with its reply."""
        special = adds_special_tokens(self._loaded, prompt)
        prompt_ids, full_ids = self._loaded.tokenizer([prompt, full_text], add_special_tokens=special)["input_ids"]
        return max(1, len(full_ids) - shared_prefix_length(prompt_ids, full_ids))


class _BatchLosses(NamedTuple):
    losses: Tensor
    """Loss of each reply token: (tokens,)."""
    correct: int
    """Replies whose tokens are all the most likely ones."""
