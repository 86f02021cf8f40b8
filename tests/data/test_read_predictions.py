"""Predictions files of every format, and every one of the golden sets."""

from __future__ import annotations

import gzip
import json
import math
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UnknownName
from snellen.data.predictions import read_predictions
from snellen_curate.metadata.records import RecordFiles
from snellen_curate.review.queue import read_ids
from snellen_curate.translate.terms import read_glossary

ROWS = [
    {"index": "1", "prediction": "A", "answer": "B", "model": "x"},
    {"index": "2", "prediction": "", "answer": "", "model": "x"},
]


def as_text(name: str) -> bytes:
    kind = name.removesuffix(".gz")
    if kind.endswith((".csv", ".tsv")):
        sign = "," if kind.endswith(".csv") else "\t"
        text = "\n".join(sign.join(row) for row in [list(ROWS[0]), *map(dict.values, ROWS)])
        text = "\ufeff" + text
    elif kind.endswith(".jsonl"):
        text = "\n".join(map(json.dumps, ROWS))
    else:
        text = json.dumps(ROWS)
    return gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.tsv", "p.jsonl", "p.jsonl.gz", "p.json"])
def test_every_format_says_the_same(write, settings, name: str) -> None:
    found = read_predictions(write(name, as_text(name)), settings=settings)
    assert [(row.id, row.reply, row.gold, row.number) for row in found] == [("1", "A", ("B",), 1), ("2", "", (), 2)]
    assert (found.reply_column, found.gold_column) == ("prediction", "answer")
    assert found.columns == ("index", "prediction", "answer", "model")


def test_excel(tmp_path: Path, settings) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["Index", "prediction", "A", "score"], [241.0, "B", None, 2.5], [242, None, 3.0, 0]):
        book.active.append(row)
    book.save(tmp_path / "p.xlsx")
    first, second = read_predictions(tmp_path / "p.xlsx", settings=settings)
    assert (first.id, first.reply, first.cells.get("A")) == ("241", "B", None)
    assert (second.id, second.reply, second.cells["A"]) == ("242", "", "3")


@pytest.mark.parametrize(
    ("document", "replies"),
    [
        ({"a": "one", "b": "two"}, {"a": "one", "b": "two"}),
        ({"a": {"response": "one"}, "b": {"response": None}}, {"a": "one", "b": ""}),
        ([{"id": 1, "prediction": math.nan}, {"id": 2, "prediction": 7}], {"1": "", "2": "7"}),
        ([{"video": "v", "dim": "d", "i": 0, "video-llm-prediction": "x"}], {"v/d/0": "x"}),
        ([{"image": "a.jpg", "prediction": "x"}], {"a.jpg": "x"}),
        ([{"question_id": "q", "text": "x", "prompt": "?"}], {"q": "x"}),
        ([{"idx": "q", "full_prediction": "long", "prediction": "(A)"}], {"q": "(A)"}),
        ([{"index": "241.0", "id": "other", "prediction": "x"}], {"241": "x"}),
    ],
)
def test_ids_and_replies(write, settings, document, replies: dict[str, str]) -> None:
    found = read_predictions(write("p.json", json.dumps(document)), settings=settings)
    assert {row.id: row.reply for row in found} == replies


@pytest.mark.parametrize(
    ("column", "value", "gold"),
    [
        ("answer", "A", ("A",)),
        ("label", "yes", ("yes",)),
        ("gt", "x", ("x",)),
        ("gt-answer", "x", ("x",)),
        ("answer_if_known", None, ()),
        ("answers", ["a", "b"], ("a", "b")),
        ("refs", [1, 2], ("1", "2")),
        ("answer", ["b", "d"], ("b", "d")),
        ("answer", "[0, 1]", ("[0, 1]",)),
        ("answer", "['a', 'b']", ("a", "b")),
        ("answer", "  ", ()),
    ],
)
def test_reads_the_gold_column(write, settings, column: str, value, gold: tuple[str, ...]) -> None:
    record = {"id": 1, "prediction": "x", column: value}
    (row,) = read_predictions(write("p.jsonl", json.dumps(record)), settings=settings)
    assert row.gold == gold


MODELS = "id,split,system,out,answer\n1,a,x,A,B\n1,b,x,C,D\n1,a,y,E,F\n"


def test_where_and_columns(write, settings) -> None:
    path = write("p.csv", MODELS)
    chosen = {"prediction": "out", "id": "split+id"}
    found = read_predictions(path, columns=chosen, where={"system": "x"}, settings=settings)
    assert [(row.id, row.reply, row.gold) for row in found] == [("a/1", "A", ("B",)), ("b/1", "C", ("D",))]
    found = read_predictions(
        path, columns={"prediction": "out", "gold": "split"}, where={"split": "b"}, settings=settings
    )
    assert [(row.id, row.gold) for row in found] == [("1", ("b",))]


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("", {}, "is empty"),
        ("id,question\n1,x\n", {}, "no column holds the replies; expected prediction or response"),
        ("prediction\nx\n", {}, "no column says which question a row answers"),
        ("id,prediction\n,x\n", {}, "row 1: the id (id) is empty"),
        ("id,prediction\n1,x,y\n", {}, "row 1 (line 2): 3 cells, but the header has 2"),
        (MODELS, {"columns": {"prediction": "out"}}, "rows 1 and 2 have the same id '1' but differ"),
        (MODELS, {"columns": {"prediction": "nope"}}, "unknown column 'nope'"),
        (MODELS, {"where": {"sistem": "x"}}, "unknown column 'sistem'; did you mean system"),
        (MODELS, {"where": {"system": "z"}}, "no row has system=z; values of 'system': 'x', 'y'"),
    ],
)
def test_bad_file_gives_one_sentence(write, settings, content, options, sentence) -> None:
    with pytest.raises((DataError, UnknownName)) as caught:
        read_predictions(write("p.csv", content), settings=settings, **options)
    assert sentence in str(caught.value)


def test_names_a_column_that_separates_clashing_rows(write, settings) -> None:
    lines = [f"{n},{m},{m}" for m in ("GPT", "BLIP") for n in range(3)]
    path = write("p.csv", "\n".join(["id,model,prediction", *lines]))
    with pytest.raises(DataError, match=r"rows 1 and 4 .* --where model=BLIP, or .* id=model.id"):
        read_predictions(path, settings=settings)


def test_rows_that_agree_count_as_given(write, settings) -> None:
    found = read_predictions(write("p.csv", "id,prediction\n1,x\n2,y\n1,x\n"), settings=settings)
    assert [row.id for row in found] == ["1", "2", "1"]
    (warning,) = found.warnings
    assert "1 row repeats an earlier one, counted as given (id '1': rows 1 and 3)" in warning


def test_a_file_that_holds_the_questions_is_a_table(write, settings) -> None:
    record = {"id": 5, "question": "?", "options": ["p", "q"], "answer": 1, "prediction": "A"}
    found = read_predictions(write("p.jsonl", json.dumps(record)), settings=settings)
    table = found.table()
    (row,) = table
    assert row.cells == {"id": "5", "question": "?", "A": "p", "B": "q", "answer": "B", "prediction": "A", "index": "5"}
    assert (len(table), table.digest, table.path) == (1, found.digest, found.path)


KEPT = Path(__file__).parents[1] / "golden"
outside = pytest.mark.external_golden
GOLDEN = [
    # file, rows, id column(s), reply column, rows without gold
    *[
        (f"blink_val/{m}.jsonl.gz", 1901, "idx", "prediction", 0)
        for m in (
            "GPT4Turbo",
            "GPT4o",
            "GeminiProVision",
            "Yi_VL_34B",
            "Yi_VL_6B",
            "instructblip_13b",
            "llava-v1.5-13b-xtuner",
            "llava-v1.5-7b-xtuner",
            "llava-v1.6-34b",
            "llava_v1.5_13b",
        )
    ],
    ("blink_val/GeminiProVision_concatenate_images.jsonl.gz", 1108, "idx", "prediction", 0),
    *[
        (f"captions_magic/flickr30k_{s}.jsonl.gz", 1000, "image", "prediction", n)
        for s, n in (("magic", 0), ("clip_retrieval", 1000), ("contrastive", 1000), ("zerocap", 1000))
    ],
    ("captions_magic/mscoco_magic.jsonl.gz", 4982, "image", "prediction", 0),
    ("captions_magic/mscoco_clip_retrieval.jsonl.gz", 4982, "image", "prediction", 4982),
    ("captions_magic/mscoco_zerocap.jsonl.gz", 5000, "image", "prediction", 4982),
    ("chartqa_chartast/predictions.csv", 2500, "index", "prediction", 0),
    ("funsd_qa_anls_laytextllm/laytextllm_all.jsonl", 467, "id", "prediction", 0),
    ("funsd_qa_anls_laytextllm/laytextllm_zero.jsonl", 467, "id", "prediction", 0),
    ("llavabench_wild_reviews/llava-v1.5-13b.jsonl", 60, "question_id", "prediction", 60),
    ("llavabench_wild_reviews/llava-v1.5-7b.jsonl", 60, "question_id", "prediction", 60),
    *[
        (f"mathvision_test/{m}.jsonl.gz", 3040, "id", "response", 3040)
        for m in (
            "GPT4-CoT_Text_Only_",
            "InternLM-XComposer2-VL-CoT",
            "LLaVA-v1.5-13B",
            "Qwen-VL-Max-CoT",
            "Qwen-VL-Max",
            "Random-Chance",
            "SPHINX-MoE",
            "ShareGPT4V-7B",
        )
    ],
    *[
        (f"mathvista_testmini/{m}.jsonl.gz", 1000, "pid", "prediction", 1000)
        for m in (
            "chatgpt",
            "claude",
            "frequent_guess",
            "gpt4_2shot_code",
            "gpt4_2shot_solution",
            "instruct_blip2_vicuna_13b",
            "llama_adapter_v2",
            "llavar",
        )
    ],
    ("mmbench_dev_llava15_13b/predictions.csv", 4377, "index", "prediction", 0),
    ("mme_lavin/predictions.csv", 2374, "index", "prediction", 0),
    ("mmmu_val/llava1.5_13b.jsonl", 900, "id", "response", 0),
    ("mmmu_val/qwen_vl.jsonl", 900, "id", "response", 0),
    ("mmvet_llava15/llava-v1.5-13b.jsonl", 218, "id", "prediction", 0),
    ("mmvet_llava15/llava-v1.5-7b.jsonl", 218, "id", "prediction", 0),
    ("mmvet_llava15/llava_llama2_13b_chat_predictions.json", 218, "id", "prediction", 218),
    ("pope_llava15_13b/predictions.csv", 8910, "question_id", "prediction", 0),
    ("scienceqa_img_tsv/predictions_llava15_13b.csv", 211, "index", "prediction", 0),
    ("seedbench_llava15_13b/predictions.csv", 19242, "question_id", "prediction", 1252),
    *[
        (f"tempcompass/{m}_{task}.jsonl.gz", n, "video+dim+i", "video-llm-prediction", 0)
        for m in ("gemini", "reka-core-20240501", "video-llava")
        for task, n in (("multi-choice", 1580), ("yes_no", 2453), ("caption_matching", 1503))
    ],
    ("tempcompass/gemini_captioning.jsonl.gz", 2004, "video+dim+i", "video-llm-prediction", 0),
]


@pytest.mark.parametrize(
    ("name", "count", "ids", "reply", "no_gold"),
    [pytest.param(*row, marks=() if (KEPT / row[0]).is_file() else outside(row[0].split("/")[0])) for row in GOLDEN],
)
def test_golden_predictions(golden, settings, name, count, ids, reply, no_gold) -> None:
    folder, file = name.split("/")
    found = read_predictions(golden(folder) / file, settings=settings)
    assert len(found) == count
    assert "+".join(found.id_columns) == ids
    assert found.reply_column == reply
    assert sum(not row.gold for row in found) == no_gold
    repeated = ["seedbench_llava15_13b"] if found.warnings else []
    assert repeated == [folder] * len(found.warnings)
    assert len({row.id for row in found}) == count - len(found.warnings)


def _folder(folder: Path, **files: dict[str, str]) -> Path:
    """A folder with a file of replies by id for each name, `__` for a folder."""
    for name, replies in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([{"id": id, "response": said} for id, said in replies.items()]))
    return folder


def test_a_file_that_repeats_the_others_of_its_folder_is_named(tmp_path, settings) -> None:
    """As MMMU's total_val_output.json beside the replies of each subject."""
    art, math = {"a1": "It is B.", "a2": "C"}, {"m1": "(D)"}
    answers = {"a1": "B", "a2": "C", "m1": "D"}
    folder = _folder(tmp_path, Art__output=art, Math__output=math, total=answers)
    with pytest.raises(DataError, match="'a1', and differ: total has the ids of 2 other files"):
        read_predictions(folder, settings=settings)
    found = read_predictions(folder, where={"file": "total"}, settings=settings)
    assert [row.reply for row in found] == ["B", "C", "D"]
    (folder / "total.json").unlink()
    assert len(read_predictions(folder, settings=settings)) == 3


def test_a_folder_of_two_systems_is_refused_by_name(tmp_path, settings) -> None:
    folder = _folder(tmp_path, one={"a1": "A", "a2": "C"}, two={"a1": "B", "a3": "C"})
    with pytest.raises(DataError, match=r"one and two both hold .* choose one with --where file"):
        read_predictions(folder, settings=settings)


@pytest.mark.external_golden("seedbench_llava15_13b")
def test_golden_seed_holds_one_id_twice(golden, settings) -> None:
    found = read_predictions(golden("seedbench_llava15_13b") / "predictions.csv", settings=settings)
    assert len(found.warnings) == 1
    assert "(id '49914': rows 7651 and 10135)" in found.warnings[0]


def test_golden_logicvista_holds_several_systems(golden, settings) -> None:
    path = golden("logicvista") / "model_answers.jsonl.gz"
    with pytest.raises(DataError, match="the file holds 7 values of 'model': choose one with"):
        read_predictions(path, settings=settings)
    found = read_predictions(path, where={"model": "LLAVA7B"}, settings=settings)
    assert (len(found), found.reply_column) == (448, "raw")
    assert [row.id for row in found if not row.gold] == ["v1_382"]
    assert {len(row.gold) for row in found} == {0, 1, 2}


@pytest.mark.external_golden("vizwiz_val_subset")
def test_golden_vizwiz_by_chosen_columns(golden, settings) -> None:
    path = golden("vizwiz_val_subset") / "vizwiz_val_subset.jsonl"
    found = read_predictions(path, columns={"prediction": "preds.fusion"}, settings=settings)
    assert len(found) == 951
    assert {len(row.gold) for row in found} == {10}


READERS: dict[str, Callable[[Path], object]] = {
    "replies.jsonl": read_predictions,
    "questions.tsv": lambda path: resolve_benchmark(str(path), Variant(), {}).open(),
    "questions.parquet": lambda path: resolve_benchmark(str(path), Variant(), {}).open(),
    "benchmark.toml": lambda path: resolve_benchmark(str(path), Variant(), {}),
    "ids.txt": read_ids,
    "glossary.csv": read_glossary,
    "records.jsonl": RecordFiles,
}


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_in_a_sentence(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes to it: whoever opens it waits for ever."""
    monkeypatch.chdir(tmp_path)  # a socket's whole path may be too long
    if kind == "pipe":
        os.mkfifo(name)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(name)
    else:
        Path(name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match=rf"{name} is a pipe or a device.* into a file"):
        READERS[name](tmp_path / name)


def test_a_path_that_no_file_can_have_is_refused_in_a_sentence(tmp_path: Path) -> None:
    name = "x" * 300 + ".toml"
    with pytest.raises(DataError, match=r"cannot be read: .*too long"):
        READERS["benchmark.toml"](tmp_path / name)
