"""What is special to the benchmarks of the folder `open_answers`, by hand: no engine, no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.open_answers.creation_mmbench import parse_preference
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import Generate, Media, Request, Text
from snellen.core.sample import Row, Sample

LAYOUTS = Path(__file__).parent / "layouts"


class Asked:
    """Answers as the roles are told to, and keeps the requests."""

    def __init__(self, **replies: str | list[str]) -> None:
        self.replies = {role: iter([said] if isinstance(said, str) else said) for role, said in replies.items()}
        self.requests: list[Generate] = []

    def __call__(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        self.requests.append(request)
        said = next(self.replies.get(request.to, iter(())), None)
        return Failure("timeout", "no answer") if said is None else Generated(said)


def opened(name: str, judges: int = 1, **variant: Any) -> tuple[Benchmark, list[Sample]]:
    data = str(LAYOUTS / f"{name}.tsv")
    made = open_benchmark(name, Variant(data=data, judges=judges, **variant))
    return made, list(made.samples(made.open()))


def record_of(made: Benchmark, sample: Sample, asked: Asked) -> Record:
    return run_flow(made.flow(sample), asked)


def of_rows(name: str, rows: list[Mapping[str, str]], judges: int = 1) -> tuple[Benchmark, list]:
    made = open_benchmark(name, Variant(judges=judges))
    return made, list(made.samples([Row(number, cells) for number, cells in enumerate(rows)]))


def shown(request: Generate) -> list[str]:
    """Texts, and the place of each picture."""
    return [
        part.text if isinstance(part, Text) else "picture"
        for message in request.messages
        for part in message.parts
        if isinstance(part, Text | Media)
    ]


def test_moat_shows_the_pictures_of_a_hint_behind_it() -> None:
    made, samples = opened("moat")
    asked = Asked(model='{"analysis": "?", "answer": "left"}', judge='{"verdict": "1"}')
    assert record_of(made, samples[1], asked).score == 1.0
    question, judged = asked.requests
    instruction, *rest = shown(question)
    assert instruction.endswith("Which move is legal?\nThe choices are: ['up', 'left', 'down']")
    assert rest == ["picture", "Hint:\nA piece moves as the second picture shows.", "picture"]
    assert shown(judged)[-1] == "The answer to evaluate is left\nThe ground truth answer is left"


@pytest.mark.parametrize(
    ("rule", "reply", "score"),
    [
        ("snellen", "Total Score: 3\nAesthetics Rating (1-5): 4.2\nInstruction Consistency Rating: 3.25", 5 / 6),
        ("vlmevalkit", "Total Score: 3\nAesthetics Rating (1-5): 4.2\nInstruction Consistency Rating: 3.25", 0.5),
        ("snellen", "Yes.", 0.0),
        ("vlmevalkit", "Yes.", None),
    ],
)
def test_gobench_reads_ratings(rule: str, reply: str, score: float | None) -> None:
    made, [sample, *_] = opened("gobench", judges=0, rule=rule)
    record = record_of(made, sample, Asked(model=reply))
    assert record.score == (None if score is None else pytest.approx(score))
    assert record.unscored == ("ungraded" if score is None else None)


def test_gobench_has_a_judge_copy_ratings_that_no_rule_reads() -> None:
    made, [sample, *_] = opened("gobench")
    said = '{"reality": 3, "aesthetics": "4.2", "consistency": 3.5}'
    record = record_of(made, sample, Asked(model="Three, four and a bit ...", judge=said))
    assert (record.score, record.values["by_rules"]) == (1.0, 0.0)
    record = record_of(made, sample, Asked(model="Well.", judge=["?", "null", "none"]))
    assert (record.score, record.outcome) == (0.0, "unparsed")
    failed = record_of(made, sample, Asked(model="Well."))
    assert (failed.score, failed.failure) == (None, "timeout")


def verdict(choice: str, first: float = 8, second: float = 8) -> str:
    return (
        f"Final Verdict is: [[{choice}]]\n"
        f"Response A Visual Factuality Score: {first}/10\n"
        f"Response B Visual Factuality Score: {second}/10"
    )


def test_creation_mmbench_asks_in_both_orders() -> None:
    made, [sample, *_] = opened("creation-mmbench")
    asked = Asked(model="MINE", judge=[verdict("B>>A"), verdict("A=B", 6, 9), verdict("A>B"), verdict("A=B", 8, 7)])
    record = record_of(made, sample, asked)
    assert record.score == pytest.approx((1 + (1 + 0.5) / 2) / 2)
    assert record.values == pytest.approx(
        {"win_rate": 1.0, "visual_factuality": 0.85, "reference_visual_factuality": 0.65}
    )
    summary = made.summarise([record])
    assert (summary.headline.value, summary.headline.unit) == (pytest.approx(75), "points")
    assert summary.metrics["visual_factuality"].value == pytest.approx(8.5)
    assert summary.groups["task"]["landscape_to_poem"].value == pytest.approx(75)
    question, preference, facts, swapped, _ = asked.requests
    assert shown(question) == ["picture", "Write a poem about this hill."]
    picture, text = shown(preference)
    assert picture == "picture"
    assert "[ASSISTANT A]\nA hill, a rill.\n" in text
    assert "It rhymes." in text
    [of_facts] = shown(facts)
    assert "1. It names the hill." in of_facts
    assert "[ASSISTANT A]\nMINE\n" in shown(swapped)[1]


@pytest.mark.parametrize(
    ("dual", "said", "score", "unscored"),
    [
        ("off", [verdict("B>A"), verdict("A=B")], 0.75, None),
        ("on", [verdict("B>A"), verdict("A=B"), "?", "?", "?", verdict("A=B")], None, "ungraded"),
        ("on", [verdict("B>A"), "none", "none", "none", verdict("A>B"), "?", "?", "?"], 0.75, None),
        ("on", [verdict("B>A"), verdict("A=B")], None, "failed"),
    ],
)
def test_creation_mmbench_grades_what_both_orders_say(
    dual: str, said: list[str], score: float | None, unscored: str | None
) -> None:
    made, [sample, *_] = opened("creation-mmbench", options={"dual": dual})
    record = record_of(made, sample, Asked(model="MINE", judge=said))
    assert (record.score, record.unscored) == (score, unscored)


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("Final Verdict is: [[B>>A]]", 1.0),
        ("Options: [[A>>B]], [[A=B]].\n**Final Verdict is: [[ A > B ]]**", -0.5),
        ("[[A<<B]]", 1.0),
        ("I say [[b=a]].", 0.0),
        ("[[A>B]] or [[B>A]]", None),
        ("[[A>A]]", None),
        ("A is better.", None),
    ],
)
def test_preferences_are_read(reply: str, grade: float | None) -> None:
    found = parse_preference(reply)
    assert (None if found is None else found.values["grade"]) == grade


def test_charxiv_asks_what_the_row_says() -> None:
    made, [sample, *_] = opened("charxiv")
    asked = Asked(model="It is {PREDICTION}.", judge='{"extracted_answer": "it", "score": 0.5}')
    assert record_of(made, sample, asked).score == 0.5
    assert [shown(request)[-1] for request in asked.requests] == [
        "What is shown in chart 0?",
        "Compare. Truth: blue\nResponse: It is {PREDICTION}.\nAnswer in JSON.",
    ]


def test_charxiv_without_the_judges_prompt_is_refused() -> None:
    with pytest.raises(DataError, match=r"row 1: `grading_query` has no \{PREDICTION\}"):
        of_rows("charxiv", [{"index": "0", "question": "What?", "answer": "7"}])


def test_mm_ifeval_asks_the_question_without_a_constraint() -> None:
    made, samples = opened("mm-ifeval")
    assert [sample.id for sample in samples] == ["0", "1", "2"]
    asked = Asked(
        model=["Ahoy, a hill!", "A green hill."],
        judge=["Score of constraint_1: 1/1.", 'Reasoning: different.\nSummary: "False"'],
    )
    record = record_of(made, samples[0], asked)
    assert record.score == pytest.approx(2 / 3)
    assert record.values == {"rule_based": 1.0, "direct_gpt": 1.0, "cmp_gpt": 0.0}
    question, seen, plain, compared = asked.requests
    assert shown(question)[1] == shown(seen)[1] == "picture"
    assert "Constraint_1: Write about the hill.\n<end of constraint list>" in shown(seen)[0]
    assert (plain.to, plain.ref.row, shown(plain)[0]) == ("model", "3", "Describe this hill in at most 50 words.")
    assert "<start of constraint>\nWrite as a sailor.\n" in shown(compared)[0]
    assert "without the constraint>\nA green hill.\n" in shown(compared)[0]


@pytest.mark.parametrize(
    ("model", "judge", "unscored"),
    [
        (["Ahoy!", "A hill."], [*["It is met."] * 3, "Summary: True"], "ungraded"),
        (["Ahoy!", "A hill."], ["Score of constraint_1: 1/1", "?", "?", "Summary: maybe"], "ungraded"),
        (["Ahoy!", "A hill."], ["Score of constraint_1: 1/1"], "failed"),
        (["Ahoy!"], ["Score of constraint_1: 1/1"], "failed"),
    ],
)
def test_mm_ifeval_without_a_word_is_not_graded(model: list[str], judge: list[str], unscored: str) -> None:
    made, samples = opened("mm-ifeval")
    record = record_of(made, samples[0], Asked(model=model, judge=judge))
    assert (record.score, record.unscored) == (None, unscored)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"constraints": "[]"}, "row 1: `constraints` is empty"),
        ({"constraints": "{"}, "row 1: `constraints` cannot be read"),
        (
            {"constraints": '[{"key": "k", "value": "v", "judge": {"method": "cmp_gpt"}}]'},
            "row 1: the constraint 'k' is judged beside a reply",
        ),
    ],
)
def test_mm_ifeval_says_what_a_row_lacks(cells: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        of_rows("mm-ifeval", [{"index": "0", "id": "a", "tag": "C-Level", "question": "?"} | cells])


@pytest.mark.parametrize(
    ("row", "said", "score"),
    [
        (0, ['Well: ```json\n{"A": 1}\n```'], 1.0),
        (0, ["no JSON", '{"A": 2}'], 0.0),
        (0, ["no", "no", "no"], None),
        (1, ["1.0", "1"], 1.0),
        (1, ["2", "0"], 0.0),
        (1, ["2", "?", "?", "?"], None),
        (2, ['{"id": 2}'], 1.0),
    ],
)
def test_mme_reasoning_checks_what_a_judge_copied(row: int, said: list[str], score: float | None) -> None:
    made, samples = opened("mme-reasoning")
    asked = Asked(model="After some thought: one.", judge=said)
    record = record_of(made, samples[row], asked)
    assert (record.score, record.unscored) == (score, "ungraded" if score is None else None)
    assert shown(asked.requests[0]) == ["picture", samples[row].question]


def test_mme_reasoning_names_a_check_that_it_does_not_know() -> None:
    cells = {"index": "0", "question": "?", "function_id": "of_the_future", "prompt_id": "x"}
    with pytest.raises(DataError, match="row 1: function_id 'of_the_future' with prompt_id 'x'"):
        of_rows("mme-reasoning", [cells])
