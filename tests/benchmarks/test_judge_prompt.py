"""Judges that are asked in the words of the user's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.analysis.cards import build_card
from snellen.benchmarks.declaration.registry import expand_suites, is_description, open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.output import Generated, Output
from snellen.core.record import run_flow
from snellen.core.request import Generate, Request
from snellen.prompts.judging import load_rubric

LAYOUTS = Path(__file__).parent / "layouts"
WORDS = '[short-answer]\nsystem = "Copy."\ntext = "Q: {question}\\nR: {reply}\\nThe answer is"\n'


def mathvista(prompt: Path | None, judges: int = 1) -> Benchmark:
    options = {} if prompt is None else {"judge_prompt": str(prompt)}
    data = str(LAYOUTS / "mathvista.tsv")
    return open_benchmark("mathvista", Variant(data=data, options=options, judges=judges))


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.toml"
    path.write_text(WORDS)
    return path


def test_the_judge_is_asked_in_these_words(words: Path) -> None:
    made = mathvista(words)
    [sample, *_] = made.samples(made.open())
    asked: list[Request] = []

    def answer(request: Request) -> Output:
        asked.append(request)
        return Generated("I cannot quite say, but {reply} it is" if request.to == "model" else "3")

    run_flow(made.flow(sample), answer)
    _, to_judge = asked
    assert isinstance(to_judge, Generate)
    texts = [(message.role, message.text()) for message in to_judge.messages]
    assert texts == [
        ("system", "Copy."),
        ("user", f"Q: {sample.question}\nR: I cannot quite say, but {{reply}} it is\nThe answer is"),
    ]


def test_a_run_records_the_words_and_its_card_differs(words: Path, tmp_path: Path) -> None:
    plain, made = mathvista(None), mathvista(words)
    stored = {"rubric_short-answer": load_rubric("short-answer").short_digest}
    assert plain.parameters.items() >= stored.items()
    assert made.parameters["rubric_file"] == "theirs.toml"
    assert made.parameters["rubric_short-answer"] != stored["rubric_short-answer"]
    again = tmp_path / "again.toml"
    again.write_text(f"# The same words.\n{WORDS}")
    assert mathvista(again).parameters | {"rubric_file": "theirs.toml"} == made.parameters
    cards = [build_card(benchmark, benchmark.open(), {"judge": "3"}) for benchmark in (plain, made)]
    differing = {name for name in cards[0].parts if cards[0].parts[name] != cards[1].parts[name]}
    assert differing == {"judge"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('[letters]\ntext = "x"', "unknown judge prompt 'letters'; known: short-answer"),
        ('[short-answer]\ntext = "{gold}"', r"has \{gold\}, which is not filled in; expected"),
        ('[short-answer]\nwords = "x"', "expected `text`"),
        ("[short-answer]\ntext = 3", "expected `text`"),
        ("short-answer = 3", "expected `text`"),
        ('[short-answer]\ntext = "x"\nrules = {double = "y"}', "unknown rule of short-answer 'double'"),
        ("", "has no prompt; expected a table for one of short-answer"),
        ("[short-answer", "is no TOML"),
    ],
)
def test_a_file_that_does_not_fit_is_a_sentence(content: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match=sentence):
        mathvista(path)


def test_refuses_or_reports_unused_judge_prompt(words: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mmstar asks no judge, so that judge_prompt="):
        open_benchmark(f"mmstar:judge_prompt={words}", Variant(judges=1))
    with pytest.raises(UsageError, match="mmstar asks no judge, so that judge_prompt="):
        open_benchmark(f"mmstar:judge_prompt={words}")
    assert mathvista(words, judges=0).notice.startswith("no judge is named, so nobody is asked")
    assert mathvista(words).notice == ""
    with pytest.raises(UsageError, match="there is no such file"):
        mathvista(tmp_path / "none.toml")


def test_judge_prompt_file_is_not_a_benchmark_description(words: Path) -> None:
    spec = f"mathvista:judge_prompt={words}"
    assert not is_description(spec)
    assert expand_suites([spec]) == [spec]


def test_rules_of_the_file_take_the_place_of_stored_ones(tmp_path: Path) -> None:
    path = tmp_path / "theirs.toml"
    path.write_text('[short-answer]\ntext = "{form}"\nrules = {integer = "No fractions."}\n')
    made = mathvista(path)
    asked: list[str] = []

    def answer(request: Request) -> Output:
        asked.append(request.messages[-1].text())
        return Generated("I cannot quite say" if request.to == "model" else "3")

    for sample in made.samples(made.open()):
        run_flow(made.flow(sample), answer)
    stored = load_rubric("short-answer").rules
    assert "No fractions." in asked
    assert stored["integer"] not in asked
    assert {stored["choice"], stored["list"], stored["float"]} & {*asked}
