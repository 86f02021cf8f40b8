"""SEED-Bench's answer ranking with a real architecture: random weights, so only the plumbing and
the numbers are tested, not what the model knows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from family_trial import opened
from questions_for_models import noise, rank

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.media import decode_image
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Ranked
from snellen.core.record import Record
from snellen.core.request import Rank
from snellen.data.tables.seed_json import open_seed_json
from snellen.models.hf.bundled import WEIGHTS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from seed_files import seed_h

Folder = Callable[[str], Path]


def run_h(model: object, home: Path, *, protocol: str = "ranking", **kept: object) -> list[Record]:
    data = seed_h(home, **kept)  # type: ignore[arg-type]
    results = evaluate(
        [model],  # type: ignore[list-item]
        [f"seedbench:version=H,protocol={protocol}"],
        out=home / "out",
        variant=Variant(data=str(data), max_new_tokens=8),
        html=False,
    )
    assert not results.skipped
    (run,) = results.runs
    return [*run.records(), *run.failures()]


def plain_forward(folder: Path, question: str, pictures: list[bytes], reply: str) -> float:
    """Mean log-likelihood per token of a reply, by transformers alone."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    content = [{"type": "image"} for _ in pictures] + [{"type": "text", "text": question}]
    context = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    images = [decode_image(data) for data in pictures]
    inputs = processor(text=[context + reply], images=[images], return_tensors="pt")
    before = processor(text=[context], images=[images], return_tensors="pt")["input_ids"].shape[1]
    with torch.inference_mode():
        logits = model(**inputs).logits[0].double().log_softmax(-1)
    ids = inputs["input_ids"][0]
    chosen = [logits[at - 1, ids[at]].item() for at in range(before, len(ids))]
    return sum(chosen) / len(chosen)


@pytest.mark.parametrize("bundled", [False, True])
def test_ranking_is_a_plain_forward_pass(checkpoint: Folder, tmp_path: Path, bundled: bool) -> None:
    folder = WEIGHTS / "tiny-early" if bundled else checkpoint("llava")
    names = ["Scene Understanding", "Difference Spotting"]
    model = "snellen/tiny-early" if bundled else f"hf/{folder}:dtype=float32"
    records = run_h(model, tmp_path, only=names)
    rows = {row.cells["index"]: row for row in open_seed_json(str(tmp_path / "SEED-Bench-H.json"))}
    assert len(records) == 4
    for record in records:
        output = record.passes[0].output
        assert isinstance(output, Ranked)
        pictures = [ref.source.read() for ref in rows[record.id].media]
        expected = [plain_forward(folder, record.question, pictures, text) for text in record.options.values()]
        got = [score.logprob / score.tokens for score in output.candidates]
        assert got == pytest.approx(expected, abs=1e-4)
        assert record.answer == "ABCD"[expected.index(max(expected))]


def test_questions_are_ranked_in_one_batch(checkpoint: Folder) -> None:
    """Without shared prefixes too, whatever their length; one that is too long fails alone."""
    model = opened(checkpoint("llava"), sharing="off")
    asked = [
        rank("What is it?", ("red", "a dark green square", "yes"), noise(1)),
        rank("Is there a red square above the blue star? " * 3, ("no", "a star"), noise(2)),
        rank("Which option is right?", ("A", "B", "C", "D"), noise(3, 90, 40)),
        rank("Which option is right?", ("A", "B")),
    ]
    alone = [model.answer_batch([one])[0] for one in asked]
    assert model.largest_batch == 4
    together = model.answer_batch(asked)
    assert model.largest_batch == 9
    for one, other in zip(alone, together, strict=True):
        assert isinstance(one, Ranked)
        assert isinstance(other, Ranked)
        assert [score.logprob for score in other.candidates] == pytest.approx(
            [score.logprob for score in one.candidates], abs=1e-4
        )
    too_long = rank("red square " * 600, ("no", "yes"), noise(1))
    first, failure, *rest = model.answer_batch([asked[0], too_long, *asked[1:]])
    assert isinstance(failure, Failure)
    assert failure.kind == "unsupported"
    assert all(isinstance(output, Ranked) for output in (first, *rest))


def test_levels_of_a_model_that_draws_nothing(checkpoint: Folder, tmp_path: Path) -> None:
    folder = checkpoint("llava")
    data = seed_h(tmp_path, per_dimension=1)
    (run,) = evaluate(
        [f"hf/{folder}"], ["seedbench:version=H,level=L3"], out=tmp_path / "out", variant=Variant(data=str(data))
    ).runs
    assert run.info.status == "complete"
    summary = run.report().summary
    assert summary.outcomes["unsupported"] == 3
    assert summary.headline.name == "L3"
    assert summary.headline.value is None
    values = {name: metric.value for name, metric in summary.metrics.items()}
    assert values["L1"] is not None
    dimensions = summary.groups["dimension"]
    mean = sum(metric.value or 0.0 for metric in dimensions.values()) / 31
    assert values["L2"] == pytest.approx(mean)
    assert values["part-3"] is None
    assert dimensions["Text-Image Creation"].note == "0 of 1 answers valid: 1 unsupported"
    assert "accuracy_sum" in values
    assert (run.path / "report.html").is_file()


def test_a_model_of_one_picture_has_no_multi_image_dimensions(checkpoint: Folder, tmp_path: Path) -> None:
    records = run_h(f"hf/{checkpoint('llava')}:images=first", tmp_path, per_dimension=1)
    asked = {record.groups["subpart"] for record in records if record.unscored is None}
    assert asked == {"Single-Image & Text Comprehension"}


class Silent:
    """Gives text, but no likelihoods."""

    identity = Identity("test", "silent")
    capabilities = Capabilities()

    def answer(self, request: object) -> str:
        return "B"


def test_without_likelihoods_generate_is_offered(tmp_path: Path) -> None:
    data = str(seed_h(tmp_path, per_dimension=1))
    results = evaluate([Silent()], ["seedbench:version=H"], out=tmp_path / "out", variant=Variant(data=data))
    (skipped,) = results.skipped
    assert "log-likelihood" in skipped.reason
    assert "seedbench:protocol=generate" in skipped.reason


def test_generate_is_a_protocol_of_its_own(tmp_path: Path) -> None:
    records = run_h(Silent(), tmp_path, protocol="generate", per_dimension=1)
    assert {record.answer for record in records} == {"B"}
    assert "accuracy_sum" not in records[0].values
    assert "Options:" in records[0].passes[0].prompt[0].text()
    (folder,) = (tmp_path / "out").glob("silent--seedbench--*")
    assert json.loads((folder / "run.json").read_text())["config"]["parameters"]["protocol"] == ("generate")


class Unsure(Silent):
    """Gives likelihoods that are no numbers for what has several pictures."""

    identity = Identity("test", "unsure")
    capabilities = Capabilities(log_likelihood=True)

    def answer(self, request: object) -> object:  # type: ignore[override]
        from snellen.core.output import CandidateScore

        assert isinstance(request, Rank)
        pictures = len(request.messages[0].media())
        bad = float("nan") if pictures > 1 else -1.0
        return Ranked(tuple(CandidateScore(bad - at, 1) for at in range(len(request.candidates))))


def test_nan_is_counted_as_invalid_per_dimension(tmp_path: Path) -> None:
    names = ["Scene Understanding", "Meme Comprehension"]
    data = seed_h(tmp_path, only=names)
    (run,) = evaluate([Unsure()], ["seedbench:version=H"], out=tmp_path / "out", variant=Variant(data=str(data))).runs
    assert run.info.status == "incomplete"
    cells = run.report().summary.groups["dimension"]
    assert cells["Scene Understanding"].note == ""
    assert cells["Meme Comprehension"].value is None
    assert cells["Meme Comprehension"].note == "0 of 2 answers valid: 2 nan"
    assert {record.failure for record in run.failures()} == {"nan"}
