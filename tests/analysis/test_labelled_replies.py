"""Rules, extractors and judges measured by labels, by hand and on labelled replies of models."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from snellen import score
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure
from snellen.core.request import Request
from snellen.stats.intervals import wilson

SCRIPT = Path(__file__).parents[2] / "docs" / "measure_readers.py"
LABELLED = (
    "id,question,A,B,answer,prediction,said,people,graded\n"
    "1,Is ice warm or cold?,warm,cold,B,Freezing.,B,B,1\n"
    '2,Is fire warm or cold?,warm,cold,A,"Sorry, I cannot tell; it burns.",A,(A),1\n'
    "3,Is soup warm or cold?,warm,cold,A,A,,A,right\n"
    "4,Is tea warm or cold?,warm,cold,A,It is wet.,A,Z,0\n"
    "5,Is tea warm or cold?,warm,cold,A,It is hot.,Z,A,1\n"
    "6,Is tea warm or cold?,warm,cold,A,It is hot.,Z,,\n"
)


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    path = tmp_path / "lab.csv"
    path.write_text(LABELLED)
    return str(path)


def test_an_extractor_is_measured_on_what_the_rules_leave(labelled: str) -> None:
    found = score(labelled, extractor="column:said", labels={"answer": "people"}).readings
    assert found is not None
    assert found.labelled_count == 5, "a reply without a label counts in nothing"
    counts = {one.parser: one[2:] for one in found.by_parser}
    # Replies, those that mean an option, read, read right, as labelled.
    assert counts == {
        "rule snellen": (5, 4, 1, 1, 2),
        "said": (4, 3, 3, 2, 2),
        "rule snellen, then said": (5, 4, 4, 3, 3),
    }
    said = found.by_parser[1]
    assert (said.precision, said.recall, said.agreement) == (wilson(2, 3), wilson(2, 3), wilson(2, 4))
    endings = {(one.parser, one.outcome): one[2:] for one in found.by_outcome}
    assert endings["rule snellen", "refused"] == (1, 1, 0)
    assert endings["rule snellen", "unparsed"] == (3, 2, 1)
    assert endings["said", "no_match"] == (1, 1, 0)


def test_rules_alone_and_labels_of_right_and_wrong(labelled: str) -> None:
    alone = score(labelled, labels={"answer": "people"}).readings
    assert alone is not None
    assert [one.parser for one in alone.by_parser] == ["rule snellen"]
    right = score(labelled, extractor="column:said", labels={"right": "graded"}).readings
    assert right is not None
    # Number 4 is counted right and labelled wrong, number 5 the other way round.
    assert right.by_parser[-1][2:] == (5, 4, 4, 3, 3)


class Failing:
    identity = Identity("test", "failing")
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, request: Request) -> str | Failure:
        self.asked += 1
        return "B" if self.asked == 1 else Failure("request", "gone")


def test_replies_that_the_extractor_failed_on_are_not_held_against_it(labelled: str, tmp_path: Path) -> None:
    found = score(labelled, extractor=Failing(), labels={"answer": "people"}, store=tmp_path / "s").readings
    assert found is not None
    assert {one.parser: one.replies for one in found.by_parser} == {"rule snellen": 5, "rule snellen, then failing": 1}


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        ({"meaning": "people"}, "expected one column, of answer"),
        ({"answer": "people", "right": "graded"}, "expected one column, of answer"),
        ({"answer": "none"}, "unknown column"),
        ({"answer": "question"}, "is no answer to its question"),
        ({"right": "question"}, "says neither right nor wrong"),
    ],
)
def test_labels_that_cannot_be_used(labelled: str, labels: dict[str, str], part: str) -> None:
    with pytest.raises(UsageError, match=part):
        score(labelled, labels=labels)


def test_the_command_prints_it_and_writes_it_as_json(labelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["score", labelled, "--extractor", "column:said", "--columns", "label_answer=people"]
    assert main(told) == 0
    assert "replies read as they were labelled, 5 labels" in capsys.readouterr().out
    assert main([*told, "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["readings"]["tables"]
    extractor = {row["measure"]: row["share"] for row in tables[0]["rows"][3:6]}
    assert extractor["precision"] == pytest.approx(200 / 3)


def test_the_tables_of_labelled_replies_fit_a_terminal(
    labelled: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["score", labelled, "--extractor", "column:said", "--columns", "label_answer=people"]) == 0
    assert max(len(line.rstrip()) for line in capsys.readouterr().out.splitlines()) <= 80


@pytest.mark.external_golden("tempcompass")
def test_judges_on_recorded_verdicts(golden: Callable[[str], Path]) -> None:
    file = golden("tempcompass") / "reka-core-20240501_multi-choice.jsonl.gz"
    found = score("tempcompass:task=multi-choice", file, judges=["column:rating"], labels={"right": "rating"}).readings
    assert found is not None
    judge, both = found.by_parser
    assert (judge.parser, judge.agreeing) == ("rating", judge.replies)
    assert both.parser == "rule snellen, then rating"
    assert (both.replies, both.with_answer) == (1580, 965)
    assert both.agreement.low > 0.99


def test_letters_of_several_answers(golden: Callable[[str], Path]) -> None:
    home = golden("logicvista")
    found = score(
        "logicvista",
        home / "model_answers.jsonl.gz",
        data=home / "questions.jsonl.gz",
        columns={"prediction": "raw"},
        where={"model": "LLAVA7B"},
        labels={"answer": "extracted"},
    ).readings
    assert found is not None
    (rules,) = found.by_parser
    assert rules.replies > 400
    assert rules.precision is not None
    assert rules.precision.low > 0.8


class AlwaysA:
    identity = Identity("test", "always-a")
    capabilities = Capabilities()

    def answer(self, request: Request) -> str:
        return "A"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_readers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_script_measures_a_model_on_labelled_sets(golden: Callable[[str], Path], tmp_path: Path) -> None:
    home = golden("blink_val").parent
    sets = dict(_script().extracted(home, AlwaysA(), tmp_path / "s.sqlite", 200))
    blink = next(scored.readings for name, scored in sets.items() if "BLINK" in name)
    rules, reader, both = blink.by_parser
    assert rules.replies == both.replies == 200
    assert reader.replies == rules.replies - rules.parsed
    assert both.correct == rules.correct + reader.correct
    assert 0 < reader.correct < reader.parsed == reader.replies


def test_places_are_labelled_as_right_or_wrong(tmp_path: Path) -> None:
    path = tmp_path / "boxes.csv"
    path.write_text(
        "id,question,bbox,width,height,prediction,right,people\n"
        '1,Where?,"[0, 0, 5, 5]",10,10,"[0, 0, 0.5, 0.5]",1,"[0, 0, 5, 5]"\n'
        '2,Where?,"[0, 0, 5, 5]",10,10,"[0.5, 0.5, 1, 1]",1,"[0, 0, 5, 5]"\n'
    )
    found = score(str(path), labels={"right": "right"}).readings
    assert found is not None
    assert [(one.replies, one.agreement) for one in found.by_parser] == [(2, wilson(1, 2))]
    with pytest.raises(UsageError, match="sample 1 asks for a place: label its replies as right or wrong"):
        score(str(path), labels={"answer": "people"})
