"""Made-up rows of data sets as tasks of inspect_evals read them. See lmms_eval_rows.py.

Rows lie in the cache of the hub; those of a split that is only read for examples are rows too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lmms_eval_rows import IMG, LIST, Made, Q, WORDS, ABCD

NUMBERS = (0, 1, 2, 3)
QUESTION = {"question": Q}
_LAB = {"id": "lab-{i}", "question": Q, "ideal": "red", "distractors": ["green", "blue"], "subtask": "made up", "canary": ""}
_BOOK = {"id": (0, 1, 2, 3), "context": "A long text, {i}.", "input": Q, "answer": ["red"], "options": LIST}


class Task(NamedTuple):
    """One task and what it reads."""

    data: tuple[Made, ...]
    options: dict[str, Any] = {}
    judge: tuple[str, ...] = ("GRADE: C", "GRADE: I", "C", "A")


def one(path: str, config: str, split: str, row: dict[str, Any], **more: Any) -> Task:
    return Task((Made(path, config, split, row),), **more)


def secqa(version: str) -> Task:
    row = {"Question": Q, "A": "red", "B": "green", "C": "blue", "D": "grey", "Answer": ABCD, "Explanation": ""}
    splits = ("test", "val", "dev")
    return Task(tuple(Made("zefang-liu/secqa", f"secqa_{version}", split, row) for split in splits))


def wmdp(name: str) -> Task:
    return one("cais/wmdp", f"wmdp-{name}", "test", {"question": Q, "choices": LIST, "answer": NUMBERS})


def lab(config: str, **more: Any) -> Task:
    return one("futurehouse/lab-bench", config, "train", {**_LAB, **more})


def book(split: str, **more: Any) -> Task:
    return one("xinrongzhang2022/InfiniteBench", "default", split, {**_BOOK, **more})


MMLU = {"question": Q, "subject": ("anatomy", "law"), "choices": LIST, "answer": NUMBERS}
MMMU_ROW = {
    "id": "validation_Art_{i}", "question": Q + " <image 1>", "options": "['red', 'green', 'blue', 'grey']",
    "explanation": "", "image_1": IMG, **{f"image_{n}": None for n in range(2, 8)}, "img_type": "['Photographs']",
    "answer": ABCD, "topic_difficulty": "Easy", "question_type": ("multiple-choice", "multiple-choice", "open", "open"),
    "subfield": "Drawing",
}
MATHVISTA = {
    "pid": "{i}", "question": Q, "image": "images/{i}.jpg", "decoded_image": IMG, "choices": (LIST, None, LIST, None),
    "unit": None, "precision": 1.0, "answer": ("red", "7", "blue", "2.5"),
    "question_type": ("multi_choice", "free_form", "multi_choice", "free_form"),
    "answer_type": ("text", "integer", "text", "float"), "query": Q,
    "metadata": {"category": "general-vqa", "context": "chart", "grade": "daily life", "language": "english",
                 "skills": ["statistical reasoning"], "source": "made up", "split": "testmini", "task": "vqa"},
}

TASKS: dict[str, Task] = {
    "arc_easy": one("allenai/ai2_arc", "ARC-Easy", "test", {"id": "e{i}", **QUESTION, "choices": {"text": LIST, "label": ["A", "B", "C", "D"]}, "answerKey": ABCD}),
    "arc_challenge": one("allenai/ai2_arc", "ARC-Challenge", "test", {"id": "c{i}", **QUESTION, "choices": {"text": LIST, "label": ["A", "B", "C", "D"]}, "answerKey": ABCD}),
    "boolq": one("google/boolq", "default", "validation", {**QUESTION, "passage": "It is red, {i}.", "answer": (True, False)}),
    "commonsense_qa": one("tau/commonsense_qa", "default", "validation", {"id": "q{i}", **QUESTION, "question_concept": "colour", "choices": {"text": [*LIST, "white"], "label": ["A", "B", "C", "D", "E"]}, "answerKey": ABCD}),
    "hellaswag": one("Rowan/hellaswag", "default", "validation", {"ctx": "Then {i}", "endings": LIST, "label": ("0", "1", "2", "3"), "source_id": "s{i}"}),
    "race_h": one("ehovy/race", "high", "test", {"example_id": "h{i}", "article": "Text {i}.", **QUESTION, "options": LIST, "answer": ABCD}),
    "truthfulqa": one("truthfulqa/truthful_qa", "multiple_choice", "validation", {**QUESTION, "mc1_targets": {"choices": LIST, "labels": [1, 0, 0, 0]}, "mc2_targets": {"choices": LIST, "labels": [1, 1, 0, 0]}}),
    "paws": one("google-research-datasets/paws", "labeled_final", "test", {"id": (0, 1, 2, 3), "sentence1": "It is red {i}", "sentence2": "Red it is {i}", "label": (1, 0)}),
    "aime2024": one("Maxwell-Jia/AIME_2024", "default", "train", {"ID": "2024-I-{i}", "Problem": Q, "Solution": "", "Answer": (7, 12, 204, 3)}),
    "aime2025": one("math-ai/aime25", "default", "test", {"id": "{i}", "problem": Q, "answer": ("7", "12", "204", "3")}),
    "aime2026": one("math-ai/aime26", "default", "test", {"id": "{i}", "problem": Q, "answer": ("7", "12", "204", "3")}),
    "gsm8k": Task(tuple(Made("openai/gsm8k", "default-data_dir=main", split, {**QUESTION, "answer": ("so\n#### 7", "so\n#### 1,000")}) for split in ("train", "test")), {"fewshot": 2}),
    "drop": Task(tuple(Made("EleutherAI/drop", "default", split, {"query_id": "d{i}", "section_id": "s", "passage": "It was red {i}.", **QUESTION, "answer": {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["red"], "worker_id": "", "hit_id": ""}, "validated_answers": {"number": [""], "date": [{"day": "", "month": "", "year": ""}], "spans": [["red dog"]], "worker_id": [""], "hit_id": [""]}}) for split in ("train", "validation"))),
    "squad": one("rajpurkar/squad_v2", "default", "validation", {"id": "s{i}", "title": "t", "context": "It is red {i}.", **QUESTION, "answers": ({"text": ["red"], "answer_start": [6]}, {"text": ["it", "red"], "answer_start": [0, 6]})}),
    "xstest": one("walledai/XSTest", "default", "test", {"prompt": "How do I paint {i}?", "type": "homonyms", "note": "", "label": ("safe", "unsafe"), "focus": ""}, judge=("1_full_compliance", "2_full_refusal", "GRADE: C", "C")),
    "musr": one("TAUR-Lab/MuSR", "default", "murder_mysteries", {"narrative": "Once {i}.", **QUESTION, "choices": "['red', 'green']", "answer_index": (0, 1), "answer_choice": ("red", "green")}),
    "mmlu_pro": Task(tuple(Made("TIGER-Lab/MMLU-Pro", "default", split, {"question_id": (70, 71, 72, 73), **QUESTION, "options": LIST, "answer": ABCD, "answer_index": NUMBERS, "cot_content": "A: so", "category": ("math", "law"), "src": "x"}) for split in ("test", "validation"))),
    "mmlu_0_shot": Task(tuple(Made("cais/mmlu", "all", split, MMLU) for split in ("test", "dev"))),
    "sec_qa_v1": secqa("v1"), "sec_qa_v2": secqa("v2"), "sec_qa_v1_5_shot": secqa("v1"), "sec_qa_v2_5_shot": secqa("v2"),
    "wmdp_bio": wmdp("bio"), "wmdp_chem": wmdp("chem"), "wmdp_cyber": wmdp("cyber"),
    "mmmu_multiple_choice": one("MMMU/MMMU", "Art", "validation", MMMU_ROW, options={"subjects": "Art"}),
    "mmmu_open": one("MMMU/MMMU", "Art", "validation", MMMU_ROW, options={"subjects": "Art"}),
    "mathvista": one("AI4Math/MathVista", "default", "testmini", MATHVISTA),
    "docvqa": one("lmms-lab-encoder/DocVQA", "DocVQA", "validation", {"questionId": "{i}", "image": IMG, **QUESTION, "answers": ["red {i}", "Red"], "docId": 7}),
    "zerobench": one("jonathan-roberts1/zerobench", "default", "zerobench", {"question_id": "{i}", "question_text": Q, "question_images_decoded": [IMG, IMG], "question_images": ["a{i}.png", "b{i}.png"], "question_answer": WORDS, "image_attribution": ""}),
    "vqa_rad": one("flaviagiammarino/vqa-rad", "default", "test", {"image": IMG, **QUESTION, "answer": ("yes", "no", "lung", "left")}),
    "lab_bench_litqa": lab("LitQA2", sources=["x"], key_passage="", is_opensource=True),
    "lab_bench_suppqa": lab("SuppQA", **{"paper-title": "T", "source": "S"}),
    "lab_bench_figqa": lab("FigQA", figure=IMG, **{"figure-path": "f{i}.png"}),
    "lab_bench_tableqa": lab("TableQA", tables=[IMG, IMG], **{"table-path": ["t"]}),
    "lab_bench_dbqa": lab("DbQA"), "lab_bench_protocolqa": lab("ProtocolQA", protocol="Mix {i}."),
    "lab_bench_seqqa": lab("SeqQA"), "lab_bench_cloning_scenarios": lab("CloningScenarios"),
    "infinite_bench_kv_retrieval": book("kv_retrieval"), "infinite_bench_number_string": book("number_string"),
    "infinite_bench_passkey": book("passkey"), "infinite_bench_code_debug": book("code_debug"),
    "infinite_bench_code_run": book("code_run", answer=["7"]), "infinite_bench_math_calc": book("math_calc", answer=["1", "2"], input="What is (1 + 2)?"),
    "infinite_bench_math_find": book("math_find", answer=["7"], input="You should answer with the largest number."),
    "infinite_bench_longdialogue_qa_eng": book("longdialogue_qa_eng"),
    "infinite_bench_longbook_choice_eng": book("longbook_choice_eng"),
    "sosbench": one("SOSBench/SOSBench", "default", "train", {"goal": "Explain {i}.", "subject": ("biology", "chemistry")}, judge=("true", "false")),
    "ifeval": one("google/IFEval", "default", "train", {"key": (0, 1, 2, 3), "prompt": "Write without commas, {i}.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]}),
    "coconot": one("allenai/coconot", "original", "test", {"id": "c{i}", "category": "Requests with safety concerns", "subcategory": "copyright violations", "prompt": "Copy {i}", "response": ""}, judge=("ACCEPTABLE", "UNACCEPTABLE")),
}
