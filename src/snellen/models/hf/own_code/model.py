"""A checkpoint that is loaded and asked by its own code, one request at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from snellen.core.errors import MediaError, UsageError, first_line
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Failure, Generated, Output, StopReason, Usage
from snellen.core.request import Generate, Request, request_digest
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.loaded import LoadOptions
from snellen.models.hf.loading import choose_device, load_weights, silence_library, thread_count, use_threads
from snellen.models.hf.options import identity_facts
from snellen.models.hf.own_code.adapter import CodeAdapter, code_adapters
from snellen.models.hf.own_code.asking import ask_for_one_token, ask_own_code, count_tokens, set_attributes
from snellen.models.hf.own_code.turns import read_turns
from snellen.models.hf.own_code.values import OwnCode
from snellen.models.hf.placement import is_placed
from snellen.models.hf.routing import own_code_fails
from snellen.models.image_cache import ImageCache
from snellen.models.image_policy import first_image
from snellen.models.naming.routes import config_type
from snellen.models.reasoning import end_before, without_thoughts
from snellen.models.split_batch import MODEL_ERRORS, Unsupported, split_and_retry

_LOAD_ERRORS = (ImportError, OSError, ValueError, AttributeError, TypeError, KeyError)


class OwnCodeModel(ModelDefaults):
    """A checkpoint asked by its own code. Weights load with the first request, or by `load`."""

    batch_size = 1
    batch_limit = 1

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: LoadOptions,
        identity: Identity,
        adapter: CodeAdapter,
        images: str,
        max_new_tokens: int | None = None,
    ) -> None:
        """`images` is the option of this name: `native`, or `first` only."""
        self.identity = identity
        self.capabilities = Capabilities(
            many_images=images == "native" and adapter.max_images != 1,
            interleaved=images == "native" and adapter.max_images != 1,
        )
        self.max_new_tokens = max_new_tokens
        self.route_remark = f"asked by the checkpoint's own code ({adapter.title})"
        self._checkpoint = checkpoint
        self._options = options
        self._adapter = adapter
        self._images = images
        self._image_cache = ImageCache()
        self._own: OwnCode | None = None
        self._load_error: UsageError | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the results should know about their computation."""
        return (self.route_remark,)

    def load(self) -> OwnCode:
        """Load the checkpoint's code and weights, once. Raises UsageError."""
        if self._load_error is not None:
            raise self._load_error
        if self._own is None:
            try:
                self._own = _load(self._checkpoint, self._options, self._adapter)
            except UsageError as error:
                self._load_error = error
                raise
        return self._own

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests, each computed by itself."""
        use_threads(self.load().threads)
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        if not isinstance(request, Generate):
            return Failure("unsupported", "the checkpoint's own code generates replies; it neither ranks nor draws")
        started = time.perf_counter()
        try:
            messages = request.messages if self._images == "native" else first_image(request.messages)
            media = [part for message in messages for part in message.media()]
            if any(part.kind != "image" for part in media):
                raise Unsupported("the model's code is given pictures and text alone")
            images = [self._image_cache.get(part.digest, request.media) for part in media]
        except MediaError as error:
            return Failure("media", str(error))
        except Unsupported as error:
            return Failure("unsupported", str(error))
        output = split_and_retry([request], lambda batch: [self._ask(batch[0], messages, images)])[0]
        if not isinstance(output, Generated):
            return output
        seconds = round(time.perf_counter() - started, 6)
        output = msgspec.structs.replace(output, seconds=seconds)
        return without_thoughts(output) if self._options.split_thoughts else output

    def _ask(self, request: Generate, messages: Any, images: Sequence[Any]) -> Generated:
        import torch

        own, adapter, settings = self.load(), self._adapter, request.settings
        if settings.logprobs:
            raise Unsupported("the checkpoint's own code gives no log-probabilities")
        conversation = read_turns(messages, images, adapter)
        # Before each reply, so that the other requests cannot change it.
        torch.manual_seed(int.from_bytes(hashlib.sha256(request_digest(request, "")).digest()[:7]))
        reply = ask_own_code(own, adapter, conversation, settings)
        tokens = count_tokens(own, reply)
        return _as_generated(reply, tokens, settings.stop, settings.max_new_tokens)


def _as_generated(reply: str, tokens: int, stop: Sequence[str], longest: int) -> Generated:
    """A reply of the checkpoint's code, cut at the stop strings. It ended by its length if it has
    as many tokens as were allowed."""
    text = end_before(reply, stop)
    reason: StopReason = "length" if tokens >= longest and text == reply else "stop"
    return Generated(text.strip(), reason, usage=Usage(completion_tokens=tokens))


def _load(checkpoint: Checkpoint, options: LoadOptions, adapter: CodeAdapter) -> OwnCode:
    """Load tokenizer, processor and weights by the checkpoint's code. Raises UsageError."""
    import transformers

    device = choose_device(options.device)
    folder = checkpoint.fetch()
    with silence_library():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
            processor = (
                getattr(transformers, adapter.processor).from_pretrained(folder, trust_remote_code=True)
                if adapter.processor
                else None
            )
        except _LOAD_ERRORS as error:
            raise UsageError(
                f"the own code of {checkpoint.name} cannot be loaded with transformers "
                f"{transformers.__version__}: {first_line(error)}"
            ) from error
        model = load_weights(checkpoint, options, folder, device, adapter.loads)
    if is_placed(options):
        device = str(model.device)
    threads = thread_count(model, options, device)
    own = OwnCode(model, tokenizer, processor, device, threads, options.thinking)
    set_attributes(own, adapter)
    _try_once(own, checkpoint, adapter)
    return own


def _try_once(own: OwnCode, checkpoint: Checkpoint, adapter: CodeAdapter) -> None:
    """Ask for one token, so that code which does not run with the installed transformers fails
    before a thousand questions do. Raises UsageError."""
    try:
        with silence_library():
            ask_for_one_token(own, adapter)
    except MODEL_ERRORS as error:
        type = config_type(checkpoint.config)
        raise own_code_fails(checkpoint.name, type, first_line(error)) from error


def open_own_code(
    checkpoint: Checkpoint, options: LoadOptions, provider: str, adapter_name: str, values: Mapping[str, str]
) -> OwnCodeModel:
    """The model of a checkpoint that an adapter asks, with checked option values.

    Raises UsageError for an option that this way does not have.
    """
    adapter = code_adapters()[adapter_name]
    images = values.get("images", "first" if adapter.max_images == 1 else "native")
    if images not in ("native", "first"):
        raise UsageError(f"images={images} is not for checkpoints that are asked by their own code")
    facts = identity_facts(checkpoint, options, images)
    facts = {**facts, "asked_by": f"{adapter_name} {adapter.digest}", "images": images}
    return OwnCodeModel(
        checkpoint,
        options,
        Identity(provider, checkpoint.name, facts),
        adapter,
        images,
        int(values["max_new_tokens"]) if "max_new_tokens" in values else None,
    )
