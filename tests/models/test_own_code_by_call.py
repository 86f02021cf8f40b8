"""Checkpoints that one call of their own code asks, on small random ones in the layout of the
originals: the replies are those of the call that their model cards show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
import transformers
from own_code_by_call import BUILDERS, ristretto
from own_code_checkpoints import open_adapter
from PIL import Image
from questions_for_models import ask, noise
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoTokenizer, CLIPImageProcessor

from snellen.core.errors import UsageError
from snellen.core.media import decode_image
from snellen.core.output import Failure, Generated
from snellen.core.request import Generation, Text
from snellen.models.hf.own_code.adapter import code_adapters
from snellen.models.hf.own_code.tiles import TileSettings, choose_grid, cut_tiles, tile_images
from snellen.models.naming.registry import open_model

SHORT = Generation(max_new_tokens=6)
ONE, WIDE = noise(1), noise(2, 120, 40)
GREEDY: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False}
BEAMLESS = {**GREEDY, "num_beams": 1}
PICTURES: dict[str, tuple[bytes, ...]] = {"one": (ONE,), "wide": (WIDE,), "none": (), "two": (ONE, WIDE)}
QUESTION = "What is it?"


class ByHand:
    """A checkpoint that is constructed, given its weights and called without Snellen."""

    def __init__(self, folder: Path, files: Path, loads: str) -> None:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
        model = getattr(transformers, loads).from_config(config, trust_remote_code=True)
        model.load_state_dict(load_file(folder / "model.safetensors"))
        self.folder = folder
        self.model = model.float().eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
        self.model.tokenizer = self.tokenizer
        self._files = files

    def files(self, pictures: tuple[bytes, ...]) -> list[str]:
        """The pictures as files."""
        paths = [self._files / f"hand-{number}.png" for number in range(len(pictures))]
        for path, data in zip(paths, pictures, strict=True):
            picture(data).save(path)
        return [str(path) for path in paths]


def picture(data: bytes) -> Image.Image:
    return decode_image(data, 10**8)


def marked(one: str, several: str, count: int) -> str:
    """The question behind the marks of its pictures."""
    marks = one if count == 1 else "".join(several.replace("{n}", str(i + 1)) for i in range(count))
    return marks + QUESTION


def chat_of_tiles(hand: ByHand, pictures: tuple[bytes, ...], **more: Any) -> str:
    tiles = more.pop("tiles")
    pixels, counts = None, []
    if pictures:
        images = [picture(data) for data in pictures]
        pixels, counts = tile_images(images, tiles, torch.float32, "cpu")
    question = marked("<image>\n", "Image-{n}: <image>\n", len(pictures))
    reply: str = hand.model.chat(
        tokenizer=hand.tokenizer,
        pixel_values=pixels,
        question=question,
        generation_config=dict(BEAMLESS),
        num_patches_list=counts,
        **more,
    )
    return reply


def sail_vl(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    return chat_of_tiles(hand, pictures, tiles=TileSettings(28, 1, 10))


def ristretto_chat(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    halves = (0.5, 0.5, 0.5)
    tiles = TileSettings(28, 1, 10, mean=halves, deviation=halves)
    return chat_of_tiles(hand, pictures, tiles=tiles, num_image_token=256)


def minimonkey(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    tiles = TileSettings(28, 4, 12, second=(3, 7))
    return chat_of_tiles(hand, pictures, tiles=tiles, target_aspect_ratio=(1, 1))


def xcomposer2(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    (image,) = hand.files(pictures) or [None]
    query = marked("<ImageHere>", "", len(pictures))
    reply, _ = hand.model.chat(hand.tokenizer, query=query, image=image, history=[], **BEAMLESS)
    return str(reply)


def xcomposer2d5(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    query = marked("<ImageHere>", "Image{n} <ImageHere>; ", len(pictures))
    reply, _ = hand.model.chat(hand.tokenizer, query, hand.files(pictures), use_meta=True, **BEAMLESS)
    return str(reply)


def qwen_vl_chat(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    marks = [f"Picture {i + 1}: <img>{file}</img>\n" for i, file in enumerate(hand.files(pictures))]
    query = "".join(marks) + QUESTION
    reply, _ = hand.model.chat(hand.tokenizer, query=query, history=None, **BEAMLESS)
    return str(reply)


def file_prompt(hand: ByHand, prompt: str) -> str:
    ids = hand.tokenizer(prompt, return_tensors="pt")["input_ids"]
    output = hand.model.generate(input_ids=ids, **BEAMLESS)
    text: str = hand.tokenizer.decode(output[0][ids.size(1) :], skip_special_tokens=True)
    return text.strip()


def qwen_vl(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    marks = "".join(f"<img>{file}</img>" for file in hand.files(pictures))
    return file_prompt(hand, f"{marks}{QUESTION} Answer:")


def monkey(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    marks = "".join(f"<img>{file}</img> " for file in hand.files(pictures))
    return file_prompt(hand, f"{marks}{QUESTION} Answer: ")


def h2ovl(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    question = marked("<image>\n", "<image-{n}>: <image>\n", len(pictures))
    reply, _ = hand.model.chat(
        hand.tokenizer,
        image_files=hand.files(pictures),
        question=question,
        generation_config=dict(BEAMLESS),
        max_tiles=6,
        history=None,
        return_history=True,
    )
    return str(reply)


def points(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    processor = CLIPImageProcessor.from_pretrained(hand.folder)
    reply: str = hand.model.chat(picture(pictures[0]), QUESTION, hand.tokenizer, processor, True, dict(BEAMLESS), 8)
    return reply


def flash_vl(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    hand.model.im_trans = CLIPImageProcessor.from_pretrained(hand.folder)
    messages = [{"role": "user", "content": QUESTION}]
    reply: str = hand.model.chat(picture(pictures[0]), messages, **GREEDY)
    return reply


def moondream2(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    image = picture(pictures[0]) if pictures else None
    settings = {"temperature": 0, "max_tokens": 6, "variant": None}
    reply: str = hand.model.query(image, QUESTION, settings=settings)["answer"]
    return reply


def tinyllava(hand: ByHand, pictures: tuple[bytes, ...]) -> str:
    (image,) = hand.files(pictures) or [None]
    reply, _ = hand.model.chat(prompt=QUESTION, image=image, tokenizer=hand.tokenizer, max_new_tokens=6)
    return str(reply)


CALLS: dict[str, tuple[Callable[[ByHand, tuple[bytes, ...]], str], tuple[str, ...]]] = {
    "sail_vl": (sail_vl, ("one", "wide", "none", "two")),
    "minimonkey": (minimonkey, ("one", "wide", "none", "two")),
    "xcomposer2": (xcomposer2, ("one", "wide", "none")),
    "xcomposer2d5": (xcomposer2d5, ("one", "wide", "none", "two")),
    "qwen_vl_chat": (qwen_vl_chat, ("one", "wide", "none", "two")),
    "qwen_vl": (qwen_vl, ("one", "wide", "none", "two")),
    "monkey": (monkey, ("one", "wide", "none")),
    "h2ovl": (h2ovl, ("one", "wide", "none", "two")),
    "points": (points, ("one", "wide")),
    "flash_vl": (flash_vl, ("one", "wide")),
    "tinyllava": (tinyllava, ("one", "wide", "none")),
    "moondream2": (moondream2, ("one", "wide", "none")),
    "ristretto": (ristretto_chat, ("one", "wide", "none", "two")),
}
"""The call of each adapter, and which of `PICTURES` it can be asked about."""


@pytest.mark.parametrize("name", sorted(CALLS))
def test_code_is_asked_as_its_model_card_says(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    BUILDERS[name](folder)
    call, cases = CALLS[name]
    hand = ByHand(folder, tmp_path, code_adapters()[name].loads)
    requests = [ask(QUESTION, *PICTURES[case], settings=SHORT) for case in cases]
    outputs = open_adapter(name, folder).answer_batch(requests)
    replies = [output.text for output in outputs if isinstance(output, Generated)]
    assert replies == [call(hand, PICTURES[case]) for case in cases], outputs
    assert len(set(replies)) == len(cases)


def test_older_code_is_finished_as_transformers_5_expects(tmp_path: Path) -> None:
    ristretto(tmp_path)
    with pytest.raises(AttributeError, match="all_tied_weights_keys"):
        AutoModel.from_pretrained(tmp_path, trust_remote_code=True)
    model = open_model(f"hf/{tmp_path}", {"trust_remote_code": "yes", "device": "cpu"}).load().model
    width = model.config.llm_config.hidden_size
    # A buffer that no file holds: without care it is whatever the memory held.
    assert torch.equal(model.scale, torch.linspace(0.5, 1.5, width))


def test_code_of_another_transformers_ends_in_a_sentence(tmp_path: Path) -> None:
    ristretto(tmp_path)
    code = tmp_path / "modeling_ristretto.py"
    text = code.read_text(encoding="utf-8")
    code.write_text(text.replace("super().__init__(config)", "super().__init__(config.gone)"))
    model = open_model(f"hf/{tmp_path}", {"trust_remote_code": "yes", "device": "cpu"})
    with pytest.raises(UsageError, match=r"RistrettoModel\) cannot be loaded: .*gone"):
        model.load()


def test_settings_that_code_does_not_know_are_refused(tmp_path: Path) -> None:
    BUILDERS["tinyllava"](tmp_path)
    drawn = Generation(max_new_tokens=6, temperature=0.7, top_p=0.9, seed=1)
    asked = [drawn, msgspec.structs.replace(drawn, top_k=3)]
    requests = [ask(QUESTION, ONE, settings=settings) for settings in asked]
    reply, failure = open_adapter("tinyllava", tmp_path).answer_batch(requests)
    assert isinstance(reply, Generated)
    assert isinstance(failure, Failure)
    assert failure.message == "the checkpoint's own code takes no top_k; leave it out"


@pytest.mark.parametrize("name", ["moondream2", "points"])
def test_code_that_takes_one_question_refuses_earlier_turns(name: str, tmp_path: Path) -> None:
    BUILDERS[name](tmp_path)
    request = ask("Are you sure?", ONE, settings=SHORT)
    (last,) = request.messages
    first = msgspec.structs.replace(last, parts=(Text("What is it?"),))
    said = msgspec.structs.replace(last, role="assistant", parts=(Text("A square."),))
    turns = msgspec.structs.replace(request, messages=(first, said, last))
    (failure,) = open_adapter(name, tmp_path).answer_batch([turns])
    assert isinstance(failure, Failure)
    assert "one question, without earlier turns" in failure.message


def test_code_that_needs_a_picture_refuses_words_alone(tmp_path: Path) -> None:
    BUILDERS["points"](tmp_path)
    (failure,) = open_adapter("points", tmp_path).answer_batch([ask("Hello", settings=SHORT)])
    assert isinstance(failure, Failure)
    assert failure.kind == "unsupported"
    assert "takes a picture with each question" in failure.message


def test_a_second_grid_has_other_lines_than_the_first() -> None:
    settings = TileSettings(28, 4, 12, second=(3, 7))
    assert choose_grid(400, 400, settings) == (3, 3)
    assert choose_grid(400, 400, settings._replace(fewest=3, most=7)) == (2, 2)
    assert choose_grid(800, 400, settings._replace(fewest=3, most=7), besides=(4, 2)) == (3, 2)
    assert choose_grid(400, 400, settings._replace(fewest=3, most=7), besides=(4, 4)) == (2, 3)
    tiles = list(cut_tiles(Image.new("RGB", (400, 400)), settings))
    assert len(tiles) == 9 + 4 + 1
