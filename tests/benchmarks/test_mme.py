"""MME: pairs, readings, sums, and the published numbers of a real model."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from snellen import evaluate, score
from snellen.benchmarks.abilities.mme.benchmark import BENCHMARK as benchmark
from snellen.benchmarks.abilities.mme.benchmark import mme_samples
from snellen.benchmarks.abilities.mme.subtasks import AREAS, IMAGES, SUBTASKS, subtask_name
from snellen.cli.main import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.output import Failure, Generated, Output, ParsedAnswer
from snellen.core.record import Record, run_flow
from snellen.core.request import Request
from snellen.core.sample import Row
from snellen.core.summary import Summary

Golden = Callable[[str], Path]


def rows(subtasks: tuple[str, ...] = SUBTASKS, images: int = 2) -> list[Row]:
    """A question that is a yes and one that is a no about each image."""
    found = []
    for subtask in subtasks:
        for image in range(images):
            for answer in ("Yes", "No"):
                cells = {
                    "index": str(len(found)),
                    "category": subtask,
                    "image": f"{image}.jpg",
                    "question": f"Is it {answer}? Please answer yes or no.",
                    "answer": answer,
                }
                found.append(Row(len(found), cells))
    return found


def asked(chosen: Benchmark, found: list[Row], answer: Callable[[Request], Output]) -> tuple[list[Record], Summary]:
    records = [run_flow(chosen.flow(sample), answer) for sample in chosen.samples(found)]
    return records, chosen.summarise(records)


def always(text: str) -> Callable[[Request], Output]:
    return lambda request: Generated(text)


@pytest.mark.external_golden("mme_lavin")
def test_lavin_equals_the_official_scores(golden: Golden) -> None:
    home = golden("mme_lavin")
    official = json.loads((home / "official_scores.json").read_text())
    found = score("mme", home / "predictions.csv").summary
    for area in AREAS:
        assert found.metrics[area].value == pytest.approx(official[area], abs=1e-9)
    total = official["perception"] + official["cognition"]
    assert found.headline.value == pytest.approx(total, abs=1e-9)
    for subtask, numbers in official["per_category"].items():
        ours = [found.groups[group][subtask] for group in ("category", "accuracy", "accuracy_plus")]
        theirs = [numbers["score"], numbers["acc"], numbers["acc_plus"]]
        assert [one.value for one in ours] == pytest.approx(theirs, abs=1e-9)
        assert ours[2].n == numbers["pairs_same_image"]
    assert found.outcomes["unparsed"] == sum(numbers["other"] for numbers in official["per_category"].values())
    assert (found.n, found.total, found.notices) == (2374, 2374, ())


@pytest.mark.external_golden("mme_lavin")
def test_the_command_prints_the_same(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    predictions = str(golden("mme_lavin") / "predictions.csv")
    assert main(["score", "mme", "--predictions", predictions, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert round(card["metrics"]["perception"], 4) == 963.6114
    assert round(card["metrics"]["cognition"], 4) == 249.6429
    assert card["metrics"]["by_group"]["category"]["OCR"] == pytest.approx(107.5)
    assert card["groups"]["category"]["OCR"]["unit"] == "points"


@pytest.mark.external_golden("mme_lavin")
@pytest.mark.parametrize("missing", ["image", "index"])
def test_lavin_pairs_up_without_a_column(golden: Golden, tmp_path: Path, missing: str) -> None:
    """Without images the order tells the pairs; ids may stand in `question_id`, two rows each."""
    with (golden("mme_lavin") / "predictions.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    for row in found:
        if missing == "index":
            row["question_id"] = f"{row['category']}/{row['image']}/{row['answer']}"
        del row[missing]
    path = tmp_path / "predictions.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    summary = score("mme", path).summary
    assert summary.metrics["perception"].value == pytest.approx(963.6114445778, abs=1e-9)
    assert summary.metrics["cognition"].value == pytest.approx(249.6428571429, abs=1e-9)


def test_sizes_are_those_of_the_paper() -> None:
    assert sum(IMAGES.values()) == 1187
    assert len(SUBTASKS) == 14


@pytest.mark.parametrize(
    ("reply", "official", "paper", "word"),
    [
        ("Yes, it is.", True, True, True),
        ("not sure", False, False, False),
        ("The answer is yes.", False, False, True),
        ("**Yes**", False, True, True),
        ('"Yes", it says', True, True, True),
        ("I see it: yes", False, False, True),
    ],
)
def test_three_readings_of_one_reply(reply: str, official: bool, paper: bool, word: bool) -> None:
    (record, *_), _ = asked(benchmark(Variant()), rows(("OCR",), 1), always(reply))
    assert record.gold == ("Yes",)
    read = [record.values[name] == 1.0 for name in ("official", "paper", "word")]
    assert read == [official, paper, word]
    assert record.score == float(official)


def test_the_reading_of_the_headline_is_an_option() -> None:
    reply = always("The answer is yes.")
    _, official = asked(benchmark(Variant()), rows(), reply)
    chosen = benchmark(Variant(options={"reading": "word"}))
    assert chosen.parameters == {"reading": "word"}
    records, word = asked(chosen, rows(), reply)
    assert (official.headline.value, word.headline.value) == (0.0, 14 * 50.0)
    assert official.metrics["perception_word"].value == 500.0
    assert word.metrics["cognition_official"].value == 0.0
    assert official.outcomes["unparsed"] == 56
    (answer,) = {record.passes[0].answer for record in records}
    assert isinstance(answer, ParsedAnswer)
    with pytest.raises(UsageError, match="expected one of official, paper, word"):
        benchmark(Variant(options={"reading": "guess"}))


def test_sums_are_never_weighted_by_size() -> None:
    uneven = rows(("existence",), 9) + rows(SUBTASKS[1:], 1)
    numbered = [replace(row, index=at, cells={**row.cells, "index": str(at)}) for at, row in enumerate(uneven)]

    def answer(request: Request) -> Output:
        sample = int(request.ref.sample)
        return Generated("yes" if sample < 18 else numbered[sample].cells["answer"])

    _, found = asked(benchmark(Variant()), numbered, answer)
    assert found.metrics["perception"].value == 50.0 + 9 * 200.0
    assert found.metrics["cognition"].value == 800.0
    assert found.groups["category"]["existence"].n == 18
    assert found.metrics["chance"].value == 1050.0
    assert found.metrics["frequent"].value == 700.0
    assert (found.headline.top, found.metrics["cognition"].top) == (2800.0, 800.0)


def test_yes_bias_of_a_subtask() -> None:
    _, found = asked(benchmark(Variant()), rows(("OCR", "count"), 2), always("yes"))
    assert found.groups["yes_rate"]["OCR"].value == 100.0
    assert found.groups["yes_rate"]["OCR"].note == "gold 50.0, bias +50.0"


def test_no_sum_without_all_its_subtasks() -> None:
    _, found = asked(benchmark(Variant()), rows(AREAS["cognition"]), always("yes"))
    assert found.metrics["cognition"].value == 200.0
    assert (found.metrics["perception"].value, found.headline.value) == (None, None)
    assert any("10 of 14 subtasks have no score" in notice for notice in found.notices)


@pytest.mark.parametrize(
    ("policy", "existence", "plus", "images"),
    [("exclude", 200.0, 100.0, 1), ("count-wrong", 75.0 + 50.0, 50.0, 2), ("withhold", None, 0, 0)],
)
def test_a_failed_half_leaves_its_image_out_of_accuracy_plus(
    policy: str, existence: float | None, plus: float, images: int
) -> None:
    found = rows()

    def answer(request: Request) -> Output:
        sample = int(request.ref.sample)
        if sample == 0:
            return Failure("request", "server gone")
        return Generated(found[sample].cells["answer"])

    chosen = benchmark(Variant(failures=policy))
    _, summary = asked(chosen, found, answer)
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (2800.0 - 75.0, 2800.0)
    if existence is None:
        assert (summary.headline.value, summary.groups) == (None, {})
        return
    assert summary.groups["category"]["existence"].value == existence
    both = summary.groups["accuracy_plus"]["existence"]
    assert (both.value, both.n) == (plus, images)
    said = any("1 of 28 images have only one question" in notice for notice in summary.notices)
    assert said == (policy == "exclude")


def test_shared_ids_of_a_pair_get_distinct_suffixes() -> None:
    shared = [
        Row(at, {"question_id": f"OCR/{at // 2}.png", "category": "OCR", "question": "q", "answer": "Yes"})
        for at in range(4)
    ]
    found = list(mme_samples(shared))
    assert [sample.id for sample in found] == ["OCR/0.png", "OCR/0.png#2", "OCR/1.png", "OCR/1.png#2"]
    assert found[0].unit == found[1].unit != found[2].unit


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([{"question": "q", "answer": "Yes"}], "no subtask; got the columns question, answer"),
        ([{"question": "q", "category": "OCR", "answer": "red"}], "'red' is neither yes nor no"),
        ([{"index": "1", "question": "q", "category": "OCR"}] * 2, "ids must be unique"),
    ],
)
def test_bad_rows_give_a_sentence(cells: list[dict[str, str]], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        list(mme_samples(Row(at, one) for at, one in enumerate(cells)))


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Poster", "posters"),
        ("Commonsense Reasoning", "commonsense_reasoning"),
        ("ocr", "OCR"),
        ("code-reasoning", "code_reasoning"),
        ("weather", "weather"),
    ],
)
def test_other_spellings(name: str, ours: str) -> None:
    assert subtask_name(name) == ours


def test_a_folder_runs_whole_and_with_a_limit(tmp_path: Path) -> None:
    from PIL import Image

    folder = tmp_path / "MME"
    for at, subtask in enumerate(SUBTASKS):
        home = folder / subtask
        texts, pictures = (home, home) if at % 2 else (home / "questions_answers_YN", home / "images")
        texts.mkdir(parents=True, exist_ok=True)
        pictures.mkdir(exist_ok=True)
        for image in range(3):
            Image.new("RGB", (8, 8), (at, image, 0)).save(pictures / f"{image}.png")
            (texts / f"{image}.txt").write_text("Is it so?\tYes\nIs it not so?\tNo\n")
    variant = Variant(data=str(folder))
    (run,) = evaluate(["random"], ["mme"], out=tmp_path / "out", variant=variant).runs
    summary = run.report().summary
    assert summary.n == 84
    assert summary.headline.value is not None
    assert summary.beside == ("perception", "cognition")
    kept: list[set[str]] = []
    for limit in (21, 40):
        (part,) = evaluate(["random"], ["mme"], out=tmp_path / "out", variant=variant, limit=limit, html=False).runs
        records = list(part.records())
        units = [record.unit for record in records]
        assert len(records) == limit // 2 * 2
        assert all(units.count(unit) == 2 for unit in units)
        kept.append({record.id for record in records})
    assert kept[0] < kept[1]


def hugging_face_copy(folder: Path) -> Path:
    """As lmms-lab/MME: both questions of an image share `question_id`, pictures are structs."""
    import pyarrow as pa
    from pyarrow import parquet

    table = [
        {
            "question_id": f"{subtask}/{image}.png",
            "image": {"bytes": picture(image), "path": None},
            "question": f"Is it {answer}?",
            "answer": answer,
            "category": subtask,
        }
        for subtask in ("OCR", "count")
        for image in range(2)
        for answer in ("Yes", "No")
    ]
    folder.mkdir()
    parquet.write_table(pa.Table.from_pylist(table), folder / "test-00000-of-00001.parquet")
    return folder


def vlmevalkit_tsv(path: Path) -> Path:
    """As VLMEvalKit's files: a picture stands once, the next row names its index."""
    lines = ["index\timage\tquestion\tanswer\tcategory"]
    for at in range(8):
        cell = base64.b64encode(picture(at // 2)).decode() if at % 2 == 0 else str(at - 1)
        subtask = "OCR" if at < 4 else "count"
        lines.append(f"{at}\t{cell}\tIs it?\t{'No' if at % 2 else 'Yes'}\t{subtask}")
    path.write_text("\n".join(lines) + "\n")
    return path


def picture(seed: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8), (seed, 100, 0)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("source", [hugging_face_copy, vlmevalkit_tsv])
def test_published_sources_pair_up(tmp_path: Path, source: Callable[[Path], Path]) -> None:
    chosen = benchmark(Variant(data=str(source(tmp_path / "data.tsv"))))
    found = list(chosen.samples(chosen.open()))
    assert len({sample.id for sample in found}) == 8
    units = [sample.unit for sample in found]
    assert units[::2] == units[1::2]
    assert len(set(units)) == 4
    assert [len(sample.media) for sample in found] == [1] * 8


def test_a_limit_of_one_keeps_one_pair(tmp_path: Path) -> None:
    data = tmp_path / "questions.tsv"
    lines = ["index\tcategory\timage_path\tquestion\tanswer"]
    lines += [f"{at}\tOCR\t{at // 2}.png\tIs it?\t{'Yes' if at % 2 else 'No'}" for at in range(6)]
    data.write_text("\n".join(lines) + "\n")
    (run,) = evaluate(["random"], ["mme"], out=tmp_path / "out", variant=Variant(data=str(data)), limit=1).runs
    assert run.info.counts.samples == 2


def test_mme_is_not_rotated() -> None:
    with pytest.raises(UsageError, match="no options to rotate"):
        benchmark(Variant(circular="early"))


def test_scores_by_rules_alone_are_reported_beside_the_extractor() -> None:
    def answer(request: Request) -> Output:
        return Generated("A" if request.to == "extractor" else "I can see it there")

    records, found = asked(benchmark(Variant(extractor=True)), rows(), answer)
    assert {record.answer for record in records} == {"Yes"}
    assert found.headline.value == 700.0
    assert found.metrics["by_rules"].value == 0.0
    assert found.metrics["perception_by_rules"].value == 0.0
    assert found.metrics["perception_word"].value == 0.0
