"""Every request body that Snellen makes for its providers: settings, questions and options, in pairs.

A shape is a question, the settings and the options under which a provider's model is asked it. Of
these three at most two differ from the plain text question, so that every value of each meets every
value of the others once. The bodies are those of `ServerModel`: what would be sent, caught where it
is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import msgspec
from PIL import Image

from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.output import Failure
from snellen.core.request import (
    Draw,
    Drawing,
    Generate,
    Generation,
    Media,
    MediaKind,
    Message,
    Rank,
    Ref,
    Request,
    Role,
    Text,
)
from snellen.models.remote.connect import connect
from snellen.models.remote.model import ServerModel
from snellen.models.remote.profile import ProviderProfile, profiles

_KEY = "SNELLEN_SHAPES_KEY"
"""Environment variable of a key that opens nothing."""
_REF = Ref("1")


def _image(kind: str, colour: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(out, kind)
    return out.getvalue()


_PNG, _BLUE, _JPEG, _WEBP = _image("PNG"), _image("PNG", "blue"), _image("JPEG"), _image("WEBP")
_GIF, _BMP = _image("GIF"), _image("BMP")
# No decoder reads it here: a whole video is sent as it is, told by its first bytes.
_MP4 = b"\0\0\0\x18ftypmp42" + bytes(12)

Turn = tuple[Role, tuple[str | bytes, ...]]

QUESTIONS: dict[str, tuple[Turn, ...]] = {
    "text": (("user", ("What is 1 + 1?",)),),
    "image": (("user", (_PNG, "Which colour?")),),
    "text first": (("user", ("Which colour?", "One word.", _PNG)),),
    "jpeg": (("user", (_JPEG, "Which colour?")),),
    "webp": (("user", (_WEBP, "Which colour?")),),
    "gif": (("user", (_GIF, "Which colour?")),),
    "converted bmp": (("user", (_BMP, "Which colour?")),),
    "image alone": (("user", (_PNG,)),),
    "several images": (("user", (_PNG, _BLUE, _JPEG, "Which differ?")),),
    "interleaved": (("user", ("First:", _PNG, "second:", _BLUE, "Which is red?")),),
    "system": (("system", ("Answer by one word.",)), ("user", (_PNG, "Which colour?"))),
    "few-shot": (
        ("system", ("Answer by one word.",)),
        ("user", (_BLUE, "Which colour?")),
        ("assistant", ("Blue.",)),
        ("user", (_PNG, "Which colour?")),
        ("assistant", ("Red.",)),
        ("user", ("Which was first?",)),
    ),
    "begun reply": (("user", ("Which colour is the sky?",)), ("assistant", ("The sky is",))),
    "video": (("user", (_MP4, "What happens?")),),
    "unicode": (("user", ('零 𝔸 é "quoted" \\ \n\t\x7f',)),),
}

_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {"total": {"type": "string"}, "items": {"type": "array", "items": {"type": "string"}}},
        "required": ["total"],
        "additionalProperties": False,
    }
).decode()

SETTINGS: dict[str, Generation] = {
    "greedy": Generation(),
    "temperature": Generation(temperature=0.7),
    "whole temperature": Generation(temperature=1),
    "top_p": Generation(temperature=1.0, top_p=0.9),
    "top_k": Generation(temperature=0.7, top_k=40),
    "repetition_penalty": Generation(repetition_penalty=1.1),
    "presence_penalty": Generation(presence_penalty=0.5),
    "seed": Generation(temperature=0.7, seed=7),
    "stop": Generation(stop=("\n\n", "Question:")),
    "logprobs": Generation(logprobs=20),
    "five logprobs": Generation(logprobs=5),
    "schema": Generation(response_schema=_SCHEMA),
    "one token": Generation(max_new_tokens=1),
    "long": Generation(max_new_tokens=65536),
    "all": Generation(
        max_new_tokens=64,
        temperature=0.5,
        top_p=0.8,
        seed=1,
        stop=("\n",),
        logprobs=5,
        top_k=5,
        repetition_penalty=1.2,
        presence_penalty=0.1,
    ),
}

OPTIONS: dict[str, dict[str, str]] = {
    "plain": {},
    "stream": {"stream": "yes"},
    "sampling=no": {"sampling": "no"},
    "images=first": {"images": "first"},
    "images=video": {"images": "video"},
    "video=native": {"video": "native"},
    "image_size": {"image_size": "2"},
    "logprobs=yes": {"logprobs": "yes"},
    "logprobs=no": {"logprobs": "no"},
    "schema=no": {"schema": "no"},
    "reasoning=opened": {"reasoning": "opened"},
    "completions": {"endpoint": "completions"},
    "completions streamed": {"endpoint": "completions", "stream": "yes"},
    "body": {"body.top_p": "0.5"},
    **{
        f"effort {word}": {"reasoning_effort": word}
        for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    },
    "effort 2048 tokens": {"reasoning_effort": "2048"},
    "effort streamed": {"reasoning_effort": "high", "stream": "yes"},
}
PLAIN = ("text", "greedy", "plain")
_TOP_P = {"google": "body.generationConfig.topP", "converse": "body.inferenceConfig.topP"}
"""How these dialects spell the option `body.top_p`."""


class Shape(NamedTuple):
    """One way to ask, and what is sent."""

    provider: str
    model: str
    name: str
    path: str
    body: bytes

    def key(self) -> str:
        return f"{self.model} {self.name}"

    def digest(self) -> str:
        return hashlib.sha256(self.path.encode() + b"\0" + self.body).hexdigest()[:16]


@dataclass
class _Catcher:
    """A client that sends nothing: it keeps what it is given, and answers as the server of a
    ranking would, so that the next request is made."""

    reply: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.on_reply: Callable[[Mapping[str, Any]], object] = lambda reply: None

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        self.sent.append((path, body))
        if self.reply is None:
            raise ModelError("nothing is sent", "connection")
        return dict(self.reply)

    async def events(self, path: str, body: bytes) -> AsyncIterator[dict[str, Any]]:
        yield await self.post(path, body)

    async def get(self, path: str) -> dict[str, Any]:
        raise ModelError("nothing is asked", "connection")

    async def fetch(self, url: str) -> bytes:
        raise ModelError("nothing is fetched", "connection")

    async def close(self) -> None:
        return


_ECHOED = {
    "choices": [
        {
            "logprobs": {"tokens": ["a", "b"], "token_logprobs": [None, -1.0]},
            "finish_reason": "length",
            "text": "",
            "prompt_logprobs": [None, {"1": {"logprob": -1.0}}],
        }
    ],
    "prompt_logprobs": [None, {"1": {"logprob": -1.0}}],
}


def all_shapes(provider: str) -> list[Shape]:
    """The bodies of a provider, each once, under the first shape that has it."""
    shapes: dict[tuple[str, bytes], Shape] = {}
    for shape in _shapes(provider, profiles()[provider]):
        shapes.setdefault((shape.path, shape.body), shape)
    return list(shapes.values())


def plain_shape(provider: str) -> Shape:
    """The plain text question."""
    return next(_shapes(provider, profiles()[provider]))


def models_of(provider: str, profile: ProviderProfile) -> tuple[str, ...]:
    """A model for each set of rules of the profile: the first pattern of each stands for its others."""
    patterns = dict.fromkeys((*profile.fixed_sampling[:1], *profile.adaptive[:1]))
    named = [re.sub(r"\[(.)[^]]*\]", r"\1", pattern).rstrip("*") for pattern in patterns]
    return ("some-model", *named)


def _shapes(provider: str, profile: ProviderProfile) -> Iterator[Shape]:
    for model in models_of(provider, profile):
        for options in OPTIONS:
            opened = _open(provider, model, OPTIONS[options])
            if opened is None:
                continue
            for question, settings in product(QUESTIONS, SETTINGS):
                values = (question, settings, options)
                if sum(value != plain for value, plain in zip(values, PLAIN, strict=True)) > 2:
                    continue
                request = _generate(QUESTIONS[question], SETTINGS[settings])
                yield from _caught(provider, model, ", ".join(values), opened, request)
        yield from _further(provider, model)


def _further(provider: str, model: str) -> Iterator[Shape]:
    """Rankings and drawings, which have no settings of generation."""
    for method, question in product(("echo", "prompt_logprobs"), ("text", "image", "system", "few-shot")):
        opened = _open(provider, model, {"rank": method}, _ECHOED)
        if opened is not None:
            messages, media = _messages(QUESTIONS[question])
            request = Rank(messages=messages, ref=_REF, candidates=("yes", " no"), media=media)
            yield from _caught(provider, model, f"rank={method}, {question}", opened, request)
    drawings = {"drawing": Drawing(), "drawing of a size": Drawing(width=1024, height=1536)}
    for endpoint, question, drawing in product(
        ("images", "chat"), ("text", "image", "interleaved", "system"), drawings
    ):
        opened = _open(provider, model, {"endpoint": "images"} if endpoint == "images" else {"draws": "yes"})
        if opened is not None:
            messages, media = _messages(QUESTIONS[question])
            draw = Draw(messages=messages, ref=_REF, settings=drawings[drawing], media=media)
            yield from _caught(provider, model, f"{drawing} by {endpoint}, {question}", opened, draw)


def _open(
    provider: str, model: str, options: Mapping[str, str], reply: Mapping[str, Any] | None = None
) -> tuple[ServerModel, _Catcher] | None:
    """The model, whose requests are caught; None where the provider has no such option."""
    os.environ[_KEY] = "opens-nothing"
    more = {"key_env": _KEY, **options}
    name = model
    profile = profiles()[provider]
    if "body.top_p" in more and profile.dialect in _TOP_P:
        more[_TOP_P[profile.dialect]] = more.pop("body.top_p")
    if provider in ("http", "https"):
        name = f"{provider}://127.0.0.1:9/v1#{model}"
    elif not profile.base_url or profile.place:
        more["base_url"] = "https://example.invalid"
    try:
        opened = connect(provider, name, more)
    except UsageError:
        return None
    assert isinstance(opened, ServerModel)
    catcher = _Catcher(reply)
    opened.client = catcher
    return opened, catcher


def _caught(
    provider: str, model: str, name: str, opened: tuple[ServerModel, _Catcher], request: Request
) -> Iterator[Shape]:
    """What would be sent for a request: nothing if the model says that it cannot take it."""
    asked, catcher = opened
    catcher.sent = []
    try:
        output = asyncio.run(_answer(asked, request))
    except (ModelError, MediaError) as error:
        output = error
    if isinstance(output, Failure | MediaError):
        assert not catcher.sent or isinstance(request, Rank), output
    for number, (path, body) in enumerate(catcher.sent):
        yield Shape(provider, model, f"{name} {number + 1}" if number else name, path, body)


async def _answer(model: ServerModel, request: Request) -> object:
    return await model.answer(request)


def _generate(turns: tuple[Turn, ...], settings: Generation) -> Generate:
    messages, media = _messages(turns)
    return Generate(messages=messages, ref=_REF, settings=settings, media=media)


def _messages(turns: tuple[Turn, ...]) -> tuple[tuple[Message, ...], dict[str, InlineSource]]:
    media = {digest_bytes(part): InlineSource(part) for _, parts in turns for part in parts if isinstance(part, bytes)}
    messages = tuple(Message(role, tuple(_part(part) for part in parts)) for role, parts in turns)
    return messages, media


def _part(part: str | bytes) -> Text | Media:
    if isinstance(part, str):
        return Text(part)
    kind: MediaKind = "video" if part is _MP4 else "image"
    return Media(kind, digest_bytes(part))


def decoded(shape: Shape) -> dict[str, Any]:
    """The body of a shape as values."""
    body: dict[str, Any] = msgspec.json.decode(shape.body)
    return body
