"""Benchmarks that are a TOML file alone, by the classes of VLMEvalKit and the tasks of lmms-eval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import LMMS_EVAL_VIDEO, VLMEVALKIT_QUOTED
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import Cells, choice_cases, table_row
from tests.differential.specs.judged_points import Words
from tests.differential.specs.quoted_images import FOUR, class_set, listed_row, memory_set, spatial_set
from tests.differential.specs.quoted_judged import quoted
from tests.differential.specs.quoted_videos import _MIXED as MIXED
from tests.differential.specs.quoted_videos import NUMBERS, cells_of, lmms_set, room_cases, with_options
from tests.differential.styles_choice import Choice, shifted_wrappers
from tests.differential.styles_open import Open, open_cases, open_question
from tests.differential.wrapping import wrapped_styles

_LETTERS = {name: f"answer_choice_{place}" for place, name in enumerate("ABCDEF")}
_REVSI = {
    "object_rel_direction_easy": "object_rel_direction_forward_easy",
    "object_rel_direction_medium": "object_rel_direction_backward_easy",
    "object_rel_direction_hard": "object_rel_direction_backward_hard",
    "object_rel_distance": "object_rel_distance_farthest",
    "obj_appearance_order": "object_rel_distance_closest",
    "object_counting": "object_counting_multiple",
    "room_size_estimation": "room_size_estimation_single",
}
_SPBENCH = {
    **dict.fromkeys(("object_rel_direction_easy", "object_rel_direction_medium"), "object_rel_direction"),
    **dict.fromkeys(("object_rel_direction_hard", "route_planning", "obj_appearance_order"), "object_rel_distance"),
    "room_size_estimation": "object_size_estimation",
}
"""Types of VSI-Bench's questions to those of the benchmarks that took over its protocol."""


_CAPABILITIES = (
    "Character Motivation Causality",
    "Element Counting",
    "Event Counting",
    "Event Localization",
    "Element Localization",
    "Positional Relationship",
    "Objective Causality (Videography Phenomenon & Illusion)",
    "Plot Attribute",
    "Plot Attribute (Montage)",
    "Element Attributes (Optical Illusion)",
    "Element Attributes",
    "Event Duration & Speed Attribute",
    "Objective Causality",
    "Character Reaction Causality",
    "Professional Knowledge",
    "Displacement Attribute",
    "Character Emotion Attribute",
    "Local Event Attribute",
)
"""Of Video-TT: its scorer wants a question of each."""


def renamed(cases: Callable[[], Iterator[Case]], types: Mapping[str, str]) -> Callable[[], Iterator[Case]]:
    """The cases with other types of questions."""

    def turned() -> Iterator[Case]:
        for case in cases():
            held = case.cells["question_type"]
            yield replace(case, cells={**case.cells, "question_type": types.get(held, held)})

    return turned


def _lettered(names: Mapping[str, str], **columns: Any) -> Cells:
    """The options in columns of other names."""
    plain = table_row(**columns)

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        return {names.get(name, name): text for name, text in plain(question, number).items()}

    return cells


def _memory(benchmark: str, dataset: str, file: str, cls: str, number: str, cases: Any, **given: Any) -> Spec:
    """A set of a class whose evaluation leaves no verdicts, or gives numbers of two decimals: every row is
    evaluated by itself."""
    metrics = given.pop("metrics", {"accuracy": number})
    return memory_set(benchmark, dataset, file, (cls,), cases, metrics, leads=number, **given)


COUNTS = ("4", "21", "310", "2", "48")


def count_cases(**columns: Any) -> Callable[[], Iterator[Case]]:
    """Replies in every style of numbers to questions for counts. Columns with several values take them in turn."""

    def cases() -> Iterator[Case]:
        number = 0
        for turn, right in enumerate(COUNTS):
            for style, write in wrapped_styles(dict(NUMBERS), shifted_wrappers(turn)):
                turned = {name: of[number % len(of)] if isinstance(of, tuple) else of for name, of in columns.items()}
                yield Case(str(number), {"question": "How many?", "answer": right, **turned}, style, write(right))
                number += 1

    return cases


def _answers(benchmark: str, task: str, process: str, result: str, cases: Any, **given: Any) -> Spec:
    """A set of open answers, judged by a task of lmms-eval."""
    summer = given.pop("summer", "mean")
    more = given.pop("more", {})
    return Spec(
        name=f"{benchmark}.lmms-eval",
        benchmark=benchmark,
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path=f"lmms_eval/tasks/{task}/utils.py, {process}",
        cases=cases,
        arguments={
            "task": task,
            "process": process,
            "result": result,
            "metrics": {"overall": summer, **more},
            "scale": 100,
            **given,
        },
        metrics={"accuracy": "overall", **{name: name for name in more}},
    )


def _m4_cells(question: Choice, number: int) -> Mapping[str, Any]:
    lines = (f"({label}) {text}" for label, text in question.options.items())
    return {"query": "\n".join((question.question, *lines)), "response": question.gold}


def _minerva_cells(question: Choice, number: int) -> Mapping[str, Any]:
    options = {f"answer_choice_{place}": text for place, text in enumerate(question.options.values())}
    kinds = {"question_type": ("Counting", "Spatial")[number % 2], "split": "Sports", "category": "Short Films"}
    gold = list(question.options).index(question.gold)
    return {"question": question.question, **options, "answer_id": gold, "video_id": "a", **kinds}


def _tt_cells(question: Choice, number: int) -> Mapping[str, Any]:
    held = cells_of("", "letter answer", video_id="a", capability=_CAPABILITIES)(question, number)
    return {**held, "question_prompt": "Please select one of the multiple-choice answers."}


def _course_cells(question: Choice, number: int) -> Mapping[str, Any]:
    held = {"Question": question.question, **question.options, "Answer": question.gold}
    return {**held, "Format": "Multiple-choice", "Domain": ("Network", "Data")[number % 2]}


BIASED = (
    open_question("How many legs does it have?", "5", "4|44"),
    open_question("Are the lines equally long?", "No", "Yes|Now"),
    open_question("How many stripes does the shoe have?", "{4}", "{3}|3"),
    open_question("How many stars are on the flag?", "51", "50|5"),
    open_question("How many rows does the board have?", "10", "8|1"),
)


def _biased_cells(question: Open, number: int) -> Mapping[str, Any]:
    gold, bias = question.golds[0], question.wrong[0]
    kind = ("Animals", "Flags")[number % 2]
    return {"prompt": question.question, "ground_truth": gold, "expected_bias": bias, "topic": kind}


BUCKETS = tuple(
    open_question("Which bucket?", gold, wrong) for gold, wrong in (("1", "2|3"), ("2", "3|1"), ("3", "1|23"))
)
_FOUR_MIXED, _FIVE = with_options(MIXED, 4), with_options(MIXED, 5)

_YES: Words = {
    "word": lambda n: ("Yes", "No")[n % 2],
    "small": lambda n: ("no", "yes")[n % 2],
    "stop": lambda n: f"{('Yes', 'No')[n % 2]}.",
    "blanks": lambda n: f"\n {('Yes', 'No')[n % 2]} \n",
    "reason behind": lambda n: f"{('Yes', 'No')[n % 2]}, by the final line.",
}
_YES_UNLIKE: Words = {
    "line": lambda n: f"They compare so.\ncorrect: {('yes', 'no')[n % 2]}",
    "bold": lambda n: f"**{('Yes', 'No')[n % 2]}**",
    "both": lambda n: "Yes or no? No",
    "part of a word": lambda n: "Yesterday's answer.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "nothing": lambda n: "They differ in form.",
}


def _olympiad_cells(question: Open, number: int) -> Mapping[str, Any]:
    held = {"question": question.question, "final_answer": question.golds[0], "answer_type": "Numerical"}
    return {**held, "subfield": ("Algebra", "Optics")[number % 2], "language": "English"}


def _space_cells(question: Choice, number: int) -> Mapping[str, Any]:
    """A row of MMSI-Video-Bench, whose prompt is in four columns."""
    asked = cells_of("", "letter ground_truth")(question, number)
    kind = ("Planning", "(Motion Understanding) Camera Motion")[number % 2]
    parts = {"system_prompt": "You see a video.", "task_prompt": "", "format_prompt": "\nAnswer with a letter."}
    videos = [{"path": "a.mp4", "start": 1.5, "end": 4, "base_fps": 2}]
    return {**parts, "user_prompt": f"<video>{asked.pop('question')}", **asked, "type": kind, "video_list": videos}


_ONE: Words = {"digit": lambda n: str(n % 2), "other": lambda n: str((n + 1) % 2)}
_ONE_UNLIKE: Words = {
    "stop": lambda n: f"{n % 2}.",
    "words": lambda n: f"Your output: {n % 2}",
    "both": lambda n: "1 or 0",
    "word": lambda n: ("yes", "no")[n % 2],
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "nothing": lambda n: "They differ in form.",
}


def _step_cells(question: Open, number: int) -> Mapping[str, Any]:
    held = {"question": question.question, "answer": question.golds[0], "video_path": "a.mp4", "duration": 56}
    return {**held, "dimension": ("Video Plot Analysis", "Temporal Spatial Reasoning")[number % 2]}


SPECS = (
    class_set(
        "vsi-super-count",
        "VsiSuperCount_10mins",
        "vlmeval/dataset/vsibench.py, VsiSuperCount.evaluate, and utils/spatial_bench",
        count_cases(question_type=("10mins", "30mins"), video="10mins/3.mp4"),
        arguments={
            "dataset": "VsiSuperCount_10mins",
            "columns": ["MRA:.5:.95:.05"],
            "leads": ["overall", ["overall"], 1],
            "attributes": {"duration": "10mins"},
        },
        metrics={"mean_of_types": "overall"},
    ),
    class_set(
        "v2p-bench",
        "V2P-Bench",
        "vlmeval/dataset/v2pbench.py, V2PBench.evaluate, and utils/v2pbench/cau_acc.py",
        choice_cases(
            cells_of(
                "", "letter answer", video_path="a.mp4", frame_path="a.jpg", dimension=(1, 2), duration=(90, 2000)
            ),
            FOUR,
        ),
        arguments={
            "dataset": "V2P-Bench",
            "column": "score",
            "counted": True,
            "text": r"Accuracy: +([\d.]+)",
            "scale": 100,
            "leads": ["overall", ["overall"], 100],
        },
        metrics={"accuracy": "overall"},
        close=0.05,
    ),
    _answers(
        "cg-av-counting",
        "cgav_counting",
        "cgav_process_results_long",
        "acc",
        count_cases(category=("event", "object"), type=("V", "A2V"), video="a.mp4"),
        summer="aggregate_acc",
        more={"off_by_one": "aggregate_oboa"},
    ),
    lmms_set(
        "mmsi-video-bench",
        "process_results",
        "overall_accuracy",
        _space_cells,
        _FIVE,
        task="mmsi_video",
        summer="aggregate_overall_accuracy",
        scale=1,
        close=0.005,
    ),
    quoted(
        "vcr-bench",
        "vcr-bench",
        VLMEVALKIT_QUOTED,
        "vlmeval/dataset/utils/vcrbench/cau_acc.py, calculate_accuracy",
        _step_cells,
        (_ONE, _ONE_UNLIKE),
        {"accuracy": "overall", "dimension/Video Plot Analysis": "Video Plot Analysis"},
        name="vcr-bench.vlmevalkit",
    ),
    quoted(
        "olympiadbench",
        "yes-no",
        replace(LMMS_EVAL_VIDEO, script="quoted_judged"),
        "lmms_eval/tasks/olympiadbench/testmini_utils.py, olympiadbench_process_results, and llm_judge/utils.py",
        _olympiad_cells,
        (_YES, _YES_UNLIKE),
        {"accuracy": "mean"},
        name="olympiadbench.lmms-eval",
    ),
    spatial_set(
        "sti-bench", "STI-Bench", listed_row(task_type=("Pose Estimation", "Spatial Relation"), video="a.mp4"), _FIVE
    ),
    spatial_set(
        "dsr-bench",
        "DSRBench",
        cells_of(gold="letter answer", dressed=True, task_type=("rel_dis", "abs_dir"), video="a.mp4"),
        FOUR,
    ),
    class_set(
        "sitebench-video",
        "SiteBenchVideo",
        "vlmeval/dataset/utils/spatial_bench/cal_scores.py, compute_mcq_score",
        choice_cases(
            listed_row(
                "candidates", category=("counting & existence", "movement prediction & navigation"), video_path="a.mp4"
            ),
            FOUR,
        ),
        metrics={"accuracy": "overall_accuracy"},
        headline="overall_accuracy",
    ),
    class_set(
        "vsi-super-recall",
        "VsiSuperRecall_10mins",
        "vlmeval/dataset/utils/spatial_bench/cal_scores.py, eval_mcq_score",
        choice_cases(cells_of(gold="letter answer", dressed=True, question_type="recall", video="a.mp4"), FOUR),
        arguments={"dataset": "VsiSuperRecall_10mins", "attributes": {"duration": "10mins"}},
        metrics={"accuracy": "overall"},
        headline="overall",
    ),
    class_set(
        "spbench",
        "SPBench-SI",
        "vlmeval/dataset/spbench.py, SPBench.evaluate, and utils/spatial_bench",
        renamed(room_cases("candidates", "answer", {}), _SPBENCH),
        arguments={"dataset": "SPBench-SI", "columns": ["hit", "MRA:.5:.95:.05"], "leads": ["overall", ["overall"], 1]},
        metrics={"mean_of_tasks": "overall"},
    ),
    _memory(
        "m3oralbench",
        "M3oralBench",
        "m3oralbench.py",
        "M3oralBenchDataset",
        "Overall",
        choice_cases(table_row(task_type=("judge", "classify"), category=("Care", "Liberty")), pools.ABILITIES),
        close=0.005,
    ),
    _memory(
        "m4bench",
        "State_Invariance",
        "m4bench.py",
        "M4Bench",
        "acc",
        choice_cases(_m4_cells, pools.SPACE),
        file_name="State_Invariance",
    ),
    _memory(
        "medq-bench",
        "MedqbenchMCQ_test",
        "medqbench_mcq.py",
        "MedqbenchMCQDataset",
        "overall_accuracy",
        choice_cases(table_row(modality=("CT", "MRI")), pools.EXAMS),
        metric="overall_accuracy",
        scale=100,
    ),
    _memory(
        "medq-deg",
        "MedQDEGBench_simulate_test",
        "medq_deg_bench.py",
        "MedQDEGBenchDataset",
        "Overall",
        choice_cases(table_row(modality=("CT", "MRI"), source="a"), pools.MEDICINE),
        metric="Overall",
        scale=100,
    ),
    Spec(
        name="revsi.lmms-eval",
        benchmark="revsi",
        rule="lmms-eval",
        oracle=LMMS_EVAL_VIDEO,
        path="lmms_eval/tasks/revsi/utils.py, revsi_process_results",
        cases=renamed(room_cases("options", "ground_truth", {"dataset": "scannet", "scene_id": "a"}), _REVSI),
        arguments={
            "task": "revsi",
            "process": "revsi_process_results",
            "result": "overall_acc",
            "credit": ["acc"],
            "metrics": {"overall": "revsi_aggregate_overall"},
            "scale": 100,
        },
        metrics={"mean_of_tasks": "overall"},
    ),
    _memory(
        "revsi",
        "ReVSI",
        "revsi.py",
        "ReVSI",
        "overall_accuracy",
        renamed(room_cases("options", "ground_truth", {"dataset": "scannet", "scene_id": "a"}), _REVSI),
        metrics={"mean_of_tasks": "overall_accuracy"},
        metric="overall_accuracy",
        scale=100,
    ),
    lmms_set(
        "video-tt",
        "videott_process_results",
        "videott_perception_score",
        _tt_cells,
        FOUR,
        summer="videott_aggregate_results",
        scale=1,
    ),
    _memory(
        "mvu-eval",
        "MVU-Eval",
        "mvu_eval.py",
        "MVUEval",
        "Overall/Accuracy",
        choice_cases(cells_of(gold="letter ground_truth", dressed=True, task=("Counting", "TR")), FOUR),
        metric="Overall/Accuracy",
        scale=100,
        close=0.005,
    ),
    lmms_set(
        "lsdbench",
        "lsdbench_process_results",
        "accuracy",
        cells_of(gold="letter correct_answer", video_id="a"),
        FOUR,
        summer="lsdbench_aggregate_accuracy_results",
        scale=1,
    ),
    lmms_set(
        "timescope",
        "timescope_process_results",
        "timescope_perception_score",
        _lettered({"question": "input"}, video="a.mp4", type=("QA", "OCR"), length=("60", "3600")),
        with_options(MIXED, 6),
        summer="timescope_aggregate_results",
        scale=1,
    ),
    lmms_set(
        "minerva",
        "minerva_process_results",
        "minerva_acc",
        _minerva_cells,
        _FIVE,
        summer="minerva_aggregate_results",
        scale=1,
    ),
    lmms_set(
        "perceptioncomp",
        "perceptioncomp_process_results",
        "perceptioncomp_accuracy",
        _minerva_cells,
        _FIVE,
        summer="perceptioncomp_aggregate_accuracy",
        scale=1,
        turns=4,
    ),
    lmms_set(
        "mathkangaroo",
        "mathkangaroo_process_results",
        "mathkangaroo_accuracy",
        cells_of("", "letter ground_truth"),
        _FIVE,
    ),
    lmms_set(
        "livexiv",
        "livexiv_process_result",
        "livexiv_vqa",
        _lettered({"A": "option_a", "B": "option_b", "C": "option_c", "D": "option_d", "answer": "gt"}),
        FOUR,
        task="livexiv_vqa",
        summer="livexiv_aggregation_result",
    ),
    lmms_set(
        "super-gpqa",
        "super_gpqa_process_results",
        "accuracy",
        cells_of(gold="letter answer_letter", discipline=("Law", "Science")),
        with_options(MIXED, 8),
        task="super_gpqa",
        turns=5,
    ),
    lmms_set(
        "medqa",
        "medqa_process_results",
        "accuracy",
        cells_of(gold="letter answer_idx"),
        (*pools.EXAMS, *_FOUR_MIXED),
        turns=5,
    ),
    lmms_set("csbench", "csbench_process_results", "accuracy", _course_cells, _FOUR_MIXED, turns=5),
    lmms_set(
        "egoplan2",
        "egoplan2_process_results",
        "egoplan2_mcq_accuracy",
        lambda question, number: {
            "formatted_question": cells_of("", "letter ground_truth")(question, number)["question"],
            "ground_truth": question.gold,
        },
        FOUR,
        summer="egoplan2_aggregate_results",
    ),
    _answers(
        "vlms-are-biased",
        "vlms_are_biased",
        "vlms_are_biased_process_results",
        "accuracy",
        open_cases(_biased_cells, BIASED),
    ),
    _answers(
        "vpct",
        "vpct",
        "vpct_process_results",
        "vpct_accuracy",
        open_cases(lambda question, number: {"simId": number, "finalBucket": int(question.golds[0])}, BUCKETS),
        summer="vpct_aggregate_accuracy",
    ),
)
