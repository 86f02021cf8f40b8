"""Predictions find the rows they answer, and what nobody replied is told apart from silence."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.api.scored import Scored
from snellen.api.scoring import score
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.core.output import Failure
from snellen.data import predictions
from snellen.data.predictions import read_predictions
from snellen.data.tables.index import Scan
from snellen.settings import Settings

HERE = Path(__file__).parent


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def verdicts(found: Scored) -> list[tuple[str, float | None, str]]:
    return [(record.id, record.score, record.outcome) for record in found.records]


POPE = lines(
    {"id": "0", "question_id": "1", "question": "A cat?", "answer": "yes", "category": "popular"},
    {"id": "1", "question_id": "2", "question": "A dog?", "answer": "no", "category": "popular"},
    {"id": "2", "question_id": "1", "question": "A bird?", "answer": "no", "category": "random"},
    {"id": "3", "question_id": "2", "question": "A cow?", "answer": "yes", "category": "random"},
)


def pope_log(golds: str = "yes no no yes", asked: bool = False) -> str:
    questions = ("A cat?", "A dog?", "A bird?", "A cow?")
    return lines(
        *(
            {
                "doc_id": place,
                "target": gold,
                "filtered_resps": gold,
                "doc_hash": "0f",
                **({"input": f"{question}\nAnswer yes or no."} if asked else {}),
                "pope_accuracy": {"question_id": str(place % 2 + 1), "prediction": "x"},
            }
            for place, (gold, question) in enumerate(zip(golds.split(), questions, strict=True))
        )
    )


@pytest.mark.parametrize("asked", [True, False])
def test_ids_that_repeat_in_the_data_are_joined_by_place(write, asked: bool) -> None:
    log = write("x_samples_pope.jsonl", pope_log(asked=asked))
    found = score("pope", log, data=write("pope.jsonl", POPE))
    assert verdicts(found) == [(str(n), 1.0, "answered") for n in range(4)]
    assert found.warnings == ()


def test_a_place_that_the_log_contradicts_is_refused(write) -> None:
    log = write("x_samples_pope.jsonl", pope_log("no no yes no"))
    with pytest.raises(DataError, match=r"do not say which row of .* was asked.*--columns id="):
        score("pope", log, data=write("pope.jsonl", POPE))


def test_a_column_of_both_is_taken_before_the_first_of_one(write) -> None:
    data = lines(
        {"index": 0, "id": "b", "question": "Which?", "A": "x", "B": "y", "answer": "A"},
        {"index": 1, "id": "a", "question": "Which one?", "A": "x", "B": "y", "answer": "B"},
    )
    replies = lines({"id": "a", "prediction": "B"}, {"id": "b", "prediction": "B"})
    found = score(write("own.jsonl", data), write("p.jsonl", replies))
    assert verdicts(found) == [("0", 0.0, "answered"), ("1", 1.0, "answered")]


def test_joins_two_questions_about_one_image(write) -> None:
    answers = lines(
        {"question_id": "existence/20.png", "prompt": "Is it a dog? Briefly.", "text": "Yes"},
        {"question_id": "existence/20.png", "prompt": "Is it a cat? Briefly.", "text": "Yes"},
    )
    data = (
        "index\timage_path\tquestion\tanswer\tcategory\n"
        "0\texistence/20.png\tIs it a cat?\tYes\texistence\n"
        "1\texistence/20.png\tIs it a dog?\tNo\texistence\n"
    )
    found = score("mme", write("mme.jsonl", answers), data=write("MME.tsv", data))
    assert verdicts(found) == [("0", 1.0, "answered"), ("1", 0.0, "answered")]


KEYS = lines(
    {"id": "1", "question": "Is it day?", "answer": "yes", "b": "yes", "deep": {"b": "yes"}},
    {"id": "2", "question": "Is it day?", "answer": "no", "deep": {}},
    {"id": "3", "question": "Is it day?", "answer": "no", "b": "", "deep": {"b": ""}},
    {"id": "4", "question": "Is it day?", "answer": "no", "b": None, "deep": {"b": None}},
)


@pytest.mark.parametrize("column", ["b", "deep.b"])
def test_a_reply_that_is_not_there_is_missing_and_one_of_no_words_empty(write, column) -> None:
    found = score(write("keys.jsonl", KEYS), columns={"prediction": column})
    assert [record.outcome for record in found.records] == ["answered", "missing", "empty", "missing"]
    assert found.summary.n == 2


def test_an_empty_cell_of_a_table_is_a_reply_of_no_words(write) -> None:
    path = write("p.csv", "id,question,answer,prediction\n1,Is it day?,yes,\n")
    assert [record.outcome for record in score(path).records] == ["empty"]


def test_null_is_wrong_where_the_authors_count_it(write) -> None:
    row = {
        "video": "1",
        "dim": "action",
        "i": 0,
        "gt-answer": "A. run",
        "rating": 0,
        "question": "What?\nA. run\nB. sit",
        "video-llm-prediction": None,
    }
    other = {**row, "i": 1, "rating": 1, "video-llm-prediction": "A"}
    found = score("tempcompass", write("t.jsonl", lines(row, other)), judges=["column:rating"])
    assert [record.score for record in found.records] == [0.0, 1.0]


def test_program_error_in_a_reply_is_not_a_failure(write) -> None:
    row = {
        "pid": "1",
        "question": "How long?",
        "answer": "1.2",
        "question_type": "free_form",
        "answer_type": "float",
        "response": "print(1 / 0)",
        "error": "ZeroDivisionError",
        "extraction": "",
        "prediction": None,
    }
    other = {**row, "pid": "2", "error": "None", "extraction": "1.2", "prediction": "1.2"}
    found = score("mathvista", write("t.jsonl", lines(row, other)))
    assert [record.score for record in found.records] == [0.0, 1.0]


@pytest.mark.parametrize(
    "text",
    [
        "[LMMS_EVAL_REQUEST_FAILED after 3 retries] Error code: 500",
        "Failed to obtain answer via API.",
        "Failed to obtain answer via bailingMM API.",
        "Video /data/x.mp4 generate failed, check the source",
    ],
)
def test_failure_texts_of_other_tools_are_failures(write, settings, text) -> None:
    path = write("p.jsonl", lines({"id": 1, "prediction": text}))
    assert read_predictions(path, settings=settings).replies() == {"1": Failure("request", text)}


JOINED = "task,i,answer,response\nt1,0,A,A\nt2,0,B,A\n"


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx"])
def test_parts_of_an_id_may_have_roles_of_their_own(write, settings, suffix: str) -> None:
    header, *rows = (line.split(",") for line in JOINED.split())
    records = [dict(zip(header, row, strict=True)) for row in rows]
    content: str | bytes = JOINED
    if suffix == ".jsonl":
        content = lines(*records)
    elif suffix == ".xlsx":
        from test_result_files import workbook

        content = workbook(records)
    columns = {"id": "task+i", "prediction": "response", "category": "task"}
    found = read_predictions(write(f"j{suffix}", content), columns=columns, settings=settings)
    assert [row.id for row in found] == ["t1/0", "t2/0"]
    assert [row.cells["category"] for row in found] == ["t1", "t2"]


TWICE = lines(
    {"question_id": "1", "gt": "A", "prediction": "A"},
    {"question_id": "1", "gt": "A", "prediction": "B"},
    {"question_id": "v2", "gt": "A", "prediction": "A"},
    {"question_id": "v2", "gt": "A", "prediction": "C"},
)


def test_seed_bench_counts_every_row_of_its_results(write) -> None:
    path = write("results.json", TWICE)
    found = score("seedbench", path)
    assert [record.groups["media"] for record in found.records] == ["image"] * 2 + ["video"] * 2
    assert found.summary.metrics["accuracy"].value == 50.0
    assert "2 rows have the id of an earlier one and other content" in found.warnings[0]
    with pytest.raises(DataError, match="rows 1 and 2 have the same id '1' but differ"):
        score("mmstar", path)


def test_seed_bench_2_infers_the_dimension_from_the_id(write) -> None:
    rows = "1_7,What?,a,b,c,d,A,A\n10_8,What?,a,b,c,d,B,B\n"
    path = write("seed2.csv", f"question_id,question,A,B,C,D,answer,prediction\n{rows}")
    found = score("SEED-Bench-2", path)
    assert [record.groups["dimension"] for record in found.records] == ["Scene Understanding", "Celebrity Recognition"]
    assert any(told.startswith("L2 has no value: none for") for told in found.summary.notices)


HALLUSION = (
    "index,category,subcategory,set_id,figure_id,question_id,question,answer,prediction\n"
    "x1,VD,illusion,0,0,0,Is it round?,No,No\nx2,VD,illusion,0,1,0,Is it round?,Yes,Yes\n"
)


def test_hallusionbench_keeps_the_ids_of_the_file(write) -> None:
    found = score("hallusionbench", write("h.csv", HALLUSION))
    assert verdicts(found) == [("x1", 1.0, "answered"), ("x2", 1.0, "answered")]
    assert [record.unit for record in found.records] == ["VD-illusion/0/0/0", "VD-illusion/0/1/0"]


@pytest.mark.parametrize("index", ["0_VD_illusion_0_{}_0", "VD-illusion_0_{}_0"])
def test_hallusionbench_is_joined_by_its_places(write, index: str) -> None:
    data = "index,category,l2-category,question,answer\n" + "".join(
        f"{index.format(n)},VD,illusion,Is it round?,{gold}\n" for n, gold in enumerate(("No", "Yes"))
    )
    replies = [
        {
            "category": "VD",
            "subcategory": "illusion",
            "set_id": "0",
            "figure_id": str(n),
            "question_id": "0",
            "question": "Is it round?",
            "gt_answer": str(n),
            "model_prediction": "Yes",
        }
        for n in (1, 0)
    ]
    path = write("HallusionBench_result.json", json.dumps(replies))
    found = score("hallusionbench", path, data=write("h.csv", data))
    assert [record.score for record in found.records] == [0.0, 1.0]


def test_ocrbench_question_kind_is_read_from_other_columns(write) -> None:
    for column, kind in (("question_type", "Handwritten Mathematical Expression Recognition"), ("dataset", "HME100k")):
        row = {"index": 1, "question": "Write it.", column: kind, "answers": ["x ^ 2 + 1"], "prediction": "x^2+1"}
        found = score("ocrbench", write("ocr.jsonl", lines(row)))
        assert [record.score for record in found.records] == [1.0], column


PLACES = [
    {"id": "1", "question": "Which part?", "options": ["root", "stem", "leaf"], "answer": "1", "prediction": "B"},
    {"id": "2", "question": "Which number?", "options": ["1", "2", "3"], "answer": "1", "prediction": "B"},
]


def test_the_place_of_an_option_may_be_written_as_text(write) -> None:
    found = score("ai2d", write("ai.jsonl", lines(*PLACES)))
    assert [record.score for record in found.records] == [1.0, 1.0]
    # Where all golds are texts of options, they are these.
    found = score("ai2d", write("texts.jsonl", lines(PLACES[1])))
    assert [record.score for record in found.records] == [0.0]


def test_an_empty_option_between_others_is_none(write) -> None:
    path = write("a.csv", "index,question,A,B,C,D,answer,prediction\n0,Which?,x,,y,z,D,D\n")
    (record,) = score("a-okvqa", path).records
    assert (record.score, list(record.options)) == (1.0, ["A", "C", "D"])


def test_data_may_be_a_workbook(write) -> None:
    from test_result_files import workbook

    rows = [{"index": n, "question": f"Which {n}?", "A": "x", "B": "y", "answer": "A"} for n in (1, 2)]
    data = write("questions.xlsx", workbook(rows))
    replies = write("p.csv", "id,prediction\n1,A\n2,B\n")
    for benchmark, beside in (("mmstar", data), (data, None)):
        found = score(benchmark, replies, data=beside)
        assert [record.score for record in found.records] == [1.0, 0.0]


def test_an_archive_of_inspect_packed_with_zstandard(settings) -> None:
    """Written by inspect-ai 0.3.285."""
    found = score(str(HERE / "inspect_colours.eval"), variant=Variant())
    assert verdicts(found) == [("grass", 0.0, "answered"), ("legs", 1.0, "answered"), ("sky", 1.0, "answered")]


def test_a_damaged_member_gets_one_sentence(tmp_path: Path, settings) -> None:
    data = bytearray((HERE / "inspect_colours.eval").read_bytes())
    start = data.index(b"samples/sky_epoch_1.json") + 200
    data[start : start + 40] = bytes(40)
    path = tmp_path / "cut.eval"
    path.write_bytes(data)
    with pytest.raises(DataError, match="is a damaged archive"):
        read_predictions(path, settings=settings)


def test_the_advice_for_pickles_works_on_dictionaries(tmp_path: Path, settings) -> None:
    path = tmp_path / "m_MMStar.pkl"
    make = f"import pickle; pickle.dump({{0: 'A', 1: 'B'}}, open({str(path)!r}, 'wb'))"
    subprocess.run([sys.executable, "-c", make], check=True)
    with pytest.raises(DataError) as caught:
        read_predictions(path, settings=settings)
    line = str(caught.value).partition('python -c "')[2].removesuffix('"')
    subprocess.run([sys.executable, "-c", line], check=True)
    found = read_predictions(path.with_suffix(".json"), settings=settings)
    assert [(row.id, row.reply) for row in found] == [("0", "A"), ("1", "B")]


def test_a_published_file_says_which_of_its_columns_count(write) -> None:
    row = {"idx": "1", "answer": "(A)", "prediction": "(A)", "full_prediction": "It is A"}
    found = score("blink", write("p.jsonl", lines(row)))
    assert any("--columns prediction=full_prediction" in told for told in found.warnings)


MM_VET = {"id": "1", "question": "x?", "answer": "y", "prediction": "y"}
REVIEW = {"answer1_id": "a", "answer2_id": "b", "category": "llava_bench_conv"}


@pytest.mark.parametrize(
    ("benchmark", "row", "verdicts", "scored"),
    [
        ("mm-vet", {**MM_VET, "grade_1run": [0.5]}, "grade_1run", 50.0),
        ("mm-vet", {**MM_VET, "score": 0.5, "log": "Succeed"}, "score", 50.0),
        ("mm-vet", {**MM_VET, "grade_1run": [0.5, 1.0, 0.9]}, "grade_1run", 80.0),
        (
            "tempcompass",
            {
                "video": "1",
                "dim": "action",
                "i": 0,
                "question": "What?\nA. run\nB. sit",
                "gt-answer": "A. run",
                "video-llm-prediction": "run?",
                "rating": 1,
            },
            "rating",
            100.0,
        ),
        (
            "llava-bench",
            {"question_id": 0, **REVIEW, "content": "8 6\nThe first is better.", "tuple": [8.0, 6.0]},
            "content",
            75.0,
        ),
        (
            "llava-bench",
            {
                "index": 0,
                "question": "?",
                "category": "conv",
                "prediction": "A hill",
                "gpt4_ans": "Hill",
                "gpt4_score": 8,
                "score": 6,
            },
            "gpt4_score+score",
            75.0,
        ),
    ],
)
def test_recorded_verdicts_of_a_published_file_count(
    write, benchmark: str, row: dict, verdicts: str, scored: float
) -> None:
    path = write("p.jsonl", lines(row))
    found = score(benchmark, path)
    assert found.score == pytest.approx(scored)
    assert any(f"recorded in {verdicts!r}" in told for told in found.warnings)
    again = score(benchmark, path, judges=[f"column:{verdicts}"])
    assert again.score == found.score
    assert not any("recorded in" in told for told in again.warnings)


@pytest.mark.parametrize(("rule", "reads"), [("snellen", 1), ("official", 2)])
def test_a_file_is_read_again_only_where_the_layout_renames_a_column(
    write, monkeypatch: pytest.MonkeyPatch, rule: str, reads: int
) -> None:
    row = {
        "pid": "1",
        "question": "How many?",
        "answer": "2",
        "question_type": "free_form",
        "answer_type": "integer",
        "response": "2",
        "extraction": "2",
        "prediction": "2",
    }
    scans: list[str] = []

    def count_scan(path: Path, columns: dict, name: str, settings: Settings) -> Scan:
        scans.append(name)
        return scan_file(path, columns, name, settings)

    scan_file = predictions._scan_file
    monkeypatch.setattr(predictions, "_scan_file", count_scan)
    found = score("mathvista", write("t.jsonl", lines(row)), variant=Variant(rule=rule))
    assert (found.score, len(scans)) == (100.0, reads)


def test_grades_without_the_replies_are_scored_on_the_data(write) -> None:
    grades = {"v1_0": {"model": ["gpt-4"], "content": ["0.5"], "score": [0.5]}}
    data = {"v1_0": {"question": "What?", "answer": "a hill", "capability": ["rec"]}}
    path = write("grades.json", json.dumps(grades))
    found = score("mm-vet", path, data=write("mm-vet.json", json.dumps(data)))
    assert found.score == 50.0
    assert any("no replies" in told for told in found.warnings)


def test_the_official_rule_reads_what_the_authors_script_reads(write) -> None:
    row = {
        "pid": "1",
        "question": "How many?",
        "answer": "2",
        "question_type": "free_form",
        "answer_type": "integer",
        "response": "Two.",
        "extraction": "2.0",
        "prediction": "2",
    }
    path = write("t.jsonl", lines(row))
    assert score("mathvista", path).score == 100.0
    official = score("mathvista", path, variant=Variant(rule="official"))
    assert official.score == 0.0  # by it, 2.0 is no integer


def test_an_answer_key_without_questions_is_data(write) -> None:
    key = {
        "q_1": {"question_type": "multiple-choice", "ground_truth": "B"},
        "q_2": {"question_type": "short-answer", "ground_truth": "A"},
    }
    path = write("answers.json", json.dumps({"q_1": "B", "q_2": "a"}))
    found = score("mmmu", path, data=write("key.json", json.dumps(key)))
    assert verdicts(found) == [("q_1", 1.0, "answered"), ("q_2", 1.0, "answered")]
    assert any("is not the published file" in told for told in found.summary.notices)


def test_a_folder_holds_a_file_for_each_part(tmp_path: Path) -> None:
    for task, reply in (("IQ Test", "(A)"), ("Multi-view Reasoning", "(B)")):
        name = task.replace(" ", "_")
        row = {"answer": "(A)", "prediction": reply, "full_prediction": reply}
        document = {
            "val": [{"idx": f"val_{name}_1", **row}],
            "test": [{"idx": f"test_{name}_1", **row, "answer": "hidden"}],
        }
        (tmp_path / f"{task}.json").write_text(json.dumps(document))
    found = score("blink", tmp_path)
    tasks = {name: metric.value for name, metric in found.summary.groups["task"].items()}
    assert tasks == {"IQ_Test": 100.0, "Multi-view_Reasoning": 0.0}
    assert (found.score, found.summary.no_gold) == (50.0, 2)


def test_folder_of_predictions_includes_packed_files_and_subfolders(tmp_path: Path) -> None:
    (tmp_path / "more.json").mkdir()
    for name in ("a.jsonl.gz", "more.json/b.jsonl"):
        data = json.dumps({"id": name, "prediction": "A"}).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = read_predictions(tmp_path)
    assert [(row.id, row.cells["file"]) for row in found] == [("a.jsonl.gz", "a"), ("more.json/b.jsonl", "more.json/b")]


def test_the_parts_of_a_table_benchmark_are_named_by_their_files(tmp_path: Path) -> None:
    row = {"qa_id": "nu-1", "question": "Who?", "gt": "2", "pred": "2"}
    for part in ("vwtq", "vwtq_syn"):
        (tmp_path / f"{part}.json").write_text(json.dumps([row]))
    found = score("tablevqabench", tmp_path)
    assert set(found.summary.groups["split"]) == {"vwtq", "vwtq_syn"}
