"""The bundled model through all four papers' protocols, over small data in their file formats:
circular rotations, yes/no pairs, answer ranking, several pictures apart and side by side.

The pictures are drawn here; drawing by a model is tested in `test_seedbench_pictures`.
"""

from __future__ import annotations

import base64
from pathlib import Path

from mmt_rows import row, several
from mmt_rows import write as write_mmt
from seed_files import COLOURS, disc, seed_h

from snellen.api import evaluate
from snellen.benchmarks.mme_subtasks import SUBTASKS
from snellen.core.benchmark import Variant
from snellen.core.output import Generated, Ranked
from snellen.store.runs import RunFolder

MODEL = "snellen/tiny"


def ran(benchmark: str, data: Path, out: Path, **variant) -> RunFolder:
    chosen = Variant(data=str(data), **variant)
    (run,) = evaluate([MODEL], [benchmark], variant=chosen, out=out).runs
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
                str(number + turn * 1_000_000), "What color is the circle?", *shown,
                "ABC"[shown.index(colour)], "attribute_recognition",
                "finegrained_perception (instance-level)", "dev",
                str(number) if turn else base64.b64encode(disc(colour)).decode(),
            )  # fmt: skip
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
        row(number, "person_reid", "image_retrieval", image=several(["red", "green", "blue"]))
        for number in range(1, 5)
    ]
    data = write_mmt(tmp_path / "MMT-Bench_VAL_MI.tsv", rows)
    apart = ran("mmt-bench:images=native", data, tmp_path / "out")
    joined = ran("mmt-bench:images=stitch", data, tmp_path / "out")
    assert {len(record.media) for record in apart.records()} == {3}
    assert {len(record.media) for record in joined.records()} == {1}
    assert apart.name != joined.name
