"""Checkpoints that their own code loads, on small random ones in the layout of the originals."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from own_code_by_call import BUILDERS
from own_code_checkpoints import open_adapter
from PIL import Image
from questions_for_models import ask, noise, rank
from transformers import AutoModel, AutoProcessor, AutoTokenizer

from snellen import evaluate
from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.output import Failure, Generated
from snellen.core.request import Generate, Generation, Media, Message, Ref, Text, user
from snellen.models.hf.own_code.adapter import adapter_names, code_adapters
from snellen.models.hf.own_code.model import OwnCodeModel
from snellen.models.hf.own_code.tiles import TileSettings, choose_grid, cut_tiles, tile_images
from snellen.models.hf.own_code.values import VALUES
from snellen.models.naming.registry import open_model
from snellen.models.naming.routes import config_type, layouts

SHORT = Generation(max_new_tokens=6)
ONE, WIDE = noise(1), noise(2, 120, 40)
SINGLE_QUESTIONS = {"flash_vl", "moondream2", "points", "tinyllava"}
"""Adapters whose code takes no earlier turns, or no question without a picture."""


class _Folders(dict[str, Path]):
    """A small checkpoint of each adapter by its name, made when it is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __missing__(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir()
        self[name] = BUILDERS[name](folder)
        return self[name]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small checkpoint of each adapter, by the adapter's name."""
    return _Folders(tmp_path_factory.mktemp("own_code"))


def opened(folder: Path, **options: str) -> OwnCodeModel:
    values = {"trust_remote_code": "yes", "device": "cpu", "dtype": "float32"}
    model = open_model(f"hf/{folder}", values | options)
    assert isinstance(model, OwnCodeModel)
    return model


def text_of(output: object) -> str:
    assert isinstance(output, Generated), output
    return output.text


def picture(data: bytes) -> Any:
    return decode_image(data, 10**8)


def original(folder: Path) -> tuple[Any, Any]:
    """The model and the tokenizer, loaded as the model card says."""
    model = AutoModel.from_pretrained(folder, trust_remote_code=True, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


def test_every_adapter_names_what_there_is() -> None:
    for name, adapter in code_adapters().items():
        assert set(adapter.layouts) <= layouts().keys(), name
        values = [value for value in adapter.arguments.values() if str(value).startswith("$")]
        assert set(values) <= VALUES.keys(), name
        assert bool(adapter.arguments) != bool(adapter.call), name
        assert adapter.source.startswith("https://"), name
        if adapter.tried == "small model":
            assert name in BUILDERS, f"{name} has no small checkpoint in own_code_checkpoints.py"
    listed = [layout for adapter in code_adapters().values() for layout in adapter.layouts]
    assert sorted(listed) == sorted(adapter_names()), "a layout has two adapters"


def test_internvl_is_asked_as_its_model_card_says(folders: dict[str, Path]) -> None:
    folder = folders["internvl_chat"]
    model, tokenizer = original(folder)
    tiles = TileSettings(28, 1, 6, True)

    def chat(question: str, *pictures: bytes) -> str:
        rows = [list(cut_tiles(picture(data), tiles)) for data in pictures]
        pixels, counts = None, []
        if pictures:
            images = [picture(data) for data in pictures]
            pixels, counts = tile_images(images, tiles, torch.float32, "cpu")
            assert counts == [len(row) for row in rows]
        reply: str = model.chat(
            tokenizer, pixels, question, {"max_new_tokens": 6, "do_sample": False}, num_patches_list=counts
        )
        return reply

    answers = opened(folder).answer_batch(
        [
            ask("What is it?", ONE, settings=SHORT),
            ask("What is it?", WIDE, settings=SHORT),
            ask("Hello", settings=SHORT),
            ask("Which one?", ONE, WIDE, settings=SHORT),
        ]
    )
    expected = [
        chat("<image>\nWhat is it?", ONE),
        chat("<image>\nWhat is it?", WIDE),
        chat("Hello"),
        chat("Image-1: <image>\nImage-2: <image>\nWhich one?", ONE, WIDE),
    ]
    assert [text_of(answer) for answer in answers] == expected
    assert len(set(expected)) == 4


def test_minicpmv_is_asked_as_its_model_card_says(folders: dict[str, Path]) -> None:
    folder = folders["minicpmv"]
    model, tokenizer = original(folder)
    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=True)

    def chat(*content: object) -> str:
        reply: str = model.chat(
            None,
            [{"role": "user", "content": list(content)}],
            tokenizer,
            processor,
            sampling=False,
            max_new_tokens=6,
            num_beams=1,
        )
        return reply

    answers = opened(folder).answer_batch(
        [
            ask("What is it?", ONE, settings=SHORT),
            ask("Hello", settings=SHORT),
            ask("Which one?", ONE, WIDE, settings=SHORT),
        ]
    )
    expected = [chat(picture(ONE), "What is it?"), chat("Hello"), chat(picture(ONE), picture(WIDE), "Which one?")]
    assert [text_of(answer) for answer in answers] == expected
    assert len(set(expected)) == 3


@pytest.mark.parametrize("name", sorted(BUILDERS.keys() - SINGLE_QUESTIONS))
def test_earlier_turns_and_a_system_text_reach_the_code(folders: dict[str, Path], name: str) -> None:
    model = open_adapter(name, folders[name])

    def answer(*messages: Message) -> str:
        request = Generate(
            messages=messages, media={digest_bytes(ONE): InlineSource(ONE)}, ref=Ref("q"), settings=SHORT
        )
        return text_of(model.answer_batch([request])[0])

    first = user(Media("image", digest_bytes(ONE)), Text("What is it?"))
    said = Message("assistant", (Text("A red square."),))
    other = Message("assistant", (Text("A blue circle of some size."),))
    last = user(Text("Are you sure?"))
    system = Message("system", (Text("Answer with one letter."),))
    replies = [answer(last), answer(first, said, last), answer(first, other, last), answer(system, last)]
    assert len(set(replies)) == 4
    assert answer(first, said, last) == replies[1], "the same request, another reply"


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_requests_that_the_code_cannot_take_fail_by_type(folders: dict[str, Path], name: str) -> None:
    model = open_adapter(name, folders[name])
    mark = code_adapters()[name].reserved[0]
    two_questions = Generate(messages=(user(Text("a")), user(Text("b"))), media={}, ref=Ref("q"), settings=SHORT)
    failures = model.answer_batch(
        [
            rank("Is it red?", ("yes", "no"), ONE),
            ask(f"What is {mark}?", ONE, settings=SHORT),
            two_questions,
            ask("a", settings=Generation(max_new_tokens=6, logprobs=5)),
        ]
    )
    kinds = [failure.kind for failure in failures if isinstance(failure, Failure)]
    assert kinds == ["unsupported"] * 4
    assert text_of(model.answer_batch([ask("What?", ONE, settings=SHORT)])[0])


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_only_the_first_picture_is_given_where_that_is_asked_for(folders: dict[str, Path], name: str) -> None:
    first = open_adapter(name, folders[name], images="first")
    assert not first.capabilities.many_images
    several, single = first.answer_batch([ask("Which?", ONE, WIDE, settings=SHORT), ask("Which?", ONE, settings=SHORT)])
    assert text_of(several) == text_of(single)
    several_allowed = code_adapters()[name].max_images != 1
    assert (first.identity != open_adapter(name, folders[name]).identity) == several_allowed


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_draws_depend_on_their_seed_alone(folders: dict[str, Path], name: str) -> None:
    model = open_adapter(name, folders[name])
    hot = Generation(max_new_tokens=6, temperature=1.5, seed=1)
    cold = Generation(max_new_tokens=6, temperature=1.5, seed=2)
    one, two, again = model.answer_batch([ask("What?", ONE, settings=each) for each in (hot, cold, hot)])
    assert text_of(one) == text_of(again) != text_of(two)


@pytest.mark.attack(
    "a checkpoint with Python of its own, without the user's consent",
    "a sentence that names the option; none of its code runs",
)
@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_no_code_of_a_checkpoint_runs_without_consent(folders: dict[str, Path], name: str, tmp_path: Path) -> None:
    folder = folders[name]
    traced = tmp_path / "ran"
    for path in folder.glob("*.py"):
        kept = path.read_text(encoding="utf-8")
        path.write_text(f"open({str(traced)!r}, 'w').close()\n{kept}", encoding="utf-8")
    try:
        with pytest.raises(UsageError, match=r"trust_remote_code=yes|needs transformers before"):
            open_model(f"hf/{folder}")
        assert main(["info", f"hf/{folder}"]) == 2
        assert not traced.exists()
    finally:
        for path in folder.glob("*.py"):
            kept = path.read_text(encoding="utf-8")
            path.write_text(kept.partition("\n")[2], encoding="utf-8")


def test_code_for_another_transformers_gives_one_sentence(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(folders["internvl_chat"], folder)
    code = folder / "modeling_internvl_chat.py"
    text = code.read_text(encoding="utf-8")
    code.write_text(text.replace("self.language_model.generate(", "self.language_model.begat("))
    with pytest.raises(UsageError, match=r"does not run with transformers .*begat.*-m vllm/"):
        opened(folder).load()


def test_code_for_an_older_transformers_is_refused_before_it_is_loaded(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "internlm2"
    shutil.copytree(folders["internvl_chat"], folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["llm_config"]["architectures"] = ["InternLM2ForCausalLM"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert config_type(config) == "internvl_chat_internlm2"
    with pytest.raises(UsageError, match=r"needs transformers before 4\.50, and 5\..*-m vllm/"):
        opened(folder)


def test_a_run_by_the_checkpoints_own_code(folders: dict[str, Path], tmp_path: Path) -> None:
    data = tmp_path / "hue.tsv"
    pictures = [base64.b64encode(noise(seed)).decode() for seed in range(3)]
    rows = [f"{i}\t{image}\tWhich hue ({i})?\tred\tblue\tA\n" for i, image in enumerate(pictures)]
    data.write_text("index\timage\tquestion\tA\tB\tanswer\n" + "".join(rows), encoding="utf-8")
    spec = f"{folders['internvl_chat']}:trust_remote_code=yes,device=cpu,max_new_tokens=8"
    results = evaluate([spec], [str(data)], out=tmp_path / "runs")
    (run,) = results.runs
    assert run.info.status == "complete"
    assert "asked by the checkpoint's own code" in " ".join(run.info.remarks)


@pytest.mark.parametrize(
    ("width", "height", "most", "grid"),
    [
        (448, 448, 12, (1, 1)),
        (896, 448, 12, (2, 1)),
        # Twice as wide as high: 4 x 2 tiles only if the picture has half of their pixels.
        (1000, 500, 12, (2, 1)),
        (1800, 900, 12, (4, 2)),
        (300, 900, 12, (1, 3)),
        (4000, 1000, 6, (4, 1)),
        (1000, 1000, 1, (1, 1)),
    ],
)
def test_the_grid_is_the_nearest_to_the_pictures_shape(
    width: int, height: int, most: int, grid: tuple[int, int]
) -> None:
    assert choose_grid(width, height, TileSettings(448, 1, most)) == grid


def test_tiles_are_rows_of_the_resized_picture_and_a_thumbnail() -> None:
    image = Image.new("RGB", (56, 28), "red")
    image.paste("blue", (28, 0, 56, 28))
    tiles = list(cut_tiles(image, TileSettings(28, 1, 6)))
    assert [tile.size for tile in tiles] == [(28, 28)] * 3
    assert [tile.getpixel((14, 14)) for tile in tiles[:2]] == [(255, 0, 0), (0, 0, 255)]
    assert len(list(cut_tiles(image, TileSettings(28, 1, 6, thumbnail=False)))) == 2


def test_several_pictures_share_the_tiles() -> None:
    images = [Image.new("RGB", (400, 100), "red") for _ in range(12)]
    pixels, counts = tile_images(images, TileSettings(28, 1, 12), torch.float32, "cpu")
    assert counts == [3] * 12
    assert pixels.shape == (36, 3, 28, 28)
