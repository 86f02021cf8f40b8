from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen.core.errors import UsageError
from snellen.core.output import Price, Usage, cost
from snellen.models.naming.prices import parse_price, price_of, user_prices
from snellen.settings import Settings

NO_FILE = Settings(cache=Path("cache"))
GPT_4O = Price(2.5, 10, 1.25, date="2026-11-21", source="https://developers.openai.com/api/docs/pricing")


@pytest.mark.parametrize("name", ["openai/gpt-4o-2024-11-20", "GPT4o_20241120", "gpt-4o-2024-11-20:temperature=0"])
def test_a_price_by_any_name(name: str) -> None:
    assert price_of(name, NO_FILE) == GPT_4O


def test_price_of_one_tier_names_its_limit() -> None:
    price = price_of("dashscope/qwen3-vl-plus", NO_FILE)
    assert price is not None
    assert (price.input, price.output) == (0.2, 1.6)
    assert "(prompts up to 32000 tokens; longer ones cost more)" in price.source


@pytest.mark.parametrize("name", ["random", "hf/Qwen/Qwen2.5-VL-7B-Instruct", "openai/unheard-of"])
def test_unknown_price_is_none(name: str) -> None:
    assert price_of(name, NO_FILE) is None


def test_price_file_of_the_user_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '["GPT4o_20241120"]\ninput = 2\noutput = 8\ndate = "2026-01-02"\nsource = "our contract"\n'
        '["http/lab"]\ninput = 0.1\noutput = 0.2\ncached = 0.05\n'
    )
    monkeypatch.setenv("SNELLEN_PRICES", str(path))
    wanted = Price(2, 8, date="2026-01-02", source="our contract")
    assert price_of("openai/gpt-4o-2024-11-20") == wanted
    assert price_of("http/lab") == Price(0.1, 0.2, 0.05, source=str(path))
    assert price_of("gpt-4o-2024-08-06") == price_of("gpt-4o-2024-08-06", NO_FILE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a]\ninput = 1\n", "missing required field `output`"),
        ("[a]\ninput = 1\noutput = -2\n", "output is -2"),
        ("[a]\ninput = 1\noutput = 2\nfree = true\n", "unknown field `free`"),
        ("input", "are off"),
    ],
)
def test_a_file_that_is_off_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(sentence)):
        user_prices(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"prices.toml \(SNELLEN_PRICES\) cannot be read: No such"):
        user_prices(tmp_path / "prices.toml")


def test_a_typed_price() -> None:
    assert parse_price("input=2.5, output=10") == Price(2.5, 10, source="the option --price")
    price = parse_price("input=2,output=10,cached=1")
    tokens = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=500_000)
    assert cost(tokens, price) == pytest.approx(1.0 + 0.5 + 1.0)


@pytest.mark.parametrize("text", ["2.5", "input=2.5", "input=x,output=1", "input=1,output=1,tax=2"])
def test_a_typed_price_that_is_off(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected input=2\.5,output=10 in dollars per million"):
        parse_price(text)


def test_a_typed_price_below_zero() -> None:
    with pytest.raises(UsageError, match="input is -1"):
        parse_price("input=-1,output=1")
