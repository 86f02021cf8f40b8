"""Extractors: by name, by plug-in, and transformers pipelines on small random checkpoints.

The checkpoints show that pictures, crops and boxes go through; random weights see nothing.
"""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

import snellen
from snellen.core.errors import DataError, UsageError
from snellen.core.media import FileSource, digest_bytes
from snellen.core.output import Generated, Output
from snellen.core.record import Steps, run_flow
from snellen.core.request import Request
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import latest_decisions, read_decisions
from snellen_curate.questions import extractors
from snellen_curate.questions.build import make_questions
from snellen_curate.questions.extraction import Aspect, Instance, View, VisualFacts, clip_box, describe
from snellen_curate.questions.extractors import _segments, extraction_prompt, open_extractor
from snellen_curate.questions.options import QuestionOptions
from snellen_curate.questions.records import RecordedFacts, RecordedFile, open_recorded
from snellen_curate.questions.sources import open_images
from snellen_curate.questions.writing import choose_dimensions, load_dimensions

WORDS = "[PAD] [UNK] [CLS] [SEP] a cup plant dog cat lamp book table window red blue on the of"
CAPTION = "a cup , a plant , a dog , a cat , a lamp and a book on a table"


@pytest.mark.parametrize(
    ("spec", "name", "aspects"),
    [
        ("rapidocr", "rapidocr", {"text"}),
        ("text=rapidocr", "rapidocr", {"text"}),
        ("caption=openai/gpt-4o", "openai/gpt-4o", {"caption"}),
        ("caption,text=hf/a/b:dtype=float16", "hf/a/b:dtype=float16", {"caption", "text"}),
        (
            "all=http://127.0.0.1:1/v1#m",
            "http://127.0.0.1:1/v1#m",
            {"caption", "instances", "attributes", "dense", "text"},
        ),
    ],
)
def test_extractors_by_name(spec: str, name: str, aspects: set[str]) -> None:
    extractor = open_extractor(spec)
    assert (extractor.name, extractor.aspects) == (name, aspects)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("caption=rapidocr", "rapidocr finds text"),
        ("pipeline:depth-estimation@x", "expected pipeline:TASK@MODEL"),
        ("pipeline:object-detection", "expected pipeline:TASK@MODEL"),
        ("caption=pipeline:object-detection@x/y", "finds instances, not caption"),
        ("pipeline:object-detection@./nowhere", "there is no folder ./nowhere"),
        ("file:nowhere.jsonl", "there is no such file of extractions"),
        ("labels=openai/gpt-4o", "give instances=openai/gpt-4o"),
    ],
)
def test_extractors_that_cannot_be_opened(spec: str, sentence: str) -> None:
    with pytest.raises((UsageError, DataError), match=sentence):
        open_extractor(spec)


class Constant:
    """An extractor of another package, which asks no model."""

    name, model, at_once = "constant:x", None, True
    aspects: frozenset[Aspect] = frozenset({"caption"})

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        yield from ()
        return VisualFacts(captions=(f"{view.width} x {view.height}",))


def open_constant(argument: str, aspects: frozenset[Aspect]) -> Constant:
    assert argument == "x"
    return Constant()


def test_extractors_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("constant", f"{__name__}:open_constant", extractors.ENTRY_POINTS)
    monkeypatch.setattr(extractors, "plugin_entry_points", lambda group: {"constant": entry})
    monkeypatch.setattr(extractors, "load_entry_point", lambda loaded: open_constant)
    assert open_extractor("caption=constant:x").name == "constant:x"


def test_recorded_extractions(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text(
        '{"picture": "a.png", "captions": ["a dog"], "instances": [{"label": "dog", '
        '"box": [1, 2, 3, 4], "attributes": ["brown"]}], "texts": [{"text": "EXIT"}]}\n\n'
    )
    extractor = open_recorded(str(file), frozenset[Aspect]({"caption", "instances"}))
    view = View(image="a.png", ref=MediaRef("0", FileSource("")), width=10, height=10)
    found = run_flow(extractor.find(view, extractor.aspects, ""), lambda request: Generated(""))
    assert found.captions == ("a dog",)
    assert found.instances == (Instance("dog", (1.0, 2.0, 3.0, 4.0), ("brown",)),)
    assert found.texts == ()
    assert describe(found).splitlines() == [
        "Captions:",
        "- a dog",
        "Instances, with box [left, top, right, bottom] in pixels and attributes:",
        "- dog [1, 2, 3, 4]: brown",
    ]
    file.write_text('{"picture": "a.png"}\n{"captions": 3}\n')
    with pytest.raises(DataError, match="line 2 is no extraction"):
        open_recorded(str(file), frozenset())


def test_recorded_extractions_are_found_by_the_name_of_the_file(tmp_path: Path) -> None:
    for name in ("a/1.png", "b/1.png", "b/2.png", "c/3.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    rows = [["image"], ["a/1.png"], ["b/1.png"], ["b/2.png"], ["c/3.png"]]
    (tmp_path / "pictures.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    images = open_images(tmp_path / "pictures.csv")
    (tmp_path / "facts.jsonl").write_text(
        "".join(f'{{"picture": "{name}"}}\n' for name in ("a/1.png", "x/1.png", "2.png"))
    )
    file = RecordedFile(tmp_path / "facts.jsonl", RecordedFacts)
    # Of two files of one name each has its own folder's line, and no other's.
    found = [file.id_of(one.id, one.medium) for one in images]
    assert found == ["a/1.png", None, "2.png", None]
    assert file.count_missing(images) == 2
    (tmp_path / "facts.jsonl").write_text('{"picture": "9.png"}\n')
    with pytest.raises(UsageError, match=r"0 of 4 pictures are in .* look like '9.png', ids here"):
        RecordedFile(tmp_path / "facts.jsonl", RecordedFacts).count_missing(images)


def test_a_model_is_asked_for_the_aspects_that_are_wanted() -> None:
    prompt = extraction_prompt({"caption", "text"})
    assert '"caption"' in prompt
    assert '"text"' in prompt
    assert '"instances"' not in prompt
    assert '"attributes"' in extraction_prompt({"instances", "attributes"})


def test_boxes_and_masks() -> None:
    assert clip_box((30, 5, -4, 90), 20, 40) == (0.0, 5, 20, 40)
    mask = numpy.zeros((20, 30), dtype=bool)
    mask[4:9, 10:25] = True
    found = _segments({"masks": [mask, numpy.zeros((20, 30), dtype=bool)]})
    assert found == (Instance(box=(10.0, 4.0, 25.0, 9.0)),)


def test_crops_are_the_largest_instances(tmp_path: Path) -> None:
    image = Image.new("RGB", (40, 40), "white")
    image.paste((255, 0, 0), (0, 0, 20, 10))
    image.save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    boxes = [(0, 0, 20, 10), (0, 0, 3, 3), (10, 10, 40, 40), (0, 0, 9, 9)]
    view = View(
        image="a",
        ref=MediaRef(digest_bytes(data), FileSource(str(tmp_path / "a.png"))),
        width=40,
        height=40,
        instances=(*(Instance("x", box) for box in boxes), Instance("y")),
    )
    crops = [(instance.box, ref) for instance, ref in view.crops(2)]
    assert [box for box, _ in crops] == [(10, 10, 40, 40), (0, 0, 20, 10)]
    assert len(list(view.crops(9))) == 3  # three pixels show nothing
    assert crops[1][1].digest == digest_bytes(crops[1][1].source.read())


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(WORDS.split())}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        bos_token="[CLS]",
        eos_token="[SEP]",
        model_max_length=16,
    )


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random checkpoints of a few thousand weights. The detector's bias makes it find dogs."""
    import torch
    import transformers as library

    home = tmp_path_factory.mktemp("checkpoints")
    part = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    vision = {**part, "image_size": 32, "patch_size": 8}
    text = {
        **part,
        "vocab_size": 24,
        "max_position_embeddings": 16,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "sep_token_id": 3,
        "pad_token_id": 0,
    }
    size = {"height": 32, "width": 32}
    torch.manual_seed(0)
    detector = library.YolosForObjectDetection(
        library.YolosConfig(
            **part,
            image_size=[32, 32],
            patch_size=8,
            num_detection_tokens=3,
            id2label={0: "cat", 1: "dog"},
            label2id={"cat": 0, "dog": 1},
        )
    )
    detector.class_labels_classifier.layers[-1].bias.data[1] = 9.0
    detector.save_pretrained(home / "detector")
    library.YolosImageProcessorPil(size=size).save_pretrained(home / "detector")
    names = library.CLIPModel(library.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8))
    names.save_pretrained(home / "names")
    library.CLIPImageProcessorPil(size=size, do_center_crop=False).save_pretrained(home / "names")
    tokenizer().save_pretrained(home / "names")
    finder = library.OwlViTForObjectDetection(
        library.OwlViTConfig(text_config=text, vision_config=vision, projection_dim=16)
    )
    finder.save_pretrained(home / "finder")
    library.OwlViTImageProcessorPil(size=size).save_pretrained(home / "finder")
    tokenizer().save_pretrained(home / "finder")
    captioner = library.BlipForConditionalGeneration(
        library.BlipConfig(
            text_config={**text, "max_position_embeddings": 64, "encoder_hidden_size": 16},
            vision_config=vision,
            projection_dim=8,
        )
    )
    captioner.save_pretrained(home / "captioner")
    library.BlipProcessor(library.BlipImageProcessorPil(size=size), tokenizer()).save_pretrained(home / "captioner")
    return home


def write(request: Request) -> Output | str:
    """A writer that asks about the first instance that was found."""
    text = request.messages[-1].text()
    assert "Instances" in text
    question = {"question": "What is it?", "answer": "a dog", "distractors": ["1 x", "2 y", "3 z"]}
    return json.dumps({"questions": [question]})


def test_pipelines_from_image_to_question(checkpoints: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(2):
        Image.new("RGB", (96, 64), (40 * number, 90, 120)).save(folder / f"{number}.png")
    manifest = tmp_path / "manifest.jsonl"
    rows = [{"id": n, "image": f"pictures/{n}.png", "caption": CAPTION} for n in range(2)]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = choose_dimensions(load_dimensions(), ["instance-identity"])
    options = QuestionOptions(
        extract=[
            f"caption,dense=pipeline:image-to-text@{checkpoints / 'captioner'}",
            f"pipeline:object-detection@{checkpoints / 'detector'}",
            f"instances=pipeline:zero-shot-object-detection@{checkpoints / 'finder'}",
            f"attributes=pipeline:zero-shot-image-classification@{checkpoints / 'names'}",
        ],
        writer=snellen.wrap_model(write),
        dimensions=names,
    )
    result = make_questions(open_images(manifest), tmp_path / "set", options, progress=False)
    assert (result.items, result.by_rule) == (2, {})
    facts = open_recorded(str(tmp_path / "set" / "pictures.jsonl"), frozenset()).recorded["0"]
    assert facts.captions[0] == CAPTION
    assert set(facts.captions[1].split()) <= set(WORDS.split())
    found = [one for one in facts.instances if one.label == "dog" and one.box]
    assert found
    for instance in facts.instances:
        assert instance.box is not None
        left, top, right, bottom = instance.box
        assert 0 <= left <= right <= 96
        assert 0 <= top <= bottom <= 64
    assert any(one.attributes for one in facts.instances)
    assert {one.box for one in facts.dense} <= {one.box for one in facts.instances}
    assert facts.dense
    assert [one.extractor.partition("@")[0] for one in facts.sources] == [
        "manifest",
        "pipeline:image-to-text",
        "pipeline:object-detection",
        "pipeline:zero-shot-object-detection",
        "pipeline:zero-shot-image-classification",
        "pipeline:image-to-text",
    ]
    evidence = latest_decisions(read_decisions(tmp_path / "set"))["0/instance-identity/1"].evidence
    assert {one.model.rpartition("/")[2] for one in evidence} >= {"captioner", "detector", "names"}


def test_labels_of_segments(checkpoints: Path, tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "red").save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    extractor = open_extractor(f"labels=pipeline:zero-shot-image-classification@{checkpoints / 'names'}")
    model = extractor.model
    assert model is not None
    view = View(
        image="a",
        ref=MediaRef(digest_bytes(data), FileSource(str(tmp_path / "a.png"))),
        width=64,
        height=64,
        words=("cup", "lamp"),
        instances=(Instance(box=(0, 0, 30, 30)), Instance("dog", (0, 0, 64, 64))),
    )
    steps = extractor.find(view, extractor.aspects, "extractor1")
    found = run_flow(steps, lambda request: model.answer_batch([request])[0])
    # The segment has a label of the caption's words; what had a label keeps it.
    assert found.instances[0].label in {"cup", "lamp"}
    assert found.instances[1] == Instance("dog", (0, 0, 64, 64))
