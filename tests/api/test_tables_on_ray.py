"""The tables of `snellen export --to parquet`, asked by Ray Data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import snellen
from snellen.api.parquet_export import write_parquet

EXAMPLE = Path(__file__).parents[2] / "examples" / "tables_on_ray.py"


@pytest.mark.release
@pytest.mark.timeout(900)
def test_ray_data_computes_the_scores_and_differences_of_snellen(tmp_path: Path) -> None:
    runs = snellen.evaluate(["random", "snellen/tiny"], "eyechart", out=tmp_path / "out", limit=40, html=False)
    write_parquet(runs.runs, tmp_path / "tables")
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "tables"), "snellen/tiny"]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "RAY_ADDRESS": "local"}
    )
    rows = [line.split("\t") for line in printed.stdout.splitlines() if "\t" in line]
    scores = [["eyechart", "limit 40", run.model, f"{run.score:.2f}", "40"] for run in runs]
    (pair,) = snellen.compare(runs.runs).to_dicts()
    assert rows[:2] == sorted(scores)
    assert rows[2][2] == "random - snellen/tiny"
    assert float(rows[2][3].split(" ")[0]) == pytest.approx(-pair["difference"], abs=0.01)
