"""Runs that stop as soon as they have told enough."""

from __future__ import annotations

import base64
import io
import random
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from snellen import evaluate
from snellen.benchmarks.abilities.mme.subtasks import SUBTASKS
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli.main import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource
from snellen.core.model import Capabilities, Identity
from snellen.core.record import Record
from snellen.core.request import Request
from snellen.core.run import RunInfo
from snellen.core.sample import MediaRef, Sample
from snellen.engine.anytime.early_stop import PrecisionRule, parse_stop_rule
from snellen.engine.anytime.sample_order import AnytimeMean, stratified_order
from snellen.engine.loop.comparison_run import ComparisonStop
from snellen.stats.confidence_sequences import bets_for_width
from snellen.store.runs import RunFolder, find_runs


class Chancy:
    """Right with a chance of its own, by the question's id; counts what it is asked."""

    capabilities = Capabilities(inputs=frozenset({"text"}))
    concurrency = 1

    def __init__(self, name: str, share: float) -> None:
        self.identity = Identity("test", name)
        self.share = share
        self.asked: list[str] = []

    async def answer(self, request: Request) -> str:
        name = request.ref.sample
        self.asked.append(name)
        lot = random.Random(f"{self.identity.name} {name}")
        return "Yes" if lot.random() < self.share else "No"


def questions(path: Path, count: int, groups: int = 4) -> Benchmark:
    rows = [f"{at}\tIs it {at}?\tYes\tg{at % groups}" for at in range(count)]
    path.write_text("\n".join(["index\tquestion\tanswer\tcategory", *rows]) + "\n")
    return open_benchmark(str(path), Variant())


def run_until(model: Chancy, benchmark: Benchmark, until: str, out: Path) -> RunFolder:
    return evaluate([model], [benchmark], until=until, out=out, html=False).runs[0]


def test_a_run_stops_once_the_score_is_known_so_well(tmp_path: Path) -> None:
    benchmark, model = questions(tmp_path / "q.tsv", 3000), Chancy("good", 0.97)
    run = run_until(model, benchmark, "±4", tmp_path / "out")
    info: RunInfo = run.info
    assert info.status == "complete"
    assert info.config.until == "±4"
    assert "enough after" in info.stopped
    assert len(model.asked) < 1000
    assert info.counts.samples == info.counts.done == len(model.asked)
    summary = run.report().summary
    found = summary.metrics["anytime"]
    assert found.interval is not None
    assert found.interval.method == "confidence sequence, without replacement"
    assert (found.interval.high - found.interval.low) / 2 <= 4
    assert any("--until ±4: enough" in notice for notice in summary.notices)


def test_the_same_command_asks_nothing_more(tmp_path: Path) -> None:
    benchmark, model = questions(tmp_path / "q.tsv", 1000), Chancy("good", 0.99)
    first = run_until(model, benchmark, "±6", tmp_path / "out")
    asked = len(model.asked)
    second = run_until(model, benchmark, "±6", tmp_path / "out")
    assert len(model.asked) == asked
    assert second.info.status == "complete"
    assert second.path == first.path
    assert second.info.stopped == first.info.stopped
    assert second.report().summary.metrics == first.report().summary.metrics


def test_small_data_complete_and_report_the_unreached_rule(tmp_path: Path) -> None:
    benchmark, model = questions(tmp_path / "q.tsv", 40), Chancy("even", 0.5)
    run = run_until(model, benchmark, "±1", tmp_path / "out")
    assert run.info.status == "complete"
    assert run.info.counts.done == 40
    assert run.info.stopped == ""
    notices = run.report().summary.notices
    assert any("was not reached before all 40 were asked" in notice for notice in notices)


def test_the_better_of_two_models_is_found_early(tmp_path: Path) -> None:
    benchmark = questions(tmp_path / "q.tsv", 2000)
    good, bad = Chancy("good", 0.9), Chancy("bad", 0.6)
    runs = evaluate([good, bad], [benchmark], until="A>B", out=tmp_path / "out", html=False).runs
    assert [run.info.status for run in runs] == ["complete", "complete"]
    assert all("good is ahead of bad" in run.info.stopped for run in runs)
    assert len(good.asked) < 600
    assert set(bad.asked) <= set(good.asked)
    difference = runs[0].report().summary.metrics["anytime_difference"]
    assert difference.interval is not None
    assert 0 < difference.interval.low < 30 < difference.interval.high
    told = runs[0].report().summary.notices
    assert any("the score of the model that is ahead is too high" in notice for notice in told)
    again = evaluate([good, bad], [benchmark], until="A>B", out=tmp_path / "out", html=False).runs
    assert [run.info.stopped for run in again] == [run.info.stopped for run in runs]


def test_a_false_guess_is_refuted_and_a_tie_is_not_decided(tmp_path: Path) -> None:
    benchmark = questions(tmp_path / "q.tsv", 300)
    good, bad, twin = Chancy("good", 0.95), Chancy("bad", 0.4), Chancy("twin", 0.95)
    refuted = evaluate([bad, good], [benchmark], until="A>B", out=tmp_path / "a", html=False)
    assert "good is ahead of bad" in refuted.runs[0].info.stopped
    tied = evaluate([good, twin], [benchmark], until="A>B", out=tmp_path / "b", html=False)
    assert [run.info.counts.done for run in tied.runs] == [300, 300]
    assert [run.info.status for run in tied.runs] == ["complete", "complete"]
    told = tied.runs[0].report().summary.notices
    assert any("not decided by 300 samples" in notice for notice in told)


def test_units_stay_whole_and_strata_come_in_proportion() -> None:
    samples = [
        Sample(
            id=f"{unit}-{part}",
            kind="open",
            question="?",
            unit=f"u{unit}",
            groups={"category": "rare" if unit % 10 == 0 else "often", "fine": str(unit)},
        )
        for unit in range(200)
        for part in range(2)
    ]
    units = stratified_order(samples, seed=1)
    assert Counter(len(unit.samples) for unit in units) == {2: 200}
    assert sorted(one.id for unit in units for one in unit.samples) == sorted(one.id for one in samples)
    for end in range(1, 201):
        rare = sum(unit.stratum == "rare" for unit in units[:end])
        assert abs(rare - end / 10) <= 1.0
    assert units != stratified_order(samples, seed=2)
    turned = stratified_order(list(reversed(samples)), seed=1)
    assert [one.samples[0].unit for one in units] == [one.samples[0].unit for one in turned]


def shown(name: str, picture: str, **more: str) -> Sample:
    media = (MediaRef(picture, InlineSource(b"")),)
    return Sample(id=name, kind="open", question="?", media=media, groups=more)


def test_questions_about_one_picture_are_one_unit() -> None:
    samples = [shown(str(at), f"p{at // 5}") for at in range(50)]
    units = stratified_order(samples, seed=0)
    assert [len(unit.samples) for unit in units] == [5] * 10
    assert all(len({one.media for one in unit.samples}) == 1 for unit in units)
    turned = stratified_order(samples[::-1], seed=0)
    assert [one.samples[0].media for one in units] == [one.samples[0].media for one in turned]
    # The score of a finite set does not depend on which samples share a picture.
    assert len(stratified_order(samples, seed=0, by_media=False)) == 50


def test_a_picture_with_questions_of_several_strata_is_in_that_of_most() -> None:
    mixed = [shown(f"m{at}", "p", task="ab"[at > 0]) for at in range(3)]
    others = [shown(f"o{at}", f"q{at}", task="a") for at in range(3)]
    units = stratified_order([*mixed, *others], seed=0)
    assert sorted((unit.stratum, len(unit.samples)) for unit in units) == [("a", 1), ("a", 1), ("a", 1), ("b", 3)]


def test_a_contest_of_one_picture_is_never_decided() -> None:
    comparison = ComparisonStop(("first", "second"))
    samples = [shown(str(at), "p") for at in range(400)]
    comparison.start(samples, 0, "exclude")
    for at in range(400):
        for side, score in enumerate((1.0, 0.0)):
            comparison.add_record(side, Record(str(at), "open", "?", "answered", score=score))
    assert comparison.reason == ""


def test_a_stopped_run_holds_whole_units_only(tmp_path: Path) -> None:
    benchmark = open_benchmark("mme", Variant(data=str(mme(tmp_path / "mme.tsv"))))
    model = Chancy("good", 0.98)
    model.capabilities = Capabilities()
    run = run_until(model, benchmark, "±12", tmp_path / "out")
    assert "enough after" in run.info.stopped
    assert set(Counter(record.unit for record in run.records()).values()) == {2}
    assert any("not at the headline" in notice for notice in run.report().summary.notices)


def mme(path: Path) -> Path:
    drawn = io.BytesIO()
    Image.new("L", (1, 1)).save(drawn, "PNG")
    picture = base64.b64encode(drawn.getvalue()).decode()
    lines = ["index\timage\timage_path\tquestion\tanswer\tcategory"]
    for at in range(2000):
        lines.append(
            f"{at}\t{picture}\t{at // 2}.png\tIs it {at}? Please answer yes or no.\tYes\t"
            f"{list(SUBTASKS)[at // 2 % len(SUBTASKS)]}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_disproportionate_strata_widen_the_interval() -> None:
    samples = [Sample(id=str(at), kind="open", question="?", groups={"c": "ab"[at % 2]}) for at in range(40)]
    units = stratified_order(samples, seed=0)
    strata = AnytimeMean(units, bets_for_width(0.05))
    first, second = (next(one for one in units if one.stratum == name) for name in "ab")
    for _ in range(4):
        strata.add(first, [1.0])
    assert strata.slack() == pytest.approx(0.5)
    for _ in range(4):
        strata.add(second, [0.0])
    assert strata.slack() == 0
    assert strata.mean == 0.5


def test_scores_count_by_their_weights() -> None:
    samples = [Sample(id=str(at), kind="open", question="?") for at in range(60)]
    weights = [(0.0, 1.0, 3.0)[at % 3] for at in range(60)]
    units = stratified_order(samples, seed=0, by_media=False, weights=weights)
    assert Counter(unit.stratum for unit in units) == {"0": 20, "1": 20, "3": 20}
    strata = AnytimeMean(units, bets_for_width(0.05), finite=True)
    for unit in units:
        # Right where the weight is 3 or nothing.
        strata.add(unit, [float(unit.sample_weights() != (1.0,))])
    found = strata.interval()
    assert strata.mean == pytest.approx(0.75)
    assert (found.low, found.high) == pytest.approx((0.75, 0.75))
    assert strata.samples == strata.units == 60


@pytest.mark.parametrize("text", ["±1", "+-1", "+/- 1"])
def test_a_width_is_read(text: str) -> None:
    assert parse_stop_rule(text) == PrecisionRule(1.0)


@pytest.mark.parametrize("text", ["1", "±0", "±60", "A>", "A>A", "soon"])
def test_a_rule_that_there_is_not_is_explained(text: str) -> None:
    with pytest.raises(UsageError, match="expected a half-width in points"):
        parse_stop_rule(text)


def test_a_duel_needs_the_two_models_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["run", "-m", "random", "-b", "eyechart", "--out", str(tmp_path), "--until", "A>B"]
    assert main(argv) == 2
    assert "two models of a run" in capsys.readouterr().err
    assert ComparisonStop(("a", "b")).text == "a>b"


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["run", "-m", "random", "-b", "eyechart", "--out", str(tmp_path), "--until", "+-15"]
    assert main([*argv, "-q"]) == 0
    assert "--until ±15: enough after" in " ".join(capsys.readouterr().out.split())
    (run,) = find_runs(tmp_path)
    assert "confidence sequence" in (run.path / "report.json").read_text()
