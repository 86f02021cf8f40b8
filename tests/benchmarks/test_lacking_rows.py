"""Rows that the data or the predictions lack are told, and do not bend a number or its interval."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.cli.main import main
from snellen.core.benchmark import Variant

HEADER = "index\tquestion\tA\tB\tC\tanswer\tcategory\tl2-category\tsplit\n"
ROWS = {
    1: "1\tWhich?\tx\ty\tz\tA\tc\td\tdev\n",
    1000001: "1000001\tWhich?\ty\tz\tx\tC\tc\td\tdev\n",
    2000001: "2000001\tWhich?\tz\tx\ty\tB\tc\td\tdev\n",
    2: "2\tWho?\tx\ty\tz\tA\tc\td\tdev\n",
    1000002: "1000002\tWho?\ty\tz\tx\tC\tc\td\tdev\n",
    2000002: "2000002\tWho?\tz\tx\ty\tB\tc\td\tdev\n",
}
SAID = "1 of 2 samples lacks 1 rotation in the data"


def data(folder: Path, without: int | None) -> str:
    path = folder / "rows.tsv"
    path.write_text(HEADER + "".join(row for name, row in ROWS.items() if name != without))
    return str(path)


@pytest.mark.parametrize(("without", "told"), [(None, False), (1000002, True), (2000002, True)])
def test_reports_missing_rotation(tmp_path, capsys, without, told) -> None:
    path = data(tmp_path, without)
    golds = {name: row.split("\t")[5] for name, row in ROWS.items() if name != without}
    answers = tmp_path / "p.csv"
    answers.write_text("index,prediction\n" + "".join(f"{n},{a}\n" for n, a in golds.items()))
    found = score("mmbench", answers, data=path).summary
    assert any(SAID in notice for notice in found.notices) == told
    assert found.headline.value == 100.0
    (run,) = evaluate(["random"], ["mmbench"], out=tmp_path / "out", html=False, variant=Variant(data=path)).runs
    assert any(SAID in notice for notice in run.report().summary.notices) == told
    main(["data", "check", path])
    assert ("rotations" in capsys.readouterr().out) == told


@pytest.mark.parametrize("tracks", [("adversarial",), ("popular", "adversarial")])
def test_the_interval_of_pope_holds_its_estimate_without_a_track(tmp_path, tracks) -> None:
    asked = [
        (number, f"p{number // 6}.jpg", track, answer)
        for number, (track, answer) in enumerate(
            (track, answer)
            for _ in range(40)
            for track in ("random", "popular", "adversarial")
            for answer in ("yes", "no")
        )
    ]
    table, replies = tmp_path / "t.csv", tmp_path / "p.csv"
    table.write_text(
        "index,image,question,category,answer\n"
        + "".join(f"{n},{image},Is it there?,{track},{a}\n" for n, image, track, a in asked)
    )
    replies.write_text(
        "index,prediction\n" + "".join(f"{n},{a if n % 7 else 'yes'}\n" for n, _, track, a in asked if track in tracks)
    )
    metrics = score("pope", replies, data=table).summary.metrics
    for name in ("f1", "accuracy", "precision", "yes_rate"):
        metric = metrics[name]
        assert metric.value is not None
        assert metric.interval is not None
        assert metric.interval.low < metric.value < metric.interval.high, name
