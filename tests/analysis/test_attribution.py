"""Two runs that differ in several things at once: what is told apart, by what, and what is not."""

from __future__ import annotations

import hashlib
import io
import json
import random
from pathlib import Path
from typing import NamedTuple

import pytest
from made_runs import Told, rows, run, write
from rich.console import Console
from typed import said

import snellen
from snellen.analysis.causes.why import CauseContribution, DifferenceSplit
from snellen.api.why import explain
from snellen.core.errors import UsageError
from snellen.core.request import Request
from snellen.report.documents.why import sentence, why_document
from snellen.report.writers import json_text, markdown
from snellen.report.writers.terminal import print_document
from snellen.store.runs import RunFolder

WORDS = {"one": "Answer with the letter.", "two": "Answer with the  letter."}
SKILL = {("weak", "one"): 0.4, ("weak", "two"): 0.7, ("strong", "one"): 0.8, ("strong", "two"): 0.9}
"""Share that a model has right under a prompt: it matters more to the weak one."""


def scale(request: Request) -> float:
    """A number in 0..1 that belongs to the sample, so that the models err alike."""
    return random.Random(hashlib.sha256(request.ref.sample.encode()).digest()).random()


def answering(name: str, **facts: str) -> Told:
    def reply(request: Request) -> str:
        prompt = "two" if WORDS["two"] in request.messages[-1].text() else "one"
        right = "AB"[int(request.ref.sample) % 2]
        return right if scale(request) < SKILL[name, prompt] else "C"

    return Told(name, reply, facts)


class Bench(NamedTuple):
    """One data file, asked in two ways."""

    folder: Path

    def asked(self, model: Told, prompt: str, out: str = "", **how: object) -> RunFolder:
        out = out or f"{model.identity.name}-{prompt}"
        return run(model, self.folder / prompt / "q.toml", self.folder / out, **how)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    write(tmp_path / "q.tsv", rows(60))
    for name, words in WORDS.items():
        (tmp_path / name).mkdir()
        toml = f'data = "../q.tsv"\n[prompt]\nchoose = "{words}"\n'
        (tmp_path / name / "q.toml").write_text(toml)
    return Bench(tmp_path)


def by_causes(found: DifferenceSplit) -> dict[str, CauseContribution]:
    assert sum(one.points for one in found.shares) == pytest.approx(found.observed.difference)
    return {" or ".join(one.causes): one for one in found.shares}


def printed(found: DifferenceSplit, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_document(why_document(found), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def score(folder: RunFolder) -> float:
    value = folder.report().summary.headline.value
    assert value is not None
    return value


def test_causes_that_two_runs_cannot_separate_form_one_part(bench: Bench) -> None:
    first, second = bench.asked(answering("weak"), "one"), bench.asked(answering("strong"), "two")
    found = explain(first.path, second.path).why
    ((name, share),) = by_causes(found).items()
    assert name == "prompt or model"
    assert (share.method, share.least, share.most) == ("together", share.points, share.points)
    text = printed(found)
    assert "prompt or the model: they differ together" in text
    bounds = next(line for line in text.splitlines() if line.startswith("  prompt"))
    assert f"0.0 to +{share.points:.1f}" in bounds
    assert "--ask" in text
    assert "prompt or the model" in markdown.write(why_document(found))
    assert '"method":"together"' in json_text.write(why_document(found))


def test_third_run_separates_prompt_and_model(bench: Bench) -> None:
    """A prompt that is worth nothing, and a model that is worth everything."""
    blank = {("weak", "one"): 0.5, ("weak", "two"): 0.5, ("strong", "one"): 0.9, ("strong", "two"): 0.9}
    models = {name: answering(name) for name in ("weak", "strong")}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in blank.items():
            patch.setitem(SKILL, key, value)
        first, second = bench.asked(models["weak"], "one"), bench.asked(models["strong"], "two")
        third = bench.asked(models["strong"], "one")
    parts = by_causes(explain(first.path, second.path, others=[third.path]).why)
    assert parts["prompt"].points == 0.0
    assert parts["prompt"].interval is not None
    assert parts["prompt"].interval.low < 0 < parts["prompt"].interval.high
    assert parts["model"].points == pytest.approx(score(second) - score(first))
    assert {one.method for one in parts.values()} == {"measured"}
    assert {(one.orders, one.possible) for one in parts.values()} == {(1, 2)}


def test_runs_in_the_same_folder_are_found_and_named(bench: Bench) -> None:
    """All four combinations: the Shapley value, with its least and most, either way round."""
    runs = {
        (name, prompt): bench.asked(answering(name), prompt, out="all")
        for name in ("weak", "strong")
        for prompt in WORDS
    }
    scores = {key: score(one) for key, one in runs.items()}
    first, second = runs["weak", "one"].path, runs["strong", "two"].path
    found = explain(first, second).why
    parts = by_causes(found)
    early = scores["weak", "two"] - scores["weak", "one"]
    late = scores["strong", "two"] - scores["strong", "one"]
    assert early > late > 0
    assert parts["prompt"].points == pytest.approx((early + late) / 2)
    assert (parts["prompt"].least, parts["prompt"].most) == pytest.approx((late, early))
    assert {one.name for one in found.between} == {runs["weak", "two"].name, runs["strong", "one"].name}
    assert f"{runs['weak', 'two'].name} tells causes apart: as strong in prompt" in printed(found)
    back = by_causes(explain(second, first).why)
    for name, share in parts.items():
        assert back[name].points == pytest.approx(-share.points)
        assert (back[name].least, back[name].most) == pytest.approx((-share.most, -share.least))
        assert (back[name].gained, back[name].lost) == (share.lost, share.gained)


def test_refuses_a_third_run_that_separates_nothing(bench: Bench) -> None:
    first, second = bench.asked(answering("weak"), "one"), bench.asked(answering("strong"), "two")
    other = bench.asked(answering("weak", dtype="int8"), "two", out="other")
    with pytest.raises(UsageError, match="tells nothing of what sets weak and strong apart"):
        explain(first.path, second.path, others=[other.path])


def test_replies_are_read_again_where_model_and_rule_differ(tmp_path: Path) -> None:
    """VLMEvalKit's rule reads the b of "blue" as an option, which the weak model says more often:
    all four combinations are known without asking."""
    table = rows(60, golds="C")
    for row in table:
        row.update(A="green", B="red", C="blue")
    data = write(tmp_path / "mine.tsv", table)
    models = {
        name: Told(name, lambda request, share=share: f"The answer is {'blue' if scale(request) < share else 'green'}")  # type: ignore[misc]
        for name, share in (("weak", 0.3), ("strong", 0.8))
    }
    scores, runs = {}, {}
    for name, model in models.items():
        for rule in ("snellen", "vlmevalkit"):
            variant = snellen.Variant(rule=None if rule == "snellen" else rule)
            runs[name, rule] = run(model, data, tmp_path / f"{name}-{rule}", variant=variant)
            scores[name, rule] = score(runs[name, rule])
    found = explain(runs["weak", "snellen"].path, runs["strong", "vlmevalkit"].path).why
    parts = by_causes(found)
    early = scores["weak", "vlmevalkit"] - scores["weak", "snellen"]
    late = scores["strong", "vlmevalkit"] - scores["strong", "snellen"]
    assert late < early < 0
    assert parts["extraction"].points == pytest.approx((early + late) / 2)
    assert (parts["extraction"].least, parts["extraction"].most) == pytest.approx((late, early))
    assert {one.method for one in parts.values()} == {"read again"}
    data.unlink()
    gone = explain(runs["weak", "snellen"].path, runs["strong", "vlmevalkit"].path).why
    assert "model or extraction" in by_causes(gone)
    assert any("replies cannot be read again" in notice for notice in gone.notices)


def test_separates_gold_and_model_by_the_new_gold(tmp_path: Path) -> None:
    table = rows(40)
    first = run(answering("weak"), write(tmp_path / "mine.tsv", table), tmp_path / "a")
    for row in table[:10]:
        row["answer"] = "C"
    (tmp_path / "new").mkdir()
    newer = write(tmp_path / "new" / "mine.tsv", table)
    second = run(answering("strong"), newer, tmp_path / "b")
    crossed = run(answering("weak"), newer, tmp_path / "c")
    parts = by_causes(explain(first.path, second.path).why)
    assert set(parts) == {"data", "model"}
    moves = score(crossed) - score(first)
    assert parts["data"].least <= moves <= parts["data"].most
    assert parts["data"].method == "read again"


def test_token_limit_that_no_reply_reaches_is_not_a_cause(tmp_path: Path) -> None:
    data = write(tmp_path / "mine.tsv", rows(30))

    def wordy(request: Request) -> snellen.Generated:
        words = f"I have looked at it for long and say {'AB'[int(request.ref.sample) % 2]}".split()
        most = request.settings.max_new_tokens
        return snellen.Generated(" ".join(words[:most]), "length" if most < len(words) else "stop")

    limit = snellen.Variant(max_new_tokens=6)
    short = run(Told("plain", lambda _: "A"), data, tmp_path, variant=limit)
    other = run(Told("other", lambda _: "B"), data, tmp_path)
    assert set(by_causes(explain(short.path, other.path).why)) == {"model"}
    cut = run(Told("wordy", wordy), data, tmp_path, variant=limit)
    assert set(by_causes(explain(cut.path, other.path).why)) == {"decoding or model"}


@pytest.mark.parametrize(("pictures", "claims"), [(4, False), (20, False), (30, True)])
def test_no_interval_of_no_width(tmp_path: Path, pictures: int, claims: bool) -> None:
    """Always-yes against always-no on yes/no pairs: every picture's difference is 0. Then one
    picture in three has two questions with yes."""
    from PIL import Image

    (tmp_path / "im").mkdir()
    table = []
    for at in range(pictures):
        Image.new("RGB", (8, 8), (at * 8, 0, 0)).save(tmp_path / f"im/{at}.png")
        for ask in (0, 1):
            answer = "Yes" if claims and at % 3 == 0 else ("Yes", "No")[ask]
            row = {"id": f"{at}-{ask}", "image_path": f"im/{at}.png", "answer": answer}
            table.append({**row, "question": f"Is thing {ask} of {at} there?"})
    data = write(tmp_path / "pairs.tsv", table)
    runs = [run(Told(said, lambda _, said=said: said), data, tmp_path) for said in ("Yes", "No")]
    found = explain(runs[0].path, runs[1].path).why
    (share,) = found.shares
    assert (share.gained + share.lost, found.observed.clusters) == (2 * pictures, pictures)
    assert (share.interval is not None) == (found.observed.interval is not None) == claims
    text = printed(found)
    assert "0.0 to 0.0" not in text
    assert (found.observed.p is None) == (pictures < 5)
    if not claims:
        assert found.observed.reason in text.replace("\n", " ")


def test_separates_judge_and_model_by_the_other_judge(tmp_path: Path) -> None:
    layouts = Path(__file__).parents[1] / "benchmarks" / "layouts"

    def graded(name: str, reply: str, grade: str) -> RunFolder:
        judge = Told(f"grades {grade}", lambda _: grade)
        return snellen.evaluate(
            [Told(name, lambda _: reply)],
            ["mm-vet"],
            out=tmp_path / f"{name}-{grade}",
            html=False,
            judges=[judge],
            variant=snellen.Variant(data=str(layouts / "mm-vet.tsv")),
        ).runs[0]

    first, second = graded("weak", "a reply", "0.2"), graded("strong", "another", "0.9")
    alone = explain(first.path, second.path).why
    assert set(by_causes(alone)) == {"model or judge"}
    assert "to measure it: the same command with --ask" in printed(alone)
    third = graded("weak", "a reply", "0.9")
    parts = by_causes(explain(first.path, second.path, others=[third.path]).why)
    assert parts["judge"].points == pytest.approx(70.0)
    assert parts["model"].points == pytest.approx(0.0)


def test_questions_asked_several_times(tmp_path: Path) -> None:
    """Draws of one model are chance, however many there are; of two models they are the model's,
    also where the first draws are alike."""
    data = write(tmp_path / "mine.tsv", rows(30))

    def drawing(name: str, alike: bool) -> Told:
        counts: dict[str, int] = {}

        def reply(request: Request) -> str:
            draw = counts[request.ref.sample] = counts.get(request.ref.sample, 0) + 1
            if draw == 1 and alike:
                return "A"
            return random.Random(f"{name} {request.ref.sample} {draw}").choice("AB")

        return Told(name, reply)

    often = run(drawing("one", True), data, tmp_path / "a", repeats=3)
    again = run(drawing("one", False), data, tmp_path / "b", repeats=3)
    once = run(drawing("one", True), data, tmp_path / "c")
    other = run(drawing("two", True), data, tmp_path / "d", repeats=3)
    for run_, causes in ((again, "chance"), (once, "chance"), (other, "model")):
        assert set(by_causes(explain(often.path, run_.path).why)) == {causes}


@pytest.mark.parametrize("known", [(), ("strong-one",), ("weak-two",)])
@pytest.mark.parametrize("seed", range(4))
def test_ranges_contain_the_effects_of_every_order(
    bench: Bench, known: tuple[str, ...], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever two causes do together: each moves scores in one direction, by a drawn amount."""
    rng = random.Random(seed)
    low, *middle, high = sorted(rng.random() for _ in range(4))
    rng.shuffle(middle)
    drawn = dict(zip([("weak", "two"), ("strong", "one")], middle, strict=True))
    for key, value in {("weak", "one"): low, **drawn, ("strong", "two"): high}.items():
        monkeypatch.setitem(SKILL, key, value)
    runs = {f"{name}-{prompt}": bench.asked(answering(name), prompt) for name in ("weak", "strong") for prompt in WORDS}
    scores = {name: score(one) for name, one in runs.items()}
    others = [runs[name].path for name in known]
    found = explain(runs["weak-one"].path, runs["strong-two"].path, others=others).why
    moves = {
        "prompt": (scores["weak-two"] - scores["weak-one"], scores["strong-two"] - scores["strong-one"]),
        "model": (scores["strong-one"] - scores["weak-one"], scores["strong-two"] - scores["weak-two"]),
    }
    ranges = {each.cause: each for each in found.ranges}
    for cause, effects in moves.items():
        assert ranges[cause].least - 1e-9 <= min(effects)
        assert max(effects) <= ranges[cause].most + 1e-9
    for share in found.shares:
        if len(share.causes) == 1:
            each = ranges[share.causes[0]]
            assert (share.least, share.most) == pytest.approx((each.least, each.most))


def test_the_sentence_to_quote_has_n_interval_and_test(bench: Bench) -> None:
    first, second = bench.asked(answering("weak"), "one"), bench.asked(answering("strong"), "one")
    found = explain(first.path, second.path).why
    gap = score(second) - score(first)
    quoted = sentence(found)
    assert quoted.startswith(f"On q, strong scores {gap:.1f} points higher than weak (")
    assert "n = 60 questions that both answered; 95 % CI +" in quoted
    assert "McNemar's score test" in quoted
    interval = quoted.split("95 % CI ")[1].split(";")[0]
    assert quoted.endswith(f"is attributed to the model (+{gap:.1f}; 95 % CI {interval}).")
    assert f"to quote: {quoted}" in printed(found).replace("\n", " ")
    back = sentence(explain(second.path, first.path).why)
    assert f"weak scores {gap:.1f} points lower than strong" in back
    same = bench.asked(answering("weak"), "one", out="again", fresh="again")
    assert sentence(explain(first.path, same.path).why).endswith("No score differs.")


def test_the_step_of_a_recipe_that_changed_the_score(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Four checkpoints of which the third is better; the others differ in name alone."""
    skill = {"a": 0.4, "b": 0.4, "c": 0.8, "d": 0.8}
    models = {
        name: Told(
            name, lambda request, share=share: "AB"[int(request.ref.sample) % 2] if scale(request) < share else "C"
        )  # type: ignore[misc]
        for name, share in skill.items()
    }
    paths = [str(bench.asked(model, "one", out=name).path) for name, model in models.items()]
    code, out, _ = said(capsys, "why", *paths, "--json")
    steps = json.loads(out)["steps"]
    assert code == 0
    assert [(one["split"]["first"], one["split"]["second"]) for one in steps] == [("a", "b"), ("b", "c"), ("c", "d")]
    tested = [one["p_holm"] for one in steps]
    assert [p < 0.05 for p in tested] == [False, True, False]
    assert tested[1] == pytest.approx(min(1.0, 3 * steps[1]["split"]["observed"]["p"]))
    _, out, _ = said(capsys, "why", *paths)
    text = " ".join(out.split())
    assert "1 of the 3 steps from a to d changed the score at 0.05" in text
    assert "b to c (+" in text
    code, _, err = said(capsys, "why", *paths, "--ask", "yes")
    assert (code, err.count("\n")) == (2, 1)
    assert "give the two runs of one step" in err


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_narrow_terminal_keeps_causes_points_and_method(bench: Bench, width: int) -> None:
    """What is left out is named; no line is wider than the terminal."""
    first, second = bench.asked(answering("weak"), "one"), bench.asked(answering("strong"), "two")
    lines = printed(explain(first.path, second.path).why, width).splitlines()
    start = lines.index("attributed")
    heads, row = lines[start + 1].split(), lines[start + 3]
    assert row.startswith("prompt or the model")
    assert row.rstrip().endswith("together")
    assert ("least" in heads) == (width > 60)
    assert any(line.startswith("not shown, for want of width") for line in lines) == (width < 140)
    assert all(len(line) <= width for line in lines[start : start + 6])
