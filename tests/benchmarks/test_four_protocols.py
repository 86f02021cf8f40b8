"""The bundled model through all four papers' protocols, over small data in their file formats:
circular rotations, yes/no pairs, answer ranking, several pictures apart, between words and side by
side, regions as boxes, and answers that are pictures.

The bundled model draws nothing: the one that does is a small checkpoint of random weights.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest
from mmt_rows import picture, row, several
from mmt_rows import write as write_mmt
from seed_files import COLOURS, disc, seed_h

from snellen import evaluate
from snellen.benchmarks.abilities.mme.subtasks import SUBTASKS
from snellen.core.benchmark import Variant
from snellen.core.output import Compared, Drawn, Generated, Ranked
from snellen.core.request import Media
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

MODEL = "snellen/tiny"


def ran(
    benchmark: str, data: Path, out: Path, model: str = MODEL, clip: str | None = None, circular: str | None = None
) -> RunFolder:
    chosen = Variant(data=str(data), circular=circular)
    (run,) = evaluate([model], [benchmark], variant=chosen, out=out, clip=clip).runs
    assert run.info.status == "complete"
    assert (run.path / "report.html").is_file()
    return run


def outputs(run: RunFolder) -> list[object]:
    return [one.output for record in run.records() for one in record.passes]


def write_mmbench(path: Path) -> Path:
    """Four questions of three options with all rotations; rotated rows name the base's picture."""
    lines = ["index\tquestion\tA\tB\tC\tanswer\tcategory\tl2-category\tsplit\timage"]
    for number, colour in enumerate(COLOURS, 1):
        options = [colour, *(other for other in COLOURS if other != colour)][:3]
        for turn in range(3):
            shown = options[-turn:] + options[:-turn] if turn else options
            cells = (
                str(number + turn * 1_000_000),
                "What color is the circle?",
                *shown,
                "ABC"[shown.index(colour)],
                "attribute_recognition",
                "finegrained_perception (instance-level)",
                "dev",
                str(number) if turn else base64.b64encode(disc(colour)).decode(),
            )
            lines.append("\t".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_mme(home: Path) -> Path:
    """Every subtask with two pictures and their pairs, as MME's folders hold them."""
    for subtask in SUBTASKS:
        folder = home / subtask
        folder.mkdir(parents=True)
        for right, wrong in (("red", "blue"), ("green", "yellow")):
            (folder / f"{right}.png").write_bytes(disc(right))
            pair = (
                f"Is the circle {right}? Please answer yes or no.\tYes\n"
                f"Is the circle {wrong}? Please answer yes or no.\tNo\n"
            )
            (folder / f"{right}.txt").write_text(pair)
    return home


def test_mmbench_circular(tmp_path: Path) -> None:
    data = write_mmbench(tmp_path / "MMBench_DEV_EN.tsv")
    run = ran("mmbench", data, tmp_path / "out", circular="full")
    summary = run.report().summary
    assert summary.n == 4
    assert len(outputs(run)) == 12
    vanilla = summary.metrics["vanilla"].value
    assert vanilla is not None
    assert summary.headline.value is not None
    assert summary.headline.value <= vanilla


def test_mme_pairs(tmp_path: Path) -> None:
    run = ran("mme", write_mme(tmp_path / "MME"), tmp_path / "out")
    summary = run.report().summary
    assert summary.n == 4 * len(SUBTASKS)
    assert summary.outcomes["answered"] == summary.n, "the model follows the instruction"
    assert summary.metrics["perception"].value is not None
    assert all(isinstance(output, Generated) for output in outputs(run))


def test_seedbench_ranking_does_not_generate(tmp_path: Path) -> None:
    data = seed_h(tmp_path, only=["Instance Attributes", "Scene Understanding"])
    run = ran("seedbench", data, tmp_path / "out")
    assert run.info.config.parameters["protocol"] == "ranking"
    assert outputs(run)
    assert all(isinstance(output, Ranked) for output in outputs(run))


def test_mmt_bench_apart_and_side_by_side(tmp_path: Path) -> None:
    rows = [
        row(number, "person_reid", "image_retrieval", image=several(["red", "green", "blue"])) for number in range(1, 5)
    ]
    data = write_mmt(tmp_path / "MMT-Bench_VAL_MI.tsv", rows)
    apart = ran("mmt-bench:images=native", data, tmp_path / "out")
    joined = ran("mmt-bench:images=stitch", data, tmp_path / "out")
    assert {len(record.media) for record in apart.records()} == {3}
    assert {len(record.media) for record in joined.records()} == {1}
    assert apart.name != joined.name


def test_interleaved_images_keep_their_places_in_the_text(tmp_path: Path) -> None:
    data = seed_h(tmp_path, only=["Interleaved Image-Text Analysis"])
    run = ran("seedbench:version=H", data, tmp_path / "out")
    for record in run.records():
        (message,) = record.passes[0].prompt
        assert [isinstance(part, Media) for part in message.parts] == [True, False, True, False]


def test_regions_are_drawn_as_boxes(tmp_path: Path) -> None:
    cells = {"category": "visual_prompt_understanding", "boxes": "[[10, 5, 40, 30]]"}
    rows = [
        row(number, "som_recognition", "visual_prompt_understanding", image=picture(colour)) | {"boxes": cells["boxes"]}
        for number, colour in enumerate(("red", "green"), 1)
    ]
    data = write_mmt(tmp_path / "MMT-Bench_VAL.tsv", rows, extra=("boxes",))
    boxed = ran("mmt-bench:images=single", data, tmp_path / "out")
    written = ran("mmt-bench:images=single,referring=pixel", data, tmp_path / "out")
    shown = {record.id: record.media for record in boxed.records()}
    plain = {record.id: record.media for record in written.records()}
    assert all(shown[name] != plain[name] for name in plain)
    for record in boxed.records():
        assert (boxed.path / "media" / f"{record.media[0]}.jpg").is_file()
    (text, *_) = [one.passes[0].prompt[0].text() for one in written.records()]
    assert "10, 5, 40, 30" in text


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that ranks and draws, and a CLIP, both with random weights."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
    import drawing_checkpoints

    root = tmp_path_factory.mktemp("drawing")
    return {name: getattr(drawing_checkpoints, name)(root / name) for name in ("janus", "clip")}


def test_answers_that_are_pictures(drawing: dict[str, Path], tmp_path: Path) -> None:
    data = seed_h(tmp_path, 1, ["Text-to-Image Generation", "Next Image Prediction"])
    run = ran(
        "seedbench:version=H,level=L3,draw_guidance=2,draw_seed=1",
        data,
        tmp_path / "out",
        f"hf/{drawing['janus']}",
        f"clip/{drawing['clip']}",
    )
    for record in run.records():
        drawn, compared = record.passes
        assert isinstance(drawn.output, Drawn)
        assert isinstance(compared.output, Compared)
        assert (run.path / "media" / f"{drawn.output.images[0]}.jpg").is_file()
        with ResponseStore(tmp_path / "out" / "store.sqlite") as store:
            assert store.medium(drawn.output.images[0])
    assert run.info.config.parameters["draw_guidance"] == "2"
