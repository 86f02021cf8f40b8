"""`filter_items` on the planted data: precision and recall, stored runs, kills, pairs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import planted
import pytest
from planted import TEXT_ONLY_MODELS, VISION_MODELS, Planted

import snellen
from snellen.core.errors import UsageError
from snellen.core.request import Generate
from snellen.data_sets.decisions import Decision, flagged_items, latest_decisions, read_decisions
from snellen.data_sets.step import read_step
from snellen_curate.filter.filtering import RUNS_FOLDER, FilterRules, filter_items
from snellen_curate.filter.summary import FilterResult
from snellen_curate.open_data import open_items
from snellen_curate.step_options import FilterOptions


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def asked(made: Planted, tmp_path_factory: pytest.TempPathFactory) -> tuple[FilterResult, Path]:
    """Every model asked, with the default rules."""
    out = tmp_path_factory.mktemp("filtered") / "step"
    return ask(made, out), out


def ask(
    made: Planted,
    out: Path,
    text_only: Sequence[str] = TEXT_ONLY_MODELS,
    vision: Sequence[str] = VISION_MODELS,
    **settings: object,
) -> FilterResult:
    rules = FilterRules(**settings)  # type: ignore[arg-type]
    return filter_items(made.data, out, text_only=made.models(text_only), vision=made.models(vision), rules=rules)


def decisions(out: Path) -> dict[str, Decision]:
    return latest_decisions(read_decisions(out))


def flags(out: Path, rule: str) -> set[str]:
    """Ids that a rule flags, alone or with another."""
    found = decisions(out).values()
    return {each.item for each in found if each.action == "flag" and rule in each.rule.split(", ")}


def right_counts(made: Planted, models: Iterable[str]) -> dict[str, int]:
    """By id, how many models are right: from the tables of the planted data alone."""
    return {name: sum(name in made.right[model] for model in models) for name in made.ids}


def silent_counts(made: Planted, models: Iterable[str]) -> dict[str, int]:
    return {name: sum(name in made.silent[model] for model in models) for name in made.ids}


def test_each_rule_flags_what_the_tables_say(made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path) -> None:
    _, out = asked
    texts, silent = right_counts(made, TEXT_ONLY_MODELS), silent_counts(made, TEXT_ONLY_MODELS)
    assert flags(out, "text-majority") == {name for name, count in texts.items() if count >= 2}
    seen, unseen = right_counts(made, VISION_MODELS), silent_counts(made, VISION_MODELS)
    blank = made.ids_of("no_picture")
    nobody = {name for name in made.ids if seen[name] == 0 and unseen[name] == 0}
    assert flags(out, "vision-none") == nobody - blank
    assert flags(out, "no picture") == blank
    undecided = {name for name in made.ids if seen[name] == 0 and unseen[name]}
    assert flags(out, "failed") == undecided != set()
    # The other wordings, from the runs that were made above.
    for rule, least in (("text-more-than", 3), ("text-all", 3), ("text-more-than:1", 2)):
        folder = tmp_path / rule.replace(":", "-")
        filter_items(made.data, folder, runs=[out / RUNS_FOLDER], rules=FilterRules((rule,)))
        assert flags(folder, rule) == {name for name, count in texts.items() if count >= least}
        open_ones = {name for name in made.ids if texts[name] < least <= texts[name] + silent[name]}
        assert flags(folder, "failed") == open_ones


@pytest.mark.parametrize(
    ("rule", "kinds", "precision", "recall"),
    [
        # A lucky guess of two models is flagged; what one model alone knows is missed.
        ("text-majority", ("answerable_from_text",), (7, 8), (7, 8)),
        # Two good but hard items are flagged; a wrong key that one model hits by luck is missed.
        ("vision-none", ("wrong_key", "broken_picture", "lost_picture"), (9, 11), (9, 10)),
        # No model is needed to see that there is no picture.
        ("no picture", ("no_picture",), (2, 2), (2, 2)),
    ],
)
def test_precision_and_recall_on_planted_items(
    made: Planted,
    asked: tuple[FilterResult, Path],
    rule: str,
    kinds: tuple[str, ...],
    precision: tuple[int, int],
    recall: tuple[int, int],
) -> None:
    found, bad = flags(asked[1], rule), made.ids_of(*kinds)
    assert (len(found & bad), len(found)) == precision
    assert (len(found & bad), len(bad)) == recall


def test_stricter_rules_flag_fewer_items_without_false_flags(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    rules = FilterRules(("text-all",))
    filter_items(made.data, tmp_path / "all", runs=[asked[1] / RUNS_FOLDER], rules=rules)
    found, bad = flags(tmp_path / "all", "text-all"), made.ids_of("answerable_from_text")
    assert (len(found & bad), len(found), len(bad)) == (5, 5, 8)


def test_every_item_has_a_decision_and_counts_once(made: Planted, asked: tuple[FilterResult, Path]) -> None:
    result, out = asked
    made_decisions = decisions(out)
    assert list(made_decisions) == list(made.ids)
    assert (result.kept, result.flagged, result.undecided) == (55, 19, 1)
    assert result.problems == {"no picture": 2}
    assert result.status == read_step(out).status == "waiting"
    assert result.items == 55 + 19 + 1 + 2 == 77
    for column in ("category", "l2-category", "source"):
        groups = [group for group in result.groups if group.column == column]
        assert sum(group.items for group in groups) == 75
        assert sum(group.by_any for group in groups) == 19
        assert sum(group.flagged["text-majority"] for group in groups) == 8
    reasoning = next(group for group in result.groups if group.value == "identity_reasoning")
    assert (reasoning.items, reasoning.flagged["text-majority"]) == (4, 4)


def test_decisions_carry_their_evidence(made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path) -> None:
    _, out = asked
    found = decisions(out)
    name = min(made.ids_of("wrong_key"))
    flag = found[name]
    assert flag.reason == "none of 5 vision models is right"
    assert len(flag.evidence) == 8
    for evidence in flag.evidence:
        assert len(evidence.request) == 64
        assert evidence.reply
        assert evidence.verdict.startswith("wrong in rotation")
    known = found[min(made.ids_of("answerable_from_text"))].evidence[0]
    assert (known.verdict, known.score) == ("right in all 4 rotations", 1.0)
    kept = next(each for each in found.values() if each.action == "keep")
    assert all(evidence.reply and len(evidence.request) == 64 for evidence in kept.evidence)
    # Rules are counted by their name: an item that passed them is none of theirs.
    assert (kept.rule, kept.reason) == ("no rule", "passes text-majority, vision-none")
    filter_items(made.data, tmp_path, runs=[out / RUNS_FOLDER], rules=FilterRules(brief=True))
    brief = decisions(tmp_path)
    assert brief[name].evidence == flag.evidence
    assert {evidence.reply for evidence in brief[kept.item].evidence} == {""}
    right = [evidence.verdict == "right" for evidence in brief[kept.item].evidence]
    assert right == [evidence.score == 1.0 for evidence in kept.evidence]


def test_the_next_step_can_open_it(made: Planted, asked: tuple[FilterResult, Path]) -> None:
    _, out = asked
    table = open_items(out)
    items = list(table)
    assert [item.id for item in items] == list(made.ids)
    assert items[0].cells["source"] == "drawn"
    assert len(flagged_items(read_decisions(out))) == 22


def plain(out: Path) -> dict[str, tuple[str, str, str]]:
    return {name: (each.action, each.rule, each.reason) for name, each in decisions(out).items()}


def test_stored_runs_flag_the_same_without_asking(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    _, out = asked
    stored = filter_items(made.data, tmp_path / "stored", runs=[out / RUNS_FOLDER])
    assert plain(tmp_path / "stored") == plain(out)
    assert not (tmp_path / "stored" / RUNS_FOLDER).exists()
    assert {count.kind for count in stored.models} == {"text-only", "vision"}
    # Runs on another copy of the same questions: the rows of the rotations are in the file.
    filter_items(made.rotated, tmp_path / "rotated", runs=[out / RUNS_FOLDER])
    assert plain(tmp_path / "rotated") == plain(out)


def test_the_order_of_models_changes_nothing(made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path) -> None:
    result, out = asked
    turned = ask(made, tmp_path / "turned", TEXT_ONLY_MODELS[::-1], VISION_MODELS[::-1])
    assert plain(tmp_path / "turned") == plain(out)
    assert turned.rules == result.rules
    assert turned.groups == result.groups
    # The same command in another order goes on with the same folder.
    ask(made, tmp_path / "turned", TEXT_ONLY_MODELS, VISION_MODELS)


def test_dropping_keeps_the_other_and_the_undecided_items(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    _, out = asked
    dropped = filter_items(
        made.data, tmp_path / "out", runs=[out / RUNS_FOLDER], rules=FilterRules(drop=("text-only", "vision"))
    )
    bad = flags(out, "text-majority") | flags(out, "vision-none")
    assert [item.id for item in open_items(tmp_path / "out")] == [name for name in made.ids if name not in bad]
    assert (dropped.dropped, dropped.flagged, dropped.undecided) == (19, 0, 1)


def test_a_missing_reply_is_asked_again_and_then_decides(made: Planted, tmp_path: Path) -> None:
    """One vision model without a reply to an item that the others miss; then the reply is there."""
    (name,) = made.silent["vision-1"]
    models = ("vision-4", "vision-1")
    ask(made, tmp_path / "step", vision=models)
    before = decisions(tmp_path / "step")
    assert (before[name].rule, before[name].is_retryable) == ("failed", True)
    assert "1 gave no reply" in before[name].reason
    full = tmp_path / "full"
    ask(made, full, vision=("vision-4", "vision-5"))
    assert decisions(full)[name].rule == "vision-none"


def test_few_replies_suffice_if_min_replies_allows(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    _, out = asked
    (name,) = flags(out, "failed")
    filter_items(made.data, tmp_path / "two", runs=[out / RUNS_FOLDER], rules=FilterRules(min_replies=2))
    assert decisions(tmp_path / "two")[name].rule == "vision-none"
    assert "3 gave no reply" in decisions(tmp_path / "two")[name].reason


def test_the_first_reply_alone_flags_more(made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path) -> None:
    """Without CircularEval more is right by luck: more is answered from text."""
    _, out = asked
    once = filter_items(made.data, tmp_path / "once", runs=[out / RUNS_FOLDER], options=FilterOptions(circular="off"))
    assert flags(tmp_path / "once", "text-majority") >= flags(out, "text-majority")
    expected = {rule.rule: rule.expected for rule in once.rules}
    assert expected["text-majority"] == pytest.approx(
        sum(pair(1 / count_options(made, name)) for name in made.ids if name not in made.ids_of("no_picture"))
    )


def pair(right: float) -> float:
    """The probability that two or three of three are right."""
    return 3 * right**2 * (1 - right) + right**3


def count_options(made: Planted, name: str) -> int:
    with made.data.open(newline="") as file:
        row = next(row for row in csv.DictReader(file, delimiter="\t") if row["index"] == name)
    return sum(bool(row[label]) for label in "ABCD")


def test_guessing_is_what_the_runs_report_as_chance(tmp_path: Path) -> None:
    """On the bundled data, all of whose items have pictures."""
    result = filter_items("eyechart", tmp_path, text_only=["random"], vision=["random"])
    for count in result.models:
        run = snellen.open_run(count.run)
        chance = run.summary.metrics["chance"].value
        assert chance is not None
        assert count.right + count.wrong == result.items
        assert count.chance == pytest.approx(chance * result.items / 100)
        assert run.score == pytest.approx(100 * count.right / result.items)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "no model is named"),
        ({"rules": FilterRules(("vision-none",)), "text_only": ["random"]}, "needs vision models"),
        ({"text_only": ["no/such"]}, "no/such"),
        ({"vision": ["random", "random"]}, "each model has one vote"),
        ({"vision": ["random"], "rules": FilterRules(min_replies=0)}, "--limits min_replies=0"),
    ],
)
def test_mistakes_leave_the_folder_usable(
    made: Planted, tmp_path: Path, arguments: dict[str, object], words: str
) -> None:
    out = tmp_path / "step"
    with pytest.raises(UsageError, match=words):
        filter_items(made.data, out, **arguments)  # type: ignore[arg-type]
    filter_items(made.data, out, vision=["random"])
    assert read_step(out).settings["vision"] == ["random"]


def test_refuses_data_without_usable_answers_before_asking(made: Planted, tmp_path: Path) -> None:
    class Never:
        def answer(self, request: Generate) -> str:
            raise AssertionError("it was asked")

    def refuse(rows: list[dict[str, str]], words: str, *by: str) -> None:
        path = write_rows(tmp_path / "rows.tsv", rows)
        with pytest.raises(UsageError, match=words):
            filter_items(path, tmp_path / "out", vision=[Never()], rules=FilterRules(by=by))
        assert not (tmp_path / "out" / RUNS_FOLDER).exists()

    rows = [{**row, "image_path": ""} for row in read_rows(made.data)[:3]]
    refuse([{**row, "answer": ""} for row in rows], "no item has an answer")
    refuse([{**row, "answer": "Z"} for row in rows], "no item can be asked; the first: ")
    refuse(rows, "sauce", "sauce")


def test_a_model_object_has_the_same_name_in_every_start(made: Planted, tmp_path: Path) -> None:
    filter_items(made.data, tmp_path, vision=[Mute()])
    (first,) = read_step(tmp_path).settings["vision"]
    filter_items(made.data, tmp_path, vision=[Mute()])
    assert read_step(tmp_path).settings["vision"] == [first]
    assert first.startswith("test/mute ")


def test_refuses_runs_without_replies_to_the_data(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    blurred = snellen.evaluate(
        "random",
        str(made.data),
        out=tmp_path,
        html=False,
        variant=snellen.Variant(control="wrong-image", circular="early"),
    )[0]
    with pytest.raises(UsageError, match="--control wrong-image"):
        filter_items(made.data, tmp_path / "a", runs=[blurred.path])
    once = snellen.evaluate("random", str(made.data), out=tmp_path, html=False)[0]
    with pytest.raises(UsageError, match="asked each question once"):
        filter_items(made.data, tmp_path / "b", runs=[once.path])
    with pytest.raises(UsageError, match="is the same text-only run as another"):
        filter_items(made.data, tmp_path / "d", runs=[asked[1] / RUNS_FOLDER], text_only=made.models(["text-1"]))
    with pytest.raises(UsageError, match="no reply to a question of these data"):
        filter_items(made.translated, tmp_path / "c", runs=[asked[1] / RUNS_FOLDER])


def test_an_item_that_was_changed_counts_as_not_asked(
    made: Planted, asked: tuple[FilterResult, Path], tmp_path: Path
) -> None:
    rows = read_rows(made.data)
    for row in rows:
        row["image_path"] = str(made.folder / row["image_path"]) if row["image_path"] else ""
    fixed = min(made.ids_of("wrong_key"))
    changed = next(row for row in rows if row["index"] == fixed)
    changed["answer"] = next(label for label in "ABCD" if label != changed["answer"])
    path = write_rows(tmp_path / "fixed.tsv", rows)
    result = filter_items(path, tmp_path / "out", runs=[asked[1] / RUNS_FOLDER])
    found = decisions(tmp_path / "out")
    assert found[fixed].rule == "failed"
    assert {evidence.verdict for evidence in found[fixed].evidence} == {"not asked"}
    assert sum("another question" in notice for notice in result.notices) == 8


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_bad_rows_are_flagged_and_the_others_asked(made: Planted, tmp_path: Path) -> None:
    """A row whose answer is no option, one without question, one without answer."""
    rows = read_rows(made.data)[:20]
    for row in rows:
        row["image_path"] = str(made.folder / row["image_path"]) if row["image_path"] else ""
    rows[1]["answer"] = "Z"
    rows[3] = {**dict.fromkeys(rows[3], ""), "index": rows[3]["index"]}
    rows[5]["answer"] = ""
    path = write_rows(tmp_path / "bad.tsv", rows)
    result = filter_items(path, tmp_path / "out", vision=made.models(["vision-1", "vision-5"]))
    found = decisions(tmp_path / "out")
    assert found[rows[1]["index"]].rule == "unreadable"
    assert "none of the options" in found[rows[1]["index"]].reason
    assert found[rows[3]["index"]].rule == "unreadable"
    assert found[rows[5]["index"]].rule == "no answer"
    assert result.problems == {"unreadable": 2, "no answer": 1}
    expected = {
        row["index"]
        for number, row in enumerate(rows)
        if number not in (1, 3, 5)
        and not any(row["index"] in made.right[model] for model in ("vision-1", "vision-5"))
        and not any(row["index"] in made.silent[model] for model in ("vision-1", "vision-5"))
    }
    assert flags(tmp_path / "out", "vision-none") == expected
    assert len(found) == 20


class Painter:
    """A model that looks at the picture, so that a broken one shows."""

    identity = snellen.Identity("test", "painter")
    capabilities = snellen.Capabilities()

    def answer(self, request: Generate) -> str:
        return f"{len(request.images())} pictures, so A"


def test_a_broken_image_is_flagged_as_such(made: Planted, tmp_path: Path) -> None:
    result = filter_items(made.data, tmp_path, vision=[Painter()])
    assert flags(tmp_path, "unreadable") == made.ids_of("broken_picture", "lost_picture")
    assert result.undecided == 0
    reasons = {decisions(tmp_path)[name].reason for name in made.ids_of("lost_picture")}
    assert all("there is no image file" in reason for reason in reasons)


def test_all_images_may_be_broken(made: Planted, tmp_path: Path) -> None:
    bad = made.ids_of("broken_picture")
    rows = [row for row in read_rows(made.data) if row["index"] in bad]
    for row in rows:
        row["image_path"] = str(made.folder / row["image_path"])
    path = write_rows(tmp_path / "broken.tsv", rows)
    result = filter_items(path, tmp_path / "out", vision=[Painter()])
    assert (result.kept, result.flagged, result.problems) == (0, 0, {"unreadable": 3})
    assert result.rules[0].expected is None


def yes_no_data(folder: Path) -> tuple[Path, list[str]]:
    """Three pictures with two questions each, and what two models say of them.

    Pair 1: model a right on both. Pair 2: each model right on one question. Pair 3: model b says
    nothing to one question, and is right on the other; model a is wrong on one.
    """
    golds = ["Yes", "No"] * 3
    rows = [
        {
            "index": str(number),
            "question": f"Is it so, {number}?",
            "answer": gold,
            "unit": f"picture {number // 2}",
            "category": "existence",
        }
        for number, gold in enumerate(golds)
    ]
    replies = {"a": ["Yes", "No", "Yes", "Yes", "No", "No"], "b": ["No", "No", "No", "No", "Yes"]}
    data = folder / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = []
    for name, texts in replies.items():
        path = folder / f"{name}.jsonl"
        recorded = [{"index": str(n), "prediction": text} for n, text in enumerate(texts)]
        path.write_text("".join(json.dumps(row) + "\n" for row in recorded))
        models.append(f"replay/{path}")
    return data, models


def test_yes_no_questions_are_judged_by_the_pair(tmp_path: Path) -> None:
    data, models = yes_no_data(tmp_path)
    result = filter_items(data, tmp_path / "pairs", vision=models)
    rules = {name: each.rule for name, each in decisions(tmp_path / "pairs").items()}
    actions = {name: each.action for name, each in decisions(tmp_path / "pairs").items()}
    assert [actions[str(number)] for number in range(6)] == ["keep"] * 2 + ["flag"] * 4
    assert [rules[str(number)] for number in range(2, 6)] == ["vision-none"] * 2 + ["failed"] * 2
    assert "both questions of the pair" in decisions(tmp_path / "pairs")["2"].reason
    assert result.pairs == 3
    # Two models guess a pair with 1/4 each: (3/4)^2 of six items.
    assert result.rules[0].expected == pytest.approx(6 * 9 / 16)
    single = filter_items(data, tmp_path / "single", vision=models, rules=FilterRules(pairs=False))
    assert flags(tmp_path / "single", "vision-none") == {"4"} - {"4"}
    assert (single.pairs, single.rules[0].expected) == (0, pytest.approx(6 / 4))


class Mute:
    """A model that says nothing that could be right."""

    identity = snellen.Identity("test", "mute")
    capabilities = snellen.Capabilities()

    def answer(self, request: Generate) -> str:
        return "I cannot tell."


def test_the_bundled_benchmark_by_name(tmp_path: Path) -> None:
    result = filter_items("eyechart", tmp_path, text_only=["random"], vision=[Mute()])
    assert result.items == len(open_items("eyechart"))
    assert result.kept + result.flagged == result.items
    assert any("what it misses says little" in notice for notice in result.notices)


class ByDraw:
    """A text-only model that is right in two of three draws of even items, in one of odd ones."""

    identity = snellen.Identity("test", "by-draw")
    capabilities = snellen.Capabilities(inputs=frozenset({"text"}))

    def answer(self, request: Generate) -> str:
        right = request.repeat < (2 if int(request.ref.sample) % 2 == 0 else 1)
        return "red" if right else "blue"


def test_repeated_questions_are_right_if_most_draws_are(tmp_path: Path) -> None:
    """Runs with --repeats, as MMMU-Pro asked each of its text-only models ten times."""
    rows = [{"index": n, "question": f"Colour {n}?", "A": "red", "B": "blue", "answer": "A"} for n in range(4)]
    data = tmp_path / "colours.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = snellen.evaluate(ByDraw(), str(data), out=tmp_path / "runs", repeats=3, html=False)[0]
    options = FilterOptions(circular="off")
    result = filter_items(data, tmp_path / "out", runs=[run.path], options=options)
    assert result.models[0].kind == "text-only"
    assert flags(tmp_path / "out", "text-majority") == {"0", "2"}
