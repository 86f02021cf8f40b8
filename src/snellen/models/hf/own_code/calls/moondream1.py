"""moondream1: `encode_image` reads the picture, `generate` answers a prompt about it.

Source: vlmeval/vlm/moondream.py of VLMEvalKit (class Moondream1), and the README of that time of
https://github.com/vikhyat/moondream.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode
from snellen.models.split_batch import Unsupported

_PROMPT = "<image>\n\nQuestion: {question}\n\nAnswer:"
_END = "<END>"


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to one question about one picture. Raises Unsupported for earlier turns."""
    if len(conversation.turns) > 1:
        raise Unsupported("the model's code takes one question, without earlier turns")
    (question,) = conversation.with_system_first().texts(adapter)
    replies: Any = own.model.generate(
        own.model.encode_image(conversation.images[0]),
        _PROMPT.format(question=question),
        eos_text=_END,
        tokenizer=own.tokenizer,
        **generate_settings(adapter, settings),
    )
    reply: str = replies[0]
    # Of the end's mark, which is three tokens, the last ones remain.
    return reply.removesuffix(_END).removesuffix("END").removesuffix("<")
