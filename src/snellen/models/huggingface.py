"""`hf/<hub id or folder>`: any transformers image-text-to-text or text model, by chat template."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import partial

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.core.model import Identity, Model
from snellen.core.output import Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Generate, Rank, Request
from snellen.models.halving import Unsupported, halving
from snellen.models.hf_checkpoint import Checkpoint, find_checkpoint
from snellen.models.hf_drawing import draw
from snellen.models.hf_generate import Asked, generate
from snellen.models.hf_loading import Loaded, Loading, choose_device, load_checkpoint, require
from snellen.models.hf_prompt import Prompt, render
from snellen.models.hf_ranking import rank
from snellen.models.known import KnownModel, ModelOption, read_options
from snellen.models.pictures import PictureCache

KNOWN = (
    KnownModel("hf/<hub id>", "A Hugging Face vision-language or text model with chat template."),
    KnownModel("hf/<folder>", "The same from a local folder; ./folder alone will do."),
)
DTYPES = ("auto", "float32", "bfloat16", "float16")
OPTIONS = (
    ModelOption("dtype", "default float32 on cpu, bfloat16 on cuda; auto: as stored", DTYPES),
    ModelOption("device", "auto (cuda where there is one), cpu, cuda, cuda:<number>, mps"),
    ModelOption("attention", "attention implementation", ("eager", "sdpa", "flash_attention_2")),
    ModelOption("revision", "branch, tag or commit of a hub model"),
    ModelOption("batch_size", "requests answered at once; default 8, on cuda 16", kind="count"),
    ModelOption(
        "threads",
        "CPU threads; default 1 for a model under 30 M parameters, else torch's own",
        kind="count",
    ),
    ModelOption("trust_remote_code", "run the checkpoint's own Python", ("yes", "no")),
    ModelOption(
        "images", "first: only the first image, for single-image models", ("native", "first")
    ),
    ModelOption("processor", "library that resizes pictures", ("pil", "torchvision")),
)


class HuggingFace:
    """A checkpoint behind the batch protocol. Weights load on the first batch, or by `load`."""

    def __init__(
        self, checkpoint: Checkpoint, how: Loading, identity: Identity, batch_size: int, images: str
    ) -> None:
        self.identity = identity
        self.capabilities = checkpoint.capabilities(images)
        self.batch_size = batch_size
        self._checkpoint = checkpoint
        self._how = how
        self._images = images
        self._pictures = PictureCache()
        self._loaded: Loaded | None = None
        self._broken: UsageError | None = None

    def load(self) -> Loaded:
        """Loads processor and weights once, or says once more why they cannot be loaded.

        Raises UsageError and MissingExtra."""
        if self._broken is not None:
            raise self._broken
        if self._loaded is None:
            try:
                self._loaded = load_checkpoint(self._checkpoint, self._how)
            except UsageError as error:
                self._broken = error
                raise
        return self._loaded

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests; what fails, fails alone."""
        loaded = self.load()
        _use_threads(loaded.threads)
        outputs: dict[int, Output] = {}
        groups: dict[Hashable, list[tuple[int, Asked]]] = defaultdict(list)
        for place, request in enumerate(requests):
            if isinstance(request, Compare):
                outputs[place] = Failure("unsupported", "the model does not compare pictures")
                continue
            if isinstance(request, Draw) and "image" not in self.capabilities.outputs:
                outputs[place] = Failure("unsupported", "the model draws no pictures")
                continue
            try:
                prompt = render(request, loaded, self._pictures, self._images)
            except MediaError as error:
                outputs[place] = Failure("media", str(error))
            except Unsupported as error:
                outputs[place] = Failure("unsupported", str(error))
            else:
                if isinstance(request, Generate):
                    key = (request.settings, bool(prompt.images))
                    groups[key].append((place, Asked(request, prompt)))
                elif isinstance(request, Rank):
                    outputs[place] = self._rank(loaded, request, prompt)
                else:
                    outputs[place] = self._draw(loaded, request, prompt)
        for group in groups.values():
            for start in range(0, len(group), self.batch_size):
                outputs |= _generate_timed(loaded, group[start : start + self.batch_size])
        return [outputs[place] for place in range(len(requests))]

    def _rank(self, loaded: Loaded, request: Rank, prompt: Prompt) -> Output:
        started = time.perf_counter()
        scored = halving(
            [request],
            lambda batch: [rank(loaded, batch[0], prompt, self._images, self.batch_size)],
        )
        return _timed(scored[0], time.perf_counter() - started)

    def _draw(self, loaded: Loaded, request: Draw, prompt: Prompt) -> Output:
        started = time.perf_counter()
        drawn = halving([request], lambda batch: [draw(loaded, batch[0], prompt)])
        return _timed(drawn[0], time.perf_counter() - started)


def _generate_timed(loaded: Loaded, group: Sequence[tuple[int, Asked]]) -> dict[int, Output]:
    """Replies to prompts of equal settings by place, each with its share of the time."""
    asked = [one for _, one in group]
    started = time.perf_counter()
    replies = halving(asked, partial(generate, loaded, settings=asked[0].request.settings))
    share = (time.perf_counter() - started) / len(group)
    return {place: _timed(reply, share) for (place, _), reply in zip(group, replies, strict=True)}


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
    checkpoint: Checkpoint, provider: str, name: str, given: Mapping[str, str]
) -> HuggingFace:
    """The model of a checkpoint under a provider's name, options checked before.

    torch is imported only when the device decides something, so that a model whose dtype and
    batch size are given is identified in milliseconds.
    """
    if given.get("processor") == "torchvision":
        require("processor=torchvision", "torchvision")
    device = given.get("device", "auto")
    if device != "auto" or "dtype" not in given or "batch_size" not in given:
        device = choose_device(device)
    on_gpu = device.startswith("cuda")
    dtype = given.get("dtype", "bfloat16" if on_gpu else "float32")
    how = Loading(
        dtype=checkpoint.stored_dtype() if dtype == "auto" else dtype,
        device=device,
        attention=given.get("attention"),
        processor=given.get("processor", "pil"),
        remote_code=given.get("trust_remote_code") == "yes",
        threads=int(given["threads"]) if "threads" in given else None,
    )
    images = given.get("images", "native")
    identity = Identity(provider, name, _facts(checkpoint, how, images))
    batch_size = int(given.get("batch_size", 16 if on_gpu else 8))
    return HuggingFace(checkpoint, how, identity, batch_size, images)


def _facts(checkpoint: Checkpoint, how: Loading, images: str) -> dict[str, str]:
    facts = {
        "revision": checkpoint.revision,
        "dtype": how.dtype,
        "attention": how.attention or "default",
        "quantisation": checkpoint.quantisation(),
        "remote_code": "yes" if how.remote_code else "",
    }
    if checkpoint.multimodal:
        facts["images"] = images
        facts["processor"] = " ".join(filter(None, (checkpoint.processor, how.processor)))
    return {name: value for name, value in facts.items() if value}
