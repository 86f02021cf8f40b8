"""Sample logs in the layout of lmms-eval's tasks, with questions of our own: for each task two rows
of its data set, what its `doc_to_target` and `process_results` put into the log, and two replies of
which the first is right and the second is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Cells = dict[str, Any]


@dataclass(frozen=True)
class Task:
    name: str
    """The task in lmms-eval, and a name by which the benchmark is known."""
    rows: Sequence[Cells]
    targets: Sequence[Any]
    metrics: Sequence[Mapping[str, Any]]
    replies: tuple[str, str]
    needs_data: bool = False
    """Whether the log as it is written today does not hold the gold."""
    other: Sequence[Cells] = ()
    """The data in the layout of VLMEvalKit, where the benchmark reads that alone."""
    circular: str | None = None

    def log(self, *, old: bool = False) -> str:
        """The log; an old one has the data rows and the prompts as lists."""
        lines = []
        numbered = zip(self.rows, self.targets, self.metrics, self.replies, strict=True)
        for number, (row, target, metrics, reply) in enumerate(numbered):
            asked = row.get("question") or row.get("Question")
            prompt = f"{asked}\nAnswer briefly."
            line: dict[str, Any] = {"doc_id": number, "doc_hash": "0f"}
            if old:
                line |= {
                    "doc": row,
                    "target": target,
                    "arguments": [[prompt, {"until": ["\n"]}]],
                    "resps": [[reply]],
                    "filtered_resps": [reply],
                }
            else:
                line |= {"target": str(target), "filtered_resps": reply, "input": prompt, "token_counts": [None]}
            lines.append(json.dumps(line | metrics))
        return "\n".join(lines) + "\n"

    def data(self) -> str:
        return "".join(json.dumps(row) + "\n" for row in self.other or self.rows)


def _of(rows: Sequence[Cells], *names: str, **renamed: str) -> list[Cells]:
    """Cells of each row as a task aggregates them; `theirs=ours` for those it calls otherwise."""
    pairs = {**{name: name for name in names}, **renamed}
    return [{theirs: row[ours] for theirs, ours in pairs.items()} for row in rows]


def _as(key: str, values: Sequence[Any]) -> list[Cells]:
    return [{key: value} for value in values]


def _task(
    name: str,
    rows: Sequence[Cells],
    metrics: Sequence[Mapping[str, Any]] | None = None,
    replies: tuple[str, str] = ("A", "A"),
    *,
    gold: str = "answer",
    targets: Sequence[Any] | None = None,
    needs_data: bool = False,
    other: Sequence[Cells] = (),
    circular: str | None = None,
) -> Task:
    told = targets if targets is not None else [row[gold] for row in rows]
    plain = [{"exact_match": 1.0}] * len(rows)
    return Task(name, rows, told, metrics or plain, replies, needs_data, other, circular)


_LETTERS = [
    {"question": "Which is green?", "A": "grass", "B": "snow", "C": "coal", "D": "blood"},
    {"question": "Which is white?", "A": "coal", "B": "snow", "C": "grass", "D": "blood"},
]
_A, _B = ({"answer": "A"}, {"answer": "B"})
_ASKED = [{**_LETTERS[0], **_A}, {**_LETTERS[1], **_B}]
_LISTED = [
    {"question": "Which is green?", "options": ["grass", "snow", "coal", "blood"]},
    {"question": "Which is white?", "options": ["coal", "snow", "grass", "blood"]},
]
_OPEN = [{"question": "What is written?"}, {"question": "What stands below?"}]


def _with(rows: Sequence[Cells], *more: Cells, **same: Any) -> list[Cells]:
    extra = more or ({},) * len(rows)
    return [{**row, **one, **same} for row, one in zip(rows, extra, strict=True)]


_VQA = _with(_OPEN, {"question_id": 11, "answers": ["dakota"] * 10}, {"question_id": 12, "answers": ["nokia"] * 10})
_SPOKEN = ("Dakota", "samsung")
_POPE = _with(
    [{"question": "Is there a cat?"}, {"question": "Is there a dog?"}],
    {"id": "0", "question_id": "1", "answer": "yes", "category": "adversarial"},
    {"id": "1", "question_id": "1", "answer": "no", "category": "popular"},
    image_source="COCO_val2014_000000000042",
)
_MME = _with(
    [{"question": "Is it a cat? Please answer yes or no."}, {"question": "Is it a dog? Please answer yes or no."}],
    {"answer": "Yes"},
    {"answer": "No"},
    question_id="existence/000000000042.png",
    category="existence",
)
_MMBENCH = _with(
    _ASKED,
    {"index": 241},
    {"index": 252},
    hint="nan",
    source="made",
    split="dev",
    category="colour",
    **{"L2-category": "coarse"},
)
_MMMU = _with(
    [{**row, "options": str(row["options"])} for row in _LISTED],
    {"id": "validation_Art_1", **_A},
    {"id": "validation_Art_2", **_B},
    question_type="multiple-choice",
)
_SEED = _with(
    [{"question": row["question"], **{f"choice_{k.lower()}": row[k] for k in "ABCD"}} for row in _LETTERS],
    {"question_id": "71", **_A},
    {"question_id": "72", **_B},
    data_type="image",
    question_type_id=1,
)
_BLINK = _with(
    [{"question": row["question"], "choices": row["options"]} for row in _LISTED],
    {"idx": "val_Counting_1", "answer": "(A)"},
    {"idx": "val_Counting_2", "answer": "(B)"},
    sub_task="Counting",
)
_MATHVISTA = [
    {
        "pid": "31",
        "question": "What is 6 x 7?",
        "query": "What is 6 x 7?",
        "choices": None,
        "answer": "42",
        "question_type": "free_form",
        "answer_type": "integer",
        "precision": None,
        "unit": None,
        "metadata": {"task": "math word problem", "skills": ["arithmetic reasoning"]},
    },
    {
        "pid": "32",
        "question": "Which is longer?",
        "query": "Which is longer?",
        "choices": ["the red line", "the blue line"],
        "answer": "the blue line",
        "question_type": "multi_choice",
        "answer_type": "text",
        "precision": None,
        "unit": None,
        "metadata": {"task": "figure question answering", "skills": ["geometry reasoning"]},
    },
]
_HALLUSION = _with(
    [{"question": "Is it round?"}, {"question": "Is it round?"}],
    {"figure_id": "0", "gt_answer": "0", "gt_answer_details": "It is not round."},
    {"figure_id": "1", "gt_answer": "1", "gt_answer_details": "It is round."},
    category="VD",
    subcategory="illusion",
    visual_input="1",
    set_id="0",
    question_id="0",
    sample_note="circle",
)
_VIDEO_MME = _with(
    [
        {
            "question": row["question"],
            "options": [f"{k}. {text}." for k, text in zip("ABCD", row["options"], strict=True)],
        }
        for row in _LISTED
    ],
    {"question_id": "001-1", **_A},
    {"question_id": "001-2", **_B},
    video_id="001",
    videoID="fF",
    duration="short",
    domain="Knowledge",
    sub_category="Physics",
    task_type="Counting Problem",
    url="https://example.org/fF",
)
_MVBENCH = _with(
    [{"question": row["question"], "candidates": row["options"]} for row in _LISTED],
    {"answer": "grass"},
    {"answer": "snow"},
    video="x.mp4",
)
_CAPTIONS = _with(
    [{"question": "Please carefully observe the image and come up with a caption for the image."}] * 2,
    {"question_id": "COCO_val2014_000000000042.jpg", "id": 42, "answer": ["a cat sits on a mat", "a cat on a mat"]},
    {
        "question_id": "COCO_val2014_000000000043.jpg",
        "id": 43,
        "answer": ["two dogs run over green grass", "dogs running on grass"],
    },
)
_MMVP = [
    {"Index": 1, "Question": "Are the eyes open?", "Options": "(a) Open (b) Closed", "Correct Answer": "(a)"},
    {"Index": 2, "Question": "Are the eyes open?", "Options": "(a) Open (b) Closed", "Correct Answer": "(b)"},
]
_CVBENCH = _with(
    [{"question": row["question"], "choices": row["options"]} for row in _LISTED],
    {"idx": 0, "answer": "(A)"},
    {"idx": 1, "answer": "(B)"},
    type="2D",
    task="Count",
    source="COCO",
    prompt="Which?",
)
_QBENCH = [
    {
        "id": 5,
        "question": "How is the light?",
        "option0": "dim",
        "option1": "bright",
        "option2": "N/A",
        "option3": "N/A",
        "correct_choice": "A",
        "question_type": 1,
        "question_concern": 2,
    },
    {
        "id": 6,
        "question": "Is it sharp?",
        "option0": "No",
        "option1": "Yes",
        "option2": "N/A",
        "option3": "N/A",
        "correct_choice": "B",
        "question_type": 0,
        "question_concern": 1,
    },
]
_QBENCH_TABLE = [
    {
        "index": row["id"],
        "question": row["question"],
        "A": row["option0"],
        "B": row["option1"],
        "answer": row["correct_choice"],
    }
    for row in _QBENCH
]

TASKS = [
    *(
        _task(
            name,
            _VQA,
            [{"exact_match": 1.0, "submission": {key: row["question_id"], "answer": "nokia"}} for row in _VQA],
            _SPOKEN,
            targets=["answer", "answer"],
            needs_data=True,
        )
        for name, key in (("textvqa_val", "question_id"), ("ok_vqa_val2014", "image"), ("vizwiz_vqa_val", "image"))
    ),
    _task(
        "docvqa_val",
        [{"questionId": str(row["question_id"]), "question": row["question"], "answers": ["dakota"]} for row in _VQA],
        _as("anls", [1.0, 0.0]),
        _SPOKEN,
        gold="answers",
    ),
    _task(
        "infovqa_val",
        [{"questionId": str(row["question_id"]), "question": row["question"], "answers": ["dakota"]} for row in _VQA],
        _as("anls", [1.0, 0.0]),
        _SPOKEN,
        gold="answers",
    ),
    _task(
        "chartqa",
        _with(_OPEN, {"answer": "14"}, {"answer": "0.57"}, type="human_test"),
        _as("relaxed_overall", [1.0, 0.0]),
        ("14.2", "0.7"),
    ),
    _task(
        "gqa", _with(_OPEN, {"id": "2008", "answer": "left"}, {"id": "2009", "answer": "no"}), None, ("Left.", "yes")
    ),
    _task(
        "pope",
        _POPE,
        _as(
            "pope_accuracy",
            [{**one, "score": 1.0, "prediction": "x", "ground_truth": "x"} for one in _of(_POPE, "question_id")],
        ),
        ("Yes", "Yes"),
    ),
    _task(
        "mme", _MME, _as("mme_perception_score", _with(_of(_MME, "question_id", "category"), score=1.0)), ("Yes", "Yes")
    ),
    _task(
        "mmbench_en_dev",
        _MMBENCH,
        [{"gpt_eval_score": {**one, "prediction": "A"}, "submission": {**one, "prediction": "A"}} for one in _MMBENCH],
        circular="off",
    ),
    _task(
        "mmmu_val",
        _MMMU,
        [
            {"mmmu_acc": {**one, "subdomain": "Art", "parsed_pred": ["A"]}, "submission": {one["id"]: "A"}}
            for one in _of(_MMMU, "id", "question_type", "answer")
        ],
    ),
    _task(
        "mmmu_pro_standard",
        _with(_MMMU, {"id": "test_Art_1"}, {"id": "test_Art_2"}, subject="Art"),
        _as(
            "mmmu_acc",
            [
                {"id": f"test_Art_{n}", "subject": "Art", "answer": gold, "parsed_pred": "A"}
                for n, gold in ((1, "A"), (2, "B"))
            ],
        ),
    ),
    _task(
        "mathvista_testmini_format",
        _MATHVISTA,
        [
            {"llm_as_judge_eval": one, "submission": one}
            for one in _with(
                _of(
                    _MATHVISTA,
                    "query",
                    "choices",
                    "answer",
                    "question_type",
                    "answer_type",
                    "metadata",
                    question_id="pid",
                ),
                extraction="7",
                prediction="7",
                true_false=False,
            )
        ],
        ("42", "the red line"),
    ),
    _task(
        "mathvision_test",
        _with(
            [{"question": "What is 6 x 7?"}, {"question": "What is 6 x 8?"}],
            {"id": "4", "answer": "42"},
            {"id": "5", "answer": "48"},
            options=[],
            level=1,
            subject="arithmetic",
        ),
        _as("mathvision_standard_eval", [{"response": ["x"], "scores": [True]}] * 2),
        ("42", "42"),
    ),
    _task(
        "scienceqa_img",
        _with(
            [{"question": row["question"], "choices": row["options"]} for row in _LISTED],
            {"answer": 0},
            {"answer": 1},
            hint="",
            subject="natural science",
        ),
        targets=["A", "B"],
    ),
    _task(
        "seedbench",
        _SEED,
        [{"seed_image": one, "seed_all": one} for one in _with(_of(_SEED, "question_id", "answer"), pred="A")],
    ),
    _task(
        "seedbench_2_plus",
        _with(_SEED, {"question_id": "9"}, {"question_id": "10"}, question_image_type="chart"),
        _as(
            "seedbench_2_plus_all",
            [{"pred": "A", "answer": "A", "question_id": "9"}, {"pred": "A", "answer": "B", "question_id": "10"}],
        ),
    ),
    _task("ai2d", _with(_LISTED, {"answer": "0"}, {"answer": "1"}), targets=["A", "B"]),
    _task(
        "ocrbench",
        _with(
            _OPEN,
            {"answer": ["Dakota"]},
            {"answer": ["Nokia"]},
            dataset="IIIT5K",
            question_type="Regular Text Recognition",
        ),
        _as(
            "ocrbench_accuracy",
            [{"question_type": "Regular Text Recognition", "score": 1, "prediction": "x", "ground_truth": ["x"]}] * 2,
        ),
        ("It says dakota", "samsung"),
    ),
    _task("realworldqa", _with(_OPEN, {"answer": "No"}, {"answer": "12"}), None, ("No.", "13")),
    _task(
        "mmstar",
        _with(_ASKED, {"index": 0}, {"index": 1}, category="math", l2_category="x"),
        _as("average", [{"question_id": n, "l2_category": "x", "score": 1.0} for n in (0, 1)]),
    ),
    _task(
        "videomme",
        _VIDEO_MME,
        _as(
            "videomme_perception_score",
            _with(
                _of(_VIDEO_MME, "question_id", "duration", "sub_category", "answer", "videoID"),
                pred_answer="A",
                category="Knowledge",
                score=1.0,
            ),
        ),
    ),
    _task(
        "mvbench",
        _MVBENCH,
        _as("mvbench_accuracy", [{"pred_answer": "A", "gt_answer": gold, "score": 1} for gold in "AB"]),
    ),
    _task(
        "mlvu_dev",
        _with(_ASKED, {"task_type": "count"}, {"task_type": "count"}, video_name="x.mp4"),
        _as(
            "mlvu_percetion_score",
            [
                {"question_id": row["question"], "task_type": "count", "pred_answer": "A", "answer": row["answer"]}
                for row in _ASKED
            ],
        ),
    ),
    _task(
        "hallusion_bench_image",
        _HALLUSION,
        [{key: {**row, "model_prediction": "No"} for key in ("aAcc", "fAcc", "qAcc")} for row in _HALLUSION],
        ("No, it is not.", "No"),
        gold="gt_answer_details",
    ),
    _task(
        "blink",
        _BLINK,
        _as(
            "blink_acc",
            [
                {
                    "id": row["idx"],
                    "gt_content": row["answer"].strip("()"),
                    "pred_parsed": "A",
                    "pred": "(A)",
                    "sub_task": "Counting",
                    "is_correct": True,
                }
                for row in _BLINK
            ],
        ),
    ),
    _task(
        "cv_bench",
        _CVBENCH,
        _as(
            "cv_bench_acc",
            [
                {
                    "id": row["idx"],
                    "gt_content": row["answer"].strip("()"),
                    "pred_parsed": "A",
                    "pred": "(A)",
                    "type": "2D",
                    "task": "Count",
                    "source": "COCO",
                    "is_correct": True,
                }
                for row in _CVBENCH
            ],
        ),
    ),
    _task(
        "mmvp",
        _MMVP,
        _as(
            "mmvp_accuracy",
            [
                {"index": n, "pair_index": 0, "pred": "A", "pred_letter": "A", "gt": gold, "is_correct": True}
                for n, gold in enumerate("AB")
            ],
        ),
        ("(a)", "(a)"),
        targets=["A", "B"],
    ),
    _task(
        "coco2014_cap_val",
        _CAPTIONS,
        _as(
            "coco_CIDEr",
            [{"answer": row["answer"], "pred": "x", "image_id": row["id"], "id": row["id"]} for row in _CAPTIONS],
        ),
        ("a cat sits on a mat", "zebra"),
    ),
    _task(
        "mmerealworld_lite",
        [
            {
                "index": n,
                "question": row["question"],
                "multi-choice options": [f"({k}) {row[k]}" for k in "ABCD"],
                "answer": gold,
                "category": "Perception/OCR",
                "l2-category": "book",
            }
            for n, (row, gold) in enumerate(zip(_LETTERS, "AB", strict=True))
        ],
        _as(
            "mme_realworld_score",
            [
                {
                    "question_id": n,
                    "category": "Perception",
                    "sub_category": "OCR",
                    "task_category": "book",
                    "pred_answer": "A",
                    "answer": gold,
                }
                for n, gold in enumerate("AB")
            ],
        ),
    ),
    _task(
        "muirbench",
        _with(
            _LISTED,
            {"idx": "7", **_A},
            {"idx": "8", **_B},
            task="Counting",
            image_relation="Independent",
            image_type="Photo",
        ),
        _as(
            "muirbench_score_overall",
            [
                {
                    "pred": "A",
                    "task": "Counting",
                    "idx": name,
                    "image_relation": "Independent",
                    "answer": gold,
                    "image_type": "Photo",
                }
                for name, gold in (("7", "A"), ("8", "B"))
            ],
        ),
    ),
    _task(
        "mmt_val",
        _with(
            _ASKED,
            {"index": 3},
            {"index": 4},
            category="visual_grounding",
            **{"l2-category": "pixel_localization"},
            split="VAL",
        ),
        _as("accuracy", [{"overall": 1.0, "pixel_localization": 1.0}] * 2),
    ),
    _task(
        "qbench_dev",
        _QBENCH,
        [
            {"qbench_acc": {**one, "parsed_pred": "A"}, "submission": {str(one["id"]): "A"}}
            for one in _of(_QBENCH, "id", "question_concern", "question_type", answer="correct_choice")
        ],
        gold="correct_choice",
        other=_QBENCH_TABLE,
    ),
    _task(
        "abench_dev",
        [{**row, "category": "part1"} for row in _QBENCH],
        [
            {"abench_acc": {**one, "category": "part1", "parsed_pred": "A"}, "submission": {str(one["id"]): "A"}}
            for one in _of(_QBENCH, "id", answer="correct_choice")
        ],
        gold="correct_choice",
        other=_QBENCH_TABLE,
    ),
    _task(
        "mtvqa",
        _with(_OPEN, {"id": "a_1", "answer": "Dakota"}, {"id": "a_2", "answer": "Nokia"}, category="DE"),
        _as("mtvqa_score", [{"category": "DE", "score": 1.0}] * 2),
        ("dakota", "samsung"),
    ),
    _task(
        "mmlongbench_doc",
        _with(
            _OPEN,
            {"answer": "Dakota"},
            {"answer": "Nokia"},
            doc_id="report.pdf",
            doc_type="Guidebook",
            answer_format="Str",
            evidence_pages="[1]",
        ),
        _as("mmlongbench_doc_acc", [{"score": 1.0}] * 2),
        ("Dakota", "samsung"),
    ),
    _task(
        "slidevqa",
        _with(_OPEN, {"answer": "Dakota"}, {"answer": "Nokia"}, deck_name="deck"),
        _as("anls", [1.0, 0.0]),
        ("Dakota", "samsung"),
    ),
    _task(
        "dude",
        _with(_OPEN, {"answers": ["Dakota"]}, {"answers": ["Nokia"]}, docId="d", questionId="q"),
        _as("dude_anls", [1.0, 0.0]),
        ("Dakota", "samsung"),
        targets=["Dakota", "Nokia"],
    ),
]
