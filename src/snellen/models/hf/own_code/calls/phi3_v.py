"""Phi-3-Vision and Phi-3.5-Vision: the tokenizer has the chat template, pictures are marks with
numbers, and several pictures are cut into fewer parts each.

Source: the model card of https://huggingface.co/microsoft/Phi-3.5-vision-instruct (16 parts of one
picture, 4 of each of several), and processing_phi3_v.py there.
"""

from __future__ import annotations

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.messages import text_messages
from snellen.models.hf.own_code.calls.processor import generate_after
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode

_PARTS_OF_ONE = 16
_PARTS_OF_EACH = 4


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation."""
    prompt = own.tokenizer.apply_chat_template(
        text_messages(adapter, conversation), tokenize=False, add_generation_prompt=True
    )
    images = conversation.images
    own.processor.image_processor.num_crops = _PARTS_OF_EACH if len(images) > 1 else _PARTS_OF_ONE
    return generate_after(own, adapter, settings, prompt, images, eos_token_id=own.tokenizer.eos_token_id)
