"""Rows of MMBench (arXiv:2307.06281): what a user types, and what must come of it."""

from __future__ import annotations

import io
import json
import sys
import time
import urllib.request
from collections import Counter
from typing import Any

import pytest
from tests.paper_rows.user import PLUM_OR_A, User, encoded_image, words_of

ABILITIES = (
    ("action_recognition", "finegrained_perception (cross-instance)"),
    ("image_scene", "coarse_perception"),
    ("physical_relation", "relation_reasoning"),
    ("future_prediction", "logic_reasoning"),
)
ENGLISH = ("pear", "plum", "fig", "lime")
CHINESE = ("梨", "李子", "无花果", "青柠")


def write_mmbench(
    user: User, name: str, *, count: int = 16, gold: bool = True, fruits: tuple[str, ...] = ENGLISH
) -> None:
    """MMBench's layout; the gold of question `n` is letter `n % 4`, and B is a plum."""
    rows = []
    for at in range(count):
        category, group = ABILITIES[at // 4 % 4]
        rows.append(
            {
                "index": at,
                "question": f"{at}: which one?",
                **{letter: f"{fruit} {at}" for letter, fruit in zip("ABCD", fruits, strict=True)},
                **({"answer": "ABCD"[at % 4]} if gold else {}),
                "category": category,
                "l2-category": group,
                "split": "dev" if gold else "test",
                "image": encoded_image(at),
            }
        )
    user.write_rows(name, rows)


@pytest.mark.row("CircularEval and VanillaEval of one run, requests saved", page="scoring.md")
def test_circular_and_vanilla(user: User) -> None:
    write_mmbench(user, "mm.jsonl")
    user.write("my_model.py", PLUM_OR_A)
    user.run("snellen run --load my_model.py -m PlumOrA -b mmbench --data mm.jsonl --no-html")
    summary = user.report("PlumOrA")["summary"]
    # Only the plums are right in all four rotations; the first questions of four are A at first.
    assert summary["headline"]["value"] == 25.0
    assert summary["metrics"]["vanilla"]["value"] == 50.0
    passes = [len(sample["passes"]) for sample in user.samples("PlumOrA")]
    # A rotation that is wrong ends a question: the plums take four, A two, the others one.
    assert passes == [2, 4, 1, 1] * 4


@pytest.mark.row("Two-step extraction, English and Chinese (Tables 1 and 6)", page="analyses.md")
def test_two_steps(user: User) -> None:
    write_mmbench(user, "mm.jsonl", count=8)
    replies = ["A", "Answer: B", "It is fig 2.", "lime 3", "a thing that grows", "选B", "答案是C", "It grows too."]
    user.write_replies("out.jsonl", replies)
    url = user.serve(lambda body: "Z")
    user.run(
        "snellen score mmbench --circular off --data mm.jsonl --predictions out.jsonl --extractor URL#tiny --out read",
        URL=url,
    )
    found = user.run("snellen analyse steps read --json").json()
    [row] = found["tables"][0]["rows"]
    # Four name a letter, two the words of an option; what the model reads as Z is no option.
    assert (row["1 label"], row["2 content"], row["3 LLM"]) == (50.0, 75.0, 75.0)


@pytest.mark.row("Three levels, dev and test, both languages (Figure 7)", page="analyses.md")
def test_levels_and_languages(user: User) -> None:
    write_mmbench(user, "mm.jsonl")
    # In Chinese nothing is a plum, and the model says A.
    write_mmbench(user, "cn.jsonl", fruits=CHINESE)
    user.write("my_model.py", PLUM_OR_A)
    user.run("snellen run --load my_model.py -m PlumOrA -b mmbench --circular off --data mm.jsonl --no-html --out en")
    user.run(
        "snellen run --load my_model.py -m PlumOrA -b mmbench:lang=cn --circular off --data cn.jsonl --no-html --out cn"
    )
    groups = user.report("PlumOrA", "en")["summary"]["groups"]
    # The golds A and B of each ability are right.
    counts = {
        level: {name: (score["value"], score["n"]) for name, score in groups[level].items()}
        for level in ("l1-category", "l2-category", "category")
    }
    assert counts["l1-category"] == {"perception": (50.0, 8), "reasoning": (50.0, 8)}
    assert counts["l2-category"] == {group: (50.0, 4) for _, group in ABILITIES}
    assert counts["category"] == {ability: (50.0, 4) for ability, _ in ABILITIES}
    found = user.run("snellen analyse languages en cn --json").json()
    [row] = found["tables"][0]["rows"]
    assert (row["English"], row["Chinese"], row["n"]) == (50.0, 25.0, 16)
    assert row["difference"] == -25.0


@pytest.mark.row("Letters, refusals, upper bound, hard cases, radar (Figures 1, 4, 10, Table 4)", page="analyses.md")
def test_letters_refusals_and_abilities(user: User) -> None:
    write_mmbench(user, "mm.jsonl")
    first = ["A"] * 8 + ["I'm sorry, I cannot help with that."] * 4 + ["B"] * 4
    second = ["ABCD"[at % 4] for at in range(12)] + ["A"] * 4
    for name, replies in (("first", first), ("second", second)):
        user.write_replies(f"{name}.jsonl", replies)
        user.run(
            "snellen score mmbench --circular off --data mm.jsonl --predictions NAME.jsonl --name NAME --out read",
            NAME=name,
        )
    letters = user.run("snellen analyse letters read --json").json()["tables"][0]["rows"]
    chosen = {(row["run"].split()[0], row["letter"]): row["chosen"] for row in letters}
    assert [chosen["first", letter] for letter in "ABCD"] == [8, 4, 0, 0]
    assert [chosen["second", letter] for letter in "ABCD"] == [7, 3, 3, 3]
    refusals = user.run("snellen analyse refusals read --json").json()["tables"][0]["rows"]
    # Three of sixteen are right; were the four refusals right too, it would be seven.
    assert refusals[0]["refused"] == 4
    assert (refusals[0]["score"], refusals[0]["upper bound"]) == (100 * 3 / 16, 100 * 7 / 16)
    best, wrong = user.run("snellen analyse abilities read --json").json()["tables"]
    assert [row["A_max"] for row in best["rows"]] == [25.0, 100.0, 100.0, 100.0]
    assert {row["sample"] for row in wrong["rows"]} <= {"13", "14", "15"}
    radar, extremes = user.run("snellen analyse radar read --json").json()["tables"]
    assert len(radar["rows"]) == 4
    first, second = extremes["rows"]
    assert (first["strong"], second["weak"]) == ("–", "–")
    assert first["weak"].startswith("physical relation –50.0")


KNOWS = """
import re

class Text1:
    knows = {3, 7, 11}

    def answer(self, request):
        text = request.text()
        number = int(re.search("([0-9]+): which", text)[1])
        place = number if number in self.knows else number + 1
        fruit = ("pear", "plum", "fig", "lime")[place % 4]
        return re.search("([A-D])[.] " + fruit, text)[1]

class Text2(Text1):
    knows = {3, 7}

class Text3(Text1):
    knows = {3, 14}

class Vision1(Text1):
    knows = set(range(24)) - {5, 13, 20}

class Vision2(Text1):
    knows = set(range(24)) - {5, 13, 22}
"""
"""Models that find the right fruit of some questions, and the same wrong one of the others."""


@pytest.mark.row("Quality control: what text alone answers, what no model answers", page="curate/filter.md")
def test_quality_control(user: User) -> None:
    write_mmbench(user, "mm.jsonl", count=24)
    user.write("models.py", KNOWS)
    found = user.run(
        "snellen curate filter mm.jsonl --load models.py --text-only Text1 --text-only Text2 "
        "--text-only Text3 -m Vision1 -m Vision2 --out checked --json",
        code=1,
    ).json()
    rules = {rule["rule"]: rule for rule in found["rules"]}
    counts = {name: rule["flagged"] for name, rule in rules.items()}
    # By hand: 3 and 7 are known to two of three, 3 to all; 5 and 13 to no model that sees.
    assert (counts["text-majority"], counts["text-all"], counts["vision-none"]) == (2, 1, 2)
    assert (found["kept"], found["flagged"]) == (20, 4)
    # Four rotations are right by chance once in 4 ** 4 times; two of three models, or none of two.
    chance = 4.0**-4
    by_chance = 3 * chance**2 * (1 - chance) + chance**3
    assert rules["text-majority"]["expected"] == pytest.approx(24 * by_chance)
    assert rules["vision-none"]["expected"] == pytest.approx(24 * (1 - chance) ** 2)
    user.run("snellen curate review checked --out reviewed --export queue", code=1)
    queue = (user.folder / "reviewed" / "queue.jsonl").read_text().splitlines()
    assert {json.loads(line)["item"] for line in queue} == {"3", "5", "7", "13"}
    # The models that see say "fig 5" of the fifth.
    user.write_rows(
        "people.jsonl",
        [
            {"item": "3", "by": "ann", "action": "drop", "reason": "not_visual"},
            {"item": "7", "by": "ann", "action": "drop", "reason": "not_visual"},
            {"item": "5", "by": "ann", "action": "fix", "changes": {"answer": "C"}},
            {"item": "13", "by": "ann", "action": "keep"},
        ],
    )
    user.run("snellen curate review checked --out reviewed --import people.jsonl")
    user.run("snellen curate review checked --out reviewed --finish")
    user.run("snellen run --load models.py -m Vision1 -b reviewed/items.jsonl --circular full --no-html")
    # Of 22 that are left, 13 and 20 are wrong.
    assert user.score("Vision1") == pytest.approx(100 * 20 / 22)


@pytest.mark.row("A Chinese version by translation and people", page="curate/translate.md")
def test_a_chinese_version(user: User) -> None:
    write_mmbench(user, "mm.jsonl")
    asked: list[tuple[str, bool]] = []

    def translate(body: dict[str, Any]) -> str:
        """Loses the number of question 3 at first, never translates an option of 5, and calls two
        options of 6 the same."""
        first = words_of({"messages": body["messages"][:1]})
        lines = [line for line in first.splitlines() if line.startswith("{")]
        if not lines:
            return "Here I am."
        texts = json.loads(lines[-1])
        number = texts["Q"].partition(":")[0]
        is_first = len(body["messages"]) == 1
        asked.append((number, is_first))
        reply = {letter: f"{fruit} {number}" for letter, fruit in zip("ABCD", CHINESE, strict=True)}
        reply["Q"] = "哪一个？" if number == "3" and is_first else f"{number}：哪一个？"
        if number == "5":
            reply["B"] = texts["B"]
        if number == "6":
            reply["D"] = reply["C"]
        return json.dumps(reply, ensure_ascii=False)

    url = user.serve(translate)
    found = user.run(
        "snellen curate translate mm.jsonl --language zh -m URL#tiny --out zh --json", URL=url, code=1
    ).json()
    assert (found["items"], found["flagged_wrong"]) == (16, 2)
    assert found["wrong"] == {"untranslated": 1, "same options": 1}
    # Each once, 3 once more, and 5 and 6 three times in all.
    assert Counter(number for number, _ in asked) == {str(at): {3: 2, 5: 3, 6: 3}.get(at, 1) for at in range(16)}
    user.write_rows(
        "people.jsonl",
        [
            {"item": "5", "by": "ann", "action": "fix", "changes": {"B": "李子 5"}},
            {"item": "6", "by": "ann", "action": "fix", "changes": {"D": "青柠 6"}},
        ],
    )
    user.run("snellen curate translate mm.jsonl --language zh --check zh", code=1)
    user.run("snellen curate review zh --out people-zh --import people.jsonl")
    user.run("snellen curate review zh --out people-zh --finish")
    user.run("snellen curate translate mm.jsonl --language zh --check people-zh")
    lines = (user.folder / "people-zh" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    for at, row in enumerate(map(json.loads, lines)):
        assert row["question"] == f"{at}：哪一个？"
        assert [row[letter] for letter in "ABCD"] == [f"{fruit} {at}" for fruit in CHINESE]
        assert row["answer"] == "ABCD"[at % 4]
    user.write("my_model.py", PLUM_OR_A)
    user.run(
        "snellen run --load my_model.py -m PlumOrA -b mm.jsonl -b people-zh/items.jsonl "
        "--circular off --no-html --out runs"
    )
    found = user.run("snellen compare --siblings runs --json").json()
    [pair] = found["pairs"]
    # The four plums alone are found in English and not in Chinese.
    assert (pair["first_score"], pair["second_score"], pair["n"]) == (25.0, 50.0, 16)
    assert (pair["first_better"], pair["second_better"]) == (0, 4)
    assert pair["p_exact"] == 2 * 0.5**4


KNOWS_PERCEPTION = """
import re

class KnowsPerception:
    def answer(self, request):
        text = request.text()
        number = int(re.search("([0-9]+): which", text)[1])
        fruit = ("pear", "plum", "fig", "lime")[number % 4]
        right = re.search("([A-D])[.] " + fruit, text)[1]
        return right if number // 4 % 4 < 2 else "A"
"""
"""Right in two of four abilities in every rotation, and in none of the others."""


@pytest.mark.release
@pytest.mark.row("Hidden answers and a server of evaluation", page="hub.md")
def test_hidden_answers(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mmbench(user, "answers.jsonl", count=48)
    write_mmbench(user, "questions.jsonl", count=48, gold=False)
    # A word beside each answer, which must be nowhere in clear.
    rows = [json.loads(line) for line in (user.folder / "answers.jsonl").read_text().splitlines()]
    user.write_rows("answers.jsonl", [row | {"split": "test", "note": "kept-back"} for row in rows])
    user.write("my_model.py", KNOWS_PERCEPTION)
    monkeypatch.setenv("SNELLEN_HUB_KEY", "a key of the tests, and long enough")
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long password\n"))
    user.run("snellen hub init my-hub --owner olga")
    user.run(
        "snellen hub benchmark my-hub mmbench --data answers.jsonl "
        "--benchmark mmbench:split=test --hidden public=questions.jsonl,share=0.5"
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("another password\n"))
    user.run("snellen hub account my-hub ann")
    token = user.run("snellen hub account my-hub ann --token").text.strip()
    monkeypatch.setenv("SNELLEN_HUB_TOKEN", token)
    url = user.start("snellen hub serve my-hub --port 0", until=r"http://127\S+")
    user.start("snellen hub worker my-hub", until="waiting")

    def get(path: str) -> Any:
        with urllib.request.urlopen(f"{url}/api/v1/benchmarks/mmbench/{path}") as response:
            return response.read()

    published = [json.loads(line) for line in get("data").decode().splitlines()]
    assert len(published) == 48
    assert not any("answer" in row for row in published)
    user.run("snellen run --load my_model.py -m KnowsPerception -b mmbench:split=test --data questions.jsonl --no-html")
    run = user.find_run("KnowsPerception")
    user.run("snellen submit RUN --hub URL --publish", RUN=run, URL=url)
    board = json.loads(get("board"))
    [row] = board["tables"][0]["rows"]
    # Half of 24 public questions; of the 24 private ones nothing is shown before the reveal.
    assert (row["model"], row["evidence"]) == ("KnowsPerception", "submitted")
    assert (row["cells"]["score"]["value"], row["cells"]["score"]["n"]) == (50.0, 24)
    assert len(board["tables"]) == 1
    stored = [path.read_bytes() for path in (user.folder / "my-hub").rglob("*") if path.is_file()]
    assert b"kept-back" in (user.folder / "answers.jsonl").read_bytes()
    assert not any(b"kept-back" in data for data in stored)
    user.run("snellen hub phases my-hub mmbench --reveal now")
    end = time.monotonic() + 60
    while len(tables := json.loads(get("board"))["tables"]) == 1:
        assert time.monotonic() < end, "the worker did not score the private part"
        time.sleep(0.2)
    main, final = tables
    assert final["title"] == "Final scores"
    for table, count in ((main, 48), (final, 24)):
        [row] = table["rows"]
        assert (row["cells"]["score"]["value"], row["cells"]["score"]["n"]) == (50.0, count)
