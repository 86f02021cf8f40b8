"""`snellen leaderboard`: what stands in one ranking, and how sure it is."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
import re
from itertools import permutations
from pathlib import Path

import pytest
from made_runs import Told, by_id, rows, run, write
from PIL import Image

from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.output import Failure
from snellen.core.request import Request, Sampling
from snellen.store.runs import RunFolder

COUNT = 120
SHARES = {"weak": 0.4, "mid": 0.42, "strong": 0.95}


def model(name: str, share: float) -> Told:
    """Right on the share of the questions."""
    golds = {row["index"]: row["answer"] for row in rows(COUNT)}

    def reply(request: Request) -> str:
        sample = request.ref.sample
        right = random.Random(f"{name} {sample}").random() < share
        return golds[sample] if right else "C"

    return Told(name, reply)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whole runs in A, and others of the same models that do not belong with them."""
    folder = tmp_path_factory.mktemp("boards")
    data = write(folder / "q.tsv", rows(COUNT))
    for name, share in SHARES.items():
        run(model(name, share), data, folder / "A")
    run(model("strong", 0.95), data, folder / "stopped", until="±20")
    run(model("weak", 0.4), data, folder / "limited", limit=60)
    run(model("mid", 0.42), data, folder / "seed", limit=60, seed=1)
    run(model("mid", 0.42), data, folder / "policy", variant=Variant(failures="count-wrong"))
    return folder


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["leaderboard", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_a_board_says_how_sure_it_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (standing,) = json.loads(printed(capsys, place / "A", "--format", "json"))
    first = standing["boards"][0]["places"]
    assert [(one["rank"], one["model"], one["letters"]) for one in first] == [
        (1, "strong", "a"),
        (2, "mid", "b"),
        (3, "weak", "b"),
    ]
    assert [one["ranks"] for one in first] == [[1, 1], [2, 3], [2, 3]]
    assert all(one["n"] == COUNT for one in first)
    assert all(one["interval"][0] < one["score"] < one["interval"][1] for one in first)
    by_kind = {one["name"]: one["places"] for one in standing["boards"][1:]}
    assert set(by_kind) == {f"category: kind {at}" for at in range(4)}
    assert all(one["n"] == 30 and one["letters"] for ranked in by_kind.values() for one in ranked)


def test_p_against_the_best_is_what_compare_says(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (standing,) = json.loads(printed(capsys, place / "A", "--json"))
    found = {one["model"]: one["p_best"] for one in standing["boards"][0]["places"]}
    assert main(["compare", str(place / "A"), "--json"]) == 0
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    expected: dict[str, object] = {"strong": None}
    for pair in pairs:
        names = {pair["first"], pair["second"]}
        if "strong" in names:
            (other,) = names - {"strong"}
            expected[other] = pytest.approx(pair["p_holm"])
    assert found == expected
    monkeypatch.setenv("COLUMNS", "120")
    text = printed(capsys, place / "A")
    assert "Holm p vs best" in text
    assert "Holm p vs best: of the paired test against the best model" in text


def test_letters_are_what_compare_says(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (standing,) = json.loads(printed(capsys, place / "A", "--format", "json"))
    letters = {one["model"]: set(one["letters"]) for one in standing["boards"][0]["places"]}
    assert main(["compare", str(place / "A"), "--json"]) == 0
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert len(pairs) == 3
    for pair in pairs:
        alike = bool(letters[pair["first"]] & letters[pair["second"]])
        assert alike == (pair["p_holm"] >= 0.05)


def test_the_order_of_the_arguments_changes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["A", "stopped", "policy"]
    shown = {printed(capsys, *(place / one for one in order), "--format", "json") for order in permutations(folders)}
    assert len(shown) == 1


def test_runs_that_do_not_belong_together_are_in_rankings_of_their_own(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [place / one for one in ("A", "stopped", "limited", "seed", "policy")]
    found = json.loads(printed(capsys, *folders, "--format", "json"))
    boards = {one["benchmark"]: [place["model"] for place in one["boards"][0]["places"]] for one in found}
    assert boards == {
        "q": ["strong", "mid", "weak"],
        "q (failures count-wrong)": ["mid"],
        "q (limit 60)": ["weak"],
        "q (limit 60, seed 1)": ["mid"],
        "q (until ±20, stopped early by its rule)": ["strong"],
    }
    assert [one["benchmark"] for one in found][-1].startswith("q (until")
    apart = "the runs of q are not in one ranking: they differ in limit, seed, until, samples asked"
    assert all(one["notices"][0].startswith(apart) for one in found)


def test_two_runs_alike_are_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = run(model("mid", 0.42), place / "q.tsv", tmp_path / "again")
    for order in ((place / "A", again.path), (again.path, place / "A")):
        assert main(["leaderboard", *map(str, order)]) == 2
        told = capsys.readouterr().err
        assert "two runs of mid on q have the same settings" in told
        assert told.count("\n") == 1


def test_an_unfinished_run_is_not_among_the_whole_ones(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = run(model("other", 0.9), place / "q.tsv", tmp_path / "broken")
    text = (broken.path / "run.json").read_text()
    (broken.path / "run.json").write_text(text.replace('"complete"', '"interrupted"'))
    assert RunFolder(broken.path).info.status == "interrupted"
    whole, part = json.loads(printed(capsys, place / "A", broken.path, "--format", "json"))
    assert "other" not in json.dumps(whole["boards"])
    assert part["benchmark"] == "q (not finished)"
    assert part["boards"][0]["places"][0]["ranks"] is None


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_formats_for_people_have_every_column(place: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    text = " ".join(printed(capsys, place / "A", "--format", form).replace("Alike", "alike").split())
    for words in (
        "95 % interval",
        "95 % ranks",
        "alike",
        "strong",
        "2–3",
        "models that share a letter cannot be told apart",
    ):
        assert words in text, words


def test_a_withheld_score_leaves_the_others_their_ranks(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = Variant(failures="withhold")
    for name in ("strong", "weak"):
        run(model(name, SHARES[name]), place / "q.tsv", tmp_path, variant=variant)

    def failing(request: Request) -> str | Failure:
        return Failure("server", "gone") if request.ref.sample == "3" else "A"

    run(Told("broken", failing), place / "q.tsv", tmp_path, variant=variant)
    (found,) = json.loads(printed(capsys, tmp_path, "--format", "json"))
    assert [(one["model"], one["letters"]) for one in found["boards"][0]["places"]] == [("strong", "a"), ("weak", "b")]


def test_no_rank_intervals_with_few_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = rows(24)
    for at, row in enumerate(table):
        stream = io.BytesIO()
        Image.new("RGB", (8, 8), (80 * (at // 8), 0, 0)).save(stream, "PNG")
        row["image"] = base64.b64encode(stream.getvalue()).decode()
    data = write(tmp_path / "seen.tsv", table)
    for name, answer in (("one", "A"), ("other", "C")):
        run(Told(name, by_id({}, answer)), data, tmp_path / "out")
    text = " ".join(printed(capsys, tmp_path / "out").split())
    why = "how sure the ranks are is not known: the samples form 3 clusters"
    assert why in text
    assert "95 % ranks" not in text


def test_the_page_keeps_words_and_columns_apart(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, place / "A", "--format", "html")
    assert "adjusted by Holm for the 3 pairs" in page  # not "holm"
    # A number ends at the right of its cell: the words after it need a distance of their own.
    assert ".n + :is(th, td):not(.n) { padding-left:" in page


def test_csv_has_a_row_for_each_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = list(csv.DictReader(io.StringIO(printed(capsys, place / "A", "--format", "csv"))))
    assert len(table) == 3 * 5
    first = table[0]
    assert (first["model"], first["n"], first["rank_low"], first["alike"]) == ("strong", str(COUNT), "1", "a")
    assert float(first["low"]) < float(first["score"]) < float(first["high"])


def test_no_rank_intervals_for_one_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, next((place / "A").glob("mid*")))
    assert "95 % interval" in text
    assert "95 % ranks" not in text


def test_refuses_printed_model_in_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("model,subtask,acc,acc_plus\nm,Existence,86.67,73.33\n")
    assert main(["leaderboard", *map(str, tmp_path.glob("*.csv"))]) == 2
    assert "the model 'm' stands in two files of printed numbers" in capsys.readouterr().err


def test_groups_are_columns_of_one_table(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    lines = [line.split() for line in printed(capsys, place / "A").splitlines()]
    head = lines.index(["category", "strong", "mid", "weak", "n"])
    names = [line[:2] for line in lines[head + 2 : head + 6]]
    assert names == [["kind", str(at)] for at in range(4)]
    assert all(line[-1] == "30" for line in lines[head + 2 : head + 6])
    assert all(line[2].endswith("*") for line in lines[head + 2 : head + 6])


def test_default_seed_is_not_a_difference(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, place / "A", place / "limited")
    assert "they differ in limit" in text
    assert "seed" not in text


def test_models_by_benchmarks_say_what_is_missing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    data = write(tmp_path / "other.tsv", rows(COUNT))
    run(model("weak", 0.4), data, tmp_path / "runs")
    strong = run(model("strong", 0.6), data, tmp_path / "runs").report().summary.headline.value
    assert strong is not None
    lines = printed(capsys, place / "A", tmp_path / "runs").splitlines()
    assert lines[0].strip() == "models by benchmarks"
    found = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[1:6] if line.split()}
    assert found["model"] == "other q average average rank"
    (standing,) = json.loads(printed(capsys, place / "A", "--json"))
    average = (strong + standing["boards"][0]["places"][0]["score"]) / 2
    assert found["strong"].endswith(f" {average:.1f} 1.0")
    assert found["weak"].endswith(" 2.0")
    assert found["mid"].startswith("– ")
    assert found["mid"].endswith("– – (1 missing)")
    latex = printed(capsys, place / "A", tmp_path / "runs", "--format", "latex")
    assert latex.count("\\begin{tabular}") == latex.count("\\bottomrule") == 5
    assert "\\caption{models by benchmarks}" in latex
    assert "\\caption{q, category}" in latex
    (best,) = [line for line in latex.splitlines() if line.strip().startswith("strong &")]
    assert best.count(r"\textbf{") == 4  # two scores, the average and the average rank
    groups = [line.split("&") for line in latex.splitlines() if line.strip().startswith("kind ")]
    assert len(groups) == 8
    for _, *cells, _ in groups:
        numbers = [float(re.findall(r"\d+\.\d", cell)[0]) for cell in cells]
        bold = [r"\textbf{" in cell for cell in cells]
        assert bold == [number == max(numbers) for number in numbers]


def test_a_narrow_terminal_has_every_column_in_parts(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text = printed(capsys, place / "A")
    assert "…" not in text
    heads = [line.split() for line in text.splitlines() if line.startswith("category")]
    assert [name for head in heads for name in head[1:]] == ["strong", "mid", "weak", "n"]


def test_a_row_says_how_its_run_was_sampled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "q.tsv", rows(COUNT))
    run(model("greedy", 0.5), data, tmp_path / "runs")
    run(model("warm", 0.6), data, tmp_path / "runs", sampling=Sampling(temperature=0.7))
    (standing,) = json.loads(printed(capsys, tmp_path / "runs", "--format", "json"))
    names = {place["model"] for place in standing["boards"][0]["places"]}
    assert names == {"greedy", "warm (temperature 0.7)"}
