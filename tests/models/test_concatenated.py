"""`images=concat-embeddings`: each picture encoded alone, the embeddings next to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from family_llava_like import FAMILIES as LLAVAS
from family_plain import FAMILIES as PLAIN
from family_qwen_like import FAMILIES as QWENS
from family_trial import by_hand, opened
from mmt_rows import row, several, write
from questions_for_models import ask, noise, rank

from snellen import evaluate
from snellen.analysis.causes.gains import gains
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.output import Failure, Ranked
from snellen.core.request import Media, Rank, Ref, Text, user
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.prompt import encode, render
from snellen.models.image_cache import ImageCache
from snellen.store.runs import find_runs

POLICY = "concat-embeddings"
PICTURES = (noise(1), noise(2), noise(3))


def of(families: Any, name: str, tmp_path: Path, policy: str) -> HuggingFace:
    family = next(one for one in families if one.name == name)
    folder = tmp_path / "model"
    return opened(folder if folder.is_dir() else family.build(folder), images=policy)


def language_inputs(model: HuggingFace, pictures: tuple[bytes, ...]) -> Any:
    """Embeddings that the language model is given for a prompt about those pictures."""
    loaded = model.load()
    prompt = render(ask("Same?", *pictures), loaded, ImageCache(), model.images)
    seen: list[Any] = []
    whole = loaded.model
    inner = (whole if hasattr(whole, "language_model") else whole.model).language_model
    hook = inner.register_forward_pre_hook(lambda _, args, given: seen.append(given["inputs_embeds"]), with_kwargs=True)
    with torch.inference_mode():
        loaded.model(**encode(loaded, [prompt.text], [prompt.images], "left"))
    hook.remove()
    return seen[0][0]


@pytest.mark.parametrize(("families", "name", "tokens"), [(LLAVAS, "LLaVA-1.5", 16), (PLAIN, "BLIP-2 (OPT)", 4)])
def test_embeddings_of_single_pictures_follow_each_other(families: Any, name: str, tokens: int, tmp_path: Path) -> None:
    model = of(families, name, tmp_path, POLICY)
    together = language_inputs(model, PICTURES)
    single = [language_inputs(model, (one,)) for one in PICTURES]
    assert len(together) == len(single[0]) + 2 * tokens
    begin = first_of(single)
    for number, one in enumerate(single):
        part = together[begin + number * tokens : begin + (number + 1) * tokens]
        torch.testing.assert_close(part, one[begin : begin + tokens], atol=1e-4, rtol=0)
    torch.testing.assert_close(together[:begin], single[0][:begin], atol=1e-4, rtol=0)


def first_of(single: list[Any]) -> int:
    """The first place at which prompts about unlike pictures differ."""
    return int((single[0] != single[1]).any(-1).nonzero()[0])


def test_ranking_and_places(tmp_path: Path) -> None:
    """Pictures that stand apart in the question come together, and all of them are seen."""
    model = of(LLAVAS, "LLaVA-1.5", tmp_path, POLICY)
    plain = rank("first\nsecond", ("red", "green"), *PICTURES[:2])
    one, other = (Media("image", digest) for digest in plain.media)
    apart = Rank(
        messages=(user(Text("first"), one, Text("second"), other),),
        media=plain.media,
        ref=Ref("q"),
        candidates=plain.candidates,
    )
    swapped = rank("first\nsecond", ("red", "green"), *PICTURES[1::-1])
    outputs = model.answer_batch([plain, apart, swapped])
    found = []
    for output in outputs:
        assert isinstance(output, Ranked), output
        found.append([score.logprob for score in output.candidates])
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    assert found[0] != pytest.approx(found[2], abs=1e-3)
    assert found[0] == pytest.approx(by_hand(model, plain), abs=1e-3)


def test_the_policy_is_part_of_the_identity(tmp_path: Path) -> None:
    shown = of(LLAVAS, "LLaVA-1.5", tmp_path, POLICY)
    native = of(LLAVAS, "LLaVA-1.5", tmp_path, "native")
    assert shown.identity.facts["images"] == POLICY
    assert shown.identity != native.identity
    assert shown.capabilities.many_images
    assert not shown.capabilities.interleaved


def test_families_in_which_it_means_nothing(tmp_path: Path) -> None:
    model = of(QWENS, "Qwen2-VL", tmp_path, POLICY)
    outputs = model.answer_batch([ask("Same?", *PICTURES[:2]), ask("What?", PICTURES[0])])
    assert isinstance(outputs[0], Failure)
    assert outputs[0].kind == "unsupported"
    assert "qwen2_vl" in outputs[0].message
    assert not isinstance(outputs[1], Failure)


def test_compares_stitching_with_concatenation(tmp_path: Path, capsys: Any) -> None:
    """One picture of all by the benchmark, the embeddings of all by the model, and all apart: one
    command compares them, although the first is an option of the benchmark."""
    of(LLAVAS, "LLaVA-1.5", tmp_path, "native")
    folder = tmp_path / "model"
    rows = [row(number, "face_retrieval", "image_retrieval", image=several(["red", "blue"])) for number in range(4)]
    data = write(tmp_path / "mmt.tsv", rows)
    for model_images, images in (("native", "native"), (POLICY, "native"), (POLICY, "stitch")):
        evaluate(
            [f"hf/{folder}:images={model_images},device=cpu"],
            [f"mmt-bench:images={images}"],
            out=tmp_path / "runs",
            html=False,
            variant=Variant(data=str(data), max_new_tokens=4),
        )
    found = gains(find_runs(tmp_path / "runs"), "images", base="stitch")
    assert {(gain.base, gain.value) for gain in found} == {("stitch", "native"), ("stitch", POLICY)}
    assert main(["analyse", "gains", str(tmp_path / "runs"), "--by", f"images={POLICY}"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"images: {POLICY} → " in text
    assert " stitch " in text
