"""Requests as token ids and image inputs, one prompt at a time and without padding."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from snellen.core.recent import RecentValues
from snellen.core.request import Generate, Rank
from snellen.models.hf.generate import is_forced
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.prompt import GRID, adds_special_tokens, check_length, encode, render, seen_sizes, with_reply
from snellen.models.image_cache import DEFAULT_MAX_PIXELS, ImageCache
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from torch import Tensor


_IMAGE_IDS = ("image_token_id", "image_token_index", "media_placeholder_token_id", "visual_indicator_token_ids")


class PrefixSharingUnsupported(Unsupported):
    """Prompts of this architecture cannot be split into a cached prefix and the rest."""


@dataclass(frozen=True, slots=True)
class TokenisedPrompt:
    """One prompt as the processor encodes it, without padding: a row of a batch."""

    ids: tuple[int, ...]
    image_prefix_length: int
    """Tokens up to and including the last image token; 0 without images."""
    media: Mapping[str, Tensor]
    """Image inputs of the model: pixel values, grids, sizes."""
    token_type_inputs: Mapping[str, Tensor]
    """Further inputs with one value per token, e.g. token types, each of shape (length,)."""
    image_digests: tuple[str, ...] = ()
    scored_tokens: int = 0
    """Tokens at the end whose likelihood is requested."""
    image_sizes: tuple[tuple[int, int], ...] = ()
    """Width and height at which the model sees the images, if these are not their own."""

    def image_prefix_key(self) -> Hashable:
        """Equal for prompts that begin with the same text and images."""
        return (self.ids[: self.image_prefix_length], self.image_digests)


def tokenised_prompt(
    inputs: Mapping[str, Any], model: Any, image_digests: Sequence[str], scored_tokens: int = 0
) -> TokenisedPrompt:
    """Turn a processor's output for one prompt into a `TokenisedPrompt`.

    Inputs of the shape of the ids have one value per token; all others describe the images.
    Raises PrefixSharingUnsupported if the image tokens cannot be found among the ids.
    """
    ids = inputs["input_ids"]
    if ids.shape[0] != 1:
        raise PrefixSharingUnsupported(f"the processor made {ids.shape[0]} rows of one prompt")
    token_type_inputs, media = {}, {}
    for name, value in inputs.items():
        if name in ("input_ids", "attention_mask"):
            continue
        if getattr(value, "shape", None) == ids.shape:
            token_type_inputs[name] = value[0]
        else:
            media[name] = value
    token_ids = tuple(ids[0].tolist())
    image_prefix_length = _find_image_prefix(token_ids, model) if image_digests else 0
    return TokenisedPrompt(
        token_ids, image_prefix_length, media, token_type_inputs, tuple(image_digests), scored_tokens
    )


def _find_image_prefix(ids: Sequence[int], model: Any) -> int:
    """Tokens up to and including the last image token, by the ids that the configuration names."""
    image_ids: set[int] = set()
    for part in (model.config, getattr(model.config, "vision_config", None)):
        for name in _IMAGE_IDS:
            ids_of_name = getattr(part, name, None)
            image_ids.update([ids_of_name] if isinstance(ids_of_name, int) else ids_of_name or ())
    for index in range(len(ids) - 1, -1, -1):
        if ids[index] in image_ids:
            return index + 1
    raise PrefixSharingUnsupported("the tokens of the pictures cannot be told from the others")


def append_text(
    context: TokenisedPrompt, context_ids: Sequence[int], full_ids: Sequence[int]
) -> TokenisedPrompt | None:
    """Extend a tokenised context by text, without running the image processor again.

    `context_ids` and `full_ids` are the context and the extended prompt as the tokenizer alone
    reads them, images not expanded. None if the tokens after the images do not determine the
    result: the tokenizer disagrees with the processor about the context, or the extension changes
    tokens before the text.
    """
    import torch

    # The processor expands an image to many tokens, the tokenizer to one: only the text after the
    # images can be compared. In `context_ids` it begins at `start`.
    text_length = len(context.ids) - context.image_prefix_length
    start = len(context_ids) - text_length
    if start < 0 or tuple(context_ids[start:]) != context.ids[context.image_prefix_length :]:
        return None
    if context_ids[:start] != full_ids[:start]:
        return None
    added = len(full_ids) - len(context_ids)
    token_type_inputs = {}
    for name, values in context.token_type_inputs.items():
        # New text gets the type of the text before it, if that has only one.
        text_values = values[context.image_prefix_length :]
        if not len(text_values) or bool((text_values != text_values[0]).any()):
            return None
        extended = text_values[:1].expand(max(0, len(text_values) + added))
        token_type_inputs[name] = torch.cat([values[: context.image_prefix_length], extended])
    ids = context.ids[: context.image_prefix_length] + tuple(full_ids[start:])
    return replace(context, ids=ids, token_type_inputs=token_type_inputs)


def shared_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common prefix of two token sequences."""
    for index, (first_token, second_token) in enumerate(zip(first, second, strict=False)):
        if first_token != second_token:
            return index
    return min(len(first), len(second))


_CACHED_IMAGE_BYTES = 256_000_000
"""Bytes of processed images that are cached for the next prompts about them."""


class PromptTokeniser:
    """Renders and encodes requests. For one thread: a fast tokenizer must not be used by two."""

    def __init__(self, loaded: LoadedModel, policy: str, can_append: dict[int, bool], tokenisers: int = 1) -> None:
        """Copies the processor, so that threads do not share one.

        `can_append`, shared by all tokenisers of a model, records by number of images whether
        `append_text` gives what the processor gives. `tokenisers` is how many share the memory for
        cached images.
        """
        processor = copy.deepcopy(loaded.processor)
        if getattr(processor, "image_processor", None) is not None:
            processor.image_processor = CachingImageProcessor(
                processor.image_processor, _CACHED_IMAGE_BYTES // tokenisers
            )
        tokenizer = getattr(processor, "tokenizer", processor)
        self._loaded = replace(loaded, processor=processor, tokenizer=tokenizer)
        self._image_cache = ImageCache(DEFAULT_MAX_PIXELS // tokenisers)
        self._policy = policy
        self._can_append = can_append

    def tokenise(self, request: Generate | Rank) -> list[TokenisedPrompt]:
        """One prompt for a generation, one for each candidate of a ranking.

        Raises MediaError, Unsupported and whatever the processor raises.
        """
        if isinstance(request, Rank) and is_forced(self._loaded):
            raise Unsupported("its replies cannot be read along with the prompt")
        prompt = render(request, self._loaded, self._image_cache, self._policy)
        if prompt.videos:
            raise Unsupported("prompts with videos are computed one by one, without shared parts")
        digests = [part.digest for message in request.messages for part in message.media()]
        digests = digests[: len(prompt.images)]  # with images=first the others are left out

        def tokenise_text(text: str) -> TokenisedPrompt:
            inputs = encode(self._loaded, [text], [prompt.images], "left", to_device=False)
            return self._prepare_media(tokenised_prompt(inputs, self._loaded.model, digests))

        context = tokenise_text(prompt.text)
        if isinstance(request, Generate):
            if GRID in context.media:
                (sizes,) = seen_sizes(context.media, self._loaded, [prompt.images])
                context = replace(context, image_sizes=sizes)
            rows = [context]
        else:
            replies = [
                with_reply(request, prompt, candidate, self._loaded, self._policy) for candidate in request.candidates
            ]
            rows = _mark_scored(context, self._append_replies(context, prompt.text, replies, tokenise_text))
        check_length(self._loaded, [len(row.ids) for row in rows])
        return rows

    def _append_replies(
        self,
        context: TokenisedPrompt,
        text: str,
        replies: Sequence[str],
        tokenise_text: Callable[[str], TokenisedPrompt],
    ) -> list[TokenisedPrompt]:
        """Tokenise the context followed by each reply.

        The images are those of the context, so that the tokenizer alone suffices, which is much
        faster than the processor. Whether both agree is tested on the first request with this
        number of images; if they do not, the processor encodes every prompt.
        """
        image_count = len(context.image_digests)
        if self._can_append.get(image_count, True):
            special = adds_special_tokens(self._loaded, text)
            context_ids, *full_ids = self._loaded.tokenizer([text, *replies], add_special_tokens=special)["input_ids"]
            rows = [append_text(context, context_ids, ids) for ids in full_ids]
            if image_count not in self._can_append:
                self._can_append[image_count] = all(map(_is_same_prompt, rows, map(tokenise_text, replies)))
            if self._can_append[image_count] and None not in rows:
                return [row for row in rows if row is not None]
        return [tokenise_text(reply) for reply in replies]

    def _prepare_media(self, row: TokenisedPrompt) -> TokenisedPrompt:
        """Convert image inputs to the model's dtype and, for a GPU, move them to pinned memory, so
        that the model's thread waits for neither."""
        import torch

        dtype, on_gpu = self._loaded.model.dtype, self._loaded.device.startswith("cuda")

        def prepare(part: Tensor) -> Tensor:
            if not isinstance(part, torch.Tensor):
                return part
            part = part.to(dtype) if part.is_floating_point() else part
            return part.pin_memory() if on_gpu else part

        return replace(row, media={name: prepare(part) for name, part in row.media.items()})


def _is_same_prompt(first: TokenisedPrompt | None, second: TokenisedPrompt) -> bool:
    """Whether two rows have the same ids and the same inputs."""
    if first is None or (first.ids, first.image_prefix_length) != (second.ids, second.image_prefix_length):
        return False
    return all(
        first_inputs.keys() == second_inputs.keys()
        and all(first_inputs[name].equal(values) for name, values in second_inputs.items())
        for first_inputs, second_inputs in (
            (first.token_type_inputs, second.token_type_inputs),
            (first.media, second.media),
        )
    )


def _mark_scored(context: TokenisedPrompt, rows: Sequence[TokenisedPrompt]) -> list[TokenisedPrompt]:
    """Score each row from the end of the longest common prefix of the context and all rows.

    Tokenisers may merge a candidate's first letters into the context's last token. From a common
    start candidates are compared on equal terms, whether that happened to them or not.
    """
    if not rows:
        raise ValueError("a ranking request without candidates")
    shared = min(shared_prefix_length(context.ids, row.ids) for row in rows)
    if shared < 1:
        raise Unsupported("the candidates' prompts do not begin like the context")
    return [replace(row, scored_tokens=len(row.ids) - shared) for row in rows]


class CachingImageProcessor:
    """An image processor that returns cached results for images it has just processed."""

    def __init__(self, processor: Any, limit: int = _CACHED_IMAGE_BYTES) -> None:
        """`limit`: bytes of cached results; the latest is always kept."""
        self._processor = processor
        self._results: RecentValues[tuple[Any, Any, int]] = RecentValues(limit, itemgetter(2))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_processor":
            raise AttributeError(name)
        return getattr(self._processor, name)

    def __call__(self, images: Any = None, *arguments: Any, **options: Any) -> Any:
        key = (tuple(id(image) for image in _flatten(images)), repr(arguments), repr(sorted(options.items())))
        known = self._results.get(key)
        if known is None:
            result = self._processor(images, *arguments, **options)
            size = sum(getattr(part, "nbytes", 0) for part in result.values())
            # With the images: as long as they live no other object gets their ids.
            known = self._results.put(key, (result, images, size))
        return copy.copy(known[0])


def _flatten(images: Any) -> Iterator[Any]:
    """Images out of nested lists."""
    if isinstance(images, list | tuple):
        for item in images:
            yield from _flatten(item)
    else:
        yield images
