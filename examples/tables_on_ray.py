"""Scores of all models, and their differences from one model, computed on a Ray cluster.

    snellen export results --to parquet -o tables
    python tables_on_ray.py tables MODEL

Ray Data reads `tables/samples` in parallel, on as many machines as the cluster has (RAY_ADDRESS
names it), so the samples need not fit into the memory of one. Differences are of the samples that
both models answered, as in `snellen compare`. Runs with another setting, such as `blind` or a limit,
are compared among themselves.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pyarrow as pa
import ray
from pyarrow import compute, parquet
from ray.data.aggregate import Count, Mean, Std

TABLE = ["benchmark", "setting"]
"""What the runs that are compared have in common."""


def read_scores(tables: Path) -> ray.data.Dataset:
    """A row for each sample with a score: benchmark, setting, model, id, score."""
    runs = parquet.read_table(tables / "runs.parquet", columns=["run", "setting"])

    def with_setting(batch: pa.Table) -> pa.Table:
        places = compute.index_in(batch["run"], runs["run"])
        batch = batch.append_column("setting", compute.fill_null(runs["setting"].take(places), ""))
        return batch.filter(compute.is_valid(batch["score"])).select([*TABLE, "model", "id", "score"])

    rows = ray.data.read_parquet(str(tables / "samples"), columns=["run", "benchmark", "model", "id", "score"])
    return rows.map_batches(with_setting, batch_format="pyarrow")


def differences(scores: ray.data.Dataset, reference: str) -> ray.data.Dataset:
    """A row for each sample and model but the reference: benchmark, model, difference."""

    def subtract(sample: pa.Table) -> pa.Table:
        is_reference = compute.equal(sample["model"], reference)
        base, others = sample.filter(is_reference), sample.filter(compute.invert(is_reference))
        if not len(base):
            others = others.slice(0, 0)
        difference = compute.subtract(others["score"], base["score"][0]) if len(others) else others["score"]
        return others.select([*TABLE, "model"]).append_column("difference", difference)

    return scores.groupby([*TABLE, "id"]).map_groups(subtract, batch_format="pyarrow")


def main(tables: Path, reference: str) -> None:
    # Without `local` Ray would join any cluster that runs on this machine.
    ray.init(address=os.environ.get("RAY_ADDRESS", "local"), log_to_driver=False)
    scores = read_scores(tables).materialize()
    keys = [*TABLE, "model"]
    for row in scores.groupby(keys).aggregate(Mean("score"), Count()).sort(keys).take_all():
        print(*(row[key] for key in keys), f"{100 * row['mean(score)']:.2f}", row["count()"], sep="\t")
    pairs = differences(scores, reference).groupby(keys)
    for row in pairs.aggregate(Mean("difference"), Std("difference"), Count()).sort(keys).take_all():
        error = 100 * row["std(difference)"] / math.sqrt(row["count()"])
        difference = f"{100 * row['mean(difference)']:+.2f} ± {error:.2f}"
        print(*(row[key] for key in TABLE), f"{row['model']} - {reference}", difference, row["count()"], sep="\t")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
