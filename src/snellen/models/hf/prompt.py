"""Messages as a chat template and a processor want them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.message import Media, Message, Part, Text, user
from snellen.core.request import Request
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.template_limit import TRIAL
from snellen.models.image_cache import PictureCache
from snellen.models.image_policy import first_image
from snellen.models.reasoning import opens_thought
from snellen.models.split_batch import Unsupported
from snellen.settings import read_limits

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


POLICY = "concat-embeddings"


def check_concatenable(loaded: Loaded) -> None:
    """Raises Unsupported for a family in which one picture's embeddings cannot be extended."""
    if loaded.profile is None or not loaded.profile.concatenates:
        raise Unsupported(
            f"images={POLICY}: in {loaded.model.config.model_type} models embeddings of pictures "
            "cannot be put next to each other; take images=native, images=first, or have the "
            "benchmark stitch the pictures"
        )


def widened(text: str, loaded: Loaded, pictures: int) -> str:
    """A prompt about one picture, with the signs of all of them in its place."""
    sign = str(loaded.processor.image_token)
    if pictures < 2 or text.count(sign) != 1:
        return text
    return text.replace(sign, sign * pictures)


def with_queries(inputs: Any, loaded: Loaded, pictures: int) -> Any:
    """Inputs of prompts with the places of so many pictures in front, for a processor that makes
    places for one (BLIP-2)."""
    import torch

    more = (pictures - 1) * int(loaded.processor.num_query_tokens)
    ids = inputs["input_ids"]
    sign = int(loaded.model.config.image_token_id)
    front = torch.full((ids.shape[0], more), sign, dtype=ids.dtype)
    inputs["input_ids"] = torch.cat([front, ids], 1)
    mask = inputs["attention_mask"]
    inputs["attention_mask"] = torch.cat([torch.ones_like(front), mask], 1)
    return inputs


_MARKS = "mm_token_type_ids"


class Prompt(NamedTuple):
    """A rendered conversation, and its pictures in the order they stand in it."""

    text: str
    images: tuple[Picture, ...]


def render(request: Request, loaded: Loaded, pictures: PictureCache, policy: str) -> Prompt:
    """Raises Unsupported (the model takes no such medium or role) and MediaError."""
    messages = _messages(request, policy)
    shown = request.messages if policy == POLICY else messages
    wanted = [part for message in shown for part in message.media()]
    for part in wanted:
        if part.kind != "image" or not loaded.multimodal:
            raise Unsupported(f"the model takes no {part.kind} input")
    placeholder = str(getattr(loaded.processor, "image_token", None) or "")
    if placeholder and any(placeholder in message.text() for message in messages):
        raise Unsupported(f"the text holds {placeholder}, the model's own sign for a picture")
    images = tuple(pictures.get(part.digest, request.media) for part in wanted)
    if policy == POLICY and len(images) > 1:
        check_concatenable(loaded)
    if loaded.plain and loaded.profile is not None:
        text = loaded.profile.render(messages)
    else:
        text = _render(_conversation(messages, loaded), loaded, True)
    return Prompt(widened(text, loaded, len(images)) if policy == POLICY else text, images)


def thinks_at_once(loaded: Loaded) -> bool:
    """Whether the chat template opens a thought for the model, whose replies then begin in it."""
    if loaded.plain:
        return False
    asked = _conversation([user(Text("?"))], loaded)
    try:
        return opens_thought(_render(asked, loaded, True))
    except Unsupported:
        return False


def _messages(request: Request, policy: str) -> Sequence[Message]:
    return request.messages if policy == "native" else first_image(request.messages)


def with_reply(request: Request, prompt: Prompt, reply: str, loaded: Loaded, policy: str) -> str:
    """The prompt with a reply behind it, up to the reply's last character.

    Templates that put white space between the assistant's header and its words are followed.
    """
    if loaded.plain and loaded.profile is not None:
        return prompt.text + loaded.profile.between + reply
    answered = (*_messages(request, policy), Message("assistant", (Text(reply),)))
    whole = _render(_conversation(answered, loaded), loaded, False)
    if policy == POLICY:
        whole = widened(whole, loaded, len(prompt.images))
    if whole.startswith(prompt.text):
        between, found, _ = whole[len(prompt.text) :].partition(reply)
        if found and not between.strip():
            return prompt.text + between + reply
    return prompt.text + reply


def _conversation(messages: Iterable[Message], loaded: Loaded) -> list[dict[str, Any]]:
    if not loaded.multimodal:
        return [{"role": message.role, "content": message.text()} for message in messages]
    return [{"role": message.role, "content": _content(message.parts)} for message in messages]


def _content(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Neighbouring texts become one, a line each: templates would run them together."""
    content: list[dict[str, str]] = []
    for part in parts:
        if isinstance(part, Media):
            content.append({"type": "image"})
        elif content and content[-1]["type"] == "text":
            content[-1]["text"] += "\n" + part.text
        else:
            content.append({"type": "text", "text": part.text})
    return content


def _render(conversation: list[dict[str, Any]], loaded: Loaded, ask: bool) -> str:
    from jinja2 import TemplateError

    template = loaded.processor.chat_template or loaded.tokenizer.chat_template
    if isinstance(template, dict) and "default" in template:
        template = template["default"]
    if isinstance(template, str):
        tokens = {name: str(token) for name, token in loaded.tokenizer.special_tokens_map.items()}
        values = {"messages": conversation, "add_generation_prompt": ask, **tokens}
        whose = str(loaded.tokenizer.name_or_path or "the model")
        TRIAL.check(template, values, read_limits().template_s, whose)
    try:
        text: str = loaded.processor.apply_chat_template(
            conversation, chat_template=template, add_generation_prompt=ask, tokenize=False
        )
    except (TemplateError, TypeError, ValueError, LookupError) as error:
        raise Unsupported(f"the model's chat template refuses the prompt: {error}") from error
    return text


def encode(
    loaded: Loaded,
    texts: Sequence[str],
    images: Sequence[Sequence[Picture]],
    side: str,
    *,
    to_device: bool = True,
) -> Any:
    """Model inputs of rendered prompts as one padded batch, on the model's device unless they
    are to stay.

    `images` holds one sequence per text; all of them are empty, or none is.
    """
    loaded.tokenizer.padding_side = side
    shown: dict[str, Any] = {"images": [list(row) for row in images]} if images[0] else {}
    if wants_marks(loaded):
        shown[f"return_{_MARKS}"] = True
    inputs = loaded.processor(
        text=list(texts),
        padding=True,
        return_tensors="pt",
        add_special_tokens=adds_special_tokens(loaded, texts[0]),
        **shown,
    )
    if len(images[0]) > 1 and loaded.plain and loaded.profile and loaded.profile.pictures == 1:
        inputs = with_queries(inputs, loaded, len(images[0]))
    for name in ("labels",) if loaded.multimodal else ("labels", "token_type_ids"):
        inputs.pop(name, None)
    if not to_device:
        return inputs
    if not loaded.multimodal:
        return inputs.to(loaded.device)
    return inputs.to(loaded.device, dtype=loaded.model.dtype)


def wants_marks(loaded: Loaded) -> bool:
    """Whether marks of which tokens are pictures belong to the inputs; some processors give them
    only when they are asked, and some give them to models that do not take them."""
    named = getattr(loaded.processor, "model_input_names", ())
    return _MARKS in named and _takes_marks(loaded.model.__class__)


@functools.cache
def _takes_marks(model: Any) -> bool:
    return _MARKS in inspect.signature(model.forward).parameters


def adds_special_tokens(loaded: Loaded, text: str) -> bool:
    """Whether the tokenizer must add what the template left out (the start token)."""
    if loaded.plain:
        return True
    start = loaded.tokenizer.bos_token
    return loaded.multimodal and not (start is not None and text.startswith(start))


def check_length(loaded: Loaded, lengths: Sequence[int]) -> None:
    """Raises Unsupported for a prompt longer (in tokens) than the model was made for."""
    if loaded.longest is not None and max(lengths) > loaded.longest:
        raise Unsupported(
            f"the prompt is {max(lengths)} tokens long, the model takes {loaded.longest}"
        )
