"""CogVLM and CogVLM2: `build_conversation_input_ids` sets the picture's places in the prompt, then
`generate` goes on.

Source: the model card of https://huggingface.co/THUDM/cogvlm2-llama3-chat-19B, and its
modeling_cogvlm.py.
"""

from __future__ import annotations

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode

_PAD = 128002
"""What stands for the places of a picture; the model card names it for `generate` too."""


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation with one picture at most."""
    texts = conversation.with_system_first().texts(adapter)
    images = [image.convert("RGB") for image in conversation.images]
    built = own.model.build_conversation_input_ids(
        own.tokenizer, query=texts[-1], history=list(zip(texts[:-1:2], texts[1::2], strict=True)), images=images or None
    )
    inputs = {
        name: built[name].unsqueeze(0).to(own.device) for name in ("input_ids", "token_type_ids", "attention_mask")
    }
    if images:
        inputs["images"] = [[built["images"][0].to(own.device, own.model.dtype)]]
    output = own.model.generate(**inputs, **{"pad_token_id": _PAD} | generate_settings(adapter, settings))
    return reply_text(own, output[0, inputs["input_ids"].shape[1] :])
