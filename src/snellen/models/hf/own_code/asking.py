"""One conversation asked by a checkpoint's own code, as its adapter says."""

from __future__ import annotations

import tempfile
from pathlib import Path

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls import WAYS
from snellen.models.hf.own_code.turns import Conversation, Turn
from snellen.models.hf.own_code.values import OwnCode, RequestValues


def set_attributes(own: OwnCode, adapter: CodeAdapter) -> None:
    """Set the attributes that the model's code wants before it is asked."""
    values = {"$tokenizer": own.tokenizer, "$processor": own.processor}
    for name, value in adapter.attributes.items():
        setattr(own.model, name, values[value])


def ask_own_code(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The text that the checkpoint's code returns for a conversation, the first part where it
    returns several. Raises Unsupported for what the code cannot take, and what it raises."""
    import torch

    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        if adapter.call:
            reply = WAYS[adapter.call](own, adapter, conversation, settings)
        else:
            values = RequestValues(own, adapter, conversation, settings, Path(folder))
            reply = getattr(own.model, adapter.method)(**values.arguments())
            reply = reply[adapter.reply] if adapter.reply else reply
    while isinstance(reply, tuple | list):
        reply = reply[0]
    if not isinstance(reply, str):
        raise TypeError(f"the checkpoint's code returned {type(reply).__name__}, expected text")
    return reply


def ask_for_one_token(own: OwnCode, adapter: CodeAdapter) -> None:
    """Ask about one grey picture for one token: whether the code runs at all. Raises what the code
    raises."""
    from PIL import Image

    question = Conversation("", (Turn("user", (Image.new("RGB", (56, 56), "grey"), "?")),))
    ask_own_code(own, adapter, question, Generation(max_new_tokens=1))


def count_tokens(own: OwnCode, text: str) -> int:
    """The tokens of a reply's text."""
    return len(own.tokenizer(text, add_special_tokens=False)["input_ids"])
