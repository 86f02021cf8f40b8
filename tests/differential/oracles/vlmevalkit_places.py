"""VLMEvalKit's own `evaluate` of places, over replies on standard input, where it wants more than its
file of replies: pictures on disk, or a table that its class reads again.

Run as `vlmevalkit.py` is, whose parts it uses. Arguments of a job: {"dataset": NAME}, a name of
`SCORERS`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import stand_ins
import vlmevalkit as base

Row = Mapping[str, Any]


def refcoco(rows: Sequence[Row]) -> dict[str, Any]:
    """Its class reads the table in its own way, and names the rows by their split."""
    import pandas as pd
    from vlmeval.dataset.refcoco import RefCOCODataset

    with tempfile.TemporaryDirectory() as folder:
        os.environ["LMUData"] = folder  # noqa: SIM112 - its name there
        table = _table(rows)
        table.to_csv(Path(folder) / "RefCOCO.tsv", sep="\t", index=False)
        dataset = RefCOCODataset.__new__(RefCOCODataset)
        dataset.dataset_name = "RefCOCO"
        dataset.data = dataset.load_data("RefCOCO")
        dataset._ensure_metadata_ready = lambda: None
        ids = dict(zip(dataset.data["index"], table["index"].astype(str), strict=True))
        file = Path(folder) / "model_RefCOCO.xlsx"
        said = [row["reply"] for row in rows]
        dataset.data.assign(prediction=said).to_excel(file, index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file))
        detail = pd.read_excel(Path(folder) / "model_RefCOCO_detail.xlsx")
    credits = {ids[index]: float(hit) for index, hit in zip(detail["index"], detail["hit"], strict=True)}
    splits = zip(returned["Split"], returned["Precision@1"], strict=True)
    metrics = {f"{split}/Precision@1": float(value) for split, value in splits}
    return {"credits": credits, "metrics": metrics}


def groundingme(rows: Sequence[Row]) -> dict[str, Any]:
    """Its class reads the table anew: here from the rows."""
    from vlmeval.dataset.groundingme import GroundingME

    def evaluate(some: Sequence[Row]) -> dict[str, float]:
        class Held(GroundingME):  # type: ignore[misc, unused-ignore]
            def __init__(self, *_: object) -> None:
                self.data = _table(some)

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model_GroundingME.xlsx"
            _table(some).assign(prediction=[row["reply"] for row in some]).to_excel(
                file, index=False, engine="xlsxwriter"
            )
            return {name: float(values[0]) for name, values in Held.evaluate(str(file)).items()}

    credits = {row["id"]: evaluate([row])["ACC@0.5"] for row in rows}
    return {"credits": credits, "metrics": {name: 100 * value for name, value in evaluate(rows).items()}}


def refspatial(rows: Sequence[Row]) -> dict[str, Any]:
    """Its class looks for the mask in the table of questions."""
    import pandas as pd
    from vlmeval.dataset.refspatial import RefSpatialDataset

    dataset = RefSpatialDataset.__new__(RefSpatialDataset)
    dataset.dataset_name = "RefSpatial-Location"
    masks = [row["cells"]["image"][1] for row in rows]
    table = _table(rows).drop(columns="image").assign(split="Location")
    dataset.data = table.assign(mask=masks)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model_RefSpatial-Location.xlsx"
        said = [row["reply"] for row in rows]
        table.assign(prediction=said).to_excel(file, index=False, engine="xlsxwriter")
        returned = dataset.evaluate(str(file))
        detail = pd.read_excel(Path(folder) / "model_RefSpatial-Location_detail.xlsx")
    credits = {str(index): float(right) for index, right in zip(detail["index"], detail["success"], strict=True)}
    numbers = zip(returned["Split"], returned["Success Rate (%)"], strict=True)
    return {"credits": credits, "metrics": {f"{name}/Success Rate (%)": float(value) for name, value in numbers}}


def _table(rows: Sequence[Row]) -> Any:
    import pandas as pd

    table = pd.DataFrame([{**row["cells"], "index": row["id"]} for row in rows])
    table["index"] = table["index"].astype(int)
    return table


SCORERS: Mapping[str, Callable[[Sequence[Row]], dict[str, Any]]] = {
    "RefCOCO": refcoco,
    "GroundingME": groundingme,
    "RefSpatial-Location": refspatial,
}


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        stand_ins.install(*base.HEAVY)
        sys.path.insert(0, str(base.CHECKOUT))
        import vlmeval.dataset  # noqa: F401

        stand_ins.seal()
        verdicts = [SCORERS[job["arguments"]["dataset"]](job["rows"]) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
