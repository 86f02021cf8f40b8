from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from snellen.core.errors import UsageError
from snellen.core.output import Failure, Generated, Ranked
from snellen.core.request import Generate, Rank, Ref, Text, user
from snellen.models.random import Random
from snellen.models.replay import Recording, Replay, replay_provider

Q = Ref("q")


def question(text: str, *, ref: Ref = Q, choices: tuple[str, ...] = ()) -> Generate:
    return Generate(messages=(user(Text(text)),), ref=ref, choices=choices)


def replies(seed: int, n: int) -> list[str]:
    model = Random(seed)
    outputs = (asyncio.run(model.answer(question(f"{i}?", choices=tuple("ABCD")))) for i in range(n))
    return [output.text for output in outputs if isinstance(output, Generated)]


def test_random_is_reproducible_and_differs_by_seed() -> None:
    assert replies(0, 50) == replies(0, 50)
    assert replies(0, 50) != replies(1, 50)


def test_random_is_uniform() -> None:
    counts = Counter(replies(0, 2000))
    # Four standard deviations of Binomial(2000, 1/4).
    assert all(abs(counts[label] - 500) < 78 for label in "ABCD")


def test_random_without_choices_replies_empty() -> None:
    assert asyncio.run(Random().answer(question("why?"))) == Generated("")


def test_random_ranks_every_candidate() -> None:
    request = Rank(messages=(user(Text("?")),), ref=Ref("q"), candidates=("a", "b", "c"))
    output = asyncio.run(Random().answer(request))
    assert isinstance(output, Ranked)
    assert len({score.logprob for score in output.candidates}) == 3


@pytest.mark.parametrize(
    ("ref", "output"),
    [
        (Ref("7"), Generated("blue")),
        (Ref("7", row="1000007"), Generated("red")),
        (Ref("7", turn=1, row="1000007"), Generated("red")),
        (Ref("8"), Failure("missing", "no recorded prediction for id '8'")),
        (Ref("7", turn=1), Generated("red")),
        (Ref("7", turn=2), Failure("missing", "no recorded prediction for turn 2 of 7")),
        (Ref("a", turn=1), Failure("missing", "no recorded prediction for turn 1 of a")),
    ],
)
def test_replay_answers_by_id(ref: Ref, output: object) -> None:
    model = Replay({"7": "blue", "1000007": "red"}, digest="ab")
    assert asyncio.run(model.answer(question("?", ref=ref))) == output


def test_replay_holds_no_likelihoods_but_gives_the_recorded_choice_for_scoring() -> None:
    request = Rank(messages=(), ref=Ref("7"), candidates=("a",))
    replay = Replay({"7": "B"}, digest="ab")
    output = asyncio.run(replay.answer(request))
    assert isinstance(output, Failure)
    assert output.kind == "unsupported"
    assert replay.reply(request) == Generated("B")


def test_replay_provider_reads_with_the_given_reader() -> None:
    provider = replay_provider(lambda path: Recording({"1": path}, "cd"))
    model = provider.open("runs/llava.csv", {})
    assert (model.identity.name, model.identity.facts) == ("llava.csv", {"revision": "sha256:cd"})
    with pytest.raises(UsageError, match="replay/<file>"):
        provider.open("", {})
