"""A headline is withheld above a share of failures, whatever the benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

import snellen
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.request import Request
from snellen.scoring.accuracy import GUESSES


class Failing:
    """Answers all but the first `lost` questions."""

    capabilities = snellen.Capabilities()

    def __init__(self, lost: int) -> None:
        self.identity = snellen.Identity("test", f"lost-{lost}")
        self.lost = lost

    async def answer(self, request: Request) -> snellen.Generated | snellen.Failure:
        if int(request.ref.sample) < self.lost:
            return snellen.Failure("timeout", "gone")
        return snellen.Generated("A")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    lines = [f"{at}\tWhich?\tred\tblue\tA\tkind {at % 2}" for at in range(40)]
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer\tcategory", *lines]) + "\n")
    return path


@pytest.mark.parametrize(("lost", "withheld"), [(0, False), (2, False), (3, True), (40, True)])
def test_the_gate_opens_up_to_its_share(data: Path, tmp_path: Path, lost: int, withheld: bool) -> None:
    results = snellen.evaluate(
        [Failing(lost)], [str(data)], out=tmp_path / "out", html=False, variant=Variant(failures="withhold>5%")
    )
    (run,) = results.runs
    summary = run.report().summary
    assert run.info.failures == "withhold>5%"
    assert (summary.headline.value is None) == withheld
    assert summary.metrics["accuracy"] == summary.headline
    assert bool(summary.groups) == (not withheld)
    if withheld:
        told = f"withheld: {lost} of 40 samples failed or are missing, more than 5 %"
        assert summary.headline.note == told
        assert summary.notices[0] == f"the headline is {told}"
        assert set(summary.metrics) <= {"accuracy", *GUESSES}
        assert summary.bounds is not None
    else:
        assert summary.headline.value == 100.0


@pytest.mark.parametrize("name", ["mme", "pope", "mmt-bench", "seedbench", "textvqa"])
def test_every_kind_of_benchmark_has_the_gate(name: str) -> None:
    plain = open_benchmark(name)
    gated = open_benchmark(name, Variant(failures="withhold>0.5%"))
    assert gated.summarise is not plain.summarise
    assert gated.parameters == plain.parameters


@pytest.mark.parametrize("rule", ["withhold>", "withhold>0%", "withhold>100%", "withhold>x%"])
def test_invalid_gate_gives_one_sentence(rule: str, data: Path, capsys) -> None:
    with pytest.raises(UsageError, match="expected a share"):
        open_benchmark(str(data), Variant(failures=rule))
    assert main(["run", "-m", "random", "-b", str(data), "--failures", rule]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_failures_flag(data: Path, tmp_path: Path, capsys) -> None:
    predictions = tmp_path / "predictions.csv"
    predictions.write_text("index,prediction\n" + "".join(f"{at},A\n" for at in range(30)))
    command = ["score", str(data), "--predictions", str(predictions), "--failures"]
    assert main([*command, "withhold>20%"]) == 1
    assert "withheld: 10 of 40 samples" in capsys.readouterr().out
    assert main([*command, "withhold>30%"]) == 1
    assert "100.0" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*command, "sometimes"])
    assert "choose from exclude" in capsys.readouterr().err
