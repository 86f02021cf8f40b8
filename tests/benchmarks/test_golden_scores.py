"""Recorded predictions of real models, scored by us, beside their official scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snellen import evaluate, score

Golden = Callable[[str], Path]


@pytest.mark.external_golden("scienceqa_img_tsv")
@pytest.mark.parametrize("with_data", [True, False])
def test_scienceqa_subset_101_of_211(golden: Golden, with_data: bool) -> None:
    home = golden("scienceqa_img_tsv")
    data = home / "ScienceQA_TEST_IMG_SUBSET.tsv.gz" if with_data else None
    scored = score("scienceqa", home / "predictions_llava15_13b.csv", data=data)
    assert scored.summary.headline.value == pytest.approx(100 * 101 / 211)
    assert (scored.summary.n, scored.warnings) == (211, ())


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        pytest.param(
            "scienceqa_img_tsv/ScienceQA_TEST_IMG_SUBSET.tsv.gz",
            211,
            marks=pytest.mark.external_golden("scienceqa_img_tsv"),
        ),
        ("mathvision_img_tsv/MathVision_SUBSET.tsv.gz", 160),
    ],
)
def test_real_tsv_files_run_end_to_end(golden: Golden, tmp_path, file: str, rows: int) -> None:
    (run,) = evaluate(["random"], [str(golden(file))], out=tmp_path).runs
    assert run.info.status == "complete"
    assert run.report().summary.total == rows
    assert (run.path / "report.html").stat().st_size < 15_000_000
