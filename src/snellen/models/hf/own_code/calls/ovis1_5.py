"""Ovis 1.5: its conversation formatter and its visual tokenizer are called one by one.

Source: the wrapper of VLMEvalKit (vlmeval/vlm/ovis/ovis.py, class Ovis), and the first release of
modeling_ovis.py and conversation_formatter.py of https://github.com/AIDC-AI/Ovis.
"""

from __future__ import annotations

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.ovis import generate_reply, sides
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation, whose pictures are resized, not cut."""
    import torch

    _, tokens, _ = own.model.get_conversation_formatter().format(sides(adapter, conversation), generation_preface="")
    visual = own.model.get_visual_tokenizer()
    pixels = [visual.preprocess_image(image) for image in conversation.images]
    return generate_reply(own, adapter, settings, torch.as_tensor(tokens), torch.cat(pixels) if pixels else None)
