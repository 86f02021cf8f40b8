"""Which runs may stand in one ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from snellen.analysis.comparison.comparability import check_comparable, comparable_sets, differing_facts, distinct_names
from snellen.core.errors import UsageError
from snellen.core.model import Identity
from snellen.core.request import Sampling
from snellen.core.run import DataInfo, FewShotInfo, RunConfig, RunInfo


def info(model: str = "m", **how: Any) -> RunInfo:
    config = RunConfig(
        identity=Identity("made", model), benchmark="q", version="2", parameters={"split": "val"}, data="0123456789"
    )
    told = {key: value for key, value in how.items() if key in config.__struct_fields__}
    rest = {key: value for key, value in how.items() if key not in told}
    return RunInfo(
        name=f"{model}--q",
        model=model,
        benchmark="q",
        title="",
        config=structs.replace(config, **told),
        data=DataInfo("q.csv", told.get("data", config.data), 300),
        **{"status": "complete", "created": "", **rest},
    )


APART = [
    ({"version": "3"}, "version", "version 3"),
    ({"parameters": {"split": "test"}}, "split=", "split=test"),
    ({"data": "9876543210"}, "data", "data 98765432"),
    ({"limit": 100}, "limit", "limit 100"),
    ({"until": "±1"}, "until", "--until ±1"),
    ({"stopped": "enough after 50"}, "samples asked", "stopped early by its rule"),
    ({"status": "interrupted"}, "samples asked", "not finished"),
    ({"failures": "count-wrong"}, "failures", "failures count-wrong"),
    ({"repeats": 3}, "repeats", "repeats 3"),
    ({"examples": FewShotInfo(("1",), "abcdef0123")}, "examples", "examples abcdef01"),
    ({"roles": {"judge": Identity("made", "j")}}, "judge", "judge made/j"),
]


@pytest.mark.parametrize(("how", "fact", "words"), APART)
def test_runs_that_differ_in_one_fact_are_not_compared(how: dict[str, Any], fact: str, words: str) -> None:
    one, other = info("a"), info("b", **how)
    assert fact in differing_facts([one, other])
    assert len(comparable_sets([one, other])) == 2
    with pytest.raises(UsageError, match="a and b do not belong in one table") as told:
        check_comparable([one, other], ["a", "b"], "table")
    assert words in str(told.value)


def test_the_seed_counts_where_it_chooses_samples() -> None:
    assert differing_facts([info(limit=100), info(limit=100, seed=1)]) == ["seed"]
    assert differing_facts([info(until="±1"), info(until="±1", seed=1)]) == ["seed"]
    assert differing_facts([info(), info(seed=1)]) == []


def test_another_model_or_longer_replies_keep_runs_together() -> None:
    runs = [info("a"), info("b", max_new_tokens=64), info("c", identity=Identity("x", "y"))]
    (one,) = comparable_sets(runs)
    assert one == (0, 1, 2)
    check_comparable(runs, ["a", "b", "c"], "table")


def test_free_parameters_may_differ() -> None:
    one, other = info("a"), info("b", parameters={"split": "val", "prompt": "own"})
    with pytest.raises(UsageError, match="the first has no prompt; the second prompt=own"):
        check_comparable([one, other], ["a", "b"], "column")
    check_comparable([one, other], ["a", "b"], "column", free=("prompt",))


def test_runs_of_one_model_are_named_by_what_differs() -> None:
    runs = [
        info("a"),
        info("b", identity=Identity("hf", "b", {"dtype": "float16"})),
        info("b", identity=Identity("hf", "b", {"dtype": "bfloat16"})),
        info("c"),
        info("c", sampling={"model": Sampling(temperature=1.0)}),
        info("d", max_new_tokens=64),
        info("d"),
    ]
    assert distinct_names(runs, [Path(str(at)) for at in range(7)]) == [
        "a",
        "b (dtype float16)",
        "b (dtype bfloat16)",
        "c",
        "c (temperature 1.0)",
        "d (reply tokens 64)",
        "d (reply tokens 512)",
    ]


def test_two_runs_with_the_same_settings_are_for_the_user_to_choose_from() -> None:
    with pytest.raises(UsageError, match=r"have the same settings \(one and two\)"):
        distinct_names([info("a"), info("a")], [Path("two"), Path("one")])
