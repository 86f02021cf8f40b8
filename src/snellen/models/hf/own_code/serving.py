"""A checkpoint's own code behind a one-file server, in an environment with the transformers that it
needs (`zoo/own_code_*.py` of the repository).

Snellen is not installed there: what this module imports needs msgspec and nothing else that is not
part of Python, until the model is loaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter, adapter_names, code_adapters
from snellen.models.hf.own_code.asking import ask_for_one_token, ask_own_code, count_tokens, set_attributes
from snellen.models.hf.own_code.turns import as_conversation
from snellen.models.hf.own_code.values import OwnCode
from snellen.models.naming.routes import checkpoint_layout
from snellen.models.split_batch import Unsupported


class CheckpointToServe(Protocol):
    """What a one-file server is told of its checkpoint (`environments/chat_server.py`)."""

    name: str
    folder: str
    own_code: bool

    @property
    def device(self) -> str: ...

    @property
    def dtype(self) -> Any: ...


class ServedOwnCode:
    """A checkpoint that is loaded by its own code, and asked as the adapter of its layout says."""

    def __init__(self, checkpoint: CheckpointToServe) -> None:
        """Raises ValueError if the checkpoint's code may not run, or no adapter has its layout, and
        what the code raises when it is loaded and asked for one token."""
        if not checkpoint.own_code:
            raise ValueError(f"{checkpoint.name} runs its own code: give trust_remote_code=yes")
        self._adapter = _find_adapter(checkpoint)
        self._own = _load(checkpoint, self._adapter)
        ask_for_one_token(self._own, self._adapter)

    def answer(self, chat: Any, settings: Any) -> dict[str, Any]:
        """The reply to a request of `chat_server`. Raises ValueError for one that the code cannot
        take."""
        messages = [
            (message["role"], [part.get("image") or part.get("text") for part in message["content"]])
            for message in chat.messages
        ]
        generation = Generation(
            max_new_tokens=settings.max_tokens,
            temperature=settings.temperature,
            top_p=1.0 if settings.top_p is None else settings.top_p,
            top_k=settings.top_k or 0,
            repetition_penalty=settings.repetition_penalty or 1.0,
        )
        try:
            conversation = as_conversation(messages, self._adapter)
            text = ask_own_code(self._own, self._adapter, conversation, generation)
        except Unsupported as error:
            raise ValueError(str(error)) from error
        return {"text": text.strip(), "completion_tokens": count_tokens(self._own, text)}


def _find_adapter(checkpoint: CheckpointToServe) -> CodeAdapter:
    """The adapter of a checkpoint's layout: that of its hub id, or that which its files declare."""
    config = json.loads((Path(checkpoint.folder) / "config.json").read_text(encoding="utf-8"))
    layout = checkpoint_layout(checkpoint.name, config)
    name = adapter_names().get(layout)
    if name is None:
        raise ValueError(f"no adapter asks the layout {layout or 'unknown'} of {checkpoint.name}")
    return code_adapters()[name]


def _load(checkpoint: CheckpointToServe, adapter: CodeAdapter) -> OwnCode:
    import torch
    import transformers

    def load(auto_class: str, **arguments: Any) -> Any:
        return getattr(transformers, auto_class).from_pretrained(checkpoint.folder, trust_remote_code=True, **arguments)

    tokenizer = load("AutoTokenizer")
    processor = load(adapter.processor) if adapter.processor else None
    model = load(adapter.loads, torch_dtype=checkpoint.dtype).to(checkpoint.device).eval()
    own = OwnCode(model, tokenizer, processor, checkpoint.device, torch.get_num_threads())
    set_attributes(own, adapter)
    return own
