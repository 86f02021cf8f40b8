"""`hf/<hub id or folder>`: any transformers image-text-to-text or text model, by chat template."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.core.model import Identity, Model, Rendered
from snellen.core.output import Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Generate, Rank, Request
from snellen.models.hf.batch_size import GROWTH, Sizes, Sizing
from snellen.models.hf.checkpoint import Checkpoint, find_checkpoint
from snellen.models.hf.drawing import draw
from snellen.models.hf.generate import Asked, alike, apart
from snellen.models.hf.loaded import Loaded, Loading
from snellen.models.hf.loading import choose_device, load_checkpoint, require
from snellen.models.hf.logprobs import rank
from snellen.models.hf.memory import meter_of
from snellen.models.hf.options import BATCH_SIZE, KNOWN, OPTIONS, facts_of
from snellen.models.hf.placement import find_adapter
from snellen.models.hf.prefetch import Preparing
from snellen.models.hf.prompt import Prompt, render, thinks_at_once
from snellen.models.hf.shared_generation import Answering
from snellen.models.hf.tokenise import Row, Unsharable
from snellen.models.image_cache import PictureCache
from snellen.models.naming.provider import read_options
from snellen.models.reasoning import without_thoughts
from snellen.models.split_batch import MODEL_ERRORS, Unsupported, halving

__all__ = ["KNOWN", "OPTIONS", "HuggingFace", "open_checkpoint", "provider"]


class HuggingFace:
    """A checkpoint behind the batch protocol. Weights load on the first batch, or by `load`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        how: Loading,
        identity: Identity,
        batch_size: int,
        fixed: bool,
        images: str,
        sharing: bool,
        max_new_tokens: int | None = None,
    ) -> None:
        """Batches hold `batch_size` requests at first and, where that is not `fixed`, more once it
        is seen that more fit and are faster."""
        self.identity = identity
        self.capabilities = checkpoint.capabilities(images)
        self.batch_limit = batch_size if fixed else GROWTH * batch_size
        """Requests that are never exceeded in a batch, however much memory there is."""
        self.max_new_tokens = max_new_tokens
        self._checkpoint = checkpoint
        self._how = how
        self._images = images
        self._first = batch_size
        self._sharing = sharing
        self._sizes: Sizes | None = None
        self._answering: Answering | None = None
        self._preparing: Preparing | None = None
        self._pictures = PictureCache()
        self._loaded: Loaded | None = None
        self._broken: UsageError | None = None
        self._thinks_at_once: bool | None = None

    def load(self) -> Loaded:
        """Loads processor and weights once, or says once more why they cannot be loaded.

        Raises UsageError and MissingExtra."""
        if self._broken is not None:
            raise self._broken
        if self._loaded is None:
            try:
                self.adopt(load_checkpoint(self._checkpoint, self._how))
            except UsageError as error:
                self._broken = error
                raise
        assert self._loaded is not None
        return self._loaded

    def adopt(self, loaded: Loaded) -> None:
        """Take weights that were loaded elsewhere, or changed since."""
        self._loaded = loaded
        meter = meter_of(str(weight.device) for weight in loaded.model.parameters())
        self._sizes = Sizes(*(Sizing(self._first, self.batch_limit, meter) for _ in Sizes._fields))
        if self._sharing:
            self._answering = Answering(loaded, self._sizes)
            depth = max(4 * self._first, 2 * self.batch_limit)
            self._preparing = Preparing(loaded, self._images, depth)

    @property
    def batch_size(self) -> int:
        """Requests that a batch may hold, as far as is known by now."""
        return max(size.size for size in self._sizes) if self._sizes else self._first

    @property
    def largest_batch(self) -> int:
        """Prompts of the largest batch that was computed; 0 before the first."""
        return max(size.largest for size in self._sizes) if self._sizes else 0

    @property
    def images(self) -> str:
        """`native`, or `first`: only the first image is shown."""
        return self._images

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the results should know about how they were computed."""
        fault = self._answering.fault if self._answering else None
        return (f"what prompts share was computed for each: {fault}",) if fault else ()

    async def rendered(self, request: Request) -> Rendered | None:
        """The prompt after the chat template, and the pictures' sizes before the processor."""
        if isinstance(request, Compare):
            return None
        prompt = render(request, self.load(), self._pictures, self._images)
        return Rendered(prompt.text, tuple(picture.size for picture in prompt.images))

    def prepare(self, request: Request) -> None:
        """Start on a request that will be asked soon, while the model is busy with others."""
        if self._preparing is not None and isinstance(request, Generate | Rank):
            self._preparing.ahead(request)

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests; what fails, fails alone."""
        loaded = self.load()
        _use_threads(loaded.threads)
        outputs: dict[int, Output] = {}
        asked: dict[int, Generate | Rank] = {}
        for place, request in enumerate(requests):
            if isinstance(request, Compare):
                outputs[place] = Failure("unsupported", "the model does not compare pictures")
            elif isinstance(request, Draw):
                outputs[place] = self._drawn(loaded, request)
            else:
                asked[place] = request
        if self._answering is not None and self._answering.fault is None:
            outputs |= self._together(self._answering, asked)
        outputs |= self._apart(
            loaded, {place: one for place, one in asked.items() if place not in outputs}
        )
        told = [outputs[place] for place in range(len(requests))]
        if not self._how.split_thoughts:
            return told
        if self._thinks_at_once is None:
            self._thinks_at_once = thinks_at_once(loaded)
        return [without_thoughts(one, self._thinks_at_once) for one in told]

    def _together(
        self, answering: Answering, asked: Mapping[int, Generate | Rank]
    ) -> dict[int, Output]:
        """Outputs by place, computed with shared beginnings; what cannot be is left out."""
        assert self._preparing is not None
        outputs: dict[int, Output] = {}
        rows: dict[int, list[Row]] = {}
        for place, request in asked.items():
            try:
                made = self._preparing.rows(request)
                if answering.reaches(request, made):
                    rows[place] = made
            except MediaError as error:
                outputs[place] = Failure("media", str(error))
            except Unsharable as error:
                answering.fault = str(error)
            except MODEL_ERRORS:
                continue  # asked apart, where it works or its fault is named
        if not answering.trusted([row for several in rows.values() for row in several]):
            if answering.fault is not None:
                self._preparing = None
            return outputs
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for place, several in rows.items():
            request = asked[place]
            settings = alike(request.settings) if isinstance(request, Generate) else None
            groups[settings, frozenset(several[0].marks)].append(place)
        for places in groups.values():
            started = time.perf_counter()
            found = _answers(answering, [(asked[place], rows[place]) for place in places])
            share = (time.perf_counter() - started) / len(places)
            outputs |= {
                place: _timed(output, share) for place, output in zip(places, found, strict=True)
            }
        return outputs

    def _apart(self, loaded: Loaded, asked: Mapping[int, Generate | Rank]) -> dict[int, Output]:
        """Outputs by place, each prompt computed by itself from its first token."""
        outputs: dict[int, Output] = {}
        groups: dict[Hashable, list[tuple[int, Asked]]] = defaultdict(list)
        for place, request in asked.items():
            try:
                prompt = render(request, loaded, self._pictures, self._images)
            except MediaError as error:
                outputs[place] = Failure("media", str(error))
            except Unsupported as error:
                outputs[place] = Failure("unsupported", str(error))
            else:
                if isinstance(request, Generate):
                    # Some families mix up prompts with unlike numbers of pictures.
                    key = (alike(request.settings), len(prompt.images))
                    groups[key].append((place, Asked(request, prompt)))
                else:
                    outputs[place] = self._rank(loaded, request, prompt)
        for group in groups.values():
            outputs |= self._generated(loaded, group)
        return outputs

    def _generated(self, loaded: Loaded, group: Sequence[tuple[int, Asked]]) -> dict[int, Output]:
        """Replies to prompts of equal settings by place, each with its share of the time."""
        assert self._sizes is not None
        outputs: dict[int, Output] = {}
        for start, replies, seconds in apart(
            loaded, [one for _, one in group], self._sizes.replies
        ):
            places = [place for place, _ in group[start : start + len(replies)]]
            share = seconds / len(replies)
            outputs |= {place: _timed(reply, share)
                        for place, reply in zip(places, replies, strict=True)}  # fmt: skip
        return outputs

    def _rank(self, loaded: Loaded, request: Rank, prompt: Prompt) -> Output:
        assert self._sizes is not None
        at_once = self._sizes.candidates.size
        started = time.perf_counter()
        scored = halving(
            [request], lambda batch: [rank(loaded, batch[0], prompt, self._images, at_once)]
        )
        return _timed(scored[0], time.perf_counter() - started)

    def _drawn(self, loaded: Loaded, request: Draw) -> Output:
        if "image" not in self.capabilities.outputs:
            return Failure("unsupported", "the model draws no pictures")
        try:
            prompt = render(request, loaded, self._pictures, self._images)
        except MediaError as error:
            return Failure("media", str(error))
        except Unsupported as error:
            return Failure("unsupported", str(error))
        started = time.perf_counter()
        drawn = halving([request], lambda batch: [draw(loaded, batch[0], prompt)])
        return _timed(drawn[0], time.perf_counter() - started)


def _answers(
    answering: Answering, asked: Sequence[tuple[Generate | Rank, list[Row]]]
) -> Sequence[Output]:
    """Outputs of requests of one kind and, for generation, of the same settings."""
    generates = [(one, rows[0]) for one, rows in asked if isinstance(one, Generate)]
    if generates:
        return answering.generate(generates, generates[0][0].settings)
    return answering.rank([(one, rows) for one, rows in asked if isinstance(one, Rank)])


def _use_threads(count: int) -> None:
    """torch's setting is one for the whole process: each model sets its own before it works."""
    import torch

    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


def _timed(output: Output, seconds: float) -> Output:
    if isinstance(output, Generated | Ranked | Drawn):
        return msgspec.structs.replace(output, seconds=round(seconds, 6))
    return output


def provider(name: str, options: Mapping[str, str]) -> Model:
    """Open `hf/<name>`. Raises UsageError (name, folder, option) and MissingExtra."""
    if not name:
        raise UsageError("hf needs a model: hf/<hub id> or hf/<folder>")
    given = read_options("hf", options, OPTIONS)
    require(f"hf/{name}", "torch", "transformers")
    checkpoint = find_checkpoint(name, given.get("revision"))
    return open_checkpoint(checkpoint, "hf", checkpoint.name, given)


def open_checkpoint(
    checkpoint: Checkpoint,
    provider: str,
    name: str,
    given: Mapping[str, str],
    batch_size: int = BATCH_SIZE,
) -> HuggingFace:
    """The model of a checkpoint under a provider's name, options checked before; `batch_size` is
    where batches begin unless one is given.

    torch is imported only when the device decides something, so that a model whose dtype is given
    is identified in milliseconds.
    """
    if given.get("processor") == "torchvision":
        require("processor=torchvision", "torchvision")
    device = given.get("device", "auto")
    if device != "auto" or "dtype" not in given:
        device = choose_device(device)
    on_gpu = device.startswith("cuda")
    dtype = given.get("dtype", "bfloat16" if on_gpu else "float32")
    how = Loading(
        dtype=checkpoint.stored_dtype() if dtype == "auto" else dtype,
        device=device,
        attention=given.get("attention"),
        processor=given.get("processor", "pil"),
        remote_code=given.get("trust_remote_code") == "yes",
        split_thoughts=given.get("reasoning", "auto") == "auto",
        threads=int(given["threads"]) if "threads" in given else None,
        adapter=str(find_adapter(given["adapter"])) if "adapter" in given else None,
        quantisation=given.get("quantisation"),
        device_map=given.get("device_map"),
    )
    images = given.get("images", "native")
    identity = Identity(provider, name, facts_of(checkpoint, how, images))
    fixed = "batch_size" in given
    batch_size = int(given.get("batch_size", batch_size))
    sharing = given.get("sharing") != "off"
    longest = int(given["max_new_tokens"]) if "max_new_tokens" in given else None
    return HuggingFace(checkpoint, how, identity, batch_size, fixed, images, sharing, longest)
