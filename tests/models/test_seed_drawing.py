"""SEED-Bench's part 3 from end to end: random weights, so only the plumbing is tested."""

from __future__ import annotations

import sys
from pathlib import Path

import drawing_checkpoints
import pytest

from snellen import Results, evaluate
from snellen.benchmarks.abilities.seedbench.image_answers import TEXT_ACCURACY
from snellen.core.benchmark import Variant
from snellen.core.output import Compared, Drawn, Failure
from snellen.store.responses import ResponseStore

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from seed_files import seed_h

PART_3 = ["Text-to-Image Generation", "Next Image Prediction", "Text-Image Creation"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("drawing")
    return {name: getattr(drawing_checkpoints, name)(root / name) for name in ("janus", "clip")}


def level_3(model: str, home: Path, clip: Path | None, **kept: object) -> Results:
    data = seed_h(home, **kept)  # type: ignore[arg-type]
    return evaluate(
        [model],
        ["seedbench:version=H,level=L3"],
        out=home / "out",
        variant=Variant(data=str(data)),
        clip=f"clip/{clip}" if clip else None,
    )


def test_single_model_reaches_level_3(folders: dict[str, Path], tmp_path: Path) -> None:
    name = f"hf/{folders['janus']}"
    (run,) = level_3(name, tmp_path, folders["clip"], per_dimension=1).runs
    assert run.info.status == "complete"
    assert run.info.config.roles["clip"].provider == "clip"
    summary = run.report().summary
    cells = summary.groups["dimension"]
    assert len(cells) == 34
    assert summary.outcomes["answered"] == 34
    mean = sum(metric.value or 0.0 for metric in cells.values()) / 34
    assert summary.headline.name == "L3"
    assert summary.headline.value == pytest.approx(mean)
    records = {record.groups["dimension"]: record for record in run.records()}
    drawn = records["Next Image Prediction"]
    picture, choice = drawn.passes
    assert isinstance(picture.output, Drawn)
    assert isinstance(choice.output, Compared)
    assert picture.output.data == {}
    assert len(picture.prompt[0].media()) == 3
    with ResponseStore(tmp_path / "out" / "store.sqlite") as store:
        assert store.medium(picture.output.images[0])
    assert list((run.path / "media").glob(f"{picture.output.images[0]}*"))
    assert TEXT_ACCURACY in records["Text-Image Creation"].values
    assert summary.metrics[TEXT_ACCURACY].n == 1
    # The same command again asks nothing; a lost folder is filled from the store.
    assert level_3(name, tmp_path, folders["clip"], per_dimension=1).runs[0].info.counts.done == 34
    (run.path / "samples.jsonl").unlink()
    (again,) = level_3(name, tmp_path, folders["clip"], per_dimension=1).runs
    assert again.info.counts.sent == 0
    assert {record.id: record.score for record in again.records()} == {
        record.id: record.score for record in records.values()
    }


def test_without_clip_nothing_is_drawn(folders: dict[str, Path], tmp_path: Path) -> None:
    (run,) = level_3(f"hf/{folders['janus']}", tmp_path, None, only=PART_3).runs
    assert {record.outcome for record in run.records()} == {"unsupported"}
    assert run.info.counts.sent == 0
    reason = next(iter(run.records())).passes[0].output
    assert isinstance(reason, Failure)
    assert "--judge clip/" in reason.message


def test_a_pipeline_answers_the_captions_alone(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = drawing_checkpoints.diffusion(tmp_path / "diffusion")
    name = f"diffusers/{folder}"
    (run,) = level_3(name, tmp_path, folders["clip"], only=PART_3, per_dimension=1).runs
    cells = run.report().summary.groups["dimension"]
    assert cells["Text-to-Image Generation"].value is not None
    assert cells["Next Image Prediction"].value is None
    assert cells["Text-Image Creation"].value is None
    assert run.report().summary.headline.value is None


def test_a_clip_that_cannot_be_loaded_stops_before_anything_is_asked(folders: dict[str, Path], tmp_path: Path) -> None:
    from snellen.core.errors import UsageError

    with pytest.raises(UsageError, match=r"the clip .* does not answer"):
        level_3(f"hf/{folders['janus']}", tmp_path, folders["janus"], only=PART_3)
