from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from snellen.core.output import Empty, Generated, Truncated
from snellen.core.request import Generate, Generation, Ref, Text, user
from snellen.extract.choice import parse_choice
from snellen.extract.open_text import parse_open
from snellen.extract.yes_no import parse_yes_no
from snellen.models import reasoning
from snellen.models.hf.bundled import WEIGHTS
from snellen.models.hf.generate import decode_reply
from snellen.models.hf.loaded import LoadedModel
from snellen.models.naming.registry import open_model
from snellen.models.reasoning import SplitReply, split_reasoning


@pytest.mark.parametrize(
    ("reply", "split"),
    [
        ("B", SplitReply("B", None, "stop")),
        ("<think>A or B?</think>\n\nB", SplitReply("B", "A or B?", "stop")),
        ("\n<think>\nhm\n</think>B", SplitReply("B", "hm", "stop")),
        ("<think></think>B", SplitReply("B", None, "stop")),
        ("A or B?</think>B", SplitReply("B", "A or B?", "stop")),
        ("<thinking>x</thinking> C", SplitReply("C", "x", "stop")),
        ("◁think▷x◁/think▷C", SplitReply("C", "x", "stop")),
        ("[THINK]x[/THINK]C", SplitReply("C", "x", "stop")),
        (
            "<|begin_of_thought|>x<|end_of_thought|>\n<|begin_of_solution|>C<|end_of_solution|>",
            SplitReply("C", "x", "stop"),
        ),
        ("<think>The answer is B", SplitReply("", "The answer is B", "length")),
        ("The tag <think> opens a thought.", SplitReply("The tag <think> opens a thought.", None, "stop")),
        (
            "Write <think>x</think> around thoughts.",
            SplitReply("Write <think>x</think> around thoughts.", None, "stop"),
        ),
    ],
)
def test_thoughts_are_split_off(reply: str, split: SplitReply) -> None:
    assert split_reasoning(reply) == split


def test_a_cut_reply_to_a_prompt_that_opened_a_thought_is_a_thought() -> None:
    said = "It may be A, so the answer is A"
    assert split_reasoning(said, "length", starts_in_thought=True) == SplitReply("", said, "length")
    assert split_reasoning(said, "length") == SplitReply(said, None, "length")
    # It ended by itself: it answered without a thought.
    assert split_reasoning("A", "stop", starts_in_thought=True) == SplitReply("A", None, "stop")
    cut_later = split_reasoning("hm</think>The ans", "length", starts_in_thought=True)
    assert cut_later == SplitReply("The ans", "hm", "length")


def test_an_answer_cut_behind_its_thought_stays_cut() -> None:
    assert split_reasoning("<think>x</think>The ans", "length") == SplitReply("The ans", "x", "length")


@pytest.mark.parametrize("reply", ["<think>The answer is B. Answer: B", "<think>"])
def test_unfinished_thought_is_truncated_for_every_parser(reply: str) -> None:
    text, _, stop = split_reasoning(reply)
    options = {"A": "cat", "B": "dog"}
    assert parse_choice(text, options, stop_reason=stop) == Truncated()
    assert parse_yes_no(text, stop_reason=stop) == Truncated()
    assert parse_open(text, stop_reason=stop) == Truncated()


def test_a_thought_without_an_answer_is_empty() -> None:
    text, _, stop = split_reasoning("<think>The answer is B</think>")
    assert parse_choice(text, {"A": "cat", "B": "dog"}, stop_reason=stop) == Empty()


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
    monkeypatch.setattr(reasoning, "_FIRST_SIGN", re.compile(re.escape(plain.text[0])))
    assert reply(",reasoning=off").text == plain.text
    assert (reply().text, reply().stop_reason) == ("", "length")
    assert open_model("snellen/tiny").identity.facts.get("reasoning") is None
    assert open_model("snellen/tiny:reasoning=off").identity.facts["reasoning"] == "off"


@pytest.mark.parametrize(("opening", "text"), [("<think>\n", ""), ("", None)])
def test_a_local_model_whose_template_opens_the_thought(tmp_path: Path, opening: str, text: str | None) -> None:
    """A reply that the token limit cut before the thought was closed is no answer."""
    folder = tmp_path / "thinking"
    shutil.copytree(WEIGHTS / "tiny", folder)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text() + opening)
    model: Any = open_model(f"hf/{folder}:batch_size=1,device=cpu")
    settings = Generation(max_new_tokens=1)
    request = Generate(messages=(user(Text("Which shape is this?")),), ref=Ref("1"), settings=settings)
    [output] = model.answer_batch([request])
    assert isinstance(output, Generated)
    assert output.stop_reason == "length"
    if text is None:
        assert output.text
        assert output.reasoning is None
    else:
        assert (output.text, bool(output.reasoning)) == (text, True)


@pytest.mark.parametrize("special", [True, False])
def test_tags_that_are_special_tokens_stay_in_the_reply(special: bool) -> None:
    """Magistral's [THINK] is one; without it a thought would run into the answer."""
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    words = {"Is": 0, "it": 1, "A": 2, "B": 3, "</s>": 4, "[UNK]": 5}
    inner = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>")
    tags = [AddedToken("[THINK]", special=special), AddedToken("[/THINK]", special=special)]
    tokenizer.add_tokens(tags, special_tokens=special)
    loaded = LoadedModel(None, tokenizer, tokenizer, "cpu", frozenset({4}), None, 1)
    opened, closed = tokenizer.convert_tokens_to_ids(["[THINK]", "[/THINK]"])

    def said(*tokens: int) -> SplitReply:
        reply = decode_reply(loaded, tokens, 3, Generation())
        return split_reasoning(reply.text, reply.stop_reason)

    assert said(opened, 0, 1, 2, closed, 3, 4) == SplitReply("B", "Is it A", "stop")
    assert said(opened, 0, 1, 2) == SplitReply("", "Is it A", "length")
    assert said(3, 4) == SplitReply("B", None, "stop")


def test_the_longest_reply_of_a_local_model() -> None:
    longer: Any = open_model("snellen/tiny:max_new_tokens=9000")
    assert longer.max_new_tokens == 9000
    unlimited: Any = open_model("snellen/tiny")
    assert unlimited.max_new_tokens is None
