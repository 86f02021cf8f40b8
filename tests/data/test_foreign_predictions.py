"""Prediction files in other tools' own layouts; the layouts are those their code writes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from snellen.core.errors import DataError
from snellen.core.output import Failure, Generated
from snellen.data.detect import is_results
from snellen.data.predictions import read_predictions


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


MMBENCH = {
    "doc_id": 7,
    "target": "B",
    "filtered_resps": ["B"],
    "doc_hash": "0f",
    "gpt_eval_score": {
        "index": 241,
        "question": "Which?",
        "answer": "B",
        "prediction": "B",
        "hint": "nan",
        "source": "s",
        "split": "dev",
        "category": "colour",
        "L2-category": "coarse",
        "A": "red",
        "B": "blue",
        "C": "nan",
        "D": "nan",
        "E": "nan",
    },
    "input": "Which? A. red B. blue\nAnswer with the option's letter.",
}
MME = [
    {
        "doc_id": number,
        "doc": {
            "question_id": "existence/1.png",
            "question": f"Is it {number}?",
            "answer": gold,
            "category": "existence",
        },
        "target": gold,
        "arguments": [f"Is it {number}?\nAnswer yes or no.", {"max_new_tokens": 16}],
        "resps": [[reply]],
        "filtered_resps": [reply.strip()],
        "mme_perception_score": {"question_id": "existence/1.png", "category": "existence", "score": 1.0},
    }
    for number, gold, reply in ((0, "Yes", " Yes."), (1, "No", " no"))
]


def test_lmms_eval_takes_the_rows_own_id_and_the_raw_reply(write, settings) -> None:
    path = write("2024_samples_mmbench_en_dev.jsonl", lines(MMBENCH))
    (row,) = read_predictions(path, settings=settings)
    assert (row.id, row.reply, row.gold) == ("241", "B", ("B",))
    assert row.cells["l2-category"] == "coarse"
    assert [row.cells.get(label) for label in "ABC"] == ["red", "blue", None]
    found = read_predictions(write("2024_samples_mme.jsonl", lines(*MME)), settings=settings)
    assert [(row.id, row.reply, row.gold) for row in found] == [
        ("existence/1.png", " Yes.", ("Yes",)),
        ("existence/1.png#2", " no", ("No",)),
    ]
    assert is_results(path)


def test_lmms_eval_without_the_data_row(write, settings) -> None:
    sample = {"doc_id": 3, "target": "A", "filtered_resps": ["A"], "input": "Q?", "acc": 1.0}
    (row,) = read_predictions(write("x_samples_y.jsonl", lines(sample)), settings=settings)
    assert (row.id, row.reply, row.gold, row.cells["question"]) == ("3", "A", ("A",), "Q?")


@pytest.mark.parametrize(
    "resps",
    [[[[-3.5, False]], [[-0.25, True]], [[-9.0, False]]], [["-3.5", "False"], ["-0.25", "True"], ["-9.0", "False"]]],
)
def test_lmms_eval_ranking_is_read_as_the_likeliest_letter(write, settings, resps) -> None:
    sample = {"doc_id": 0, "target": "B", "resps": resps, "filtered_resps": resps}
    (row,) = read_predictions(write("x.jsonl", lines(sample)), settings=settings)
    assert row.reply == "B"


def test_a_table_with_a_column_called_doc_is_none_of_lmms_eval(write, settings) -> None:
    path = write("p.jsonl", lines({"id": 1, "doc_id": 3, "doc": "a.pdf", "prediction": "B"}))
    (row,) = read_predictions(path, settings=settings)
    assert (row.id, row.reply) == ("1", "B")
    assert not is_results(path)


def test_lmms_eval_without_a_reply_is_a_failure(write, settings) -> None:
    sample = {"doc_id": 0, "target": "B", "resps": [[None]], "filtered_resps": [None]}
    found = read_predictions(write("x.jsonl", lines(sample)), settings=settings)
    assert found.replies() == {"0": Failure("request", "no reply was recorded")}


def inspect_sample(name: str, epoch: int = 1, **changed: object) -> dict:
    message = {"role": "assistant", "content": "ANSWER: B", "source": "generate"}
    return {
        "id": name,
        "epoch": epoch,
        "input": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Which colour?"}, {"type": "image", "image": "attachment://1a"}],
            },
        ],
        "choices": ["red", "blue"],
        "target": ["B"],
        "messages": [],
        "output": {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}]},
        "scores": {"choice": {"value": "C", "answer": "B"}},
        "metadata": {"category": "colour", "size": {"w": 1}},
        "attachments": {"1a": "data:image/png;base64,AAAA"},
        **changed,
    }


SAMPLES = [
    inspect_sample("a"),
    inspect_sample("b", error={"message": "timed out", "traceback": "", "traceback_ansi": ""}),
    inspect_sample("c", output={"model": "m", "choices": []}, limit={"type": "time", "limit": 5}),
    inspect_sample(
        "d",
        output={
            "model": "m",
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": [
                            {"type": "reasoning", "reasoning": "A or B"},
                            {"type": "text", "text": "attachment://ff"},
                        ],
                    },
                    "stop_reason": "max_tokens",
                }
            ],
        },
        attachments={"ff": "It may be"},
    ),
]
REPLIES = {
    "a": Generated("ANSWER: B"),
    "b": Failure("request", "timed out"),
    "c": Failure("request", "the time limit ended the sample"),
    "d": Generated("It may be", "length"),
}


def packed(path: Path, samples: list[dict]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2}))
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success"}))
    return path


def test_inspect_logs_packed_and_as_json(tmp_path: Path, write, settings) -> None:
    document = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": SAMPLES}
    for path in (packed(tmp_path / "log.eval", SAMPLES), Path(write("log.json", json.dumps(document)))):
        found = read_predictions(path, settings=settings)
        assert found.replies() == REPLIES
        first = found.rows[0].cells
        assert (first["question"], first["A"], first["B"]) == ("Which colour?", "red", "blue")
        assert (first["category"], found.rows[0].gold) == ("colour", ("B",))
        assert is_results(path)


def test_inspect_epochs_must_be_chosen(tmp_path: Path, settings) -> None:
    path = packed(tmp_path / "log.eval", [inspect_sample("a"), inspect_sample("a", 2)])
    with pytest.raises(DataError, match="same id 'a' but differ"):
        read_predictions(path, settings=settings)
    assert len(read_predictions(path, where={"epoch": "2"}, settings=settings)) == 1
    both = read_predictions(path, columns={"id": "id+epoch"}, settings=settings)
    assert [row.id for row in both] == ["a/1", "a/2"]


def test_mme_results_one_file_or_the_folder(write, settings) -> None:
    folder = Path(write("r/existence.txt", "1.jpg\tIs it?\tYes\tyes, it is\n1.jpg\tIs it?\tNo\tno\n")).parent
    write("r/OCR.txt", "1.jpg\tText?\tYes\tmaybe\tso\n")
    found = read_predictions(folder, settings=settings)
    assert {row.id: (row.reply, *row.gold) for row in found} == {
        "OCR/1.jpg/1": ("maybe\tso", "Yes"),
        "existence/1.jpg/1": ("yes, it is", "Yes"),
        "existence/1.jpg/2": ("no", "No"),
    }
    assert {row.cells["category"] for row in found} == {"OCR", "existence"}
    assert len(read_predictions(folder / "OCR.txt", settings=settings)) == 1
    assert is_results(folder)
    assert not is_results(Path(write("asked/1.txt", "Is it?\tYes\n")).parent)


def test_folder_of_one_mme_file_has_the_digest_of_the_file(write, settings) -> None:
    path = Path(write("r/OCR.txt", "1.jpg\tText?\tYes\tno\n"))
    alone = hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_predictions(path.parent, settings=settings).digest == alone
    write("r/count.txt", "1.jpg\tTwo?\tYes\tno\n")
    assert read_predictions(path.parent, settings=settings).digest != alone


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("results.json", '{"question_id": "5", "prediction": "A"}\n{"question_id": "6", "prediction": "D"}\n'),
        (
            "script.json",
            '{"q_id": "5", "prediction": "A", "gt": "A", "q_type_id": 1}\n'
            '{"q_id": "6", "prediction": "D", "gt": "C", "q_type_id": 2}\n',
        ),
        (
            "GPT-4V.json",
            '{"question_id": "5", "prediction": "A", "gt_answer": "A"},\n'
            '{"question_id": "6", "prediction": "D", "gt_answer": "C"},\n',
        ),
    ],
)
def test_seed_results_in_the_three_spellings(write, settings, name: str, text: str) -> None:
    found = read_predictions(write(name, text), settings=settings)
    assert {row.id: row.reply for row in found} == {"5": "A", "6": "D"}
    if name != "results.json":
        assert [row.gold for row in found] == [("A",), ("C",)]


def test_llava_answers(write, settings) -> None:
    record = {"question_id": 9, "prompt": "Is it?", "text": "Yes", "answer_id": "x", "model_id": "m"}
    (row,) = read_predictions(write("answers.jsonl", lines(record)), settings=settings)
    assert (row.id, row.reply) == ("9", "Yes")


FAILED = "Failed to obtain answer via API. "


@pytest.mark.parametrize("suffix", [".tsv", ".json", ".xlsx"])
def test_vlmevalkit_failure_texts_are_failures(tmp_path: Path, settings, suffix: str) -> None:
    rows = [
        {"index": 0, "question": "?", "A": "x", "B": "y", "answer": "A", "prediction": "B"},
        {"index": 1, "question": "?", "A": "x", "B": "y", "answer": "A", "prediction": FAILED},
    ]
    path = tmp_path / f"m_MMBench_DEV_EN{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(rows, indent=4))
    elif suffix == ".tsv":
        cells = [list(rows[0]), *(list(map(str, row.values())) for row in rows)]
        path.write_text("\n".join("\t".join(f'"{cell}"' for cell in row) for row in cells))
    else:
        from openpyxl import Workbook

        book = Workbook()
        book.active.append(list(rows[0]))
        for row in rows:
            book.active.append(list(row.values()))
        book.save(path)
    replies = read_predictions(path, settings=settings).replies()
    assert replies == {"0": Generated("B"), "1": Failure("request", FAILED.strip())}


def test_error_cell_counts_only_without_a_reply(write, settings) -> None:
    path = write("p.csv", "id,prediction,error\n1,A,0.5\n2,,timeout\n3,,\n")
    assert read_predictions(path, settings=settings).replies() == {
        "1": Generated("A"),
        "2": Failure("request", "timeout"),
        "3": Generated(""),
    }


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("m.pkl", b"\x80\x04.", r"pickle.load\(open\('.*m.pkl', 'rb'\)\); json.dump"),
        ("x.txt", "1.jpg\tIs it?\tYes\n", "line 1: 3 cells; expected image, question, answer"),
        ("x.eval", "no archive", "expected a log of Inspect"),
        ("x.json", '{"question_id": 1, "prediction": "A"}\n{"question', "line 2: not a JSON obj"),
        ("x.jsonl", '{"doc_id": 1, "doc": {}}\n', "holds no replies"),
        ("folder/readme.md", "x", "a folder without result files"),
        ("asked/1.txt", "Is it?\tYes\nIs it not?\tNo\n", "a folder without result files"),
    ],
)
def test_a_broken_file_gets_one_sentence(write, settings, name, content, sentence) -> None:
    path = Path(write(name, content))
    with pytest.raises(DataError, match=sentence):
        read_predictions(path.parent if "/" in name else path, settings=settings)


def test_refuses_archive_without_samples(tmp_path: Path, settings) -> None:
    with pytest.raises(DataError, match="holds no samples"):
        read_predictions(packed(tmp_path / "x.eval", []), settings=settings)
