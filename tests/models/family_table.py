"""Every family that is tried, and the record of where it was: docs/data/families.json.

`python tests/models/family_table.py [NAME ...]` tries them here and writes what it saw. Run it
where torchvision works and with each version of transformers that is to stand in the record.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import family_further
import family_grids
import family_llava_like
import family_more
import family_newest
import family_patches
import family_plain
import family_qwen_like
import family_reading
import family_rest
import family_tiled
import transformers
from family_parts import TORCHVISION, Family
from family_trial import Trial, try_out

DATA = Path(__file__).parents[2] / "docs" / "data"
RECORD = DATA / "families.json"
LEFT_OUT = DATA / "families_left_out.json"
"""Why no tiny one of an architecture is asked, by `model_type`."""
WHERE = transformers.__version__.rpartition(".")[0] + " with torchvision" * TORCHVISION
"""This environment, as the record names it."""
FAMILIES: dict[str, Family] = {
    family.name: family
    for module in (
        family_qwen_like,
        family_grids,
        family_patches,
        family_llava_like,
        family_further,
        family_tiled,
        family_newest,
        family_more,
        family_rest,
        family_reading,
        family_plain,
    )
    for family in module.FAMILIES
}


def skipped(family: Family) -> str | None:
    """Why a family cannot be tried here, or None."""
    if family.needs and not hasattr(transformers, family.needs):
        return f"transformers {transformers.__version__} has no {family.needs}"
    if tuple(int(part) for part in transformers.__version__.split(".")[:2]) < family.since:
        return f"transformers {transformers.__version__} cannot answer all of it"
    if family.torchvision and not TORCHVISION:
        return "its processor needs torchvision"
    if family.library and importlib.util.find_spec(family.library) is None:
        return f"its vision tower needs {family.library}"
    return None


def recorded() -> dict[str, dict[str, Any]]:
    """What was seen of each family, by its name."""
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def described(family: Family, trial: Trial) -> dict[str, Any]:
    return asdict(trial) | {"torchvision": family.torchvision, "library": family.library}


def main(names: list[str]) -> int:
    """Tries families and adds them to the record; the count of those that failed."""
    record = recorded() if RECORD.is_file() else {}
    failed = 0
    for family in FAMILIES.values():
        if skipped(family) or (names and family.name not in names):
            continue
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                trial = try_out(family, Path(folder) / "model")
            except (Exception, AssertionError) as error:  # noqa: BLE001 - told, and counted
                print(f"{family.name}: {type(error).__name__}: {error}", file=sys.stderr)
                failed += 1
                continue
        ran = set(record.get(family.name, {}).get("ran", ())) | {WHERE}
        record[family.name] = described(family, trial) | {"ran": sorted(ran)}
        ordered = {one: record[one] for one in FAMILIES if one in record}
        text = json.dumps(ordered, indent=1, ensure_ascii=False) + "\n"
        RECORD.write_text(text, encoding="utf-8")
    return failed


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    sys.exit(main(sys.argv[1:]))
