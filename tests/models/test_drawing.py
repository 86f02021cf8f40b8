"""Backends that draw and compare, on small random-weight checkpoints of the real architectures."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from questions_for_models import ask, noise, rank, shown

from snellen.core.errors import UsageError
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.model import Model
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Drawing, Ref
from snellen.models.drawn_images import request_seed
from snellen.models.naming.registry import open_model

Folder = Callable[[str], Path]


def draw(text: str, *pictures: bytes, **settings: float) -> Draw:
    messages, media = shown(text, *pictures)
    return Draw(messages=messages, media=media, ref=Ref("q"), settings=Drawing(**settings))  # type: ignore[arg-type]


def compare(picture: bytes, *candidates: bytes) -> Compare:
    media = {digest_bytes(data): InlineSource(data) for data in (picture, *candidates)}
    names = tuple(map(digest_bytes, candidates))
    return Compare(picture=digest_bytes(picture), candidates=names, ref=Ref("q"), media=media)


def answers(model: Model, *requests: object) -> list[Output]:
    return list(model.answer_batch(requests))  # type: ignore[attr-defined]


def drawn(output: Output) -> bytes:
    assert isinstance(output, Drawn), output
    (name,) = output.images
    assert digest_bytes(output.data[name]) == name
    return output.data[name]


@pytest.fixture(scope="session")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    import drawing_checkpoints

    root = tmp_path_factory.mktemp("drawing")

    def folder(family: str) -> Path:
        if not (root / family).is_dir():
            getattr(drawing_checkpoints, family)(root / family)
        return root / family

    return folder


def test_same_model_ranks_writes_and_draws(drawing: Folder) -> None:
    model = open_model(f"hf/{drawing('janus')}")
    assert model.capabilities.outputs == {"text", "image"}
    ranked, written, picture = answers(
        model, rank("What color?", ("red", "green"), noise(1)), ask("Hello"), draw("a red disc")
    )
    assert isinstance(ranked, Ranked)
    assert isinstance(written, Generated)
    assert decode_image(drawn(picture)).size == (4, 4)


def test_drawing_is_the_models_own(drawing: Folder) -> None:
    """Greedy codes with guidance equal those of transformers' image mode."""
    import torch

    from snellen.models.hf.drawing import draw_codes
    from snellen.models.hf.model import HuggingFace
    from snellen.models.hf.prompt import render
    from snellen.models.image_cache import ImageCache

    model = open_model(f"hf/{drawing('janus')}")
    assert isinstance(model, HuggingFace)
    loaded = model.load()
    for text in ("a red disc", "two blue stars above a square"):
        prompt = render(draw(text), loaded, ImageCache(), "native")
        ours = draw_codes(loaded, prompt, 4.0, lambda logits: logits.argmax(-1))
        inputs = loaded.processor(text=[prompt.text], generation_mode="image", return_tensors="pt")
        config = loaded.model.generation_config
        config.generation_kwargs = {"boi_token_id": loaded.tokenizer.convert_tokens_to_ids("<begin_of_image>")}
        config.bos_token_id = loaded.tokenizer.bos_token_id
        theirs = loaded.model.generate(**inputs, generation_mode="image", do_sample=False, guidance_scale=4.0)
        assert ours.tolist() == theirs.tolist()
        assert len(set(ours[0].tolist())) > 1
        assert torch.is_tensor(theirs)


@pytest.mark.parametrize("family", ["janus", "diffusion"])
def test_a_drawing_depends_on_its_request_alone(drawing: Folder, family: str) -> None:
    provider = "hf" if family == "janus" else "diffusers"
    steps: dict[str, float] = {} if family == "janus" else {"steps": 2}
    requests = [draw("a disc", **steps), draw("a star", **steps), draw("a disc", seed=1, **steps)]
    model = open_model(f"{provider}/{drawing(family)}")
    together = [drawn(output) for output in answers(model, *requests)]
    again = open_model(f"{provider}/{drawing(family)}")
    alone = [drawn(answers(again, request)[0]) for request in reversed(requests)][::-1]
    assert together == alone
    assert len(set(together)) == 3


def test_pictures_in_the_prompt_reach_the_drawing(drawing: Folder) -> None:
    model = open_model(f"hf/{drawing('janus')}")
    outputs = answers(model, draw("next?"), draw("next?", noise(1)), draw("next?", noise(2), noise(1)))
    assert len({drawn(output) for output in outputs}) == 3


def test_impossible_drawing_is_a_typed_failure(drawing: Folder, checkpoint: Folder) -> None:
    cases = [
        (
            f"hf/{drawing('janus')}",
            draw("x", steps=4, width=64, height=64),
            "a model that draws token by token draws without a choice of size and steps; leave it",
        ),
        (f"hf/{checkpoint('llava')}", draw("x"), "draws no pictures"),
        (f"hf/{drawing('janus')}", compare(noise(1), noise(2)), "does not compare"),
        (f"clip/{drawing('clip')}", ask("x"), "compares pictures and does nothing else"),
        (f"diffusers/{drawing('diffusion')}", ask("x"), "draws pictures and nothing else"),
        (f"diffusers/{drawing('diffusion')}", draw("x", noise(1)), "draws from text alone"),
    ]
    for name, request, message in cases:
        (output,) = answers(open_model(name), request)
        assert isinstance(output, Failure)
        assert output.kind == "unsupported"
        assert message in output.message


def test_a_pipeline_draws_what_diffusers_draws(drawing: Folder) -> None:
    folder = drawing("diffusion")
    import torch
    from diffusers import StableDiffusionPipeline

    request = draw("a red disc", steps=3, guidance=2.0, width=32, height=32)
    model = open_model(f"diffusers/{folder}")
    assert (model.capabilities.inputs, model.capabilities.outputs) == ({"text"}, {"image"})
    pipeline = StableDiffusionPipeline.from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    made = pipeline(
        prompt="a red disc",
        num_inference_steps=3,
        guidance_scale=2.0,
        width=32,
        height=32,
        generator=torch.Generator("cpu").manual_seed(request_seed(request)),
    ).images[0]
    picture = Image.open(io.BytesIO(drawn(answers(model, request)[0])))
    assert picture.tobytes() == made.tobytes()


def test_a_pipeline_says_what_it_cannot_set(drawing: Folder, monkeypatch) -> None:
    model = open_model(f"diffusers/{drawing('diffusion')}")
    taken = model._accepted_arguments - {"guidance_scale", "generator"}  # type: ignore[attr-defined]
    monkeypatch.setattr(model, "_accepted_arguments", taken)
    outputs = answers(model, draw("x", guidance=3.0), draw("x", seed=1), draw("x", steps=1))
    assert [getattr(one, "message", "") for one in outputs] == [
        "StableDiffusionPipeline draws without a choice of guidance; leave it out",
        "StableDiffusionPipeline draws without a choice of seed; leave it out",
        "",
    ]


def test_guidance_changes_what_is_drawn_token_by_token(drawing: Folder) -> None:
    model = open_model(f"hf/{drawing('janus')}")
    outputs = answers(model, draw("a disc"), draw("a disc", guidance=1.0), draw("a disc", seed=7))
    assert len({drawn(output) for output in outputs}) == 3


def test_similarity_is_clips_cosine(drawing: Folder) -> None:
    import torch
    from transformers import CLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    folder = drawing("clip")
    data = [noise(seed, 40 + seed, 30) for seed in range(4)]
    model = open_model(f"clip/{folder}:batch_size=3")
    (output,) = answers(model, compare(data[0], *data))
    assert isinstance(output, Compared)
    inputs = CLIPImageProcessorPil.from_pretrained(folder)([decode_image(one) for one in data], return_tensors="pt")
    with torch.inference_mode():
        features = CLIPModel.from_pretrained(folder).get_image_features(**inputs).pooler_output
    expected = torch.nn.functional.cosine_similarity(features[:1], features)
    assert output.similarities == pytest.approx(expected.tolist(), abs=1e-5)
    assert output.similarities[0] == pytest.approx(1.0, abs=1e-5)


def test_invalid_image_fails_alone(drawing: Folder) -> None:
    model = open_model(f"clip/{drawing('clip')}")
    bad, good = answers(model, compare(noise(1), b"no picture"), compare(noise(1), noise(2)))
    assert isinstance(bad, Failure)
    assert bad.kind == "media"
    assert isinstance(good, Compared)


def test_folders_that_are_something_else(drawing: Folder, checkpoint: Folder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no model_index\.json"):
        open_model(f"diffusers/{checkpoint('llama')}")
    with pytest.raises(UsageError, match="there is no folder"):
        open_model("diffusers/./nowhere")
    folder = Path(shutil.copytree(drawing("diffusion"), tmp_path / "odd"))
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps(index | {"_class_name": "NoPipeline"}))
    with pytest.raises(UsageError, match="has no pipeline NoPipeline"):
        open_model(f"diffusers/{folder}")
    (output,) = answers(open_model(f"clip/{checkpoint('llama')}"), compare(noise(1), noise(2)))
    assert isinstance(output, Failure)


def test_emu3_draws_with_the_option(drawing: Folder) -> None:
    name = f"hf/{drawing('emu3')}"
    assert open_model(name).capabilities.outputs == {"text"}
    model = open_model(f"{name}:draws=yes")
    assert model.capabilities.outputs == {"text", "image"}
    small = {"width": 24, "height": 24}
    requests = [
        draw("a disc", **small),
        draw("a star", **small),
        draw("a disc", seed=1, **small),
        draw("a disc", guidance=1, **small),
    ]
    pictures = [drawn(output) for output in answers(model, *requests)]
    assert len(set(pictures)) == 4
    assert drawn(answers(model, requests[1])[0]) == pictures[1]
    wide = drawn(answers(model, draw("a disc", width=48, height=16))[0])
    assert decode_image(wide).size == (48, 16)
    failed = answers(model, draw("x", steps=3), draw("x", noise(1)), draw("x", width=20, height=16))
    assert all(isinstance(output, Failure) and output.kind == "unsupported" for output in failed)
    messages = [output.message for output in failed if isinstance(output, Failure)]
    assert "without a choice of steps" in messages[0]
    assert "draws from text alone" in messages[1]
    assert "multiples of 8; got 20 x 16" in messages[2]
    with pytest.raises(UsageError, match="of the type janus, expected emu3"):
        open_model(f"hf/{drawing('janus')}:draws=yes")


def test_rows_are_the_models_own(drawing: Folder) -> None:
    """Greedy tokens equal those of transformers with its guidance and constrained as its page
    says."""
    from snellen.models.hf import drawing_rows
    from snellen.models.hf.model import HuggingFace

    model = open_model(f"hf/{drawing('emu3')}:draws=yes")
    assert isinstance(model, HuggingFace)
    loaded = model.load()
    size = drawing_rows.GridSize(2, 3)
    ours = drawing_rows.row_tokens(loaded, "a disc", size, 3.0, lambda logits: logits.argmax(-1))
    ids, mask = drawing_rows._prompt_ids(loaded, "a disc", size)
    mapping = loaded.model.model.vocabulary_mapping
    start = ids.shape[1]

    def allowed(batch: int, given: object) -> list[int]:
        place = len(given) - start  # type: ignore[arg-type]
        return [mapping.eol_token_id] if place % 4 == 3 else mapping.image_tokens

    theirs = loaded.model.generate(
        ids[:1],
        attention_mask=mask[:1],
        negative_prompt_ids=ids[1:],
        negative_prompt_attention_mask=mask[1:],
        guidance_scale=3.0,
        do_sample=False,
        max_new_tokens=8,
        prefix_allowed_tokens_fn=allowed,
    )
    assert ours[0].tolist() == theirs[0, start:].tolist()
    assert len(set(ours[0].tolist())) > 2
