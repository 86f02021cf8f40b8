"""A judge whose server Snellen starts, for somebody else's predictions."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from snellen import score
from snellen.models.hf.bundled import WEIGHTS

JUDGE = f"transformers/{WEIGHTS / 'tiny'}"


@pytest.mark.release
def test_server_of_a_judge_is_started_and_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    data, replies = tmp_path / "questions.tsv", tmp_path / "replies.csv"
    data.write_text("index\tquestion\tanswer\tcategory\timage\n1\tWhat is x?\t3\tmath\tiVBORw0KGgo=\n")
    replies.write_text("index,prediction\n1,It is 3.\n")
    said: list[str] = []

    scored = score(
        "mm-vet", replies, data=data, judges=[JUDGE], store=tmp_path / "out" / "store.sqlite", serving=said.append
    )
    (record,) = scored.records
    (verdict,) = record.passes[0].verdicts
    assert verdict.output.text  # type: ignore[union-attr]
    assert any(line.startswith("starting") for line in said)
    (log,) = (tmp_path / "out" / "servers").iterdir()
    assert "POST /v1/chat/completions" in log.read_text()
    assert not [one for one in psutil.Process().children() if "serve" in one.cmdline()]
