"""The file of a curve, what is said about its points, and how strict comparisons are."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate
from snellen.core.errors import DataError, RunLocked, UsageError
from snellen.core.summary import Interval, Metric
from snellen.stats.alpha_spending import pair_error, step_share
from snellen.tracking.curve import (
    Curve,
    CurveHead,
    CurvePoint,
    CurveWriter,
    SkippedCheckpoint,
    StepDifference,
    keep_points,
    read_curve,
)
from snellen.tracking.curve_page import curve_page
from snellen.tracking.recording import add_runs
from snellen.tracking.statements import (
    best_sentence,
    best_step,
    classify_change,
    contenders,
    plateau_sentence,
    sentence,
)

HEAD = CurveHead("ckpts", ("eyechart",), {"limit": "200"})


def metric(value: float | None) -> Metric:
    interval = None if value is None else Interval(value - 5, value + 5, "wilson")
    return Metric("accuracy", value, 200, interval)


def difference(step: int, value: float, half: float | None = 4.0) -> StepDifference:
    if half is None:
        return StepDifference(step, value, 0.99, n=200, changed=3, reason="too few clusters")
    return StepDifference(step, value, 0.99, value - half, value + half, 200, 20)


def point(step: int, score: float | None, *differences: StepDifference) -> CurvePoint:
    change, compared = classify_change(metric(score), [], differences)
    return CurvePoint(
        checkpoint=f"checkpoint-{step}",
        step=step,
        benchmark="eyechart",
        headline=metric(score),
        change=change,
        sentence=sentence(step, metric(score), change, compared),
        run=f"run-{step}",
        at="2026-01-01T00:00:00+00:00",
        differences=differences,
        groups={"colour": metric(50.0)},
    )


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_shares_never_exceed_the_whole(count: int) -> None:
    shares = sum(step_share(number) for number in range(1, count + 1))
    assert shares == pytest.approx(count / (count + 10))
    pairs = sum(
        pair_error(number, is_previous=earlier == number - 1, families=3)
        for number in range(1, count + 1)
        for earlier in range(number)
    )
    assert pairs == pytest.approx(0.05 / 3 * shares)


@pytest.mark.parametrize(("number", "families", "total"), [(0, 1, 0.05), (1, 0, 0.05), (1, 1, 0)])
def test_impossible_shares(number: int, families: int, total: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        pair_error(number, is_previous=True, families=families, total_error=total)


EARLIER = [point(100, 60.0), point(200, 70.0), point(300, 66.0)]


@pytest.mark.parametrize(
    ("score", "differences", "change", "text"),
    [
        (60.0, [], "first", "step 400: 60.0 (55.0–65.0)"),
        (None, [], "no score", "step 400: no score"),
        (
            75.0,
            [difference(200, 5), difference(300, 9)],
            "better",
            "step 400: 75.0 (70.0–80.0), +9.0 over step 300 (+5.0 to +13.0), +5.0 over step 200, the "
            "best so far (+1.0 to +9.0): better",
        ),
        (
            67.0,
            [difference(200, -3), difference(300, 1)],
            "unclear",
            "step 400: 67.0 (62.0–72.0), +1.0 over step 300 (–3.0 to +5.0), –3.0 against step 200, "
            "the best so far (–7.0 to +1.0): no evidence of change",
        ),
        (
            64.0,
            [difference(200, -6), difference(300, -2)],
            "regression",
            "step 400: 64.0 (59.0–69.0), –2.0 against step 300 (–6.0 to +2.0), –6.0 against step 200, "
            "the best so far (–10.0 to –2.0): regression",
        ),
        (
            66.0,
            [difference(300, 0.0, None)],
            "unclear",
            "step 400: 66.0 (61.0–71.0), 0.0 against step 300 (no interval): no evidence of change (too few clusters)",
        ),
    ],
)
def test_changes_and_sentences(score: float | None, differences: list[StepDifference], change: str, text: str) -> None:
    found, compared = classify_change(metric(score), EARLIER, differences)
    assert found == change
    assert sentence(400, metric(score), found, compared) == text


def test_best_checkpoint_is_qualified_by_significance() -> None:
    rising = [point(1, 50.0), point(2, 60.0, difference(1, 10)), point(3, 61.0, difference(1, 11), difference(2, 1))]
    assert best_step(rising) == 3
    assert contenders(rising) == [2, 3]
    text = best_sentence(rising)
    assert "the highest score is that of step 3: 61.0; step 2 may be as good" in text
    assert "too high on average" in text
    sure = [*rising[:1], point(2, 60.0, difference(1, 10))]
    assert best_sentence(sure).endswith("step 2: 60.0, beyond chance above all others")
    assert best_sentence(rising[:1]) == ""


def test_a_plateau_names_the_gain_that_is_ruled_out() -> None:
    points = [point(1, 50.0)]
    for step in (2, 3, 4, 5):
        points.append(point(step, 60.0, difference(1, 10), *(difference(earlier, 0.5) for earlier in range(2, step))))
        said = plateau_sentence(points)
        assert bool(said) == (step == 5)
    assert "none of the 3 checkpoints since step 2 is better" in said
    assert "a gain of more than 4.5 points" in said


def test_curve_is_continued(tmp_path: Path) -> None:
    with CurveWriter(tmp_path, HEAD) as writer:
        writer.add(point(1, 50.0))
        writer.add(SkippedCheckpoint("checkpoint-2", "no weights", "2026"))
        with pytest.raises(RunLocked, match="another process is adding"):
            CurveWriter(tmp_path, HEAD)
    with (tmp_path / "curve.jsonl").open("ab") as file:
        file.write(b'{"kind":"point","che')  # killed while writing
    assert len(read_curve(tmp_path).points) == 1
    with CurveWriter(tmp_path, HEAD) as writer:
        assert writer.curve.is_evaluated("checkpoint-1", 1)
        writer.add(point(2, 60.0, difference(1, 10)))
    curve = read_curve(tmp_path)
    assert [one.step for one in curve.points] == [1, 2]
    assert [one.reason for one in curve.skipped] == ["no weights"]


def test_another_setting_needs_another_folder(tmp_path: Path) -> None:
    other = CurveHead("ckpts", ("eyechart",), {"limit": "100", "control": "blind"})
    with CurveWriter(tmp_path, other):  # without a point it binds nobody
        pass
    with CurveWriter(tmp_path, HEAD) as writer:
        writer.add(point(1, 50.0))
    with pytest.raises(UsageError, match=r"control none there, blind here; limit 200 there, 100"):
        CurveWriter(tmp_path, other)
    with CurveWriter(tmp_path, HEAD):  # the lock was given back
        pass


@pytest.mark.parametrize("content", [b"", b"[]\n", b'{"kind":"skipped"}\n', b"\xff\n"])
def test_refuses_files_that_are_not_curves(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "curve.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=r"curve\.jsonl"):
        read_curve(tmp_path)


def test_missing_curve_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`snellen watch` writes one"):
        read_curve(tmp_path)


@pytest.mark.parametrize(("begins", "kept", "moved"), [(0, [], 1), (2, [1, 2], 1), (3, [1, 2, 3], 0)])
def test_a_training_that_begins_again_drops_later_points(
    tmp_path: Path, begins: int, kept: list[int], moved: int
) -> None:
    with CurveWriter(tmp_path, HEAD) as writer:
        for step in (1, 2, 3):
            writer.add(point(step, 50.0))
    keep_points(tmp_path, begins)
    with CurveWriter(tmp_path, HEAD) as writer:
        assert [one.step for one in writer.curve.points] == kept
    assert len(list(tmp_path.glob("curve-*.jsonl"))) == moved


def test_curve_page_shows_the_points() -> None:
    points = [
        point(1, 50.0),
        point(2, 60.0, difference(1, 10)),
        point(3, 48.0, difference(2, -12), difference(1, -2)),
        point(4, None),
    ]
    hostile = SkippedCheckpoint("<script>x</script>", "<b>no</b>", "2026")
    page = curve_page(Curve(HEAD, points, [hostile]))
    for text in ("▲ better", "▼ regression", "no score", "limit 200", "Step 4: no score.", "By group"):
        assert text in page
    assert '<path class="mark regression"' in page
    assert 'role="img" aria-label="accuracy by step: 1 50.0 (45.0–55.0)' in page
    assert "<script>x" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_many_steps_are_labelled_sparsely() -> None:
    points = [point(step, 50.0 + step / 10) for step in range(1, 61)]
    page = curve_page(Curve(HEAD, points))
    steps = page.split('class="steps"')[1].split("</svg>")[0]
    assert 2 <= steps.count("<text") <= 9
    assert ">1</text>" in steps
    assert ">60</text>" in steps


def test_benchmarks_share_the_error_level_and_have_plots_of_their_own(tmp_path: Path) -> None:
    """Runs of models that guess, as if they were checkpoints."""
    (tmp_path / "other.csv").write_text(
        "question,A,B,answer\n" + "".join(f"Is it {n}?,yes,no,{'AB'[n % 2]}\n" for n in range(30))
    )
    names = ("eyechart", "other")
    head = CurveHead("ckpts", names, {"limit": "30"})
    sources = ["eyechart", str(tmp_path / "other.csv")]
    with CurveWriter(tmp_path / "out", head) as writer:
        for step in (10, 20):
            runs = evaluate(f"random:seed={step}", sources, limit=30, out=tmp_path / "out", html=False).runs
            added = add_runs(writer, f"checkpoint-{step}", step, runs, group="category")
            assert [point.sentence.partition(",")[0] for point in added] == list(names)
            assert add_runs(writer, f"checkpoint-{step}", step, runs) == []
    (difference,) = writer.curve.of("other")[1].differences
    assert (difference.step, difference.n) == (10, 30)
    assert difference.level == pytest.approx(1 - 0.05 / 11 / 2)
    page = (tmp_path / "out" / "curve.html").read_text(encoding="utf-8")
    assert page.count('class="plot"') == 2
