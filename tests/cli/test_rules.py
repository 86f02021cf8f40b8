"""`--rule`: the same replies under other rules, for scoring and for runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.api.scoring import score_by_rules
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.data.predictions import read_predictions
from snellen.scoring.disagreements import disagreements

QUESTION = {"question": "Which colour?", "A": "red", "B": "green", "C": "blue", "D": "yellow"}
REPLIES = {
    "1": ("B", "B"),
    "2": ("The answer is blue", "C"),
    "3": ("I think B is right because the sky is over there", "B"),
    "4": ("Failed to obtain answer via API.", "A"),
}


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """One file with questions, golds and replies."""
    path = tmp_path / "m_own.json"
    rows = [{"index": name, **QUESTION, "answer": gold, "prediction": reply} for name, (reply, gold) in REPLIES.items()]
    path.write_text(json.dumps(rows))
    return path


def said(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_self_contained_predictions_need_no_benchmark(alone: Path, capsys) -> None:
    code, out, _ = said(capsys, "score", alone, "--json")
    card = json.loads(out)
    assert (code, card["n"], card["total"]) == (1, 3, 4)
    assert card["headline"]["value"] == pytest.approx(100.0)
    assert card["outcomes"]["failed"] == 1
    assert "1 of 4 samples failed" in card["notices"][0]


def test_all_rules_side_by_side_with_every_disagreement(alone: Path, capsys) -> None:
    code, out, _ = said(capsys, "score", alone, "--rule", "all", "--json")
    card = json.loads(out)
    assert code == 1
    assert {rule: one["headline"]["value"] for rule, one in card["rules"].items()} == {
        "snellen": pytest.approx(100.0),
        "vlmevalkit": pytest.approx(25.0),
    }
    assert card["rules"]["vlmevalkit"]["parameters"] == {"rule": "vlmevalkit", "rule_commit": "e8e78f05"}
    found = {one["id"]: one for one in card["disagreements"]}
    assert set(found) == {"2", "3"}
    assert found["2"]["reply"] == "The answer is blue"
    assert found["2"]["readings"]["vlmevalkit"] == {"value": "B", "how": "vlmevalkit: answer is", "correct": False}
    assert found["2"]["readings"]["snellen"]["value"] == "C"
    assert found["3"]["readings"]["vlmevalkit"]["how"] == "unparsed"
    _, table, _ = said(capsys, "score", alone, "--rule", "all")
    assert "2 replies are read differently" in table


def test_rotations_that_only_one_rule_reached_are_not_compared(alone: Path) -> None:
    rows = json.loads(alone.read_text())
    turned = {
        **rows[1],
        "index": str(1_000_002),
        "A": "yellow",
        "B": "red",
        "C": "green",
        "D": "blue",
        "answer": "D",
        "prediction": "D",
    }
    alone.write_text(json.dumps([*rows, turned]))
    scored = score_by_rules(str(alone), variant=Variant(circular="early"))
    found = disagreements({rule: one.records for rule, one in scored.items()})
    assert [one.id for one in found] == ["2", "3"]
    assert scored["snellen"].records[1].passes[1].row == "1000002"


def test_refuses_official_rule_without_a_published_script(alone: Path, capsys) -> None:
    code, _, err = said(capsys, "score", alone, "--rule", "official")
    assert (code, "only snellen, vlmevalkit" in err) == (2, True)
    with pytest.raises(UsageError, match="expected one of snellen, vlmevalkit, lmms-eval, official"):
        score(str(alone), variant=Variant(rule="mine"))


def test_a_run_is_read_again_by_another_rule_without_asking(tmp_path: Path, alone: Path) -> None:
    data = tmp_path / "questions.tsv"
    lines = [["index", *QUESTION, "answer"]]
    lines += [
        [name, f"Which colour has {name}?", *list(QUESTION.values())[1:], gold] for name, (_, gold) in REPLIES.items()
    ]
    data.write_text("".join("\t".join(line) + "\n" for line in lines))
    model = f"replay/{alone}"
    (ours,) = evaluate([model], [str(data)], out=tmp_path / "o", html=False).runs
    (theirs,) = evaluate([model], [str(data)], out=tmp_path / "o", variant=Variant(rule="vlmevalkit"), html=False).runs
    assert ours.path != theirs.path
    assert theirs.info.config.parameters["rule"] == "vlmevalkit"
    assert benchmark_of(theirs).parameters == theirs.info.config.parameters
    assert (ours.info.counts.reused, theirs.info.counts.reused) == (0, 3)
    assert ours.report().summary.headline.value == pytest.approx(100.0)
    # The failed request is left out by our rule, and wrong by theirs.
    assert theirs.report().summary.headline.value == pytest.approx(25.0)


def test_a_table_of_foreign_rows_scores_the_same_after_conversion(alone: Path, capsys) -> None:
    xlsx = alone.with_suffix(".xlsx")
    from openpyxl import Workbook

    rows = json.loads(alone.read_text())
    book = Workbook()
    for row in (list(rows[0]), *(list(one.values()) for one in rows)):
        book.active.append(row)
    book.save(xlsx)
    target = alone.with_suffix(".tsv")
    assert said(capsys, "data", "convert", xlsx, target)[0] == 0
    code, out, _ = said(capsys, "score", target, "--json")
    card = json.loads(out)
    assert (code, card["n"], card["outcomes"]["failed"]) == (1, 3, 1)


@pytest.mark.external_golden("mme_lavin")
def test_golden_mme_readings_by_rule(golden) -> None:
    path = golden("mme_lavin") / "predictions.csv"
    official = score("mme", path, variant=Variant(rule="official")).summary
    assert official.metrics["perception"].value == pytest.approx(963.6114, abs=1e-4)
    assert official.metrics["cognition"].value == pytest.approx(249.6429, abs=1e-4)
    assert score("mme", path, variant=Variant(rule="snellen")).benchmark.parameters == {"reading": "official"}


def test_seed_bench_is_read_by_rules_where_it_generates(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rows = [("1", "A"), ("2", "A."), ("v3", "The answer is blue")]
    path.write_text(
        "".join(json.dumps({"question_id": name, "prediction": reply, "gt_answer": "A"}) + "\n" for name, reply in rows)
    )
    spec = "seedbench:version=1,protocol=generate"
    found = score_by_rules(spec, path)
    assert {rule: one.summary.outcomes["answered"] for rule, one in found.items()} == {
        "snellen": 2,
        "vlmevalkit": 3,
        "official": 1,
    }
    with pytest.raises(UsageError, match="seedbench cannot be read by the rule 'official'"):
        score("seedbench:version=1,protocol=ranking", path, variant=Variant(rule="official"))
    with pytest.raises(UsageError, match="with protocol=generate"):
        score("seedbench:version=1,protocol=ranking,shots=2", path)


MME = """index,image,question,category,answer,prediction
1,a.jpg,Is there a cat?,existence,Yes,I think yes
2,a.jpg,Is there a dog?,existence,No,I think no
"""
POPE = """index,image,question,category,answer,prediction
1,a.jpg,Is there a cat?,random,Yes,I see one
2,a.jpg,Is there a dog?,random,No,There is no dog
"""
SEED = """question_id,question,A,B,C,D,answer,prediction
1,Who?,Ann,Bob,Cy,Di,B,B
2,Who?,Ann,Bob,Cy,Di,C,The answer is C
"""


@pytest.mark.parametrize(
    ("spec", "rows"),
    [("mme", MME), ("mme:reading=word", MME), ("pope", POPE), ("pope:reading=official", POPE), ("seedbench", SEED)],
)
def test_the_default_is_the_rule_snellen(tmp_path: Path, spec: str, rows: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(rows)
    plain = score(spec, path)
    asked = score(spec, path, variant=Variant(rule="snellen"))
    row = score_by_rules(spec, path)["snellen"]
    for one in (asked, row):
        assert one.benchmark.parameters == plain.benchmark.parameters
        assert one.summary == plain.summary


def test_a_release_of_vlmevalkit(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        "index,question,A,B,answer,prediction\n1,Who?,Ann,Bob,B,B is right because nobody else is in this picture\n"
    )
    read = {rule: score("ai2d", path, variant=Variant(rule=rule)) for rule in ("vlmevalkit", "vlmevalkit@2025-04")}
    assert [one.summary.headline.value for one in read.values()] == [0.0, 100.0]
    assert read["vlmevalkit@2025-04"].benchmark.parameters["rule"] == "vlmevalkit@2025-04"


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("ai2d", "vlmevalkit@2023-01", "expected a month from 2024-02 to 2026-08"),
        ("ai2d", "vlmevalkit@spring", "expected a month"),
        ("ai2d", "snellen@2025-04", "expected one of snellen, vlmevalkit, lmms-eval, official"),
        ("mvbench", "vlmevalkit@2025-04", "known as of one release, commit e8e78f05"),
        ("mme", "vlmevalkit@2025-04", "known as of one release"),
        ("mathvista", "vlmevalkit@2025-04", "only snellen, official"),
        ("dynamath", "vlmevalkit", "cannot be read by the rule 'vlmevalkit', only snellen"),
    ],
)
def test_a_release_that_is_not_known(alone: Path, name: str, rule: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        score(name, alone, variant=Variant(rule=rule))


def test_the_command_takes_a_release(alone: Path, capsys) -> None:
    code, out, _ = said(capsys, "score", alone, "--rule", "vlmevalkit@2026-02", "--json")
    assert (code, json.loads(out)["headline"]["value"]) == (0, pytest.approx(50.0))
    with pytest.raises(SystemExit, match="2"):
        main(["score", str(alone), "--rule", "mine"])
    assert "choose from snellen, vlmevalkit, lmms-eval, official" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "gold", "reply", "right"),
    [
        ("video-mme", "B", "Bob holds A", True),
        ("worldsense", "B", "Bob holds A", True),
        ("mme-realworld", "A", " ", True),
        ("mvbench", "C", " ", True),
        ("mlvu", "A", "(A) is wrong: it is C", True),
        ("ai2d", "A", "(A) is wrong: it is C", False),
        ("SEEDBench_IMG", "A", "The answer is ant", True),
    ],
)
def test_vlmevalkit_reads_by_the_benchmark(tmp_path: Path, name: str, gold: str, reply: str, right: bool) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        f'index,question,A,B,C,D,answer,prediction\n1,Who?,Ann,Bob,Cy,Di,{gold},"{reply}"\n2,Who?,Ann,Bob,Cy,Di,A,D\n'
    )
    found = score(name, path, variant=Variant(rule="vlmevalkit"))
    assert [one.score for one in found.records] == [float(right), 0.0]


def test_rules_that_read_alike_may_judge_differently(tmp_path: Path, capsys) -> None:
    path = tmp_path / "gqa.csv"
    path.write_text("index,question,answer,prediction\n1,Is it day?,yes,Yes.\n2,Who?,girl,boy\n")
    _, table, _ = said(capsys, "score", "gqa", "--predictions", path, "--rule", "all")
    assert "Yes. (wrong)" in table
    assert "1 reply is read alike, judged differently" in table
    _, out, _ = said(capsys, "score", "gqa", "--predictions", path, "--rule", "all", "--json")
    (found,) = json.loads(out)["disagreements"]
    assert (found["id"], found["readings"]["vlmevalkit"]["correct"]) == ("1", False)
    path.write_text("index,question,answer,prediction\n1,Is it day?,yes,yes\n")
    _, table, _ = said(capsys, "score", "gqa", "--predictions", path, "--rule", "all")
    assert "the rules read and judge every reply alike" in table


def test_parts_of_a_point_are_verdicts_too(tmp_path: Path) -> None:
    path = tmp_path / "textvqa.csv"
    golds = json.dumps(["2012", "2012", "2012.", "3", "3", "3", "3", "3", "3", "3"])
    path.write_text('index,question,answers,prediction\n1,When?,"' + golds.replace('"', '""') + '",2012\n')
    scored = score_by_rules("textvqa", path)
    (found,) = disagreements({rule: one.records for rule, one in scored.items()})
    assert found.is_parsed_alike
    assert found.readings["snellen"].credit == pytest.approx(0.9)
    assert found.readings["vlmevalkit"].credit == pytest.approx(0.6)


@pytest.mark.parametrize("rule", ["snellen", "official"])
def test_math_vision_reads_raw_replies(tmp_path: Path, rule: str) -> None:
    path = tmp_path / "mv.csv"
    path.write_text(
        "id,question,answer,level,subject,prediction\n"
        '1,What is 6 x 7?,42,1,arithmetic,"We multiply.\nSo the answer is \\boxed{42}."\n'
    )
    assert score("mathvision", path, variant=Variant(rule=rule)).summary.headline.value == 100.0


CHOICE = """index,question,A,B,answer,prediction
1,Who?,Ann,Bob,B,B
2,Who?,Ann,Bob,A,It is Ann.
3,Who?,Ann,Bob,A,
4,Who?,Ann,Bob,A,Failed to obtain answer via API.
"""


@pytest.mark.parametrize(
    ("spec", "rows", "circular"),
    [
        ("", CHOICE, None),
        ("", CHOICE, "early"),
        ("ai2d", CHOICE, None),
        ("mme", MME, None),
        ("pope", POPE, None),
        ("seedbench", SEED, None),
        ("hallusionbench", MME.replace("index", "question_id").replace("existence", "VD"), None),
    ],
)
def test_rules_that_share_their_reading_score_as_each_by_itself(tmp_path: Path, spec: str, rows: str, circular) -> None:
    path = tmp_path / "r.csv"
    path.write_text(rows)
    inputs = (spec, path) if spec else (str(path),)
    together = score_by_rules(*inputs, variant=Variant(circular=circular))
    assert len(together) > 1
    for rule, one in together.items():
        alone = score(*inputs, judges=(), variant=Variant(rule=rule, circular=circular))
        assert (one.summary, one.records, one.warnings) == (alone.summary, alone.records, alone.warnings)
        assert (one.run, one.data, one.digest) == (alone.run, alone.data, alone.digest)


def test_a_further_rule_reads_no_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = tmp_path / "q.csv", tmp_path / "r.csv"
    data.write_text("index,question,A,B,answer\n1,Who?,Ann,Bob,B\n2,Where?,Ann,Bob,A\n")
    path.write_text("index,prediction\n1,B\n2,Ann\n")
    read: list[str] = []
    monkeypatch.setattr(
        "snellen.api._scoring_steps.read_predictions",
        lambda path, **options: read.append(str(path)) or read_predictions(path, **options),
    )
    found = score_by_rules(str(data), path)
    assert (list(found), read) == (["snellen", "vlmevalkit"], [str(path)])
    first, second = (one.benchmark.samples(one.benchmark.open()) for one in found.values())
    assert all(one is other for one, other in zip(first, second, strict=True))
