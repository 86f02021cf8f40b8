"""MMGenBench's flow by hand; `tests/models/test_joined.py` runs it with models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.model import Capabilities
from snellen.core.output import Compared, Drawn, Failure, Generated, Output
from snellen.core.record import Record
from snellen.core.request import CLIP, Compare, Draw, Generate, Request

LAYOUT = str(Path(__file__).parent / "layouts" / "mmgenbench.tsv")
DRAWING = Drawn(("d" * 64,), data={"d" * 64: b"png"})


def opened(*, clip: bool) -> Benchmark:
    return open_benchmark("mmgenbench", Variant(data=LAYOUT, clip=clip))


def ask(benchmark: Benchmark, outputs: Sequence[Output]) -> tuple[list[Request], Record]:
    """The requests of the first sample's flow, answered in turn, and its record."""
    sample = next(iter(benchmark.samples(benchmark.open())))
    flow, requests = benchmark.flow(sample), []
    request = next(flow)
    for output in outputs:
        requests.append(request)
        try:
            request = flow.send(output)
        except StopIteration as end:
            record: Record = end.value
            return requests, record
    raise AssertionError("the flow has not ended")


def test_a_prompt_is_drawn_and_compared_with_the_original() -> None:
    (asked, drawn, compared), record = ask(
        opened(clip=True), [Generated(" a red square "), DRAWING, Compared((0.625,))]
    )
    assert isinstance(asked, Generate)
    assert isinstance(drawn, Draw)
    assert [message.text() for message in drawn.messages] == ["a red square"]
    assert isinstance(compared, Compare)
    assert (compared.to, compared.picture) == (CLIP, DRAWING.images[0])
    assert set(compared.media) == {*compared.candidates, *DRAWING.images}
    assert (record.score, record.outcome, record.answer) == (0.625, "answered", "a red square")
    assert record.media == (*compared.candidates, *DRAWING.images)


@pytest.mark.parametrize(
    ("outputs", "score", "outcome"),
    [
        ([Generated("  ")], 0.0, "empty"),
        ([Generated("no", stop_reason="refusal")], 0.0, "refused"),
        ([Failure("timeout", "")], None, "failed"),
        ([Generated("a red square"), Generated("I cannot draw")], 0.0, "unparsed"),
        ([Generated("a red square"), Failure("timeout", "")], None, "failed"),
        ([Generated("a red square"), DRAWING, Failure("timeout", "")], None, "failed"),
        ([Generated("a red square"), DRAWING, Compared((-0.25,))], 0.0, "answered"),
    ],
)
def test_outcomes_of_failed_drawings_and_comparisons(outputs: list[Output], score: float | None, outcome: str) -> None:
    _, record = ask(opened(clip=True), outputs)
    assert (record.score, record.outcome) == (score, outcome)


def test_without_clip_prompts_are_collected() -> None:
    benchmark = opened(clip=False)
    _, record = ask(benchmark, [Generated("a red square")])
    assert (record.score, record.unscored, record.answer) == (None, "no_gold", "a red square")
    assert "--judge clip/" in benchmark.unscorable
    assert benchmark.summarise([record]).notices == ()
    assert benchmark.extra_roles == ()


def test_model_that_cannot_draw_gets_advice_to_join() -> None:
    text = Capabilities(inputs=frozenset({"text", "image"}), outputs=frozenset({"text"}))
    assert opened(clip=False).requires(text) is None
    assert "join:text=MODEL,draw=MODEL" in (opened(clip=True).requires(text) or "")
