"""Two models as one: `join:text=...,draw=...`, over real requests of both."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import drawing_checkpoints
import pytest

from snellen import Results, evaluate
from snellen.api.planning import plan
from snellen.benchmarks.abilities.seedbench.levels import level_of
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.output import Compared, Drawn, Failure, Generated
from snellen.core.record import Record
from snellen.core.request import Draw, Message, Ref, Request, Text, user
from snellen.models.joined import INSTRUCTION, JoinedModel, description_settings, draw_in_steps
from snellen.models.naming.registry import describe_model, open_model
from snellen.models.naming.spec import short_name, split_options

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from seed_files import seed_h

PART_3 = ["Text-to-Image Generation", "Next Image Prediction", "Text-Image Creation"]
TINY = "snellen/tiny-early"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("joined")
    return {name: getattr(drawing_checkpoints, name)(root / name) for name in ("diffusion", "clip")}


@pytest.fixture(scope="module")
def joined(folders: dict[str, Path]) -> str:
    return f"join:text={TINY},draw=diffusers/{folders['diffusion']}"


def level_3(model: object, home: Path, clip: Path, **changes: object) -> Results:
    return evaluate(
        model if isinstance(model, dict) else [model],
        ["seedbench:version=H,level=L3,draw_steps=2"],
        out=home / "out",
        variant=Variant(data=str(seed_h(home, only=PART_3, per_dimension=2))),
        clip=f"clip/{clip}",
        **changes,  # type: ignore[arg-type]
    )


def by_dimension(run: object) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in run.records():  # type: ignore[attr-defined]
        found.setdefault(record.groups["dimension"], []).append(record)
    return found


def test_two_models_reach_level_3(joined: str, folders: dict[str, Path], tmp_path: Path) -> None:
    (run,) = level_3(joined, tmp_path, folders["clip"]).runs
    assert run.info.model == joined
    assert run.info.config.identity.name == "tiny-early"
    assert run.info.config.roles["drawer"].facts["describe"] == "pictures"
    assert run.info.status == "complete"
    records = by_dimension(run)
    described, drawn, choice = records["Next Image Prediction"][0].passes
    assert isinstance(described.output, Generated)
    assert described.output.text.strip()
    assert described.prompt[0].parts[-1] == Text(INSTRUCTION)
    assert len(described.prompt[0].media()) == 3
    assert isinstance(drawn.output, Drawn)
    assert drawn.prompt == (user(Text(described.output.text.strip())),)
    assert isinstance(choice.output, Compared)
    # A caption is a description already.
    caption, _ = records["Text-to-Image Generation"][0].passes
    assert isinstance(caption.output, Drawn)
    assert caption.prompt[0].text().endswith("disc.")
    spent = {role: usage.sent + usage.reused for role, usage in run.info.spent.items()}
    drawings = sum(isinstance(one.output, Drawn) for each in run.records() for one in each.passes)
    assert spent["drawer"] == drawings
    assert spent["clip"] == drawings
    # Every request of either part is in the record, and the same command asks nothing.
    assert all(len(each.requests) >= len(each.passes) for each in run.records())
    (run.path / "samples.jsonl").unlink()
    (again,) = level_3(joined, tmp_path, folders["clip"]).runs
    assert again.info.counts.sent == 0
    assert by_dimension(again).keys() == records.keys()


def test_a_join_draws_several_times_until_a_rule_is_met(joined: str, folders: dict[str, Path], tmp_path: Path) -> None:
    data = str(seed_h(tmp_path, only=PART_3[:2], per_dimension=6))
    options: dict[str, Any] = {
        "out": tmp_path / "out",
        "variant": Variant(data=data),
        "clip": f"clip/{folders['clip']}",
        "repeats": 2,
        "until": "±40",
        "html": False,
    }
    benchmark = "seedbench:version=H,level=L3,draw_steps=2"
    (run,) = evaluate(joined, benchmark, **options).runs
    assert run.info.status == "complete"
    assert run.info.config.until == "±40"
    for record in run.records():
        draws = [record.passes, *(draw.passes for draw in record.repeats if draw.passes)]
        assert len(draws) == 2
        assert all(any(isinstance(one.output, Drawn) for one in passes) for passes in draws)
    # A row that a kill took is asked again from the store.
    samples = run.path / "samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    (again,) = evaluate(joined, benchmark, **options).runs
    assert (again.info.status, again.info.counts.sent) == ("complete", 0)
    assert len(list(again.records())) == len(lines)


def test_everything_is_described_if_asked_for(joined: str, folders: dict[str, Path], tmp_path: Path) -> None:
    (run,) = level_3(f"{joined},describe=always", tmp_path, folders["clip"]).runs
    described, drawn, _ = by_dimension(run)["Text-to-Image Generation"][0].passes
    assert isinstance(described.output, Generated)
    assert drawn.prompt == (user(Text(described.output.text.strip())),)


def test_pictures_are_drawn_again_from_prompts(joined: str, folders: dict[str, Path], tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "benchmarks" / "layouts" / "mmgenbench.tsv"
    (run,) = evaluate(
        joined,
        "mmgenbench:draw_steps=2",
        out=tmp_path,
        variant=Variant(data=str(data)),
        clip=f"clip/{folders['clip']}",
        html=False,
    ).runs
    assert run.info.status == "complete"
    records = list(run.records())
    assert [len(record.passes) for record in records] == [3, 3, 3]
    described, drawn, _ = records[0].passes
    assert isinstance(described.output, Generated)
    assert drawn.prompt == (user(Text(described.output.text.strip())),)
    scores = [record.score or 0.0 for record in records]
    summary = run.report().summary
    assert summary.headline.name == "similarity"
    assert summary.headline.value == pytest.approx(100 * sum(scores) / 3)


MESSAGES = (user(Text("What comes next?")),)
REQUEST = Draw(messages=MESSAGES, ref=Ref("1"))


@pytest.mark.parametrize(
    "reply",
    [
        Failure("timeout", "no answer in 60 s"),
        Generated("I cannot help with that.", stop_reason="refusal"),
        Generated("  "),
    ],
    ids=["failed", "refused", "empty"],
)
def test_nothing_is_drawn_without_a_description(reply: Failure | Generated) -> None:
    steps = draw_in_steps(REQUEST, "always", description_settings(open_model(TINY)))
    question = next(steps)
    assert question.messages == (Message("user", (Text("What comes next?"), Text(INSTRUCTION))),)
    with pytest.raises(StopIteration) as end:
        steps.send(reply)
    output = end.value.value.output
    if isinstance(reply, Failure):
        assert output == Failure("timeout", "no description to draw: no answer in 60 s")
    else:
        assert output is reply


class _Words:
    """Text from text and pictures, as `words` says; it fails where that is a failure."""

    def __init__(self, words: Generated | Failure) -> None:
        self.words = words

    def answer(self, request: Request) -> object:
        return self.words


def test_a_failure_of_either_part_is_typed(folders: dict[str, Path], tmp_path: Path) -> None:
    from snellen import wrap_model

    drawer = open_model(f"diffusers/{folders['diffusion']}")
    broken = JoinedModel(wrap_model(_Words(Failure("timeout", "too slow")), "slow"), drawer)
    (run,) = level_3({"slow pair": broken}, tmp_path, folders["clip"]).runs
    assert run.info.model == "slow pair"
    failed = next(one for one in run.failures() if one.groups["dimension"] == "Next Image Prediction")
    assert (failed.outcome, failed.failure) == ("failed", "timeout")
    (asked,) = failed.passes
    assert asked.prompt[0].parts[-1] == Text(INSTRUCTION)
    # The pipeline draws sizes that are divisible by 8.
    (other,) = evaluate(
        [f"join:text={TINY},draw=diffusers/{folders['diffusion']}"],
        ["seedbench:version=H,level=L3,draw_size=30x30"],
        out=tmp_path / "sized",
        variant=Variant(data=str(seed_h(tmp_path, only=PART_3[1:2], per_dimension=1))),
        clip=f"clip/{folders['clip']}",
    ).runs
    (record,) = other.failures()
    described, drawn = record.passes
    assert isinstance(described.output, Generated)
    assert isinstance(drawn.output, Failure)
    assert record.outcome == "failed"


def test_a_plan_counts_both_parts(joined: str, folders: dict[str, Path], tmp_path: Path) -> None:
    data = seed_h(tmp_path, only=PART_3, per_dimension=2)
    planned = plan(
        [joined],
        ["seedbench:version=H,level=L3"],
        out=tmp_path / "out",
        variant=Variant(data=str(data)),
        clip=f"clip/{folders['clip']}",
    )
    (line,) = planned.lines
    assert line.model == joined
    assert line.estimate is not None
    assert line.estimate.asked_of_others["drawer"] == line.estimate.asked_of_others["clip"]


def test_facts_of_a_joined_model(joined: str) -> None:
    info = describe_model(joined)
    assert level_of(info.capabilities) == "L3"
    assert info.capabilities.log_likelihood
    changed = describe_model(f"{joined},describe=always")
    assert changed.identity.digest() != info.identity.digest()
    nested = "join:text=vllm/A/B:base_url=http://h/v1,dtype=float16,draw=openai/gpt-image-1"
    assert split_options(nested)[1] == {
        "text": "vllm/A/B:base_url=http://h/v1,dtype=float16",
        "draw": "openai/gpt-image-1",
    }
    assert short_name(nested) == "join:text=vllm/A/B:dtype=float16,draw=openai/gpt-image-1"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("join", "join has no text and no draw"),
        (f"join:text={TINY}", "join has no draw"),
        (f"join:text={TINY},draw={TINY}", "draw=snellen/tiny-early gives text, expected image"),
        ("join:text=,draw=x", "each part once"),
        ("join:size=3,text=a,draw=b", "each part once"),
        (f"join:text=join:text=a,draw={TINY}", "is joined itself"),
        (f"join:text={TINY},draw=nobody/else", "unknown model"),
    ],
)
def test_refuses_invalid_join(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_model(name)


def test_outside_of_a_run_both_parts_are_asked(folders: dict[str, Path]) -> None:
    import asyncio

    drawer = open_model(f"diffusers/{folders['diffusion']}")
    model = JoinedModel(open_model(TINY), drawer, "always")
    output = asyncio.run(model.answer(REQUEST))
    assert isinstance(output, Drawn)
