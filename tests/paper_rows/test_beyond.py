"""Rows that no paper has: what a user types, and what must come of it."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
import shutil
import subprocess
import sys
from collections import Counter
from http.server import ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.paper_rows.user import User, encoded_image, wilson, words_of

ROOT = Path(__file__).parents[2]

FAILS = """
import re

class Fails:
    def answer(self, request):
        number = int(re.search("number ([0-9]+)", request.text())[1])
        if number < 4:
            raise ConnectionError("down")
        if number < 8:
            return "I'm sorry, I cannot help with that."
        return "" if number < 10 else "A"
"""


@pytest.mark.row("Typed outcomes, bounds, withheld headlines", page="outcomes.md")
def test_outcomes_bounds_and_withheld_headlines(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 10)
    user.write("my_model.py", FAILS)
    user.run("snellen run --load my_model.py -m Fails -b mine.jsonl --no-html", code=1)
    summary = user.report("Fails")["summary"]
    # Four failed. Of the other 36 the golds A from 12 on are right, which are seven.
    assert summary["headline"]["value"] == pytest.approx(100 * 7 / 36)
    assert (summary["n"], summary["total"]) == (36, 40)
    counts = {name: count for name, count in summary["outcomes"].items() if count}
    assert counts == {"answered": 30, "refused": 4, "empty": 2, "failed": 4}
    # All four wrong, or all four right.
    assert summary["bounds"] == {"worst": 100 * 7 / 40, "best": 100 * 11 / 40}
    user.run(
        "snellen run --load my_model.py -m Fails -b mine.jsonl --failures count-wrong --no-html --out wrong", code=1
    )
    assert user.score("Fails", "wrong") == 100 * 7 / 40
    printed = user.run(
        "snellen run --load my_model.py -m Fails -b mine.jsonl --failures withhold>5% --no-html --out none", code=1
    )
    assert user.score("Fails", "none") is None
    assert "4 of 40 samples failed or are missing, more than 5 %" in printed.text


KNOWN = """
import re

class Known:
    def __init__(self, plain: int = 10, reworded: int = 14):
        self.plain, self.reworded = plain, reworded

    def answer(self, request):
        text = request.text()
        number = int(re.search("number ([0-9]+)", text)[1])
        right = self.reworded if "letter" in text else self.plain
        return ("ABCD" if number < right else "DABC")[number % 4]
"""
"""Right on the first questions of forty, on more of them where the prompt asks for a letter."""


@pytest.mark.row("Why two runs differ, or a run and a published number", page="why.md")
def test_why_two_runs_differ(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 10)
    user.write("known.py", KNOWN)
    user.run("snellen run --load known.py -m Known -b mine.jsonl --no-html --out a")
    user.run("snellen run --load known.py -m Known:plain=20,reworded=30 -b mine.jsonl:prompt=llava --no-html --out b")
    two = user.run("snellen why a b --each 0 --json").json()
    assert two["observed"]["difference"] == 100 * (30 - 10) / 40
    [together] = two["shares"]
    assert (together["method"], set(together["causes"])) == ("together", {"prompt", "model"})
    asked = user.run("snellen why a b --load known.py --ask yes --each 0 --json").json()
    shares = {share["causes"][0]: share for share in asked["shares"]}
    # Right are 10 and 14 of the smaller, 20 and 30 of the larger: either may be switched first.
    for cause, orders in (("prompt", (14 - 10, 30 - 20)), ("model", (20 - 10, 30 - 14))):
        assert shares[cause]["method"] == "measured"
        assert shares[cause]["points"] == pytest.approx(100 * sum(orders) / 2 / 40)
        assert (shares[cause]["least"], shares[cause]["most"]) == pytest.approx(
            tuple(100 * order / 40 for order in orders)
        )
    assert sum(share["points"] for share in asked["shares"]) == pytest.approx(50.0)


@pytest.mark.row("Protocol cards with digests", page="cards.md")
def test_cards(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD")
    plain = user.run("snellen info mine.jsonl --card --json").json()
    reworded = user.run("snellen info mine.jsonl:prompt=llava --card --json").json()
    # Of another prompt the digest of that part alone differs, and so that of the card.
    assert _differing(plain["parts"], reworded["parts"]) == {"prompt"}
    assert plain["digest"] != reworded["digest"]
    assert user.run("snellen info mine.jsonl --card --json").json() == plain
    # With another gold the same replies are read as before, and are right or wrong otherwise.
    user.write_choices("mine.jsonl", "ABCC")
    other = user.run("snellen info mine.jsonl --card --json").json()
    assert "metric" in _differing(plain["parts"], other["parts"])
    assert "prompt" not in _differing(plain["parts"], other["parts"])
    assert user.run("snellen info mmbench --card --json").json()["parts"].keys() == plain["parts"].keys()


def _differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {part for part, digest in one.items() if other[part] != digest}


@pytest.mark.row("The same replies by other tools' rules", page="other-tools.md")
def test_rules_of_other_tools(user: User) -> None:
    options = {"A": "red", "B": "green", "C": "blue"}
    replies = {"1": ("C", "The answer is blue"), "2": ("B", "B"), "3": ("A", "I think (A) or so")}
    user.write(
        "theirs.json",
        json.dumps(
            [
                {"index": name, "question": f"{name}: which?", **options, "answer": gold, "prediction": reply}
                for name, (gold, reply) in replies.items()
            ]
        ),
    )
    found = user.run("snellen score theirs.json --rule all --json").json()
    scores = {rule: one["headline"]["value"] for rule, one in found["rules"].items()}
    # VLMEvalKit takes the letter that follows "answer is", the B of blue.
    assert scores == pytest.approx({"snellen": 100.0, "vlmevalkit": 200 / 3})
    [apart] = found["disagreements"]
    assert apart["id"] == "1"
    assert {rule: one["value"] for rule, one in apart["readings"].items()} == {"snellen": "C", "vlmevalkit": "B"}
    alone = user.run("snellen score theirs.json --rule vlmevalkit --json").json()
    assert alone["headline"]["value"] == scores["vlmevalkit"]


WON = """
import re

class Right:
    def __init__(self, wrong: str = ""):
        self.wrong = {int(number) for number in wrong.split("-") if number}

    def answer(self, request):
        number = int(re.search("number ([0-9]+)", request.text())[1])
        return ("DABC" if number in self.wrong else "ABCD")[number % 4]
"""


@pytest.mark.row("Error bars, paired tests, power", page="statistics.md")
def test_error_bars_and_paired_tests(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 10)
    user.write("my_model.py", WON)
    first, second = range(12), (30, 31)
    for wrong in (first, second):
        user.run(
            "snellen run --load my_model.py -m Right:wrong=NUMBERS -b mine.jsonl --no-html",
            NUMBERS="-".join(map(str, wrong)),
        )
    report = user.report("0-1-2")["summary"]["headline"]["interval"]
    assert [report["low"], report["high"]] == pytest.approx(wilson(28, 40))
    found = user.run("snellen compare snellen-results --json").json()
    [pair] = found["pairs"]
    won, lost = len(first), len(second)
    assert abs(pair["difference"]) == 100 * (won - lost) / 40
    # McNemar (1947): z = (won - lost) / sqrt(won + lost); exactly by the binomial.
    z = (won - lost) / math.sqrt(won + lost)
    assert pair["p"] == pytest.approx(math.erfc(z / math.sqrt(2)))
    tail = sum(math.comb(won + lost, at) for at in range(lost + 1)) / 2 ** (won + lost)
    assert pair["p_exact"] == pytest.approx(2 * tail)
    low, high = sorted(abs(pair["interval"][end]) / 100 for end in ("low", "high"))
    for end in (low, high):
        assert abs(_tango(won, lost, 40, end)) == pytest.approx(1.959964, abs=1e-4)
    printed = user.run("snellen compare snellen-results").text
    assert f"+{won} –{lost}" in printed or f"+{lost} –{won}" in printed


def _tango(won: int, lost: int, n: int, difference: float) -> float:
    """The standard errors between what was seen and a difference of shares (Tango 1998, eq. 3)."""
    linear = -won - lost + (2 * n - won + lost) * difference
    constant = -lost * difference * (1 - difference)
    share = (math.sqrt(linear**2 - 8 * n * constant) - linear) / (4 * n)
    return (won - lost - n * difference) / math.sqrt(n * (2 * share + difference * (1 - difference)))


THREE_OF_FOUR = """
import pathlib, re

class ThreeOfFour:
    concurrency = 1

    def answer(self, request):
        with pathlib.Path("asked.txt").open("a") as file:
            file.write(".")
        number = int(re.search("number ([0-9]+)", request.text())[1])
        return "ABCA"[number % 4]
"""


@pytest.mark.row("Stopping when the question is answered", page="anytime.md")
def test_stopping_early(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 100)
    user.write("my_model.py", THREE_OF_FOUR)
    user.run("snellen run --load my_model.py -m ThreeOfFour -b mine.jsonl --until +-10 --no-html")
    report = user.report("ThreeOfFour")
    anytime = report["summary"]["metrics"]["anytime"]["interval"]
    assert anytime["low"] <= 75.0 <= anytime["high"]
    assert anytime["high"] - anytime["low"] <= 20.0
    # Half of the questions are enough, and the same command asks no more.
    asked = report["summary"]["n"]
    assert 10 <= asked <= 200
    user.run("snellen run --load my_model.py -m ThreeOfFour -b mine.jsonl --until +-10 --no-html")
    assert user.report("ThreeOfFour")["summary"]["n"] == asked
    assert len((user.folder / "asked.txt").read_text()) == asked


SEES = """
class Sees:
    def answer(self, request):
        images = request.images()
        if not images:
            return "A"
        red, _, blue = images[0].getpixel((3, 3))
        return "A" if red > blue else "B"
"""


def write_shades(user: User, count: int = 40) -> dict[str, str]:
    """Questions about squares of their own shade, more red or more blue. Returns the golds."""
    rows = []
    for at in range(count):
        url = encoded_image(at)
        red, blue = at * 37 % 256, at % 256
        rows.append(
            {
                "index": at,
                "question": f"Which colour has number {at}?",
                "A": "red",
                "B": "blue",
                "answer": "A" if red > blue else "B",
                "image": url,
            }
        )
    user.write_rows("shades.jsonl", rows)
    return {str(row["index"]): str(row["answer"]) for row in rows}


@pytest.mark.row("What a score owes to the images", page="controls.md")
def test_gains_of_a_score_from_images(user: User) -> None:
    golds = write_shades(user)
    user.write("my_model.py", SEES)
    user.run("snellen run --load my_model.py -m Sees -b shades.jsonl --no-html")
    user.run("snellen run --load my_model.py -m Sees -b shades.jsonl --control blind --no-html")
    user.run("snellen run --load my_model.py -m Sees -b shades.jsonl --control wrong-image:3 --no-html")
    found = user.run("snellen analyse gains snellen-results --json").json()
    gains = {gain["value"]: gain for gain in found["gains"]}
    # Blind it says A.
    of_a = 100 * sum(gold == "A" for gold in golds.values()) / len(golds)
    assert (gains["blind"]["base_score"], gains["blind"]["score"]) == (100.0, of_a)
    assert gains["blind"]["gain"] == pytest.approx(100 - of_a)
    assert gains["blind"]["answerable"]["value"] == pytest.approx(of_a)
    wrong = gains["wrong-image:3"]
    assert wrong["gain"] == pytest.approx(100 - wrong["score"])
    # By chance, two of the 40 would have kept their own shade or one of the same colour.
    assert 0 < wrong["score"] < 100
    assert wrong["interval"]["low"] < wrong["gain"] < wrong["interval"]["high"]


@pytest.mark.row("Plan, time, price and budget before a run, from a probe", page="planning.md")
def test_plan_from_a_probe(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 15)
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(words_of(body))
        return "A"

    url = user.serve(answer)
    user.run("snellen plan -m URL#tiny -b mine.jsonl --price tiny:input=1000,output=2000 --probe --json", URL=url)
    probed = {words for words in asked if "number" in words}
    planned = user.run(
        "snellen plan -m URL#tiny -b mine.jsonl --price tiny:input=1000,output=2000 --json", URL=url
    ).json()
    # Each reply is of 9 tokens in and 3 out, 0.015 dollars; the server is asked no more.
    assert {words for words in asked if "number" in words} == probed
    assert 0 < len(probed) <= 15
    assert planned["lines"][0]["estimate"]["requests"] == 60 - len(probed)
    assert planned["dollars"] == pytest.approx(0.015 * (60 - len(probed)))
    user.run(
        "snellen run -m URL#tiny -b mine.jsonl --price tiny:input=1000,output=2000 --budget 0.45usd --no-html",
        URL=url,
        code=1,
    )
    # The budget is for 30 replies, of which the probe had its part.
    numbers = Counter(words for words in asked if "number" in words)
    assert len(numbers) <= 30
    assert set(numbers.values()) == {1}
    user.run("snellen run -m URL#tiny -b mine.jsonl --price tiny:input=1000,output=2000 --no-html", URL=url)
    numbers = Counter(words for words in asked if "number" in words)
    assert (len(numbers), set(numbers.values())) == (60, {1})
    assert user.score("tiny") == 25.0


@pytest.mark.row("Two backends of one model", page="local-models.md#two-backends-of-one-model")
def test_two_backends(user: User) -> None:
    user.write_choices("mine.jsonl", "ABCD" * 5)
    always = user.serve(lambda body: "A")
    other = user.serve(lambda body: "B" if re.search("number 1[0-9]", words_of(body)) else "A")
    again = user.serve(lambda body: "A")
    same = user.run(
        "snellen parity -m FIRST#tiny -m SECOND#tiny -b mine.jsonl --json", FIRST=always, SECOND=again
    ).json()
    replies = {check["aspect"]: check for check in same["checks"]}["reply"]
    assert (same["equal"], replies["equal"], replies["compared"]) == (True, 20, 20)
    apart = user.run(
        "snellen parity -m FIRST#tiny -m SECOND#tiny -b mine.jsonl --json", FIRST=always, SECOND=other, code=1
    ).json()
    replies = {check["aspect"]: check for check in apart["checks"]}["reply"]
    # The second says B to the ten questions from 10 on.
    assert (apart["equal"], replies["equal"], replies["compared"]) == (False, 10, 20)


@pytest.mark.row("Extractors and judges are measured on labelled replies", page="analyses.md")
def test_extractors_are_measured(user: User) -> None:
    user.write_choices("mine.jsonl", "A" * 24)
    # The rule reads the letters and not the sentences; the extractor takes each for an A, while
    # people found one in eight of them to be nothing.
    rows = []
    for at in range(24):
        is_letter = at < 8
        rows.append(
            {
                "index": at,
                "question": f"Which is number {at}?",
                "A": f"pear {at}",
                "B": f"plum {at}",
                "answer": "A",
                "prediction": "A" if is_letter else f"It grows in the garden of house {at}.",
                "people": "A" if is_letter or at % 8 else "Z",
            }
        )
    user.write_rows("labelled.jsonl", rows)
    url = user.serve(lambda body: "A")
    found = user.run(
        "snellen score labelled.jsonl --extractor URL#tiny --columns label_answer=people --json", URL=url
    ).json()
    table, *_ = found["readings"]["tables"]
    measured = {(row["reader"], row["measure"]): row for row in table["rows"]}
    rule = measured["rule snellen", "precision"]
    assert (rule["share"], rule["replies"], rule["95 %"]) == (100.0, 8, pytest.approx(wilson(8, 8)))
    # Of 22 replies that say something, the rule reads 8.
    recall = measured["rule snellen", "recall"]
    assert (recall["share"], recall["replies"]) == (pytest.approx(100 * 8 / 22), 22)
    [model] = {reader for reader, _ in measured if "tiny" in reader and "+" not in reader and "rule" not in reader}
    read = measured[model, "precision"]
    assert (read["share"], read["replies"]) == (pytest.approx(100 * 14 / 16), 16)
    assert read["95 %"] == pytest.approx(wilson(14, 16))


@pytest.mark.row("What every benchmark's numbers rest on", page="evidence.md")
def test_evidence_of_numbers(user: User) -> None:
    # Verdicts of a script of MMBench's authors over 408 drawn replies.
    with gzip.open(ROOT / "tests/differential/sets/mmbench.authors.jsonl.gz", "rt") as file:
        head, *cases = map(json.loads, file)
    user.write_rows("data.jsonl", [{"index": case["id"], **case["cells"]} for case in cases])
    user.write_rows("out.jsonl", [{"index": case["id"], "prediction": case["reply"]} for case in cases])
    scored = user.run(
        "snellen score mmbench --data data.jsonl --predictions out.jsonl --rule official --out scored --json"
    ).json()
    # The rotations of a question have a verdict together.
    theirs = {case["id"]: case["credit"] for case in cases if case["credit"] is not None}
    assert scored["headline"]["value"] == pytest.approx(100 * sum(theirs.values()) / len(theirs))
    verdicts = {sample["id"]: sample["score"] for sample in user.samples("", "scored")}
    assert verdicts == theirs
    commit = head["source"]["commit"][:7]
    described = user.run("snellen info mmbench").text
    assert f"{len(theirs)} of {len(theirs)} verdicts of EvolvingLMMs-Lab/lmms-eval {commit}" in (described)
    assert "\nevidence       reproduced: " in described


DRAWS = """
import re

class Draws:
    def answer(self, request):
        number = int(re.search("number ([0-9]+)", request.text())[1])
        return "A" if request.repeat < number % 5 else "B"
"""
"""The first draws of a question are A: none of the first question, one of the second, and so on."""


@pytest.mark.row("Several draws of each question", page="repeats.md")
def test_several_draws(user: User) -> None:
    user.write_choices("mine.jsonl", "A" * 20)
    user.write("my_model.py", DRAWS)
    user.run("snellen run --load my_model.py -m Draws -b mine.jsonl --repeats 4 --no-html")
    draws = user.report("Draws")["summary"]["draws"]
    right = [number % 5 for number in range(20)]
    assert user.score("Draws") == pytest.approx(100 * sum(right) / 80)
    for k in (1, 2, 4):
        # Every choice of k of the four draws, at least one of them right, or most of them.
        best, most = 0.0, 0.0
        for of_question in right:
            marks = [at < of_question for at in range(4)]
            choices = list(itertools.combinations(marks, k))
            best += sum(any(choice) for choice in choices) / len(choices)
            most += sum((2 * sum(choice) > k) + (2 * sum(choice) == k) / 2 for choice in choices) / len(choices)
        assert draws["best"][str(k)] == pytest.approx(100 * best / 20)
        assert draws["majority"][str(k)] == pytest.approx(100 * most / 20)
    same = sum(math.comb(one, 2) + math.comb(4 - one, 2) for one in right) / (6 * 20)
    assert draws["same_answer"] == pytest.approx(100 * same)


COUNTS = """
import re

from snellen import Generated
from snellen.core.output import Usage

class Counts:
    def answer(self, request):
        number = int(re.search("number ([0-9]+)", request.text())[1])
        return Generated("A", usage=Usage(prompt_tokens=10, completion_tokens=2 ** (number % 6)))
"""


@pytest.mark.row("Score over the token budget of a reply", page="token-budgets.md")
def test_score_over_the_budget(user: User) -> None:
    user.write_choices("mine.jsonl", "AAAB" * 15)
    user.write("my_model.py", COUNTS)
    user.run("snellen run --load my_model.py -m Counts -b mine.jsonl --no-html")
    found = user.run("snellen analyse budget snellen-results --at 4,16,32 --json").json()
    [table] = found["tables"]
    tokens = [2 ** (number % 6) for number in range(60)]
    for row in table["rows"]:
        budget = row["budget"]
        right = sum(spent <= budget and number % 4 < 3 for number, spent in enumerate(tokens))
        used = sum(10 + min(spent, budget) for spent in tokens)
        assert row["cut"] == pytest.approx(sum(spent > budget for spent in tokens) / 60)
        assert row["score"] == pytest.approx(100 * right / 60)
        assert row["95 % interval"] == pytest.approx(wilson(right, 60))
        assert row["tokens a sample"] == pytest.approx(used / 60, abs=0.5)
        assert row["right per M tokens"] == pytest.approx(1e6 * right / used, abs=0.5)
    assert [row["budget"] for row in table["rows"]] == [4, 16, 32]


@pytest.mark.row("A route for every model's name", page="routes.md")
def test_a_route_for_every_name(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    own = user.run("snellen info Qwen2-VL-72B").text
    assert re.search("\nask it by +snellen run -m Qwen2-VL-72B-Instruct -b BENCHMARK\n", own)
    closed = user.run("snellen info GPT-4o").text
    assert "\nroute            API of openai" in closed
    assert "set OPENAI_API_KEY" in closed
    unknown = user.run("snellen info Qwen2-VL-7000B", code=2)
    assert "did you mean Qwen2-VL-72B" in unknown.remarks
    # What it says can be typed: a server on this machine stands in for the API.
    user.write_choices("mine.jsonl", "ABCD")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_BASE", user.serve(lambda body: "A"))
    user.run("snellen run -m gpt-4o -b mine.jsonl --no-html")
    assert user.score("gpt-4o") == 25.0


@pytest.mark.release
@pytest.mark.row("Checkpoints evaluated while they train", page="training.md")
def test_checkpoints_while_they_train(user: User) -> None:
    from training_runs import BROKEN, make_checkpoint

    for step, share in ((100, 0.0), (200, 1.0)):
        make_checkpoint(user.folder / "ckpts", step, share)
    first = user.run("snellen watch ckpts:device=cpu -b eyechart --limit 48 --for once").text
    early, final = (line for line in first.splitlines() if line.startswith("step"))
    assert early.startswith("step 100: ")
    assert " over step 100 (" in final
    # The same weights, asked by the ordinary command.
    user.run("snellen run -m snellen/tiny:device=cpu -b eyechart --limit 48 --no-html --out alone")
    assert final.startswith(f"step 200: {user.score('tiny', 'alone'):.1f} ")
    make_checkpoint(user.folder / "ckpts", 300, BROKEN)
    later = user.run(
        "snellen watch ckpts:device=cpu -b eyechart --limit 48 --for once --on-regression fail", code=1
    ).text
    [broken] = [line for line in later.splitlines() if line.startswith("step")]
    assert broken.startswith("step 300: ")
    assert broken.endswith(": regression")


@pytest.mark.release
@pytest.mark.row("Making benchmarks with people, and holding them", page="making-a-benchmark.md")
def test_making_a_benchmark(user: User) -> None:
    example = ROOT / "examples" / "making_a_benchmark"
    shutil.copytree(example, user.folder, dirs_exist_ok=True)
    subprocess.run([sys.executable, "draw_pictures.py"], cwd=user.folder, check=True)
    user.write("tables.key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw==")
    sys.path.insert(0, str(example))
    try:
        handler = import_module("scripted_api").Handler
    finally:
        sys.path.remove(str(example))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        recipe = (user.folder / "recipe.toml").read_text()
        user.write("recipe.toml", recipe.replace(":8642/", f":{server.server_address[1]}/"))
        user.run("snellen curate run recipe.toml")
        server.shutdown()
    # 24 pictures with three questions; one picture is a near copy; six have an error planted, of
    # which Ann mends three and drops three; one picture has no licence.
    stages = {name: _items(user, name) for name in ("questions", "duplicates", "review")}
    assert {name: len(items) for name, items in stages.items()} == {"questions": 72, "duplicates": 69, "review": 66}
    changed = [item for item, key in stages["review"].items() if stages["duplicates"][item] != key]
    assert len(changed) == 3
    pictures = (user.folder / "pictures.csv").read_text().splitlines()
    assert len(pictures) == 1 + 24
    # Published are 63, of which the answers of the part kept back are in no public file.
    from pyarrow.parquet import read_table

    parts = {
        part: read_table(user.folder / "tables" / "data" / f"{part}.parquet").to_pylist() for part in ("dev", "test")
    }
    assert len(parts["dev"]) + len(parts["test"]) == 66 - 3
    assert all(row["answer"] for row in parts["dev"])
    assert not any(row.get("answer") for row in parts["test"])
    user.run("snellen run -m random -b tables/tables.toml --no-html")
    assert user.report("random")["summary"]["n"] == len(parts["dev"])


def _items(user: User, step: str) -> dict[str, Any]:
    """The key of each item after a step of the recipe."""
    lines = (user.folder / "tables-made" / step / "items.jsonl").read_text().splitlines()
    return {item["index"]: item["answer"] for item in map(json.loads, lines)}
