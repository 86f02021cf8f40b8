"""SEED-Bench as a benchmark: recorded predictions, versions, and its numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from seed_files import seed_h

from snellen import evaluate, score
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION, groups_of
from snellen.benchmarks.abilities.seedbench.summary import summarise_seed, validity_note
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.record import Record
from snellen.core.sample import Sample

Golden = Callable[[str], Path]


@pytest.mark.external_golden("seedbench_llava15_13b")
def test_golden_llava_15_13b(golden: Golden) -> None:
    home = golden("seedbench_llava15_13b")
    official = json.loads((home / "official_scores.json").read_text())
    summary = score("seedbench", home / "predictions.csv").summary
    image, video = summary.metrics["image"], summary.metrics["video"]
    assert image.value == pytest.approx(official["image"], abs=1e-9)
    assert image.n == official["image_n"]
    assert video.value == pytest.approx(official["video"], abs=1e-9)
    assert video.n == official["video_n"]
    assert summary.headline.value == pytest.approx(62.8016, abs=5e-5)
    assert (summary.n, summary.total, summary.no_gold) == (17990, 19242, 1252)
    assert any("recorded letters" in notice for notice in summary.notices)


@pytest.mark.parametrize(
    ("name", "version", "protocol"),
    [
        ("SEED-Bench", "1", "ranking"),
        ("SEED-Bench-2", "2", "ranking"),
        ("SEED-Bench-H", "H", "ranking"),
        ("seedbench:version=H", "H", "ranking"),
        ("seedbench_ppl", "1", "ranking"),
        # The other tools have the model write a letter.
        ("SEEDBench_IMG", "1", "generate"),
        ("SEEDBench2", "2", "generate"),
        ("SEEDBench2_Plus", "2-plus", "generate"),
        ("seedbench_2_plus", "2-plus", "generate"),
        ("SEEDBench_IMG:protocol=ranking", "1", "ranking"),
    ],
)
def test_names_of_seedbench_versions(name: str, version: str, protocol: str) -> None:
    found = open_benchmark(name)
    assert (found.name, found.parameters["version"]) == ("seedbench", version)
    assert found.parameters["protocol"] == protocol
    assert ("per token" in found.parameters.get("normalisation", "")) == (protocol == "ranking")


def test_unknown_protocol_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected one of ranking, generate"):
        open_benchmark("seedbench:protocol=letters")


@pytest.mark.parametrize(("level", "questions"), [("L1", 24), ("L2", 31), ("L3", 34)])
def test_a_level_holds_those_below_it(tmp_path: Path, level: str, questions: int) -> None:
    data = seed_h(tmp_path, per_dimension=1)
    found = open_benchmark(f"seedbench:version=H,level={level}", Variant(data=str(data)))
    samples = list(found.samples(found.open()))
    assert len(samples) == questions
    assert found.headline == level
    drawn = [sample for sample in samples if sample.option_images]
    assert len(drawn) == (3 if level == "L3" else 0)
    interleaved = next(s for s in samples if s.groups[DIMENSION] == "Scene Understanding")
    assert len(interleaved.media) == 1


def test_next_image_prediction_shows_three_and_compares_four(tmp_path: Path) -> None:
    data = seed_h(tmp_path, per_dimension=1, only=["Next Image Prediction"])
    found = open_benchmark("seedbench:version=H,level=L3", Variant(data=str(data)))
    (sample,) = found.samples(found.open())
    assert (len(sample.media), list(sample.option_images)) == (3, ["A", "B", "C", "D"])


def test_ids_must_be_unique(tmp_path: Path) -> None:
    data = seed_h(tmp_path, per_dimension=1, only=["Scene Understanding"])
    document = json.loads(data.read_text())
    document["questions"] *= 2
    data.write_text(json.dumps(document))
    found = open_benchmark("seedbench:version=H", Variant(data=str(data)))
    with pytest.raises(DataError, match="rows 1 and 2 have the same id '1_0'"):
        list(found.samples(found.open()))


@pytest.mark.parametrize(
    ("cells", "version", "dimension"),
    [
        ({"category": "Instances Counting"}, "1", "Instance Counting"),
        ({"category": "instance_attributes"}, "1", "Instance Attribute"),
        ({"question_type_id": "10"}, "1", "Action Recognition"),
        ({"question_type_id": "10"}, "2", "Celebrity Recognition"),
        ({"question_type_id": "25"}, "2", "Text-to-Image Generation"),
        ({"question_type_id": "25"}, "H", "In-Context Captioning"),
        ({"category": "chart"}, "2-plus", "Text-Rich Visual Comprehension"),
        ({}, "1", None),
    ],
)
def test_dimension_of_a_row(cells: dict[str, str], version: str, dimension: str | None) -> None:
    from snellen.benchmarks.abilities.seedbench.rows import dimension_of

    found = dimension_of(cells, version)  # type: ignore[arg-type]
    assert (found.name if found else None) == dimension


def test_version_1_infers_media_kind_from_the_id() -> None:
    for identifier, media in (("v17", "video"), ("101669", "image")):
        assert groups_of(Sample(identifier, "choice", "?"), {}, None, "1")["media"] == media


def record(outcome: str = "answered", number: int = 0, **changes: object) -> Record:
    right = outcome == "answered"
    return Record(
        f"{outcome}{number}",
        "choice",
        "?",
        outcome,  # type: ignore[arg-type]
        score=1.0 if right else None,
        unscored=None if right else "failed",
        groups={DIMENSION: "Scene Understanding"},
        failure=None if right else "nan",
        **changes,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("valid", "invalid", "note"),
    [
        (3, 0, ""),
        (3, 1, "3 of 4 answers valid: 1 nan"),
        (2, 2, "* 2 of 4 answers valid: 2 nan"),
        (0, 2, "0 of 2 answers valid: 2 nan"),
    ],
)
def test_at_most_half_is_marked(valid: int, invalid: int, note: str) -> None:
    records = [record(number=n) for n in range(valid)]
    records += [record("failed", number=n) for n in range(invalid)]
    assert validity_note(records) == note
    summary = summarise_seed(records, version="H", level="L1", ranking=True, failures="exclude")
    assert summary.groups[DIMENSION]["Scene Understanding"].note == note
    assert any(notice.startswith("Scene Understanding *") for notice in summary.notices) == (note.startswith("*"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("seed")
    data = seed_h(home)
    evaluate(
        ["random"],
        ["seedbench:version=H,level=L3", "seedbench:version=H,protocol=generate"],
        out=home / "out",
        variant=Variant(data=str(data)),
        html=False,
    )
    return home / "out"


def test_results_json_out_and_in(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder,) = (path.parent for path in run.glob("*/run.json") if '"level": "L3"' in path.read_text())
    target = tmp_path / "results.json"
    assert main(["export", str(folder), "--to", "seed-results", "-o", str(target)]) == 0
    assert "62 answers written; 6 samples without an answer" in capsys.readouterr().err
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(rows) == 62
    assert set(rows[0]) == {"question_id", "prediction"}
    data = run.parent / "SEED-Bench-H.json"
    again = score("seedbench:version=H", target, data=data).summary
    ran = json.loads((folder / "report.json").read_text())["summary"]
    assert again.metrics["L2"].value == pytest.approx(ran["metrics"]["L2"]["value"])
    assert again.outcomes["answered"] == 62


def test_tables_of_runs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--to", "seed-table"]) == 0
    text = capsys.readouterr().out
    assert "random (ranking)" in text
    assert "random (generate)" in text
    levels = text.split("**Subparts**")[0]
    row = next(line for line in levels.splitlines() if line.startswith("| random (ranking)"))
    assert row.endswith("| – | – | – | – |"), "part-3 and L3 have no value"
    assert row.startswith("| random (ranking) | L2 |")
    assert "| Few-shot Segmentation† |" in text
    assert "| Few-shot Keypoint |" in text
    assert "† the form of the authors' files of this dimension is not documented" in text
    (report, *_) = run.glob("*/report.json")
    notices = json.loads(report.read_text())["summary"]["notices"]
    assert any(each.startswith("Few-shot Segmentation and Few-shot Object") for each in notices)
    assert main(["export", str(run), "--to", "seed-heatmap"]) == 0
    assert capsys.readouterr().out.startswith("<svg ")


def test_only_one_run_is_exported_as_results(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--to", "seed-results"]) == 2
    assert "one run's file; got 2 runs" in capsys.readouterr().err
