"""Checkpoints whose own code prepares a request and then generates, on small random ones in the
layout of the originals: the replies are those of their model cards' code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from own_code_checkpoints import BUILDERS, open_adapter
from questions_for_models import ask, noise
from transformers import AutoModelForCausalLM, AutoProcessor, AutoTokenizer, GenerationConfig

from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.output import Failure, Generated
from snellen.core.request import Generate, Generation, Media, Message, Ref, Text, user
from snellen.models.hf.own_code.adapter import code_adapters
from snellen.models.hf.own_code.asking import ask_own_code
from snellen.models.hf.own_code.calls import part_messages
from snellen.models.hf.own_code.turns import Conversation, Turn

SHORT = Generation(max_new_tokens=6)
ONE, WIDE = noise(1), noise(2, 120, 40)
GREEDY: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "repetition_penalty": 1.0}
Folders = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The small checkpoint of an adapter, made on first use."""
    root = tmp_path_factory.mktemp("own_code")

    def folder(adapter: str) -> Path:
        path = root / adapter
        if not path.is_dir():
            path.mkdir()
            BUILDERS[adapter](path)
        return path

    return folder


def by_hand(folder: Path) -> Any:
    """The model, loaded as the model card says."""
    load = AutoModelForCausalLM.from_pretrained
    return load(folder, trust_remote_code=True, dtype=torch.float32).eval()


def picture(data: bytes) -> Any:
    return decode_image(data, 10**8)


def replies(adapter: str, folder: Path) -> list[str]:
    """What Snellen's adapter is answered about one picture, a wide one, none, and two."""
    outputs = open_adapter(adapter, folder).answer_batch(
        [
            ask("What is it?", ONE, settings=SHORT),
            ask("What is it?", WIDE, settings=SHORT),
            ask("Hello", settings=SHORT),
            ask("Which one?", ONE, WIDE, settings=SHORT),
        ]
    )
    return [output.text if isinstance(output, Generated) else repr(output) for output in outputs]


def same(ours: list[str], theirs: list[str]) -> bool:
    """Whether the replies are equal and, as those to different questions should be, different."""
    return ours == [text.strip() for text in theirs] and len(set(theirs)) == len(theirs)


def test_ovis_is_asked_as_its_model_card_says(folder_of: Folders) -> None:
    folder = folder_of("ovis")
    model = by_hand(folder)
    words = model.get_text_tokenizer()

    def chat(query: str, *pictures: bytes, parts: int = 9) -> str:
        images = [picture(data) for data in pictures]
        _, tokens, pixels = model.preprocess_inputs(query, images, max_partition=parts)
        mask = torch.ne(tokens, words.pad_token_id)
        output = model.generate(
            tokens.unsqueeze(0),
            pixel_values=[pixels],
            attention_mask=mask.unsqueeze(0),
            eos_token_id=model.generation_config.eos_token_id,
            pad_token_id=words.pad_token_id,
            use_cache=True,
            **GREEDY,
        )
        return str(words.decode(output[0], skip_special_tokens=True))

    expected = [
        chat("<image>\nWhat is it?", ONE),
        chat("<image>\nWhat is it?", WIDE),
        chat("Hello"),
        chat("Image 1: <image>\nImage 2: <image>\nWhich one?", ONE, WIDE, parts=6),
    ]
    assert same(replies("ovis", folder), expected)


def test_ovis1_5_is_asked_as_its_authors_do(folder_of: Folders) -> None:
    folder = folder_of("ovis1_5")
    model = by_hand(folder)
    words, visual = model.get_text_tokenizer(), model.get_visual_tokenizer()

    def chat(query: str, *pictures: bytes) -> str:
        _, tokens = model.get_conversation_formatter().format_query(query)
        pixels = [visual.preprocess_image(picture(data)) for data in pictures]
        output = model.generate(
            tokens.unsqueeze(0),
            pixel_values=[torch.cat(pixels) if pixels else None],
            attention_mask=torch.ne(tokens, words.pad_token_id).unsqueeze(0),
            eos_token_id=model.generation_config.eos_token_id,
            pad_token_id=words.pad_token_id,
            **GREEDY,
        )
        return str(words.decode(output[0], skip_special_tokens=True))

    expected = [
        chat("<image>\nWhat is it?", ONE),
        chat("<image>\nWhat is it?", WIDE),
        chat("Hello"),
        chat("<image>\n<image>\nWhich one?", ONE, WIDE),
    ]
    assert same(replies("ovis1_5", folder), expected)


def parts_of(question: str, *pictures: bytes) -> list[dict[str, Any]]:
    """A user's message of parts."""
    images = [{"type": "image", "image": picture(data)} for data in pictures]
    return [{"role": "user", "content": [*images, {"type": "text", "text": question}]}]


@pytest.mark.parametrize("thinking", [False, True])
def test_ovis2_5_is_asked_as_its_model_card_says(folder_of: Folders, thinking: bool) -> None:
    folder = folder_of("ovis2_5")
    model = by_hand(folder)

    def chat(question: str, *pictures: bytes) -> str:
        tokens, pixels, grids = model.preprocess_inputs(
            messages=parts_of(question, *pictures), add_generation_prompt=True, enable_thinking=thinking
        )
        output = model.generate(inputs=tokens, pixel_values=pixels, grid_thws=grids, enable_thinking=thinking, **GREEDY)
        return str(model.text_tokenizer.decode(output[0], skip_special_tokens=True))

    if thinking:
        opened = open_adapter("ovis2_5", folder, thinking="on")
        (output,) = opened.answer_batch([ask("What is it?", ONE, settings=SHORT)])
        assert isinstance(output, Generated)
        assert output.text == chat("What is it?", ONE).strip() != replies("ovis2_5", folder)[0]
        return
    expected = [chat("What is it?", ONE), chat("What is it?", WIDE), chat("Hello"), chat("Which one?", ONE, WIDE)]
    assert same(replies("ovis2_5", folder), expected)


def generate_new(model: Any, inputs: Any, **arguments: Any) -> str:
    """The text of what `generate` adds to the prompt."""
    output = model.generate(**inputs, **arguments, **GREEDY)
    words = AutoTokenizer.from_pretrained(model.config.name_or_path, trust_remote_code=True)
    new = output[0, inputs["input_ids"].shape[1] :]
    return str(words.decode(new, skip_special_tokens=True))


def test_phi3_v_is_asked_as_its_model_card_says(folder_of: Folders) -> None:
    folder = folder_of("phi3_v")
    model = by_hand(folder)

    def chat(question: str, *pictures: bytes) -> str:
        crops = 4 if len(pictures) > 1 else 16
        processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True, num_crops=crops)
        marks = "".join(f"<|image_{number}|>\n" for number in range(1, len(pictures) + 1))
        prompt = processor.tokenizer.apply_chat_template(
            [{"role": "user", "content": marks + question}], tokenize=False, add_generation_prompt=True
        )
        images = [picture(data) for data in pictures] or None
        inputs = processor(prompt, images, return_tensors="pt")
        return generate_new(model, inputs, eos_token_id=processor.tokenizer.eos_token_id)

    expected = [chat("What is it?", ONE), chat("What is it?", WIDE), chat("Hello"), chat("Which one?", ONE, WIDE)]
    assert same(replies("phi3_v", folder), expected)


def test_kimi_vl_is_asked_as_its_model_card_says(folder_of: Folders) -> None:
    folder = folder_of("kimi_vl")
    model = by_hand(folder)
    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)

    def chat(question: str, *pictures: bytes) -> str:
        text = processor.apply_chat_template(parts_of(question, *pictures), tokenize=False, add_generation_prompt=True)
        images = [picture(data) for data in pictures] or None
        return generate_new(model, processor(images=images, text=text, return_tensors="pt"))

    expected = [chat("What is it?", ONE), chat("What is it?", WIDE), chat("Hello"), chat("Which one?", ONE, WIDE)]
    assert same(replies("kimi_vl", folder), expected)


def test_pictures_as_marks_in_the_text_are_those_as_parts(folder_of: Folders) -> None:
    own = open_adapter("kimi_vl", folder_of("kimi_vl")).load()
    images = [picture(ONE), picture(WIDE)]
    turns = (
        Turn("user", (images[0], "What is it?")),
        Turn("assistant", ("A square.",)),
        Turn("user", (images[1], "And this?")),
    )
    conversation = Conversation("Be brief.", turns)
    parts = code_adapters()["kimi_vl"]
    mark = "<|media_start|>image<|media_content|><|media_pad|><|media_end|>\n"
    marks = msgspec.structs.replace(parts, one=mark)
    first, second = (ask_own_code(own, each, conversation, SHORT) for each in (parts, marks))
    assert first == second
    assert first != ask_own_code(own, marks, conversation._replace(system=""), SHORT)


def test_consecutive_texts_are_one_part_with_a_line_for_each() -> None:
    image = picture(ONE)
    turn = Turn("user", ("Look.", "Here:\n", "it is", image, "What?"))
    (message,) = part_messages(Conversation("", (turn,)))
    assert message["content"] == [
        {"type": "text", "text": "Look.\nHere:\nit is"},
        {"type": "image", "image": image},
        {"type": "text", "text": "What?"},
    ]


def test_ovis_u1_is_asked_as_vlmevalkit_does(folder_of: Folders) -> None:
    folder = folder_of("ovis_u1")
    model = by_hand(folder)
    words = model.get_text_tokenizer()

    def chat(query: str, *pictures: bytes) -> str:
        _, tokens, pixels, grids = model.preprocess_inputs(
            query, [picture(data) for data in pictures], enable_thinking=False, min_pixels=200704, max_pixels=2408448
        )
        output = model.generate(
            tokens.unsqueeze(0),
            pixel_values=pixels,
            grid_thws=grids,
            attention_mask=torch.ne(tokens, words.pad_token_id).unsqueeze(0),
            eos_token_id=words.eos_token_id,
            pad_token_id=words.pad_token_id,
            **GREEDY,
        )
        return str(words.decode(output[0], skip_special_tokens=True))

    expected = [
        chat("<image>\nWhat is it?", ONE),
        chat("<image>\nWhat is it?", WIDE),
        chat("Hello"),
        chat("<image>\n<image>\nWhich one?", ONE, WIDE),
    ]
    assert same(replies("ovis_u1", folder), expected)


def test_valley_is_asked_as_vlmevalkit_does(folder_of: Folders) -> None:
    folder = folder_of("valley")
    model = by_hand(folder)
    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)

    def chat(text: str, *pictures: bytes) -> str:
        count = max(1, len(pictures))
        inputs = processor(
            {"conversations": [{"role": "user", "content": text}], "images": [picture(data) for data in pictures]},
            min_pixels=1280 * 28 * 28 // count,
            max_pixels=16384 * 28 * 28 // count,
        )
        output = model.generate(
            input_ids=inputs["input_ids"],
            images=inputs["images"],
            image_sizes=inputs["image_sizes"],
            pixel_values=inputs["pixel_values"],
            image_grid_thw=inputs["image_grid_thw"],
            **GREEDY,
        )
        new = output[0, inputs["input_ids"].shape[1] :]
        return str(processor.tokenizer.decode(new, skip_special_tokens=True))

    expected = [
        chat(" <image> What is it?", ONE),
        chat(" <image> What is it?", WIDE),
        chat("Hello"),
        chat(" <image>  <image> Which one?", ONE, WIDE),
    ]
    assert same(replies("valley", folder), expected)


def molmo_by_hand(folder: Path) -> Callable[..., str]:
    model = by_hand(folder)
    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)

    def chat(text: str, *pictures: bytes) -> str:
        images = [picture(data) for data in pictures] or None
        inputs = processor.process(images=images, text=text)
        inputs = {name: value.unsqueeze(0) for name, value in inputs.items()}
        output = model.generate_from_batch(
            inputs, GenerationConfig(max_new_tokens=6, stop_strings="<|endoftext|>"), tokenizer=processor.tokenizer
        )
        new = output[0, inputs["input_ids"].size(1) :]
        return str(processor.tokenizer.decode(new, skip_special_tokens=True))

    return chat


def test_molmo_is_asked_as_its_model_card_says(folder_of: Folders) -> None:
    folder = folder_of("molmo")
    chat = molmo_by_hand(folder)
    expected = [chat("What is it?", ONE), chat("What is it?", WIDE), chat("Hello")]
    # It takes one picture: of several it is given the first.
    assert same(replies("molmo", folder), [*expected, chat("Which one?", ONE)])


def test_molmo_reads_earlier_turns_between_the_marks_of_its_processor(folder_of: Folders) -> None:
    folder = folder_of("molmo")
    messages = (
        user(Media("image", digest_bytes(ONE)), Text("What is it?")),
        Message("assistant", (Text("A square."),)),
        user(Text("Are you sure?")),
    )
    media = {digest_bytes(ONE): InlineSource(ONE)}
    request = Generate(messages=messages, media=media, ref=Ref("q"), settings=SHORT)
    (output,) = open_adapter("molmo", folder).answer_batch([request])
    assert not isinstance(output, Failure)
    expected = molmo_by_hand(folder)("What is it? Assistant: A square. User: Are you sure?", ONE)
    assert isinstance(output, Generated)
    assert output.text == expected.strip()
