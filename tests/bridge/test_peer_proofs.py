"""What came of the tasks of lmms-eval and inspect_evals over the bridge (`make bridge` writes it)."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROOFS = ("lmms_eval", "inspect")


def read_proof(peer: str) -> dict[str, dict[str, Any]]:
    table = json.loads((HERE / f"proof_{peer}.json").read_text("utf-8"))
    assert table.pop("version")["version"]
    return table


@pytest.mark.parametrize("peer", PROOFS)
def test_at_least_40_tasks_are_the_same_and_none_differs(peer: str) -> None:
    came = Counter(one["came"] for one in read_proof(peer).values())
    assert came["same"] >= 40, came
    assert not came["differs"], came


@pytest.mark.parametrize("peer", PROOFS)
def test_every_task_with_rows_is_in_the_table(peer: str) -> None:
    assert set(read_proof(peer)) == set(json.loads((HERE / f"{peer}_rows.json").read_text("utf-8")))


@pytest.mark.parametrize("peer", PROOFS)
def test_same_tasks_have_numbers_and_others_a_reason(peer: str) -> None:
    for name, one in read_proof(peer).items():
        assert one["numbers"] > 0 if one["came"] == "same" else one["why"], name


def test_the_kinds_of_lmms_eval_are_covered() -> None:
    same = [one for one in read_proof("lmms_eval").values() if one["came"] == "same"]
    for kind in ("image", "video", "audio", "text"):
        assert sum(kind in one["media"] for one in same) > 1, kind
    assert any(one["most_media"] > 1 for one in same)
    assert any(one["turns"] > 1 for one in same)


def test_the_kinds_of_vlmevalkit_are_covered() -> None:
    table = json.loads((HERE / "proof.json").read_text("utf-8"))["tasks"]
    came = Counter(one["came"] for one in table.values())
    assert came["same"] >= 40, came
    assert not came["differs"], came
    same = {name: one for name, one in table.items() if one["came"] == "same"}
    assert {"POPE", "XSTest", "Video_Holmes_32frame", "MMDU"} <= set(same)
    assert sum(one["judged"] for one in same.values()) > 1
    assert same["MMDU"]["turns"] > 1


@pytest.mark.parametrize("peer", PROOFS)
def test_judged_tasks_are_covered(peer: str) -> None:
    assert sum(one["came"] == "same" and one["judged"] > 0 for one in read_proof(peer).values()) >= 4
