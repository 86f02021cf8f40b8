from __future__ import annotations

from typing import Any

import pytest

from snellen.core.answer import Empty, Truncated
from snellen.core.message import Text, user
from snellen.core.model import Profiled
from snellen.core.output import Generated
from snellen.core.request import Generate, Ref
from snellen.extract.choice import read_choice
from snellen.extract.open_text import read_open
from snellen.extract.yes_no import read_yes_no
from snellen.models import reasoning
from snellen.models.reasoning import Split, split_reasoning
from snellen.models.registry import open_model


@pytest.mark.parametrize(
    ("reply", "split"),
    [
        ("B", Split("B", None, "stop")),
        ("<think>A or B?</think>\n\nB", Split("B", "A or B?", "stop")),
        ("\n<think>\nhm\n</think>B", Split("B", "hm", "stop")),
        ("<think></think>B", Split("B", None, "stop")),
        ("A or B?</think>B", Split("B", "A or B?", "stop")),
        ("<thinking>x</thinking> C", Split("C", "x", "stop")),
        ("◁think▷x◁/think▷C", Split("C", "x", "stop")),
        ("[THINK]x[/THINK]C", Split("C", "x", "stop")),
        (
            "<|begin_of_thought|>x<|end_of_thought|>\n<|begin_of_solution|>C<|end_of_solution|>",
            Split("C", "x", "stop"),
        ),
        ("<think>The answer is B", Split("", "The answer is B", "length")),
        (
            "The tag <think> opens a thought.",
            Split("The tag <think> opens a thought.", None, "stop"),
        ),
        (
            "Write <think>x</think> around thoughts.",
            Split("Write <think>x</think> around thoughts.", None, "stop"),
        ),
    ],
)
def test_thoughts_are_split_off(reply: str, split: Split) -> None:
    assert split_reasoning(reply) == split


def test_an_answer_cut_behind_its_thought_stays_cut() -> None:
    assert split_reasoning("<think>x</think>The ans", "length") == Split("The ans", "x", "length")


@pytest.mark.parametrize("reply", ["<think>The answer is B. Answer: B", "<think>"])
def test_an_unfinished_thought_is_truncated_whoever_reads_it(reply: str) -> None:
    text, _, stop = split_reasoning(reply)
    options = {"A": "cat", "B": "dog"}
    assert read_choice(text, options, stop_reason=stop) == Truncated()
    assert read_yes_no(text, stop_reason=stop) == Truncated()
    assert read_open(text, stop_reason=stop) == Truncated()


def test_a_thought_without_an_answer_is_empty() -> None:
    text, _, stop = split_reasoning("<think>The answer is B</think>")
    assert read_choice(text, {"A": "cat", "B": "dog"}, stop_reason=stop) == Empty()


def test_the_local_backend_splits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled model does not think, so what it says first is declared a thought."""
    request = Generate(messages=(user(Text("Which shape is this?")),), ref=Ref("1"))

    def reply(options: str = "") -> Generated:
        model: Any = open_model(f"snellen/tiny:batch_size=1{options}")
        [output] = model.answer_batch([request])
        assert isinstance(output, Generated)
        return output

    plain = reply()
    assert (bool(plain.text), plain.stop_reason) == (True, "stop")
    monkeypatch.setattr(reasoning, "TAGS", ((plain.text, "<none>"),))
    assert reply(",reasoning=off").text == plain.text
    assert (reply().text, reply().stop_reason) == ("", "length")
    assert open_model("snellen/tiny").identity.facts.get("reasoning") is None
    assert open_model("snellen/tiny:reasoning=off").identity.facts["reasoning"] == "off"


def test_the_longest_reply_of_a_local_model() -> None:
    longer: Any = open_model("snellen/tiny:max_new_tokens=9000")
    assert longer.max_new_tokens == 9000
    assert isinstance(open_model("snellen/tiny"), Profiled)
