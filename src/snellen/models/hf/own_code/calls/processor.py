"""Checkpoints with a processor of their own: a chat template writes the prompt, the processor joins
it with the pictures, and `generate` returns the prompt and the reply.

Source: the model cards of the families in adapters.toml, and their wrappers in VLMEvalKit.
"""

from __future__ import annotations

from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.calls.messages import part_messages, text_messages
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation. The adapter's `options` go to the chat template, which is given
    pictures as parts of messages, or as marks in their texts if the adapter has one."""
    arguments = dict(adapter.options)
    if own.thinking is not None:
        arguments["enable_thinking"] = own.thinking
    messages: list[Any] = part_messages(conversation)
    if adapter.one:
        messages = [
            {**message, "content": [{"type": "text", "text": message["content"]}]}
            for message in text_messages(adapter, conversation)
        ]
    templates = own.processor if own.processor.chat_template else own.tokenizer
    prompt = templates.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **arguments)
    return generate_after(own, adapter, settings, prompt, conversation.images)


def generate_after(
    own: OwnCode, adapter: CodeAdapter, settings: Generation, prompt: str, images: list[Any], **arguments: Any
) -> str:
    """The reply to a prompt and its pictures; `arguments` are further ones of `generate`."""
    inputs = own.processor(text=prompt, images=images or None, return_tensors="pt").to(own.device)
    output = own.model.generate(**inputs, **arguments, **generate_settings(adapter, settings))
    return reply_text(own, output[0, inputs["input_ids"].shape[1] :])
