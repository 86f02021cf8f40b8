"""`join:text=MODEL,draw=MODEL`: a model that gives text and a model that draws, as one system.

Questions for text go to the text model as they are. A picture is drawn in two steps, as in OpenLEAF
(arXiv 2310.07749): the text model reads the whole prompt and writes a description of the picture,
and the drawing model gets this description alone. A prompt without pictures is a description
already and goes to the drawing model as it is (`describe=pictures`), unless `describe=always`. The
wording of the instruction is ours; its 60 words fit into the 77 tokens that CLIP's text encoder
reads in Stable Diffusion.

This makes SEED-Bench-H's level L3 possible for two models of which neither reaches it alone, like
the pairs of a language model and an image generator that its introduction speaks of.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.core.model import BatchModel, Capabilities, Identity, Model, ModelDefaults, RemoteModel, abilities
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Steps
from snellen.core.request import DRAWER, Draw, Generate, Generation, Message, Request, Text, user
from snellen.models.naming.provider import ModelListing, ModelOption, Provider, read_options
from snellen.models.naming.spec import JOIN, JOIN_OPTIONS

Describe = Literal["pictures", "always"]
"""Which prompts the text model describes a picture for: those with pictures, or all."""
DESCRIBE: tuple[Describe, ...] = ("pictures", "always")
PROTOCOL = "describe-then-draw 1"
INSTRUCTION = (
    "The answer to the above is a picture. Describe this picture in one paragraph of at most 60 "
    "words, for a painter who can see nothing of the above: its subjects with their number, looks "
    "and places, the background and the style. Reply with the description alone."
)
_DESCRIPTION_TOKENS = 256
_TEXT, _DRAW, _DESCRIBE = JOIN_OPTIONS
OPTIONS = (
    ModelOption(_TEXT, "the model that answers in text, by its name and with its own options"),
    ModelOption(_DRAW, "the model that draws, by its name and with its own options"),
    ModelOption(
        _DESCRIBE, "prompts for which the text model writes what is to be drawn (default: with pictures)", DESCRIBE
    ),
)


class JoinParts(NamedTuple):
    """The names of the models of a join, and for which prompts the text model describes."""

    text: str
    draw: str
    describe: Describe


class PictureDescription(NamedTuple):
    """What the text model was asked for a picture, and its reply."""

    messages: Sequence[Message]
    output: Output


class JoinedDrawing(NamedTuple):
    """What came of a request for a picture."""

    output: Output
    """Of the drawing model; of the text model if it wrote nothing that can be drawn."""
    messages: Sequence[Message]
    """What the model that gave `output` was asked."""
    description: PictureDescription | None = None
    """None if the prompt went to the drawing model as it is, and if it is `output` itself."""


def join_parts(options: Mapping[str, str]) -> JoinParts:
    """The parts of a join's options. Raises UsageError for a part that is missing or unknown."""
    values = read_options(JOIN, options, OPTIONS)
    missing = [name for name in (_TEXT, _DRAW) if name not in values]
    if missing:
        raise UsageError(f"{JOIN} has no {' and no '.join(missing)}; expected {JOIN}:text=MODEL,draw=MODEL")
    for name in (_TEXT, _DRAW):
        if values[name].partition(":")[0] == JOIN:
            raise UsageError(f"{JOIN}: {name}={values[name]} is joined itself; name a single model")
    return JoinParts(values[_TEXT], values[_DRAW], cast(Describe, values.get(_DESCRIBE, DESCRIBE[0])))


def join_name(text: str, draw: str, describe: Describe) -> str:
    """The name of a join, the default left out."""
    changed = "" if describe == DESCRIBE[0] else f",{_DESCRIBE}={describe}"
    return f"{JOIN}:{_TEXT}={text},{_DRAW}={draw}{changed}"


def check_parts(text: Model, drawer: Model) -> None:
    """Raises UsageError for a text model without text, and a drawing model without pictures."""
    for name, part, output in ((_TEXT, text, "text"), (_DRAW, drawer, "image")):
        given = part.capabilities.outputs
        if output not in given:
            # Of a server it is not known what it gives, unless its name says so.
            is_server = name == _DRAW and isinstance(part, RemoteModel)
            hint = "; a server that draws is named with endpoint=images or draws=yes"
            raise UsageError(
                f"{JOIN}: {name}={part.identity.provider}/{part.identity.name} gives "
                f"{' and '.join(sorted(given)) or 'nothing'}, expected {output}"
                f"{hint if is_server else ''}"
            )


def joined_capabilities(text: Capabilities) -> Capabilities:
    """What the text model takes and gives, and pictures."""
    return replace(text, outputs=text.outputs | {"image"})


def description_settings(text: Model) -> Generation:
    """How the description is generated: with room to reason if the text model needs it."""
    longest = abilities(text).max_new_tokens or 0
    return Generation(max_new_tokens=max(_DESCRIPTION_TOKENS, longest))


def role_identity(drawer: Identity, describe: Describe) -> Identity:
    """The identity of a drawing model in its role: of the model, and how it is asked."""
    facts = {**drawer.facts, "protocol": PROTOCOL, _DESCRIBE: describe}
    return replace(drawer, facts=facts)


def draw_in_steps(request: Draw, describe: Describe, settings: Generation) -> Steps[JoinedDrawing]:
    """Ask the text model (the role of `request`) for a description, then `DRAWER` to draw it.

    A description that failed, was refused, or is empty is the output: nothing is drawn then.
    """
    description = None
    drawn = replace(request, to=DRAWER)
    if describe == "always" or any(message.media() for message in request.messages):
        question = Generate(
            messages=_with_instruction(request.messages),
            ref=request.ref,
            settings=settings,
            media=request.media,
            to=request.to,
            attempt=request.attempt,
            repeat=request.repeat,
        )
        reply = yield question
        if isinstance(reply, Failure):
            failure = replace(reply, message=f"no description to draw: {reply.message}")
            return JoinedDrawing(failure, question.messages)
        if not isinstance(reply, Generated) or reply.is_refusal or not reply.text.strip():
            return JoinedDrawing(reply, question.messages)
        description = PictureDescription(question.messages, reply)
        drawn = replace(drawn, messages=(user(Text(reply.text.strip())),), media={})
    output = yield drawn
    return JoinedDrawing(output, drawn.messages, description)


def _with_instruction(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the instruction at the end of the last one."""
    *earlier, last = messages
    return (*earlier, Message(last.role, (*last.parts, Text(INSTRUCTION))))


class JoinedModel(ModelDefaults):
    """Two models as one, for callers outside of a run.

    A run asks its parts by their roles instead, so that each keeps its own batches, stored replies
    and costs. Here each reply is awaited in turn.
    """

    concurrency = 1

    def __init__(self, text: Model, drawer: Model, describe: Describe = DESCRIBE[0]) -> None:
        """Raises UsageError for parts that do not give text and pictures."""
        check_parts(text, drawer)
        self.text, self.drawer, self.describe = text, drawer, describe
        self.capabilities = joined_capabilities(text.capabilities)
        self.identity = Identity(
            JOIN,
            join_name(text.identity.name, drawer.identity.name, describe),
            {_TEXT: text.identity.digest(), _DRAW: drawer.identity.digest(), "protocol": PROTOCOL, _DESCRIBE: describe},
        )

    async def answer(self, request: Request) -> Output:
        if not isinstance(request, Draw):
            return await _ask(self.text, request)
        steps = draw_in_steps(request, self.describe, description_settings(self.text))
        asked = next(steps)
        while True:
            part = self.drawer if asked.to == DRAWER else self.text
            output = await _ask(part, replace(asked, to=request.to))
            try:
                asked = steps.send(output)
            except StopIteration as end:
                drawing: JoinedDrawing = end.value
                return drawing.output

    async def close(self) -> None:
        """End the connections of its parts."""
        for part in (self.text, self.drawer):
            if isinstance(part, RemoteModel):
                await part.close()


async def _ask(model: Model, request: Request) -> Output:
    """The output of a single request to one part."""
    if isinstance(model, BatchModel):
        # Late: the list of models is read at every start, and asyncio takes 20 ms.
        import asyncio

        outputs = await asyncio.to_thread(model.answer_batch, [request])
        value: object = outputs[0]
    else:
        value = model.answer(request)  # type: ignore[attr-defined]
        if inspect.isawaitable(value):
            value = await value
    return Generated(value) if isinstance(value, str) else cast(Output, value)


def open_join(name: str, options: Mapping[str, str]) -> Model:
    """Open `join:text=...,draw=...`. Raises UsageError for its parts."""
    from snellen.models.naming.registry import open_model

    if name:
        raise UsageError(f"{JOIN}/{name}: expected {JOIN}:text=MODEL,draw=MODEL")
    parts = join_parts(options)
    return JoinedModel(open_model(parts.text), open_model(parts.draw), parts.describe)


PROVIDER = Provider(
    name=JOIN,
    open=open_join,
    options=OPTIONS,
    models=(
        ModelListing(
            "join:text=<model>,draw=<model>", "Two models as one: the first writes text and what the second draws."
        ),
    ),
)
