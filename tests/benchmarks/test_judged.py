"""Judges in flows, by hand: no engine, no model, only `send()`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from snellen.api.evaluation import evaluate
from snellen.benchmarks.declaration.judged import plain_messages
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.open_answers.mmdu import user_messages
from snellen.benchmarks.protocol.judging import JudgePanel, ask_judges, consensus_grade, judge_roles
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.media import InlineSource
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import Generate, Media, Ref, Request, Text
from snellen.core.sample import MediaRef, Row, Sample
from snellen.extract.verdicts import parse_grade
from snellen.models.naming.wrapping import wrap_model
from snellen.stats.agreement import cohen_kappa, fleiss_kappa

Says = Callable[[Request], Output]


def saying(**by_role: str | Output | Iterable[str | Output]) -> Says:
    """Each role says these, one after the other; a single text again and again."""
    queues = {
        role: said if isinstance(said, str | Generated | Failure) else iter(said) for role, said in by_role.items()
    }

    def answer(request: Request) -> Output:
        said = queues[request.to.replace("-", "_")]
        one = said if isinstance(said, str | Generated | Failure) else next(said)
        return Generated(one) if isinstance(one, str) else one

    return answer


def grading(panel: JudgePanel, *replies: str | Output, **roles: str):
    read = lambda reply: parse_grade(reply, 0, 1)  # noqa: E731
    flow = ask_judges(panel, "mm-vet", {"question": "q", "gold": "g", "reply": "r"}, read, Ref("1"))
    return run_flow(flow, saying(judge=replies, **roles))


def test_a_grade_is_read() -> None:
    found = grading(JudgePanel(("judge",)), "0.5")
    assert found.grade() == 0.5
    assert [(one.judge, one.step, one.tries) for one in found.verdicts] == [("judge", "grade", 1)]


def test_an_unread_verdict_is_asked_for_again_and_warmer() -> None:
    asked: list[Generate] = []

    def answer(request: Request) -> Output:
        assert isinstance(request, Generate)
        asked.append(request)
        return Generated("0.5" if len(asked) == 3 else "well")

    fields = {"question": "q", "gold": "g", "reply": "r"}
    flow = ask_judges(JudgePanel(("judge",)), "mm-vet", fields, lambda text: parse_grade(text, 0, 1), Ref("1"))
    found = run_flow(flow, answer)
    assert (found.grade(), found.verdicts[0].tries) == (0.5, 3)
    assert [one.settings.temperature for one in asked] == [0.0, 0.5, 1.0]
    assert [one.attempt for one in asked] == [0, 1, 2]


def test_unreadable_verdict_gives_no_grade() -> None:
    found = grading(JudgePanel(("judge",)), "a", "b", "c")
    assert (found.grade(), found.failure, found.verdicts[0].tries) == (None, None, 3)


def test_a_failed_judge_is_a_failure() -> None:
    found = grading(JudgePanel(("judge",)), Failure("timeout", "no answer"))
    assert found.failure is not None
    assert found.failure.kind == "timeout"


def test_votes_are_requests_of_their_own() -> None:
    found = grading(JudgePanel(("judge",), votes=3), "0.2", "0.4", "0.6")
    assert found.grade() == pytest.approx(0.4)
    assert len(found.verdicts) == 3


def test_several_judges() -> None:
    panel = JudgePanel(judge_roles(2))
    found = grading(panel, "0.2", judge_2="0.8")
    assert found.by_judge() == {"judge": 0.2, "judge-2": 0.8}
    assert found.grade() == 0.5


@pytest.mark.parametrize(
    ("grades", "one"), [([1, 1, 0], 1.0), ([0, 0, 1], 0.0), ([1, 0], 0.5), ([0.2, 0.4], 0.3), ([1], 1.0)]
)
def test_consensus_of_several_grades(grades: list[float], one: float) -> None:
    assert consensus_grade(grades) == pytest.approx(one)


def test_kappa_against_worked_examples() -> None:
    # Two judges, 50 samples: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: kappa 0.4.
    first = [1.0] * 25 + [0.0] * 25
    second = [1.0] * 20 + [0.0] * 5 + [1.0] * 10 + [0.0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([], []) is None
    # Fleiss (1971) counts categories: 10 subjects, 14 raters, kappa 0.210.
    table = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
        (3, 2, 6, 3, 0),
        (2, 5, 3, 2, 2),
        (6, 5, 2, 1, 0),
        (0, 2, 2, 3, 7),
    ]
    rows = [[float(k) for k, count in enumerate(row) for _ in range(count)] for row in table]
    assert fleiss_kappa(rows) == pytest.approx(0.210, abs=0.0005)
    assert fleiss_kappa([[1.0]]) is None


def one_row(name: str, cells: dict[str, str], variant: Variant) -> tuple[Benchmark, Sample]:
    benchmark = open_benchmark(name, variant)
    (sample,) = benchmark.samples([Row(0, cells)])
    return benchmark, sample


JUDGED = Variant(judges=1)
VET = {"index": "1", "question": "What is x?", "answer": "-1<AND>-5", "category": "ocr,math"}


def test_mm_vet() -> None:
    benchmark, sample = one_row("mm-vet", VET, JUDGED)
    record = run_flow(benchmark.flow(sample), saying(model="-1", judge="0.5"))
    assert (record.score, record.outcome) == (0.5, "answered")
    assert benchmark.extra_roles == ("judge",)
    summary = benchmark.summarise([record])
    assert {name: one.value for name, one in summary.groups["capability"].items()} == {"ocr": 50.0, "math": 50.0}


def test_mm_vet_without_a_judge_reports_it_and_keeps_the_reply() -> None:
    benchmark, sample = one_row("mm-vet", VET, Variant())
    assert "--judge" in benchmark.unscorable
    assert (benchmark.oracle, benchmark.extra_roles) == (None, ())
    record = run_flow(benchmark.flow(sample), saying(model="-1"))
    assert (record.score, record.unscored, record.outcome) == (None, "ungraded", "answered")
    summary = benchmark.summarise([record])
    assert summary.headline.value is None
    assert "--judge" in summary.headline.note
    assert "not graded" in summary.notices[0]


def test_an_unread_verdict_leaves_the_sample_out() -> None:
    benchmark, sample = one_row("mm-vet", VET, JUDGED)
    unread = run_flow(benchmark.flow(sample), saying(model="-1", judge="well done"))
    assert (unread.score, unread.unscored) == (None, "ungraded")
    right = run_flow(benchmark.flow(sample), saying(model="-1", judge="1.0"))
    summary = benchmark.summarise([right, unread])
    assert (summary.headline.value, summary.n, summary.total) == (100.0, 1, 2)
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (50.0, 100.0)


def test_an_empty_reply_is_worth_nothing_and_asks_no_judge() -> None:
    benchmark, sample = one_row("mm-vet", VET, JUDGED)
    record = run_flow(benchmark.flow(sample), saying(model=" "))
    assert (record.score, record.outcome) == (0.0, "empty")


def test_failures_of_model_and_judge_are_failures() -> None:
    benchmark, sample = one_row("mm-vet", VET, JUDGED)
    for says in (saying(model=Failure("server", "500")), saying(model="-1", judge=Failure("server", "500"))):
        record = run_flow(benchmark.flow(sample), says)
        assert (record.outcome, record.unscored, record.failure) == ("failed", "failed", "server")


LLAVA = {
    "index": "3",
    "question": "What is this?",
    "caption": "A secret caption.",
    "gpt4_ans": "Diamond Head",
    "category": "llava_bench_conv",
}


def test_llava_bench_shows_the_caption_to_the_judge_alone() -> None:
    benchmark, sample = one_row("llava-bench", LLAVA, JUDGED)
    asked: dict[str, str] = {}

    def answer(request: Request) -> Output:
        asked[request.to] = "\n".join(message.text() for message in request.messages)
        return Generated("8 6\nWell." if request.to == "judge" else "A hill")

    record = run_flow(benchmark.flow(sample), answer)
    assert asked["model"] == "What is this?"
    assert "A secret caption." in asked["judge"]
    assert asked["judge"].index("Diamond Head") < asked["judge"].index("A hill")
    assert (record.score, record.groups) == (0.6, {"category": "conv"})
    assert benchmark.summarise([record]).headline.value == pytest.approx(75)


VISTA = {
    "index": "5",
    "question": "Hint: ...\nQuestion: How many?",
    "answer": "3",
    "question_type": "free_form",
    "answer_type": "integer",
    "choices": "[]",
    "skills": "['numeric commonsense', 'arithmetic reasoning']",
}
LONG = "I see some of them here and 2 more there, hence 1 or 3, which is what I would have said."


def test_mathvista_asks_a_judge_only_for_what_no_rule_can_read() -> None:
    benchmark, sample = one_row("mathvista", VISTA, JUDGED)
    assert benchmark.headline == "accuracy"
    plain = run_flow(benchmark.flow(sample), saying(model="The answer is 3."))
    assert (plain.score, plain.values["by_rules"], plain.passes[0].verdicts) == (1.0, 1.0, ())
    judged = run_flow(benchmark.flow(sample), saying(model=LONG, judge="Answer: 3"))
    assert (judged.score, judged.values["by_rules"], judged.answer) == (1.0, 0.0, "3")
    none = run_flow(benchmark.flow(sample), saying(model=LONG, judge="none"))
    assert (none.score, none.outcome) == (0.0, "no_match")
    skills = benchmark.summarise([judged]).groups["skills"]
    assert set(skills) == {"numeric commonsense", "arithmetic reasoning"}


def test_mathvista_by_rules_has_a_name_of_its_own() -> None:
    benchmark, sample = one_row("mathvista", VISTA, Variant())
    assert benchmark.headline == "accuracy_by_rules"
    record = run_flow(benchmark.flow(sample), saying(model=LONG))
    assert (record.score, record.outcome) == (0.0, "unparsed")


def test_mathvista_builds_the_prompt_of_the_authors_json() -> None:
    cells = {
        "pid": "2",
        "question": "Which?",
        "A": "yes",
        "B": "no",
        "answer": "no",
        "question_type": "multi_choice",
        "answer_type": "text",
    }
    _, sample = one_row("mathvista", cells, Variant())
    assert (sample.kind, sample.gold) == ("choice", ("B",))
    text = plain_messages(sample)[0].text()
    assert text.startswith("Hint: Please answer the question and provide the correct option letter")
    assert text.endswith("Question: Which?\nChoices:\n(A) yes\n(B) no")


VERSE = {
    "index": "0",
    "question": "Find it. ()\nChoices:\nA:50°\nB:40°",
    "answer": "B",
    "question_for_eval": "As shown, find angle 1. ()\nChoices:\nA:50°\nB:40°",
    "problem_version": "Vision Only",
    "metadata": "{'subject': 'Plane Geometry', 'subfield': 'Angle'}",
    "query_cot": "Think first.\nFind it.",
}


def test_mathverse_extracts_then_compares() -> None:
    benchmark, sample = one_row("mathverse", VERSE, JUDGED)
    assert sample.options == {"A": "50°", "B": "40°"}
    assert sample.groups["subject"] == "Plane Geometry"
    rule = run_flow(benchmark.flow(sample), saying(model="B"))
    assert (rule.score, rule.passes[0].verdicts) == (1.0, ())
    two = run_flow(
        benchmark.flow(sample), saying(model="it is as wide as the other one over there", judge=["forty degrees", "1"])
    )
    assert two.score == 1.0
    assert [one.step for one in two.passes[0].verdicts] == ["extraction", "comparison"]
    wrong = run_flow(benchmark.flow(sample), saying(model="A", judge="0"))
    assert (wrong.score, wrong.passes[0].correct) == (0.0, False)
    alone = one_row("mathverse", VERSE, Variant())[0]
    assert run_flow(alone.flow(sample), saying(model="40°")).score == 1.0


def test_mathverse_cot_asks_its_own_column() -> None:
    _, sample = one_row("mathverse", VERSE, Variant(options={"prompt": "cot"}))
    assert sample.question == "Think first.\nFind it."


def dyna(variant: str, answer: str, kind: str = "float") -> Row:
    return Row(
        int(variant),
        {
            "index": f"1-{variant}",
            "qid": "1",
            "varid": variant,
            "question": "What is it?",
            "answer": answer,
            "answer_type": kind,
            "subject": "algebra",
            "knowledge_level": "high school",
        },
    )


@pytest.mark.parametrize(
    ("reply", "gold", "kind", "score"),
    [
        ('{"solution": "...", "short answer": "1.500"}', "1.5", "float", 1.0),
        ('```json\n{"solution": "\\frac", "short answer": "1.502"}\n```', "1.5", "float", 0.0),
        ('{"short answer": "2 pi"}', "6.283", "float", 1.0),
        ('{"short answer": "1.5 cm"}', "1.5", "float", 1.0),
        ('{"short answer": "(B) even"}', "B", "multiple choice", 1.0),
        ("The answer is B.", "B", "multiple choice", 1.0),
        ('{"short answer": "Even"}', "even", "text", 1.0),
        ('{"short answer": ""}', "even", "text", 0.0),
    ],
)
def test_dynamath_reads_the_object(reply: str, gold: str, kind: str, score: float) -> None:
    benchmark = open_benchmark("dynamath")
    (sample,) = benchmark.samples([dyna("1", gold, kind)])
    assert run_flow(benchmark.flow(sample), saying(model=reply)).score == score


def test_dynamath_worst_case_and_average() -> None:
    benchmark = open_benchmark("dynamath")
    samples = list(benchmark.samples([dyna("1", "1"), dyna("2", "2")]))
    assert {sample.unit for sample in samples} == {"1"}
    assert "'short answer'" in samples[0].question
    records = [run_flow(benchmark.flow(one), saying(model='{"short answer": "1"}')) for one in samples]
    summary = benchmark.summarise(records)
    assert (summary.headline.name, summary.headline.value) == ("worst_case", 0.0)
    assert summary.metrics["average"].value == 50.0
    assert summary.groups["subject"]["algebra"].n == 1


def test_wemath_four_dimensions() -> None:
    benchmark = open_benchmark("wemath")
    rows = [
        Row(
            n,
            {
                "index": str(n),
                "id": "7",
                "key": key,
                "question": "?",
                "A": "1",
                "B": "2",
                "answer": "A",
                "knowledge concept": "Area",
            },
        )
        for n, key in enumerate(("2steps_1", "2steps_2", "2steps_multi"))
    ]
    samples = list(benchmark.samples(rows))

    def run(*replies: str) -> list[Record]:
        return [run_flow(benchmark.flow(one), saying(model=said)) for one, said in zip(samples, replies, strict=True)]

    mastered, rote = (benchmark.summarise(run("A", "A", "A")), benchmark.summarise(run("A", "B", "A")))
    assert (mastered.headline.value, mastered.headline.n) == (100.0, 1)
    assert rote.headline.value == 0.0
    assert rote.metrics["score_loose"].value == 100.0
    assert rote.metrics["rote_memorisation_strict"].value == 100.0
    assert rote.metrics["one-step"].value == 50.0
    partial = benchmark.summarise(run("A", "A", "A")[:2])
    assert partial.headline.value is None


PICTURES = tuple(MediaRef(name, InlineSource(b"")) for name in ("p1", "p2", "p3"))


def test_images_of_a_dialogue_replace_their_marks() -> None:
    first, second = user_messages(("See <ImageHere> and <ImageHere>?", "And <ImageHere>"), PICTURES)
    assert first.parts == (Text("See "), Media("image", "p1"), Text(" and "), Media("image", "p2"), Text("?"))
    assert second.parts == (Text("And "), Media("image", "p3"))
    (spare,) = user_messages(("Compare.",), PICTURES[:2])
    assert spare.parts == (Media("image", "p1"), Media("image", "p2"), Text("Compare."))


def dialogue(variant: Variant = JUDGED) -> tuple[Benchmark, Sample]:
    cells = {"index": "0", "question": "['One?', 'Two?', 'Three?']", "answer": "['1', '2', '3']"}
    return one_row("mmdu", cells, variant)


def marks(overall: int) -> str:
    names = (
        "Creativity",
        "Richness",
        "Visual Perception",
        "Logical Coherence",
        "Answer Accuracy",
        "Image Relationship Understanding",
        "Overall Score",
    )
    import json

    return json.dumps(dict.fromkeys(names, overall))


def test_a_dialogue_keeps_the_model_s_own_replies() -> None:
    benchmark, sample = dialogue()
    lengths: list[int] = []

    def answer(request: Request) -> Output:
        if request.to == "judge":
            return Generated(marks(6))
        lengths.append(len(request.messages))
        if len(request.messages) == 3:
            assert request.messages[1].text() == "reply 1"
        return Generated(f"reply {len(lengths)}")

    record = run_flow(benchmark.flow(sample), answer)
    assert lengths == [1, 3, 5]
    assert record.score == pytest.approx(0.6)
    assert [one.prompt[-1].text() for one in record.passes] == ["One?", "Two?", "Three?"]
    assert benchmark.summarise([record]).headline.value == pytest.approx(60)


def test_a_dialogue_that_outgrows_the_context_ends_there() -> None:
    benchmark, sample = dialogue()
    says = saying(model=["one", "two", Failure("too_long", "9000 tokens")], judge=marks(6))
    record = run_flow(benchmark.flow(sample), says)
    assert (record.outcome, record.failure, record.unscored) == ("truncated", "too_long", None)
    assert record.score == pytest.approx(0.4)
    assert record.values["answered_only"] == pytest.approx(0.6)
    assert record.values["turns_answered"] == pytest.approx(2 / 3)


def test_any_other_failure_fails_the_dialogue() -> None:
    benchmark, sample = dialogue()
    record = run_flow(benchmark.flow(sample), saying(model=["one", Failure("connection", "gone")], judge=marks(6)))
    assert (record.outcome, record.score) == ("failed", None)
    unread = run_flow(benchmark.flow(sample), saying(model="one", judge="fine"))
    assert (unread.unscored, unread.score) == ("ungraded", None)
    alone, sample = dialogue(Variant())
    kept = run_flow(alone.flow(sample), saying(model="one"))
    assert (kept.unscored, len(kept.passes)) == ("ungraded", 3)


def open_and_choice(folder: Path, description: str = "") -> Benchmark:
    """A table of an open question and a choice, asked with a judge; `description` is TOML."""
    file = folder / "open.tsv"
    file.write_text("index\tquestion\tanswer\tA\tB\n1\tWhat is it?\tleft\t\t\n2\tWhich?\tA\tx\ty\n")
    if description:
        file = folder / "own.toml"
        file.write_text(f'data = "open.tsv"\n{description}\n')
    return open_benchmark(str(file), JUDGED)


@pytest.mark.parametrize("description", ["", 'title = "t"'])
def test_a_judge_gives_the_score_of_open_questions_where_no_metric_is_named(tmp_path, description) -> None:
    benchmark = open_and_choice(tmp_path, description)
    open_, choice = benchmark.samples(benchmark.open())
    near = run_flow(benchmark.flow(open_), saying(model="on the left", judge="4"))
    assert (near.score, near.values) == (0.75, {"similarity": 0.75, "by_rules": 0.0})
    silent = run_flow(benchmark.flow(open_), saying(model="", judge="5"))
    assert (silent.score, silent.values["by_rules"]) == (0.0, 0.0)
    other = run_flow(benchmark.flow(choice), saying(model="A"))
    assert (other.score, other.values) == (1.0, {})
    unread = run_flow(benchmark.flow(open_), saying(model="left", judge="rather"))
    assert (unread.score, unread.unscored) == (None, "ungraded")
    summary = benchmark.summarise([near, other, unread])
    assert (summary.headline.value, summary.n) == (87.5, 2)
    assert summary.notices == ("1 of 3 samples was not graded by any judge and is left out",)
    assert benchmark.parameters["scored_by"] == "judge"


def test_similarity_is_reported_beside_the_declared_metric(tmp_path) -> None:
    benchmark = open_and_choice(tmp_path, 'metric = "anls"')
    open_, choice = benchmark.samples(benchmark.open())
    assert benchmark.extra_roles == ("judge",)
    near = run_flow(benchmark.flow(open_), saying(model="on the left", judge="4"))
    assert (near.score, near.values["similarity"]) == (0.0, 0.75)
    other = run_flow(benchmark.flow(choice), saying(model="A"))
    assert other.values == {}
    unread = run_flow(benchmark.flow(open_), saying(model="left", judge="rather"))
    assert (unread.score, unread.values) == (1.0, {})
    failed = run_flow(benchmark.flow(open_), saying(model="left", judge=Failure("server", "")))
    assert (failed.score, failed.outcome) == (None, "failed")
    summary = benchmark.summarise([near, other, unread])
    told = summary.metrics["similarity"]
    assert (told.value, told.n, told.top) == (4.0, 1, 5.0)
    assert summary.notices == ("1 of 3 samples have no verdict that can be read and are left out of similarity",)
    assert "scored_by" not in benchmark.parameters


@pytest.mark.parametrize("rows", ["1\tWhich?\tA\tx\ty\n", "1\tWhat?\tleft\t\t\n"])
def test_a_judge_that_would_be_asked_nothing_is_refused(tmp_path, rows) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(f"index\tquestion\tanswer\tA\tB\n{rows}")
    judge = wrap_model(lambda request: "4", "grader")
    run = partial(evaluate, "random", str(file), judges=[judge], out=tmp_path / "out", html=False)
    if "x" not in rows:
        assert run().runs[0].summary.headline.value == 0.0  # its guess is empty
        return
    with pytest.raises(UsageError, match="no question of rows is graded by a judge"):
        run()


def logic(reply: Output, verdict: str | None, *, recorded: bool = False) -> Record:
    """LogicVista's record of one reply; `verdict` is the judge's, None where it has none."""
    benchmark = open_benchmark("logicvista", Variant(judges=1, recorded_verdicts=recorded))
    cells = {"index": "1", "question": "Which? (A, B, C or D)", "answer": "C"}
    (sample,) = benchmark.samples([Row(0, cells)])

    def answer(request: Request) -> Output:
        if request.to == "model":
            return reply
        return Failure("missing", "no cell") if verdict is None else Generated(verdict)

    return run_flow(benchmark.flow(sample), answer)


@pytest.mark.parametrize(
    ("reply", "verdict", "outcome", "score", "by_rules"),
    [
        ("The answer is C.", "C", "answered", 1.0, 1.0),
        ("The answer is C.", "A", "answered", 0.0, 1.0),
        ("The answer is C.", "None of the options", "no_match", 0.0, 1.0),
        ("The answer is A.", "C", "answered", 1.0, 0.0),
        ("I am sorry, I cannot see it, but it may be the third.", "C", "answered", 1.0, 0.0),
        ("I am sorry, but I cannot help with that.", "Z", "refused", 0.0, 0.0),
    ],
)
def test_the_judge_of_logicvista_outranks_the_rule(
    reply: str, verdict: str, outcome: str, score: float, by_rules: float
) -> None:
    record = logic(Generated(reply), verdict)
    assert (record.outcome, record.score) == (outcome, score)
    assert record.values["by_rules"] == by_rules


def vista(reply: str, verdict: str | None, *, recorded: bool) -> tuple[Record, list[str]]:
    benchmark = open_benchmark("mathvista", Variant(judges=1, recorded_verdicts=recorded))
    cells = {
        "index": "5",
        "question": "Question: How many?",
        "answer": "3",
        "choices": "[]",
        "question_type": "free_form",
        "answer_type": "integer",
        "skills": "[]",
    }
    (sample,) = benchmark.samples([Row(0, cells)])
    asked: list[str] = []

    def answer(request: Request) -> Output:
        asked.append(request.to)
        if request.to == "model":
            return Generated(reply)
        return Failure("missing", "no cell") if verdict is None else Generated(verdict)

    return run_flow(benchmark.flow(sample), answer), asked


def test_a_recorded_verdict_decides_where_a_rule_could_read_too() -> None:
    assert vista("The answer is 3.", "4", recorded=False)[0].score == 1.0
    assert vista("The answer is 3.", "4", recorded=True)[0].score == 0.0
    assert vista("The answer is 4.", "3", recorded=True)[0].score == 1.0
    absent, _ = vista("The answer is 3.", None, recorded=True)
    assert (absent.score, absent.outcome) == (1.0, "answered")


def test_a_refusal_is_handed_to_the_judge_and_stays_one_where_it_finds_nothing() -> None:
    found, asked = vista("I'm sorry, I cannot be sure, there may be three.", "3", recorded=False)
    assert (found.score, asked) == (1.0, ["model", "judge"])
    kept, _ = vista("I'm sorry, I can't help with that.", "none", recorded=False)
    assert (kept.score, kept.outcome) == (0.0, "refused")
