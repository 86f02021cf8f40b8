"""Translating a data set with a model behind a server: replies of every kind, and faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eyechart_zh
import pytest
from PIL import Image
from scripted_translator import ScriptedTranslator, translating

from snellen.cli import main
from snellen.data_sets.decisions import Decision, read_decisions
from snellen.data_sets.items import Item
from snellen.data_sets.step import read_step
from snellen_curate.open_data import open_items

WORDS = {
    "Which colour is the car?": "汽车是什么颜色？",
    "red": "红色",
    "blue": "蓝色",
    "How many of the 12 birds fly?": "12 只鸟中有几只在飞？",
    "all of them": "全部",
    "none of them": "一只也没有",
    "Is it raining?": "在下雨吗？",
    "Which side is it on?": "它在哪一侧？",
    "on the left": "在左边",
    "on the right": "在右边",
    "7": "7",
    "8": "8",
    "Look closely.": "请仔细看。",
    "Name the colour.": "说出颜色。",
    "crimson": "深红",
    "The Globe Theatre stands where?": "Globe Theatre 在哪里？",
    "Yes": "是",
    "No": "否",
}
CAR, BIRDS, SIDE = ("Which colour is the car?", "How many of the 12 birds fly?", "Which side is it on?")
ROWS: list[dict[str, Any]] = [
    {
        "index": 1,
        "question": CAR,
        "A": "red",
        "B": "blue",
        "answer": "B",
        "hint": "Look closely.",
        "category": "colour",
        "source": "drawn",
        "license": "CC0-1.0",
    },
    {"index": 2, "question": BIRDS, "A": "all of them", "B": "none of them", "answer": "A"},
    {"index": 3, "question": "Is it raining?", "answer": "No"},
    {"index": 4, "question": SIDE, "A": "on the left", "B": "on the right", "answer": "A"},
    {"index": 5, "question": "7", "A": "7", "B": "8", "answer": "A"},
]


@pytest.fixture
def strong() -> Iterator[ScriptedTranslator]:
    with translating(WORDS.__getitem__) as scripted:
        yield scripted


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "small.jsonl", ROWS)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def translate(data: Path | str, model: str, out: Path, *flags: str) -> int:
    return main(["curate", "translate", str(data), "--language", "zh", "-m", model, "--out", str(out), *flags])


def items(out: Path) -> dict[str, Item]:
    return {item.id: item for item in open_items(out)}


def decisions(out: Path) -> dict[str, Decision]:
    return {each.item: each for each in read_decisions(out)}


def test_a_sibling_has_the_same_ids_keys_and_cells(
    data: Path, strong: ScriptedTranslator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "small-zh"
    assert translate(data, strong.model, out) == 0
    before, after = {item.id: item for item in open_items(data)}, items(out)
    assert list(after) == list(before)
    for name, item in after.items():
        for part in ("id", "kind", "gold", "groups"):
            assert getattr(item.sample, part) == getattr(before[name].sample, part)
        assert item.cells == {**before[name].cells, "language": "zh"}
    assert after["1"].sample.question == "汽车是什么颜色？"
    assert after["1"].sample.hint == "请仔细看。"
    assert after["1"].sample.options == {"A": "红色", "B": "蓝色"}
    assert {name: each.action for name, each in decisions(out).items()} == {
        "1": "fix",
        "2": "fix",
        "3": "fix",
        "4": "fix",
        "5": "keep",
    }
    assert decisions(out)["1"].changes["A"] == ("red", "红色")
    info = read_step(out)
    assert info.status == "complete"
    assert info.counts["sibling of"] == "small"
    assert [source.path for source in info.sources] == [str(data)]
    # Item 5 has nothing to translate: four requests. The prompt is that of the paper.
    assert len(strong.asked) == 4
    assert strong.asked[0][0]["content"].startswith("你是一个翻译助手")
    # Another language needs another folder.
    assert translate(data, strong.model, out, "--language", "ja") == 2
    assert "was made with to 'zh', now it is 'ja'" in capsys.readouterr().err
    # The same command again asks nothing and changes nothing.
    written = (out / "items.jsonl").read_bytes()
    assert translate(data, strong.model, out) == 0
    assert len(strong.asked) == 4
    assert (out / "items.jsonl").read_bytes() == written


SLIPS: list[tuple[str, list[dict[str, str] | str], str]] = [
    (BIRDS, [{"Q": "21 只鸟中有几只在飞？", "A": "全部", "B": "一只也没有"}], "12 is missing"),
    (CAR, ["I cannot do that."], "it holds no JSON"),
    (CAR, ["{'Q': '汽车'"], "it holds no JSON"),
    (SIDE, [{"Q": "它在哪一侧？", "A": "在左边"}], "missing required field `B`"),
    (SIDE, [{"Q": "它在哪一侧？", "A": "在左边", "B": "在右边", "C": "在中间"}], "unknown field `C`"),
    (SIDE, [{"Q": "它在哪一侧？", "A": "在右边", "B": "在左边"}], "says what B says"),
    (SIDE, [{"Q": "它在哪一侧？", "A": "在左边", "B": "在左边"}], "A and B are both"),
    (SIDE, [{"Q": "Which side is it on?", "A": "在左边", "B": "在右边"}], "is not translated"),
    (SIDE, [{"Q": "它在哪一侧？", "A": "A. 在左边", "B": "B. 在右边"}], "is no part of the text"),
    (SIDE, ['{"Q": "它在哪一侧？", "A": 1, "B": "在右边"}'], "Expected `str`"),
]


@pytest.mark.parametrize(("question", "replies", "message"), SLIPS, ids=lambda value: str(value)[:40])
def test_model_gets_the_mistakes_to_correct(
    question: str,
    replies: list[dict[str, str] | str],
    message: str,
    data: Path,
    strong: ScriptedTranslator,
    tmp_path: Path,
) -> None:
    strong.slips = {question: list(replies)}
    out = tmp_path / "out"
    assert translate(data, strong.model, out) == 0
    [retry] = [asked for asked in strong.asked if len(asked) == 3]
    assert message in retry[2]["content"]
    assert not [each for each in decisions(out).values() if each.action == "flag"]
    name = next(str(row["index"]) for row in ROWS if row["question"] == question)
    assert items(out)[name].sample.question == WORDS[question]
    assert len(decisions(out)[name].evidence) == 2  # both replies are recorded


def test_remaining_mistakes_are_flagged_and_no_item_is_lost(
    data: Path, strong: ScriptedTranslator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slip: dict[str, str] | str = {"Q": "21 只鸟中有几只在飞？", "A": "全部", "B": "一只也没有"}
    strong.slips = {BIRDS: [slip] * 9, CAR: ["no"] * 9}
    out = tmp_path / "out"
    assert translate(data, strong.model, out, "--limits", "attempts=2") == 1
    made = decisions(out)
    assert (made["2"].action, made["2"].rule) == ("flag", "numbers")
    assert "12 is missing" in made["2"].reason
    # Whoever reviews it sees the source's text, too.
    assert BIRDS in made["2"].evidence[0].reply
    assert items(out)["2"].sample.question == "21 只鸟中有几只在飞？"
    # Without any translation the item keeps its text, and the next start asks again.
    assert (made["1"].action, made["1"].rule) == ("flag", "failed")
    assert items(out)["1"].sample.question == CAR
    assert len(items(out)) == len(ROWS)
    assert read_step(out).status == "waiting"
    printed = capsys.readouterr().out
    assert "2 flagged for review" in printed
    assert "1 item without a translation" in printed
    strong.slips = {}
    assert translate(data, strong.model, out, "--limits", "attempts=2", "--fresh", "again") == 1  # one stays wrong
    assert items(out)["1"].sample.question == WORDS[CAR]
    assert read_step(out).status == "complete"


def test_doubtful_translations_and_all_of_them_can_be_reviewed(
    data: Path, strong: ScriptedTranslator, tmp_path: Path
) -> None:
    write_rows(data, [{"index": 1, "question": "The Globe Theatre stands where?"}, *ROWS[1:2]])
    strong.translate = {**WORDS, "The Globe Theatre stands where?": "环球剧院在哪里？"}.__getitem__
    actions = {}
    for which in ("wrong", "doubtful", "all"):
        out = tmp_path / which
        code = translate(data, strong.model, out, "--flag", which)
        actions[which] = [each.action for each in decisions(out).values()]
        assert code == ("flag" in actions[which])
    assert actions == {"wrong": ["fix", "fix"], "doubtful": ["flag", "fix"], "all": ["flag", "flag"]}
    # A term to keep is told to the model and checked.
    out = tmp_path / "keep"
    assert translate(data, strong.model, out, "--terms", "Globe Theatre") == 1
    assert "Globe Theatre" in strong.asked[-1][0]["content"].split("例2")[1]
    assert decisions(out)["1"].rule == "keep"


def test_what_the_judge_sees_is_wrong(data: Path, strong: ScriptedTranslator, tmp_path: Path) -> None:
    verdict = json.dumps({"same": False, "differences": ["Q: which birds"]})
    out = tmp_path / "out"
    same = '{"same": true, "differences": []}'
    with translating(WORDS.__getitem__) as judge:
        judge.slips = {
            WORDS[question]: [verdict if question == BIRDS else same]
            for question in (CAR, BIRDS, SIDE, "Is it raining?")
        }
        code = translate(data, strong.model, out, "--model-for", f"judge={judge.model}")
    assert code == 1
    made = decisions(out)
    assert (made["2"].action, made["2"].rule) == ("flag", "judge")
    assert "Q: which birds" in made["2"].reason
    assert made["1"].action == "fix"


def test_judge_remarks_are_sent_back_once(data: Path, strong: ScriptedTranslator, tmp_path: Path) -> None:
    strong.slips = {BIRDS: [{"Q": WORDS[BIRDS], "A": "所有的鱼", "B": "一只也没有"}]}
    write_rows(data, ROWS[1:2])
    out = tmp_path / "out"
    with translating(WORDS.__getitem__) as judge:
        verdicts: list[Any] = ['{"same": false, "differences": ["A: fish"]}', '{"same": true}']
        judge.slips, judge.by_request = {WORDS[BIRDS]: verdicts}, True
        assert translate(data, strong.model, out, "--model-for", f"judge={judge.model}") == 0
    assert "judge (all): A: fish" in strong.asked[1][2]["content"]
    assert decisions(out)["2"].action == "fix"
    assert items(out)["2"].sample.options["A"] == "全部"


def test_killed_step_resumes(strong: ScriptedTranslator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"index": n, "question": f"Is it {n}?", "answer": "Yes"} for n in range(1, 61)]
    data, out = write_rows(tmp_path / "many.jsonl", rows), tmp_path / "out"

    def slow(text: str) -> str:
        time.sleep(0.02)
        return f"是 {text[6:-1]} 吗？"

    strong.translate = slow
    command = [
        sys.executable,
        "-m",
        "snellen",
        "curate",
        "translate",
        str(data),
        "--language",
        "zh",
        "-m",
        strong.model,
        "--out",
        str(out),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = out / "decisions.jsonl"
    while not log.exists() or log.read_bytes().count(b"\n") < 10:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "items.jsonl").exists()
    before = log.read_bytes().count(b"\n")
    assert main(command[3:]) == 0
    assert 10 <= before < 60
    # Nothing that was decided is asked about again.
    assert f"{60 - before} samples" in capsys.readouterr().err
    assert len(list(read_decisions(out))) == 60
    assert [item.sample.question for item in open_items(out)] == [f"是 {n} 吗？" for n in range(1, 61)]


def test_interrupted_step_prints_how_to_continue(strong: ScriptedTranslator, tmp_path: Path) -> None:
    rows = [{"index": n, "question": f"Is it {n}?", "answer": "Yes"} for n in range(1, 200)]
    data, out = write_rows(tmp_path / "many.jsonl", rows), tmp_path / "out"

    def slow(text: str) -> str:
        time.sleep(0.03)
        return f"是 {text[6:-1]} 吗？"

    strong.translate = slow
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "snellen",
            "curate",
            "translate",
            str(data),
            "--language",
            "zh",
            "-m",
            strong.model,
            "--out",
            str(out),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = out / "decisions.jsonl"
    while not log.exists() or not log.read_bytes():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continue with: snellen curate translate" in errors
    assert "Traceback" not in errors


def test_a_server_that_fails_leaves_flags_that_the_next_start_takes_up(
    data: Path, strong: ScriptedTranslator, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    strong.down_after = 2
    assert translate(data, strong.model, out, "--requests", "retries=0") == 1
    failed = [name for name, each in decisions(out).items() if each.rule == "failed"]
    assert len(failed) == 2
    strong.down_after = 0
    assert translate(data, strong.model, out) == 0
    assert len(strong.asked) == 4
    assert {each.action for each in decisions(out).values()} == {"fix", "keep"}


def test_spent_budget_stops_and_the_same_command_resumes(
    data: Path, strong: ScriptedTranslator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    price = ["--price", f"{strong.model}:input=1000000,output=1000000"]
    assert translate(data, strong.model, out, *price, "--budget", "20usd") == 1
    assert "stopped: " in capsys.readouterr().out
    assert not (out / "items.jsonl").exists()
    asked = len(strong.asked)
    assert asked < 4
    assert translate(data, strong.model, out) == 0
    assert len(strong.asked) == 4
    assert len(items(out)) == len(ROWS)


MISTAKES = [
    ([], "no model translates"),
    (["-m", "MODEL", "--language", "en"], "the data are said to be in en already"),
    (["-m", "MODEL", "--language", "a language"], "is not a language tag"),
    (["-m", "MODEL", "--fields", "question,answers"], "got 'answers'"),
    (["-m", "MODEL", "--fields", ""], "got nothing"),
    (["-m", "MODEL", "--limits", "attempts=0"], "--limits attempts=0"),
    (["-m", "MODEL", "--terms", "lost.toml"], "no such file"),
    (["-m", "MODEL", "--terms", "lost.txt"], "no such file"),
    (["-m", "MODEL", "--check", "DATA"], "--check asks nothing"),
    (["--check", "lost.jsonl"], "lost.jsonl"),
    (["-m", "http://127.0.0.1:9/v1#strong"], "127.0.0.1:9"),
    (["-m", "nobody/knows"], "nobody"),
]


@pytest.mark.parametrize(("flags", "message"), MISTAKES)
def test_mistakes_give_one_sentence(
    flags: list[str],
    message: str,
    data: Path,
    strong: ScriptedTranslator,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [{"MODEL": strong.model, "DATA": str(data)}.get(flag, flag) for flag in flags]
    to = [] if "--to" in given else ["--language", "zh"]
    out = tmp_path / "out"
    code = main(["curate", "translate", str(data), "--out", str(out), *to, *given])
    assert code == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors
    assert not strong.asked
    lost = main(["curate", "translate", str(tmp_path / "lost.jsonl"), "--language", "zh", "-m", "random"])
    assert lost == 2


def test_another_language_and_open_answers(strong: ScriptedTranslator, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"index": 1, "question": "Name the colour.", "answers": ["red", "crimson"]},
        {"index": 2, "question": "Is it raining?", "A": "Yes", "B": "No", "answer": "A"},
    ]
    data, out = write_rows(tmp_path / "open.jsonl", rows), tmp_path / "out"
    assert translate(data, strong.model, out, "--fields", "question,options,answer") == 0
    assert items(out)["1"].sample.gold == ("红色", "深红")
    assert items(out)["2"].sample.gold == ("A",)
    # The note on yes and no is there only where it is needed.
    notes = ["“Yes”请译为“是”" in asked[0]["content"] for asked in strong.asked]
    assert sorted(notes) == [False, True]
    german = {"Is it raining?": "Regnet es?", "Yes": "Ja", "No": "Nein", "Name the colour.": "Nenne die Farbe."}
    strong.translate = german.__getitem__
    code = main(
        ["curate", "translate", str(data), "--language", "de-AT", "-m", strong.model, "--out", str(tmp_path / "de")]
    )
    assert code == 0
    assert items(tmp_path / "de")["2"].sample.options == {"A": "Ja", "B": "Nein"}
    assert items(tmp_path / "de")["1"].sample.gold == ("red", "crimson")
    assert "English text in the JSON object below into German" in strong.asked[-1][0]["content"]


def test_rotated_copies_take_the_same_translation(strong: ScriptedTranslator, tmp_path: Path) -> None:
    rows = [
        {"index": 4, "question": SIDE, "A": "on the left", "B": "on the right", "answer": "A"},
        {"index": 1_000_004, "question": SIDE, "A": "on the right", "B": "on the left", "answer": "B"},
    ]
    data, out = write_rows(tmp_path / "rotated.jsonl", rows), tmp_path / "out"
    assert translate(data, strong.model, out) == 0
    assert len(strong.asked) == 1
    [item] = items(out).values()
    assert item.sample.options == {"A": "在左边", "B": "在右边"}


def test_terms_that_are_not_translated_alike_are_reported(
    strong: ScriptedTranslator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"index": n, "question": f"Is it {n}?", "A": "red", "B": "blue", "answer": "A"} for n in (1, 2, 3)]
    data, out = write_rows(tmp_path / "terms.jsonl", rows), tmp_path / "out"

    def vary(text: str) -> str:
        return {"red": "红色", "blue": "蓝色"}.get(text) or f"是 {text[6:-1]} 吗？"

    strong.translate = vary
    strong.slips = {"Is it 2?": [{"Q": "是 2 吗？", "A": "红", "B": "蓝色"}]}
    assert translate(data, strong.model, out) == 0
    assert "not translated alike: red: 红色 (2), 红 (1)" in capsys.readouterr().out
    terms = json.loads((out / "terms.json").read_text())
    assert terms[0]["items"] == {"红色": ["1", "3"], "红": ["2"]}
    # With a glossary the same reply is wrong, and the model is told.
    glossary = tmp_path / "terms.toml"
    glossary.write_text('red = "红色"\n', encoding="utf-8")
    assert translate(data, strong.model, tmp_path / "two", "--terms", str(glossary)) == 0
    assert "not translated alike" not in capsys.readouterr().out
    assert any("'red' is to be translated as '红色'" in asked[-1]["content"] for asked in strong.asked)


def test_eyechart_has_a_chinese_sibling(tmp_path: Path) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text("\n".join(eyechart_zh.KEPT), encoding="utf-8")
    out = tmp_path / "eyechart-zh"
    with translating(eyechart_zh.translate) as strong:
        assert translate("eyechart", strong.model, out, "--terms", str(keep)) == 0
    before, after = list(open_items("eyechart")), list(open_items(out))
    assert [item.id for item in after] == [item.id for item in before]
    assert [item.sample.gold for item in after] == [item.sample.gold for item in before]
    assert [[ref.digest for ref in item.sample.media] for item in after] == [
        [ref.digest for ref in item.sample.media] for item in before
    ]
    counts = read_step(out).counts
    assert counts["wrong"] == counts["doubtful"] == {}
    assert counts["fix"] == 812
    assert counts["inconsistent terms"] == 0


def test_the_images_of_a_data_set_folder_are_not_stored_twice(strong: ScriptedTranslator, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "images" / "car.png")
    rows = [{**ROWS[0], "image": "images/car.png"}]
    first, second = tmp_path / "first", tmp_path / "second"
    assert translate(write_rows(tmp_path / "car.jsonl", rows), strong.model, first) == 0
    english = {"汽车是什么颜色？": CAR, "红色": "red", "蓝色": "blue", "请仔细看。": "Look closely."}
    strong.translate = english.__getitem__
    assert (
        main(["curate", "translate", str(first), "--language", "zh:en", "-m", strong.model, "--out", str(second)]) == 0
    )
    [one], [other] = ([*(folder / "media").rglob("*.png")] for folder in (first, second))
    assert one.name == other.name
    assert one.stat().st_ino == other.stat().st_ino
    assert items(second)["1"].sample.options == {"A": "red", "B": "blue"}
    # The second folder also says what was decided in the first.
    assert [each.step for each in read_decisions(second)] == ["translate", "translate"]
