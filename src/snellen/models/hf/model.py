"""`hf/<hub id or folder>`: image-text-to-text and text models of transformers, in this process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import pixel_digest
from snellen.core.model import Capabilities, Identity, Model, ModelDefaults, RenderedPrompt
from snellen.core.output import Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Generate, Rank, Request
from snellen.models.hf.batch_size import MAX_GROWTH, BatchSizer, BatchSizers
from snellen.models.hf.checkpoint import DRAWING_OPTION_TYPES, Checkpoint, find_checkpoint
from snellen.models.hf.drawing import draw
from snellen.models.hf.drawing_rows import draw_rows
from snellen.models.hf.generate import RenderedRequest, batch_settings, generate_unshared
from snellen.models.hf.loaded import LoadedModel, LoadOptions
from snellen.models.hf.loading import check_prompt_files, load_checkpoint, require, use_threads
from snellen.models.hf.logprobs import RenderedRank, rank_unshared
from snellen.models.hf.memory import memory_meter
from snellen.models.hf.options import (
    DEFAULT_BATCH_SIZE,
    MODELS,
    OPTIONS,
    identity_facts,
    optional_int,
    read_load_options,
)
from snellen.models.hf.own_code.model import open_own_code
from snellen.models.hf.prefetch import PromptPrefetcher
from snellen.models.hf.prompt import render, starts_in_thought
from snellen.models.hf.routing import adapter_of, destination
from snellen.models.hf.shared_generation import SharedGeneration
from snellen.models.hf.tokenise import PrefixSharingUnsupported, TokenisedPrompt
from snellen.models.image_cache import ImageCache
from snellen.models.naming.provider import Provider, read_options
from snellen.models.reasoning import without_thoughts
from snellen.models.split_batch import MODEL_ERRORS, Unsupported, split_and_retry

__all__ = ["OPTIONS", "PROVIDER", "HuggingFace", "open_checkpoint", "open_hf"]


class HuggingFace(ModelDefaults):
    """A checkpoint that answers batches of requests. Weights load on the first, or by `load`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        load_options: LoadOptions,
        identity: Identity,
        values: Mapping[str, str],
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """`values` are checked options as text. Batches start at `batch_size` requests, and grow
        when larger ones fit into memory and are faster, unless the option fixes their size."""
        self.identity = identity
        self._images = values.get("images", "native")
        self.capabilities = checkpoint.capabilities(self._images)
        self._initial_batch_size = int(values.get("batch_size", batch_size))
        self.batch_limit = self._initial_batch_size * (1 if "batch_size" in values else MAX_GROWTH)
        """Maximum number of requests in a batch, however much memory there is."""
        self.max_new_tokens = optional_int(values, "max_new_tokens")
        self._checkpoint = checkpoint
        self.load_options = load_options
        self._share_prefixes = values.get("sharing") != "off"
        self._sizers: BatchSizers | None = None
        self._shared_generation: SharedGeneration | None = None
        self._prefetcher: PromptPrefetcher | None = None
        self._image_cache = ImageCache()
        self._loaded: LoadedModel | None = None
        self._load_error: UsageError | None = None
        self._starts_in_thought: bool | None = None

    def load(self) -> LoadedModel:
        """Load processor and weights, once.

        Raises UsageError and MissingExtra; a UsageError again on every further call.
        """
        if self._load_error is not None:
            raise self._load_error
        if self._loaded is None:
            try:
                self.adopt(load_checkpoint(self._checkpoint, self.load_options))
            except UsageError as error:
                self._load_error = error
                raise
        assert self._loaded is not None
        return self._loaded

    def adopt(self, loaded: LoadedModel) -> None:
        """Use weights that were loaded elsewhere, or changed since."""
        self._loaded = loaded
        meter = memory_meter(str(weight.device) for weight in loaded.model.parameters())
        self._sizers = BatchSizers(
            *(BatchSizer(self._initial_batch_size, self.batch_limit, meter) for _ in BatchSizers._fields)
        )
        if self._share_prefixes:
            self._shared_generation = SharedGeneration(loaded, self._sizers)
            depth = max(4 * self._initial_batch_size, 2 * self.batch_limit)
            self._prefetcher = PromptPrefetcher(loaded, self._images, depth)

    @property
    def batch_size(self) -> int:
        """Requests that a batch may have at present."""
        if not self._sizers:
            return self._initial_batch_size
        return max(sizer.size for sizer in self._sizers)

    @property
    def largest_batch(self) -> int:
        """Prompts of the largest batch so far; 0 before the first."""
        return max(sizer.largest for sizer in self._sizers) if self._sizers else 0

    @property
    def images(self) -> str:
        """How several images are passed: `native`, `first` only, or `concat-embeddings`."""
        return self._images

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the results should know about their computation."""
        reason = self._shared_generation.disabled_reason if self._shared_generation else None
        sharing = f"shared prefixes were computed for each prompt: {reason}" if reason else ""
        return tuple(filter(None, (self.route_remark, sharing)))

    async def render_prompt(self, request: Request) -> RenderedPrompt | None:
        """The prompt after the chat template, and the images before the processor."""
        if isinstance(request, Compare):
            return None
        prompt = render(request, self.load(), self._image_cache, self._images)
        pixels = tuple(map(pixel_digest, prompt.images))
        return RenderedPrompt(prompt.text, tuple(image.size for image in prompt.images), pixels)

    def prepare(self, request: Request) -> None:
        """Tokenise a request that will be due soon, while the model is busy with others."""
        if self._prefetcher is not None and isinstance(request, Generate | Rank):
            self._prefetcher.start(request)

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests; a request that fails does not affect the others."""
        loaded = self.load()
        use_threads(loaded.threads)
        outputs: dict[int, Output] = {}
        text_requests: dict[int, Generate | Rank] = {}
        for index, request in enumerate(requests):
            if isinstance(request, Compare):
                outputs[index] = Failure("unsupported", "the model does not compare images")
            elif isinstance(request, Draw):
                outputs[index] = self._draw(loaded, request)
            else:
                text_requests[index] = request
        if self._shared_generation is not None and self._shared_generation.disabled_reason is None:
            outputs |= self._answer_shared(self._shared_generation, text_requests)
        # Whatever cannot share prefixes is computed prompt by prompt.
        unanswered = {index: request for index, request in text_requests.items() if index not in outputs}
        outputs |= self._answer_unshared(loaded, unanswered)
        ordered = [outputs[index] for index in range(len(requests))]
        if not self.load_options.split_thoughts:
            return ordered
        if self._starts_in_thought is None:
            self._starts_in_thought = starts_in_thought(loaded)
        return [without_thoughts(output, self._starts_in_thought) for output in ordered]

    def _answer_shared(
        self, shared_generation: SharedGeneration, requests: Mapping[int, Generate | Rank]
    ) -> dict[int, Output]:
        """Outputs by index, computed with shared prefixes; without those that cannot be."""
        assert self._prefetcher is not None
        outputs: dict[int, Output] = {}
        rows: dict[int, list[TokenisedPrompt]] = {}
        for index, request in requests.items():
            try:
                tokenised = self._prefetcher.get(request)
                if shared_generation.supports(request, tokenised):
                    rows[index] = tokenised
            except MediaError as error:
                outputs[index] = Failure("media", str(error))
            except PrefixSharingUnsupported as error:
                shared_generation.disabled_reason = str(error)
            except MODEL_ERRORS:
                continue  # answered unshared, where it works or becomes a failure
        if not shared_generation.verify([row for request_rows in rows.values() for row in request_rows]):
            if shared_generation.disabled_reason is not None:
                self._prefetcher = None
            return outputs
        # Rows of one batch need equal settings and the same inputs; rankings have no settings.
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for index, request_rows in rows.items():
            request = requests[index]
            settings = batch_settings(request.settings) if isinstance(request, Generate) else None
            groups[settings, frozenset(request_rows[0].token_type_inputs)].append(index)
        for indices in groups.values():
            started = time.perf_counter()
            answers = _answer_group(shared_generation, [(requests[index], rows[index]) for index in indices])
            seconds = (time.perf_counter() - started) / len(indices)
            outputs |= {index: _with_seconds(output, seconds) for index, output in zip(indices, answers, strict=True)}
        return outputs

    def _answer_unshared(self, loaded: LoadedModel, requests: Mapping[int, Generate | Rank]) -> dict[int, Output]:
        """Outputs by index, each prompt computed from its first token."""
        outputs: dict[int, Output] = {}
        # Some families mix up prompts with different numbers of images or videos.
        groups: dict[Hashable, list[tuple[int, RenderedRequest]]] = defaultdict(list)
        rankings: dict[Hashable, list[tuple[int, RenderedRank]]] = defaultdict(list)
        for index, request in requests.items():
            try:
                prompt = render(request, loaded, self._image_cache, self._images)
            except MediaError as error:
                outputs[index] = Failure("media", str(error))
            except Unsupported as error:
                outputs[index] = Failure("unsupported", str(error))
            else:
                counts = prompt.media_counts()
                if isinstance(request, Generate):
                    key = (batch_settings(request.settings), counts)
                    groups[key].append((index, RenderedRequest(request, prompt)))
                else:
                    rankings[counts].append((index, RenderedRank(request, prompt)))
        for group in groups.values():
            outputs |= self._generate_group(loaded, group)
        for rank_group in rankings.values():
            outputs |= self._rank_group(loaded, rank_group)
        return outputs

    def _generate_group(self, loaded: LoadedModel, group: Sequence[tuple[int, RenderedRequest]]) -> dict[int, Output]:
        """Replies to prompts with equal settings by index, each with its part of the time."""
        assert self._sizers is not None
        outputs: list[Output] = []
        rendered = [request for _, request in group]
        for _, replies, seconds in generate_unshared(loaded, rendered, self._sizers.replies):
            outputs += [_with_seconds(reply, seconds / len(replies)) for reply in replies]
        return {index: output for (index, _), output in zip(group, outputs, strict=True)}

    def _rank_group(self, loaded: LoadedModel, group: Sequence[tuple[int, RenderedRank]]) -> dict[int, Output]:
        """Rankings by index, each with its part of the time."""
        assert self._sizers is not None
        rendered = [request for _, request in group]
        ranked = rank_unshared(loaded, rendered, self._images, self._sizers.candidates)
        return {
            index: _with_seconds(output, seconds) for (index, _), (output, seconds) in zip(group, ranked, strict=True)
        }

    def _draw(self, loaded: LoadedModel, request: Draw) -> Output:
        if "image" not in self.capabilities.outputs:
            return Failure("unsupported", "the model draws no pictures")
        try:
            prompt = render(request, loaded, self._image_cache, self._images)
        except MediaError as error:
            return Failure("media", str(error))
        except Unsupported as error:
            return Failure("unsupported", str(error))
        started = time.perf_counter()
        by_rows = loaded.model.config.model_type in DRAWING_OPTION_TYPES

        def draw_one(batch: Sequence[Draw]) -> list[Drawn]:
            (one,) = batch
            return [draw_rows(loaded, one) if by_rows else draw(loaded, one, prompt)]

        drawn = split_and_retry([request], draw_one)
        return _with_seconds(drawn[0], time.perf_counter() - started)


def _answer_group(
    shared_generation: SharedGeneration, requests: Sequence[tuple[Generate | Rank, list[TokenisedPrompt]]]
) -> Sequence[Output]:
    """Outputs of requests that are all generations with equal settings, or all rankings."""
    generations = [(request, rows[0]) for request, rows in requests if isinstance(request, Generate)]
    if generations:
        return shared_generation.generate(generations, generations[0][0].settings)
    return shared_generation.rank([(request, rows) for request, rows in requests if isinstance(request, Rank)])


def _with_seconds(output: Output, seconds: float) -> Output:
    if isinstance(output, Generated | Ranked | Drawn):
        return msgspec.structs.replace(output, seconds=round(seconds, 6))
    return output


def open_hf(name: str, options: Mapping[str, str]) -> Model:
    """Open `hf/<name>`. Raises UsageError (name, folder, option) and MissingExtra."""
    if not name:
        raise UsageError("hf needs a model: hf/<hub id> or hf/<folder>")
    values = read_options("hf", options, OPTIONS)
    require(f"hf/{name}", "torch", "transformers")
    target = destination(name, values)
    checkpoint = find_checkpoint(target.name, target.values.get("revision"))
    adapter = adapter_of(checkpoint, target.values)
    model = open_checkpoint(checkpoint, "hf", checkpoint.name, target.values)
    if adapter is not None:
        return open_own_code(checkpoint, model.load_options, "hf", adapter, target.values)
    check_prompt_files(checkpoint, model.load_options)
    model.route_remark = target.remark
    return model


def open_checkpoint(
    checkpoint: Checkpoint, provider: str, name: str, values: Mapping[str, str], batch_size: int = DEFAULT_BATCH_SIZE
) -> HuggingFace:
    """The model of a checkpoint under a provider's name, with checked option values. `batch_size` is
    the initial one without the option."""
    load_options = read_load_options(checkpoint, values)
    facts = identity_facts(checkpoint, load_options, values.get("images", "native"))
    model = HuggingFace(checkpoint, load_options, Identity(provider, name, facts), values, batch_size)
    if values.get("draws") == "yes":
        model.capabilities = _drawing_capabilities(checkpoint, model.capabilities)
    return model


def _drawing_capabilities(checkpoint: Checkpoint, plain: Capabilities) -> Capabilities:
    """With images as outputs. Raises UsageError for a checkpoint that is not drawn with so."""
    model_type = str(checkpoint.config.get("model_type"))
    if model_type not in DRAWING_OPTION_TYPES:
        raise UsageError(
            f"option draws=yes: {checkpoint.name} is of the type {model_type}, expected "
            f"{' or '.join(sorted(DRAWING_OPTION_TYPES))}; a Janus draws without it, and "
            "join:text=...,draw=... joins a model with one that draws"
        )
    return msgspec.structs.replace(plain, outputs=plain.outputs | {"image"})


PROVIDER = Provider(name="hf", open=open_hf, options=OPTIONS, models=MODELS)
