"""A picture that stands in several subtasks is no independent witness in each."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from test_declarations import FILES, LAYOUTS, Layout, of, roles

from snellen.benchmarks.abilities.seedbench.levels import dimensions_of_version
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION
from snellen.benchmarks.abilities.seedbench.summary import summarise_seed
from snellen.core.output import Generated, Output
from snellen.core.record import Record
from snellen.core.request import Request
from snellen.core.summary import Interval, Summary
from snellen.engine.offline.gold_check import answer_samples, gold_reply

COPIES = 40
"""The layouts hold a few rows of each subtask; each copy of them has pictures of its own."""
MEANS_OF_GROUPS = ("blink", "cvbench", "mme", "mmt-bench", "mvbench", "seedbench", "tablevqabench")
SEED = "seedbench"


def layout(name: str) -> Layout:
    return next(one for one in FILES if one.path == LAYOUTS / f"{name}.tsv")


def answered(name: str, right: bool) -> list[Record]:
    if name == SEED:
        return [
            Record(one.name, "choice", "?", "answered", float(right), groups={DIMENSION: one.name})
            for one in dimensions_of_version("2")
        ]
    told = layout(name)
    benchmark = of(told, judges=int("judge" in roles(told)))

    def elsewhere(request: Request) -> Output:
        raise AssertionError(request.to)

    reply = gold_reply if right else lambda *_: Generated("")
    return list(answer_samples(benchmark, list(benchmark.samples(benchmark.open())), reply, elsewhere))


def summary(name: str, records: Sequence[Record]) -> Summary:
    if name == SEED:
        return summarise_seed(records, version="2", level="L3", ranking=False, failures="exclude")
    return of(layout(name)).summarise(records)


def interval(name: str, records: Sequence[Record]) -> Interval:
    found = summary(name, records).headline.interval
    assert found is not None
    return found


@pytest.mark.parametrize("name", MEANS_OF_GROUPS)
def test_the_mean_of_subtasks_counts_a_picture_once(name: str) -> None:
    """Every subtask asks about the same pictures, and a picture is hard or easy in all of them: the
    mean over subtasks is known as well as the mean over pictures, and no better."""
    golds, blanks, draw = answered(name, True), answered(name, False), random.Random(2)
    shared, apart = [], []
    for copy in range(COPIES):
        easy = draw.random() < 0.6
        for gold, blank in zip(golds, blanks, strict=True):
            chosen = gold if easy or draw.random() < 0.1 else blank
            unit = f"{chosen.unit or chosen.id}#{copy}" if name == "mme" else ""
            one = replace(chosen, id=f"{chosen.id}#{copy}", unit=unit)
            shared.append(replace(one, media=(f"picture {copy}",)))
            apart.append(replace(one, media=()))
    own, together = interval(name, apart), interval(name, shared)
    assert summary(name, shared).headline.value == summary(name, apart).headline.value
    assert together.high - together.low > 1.4 * (own.high - own.low)
    assert together.method == "wilson, clustered, combined"
    if name == "mme":
        return
    assert own.method == "wilson, combined"
    # Pictures that are right with a share of about 0.6, of which there are as many as copies.
    assert together.high - together.low < 1.2 * 100 * 2 * 1.96 * (0.6 * 0.4 / COPIES) ** 0.5
