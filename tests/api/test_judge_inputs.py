"""A judge that takes no images is refused before it is asked, where it would be shown some."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, plan, score
from snellen.api._judge_inputs import check_judges_see
from snellen.api.options import RunOptions
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.request import Request

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"
REFUSED = "takes no images .*creation-mmbench shows its judges those of the question"


class Counting(ModelDefaults):
    """Counts how often it is asked; `inputs` is what it declares to take."""

    def __init__(self, *inputs: str, name: str = "counting") -> None:
        self.identity = Identity("test", name)
        self.capabilities = Capabilities(inputs=frozenset(inputs))  # type: ignore[arg-type]
        self.asked = 0

    def answer(self, request: Request) -> str:
        self.asked += 1
        return "[[A>B]]"


def judged(name: str, **options: str) -> Variant:
    return Variant(data=str(LAYOUTS / f"{name}.tsv"), options=options, judges=1)


@pytest.mark.parametrize(
    ("name", "sees"), [("creation-mmbench", True), ("mm-ifeval", True), ("mm-vet", False), ("mathvista", False)]
)
def test_which_benchmarks_show_their_judges_pictures(name: str, sees: bool) -> None:
    assert open_benchmark(name, judged(name)).judges_see_media is sees


def test_the_open_part_of_cg_bench_shows_its_judges_frames() -> None:
    assert open_benchmark("cg-bench", Variant(options={"part": "open"})).judges_see_media
    assert not open_benchmark("cg-bench").judges_see_media


def test_refuses_judge_that_declares_text_only() -> None:
    made = open_benchmark("creation-mmbench", judged("creation-mmbench"))
    with pytest.raises(UsageError, match=r"the judge counting takes no images \(as it is set up\)"):
        check_judges_see([made], {"judge": Counting("text")})
    listed = Counting("text", "image")
    listed.identity = Identity("openai", "gpt-3.5-turbo")
    with pytest.raises(UsageError, match=r"the judge gpt-3.5-turbo .* \(by the catalog\)"):
        check_judges_see([made], {"judge": listed})
    check_judges_see([made], {"judge": Counting("text", "image")})
    check_judges_see([made], {"clip": Counting("text")})


def test_run_plan_and_score_refuse_before_the_first_request(tmp_path: Path) -> None:
    judge, model = Counting("text"), Counting("text", "image", name="answering")
    spec = f"creation-mmbench:file={LAYOUTS / 'creation-mmbench.tsv'}"
    options = RunOptions(judges=(judge,), out=tmp_path)
    with pytest.raises(UsageError, match=REFUSED):
        evaluate(model, spec, options)
    with pytest.raises(UsageError, match=REFUSED):
        plan(model, spec, options)
    with pytest.raises(UsageError, match=REFUSED):
        score(
            "creation-mmbench",
            {"1": "A reply."},
            data=LAYOUTS / "creation-mmbench.tsv",
            judges=[judge],
            store=tmp_path / "store.sqlite",
        )
    assert (judge.asked, model.asked) == (0, 0)
    assert not list(tmp_path.glob("*/run.json"))
