"""Qwen-VL and Monkey: the prompt names the files of the pictures, which the model reads.

Source: README.md and eval_mm/evaluate_vqa.py of https://github.com/QwenLM/Qwen-VL, and README.md of
https://github.com/Yuliang-Liu/Monkey.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.calls.generation import generate_settings, reply_text
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode, picture_files


def ask(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """The reply to a conversation, whose turns stand below each other; what `options` call `behind`
    stands behind the last."""
    # Qwen's own tokenizer has no end-of-text token by the usual name.
    end = getattr(own.tokenizer, "eod_id", own.tokenizer.eos_token_id)
    with tempfile.TemporaryDirectory() as folder:
        files = picture_files(conversation, Path(folder))
        texts = conversation.with_system_first().texts(adapter, files)
        prompt = "\n".join(texts) + adapter.options["behind"]
        inputs = own.tokenizer(prompt, return_tensors="pt")
        ids = inputs["input_ids"].to(own.device)
        output = own.model.generate(
            input_ids=ids,
            attention_mask=inputs["attention_mask"].to(own.device),
            pad_token_id=end,
            eos_token_id=end,
            **generate_settings(adapter, settings),
        )
    return reply_text(own, output[0, ids.shape[1] :])
