"""Annotators as measured instruments: simulated ones of several qualities, gold items, time."""

from __future__ import annotations

import json
import random
from collections import Counter

import crowds
import pytest
from reviewing import ask, decide, opened, read_lines, serving, write_data

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen_curate.review.entries import ReviewEntry
from snellen_curate.review.opening import open_review
from snellen_curate.review.queue import GoldItem, read_gold

QUALITY = {"ann": 0.95, "ben": 0.9, "cas": 0.85, "rob": None, "kim": None}
"""How often a person decides rightly: otherwise, and without a share, by chance; `kim` says keep
of 91 % whatever the item is."""
ACTIONS = ("keep", "drop")


def rows(count: int) -> list[dict[str, str]]:
    return [{"index": f"q{at}", "question": f"Which {at}?", "A": "x", "B": "y", "answer": "A"} for at in range(count)]


def simulate(tmp_path, seed, quality=QUALITY, items=120, gold=0):
    """A review in which three people decide about each item; returns it with the truth."""
    chance = random.Random(seed)
    truth = {f"q{at}": chance.choices(ACTIONS, (0.6, 0.4))[0] for at in range(items)}
    known = tuple(GoldItem(name, truth[name]) for name in list(truth)[:gold])
    data = write_data(tmp_path / f"data-{seed}", rows(items))
    settings = {"queue": "all", "annotators": 3, "gold": known}
    review = open_review(data, tmp_path / f"out-{seed}", settings)
    entries = []
    for at, (name, right) in enumerate(truth.items()):
        for by in quality if at < gold else chance.sample(sorted(quality), 3):
            share = quality[by]
            action = right if share and chance.random() < share else chance.choice(ACTIONS)
            if by == "kim":
                action = "keep" if chance.random() < 0.91 else "drop"
            entries.append(ReviewEntry(name, by, action, seconds=chance.uniform(2, 4)))
    review.board.log.append(entries)
    return review, truth


def right_share(chances, truth):
    """How often the likeliest value is right; ties count in part."""
    best = {name: max(row.values()) for name, row in chances.items()}
    return sum(
        (chances[name][truth[name]] == best[name]) / sum(value == best[name] for value in chances[name].values())
        for name in chances
    ) / len(chances)


@pytest.mark.parametrize("gold", [0, 12])
def test_careless_annotators_are_named_and_good_ones_are_not(tmp_path, gold):
    review, truth = simulate(tmp_path, 1, gold=gold)
    figures = review.board.figures()
    warned = {each.annotator for each in figures.annotators if each.warning}
    assert warned == {"rob", "kim"}
    kim = next(each for each in figures.annotators if each.annotator == "kim")
    assert kim.warning.startswith(f"{100 * kim.choices['keep']:.0f} % keep, kappa ")
    assert 2 < kim.seconds < 4
    assert sum(sum(row.values()) for row in kim.confusion.values()) == kim.items
    plain = {
        name: dict.fromkeys(ACTIONS, 0)
        | Counter(entry.action for entry in review.board.reviews(name).decisions().values())
        for name in figures.chances
    }
    assert right_share(figures.chances, truth) > right_share(plain, truth) + 0.03
    if gold:
        assert kim.gold.items == gold


def test_random_annotators_are_all_named_and_their_probabilities_are_chance(tmp_path):
    """The control: where nobody looks at the items, no weighing finds what is right."""
    review, truth = simulate(tmp_path, 2, dict.fromkeys(("rob", "sue", "tim", "una"), None))
    figures = review.board.figures()
    assert all(each.warning for each in figures.annotators)
    assert right_share(figures.chances, truth) < 0.65


def test_blind_answers_are_measured_by_gold_and_key(tmp_path):
    gold = (GoldItem("c2", "answer"), GoldItem("o1", "answer", answer="Go"))
    review = opened(tmp_path, blind=True, annotators=2, gold=gold)
    for item, ann, ben in (("c1", "A", "B"), ("c2", "C", "A"), ("o1", " go ", "STOP SIGN")):
        decide(review, item, "ann", "answer", answer=ann)
        decide(review, item, "ben", "answer", answer=ben)
    ann, ben = review.board.figures().annotators
    assert (ann.gold.items, ann.gold.value, ben.gold.value) == (2, 1.0, 0.0)
    assert (ann.key.items, ann.key.value, ben.key.value) == (1, 1.0, 0.0)
    assert review.board.figures().chances["c1"]["A"] > 0.5
    assert sum(review.board.figures().chances["c1"].values()) == pytest.approx(1)


def test_gold_items_are_mixed_in_and_not_recognisable(tmp_path):
    gold = (GoldItem("c1", "keep"), GoldItem("c2", "fix", planted={"answer": "A"}))
    review = opened(tmp_path, gold=gold)
    seen = {}
    with serving(review) as server:
        for by in ("ann", "ben"):
            item = ask(server, "/api/next", by=by).json["item"]
            while item:
                seen.setdefault(by, []).append(item["id"])
                keys = set(item)
                assert not keys & {"right", "chances", "decisions", "outcome"}
                assert "planted" not in json.dumps(item)
                if item["id"] == "c2":
                    assert item["gold"] == ["A"]
                body = {"item": item["id"], "action": "keep", "seconds": 1.5}
                assert ask(server, "/api/decide", body=body, by=by).status == 200
                item = ask(server, "/api/next", by=by, after=item["id"]).json["item"]
        assert set(seen["ann"]) == set(review.board.queue.items)
        assert set(seen["ben"]) == {"c1", "c2"}
        shown = ask(server, "/api/item", "adjudicator", by="judy", id="c2").json["item"]
        assert shown["right"].strip() == "fix"
        assert {each["by"]: each["seconds"] for each in shown["decisions"]} == {"ann": 1.5, "ben": 1.5}
    people = review.board.figures().annotators
    assert [(each.gold.items, each.gold.value) for each in people] == [(2, 0.5), (2, 0.5)]
    finished = review.finish()
    assert (finished.items, finished.kept) == (6, 4)
    written = {row["index"]: row for row in read_lines(review.folder / "items.jsonl")}
    assert written["c2"]["answer"] == "C"
    assert not {row["item"] for row in read_lines(review.folder / "decisions.jsonl")} & {"c1", "c2"}
    stored = json.loads((review.folder / "annotators.json").read_text())
    assert [each["annotator"] for each in stored["annotators"]] == ["ann", "ben"]


def test_every_annotator_gets_a_gold_item_also_once_it_is_resolved(tmp_path):
    review = opened(tmp_path, gold=(GoldItem("c1", "keep"),))
    decide(review, "c1", "judy", "keep", role="adjudicator")
    others = [name for name in review.board.queue.items if name != "c1"]
    for name in others:
        decide(review, name, "ann", "keep")
    assert review.board.next_item("ann").item == review.board.next_item("ben").item == "c1"
    assert [each.items for each in review.board.figures(0.5).annotators] == [len(others)]
    decide(review, "c1", "ann", "drop")
    assert review.board.figures(0.5).annotators[0].gold.items == 0  # As it was.
    assert review.board.figures().annotators[0].gold.items == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"item": "none", "action": "keep"}', "has no item 'none'"),
        ('{"item": "c1", "action": "kept"}', "line 1 is no gold item"),
        ('{"item": "c1", "action": "keep", "mood": 1}', "unknown field `mood`"),
        ('{"item": "c1", "action": "answer", "answer": "A"}', "answers are for blind reviews"),
        ('{"item": "c1", "action": "fix", "planted": {"answer": "Z"}}', "has no option 'Z'"),
        ('{"item": "c1", "action": "keep"}\n{"item": "c1", "action": "drop"}', "stands twice"),
        ("", "is empty"),
    ],
)
def test_a_wrong_gold_file_is_named(tmp_path, line, sentence):
    path = tmp_path / "gold.jsonl"
    path.write_text(line)
    with pytest.raises(UsageError, match=sentence):
        opened(tmp_path, gold=read_gold(path))


def test_the_command_takes_gold_and_prints_the_annotators(tmp_path, capsys):
    data, out = str(write_data(tmp_path / "data")), str(tmp_path / "out")
    gold, theirs = tmp_path / "gold.jsonl", tmp_path / "theirs.jsonl"
    gold.write_text('{"item": "c1", "action": "keep"}\n')
    lines = [
        {"item": name, "by": by, "action": "drop" if by == "ben" else "keep", "seconds": 3}
        for name in ("c1", "c2", "y1")
        for by in ("ann", "ben")
    ]
    theirs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    review = ["curate", "review", data, "--out", out]
    assert main([*review, "--items", "all", "--gold", str(gold), "--export", "queue"]) == 1
    assert "5 items to review, 1 gold item" in capsys.readouterr().out
    # The options stay as they were.
    assert main([*review, "--import", str(theirs)]) == 0
    capsys.readouterr()
    assert main([*review, "--list", "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    (ben,) = (line for line in printed.splitlines() if line.startswith("| ben |"))
    cells = [cell.strip() for cell in ben.strip("|").split("|")]
    assert cells[:3] == ["ben", "3", "100 % drop"]
    assert cells[5:] == ["0.0 % (0.0–79.3)", "3.0"]
    assert "look at what" not in printed  # Of one gold item, nobody is accused.


def test_the_script_of_the_evidence_reads_its_three_forms(tmp_path):
    """On files made in the layout of the repositories."""
    (tmp_path / "labels.yaml").write_text("39: {1: true, 2: false,\n  3: true}\n45: {1: true}\n")
    (tmp_path / "gt.yaml").write_text("{1: true, 2: false, 3: false}\n")
    (tmp_path / "answer.csv").write_text("question,worker,answer\n1,a,x\n1,a,y\n2,b,x\n")
    (tmp_path / "truth.csv").write_text("question,truth\n1,y\n2,y\n")
    (tmp_path / "labels.txt").write_text("a\t1\tP\nb\t1\tG\n")
    (tmp_path / "gold.txt").write_text("1\tG\n")
    found = [
        crowds.measure(*crowds.read(tmp_path / labels, tmp_path / truth))
        for labels, truth in (("labels.yaml", "gt.yaml"), ("answer.csv", "truth.csv"), ("labels.txt", "gold.txt"))
    ]
    assert [row[:5] for row in found] == [
        ["3", "3", "2", "2", "4"],
        ["2", "2", "2", "2", "2"],
        ["1", "1", "2", "2", "2"],
    ]
    assert [row[5] for row in found] == ["66.7", "50.0", "50.0"]
