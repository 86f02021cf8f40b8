"""`snellen why`: two real runs that differ in one known thing, and the split that finds it."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from made_runs import Reply, Told, by_id, rows, run, write

import snellen
from snellen.analysis.causes.why import DifferenceSplit
from snellen.api.why import explain
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.request import Media, Request
from snellen.report.documents.why import why_document
from snellen.report.writers import markdown
from snellen.store.runs import RunFolder

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"


def lot(request: Request, of: str) -> str:
    """One of the valid replies, always the same for the same text."""
    draw = random.Random(hashlib.sha256(of.encode()).digest())
    return draw.choice(getattr(request, "choices", ()) or ("A",))


def model(reply: Reply, **facts: str) -> Told:
    return Told("model", reply, facts)


def eyechart(reply: Reply, out: Path, name: str = "eyechart", **how: Any) -> RunFolder:
    results = snellen.evaluate([model(reply)], [name], out=out, html=False, limit=200, variant=snellen.Variant(**how))
    return results.runs[0]


def split(first: RunFolder, second: RunFolder, most: int = 2) -> DifferenceSplit:
    found = explain(first.path, second.path, examples=most).why
    told = [one.report().summary.headline.value for one in (first, second)]
    assert [found.first_score, found.second_score] == pytest.approx(told)
    assert sum(one.points for one in found.shares) == pytest.approx(found.observed.difference)
    return found


def causes(found: DifferenceSplit) -> set[str]:
    return {" or ".join(one.causes) for one in found.shares}


def names(of: Iterable[Any]) -> set[str]:
    return {one.name for one in of}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "mine.tsv", rows(40))


def test_cause_data(data: Path, tmp_path: Path) -> None:
    """Five gold answers are corrected, and three questions dropped."""
    table = rows(40)
    for number in (1, 3, 5, 7, 9):
        table[number]["answer"] = "A"
    (tmp_path / "new").mkdir()
    newer = write(tmp_path / "new" / "mine.tsv", table[:37])
    first = run(model(by_id({})), data, tmp_path / "out")
    second = run(model(by_id({})), newer, tmp_path / "out")
    found = split(first, second)
    (share,) = found.shares
    assert (share.causes, share.gained, share.lost, share.apart) == (("data",), 5, 0, 3)
    # 20 of 40 right, then 24 of 37: 19 of the 37 that stayed, and the five.
    assert found.observed.difference == pytest.approx(100 * (24 / 37 - 20 / 40))
    assert share.examples[0].detail == "the gold answer was 'B', and is 'A'"
    assert names(found.settings) == {"data"}


def test_cause_media(tmp_path: Path) -> None:
    """The same questions with black pictures."""

    def by_picture(request: Request) -> str:
        shown = [part.digest for one in request.messages for part in one.parts if isinstance(part, Media)]
        return lot(request, "".join(shown) + request.ref.sample)

    first = eyechart(by_picture, tmp_path)
    second = eyechart(by_picture, tmp_path, control="black")
    found = split(first, second)
    assert causes(found) == {"media"}
    assert found.shares[0].gained + found.shares[0].lost > 20
    assert "image" in found.shares[0].examples[0].detail
    assert names(found.settings) == {"control"}


def test_cause_prompt(tmp_path: Path) -> None:
    """The same questions in the words of another tool."""

    def by_words(request: Request) -> str:
        return lot(request, request.messages[0].text())

    first = eyechart(by_words, tmp_path)
    second = eyechart(by_words, tmp_path, "eyechart:prompt=vlmevalkit")
    found = split(first, second)
    assert causes(found) == {"prompt"}
    detail = found.shares[0].examples[0].detail
    assert "“" in detail
    assert names(found.settings) == {"prompt", "prompt_digest"}


def test_the_token_limit(data: Path, tmp_path: Path) -> None:
    """Replies that come to the point in their last word, cut short."""

    def wordy(request: Request) -> snellen.Generated:
        words = f"I have looked at it for long and say {'AB'[int(request.ref.sample) % 2]}".split()
        most = request.settings.max_new_tokens
        return snellen.Generated(" ".join(words[:most]), "length" if most < len(words) else "stop")

    whole = run(model(wordy), data, tmp_path, variant=snellen.Variant(max_new_tokens=64))
    short = run(model(wordy), data, tmp_path, variant=snellen.Variant(max_new_tokens=6))
    found = split(whole, short)
    (share,) = found.shares
    assert (share.causes, share.points, share.lost) == (("decoding",), -100.0, 40)
    assert share.examples[0].detail == "the second run's reply was cut at the token limit"
    assert names(found.settings) == {"max_new_tokens"}


def test_the_rule_that_reads_replies(tmp_path: Path) -> None:
    """The same replies; VLMEvalKit's rule reads the b of "blue" as an option."""
    table = rows(30, golds="C")
    for number, row in enumerate(table):
        if number % 3 == 0:
            row.update(A="green", B="red", C="blue")
    data = write(tmp_path / "mine.tsv", table)

    def says(request: Request) -> str:
        return f"The answer is {'blue' if int(request.ref.sample) % 3 == 0 else 'green'}"

    first = run(model(says), data, tmp_path)
    second = run(model(says), data, tmp_path, variant=snellen.Variant(rule="vlmevalkit"))
    assert second.info.counts.reused == 30
    found = split(first, second)
    (share,) = found.shares
    assert (share.causes, share.lost, share.gained) == (("extraction",), 10, 0)
    example = share.examples[0]
    assert example.first_reply == example.second_reply == "The answer is blue"
    assert (example.first_answer, example.second_answer) == ("C", "B")
    assert "vlmevalkit: answer is" in example.detail
    assert names(found.settings) == {"failures", "rule", "rule_commit"}


@pytest.mark.parametrize("policy", ["exclude", "count-wrong"])
def test_cause_failures(data: Path, tmp_path: Path, policy: str) -> None:
    """Seven questions the model was right about get no answer."""

    def failing(request: Request) -> snellen.Failure | str:
        number = int(request.ref.sample)
        return snellen.Failure("timeout", "gone") if number % 6 == 0 else "A"

    how = snellen.Variant(failures=policy)
    first = run(model(by_id({})), data, tmp_path / "a", variant=how)
    second = run(model(failing), data, tmp_path / "b", variant=how)
    found = split(first, second)
    (share,) = found.shares
    assert share.causes == ("failures",)
    right = 13 / 33 if policy == "exclude" else 13 / 40
    assert found.observed.difference == pytest.approx(100 * (right - 0.5))
    assert share.apart == (7 if policy == "exclude" else 0)
    assert share.examples[0].detail.startswith("failed in the second run")
    assert found.settings == ()


def test_chance(data: Path, tmp_path: Path) -> None:
    """One model that samples, asked twice: the same requests, other replies."""

    def sampling(seed: int) -> Reply:
        draw = random.Random(seed)
        return lambda request: draw.choice("ABC")

    hot = {"temperature": "0.7"}
    first = run(Told("model", sampling(1), hot), data, tmp_path / "a")
    second = run(Told("model", sampling(2), hot), data, tmp_path / "b")
    found = split(first, second)
    assert causes(found) == {"chance"}
    assert found.shares[0].examples[0].detail == "the same request, another reply"
    assert found.settings == ()
    assert found.shares[0].interval is not None
    assert found.shares[0].interval.low < 0 < found.shares[0].interval.high


def test_the_seed_of_a_model_is_chance_and_its_temperature_is_decoding(data: Path, tmp_path: Path) -> None:
    def told(value: str, **facts: str) -> RunFolder:
        reply: Reply = lambda request: lot(request, value + request.ref.sample)  # noqa: E731
        return run(Told("model", reply, facts), data, tmp_path)

    seed = split(told("x", seed="1"), told("y", seed="2"))
    assert causes(seed) == {"chance"}
    warm = split(told("x", temperature="0"), told("y", temperature="1"))
    assert causes(warm) == {"decoding"}
    assert warm.shares[0].examples[0].detail == "other settings (temperature)"
    sized = split(told("x", image_size="448"), told("y", image_size="896"))
    assert causes(sized) == {"media"}
    typed = split(told("x", dtype="float32"), told("y", dtype="bfloat16"))
    assert causes(typed) == {"model"}
    assert names(typed.settings) == {"model dtype"}


def test_cause_judge(tmp_path: Path) -> None:
    """The same replies, graded by a milder judge."""
    with (LAYOUTS / "mm-vet.tsv").open(newline="") as stream:
        table = list(csv.DictReader(stream, delimiter="\t"))
    file = write(tmp_path / "mm-vet.tsv", table)
    runs = [
        snellen.evaluate(
            [model(lambda _: "a reply")],
            ["mm-vet"],
            out=tmp_path / "out",
            html=False,
            variant=snellen.Variant(data=str(file)),
            judges=[Told(name, lambda _, grade=grade: grade)],  # type: ignore[misc]
        ).runs[0]
        for name, grade in (("strict", "0.2"), ("mild", "0.9"))
    ]
    found = split(*runs)
    (share,) = found.shares
    assert (share.causes, share.gained) == (("judge",), len(table))
    assert "graded" in share.examples[0].detail
    assert "judge" in names(found.settings)


def test_circular_evaluation_is_another_way_of_scoring(data: Path, tmp_path: Path) -> None:
    first = run(model(by_id({})), data, tmp_path)
    second = run(model(by_id({})), data, tmp_path, variant=snellen.Variant(circular="early"))
    found = split(first, second)
    assert causes(found) == {"scoring"}
    assert found.shares[0].examples[0].detail.endswith("passes, equal as far as both go")


def test_several_causes_sum_to_the_difference(data: Path, tmp_path: Path) -> None:
    """Corrected gold, dropped questions, failures and another model at once."""
    table = rows(40)
    for number in (1, 3):
        table[number]["answer"] = "A"
    (tmp_path / "new").mkdir()
    newer = write(tmp_path / "new" / "mine.tsv", table[4:] + table[:2])

    def other(request: Request) -> snellen.Failure | str:
        number = int(request.ref.sample)
        return snellen.Failure("timeout", "gone") if number > 35 else "AB"[number % 3 == 0]

    first = run(Told("one", by_id({})), data, tmp_path / "out")
    second = run(Told("two", other), newer, tmp_path / "out")
    found = split(first, second)
    assert causes(found) == {"data", "failures", "model"}


def test_a_run_and_imported_predictions(data: Path, tmp_path: Path) -> None:
    first = run(model(by_id({})), data, tmp_path / "out")
    file = tmp_path / "theirs.csv"
    lines = [f"{number},{'AB'[number % 2]}" for number in range(38)]
    file.write_text("index,prediction\n" + "\n".join([*lines, "99,A"]) + "\n")
    found, warnings, *_ = explain(first.path, file)
    assert sum(one.points for one in found.shares) == pytest.approx(found.observed.difference)
    assert {one.causes: one.gained for one in found.shares} == {
        ("media", "prompt", "decoding", "model"): 19,
        ("failures",): 0,
    }
    assert "holds replies alone" in found.notices[0]
    assert "'99'" in warnings[0]
    back = explain(file, first.path).why
    assert back.observed.difference == pytest.approx(-found.observed.difference)


def test_why_command_prints_three_formats(data: Path, tmp_path: Path, capsys) -> None:
    first = run(Told("one", by_id({})), data, tmp_path)
    second = run(Told("two", by_id({}, "B")), data, tmp_path)
    assert main(["why", str(first.path), str(second.path)]) == 0
    table = capsys.readouterr().out
    assert "mine: one 50.0, two 50.0: 0.0 points" in table
    assert "the model" in table
    assert "+20 –20" in table
    assert main(["why", str(first.path), str(second.path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["shares"][0]["causes"] == ["model"]
    assert main(["why", str(first.path), str(second.path), "--format", "markdown"]) == 0
    assert capsys.readouterr().out == markdown.write(why_document(explain(first.path, second.path).why))


def test_reports_headline_that_is_not_a_mean(tmp_path: Path) -> None:
    runs = [
        snellen.evaluate(
            [Told(name, lambda _, said=said: said)],
            ["pope"],
            out=tmp_path,
            html=False,  # type: ignore[misc]
            variant=snellen.Variant(data=str(LAYOUTS / "pope.tsv")),
        ).runs[0]
        for name, said in (("yes", "Yes"), ("no", "No"))
    ]
    found = explain(runs[0].path, runs[1].path).why
    assert sum(one.points for one in found.shares) == pytest.approx(found.observed.difference)
    assert any("the headline f1 is" in notice for notice in found.notices)


def test_mistakes_give_one_sentence(data: Path, tmp_path: Path, capsys) -> None:
    first = run(model(by_id({})), data, tmp_path / "out")
    other = run(
        model(by_id({})),
        write(tmp_path / "o.tsv", [{**row, "index": f"x{row['index']}"} for row in rows(5)]),
        tmp_path / "out",
    )
    with pytest.raises(UsageError, match="share no sample"):
        explain(first.path, other.path)
    with pytest.raises(UsageError, match="holds 2 runs"):
        explain(tmp_path / "out", first.path)
    with pytest.raises(UsageError, match="no such file or folder"):
        explain(tmp_path / "a.csv", tmp_path / "b.csv")
    assert main(["why", str(first.path), str(tmp_path / "nothing.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_benchmarks_that_ask_other_things_are_refused(data: Path, tmp_path: Path, capsys) -> None:
    table = rows(40)
    for row in table:
        row["question"] = f"Something else: {row['question']}"
    other = write(tmp_path / "other.tsv", table)
    first = run(model(by_id({})), data, tmp_path / "out")
    second = run(model(by_id({})), other, tmp_path / "out")
    assert main(["why", str(first.path), str(second.path)]) == 2
    assert "give two runs of the same benchmark" in capsys.readouterr().err


def test_records_that_differ_name_their_fields(tmp_path: Path) -> None:
    gold = {"date": "2024-09-27", "total": "4.20", "menu": [{"name": "tea"}, {"name": "cake"}]}
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"id": "1", "question": "Which fields?", "answer": json.dumps(gold)})
    )
    described = tmp_path / "records.toml"
    described.write_text('data = "rows.jsonl"\nkind = "fields"\n')
    other = {**gold, "total": "4.50", "menu": [{"name": "tea"}], "tax": "1"}
    first, second = (
        run(Told(name, lambda request, said=said: json.dumps(said), {}), described, tmp_path / "out")
        for name, said in (("one", gold), ("two", other))
    )
    [example] = [sample for share in split(first, second).shares for sample in share.examples]
    assert example.detail.endswith(
        "total right in the first run, wrong ('4.50') in the second; "
        "menu[].name 2 right in the first run, missing, right in the second; "
        "tax not there in the first run, invented ('1') in the second"
    )
