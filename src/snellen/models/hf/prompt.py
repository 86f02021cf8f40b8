"""Render messages by a chat template, and encode prompts by a processor."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.request import Media, Message, Part, Request, Text, user
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.template_limit import TRIAL
from snellen.models.image_cache import ImageCache
from snellen.models.image_policy import first_image
from snellen.models.reasoning import opens_thought
from snellen.models.split_batch import Unsupported
from snellen.models.video_frames import VideoFrames, load_frames
from snellen.settings import read_limits

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage


CONCAT_EMBEDDINGS = "concat-embeddings"


def check_concatenable(loaded: LoadedModel) -> None:
    """Raise Unsupported for a family that cannot take the embeddings of several images as one's."""
    if loaded.profile is None or not loaded.profile.concatenates:
        family = loaded.model.config.model_type
        raise Unsupported(
            f"images={CONCAT_EMBEDDINGS}: the embeddings of several images cannot be concatenated "
            f"in {family} models; take images=native, images=first, or have the benchmark stitch "
            "the images"
        )


def repeat_image_token(text: str, loaded: LoadedModel, image_count: int) -> str:
    """Repeat the image token of a prompt about one image, once for each of `image_count` images."""
    image_token = str(loaded.processor.image_token)
    if image_count < 2 or text.count(image_token) != 1:
        return text
    return text.replace(image_token, image_token * image_count)


def prepend_image_queries(inputs: Any, loaded: LoadedModel, image_count: int) -> Any:
    """Prepend the tokens of further images to inputs whose processor has inserted those of one
    (BLIP-2, whose images have `num_query_tokens` tokens each)."""
    import torch

    extra_tokens = (image_count - 1) * int(loaded.processor.num_query_tokens)
    ids = inputs["input_ids"]
    image_token = int(loaded.model.config.image_token_id)
    front = torch.full((ids.shape[0], extra_tokens), image_token, dtype=ids.dtype)
    inputs["input_ids"] = torch.cat([front, ids], 1)
    mask = inputs["attention_mask"]
    inputs["attention_mask"] = torch.cat([torch.ones_like(front), mask], 1)
    return inputs


_TOKEN_TYPES = "mm_token_type_ids"


class Prompt(NamedTuple):
    """A rendered conversation, with its images and its videos in their order."""

    text: str
    images: tuple[PILImage, ...]
    videos: tuple[VideoFrames, ...] = ()

    def media_counts(self) -> tuple[int, int]:
        """Numbers of images and of videos."""
        return len(self.images), len(self.videos)


def render(request: Request, loaded: LoadedModel, image_cache: ImageCache, policy: str) -> Prompt:
    """Render a request as a prompt that ends where the reply begins.

    `policy` is the option `images`: all images, only the first, or the embeddings of all of them
    in place of the first. Raises Unsupported (the model does not take such media, or the template
    refuses the messages) and MediaError.
    """
    messages = _apply_image_policy(request, policy)
    image_messages = request.messages if policy == CONCAT_EMBEDDINGS else messages
    media = [part for message in image_messages for part in message.media()]
    for part in media:
        if part.kind != "image" and not (part.kind == "video" and loaded.takes_videos):
            raise Unsupported(f"the model takes no {part.kind} input")
        if not loaded.multimodal:
            raise Unsupported(f"the model takes no {part.kind} input")
    for kind in ("image", "video"):
        placeholder = str(getattr(loaded.processor, f"{kind}_token", None) or "")
        if placeholder and any(placeholder in message.text() for message in messages):
            raise Unsupported(f"the text contains {placeholder}, the model's {kind} token")
    images = tuple(image_cache.get(part.digest, request.media) for part in media if part.kind == "image")
    videos = tuple(load_frames(part.digest, request.media) for part in media if part.kind == "video")
    if policy == CONCAT_EMBEDDINGS and len(images) > 1:
        check_concatenable(loaded)
    if loaded.uses_profile_prompt and loaded.profile is not None:
        text = loaded.profile.render(messages)
    else:
        text = _apply_template(_conversation(messages, loaded), loaded, True)
    return Prompt(
        repeat_image_token(text, loaded, len(images)) if policy == CONCAT_EMBEDDINGS else text, images, videos
    )


def starts_in_thought(loaded: LoadedModel) -> bool:
    """Whether the chat template ends with the opening tag of a thought."""
    if loaded.uses_profile_prompt:
        return False
    conversation = _conversation([user(Text("?"))], loaded)
    try:
        return opens_thought(_apply_template(conversation, loaded, True))
    except Unsupported:
        return False


def _apply_image_policy(request: Request, policy: str) -> Sequence[Message]:
    return request.messages if policy == "native" else first_image(request.messages)


def with_reply(request: Request, prompt: Prompt, reply: str, loaded: LoadedModel, policy: str) -> str:
    """The prompt followed by a reply, without the template's end of turn.

    White space that the template puts between the assistant's header and the reply is kept.
    """
    if loaded.uses_profile_prompt and loaded.profile is not None:
        return prompt.text + loaded.profile.between + reply
    # The template decides what stands between prompt and reply: render the reply as a message and
    # look for it behind the prompt. Templates that rewrite earlier turns get it appended as it is.
    messages = (*_apply_image_policy(request, policy), Message("assistant", (Text(reply),)))
    full_text = _apply_template(_conversation(messages, loaded), loaded, False)
    if policy == CONCAT_EMBEDDINGS:
        full_text = repeat_image_token(full_text, loaded, len(prompt.images))
    if full_text.startswith(prompt.text):
        between, reply_text, _ = full_text[len(prompt.text) :].partition(reply)
        if reply_text and not between.strip():
            return prompt.text + between + reply
    return prompt.text + reply


def _conversation(messages: Iterable[Message], loaded: LoadedModel) -> list[dict[str, Any]]:
    """Messages in the form of `apply_chat_template`; content is a string for text-only models."""
    if not loaded.multimodal:
        return [{"role": message.role, "content": message.text()} for message in messages]
    return [{"role": message.role, "content": _content(message.parts)} for message in messages]


def _content(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Parts of a message, consecutive texts joined by line breaks: templates would run them
    together without any."""
    content: list[dict[str, str]] = []
    for part in parts:
        if isinstance(part, Media):
            content.append({"type": part.kind})
        elif content and content[-1]["type"] == "text":
            content[-1]["text"] += "\n" + part.text
        else:
            content.append({"type": "text", "text": part.text})
    return content


def _apply_template(conversation: list[dict[str, Any]], loaded: LoadedModel, add_generation_prompt: bool) -> str:
    """Render a conversation by the chat template, after a trial in a process with a time limit.

    Raises Unsupported if the template refuses the conversation, UsageError if it is too slow.
    """
    from jinja2 import TemplateError

    template = loaded.processor.chat_template or loaded.tokenizer.chat_template
    if isinstance(template, dict) and "default" in template:
        template = template["default"]
    if isinstance(template, str):
        tokens = {name: str(token) for name, token in loaded.tokenizer.special_tokens_map.items()}
        values = {
            "messages": conversation,
            "add_generation_prompt": add_generation_prompt,
            **tokens,
            **loaded.template_values,
        }
        model_name = str(loaded.tokenizer.name_or_path or "the model")
        TRIAL.check(template, values, read_limits().template_s, model_name)
    try:
        text: str = loaded.processor.apply_chat_template(
            conversation,
            chat_template=template,
            add_generation_prompt=add_generation_prompt,
            tokenize=False,
            **loaded.template_values,
        )
    except (TemplateError, TypeError, ValueError, LookupError) as error:
        raise Unsupported(f"the model's chat template refuses the prompt: {error}") from error
    return text


def encode(
    loaded: LoadedModel,
    texts: Sequence[str],
    images: Sequence[Sequence[PILImage]],
    padding_side: str,
    *,
    videos: Sequence[Sequence[VideoFrames]] = (),
    to_device: bool = True,
) -> Any:
    """Encode rendered prompts as one padded batch of model inputs, on the model's device unless
    `to_device` is false.

    `images` has one sequence for each text; all of them are empty, or none is. So has `videos`, if
    there are any.
    """
    loaded.tokenizer.padding_side = padding_side
    extra_arguments: dict[str, Any] = {"images": [list(row) for row in images]} if images[0] else {}
    if any(videos):
        extra_arguments["videos"] = [[video.pixels() for video in row] for row in videos]
        extra_arguments["video_metadata"] = [[video.metadata() for video in row] for row in videos]
        extra_arguments["do_sample_frames"] = False
    if takes_token_types(loaded):
        extra_arguments[f"return_{_TOKEN_TYPES}"] = True
    inputs = loaded.processor(
        text=list(texts),
        padding=True,
        return_tensors="pt",
        add_special_tokens=adds_special_tokens(loaded, texts[0]),
        **extra_arguments,
    )
    if len(images[0]) > 1 and loaded.uses_profile_prompt and loaded.profile and loaded.profile.max_images == 1:
        inputs = prepend_image_queries(inputs, loaded, len(images[0]))
    for name in ("labels",) if loaded.multimodal else ("labels", "token_type_ids"):
        inputs.pop(name, None)
    if not to_device:
        return inputs
    if not loaded.multimodal:
        return inputs.to(loaded.device)
    return inputs.to(loaded.device, dtype=loaded.model.dtype)


GRID = "image_grid_thw"
"""Model input of processors that keep a picture's shape (Qwen-VL's kind): patches of each image,
along time, height and width."""


def seen_sizes(
    inputs: Mapping[str, Any], loaded: LoadedModel, images: Sequence[Sequence[PILImage]]
) -> list[tuple[tuple[int, int], ...]]:
    """Width and height at which the model sees each image of each prompt; empty for a prompt whose
    images keep their sizes, and for a processor that says no size of its patches. `inputs` hold the
    grids of all images, in order."""
    patch = getattr(loaded.processor.image_processor, "patch_size", None)
    grids = inputs[GRID].tolist()
    if not isinstance(patch, int) or len(grids) != sum(map(len, images)):
        return [()] * len(images)
    further = iter(grids)
    sizes = []
    for row in images:
        seen = tuple((columns * patch, rows * patch) for _, rows, columns in islice(further, len(row)))
        sizes.append(() if seen == tuple(image.size for image in row) else seen)
    return sizes


def takes_token_types(loaded: LoadedModel) -> bool:
    """Whether the model takes token types that mark image tokens: some processors return them only
    on request, and some for models that do not accept them."""
    input_names = getattr(loaded.processor, "model_input_names", ())
    return _TOKEN_TYPES in input_names and _model_takes_token_types(loaded.model.__class__)


@functools.cache
def _model_takes_token_types(model: Any) -> bool:
    return _TOKEN_TYPES in inspect.signature(model.forward).parameters


def adds_special_tokens(loaded: LoadedModel, text: str) -> bool:
    """Whether the tokenizer must add the start token, because the template has not."""
    if loaded.uses_profile_prompt:
        return True
    start = loaded.tokenizer.bos_token
    return loaded.multimodal and not (start is not None and text.startswith(start))


def check_length(loaded: LoadedModel, lengths: Sequence[int]) -> None:
    """Raise Unsupported for a prompt longer, in tokens, than the model's context."""
    if loaded.max_length is not None and max(lengths) > loaded.max_length:
        raise Unsupported(f"the prompt is {max(lengths)} tokens long, the model takes {loaded.max_length}")
