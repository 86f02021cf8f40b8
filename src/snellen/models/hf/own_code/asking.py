"""One conversation asked by a checkpoint's own code, as its adapter says."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode, RequestValues


def set_attributes(own: OwnCode, adapter: CodeAdapter) -> None:
    """Set the attributes that the model's code wants before it is asked."""
    values = {"$tokenizer": own.tokenizer, "$processor": own.processor}
    for name, value in adapter.attributes.items():
        setattr(own.model, name, values[value])


def ask_own_code(
    own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation
) -> Any:
    """What the checkpoint's code returns for a conversation: the reply's text, or a list or tuple
    that begins with it. Raises Unsupported for what the code cannot take, and what it raises."""
    import torch

    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        if adapter.call:
            module = import_module(f"{__package__}.calls.{adapter.call}")
            return module.ask(own, adapter, conversation, settings)
        values = RequestValues(own, adapter, conversation, settings, Path(folder))
        reply = getattr(own.model, adapter.method)(**values.arguments())
        return reply[adapter.reply] if adapter.reply else reply
