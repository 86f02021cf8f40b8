"""Models that take one image answer benchmarks of several with the first."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from questions_for_models import noise
from tiny_checkpoints import idefics3, llava

from snellen import evaluate
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.output import Generated
from snellen.core.request import Request

ONE_IMAGE = Capabilities(many_images=False, interleaved=False)


class Cyclops:
    """Takes one image; remembers what it was given."""

    identity = "cyclops"
    capabilities = ONE_IMAGE

    def __init__(self) -> None:
        self.requests: dict[str, Request] = {}

    def answer(self, request: Request) -> Generated:
        self.requests[request.ref.sample] = request
        return Generated("A")


def questions(folder: Path, *numbers: int) -> Path:
    """A table with questions of so many images each."""
    path = folder / "several.jsonl"
    rows = []
    for index, count in enumerate(numbers):
        names = []
        for image in range(count):
            name = f"{index}-{image}.png"
            (folder / name).write_bytes(noise(10 * index + image))
            names.append(name)
        rows.append(
            {
                "index": str(index),
                "question": f"Which ({index})?",
                "A": "red",
                "B": "blue",
                "answer": "A",
                "image_path": names,
            }
        )
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def test_no_benchmark_is_skipped_for_a_model_of_one_image() -> None:
    refusing = {}
    for listing in list_benchmarks():
        try:
            reason = open_benchmark(listing.name, Variant()).requires(ONE_IMAGE)
        except UsageError:
            continue  # needs a path or a choice
        if reason:
            refusing[listing.name] = reason
    # Their reasons are others: likelihoods, and images as answers.
    assert not {name for name, reason in refusing.items() if "image" in reason.lower()} - {"seedbench"}, refusing


def test_first_image_alone_is_sent_and_the_run_reports_it(tmp_path: Path) -> None:
    model = Cyclops()
    results = evaluate([model], [str(questions(tmp_path, 3, 1, 2))], out=tmp_path / "runs")
    (run,) = results.runs
    assert [len(model.requests[row].media) for row in ("0", "1", "2")] == [1, 1, 1]
    first = model.requests["0"]
    assert [source.read() for source in first.media.values()] == [noise(0)]
    assert "Which (0)?" in first.messages[-1].text()
    assert run.info.remarks == (
        "the model takes one image: 2 questions of several were asked with the first alone, their texts joined",
    )


def test_a_model_of_several_images_is_asked_as_before(tmp_path: Path) -> None:
    model = Cyclops()
    model.capabilities = Capabilities()
    (run,) = evaluate([model], [str(questions(tmp_path, 3))], out=tmp_path / "runs").runs
    assert len(model.requests["0"].media) == 3
    assert run.info.remarks == ()


@pytest.mark.parametrize("build", [llava, idefics3])
def test_a_small_model_answers_as_if_there_were_one_image(build: object, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    assert callable(build)
    build(folder)
    (tmp_path / "one").mkdir()
    several, single = questions(tmp_path, 3, 2), questions(tmp_path / "one", 1, 1)
    name = f"{folder}:images=first,device=cpu,max_new_tokens=6"
    replies = []
    for data in (several, single):
        (run,) = evaluate([name], [str(data)], out=tmp_path / f"runs-{data.parent.name}").runs
        assert run.info.status == "complete"
        outputs = [record.passes[-1].output for record in run.records()]
        replies.append([output.text for output in outputs if isinstance(output, Generated)])
    assert len(replies[0]) == 2
    assert replies[0] == replies[1]


def test_eyechart_of_a_model_of_one_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "-m", "snellen/tiny:images=first", "-b", "eyechart", "--limit", "4"]
    assert main([*command, "--no-html"]) == 0
    assert "skipped" not in capsys.readouterr().out


def test_an_inline_image_is_the_first_too(tmp_path: Path) -> None:
    model = Cyclops()
    images = [base64.b64encode(noise(seed)).decode() for seed in (1, 2)]
    path = tmp_path / "inline.tsv"
    cells = json.dumps(images).replace('"', "'")
    path.write_text(f"index\timage\tquestion\tA\tB\tanswer\n0\t{cells}\tWhich?\tr\tb\tA\n")
    evaluate([model], [str(path)], out=tmp_path / "runs")
    (source,) = model.requests["0"].media.values()
    assert source.read() == noise(1)
