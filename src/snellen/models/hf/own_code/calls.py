"""Ways to ask code that one call of a method does not ask: it prepares a request, then generates.

Each returns the reply's text; adapters name one by `call`. None depends on a version of
transformers, so that they run in an environment with an older one too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.hf.own_code.values import OwnCode, decoding_settings, picture_files
from snellen.models.split_batch import Unsupported

_PHI3_PARTS_OF_ONE = 16
_PHI3_PARTS_OF_EACH = 4
_COGVLM_PAD = 128002
"""What stands for the places of a picture; the model card names it for `generate` too."""
_MOLMO_END = "<|endoftext|>"
_MOONDREAM_PROMPT = "<image>\n\nQuestion: {question}\n\nAnswer:"
_MOONDREAM_END = "<END>"
_OVIS_SPEAKERS = {"user": "human", "assistant": "gpt"}
_OVIS_PARTS_OF_ONE = 9
_OVIS_PARTS_OF_ALL = 12


def generate_settings(adapter: CodeAdapter, settings: Generation) -> dict[str, Any]:
    """Arguments of `generate`. The repetition penalty always is among them: otherwise that of the
    checkpoint's generation_config.json would hold."""
    penalty = {"repetition_penalty": float(settings.repetition_penalty)}
    return penalty | decoding_settings(adapter, settings)


def reply_text(own: OwnCode, tokens: Any) -> str:
    """The text of a reply's tokens, shape (tokens,), without marks such as that of its end."""
    text: str = own.tokenizer.decode(tokens, skip_special_tokens=True)
    return text


def part_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The messages of a conversation, that of the system first if there is one. Their contents are
    lists of parts with types; consecutive texts are one, with a line for each."""
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append({"role": "system", "content": conversation.system})
    for turn in conversation.turns:
        parts: list[dict[str, Any]] = []
        for part in turn.parts:
            if not isinstance(part, str):
                parts.append({"type": "image", "image": part})
            elif parts and parts[-1]["type"] == "text":
                before = parts[-1]["text"]
                parts[-1]["text"] = before + ("" if before.endswith("\n") else "\n") + part
            else:
                parts.append({"type": "text", "text": part})
        messages.append({"role": turn.role, "content": parts})
    return messages


def text_messages(adapter: CodeAdapter, conversation: Conversation) -> list[dict[str, str]]:
    """The messages of a conversation, that of the system first if there is one. Their contents are
    texts, with the adapter's marks where pictures stand."""
    messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
    texts = conversation.texts(adapter)
    return messages + [
        {"role": turn.role, "content": text} for turn, text in zip(conversation.turns, texts, strict=True)
    ]


def ask_processor(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Checkpoints with a processor of their own: a chat template writes the prompt, the processor
    joins it with the pictures, and `generate` returns the prompt and the reply.

    The adapter's `options` go to the chat template, which is given pictures as parts of messages,
    or as marks in their texts if the adapter has one. Source: the model cards of the families in
    adapters.toml, and their wrappers in VLMEvalKit.
    """
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
    return _generate_after(own, adapter, settings, prompt, conversation.images)


def _generate_after(
    own: OwnCode, adapter: CodeAdapter, settings: Generation, prompt: str, images: list[Any], **arguments: Any
) -> str:
    """The reply to a prompt and its pictures; `arguments` are further ones of `generate`."""
    inputs = own.processor(text=prompt, images=images or None, return_tensors="pt").to(own.device)
    output = own.model.generate(**inputs, **arguments, **generate_settings(adapter, settings))
    return reply_text(own, output[0, inputs["input_ids"].shape[1] :])


def ask_phi3_v(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Phi-3-Vision and Phi-3.5-Vision: the tokenizer has the chat template, pictures are marks with
    numbers, and several pictures are cut into fewer parts each.

    Source: the model card of https://huggingface.co/microsoft/Phi-3.5-vision-instruct (16 parts of
    one picture, 4 of each of several), and processing_phi3_v.py there.
    """
    prompt = own.tokenizer.apply_chat_template(
        text_messages(adapter, conversation), tokenize=False, add_generation_prompt=True
    )
    images = conversation.images
    own.processor.image_processor.num_crops = _PHI3_PARTS_OF_EACH if len(images) > 1 else _PHI3_PARTS_OF_ONE
    return _generate_after(own, adapter, settings, prompt, images, eos_token_id=own.tokenizer.eos_token_id)


def ask_cogvlm(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """CogVLM and CogVLM2: `build_conversation_input_ids` sets the picture's places in the prompt, then
    `generate` goes on.

    The reply to a conversation with one picture at most. Source: the model card of
    https://huggingface.co/THUDM/cogvlm2-llama3-chat-19B, and its modeling_cogvlm.py.
    """
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
    output = own.model.generate(**inputs, **{"pad_token_id": _COGVLM_PAD} | generate_settings(adapter, settings))
    return reply_text(own, output[0, inputs["input_ids"].shape[1] :])


def ask_file_prompt(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Qwen-VL and Monkey: the prompt names the files of the pictures, which the model reads.

    The reply to a conversation, whose turns stand below each other; what `options` call `behind`
    stands behind the last. Source: README.md and eval_mm/evaluate_vqa.py of
    https://github.com/QwenLM/Qwen-VL, and README.md of https://github.com/Yuliang-Liu/Monkey.
    """
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


def ask_molmo(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Molmo: `process` of its processor joins a picture and a text, `generate_from_batch` goes on.

    The reply to a conversation, whose picture stands in front of everything. Source: the model card
    of https://huggingface.co/allenai/Molmo-7B-D-0924, and preprocessing_molmo.py and
    modeling_molmo.py there.
    """
    from transformers import GenerationConfig

    texts = conversation.with_system_first().texts(adapter)
    inputs: dict[str, Any] = own.processor.process(images=conversation.images or None, text=_join_turns(texts))
    batch = {name: value.unsqueeze(0).to(own.device) for name, value in inputs.items()}
    if "images" in batch:
        batch["images"] = batch["images"].to(own.model.dtype)
    output = own.model.generate_from_batch(
        batch,
        GenerationConfig(stop_strings=_MOLMO_END, **generate_settings(adapter, settings)),
        tokenizer=own.tokenizer,
    )
    return reply_text(own, output[0, batch["input_ids"].shape[1] :])


def _join_turns(texts: list[str]) -> str:
    """The text that becomes a conversation when the processor writes `User:` in front of it and
    `Assistant:` behind it: the marks between its turns are the processor's own."""
    text = texts[0]
    for answer, question in zip(texts[1::2], texts[2::2], strict=True):
        text += f" Assistant: {answer} User: {question}"
    return text


def ask_moondream1(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """moondream1: `encode_image` reads the picture, `generate` answers a prompt about it.

    The reply to one question about one picture. Raises Unsupported for earlier turns. Source:
    vlmeval/vlm/moondream.py of VLMEvalKit (class Moondream1), and the README of that time of
    https://github.com/vikhyat/moondream.
    """
    if len(conversation.turns) > 1:
        raise Unsupported("the model's code takes one question, without earlier turns")
    (question,) = conversation.with_system_first().texts(adapter)
    replies: Any = own.model.generate(
        own.model.encode_image(conversation.images[0]),
        _MOONDREAM_PROMPT.format(question=question),
        eos_text=_MOONDREAM_END,
        tokenizer=own.tokenizer,
        **generate_settings(adapter, settings),
    )
    reply: str = replies[0]
    # Of the end's mark, which is three tokens, the last ones remain.
    return reply.removesuffix(_MOONDREAM_END).removesuffix("END").removesuffix("<")


def ask_mplug_owl3(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> Any:
    """mPLUG-Owl3: its processor, which the model makes, joins messages and pictures; `generate`
    returns the reply's text.

    The reply to a conversation, in a list. The last message, which is empty, is the answer's.
    Source: the model card of https://huggingface.co/mPLUG/mPLUG-Owl3-7B-240728, and its
    modeling_mplugowl3.py and processing_mplugowl3.py.
    """
    first = conversation.with_system_first()
    messages = [
        {"role": turn.role, "content": text} for turn, text in zip(first.turns, first.texts(adapter), strict=True)
    ]
    processor = own.model.init_processor(own.tokenizer)
    images = [image.convert("RGB") for image in conversation.images]
    inputs = processor([*messages, {"role": "assistant", "content": ""}], images=images or None, videos=None)
    inputs.to(own.device)
    if images:
        inputs["pixel_values"] = inputs["pixel_values"].to(own.model.dtype)
    return own.model.generate(
        **inputs, tokenizer=own.tokenizer, decode_text=True, **generate_settings(adapter, settings)
    )


def ask_ovis(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Ovis 1.6 and 2: `preprocess_inputs` cuts the pictures and sets their places in the prompt, then
    `generate` returns the new tokens alone.

    One picture is cut into at most 9 parts, several share 12. Source: the model card of
    https://huggingface.co/AIDC-AI/Ovis2-34B, whose example of three pictures has 4 parts for each,
    and the wrapper of VLMEvalKit (vlmeval/vlm/ovis/ovis.py, class Ovis2), which divides 12 parts
    among them.
    """
    images = conversation.images
    parts = _OVIS_PARTS_OF_ONE if len(images) <= 1 else max(1, _OVIS_PARTS_OF_ALL // len(images))
    _, tokens, pixels = own.model.preprocess_inputs(_ovis_sides(adapter, conversation), images, max_partition=parts)
    return _ovis_reply(own, adapter, settings, tokens, pixels)


def _ovis_sides(adapter: CodeAdapter, conversation: Conversation) -> list[dict[str, str]]:
    """The turns as Ovis' code takes them. The system's text stands in front of the first question:
    not each of its language models takes one."""
    conversation = conversation.with_system_first()
    return [
        {"from": _OVIS_SPEAKERS[turn.role], "value": text}
        for turn, text in zip(conversation.turns, conversation.texts(adapter), strict=True)
    ]


def _ovis_reply(own: OwnCode, adapter: CodeAdapter, settings: Generation, tokens: Any, pixels: Any) -> str:
    """The reply to a prompt of tokens, shape (tokens,), and the pixels of all parts of pictures,
    shape (parts, 3, height, width); None without pictures."""
    model = own.model
    padding = model.get_text_tokenizer().pad_token_id
    tokens = tokens.unsqueeze(0).to(own.device)
    reply = model.generate(
        tokens,
        pixel_values=[None if pixels is None else pixels.to(own.device, dtype=model.dtype)],
        attention_mask=tokens != padding,
        eos_token_id=model.generation_config.eos_token_id,
        pad_token_id=padding,
        use_cache=True,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])


def ask_ovis1_5(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Ovis 1.5: its conversation formatter and its visual tokenizer are called one by one.

    The reply to a conversation, whose pictures are resized, not cut. Source: the wrapper of
    VLMEvalKit (vlmeval/vlm/ovis/ovis.py, class Ovis), and the first release of modeling_ovis.py and
    conversation_formatter.py of https://github.com/AIDC-AI/Ovis.
    """
    import torch

    _, tokens, _ = own.model.get_conversation_formatter().format(
        _ovis_sides(adapter, conversation), generation_preface=""
    )
    visual = own.model.get_visual_tokenizer()
    pixels = [visual.preprocess_image(image) for image in conversation.images]
    return _ovis_reply(own, adapter, settings, torch.as_tensor(tokens), torch.cat(pixels) if pixels else None)


def ask_ovis2_5(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Ovis 2.5: `preprocess_inputs` takes messages of parts, `generate` the grids of the pictures too.

    The reply to a conversation, with thoughts in front of it if thinking=yes. Source:
    modeling_ovis2_5.py of https://huggingface.co/AIDC-AI/Ovis2.5-2B, and its model card.
    """
    model = own.model
    tokens, pixels, grids = model.preprocess_inputs(
        messages=part_messages(conversation), add_generation_prompt=True, enable_thinking=bool(own.thinking)
    )
    reply = model.generate(
        inputs=tokens.to(own.device),
        pixel_values=None if pixels is None else pixels.to(own.device, dtype=model.dtype),
        grid_thws=None if grids is None else grids.to(own.device),
        eos_token_id=model.text_tokenizer.eos_token_id,
        pad_token_id=model.text_tokenizer.pad_token_id,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])


def ask_ovis_u1(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Ovis-U1: `preprocess_inputs` takes sides as that of Ovis 2, and returns the pictures' grids too.

    The adapter's `options` are the limits of pixels. Source: the wrapper of VLMEvalKit
    (vlmeval/vlm/ovis/ovis.py, class OvisU1), and its limits of pixels.
    """
    model = own.model
    _, tokens, pixels, grids = model.preprocess_inputs(
        _ovis_sides(adapter, conversation),
        conversation.images or None,
        enable_thinking=bool(own.thinking),
        **adapter.options,
    )
    words = model.get_text_tokenizer()
    tokens = tokens.reshape(1, -1).to(own.device)
    reply = model.generate(
        tokens,
        pixel_values=None if pixels is None else pixels.to(own.device, dtype=model.dtype),
        grid_thws=None if grids is None else grids.to(own.device),
        attention_mask=tokens != words.pad_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        use_cache=True,
        **generate_settings(adapter, settings),
    )
    return reply_text(own, reply[0])


def ask_valley(own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation) -> str:
    """Valley2 and Valley3: the processor takes a conversation and pictures in one dict, and prepares
    the pictures for two encoders.

    The adapter's `options` are the limits of pixels. Source: the wrappers of VLMEvalKit
    (vlmeval/vlm/valley/valley2.py and valley3.py), with their limits of pixels, which all pictures
    share, and processing_valley.py of https://huggingface.co/bytedance-research/Valley2-DPO.
    """
    images = conversation.images
    shares = {name: limit // max(1, len(images)) for name, limit in adapter.options.items()}
    thinking = {} if own.thinking is None else {"enable_thinking": own.thinking}
    inputs = own.processor(
        {"conversations": text_messages(adapter, conversation), "images": images}, **shares, **thinking
    )
    tokens = inputs["input_ids"].to(own.device)
    output = own.model.generate(
        input_ids=tokens,
        images=_on_device(inputs["images"], own),
        image_sizes=inputs["image_sizes"],
        pixel_values=_on_device(inputs["pixel_values"], own),
        image_grid_thw=inputs["image_grid_thw"].to(own.device),
        **generate_settings(adapter, settings),
    )
    return reply_text(own, output[0, tokens.shape[1] :])


def _on_device(pixels: Any, own: OwnCode) -> Any:
    """Pixels, or lists of them, on the model's device and in its dtype."""
    if pixels is None:
        return None
    if isinstance(pixels, list):
        return [_on_device(each, own) for each in pixels]
    return pixels.to(own.device, dtype=own.model.dtype)


Ask = Callable[[OwnCode, CodeAdapter, Conversation, Generation], Any]
WAYS: Mapping[str, Ask] = {
    "cogvlm": ask_cogvlm,
    "file_prompt": ask_file_prompt,
    "molmo": ask_molmo,
    "moondream1": ask_moondream1,
    "mplug_owl3": ask_mplug_owl3,
    "ovis": ask_ovis,
    "ovis1_5": ask_ovis1_5,
    "ovis2_5": ask_ovis2_5,
    "ovis_u1": ask_ovis_u1,
    "phi3_v": ask_phi3_v,
    "processor": ask_processor,
    "valley": ask_valley,
}
"""By the value of `call` in adapters.toml."""
