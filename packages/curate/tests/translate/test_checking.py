"""Checking an existing translation: the planted slips, and siblings that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import planted
import pytest

from snellen.cli import main
from snellen.data_sets.decisions import read_decisions
from snellen_curate.translate.languages import open_language
from snellen_curate.translate.step import TranslationSummary, check_sibling
from snellen_curate.translate.translating import TranslationPlan

PLAN = TranslationPlan(open_language("en"), open_language("zh"), keep=(*planted.COMMANDS, "Globe Theatre"))
RULES = {
    "number": "numbers",
    "untranslated": "untranslated",
    "swapped_options": "swapped",
    "name": "keep",
    "code": "code",
    "equal_options": "same options",
    "negation": "negation",
}
"""Kind of planted slip to the rule that is to notice it."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


def flags(out: Path) -> dict[str, set[str]]:
    """The rules that call an item wrong, by id."""
    return {
        each.item: {
            evidence.model.removeprefix("rule ") for evidence in each.evidence if evidence.verdict.startswith("wrong")
        }
        for each in read_decisions(out)
        if each.action == "flag"
    }


def test_planted_slips_are_noticed_and_nothing_else(made: planted.Planted, tmp_path: Path) -> None:
    summary = check_sibling(made.data, made.translated, PLAN, tmp_path / "out")
    noticed = flags(tmp_path / "out")
    assert set(noticed) == set(made.slips)  # precision and recall 1
    for name, kind in made.slips.items():
        assert RULES[kind] in noticed[name], kind
    assert summary.flagged_wrong == len(made.slips) == 7
    assert not flags_of(check_sibling(made.data, made.translated_well, PLAN))


def flags_of(summary: TranslationSummary) -> int:
    return summary.counts.get("flag", 0)


def test_the_command_exits_1_if_something_is_wrong(
    made: planted.Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep = tmp_path / "keep.txt"
    keep.write_text("\n".join(PLAN.keep), encoding="utf-8")
    command = ["curate", "translate", str(made.data), "--language", "zh"]
    command += ["--terms", str(keep), "--check"]
    assert main([*command, str(made.translated_well)]) == 0
    assert "0 that a rule calls wrong" in capsys.readouterr().out
    out = tmp_path / "out"
    assert main([*command, str(made.translated), "--out", str(out), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["flagged_wrong"] == 7
    assert printed["wrong"]["numbers"] == 1
    assert (out / "items.jsonl").is_file()
    # Again: the same decisions, none twice.
    assert main([*command, str(made.translated), "--out", str(out)]) == 1
    assert len(list(read_decisions(out))) == len(made.ids)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


ENGLISH = [
    {"index": 1, "question": "Which colour?", "A": "red", "B": "blue", "answer": "A"},
    {"index": 2, "question": "Is it red?", "answer": "Yes"},
    {"index": 3, "question": "Where is it?", "A": "here", "B": "there", "answer": "B"},
]
CHINESE: list[dict[str, Any]] = [
    {"index": 1, "question": "什么颜色？", "A": "红色", "B": "蓝色", "answer": "A"},
    {"index": 2, "question": "它是红色的吗？", "answer": "Yes"},
    {"index": 3, "question": "它在哪里？", "A": "这里", "B": "那里", "answer": "B"},
]
CHANGES: list[tuple[int, dict[str, Any], str]] = [
    (0, {"answer": "B"}, "key"),
    (0, {"C": "绿色"}, "option labels"),
    (1, {"answer": "No"}, "key"),
    (1, {"A": "是", "B": "否", "answer": "A"}, "kind"),
    (2, {"index": 4}, "missing"),
]


@pytest.mark.parametrize(("row", "change", "rule"), CHANGES)
def test_siblings_share_ids_kinds_keys_and_labels(row: int, change: dict[str, Any], rule: str, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "a.jsonl", ENGLISH)
    rows = [dict(each) for each in CHINESE]
    good = check_sibling(data, write_rows(tmp_path / "a-zh.jsonl", rows), PLAN)
    assert (good.items, good.flagged_wrong) == (3, 0)
    rows[row] |= change
    bad = check_sibling(data, write_rows(tmp_path / "a-zh2.jsonl", rows), PLAN)
    assert rule in bad.wrong
    # An id that only one of the two has counts on both sides.
    assert bad.flagged_wrong == (2 if rule == "missing" else 1)


def test_refuses_data_sets_without_a_common_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_rows(tmp_path / "a.jsonl", ENGLISH)
    other = write_rows(tmp_path / "b.jsonl", [{**CHINESE[0], "index": 99}])
    code = main(["curate", "translate", str(data), "--language", "zh", "--check", str(other)])
    assert code == 2
    assert "a and b share no id" in capsys.readouterr().err


def test_options_that_changed_places_show_by_how_other_items_translate_them(tmp_path: Path) -> None:
    words = {"lawyer": "律师", "nurse": "护士", "baker": "面包师"}
    rows = [
        {"index": n, "question": f"Who is number {n}?", "A": "lawyer", "B": "nurse", "C": "baker", "answer": "A"}
        for n in range(1, 6)
    ]
    siblings = [{**row, "question": f"{row['index']} 号是谁？", **{k: words[row[k]] for k in "ABC"}} for row in rows]
    data = write_rows(tmp_path / "a.jsonl", rows)
    good = check_sibling(data, write_rows(tmp_path / "good.jsonl", siblings), PLAN)
    assert good.flagged_wrong == 0
    siblings[3] |= {"A": "护士", "B": "律师"}
    siblings[4] |= {"A": "法律工作者"}  # another word, not another option: only reported
    out = tmp_path / "out"
    bad = check_sibling(data, write_rows(tmp_path / "bad.jsonl", siblings), PLAN, out)
    assert (bad.flagged_wrong, bad.wrong) == (1, {"swapped": 1})
    assert flags(out) == {"4": {"swapped"}}
    [decision] = [each for each in read_decisions(out) if each.action == "flag"]
    assert "'护士' is elsewhere the translation of B, and 'lawyer' is '律师'" in decision.reason
    assert decision.changes["A"] == ("lawyer", "护士")
    assert [use.term for use in bad.inconsistent] == ["lawyer", "nurse"]
