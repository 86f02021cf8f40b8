"""`vllm-local/<hub id or folder>`: a checkpoint that vLLM's engine answers in this process."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import Source
from snellen.core.model import Identity, ModelDefaults, RenderedPrompt
from snellen.core.output import CandidateScore, Failure, FailureKind, Generated, Output, Ranked, StopReason, Usage
from snellen.core.request import Generate, Generation, Media, Message, Rank, Request, Text
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.generate import decode_text
from snellen.models.hf.logprobs import ranking_output
from snellen.models.hf.prompt import GRID
from snellen.models.image_cache import ImageCache
from snellen.models.image_policy import first_image
from snellen.models.reasoning import end_before, opens_thought, without_thoughts
from snellen.models.split_batch import MODEL_ERRORS, Unsupported, failure_from_error
from snellen.models.video_frames import load_frames
from snellen.models.vllm_local.engine import EngineThread, device_bytes, find_device, start_engine
from snellen.models.vllm_local.options import NAME, VllmOptions
from snellen.models.vllm_local.prompt import (
    chat_params,
    check_candidates,
    conversation,
    generation_params,
    image_part,
    put_in_videos,
    scoring_params,
    video_part,
)

if TYPE_CHECKING:
    from vllm import RequestOutput


T = TypeVar("T")

_TAIL_TOKENS = 24
"""Tokens at the end of a prompt among which the opening tag of a thought is looked for."""


class ImageSizes(NamedTuple):
    """Width and height of an image, and those at which the model sees it."""

    size: tuple[int, int]
    seen: tuple[int, int]


class VllmLocal(ModelDefaults):
    """A checkpoint that vLLM answers in this process. All requests in flight are with its engine,
    which batches them token by token. Weights load on the first, or by `load`."""

    first_timeout = 3600.0

    def __init__(self, checkpoint: Checkpoint, options: VllmOptions, identity: Identity) -> None:
        self.identity = identity
        self.capabilities = checkpoint.capabilities(options.images)
        self.concurrency = options.concurrency
        self.max_new_tokens = options.max_new_tokens
        self._checkpoint = checkpoint
        self._options = options
        self._thread: EngineThread | None = None
        self._load_error: UsageError | None = None
        self._load_lock = threading.Lock()
        self._images = ImageCache()
        self._sizes: dict[str, ImageSizes] = {}
        """By digest: vLLM's cache gives the grid of an image once."""
        # One thread: the cache is not for several. It decodes while the engine computes.
        self._decoder = ThreadPoolExecutor(1, "snellen-images")
        self._ids = itertools.count()

    async def check(self) -> None:
        """Raises UsageError without a GPU, or if the weights cannot fit."""
        await asyncio.to_thread(self._check_device, self._checkpoint.source)

    def _check_device(self, folder: str) -> str:
        """The kind of device, for weights in a folder or on their way there. Raises UsageError."""
        name = f"{NAME}/{self._checkpoint.name}"
        device = find_device(name)
        check_fit(name, _weight_bytes(folder), device_bytes(), device, self._options)
        return device

    def load(self) -> EngineThread:
        """Start the engine, once. Raises UsageError, again on every further call."""
        with self._load_lock:
            if self._load_error is not None:
                raise self._load_error
            if self._thread is None:
                try:
                    folder = self._checkpoint.fetch()
                    device = self._check_device(folder)
                    arguments = self._options.engine_arguments(folder, device == "cpu")
                    self._thread = start_engine(f"{NAME}/{self._checkpoint.name}", arguments)
                except UsageError as error:
                    self._load_error = error
                    raise
            return self._thread

    def close_engine(self) -> None:
        """End the engine's processes; a further request starts them again."""
        with self._load_lock:
            if self._thread is not None:
                self._thread.close()
                self._thread = None

    async def answer(self, request: Request) -> Output:
        """The output of one request; as many as `concurrency` may be awaited at once."""
        if not isinstance(request, Generate | Rank):
            return Failure("unsupported", "vLLM gives text; it neither draws nor compares images")
        thread = self._thread
        if thread is None:
            thread = await asyncio.to_thread(self.load)
        started = time.perf_counter()
        output = await thread.submit(self._answer(thread, request))
        if not isinstance(output, Generated | Ranked):
            return output
        seconds = round(time.perf_counter() - started, 6)
        return msgspec.structs.replace(output, seconds=seconds)

    async def render_prompt(self, request: Request) -> RenderedPrompt | None:
        """The prompt after the chat template, as vLLM reads it, and the images' sizes."""
        if not isinstance(request, Generate | Rank):
            return None
        thread = await asyncio.to_thread(self.load)
        return await thread.submit(self._render_text(thread, request))

    async def _render_text(self, thread: EngineThread, request: Generate | Rank) -> RenderedPrompt:
        messages = self._messages_of(request)
        images = [
            await self._decode(self._images.get, part, request)
            for message in messages
            for part in message.media()
            if part.kind == "image"
        ]
        prompt = await self._render(thread, request, messages, cached=False)
        text = thread.engine.get_tokenizer().decode(list(prompt["prompt_token_ids"]))
        return RenderedPrompt(str(text), tuple(image.size for image in images))

    async def _answer(self, thread: EngineThread, request: Generate | Rank) -> Output:
        """Runs beside the engine."""
        try:
            if isinstance(request, Generate):
                return await self._generate(thread, request)
            return await self._rank(thread, request)
        except MediaError as error:
            return Failure("media", str(error))
        except MODEL_ERRORS as error:
            return _failure(error)
        except Exception as error:
            if not type(error).__module__.startswith("vllm"):
                raise
            return _failure(error)

    async def _generate(self, thread: EngineThread, request: Generate) -> Output:
        messages = self._messages_of(request)
        result = await self._run(thread, request, messages, generation_params(request))
        tokenizer = thread.engine.get_tokenizer()
        reply = read_reply(result, request.settings, tokenizer)
        if isinstance(reply, Generated) and (sizes := self._seen_sizes(messages)):
            reply = msgspec.structs.replace(reply, image_sizes=sizes)
        if not self._options.split_thoughts:
            return reply
        tail = tokenizer.decode(list(result.prompt_token_ids or ())[-_TAIL_TOKENS:])
        return without_thoughts(reply, opens_thought(tail))

    async def _rank(self, thread: EngineThread, request: Rank) -> Output:
        """Score every candidate after the context, all at once. Each is tokenised together with the
        context and scored from the end of the token prefix that all of them share."""
        if not request.candidates:
            raise Unsupported("a ranking request without candidates")
        messages = self._messages_of(request)
        context = await self._render(thread, request, messages, cached=False)
        results = await asyncio.gather(
            *(
                self._run(
                    thread, request, (*messages, Message("assistant", (Text(text),))), scoring_params(), continues=True
                )
                for text in request.candidates
            )
        )
        rows = [list(result.prompt_token_ids or ()) for result in results]
        start = check_candidates(list(context["prompt_token_ids"]), rows)
        scores: list[CandidateScore] = []
        for result in results:
            score = read_score(result, start)
            if isinstance(score, Failure):
                return score
            scores.append(score)
        output = ranking_output(request, scores, start)
        if isinstance(output, Ranked):
            total = sum(map(read_usage, results), Usage())
            return msgspec.structs.replace(output, usage=total)
        return output

    async def _run(
        self,
        thread: EngineThread,
        request: Generate | Rank,
        messages: Sequence[Message],
        params: Any,
        *,
        continues: bool = False,
    ) -> Any:
        """The last output of the engine for one prompt.

        vLLM keeps processed media in this process and, by their order, in the engine's. A request
        that overtakes the one that brings its media ends in an error and is sent again with them.
        """
        result = None
        for cached in (True, False):
            prompt = await self._render(thread, request, messages, continues=continues, cached=cached)
            name = f"snellen-{next(self._ids)}"
            results = [result async for result in thread.engine.generate(prompt, params, name)]
            result = results[-1]
            if result.outputs[0].finish_reason != "error":
                break
        return result

    async def _render(
        self,
        thread: EngineThread,
        request: Generate | Rank,
        messages: Sequence[Message],
        *,
        continues: bool = False,
        cached: bool = True,
    ) -> Any:
        """The prompt of messages as the engine takes it: token ids and processed media, which come
        from vLLM's cache and go there if `cached`. Without that the prompt need not be run."""
        parts = [part for message in messages for part in message.media()]
        for part in parts:
            if part.kind != "image" and not (part.kind == "video" and self.capabilities.clips):
                raise Unsupported(f"the model takes no {part.kind} input")
        images = {
            part.digest: await self._decode(self._images.get, part, request) for part in parts if part.kind == "image"
        }
        videos = [await self._decode(load_frames, part, request) for part in parts if part.kind == "video"]

        def load(part: Media) -> dict[str, Any]:
            if part.kind == "video":
                return video_part(part.digest)
            return image_part(images[part.digest], part.digest)

        params = chat_params(self._options.template_values, continues=continues)
        renderer = thread.engine.renderer
        _, prompt = await renderer.render_messages_async(conversation(messages, load), params)
        put_in_videos(prompt, videos)
        # What `render_chat_async` of vLLM does after the chat template.
        limits = renderer.default_chat_tok_params
        (tokenised,) = await renderer.tokenize_prompts_async([prompt], limits)
        processed = await renderer.process_for_engine_async(
            tokenised, time.time(), skip_mm_cache=not cached, tok_params=limits
        )
        if images:
            self._note_sizes(
                thread, processed, [(part.digest, images[part.digest]) for part in parts if part.digest in images]
            )
        return processed

    def _note_sizes(self, thread: EngineThread, processed: Any, images: Sequence[tuple[str, Any]]) -> None:
        """Remember the size of each image in the patches that vLLM's processor made of it."""
        vision = getattr(thread.engine.model_config.hf_config, "vision_config", None)
        patch = getattr(vision, "patch_size", None)
        grids = read_grids(processed)
        if not isinstance(patch, int) or len(grids) != len(images):
            return
        for (digest, image), grid in zip(images, grids, strict=True):
            if grid is not None:
                self._sizes[digest] = ImageSizes(image.size, (grid[1] * patch, grid[0] * patch))

    def _seen_sizes(self, messages: Sequence[Message]) -> tuple[tuple[int, int], ...]:
        """Width and height at which the model sees each image; empty if these are the images' own, or
        unknown."""
        digests = [part.digest for message in messages for part in message.media() if part.kind == "image"]
        seen = [self._sizes[digest] for digest in digests if digest in self._sizes]
        if len(seen) < len(digests) or all(image.size == image.seen for image in seen):
            return ()
        return tuple(image.seen for image in seen)

    async def _decode(
        self, decode: Callable[[str, Mapping[str, Source]], T], part: Media, request: Generate | Rank
    ) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._decoder, decode, part.digest, request.media)

    def _messages_of(self, request: Generate | Rank) -> Sequence[Message]:
        if self._options.images == "first":
            return first_image(request.messages)
        return tuple(request.messages)


def _failure(error: Exception) -> Failure:
    failure = failure_from_error(error)
    if failure.kind != "request":
        return failure
    return Failure(failure_kind(failure.message), failure.message)


def _weight_bytes(folder: str) -> int:
    """Bytes of the weights' files in a folder; 0 if they are not there yet."""
    return sum(file.stat().st_size for file in Path(folder).glob("*.safetensors"))


def check_fit(name: str, weight_bytes: int, device_memory: int, device: str, options: VllmOptions) -> None:
    """Raise UsageError for weights that exceed the memory that vLLM may take. Bytes that are
    unknown are 0."""
    if options.quantisation is not None or not weight_bytes or not device_memory:
        return
    share = 1.0 if device == "cpu" else options.gpu_memory
    room = device_memory * share * options.tensor_parallel
    if weight_bytes <= room:
        return
    kind = "memory" if device == "cpu" else "GPU memory"
    raise UsageError(
        f"{name}: its weights take {weight_bytes / 1e9:.1f} GB, and vLLM may take "
        f"{room / 1e9:.1f} GB of {kind} (tensor_parallel={options.tensor_parallel}); "
        "take more GPUs (tensor_parallel=), quantisation=fp8, or a smaller model"
    )


_TOO_LONG = ("max_model_len", "maximum context length", "maximum model length", "longer than the")


def read_reply(result: RequestOutput, settings: Generation, tokenizer: Any) -> Generated | Failure:
    """The reply of a request for text, decoded as those of `hf/` models are."""
    completion = result.outputs[0]
    if completion.finish_reason not in ("stop", "length"):
        return Failure("request", f"vLLM ended the reply early: {completion.finish_reason}")
    reason: StopReason = "length" if completion.finish_reason == "length" else "stop"
    text = end_before(decode_text(tokenizer, list(completion.token_ids)), settings.stop)
    return Generated(
        text.strip(),
        reason,
        usage=read_usage(result),
        first_logprobs=_first_logprobs(completion.logprobs, settings.logprobs, tokenizer),
    )


def read_grids(processed: Any) -> list[tuple[int, int] | None]:
    """Rows and columns of patches of each image of a processed prompt; None for an image that the
    engine has already. Empty for processors that make no such grid."""
    items = (processed.get("mm_kwargs") or {}).get("image") or ()
    if any(item is not None and GRID not in item for item in items):
        return []
    grids = (None if item is None else item[GRID].data.tolist() for item in items)
    return [None if grid is None else (grid[-2], grid[-1]) for grid in grids]


def read_usage(result: RequestOutput) -> Usage:
    """Tokens of a request, those of images in the prompt included."""
    return Usage(
        len(result.prompt_token_ids or ()),
        len(result.outputs[0].token_ids),
        cached_tokens=result.num_cached_tokens or 0,
    )


def read_score(result: RequestOutput, start: int) -> CandidateScore | Failure:
    """Sum of the log-probabilities of a prompt's tokens from `start` on."""
    tokens, entries = result.prompt_token_ids, result.prompt_logprobs
    if tokens is None or entries is None or len(entries) != len(tokens):
        return Failure("request", "vLLM gave no log-probabilities of the prompt")
    values = []
    for token, entry in zip(tokens[start:], entries[start:], strict=True):
        if entry is None or token not in entry:
            return Failure("request", "vLLM gave no log-probability of a candidate's token")
        values.append(entry[token].logprob)
    return CandidateScore(float(sum(values)), len(values))


def _first_logprobs(positions: Any, count: int, tokenizer: Any) -> dict[str, float]:
    """The `count` likeliest first tokens. vLLM adds the generated one, if it is not among them."""
    if not count or not positions:
        return {}
    ranked = sorted(positions[0].items(), key=lambda item: item[1].rank or 0)
    return {tokenizer.decode([token]): float(one.logprob) for token, one in ranked[:count]}


def failure_kind(message: str) -> FailureKind:
    """The kind of failure that an error of vLLM's is, by its message."""
    lower = message.lower()
    return "too_long" if any(sign in lower for sign in _TOO_LONG) else "request"
