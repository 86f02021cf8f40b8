"""Made-up rows of data sets as lmms-eval's tasks read them, and where its loader finds them.

Four rows of each: a value that is a tuple is taken in turn, `{i}` is the row's number, IMG a picture
and WAV a sound drawn from the row's number. Columns are those that the task's own functions read.
Runs in lmms-eval's environment.
"""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 4
IMG, WAV = "<image>", "<sound>"
Q = "What is shown in part {i}?"
ABCD = ("A", "B", "C", "D")
YES_NO = ("yes", "no", "yes", "no")
WORDS = ("red", "green", "blue", "grey")
LETTERS = {f"option_{letter}": word for letter, word in zip("abcd", WORDS, strict=True)}
CHOICES = {f"choice_{letter}": word for letter, word in zip("abcd", WORDS, strict=True)}
OPTIONS = {letter: word for letter, word in zip("ABCD", WORDS, strict=True)}
LIST = ["red", "green", "blue", "grey"]


class Made(NamedTuple):
    """The data of one task."""

    path: str
    """Of the data set on the hub."""
    config: str
    split: str
    row: dict[str, Any]
    videos: str = ""
    """Name of the row's video in the folder of the cache."""
    judge: tuple[str, ...] = ("1", "0")
    """What a judge says, if one is asked."""


TASKS: dict[str, Made] = {
    # One of several options
    "blink_art_style": Made("BLINK-Benchmark/BLINK", "Art_Style", "val", {"idx": "val_{i}", "image_1": IMG, "image_2": IMG, "image_3": None, "image_4": None, "choices": LIST, "prompt": Q + " Select:\n(A) red\n(B) green", "answer": ("(A)", "(B)", "(C)", "(D)"), "sub_task": "Art_Style", "question": Q}),
    "cv_bench_2d": Made("nyu-visionx/CV-Bench", "2D", "test", {"idx": "{i}", "image": IMG, "choices": LIST, "prompt": Q, "answer": ("(A)", "(B)", "(C)", "(D)"), "type": "2D", "task": ("Count", "Relation"), "source": ("ADE20K", "COCO"), "question": Q}),
    "crpe_relation": Made("nv-njb/CRPE", "default", "test", {"image": IMG, "text": Q + "\nA. red\nB. green\nC. blue\nD. grey", "correct_option": ABCD}),
    "livexiv_vqa_v1": Made("LiveXiv/LiveXiv", "VQA-2024-09-21", "test", {"image": IMG, "question": Q, **LETTERS, "gt": ABCD}),
    "mmbench_en_dev": Made("lmms-lab-encoder/MMBench", "en", "dev", {"index": ("0", "1", "2", "3"), "image": IMG, "question": Q, "hint": ("", "a hint"), **OPTIONS, "answer": ABCD, "category": "object_localization", "L2-category": "finegrained_perception", "source": "made up", "split": "dev", "comment": ""}),
    "mmmu_pro_vision": Made("MMMU/MMMU_Pro", "vision", "test", {"id": "test_Art_{i}", "image": IMG, "options": "['red', 'green', 'blue', 'grey']", "answer": ABCD, "subject": ("Art", "Physics")}),
    "mmmu_val": Made("lmms-lab-encoder/MMMU", "default", "validation", {"id": ("validation_Art_0", "validation_Art_1", "validation_Math_2", "validation_Math_3"), "question": Q + " <image 1>", "options": ("['red', 'green', 'blue', 'grey']",) * 3 + ("[]",), "question_type": ("multiple-choice",) * 3 + ("open",), "answer": ("A", "B", "C", "7"), "image_1": IMG, "subfield": "Drawing"}),
    "mmsi_bench": Made("RunsenXu/MMSI-Bench", "default", "test", {"id": "{i}", "images": [IMG, IMG], "question": Q + " Options: A: red, B: green", "answer": ABCD, "question_type": ("MSR", "Motion (Obj.)"), "thought": ""}),
    "mmstar": Made("Lin-Chen/MMStar", "default", "val", {"index": ("0", "1", "2", "3"), "image": IMG, "question": Q + " Options: A: red, B: green, C: blue, D: grey", "answer": ABCD, "category": ("coarse perception", "math"), "l2_category": ("image scene", "geometry"), "meta_info": ""}),
    "mmt_val": Made("lmms-lab-encoder/MMT-Benchmark", "default", "val", {"index": "{i}", "image": IMG, "question": Q, **OPTIONS, "E": None, "F": None, "G": None, "H": None, "I": None, "hint": None, "answer": ABCD, "l2-category": "visual_recognition", "category": "animals", "split": "VAL", "prompt": ""}),
    "muirbench": Made("MUIRBENCH/MUIRBENCH", "default", "test", {"idx": "{i}", "image_list": [IMG, IMG, IMG], "question": Q, "options": LIST, "answer": ABCD, "task": ("Counting", "Ordering"), "image_relation": "Multiview", "image_type": "Slides"}),
    "multimodal_rewardbench": Made("syhuggingface/multimodal_rewardbench", "default", "test", {"ID": "{i}", "Image": IMG, "Text": Q, "Output1": "red {i}", "Output2": "green {i}", "Better": ("Output1", "Output2"), "Category": ("safety/bias", "math")}),
    "qbench_dev": Made("q-future/Q-Bench-HF", "default", "dev", {"id": "{i}", "image": IMG, "question": Q, "option0": "red", "option1": "green", "option2": "blue", "option3": "", "correct_choice": ("A", "B", "C"), "question_concern": "0", "question_type": "1"}),
    "realworldqa": Made("lmms-lab-encoder/RealWorldQA", "default", "test", {"image": IMG, "question": Q + " A. red B. green", "answer": ("A", "B", "Yes", "7"), "image_path": "{i}.webp"}),
    "scienceqa_img": Made("lmms-lab-encoder/ScienceQA", "ScienceQA-IMG", "test", {"image": IMG, "hint": ("", "a hint"), "question": Q, "choices": LIST, "answer": (0, 1, 2, 3)}),
    "seedbench": Made("lmms-lab-encoder/SEED-Bench", "default", "test", {"question_id": "{i}", "image": [IMG], "question": Q, **CHOICES, "answer": ABCD, "data_type": ("image", "image", "video", "video")}),
    "seedbench_2_plus": Made("doolayer/SEED-Bench-2-Plus", "default", "test", {"question_id": "{i}", "image": IMG, "question": Q, "choice_A": "red", "choice_B": "green", "choice_C": "blue", "choice_D": "grey", "answer": ABCD, "question_image_type": ("chart", "map", "web", "chart")}),
    "viewspatial": Made("oscarqjh/ViewSpatial_lmmseval", "default", "test", {"images": [IMG, IMG], "question": Q, "choices": "A. red\nB. green\nC. blue\nD. grey", "answer": ("A. red", "B. green", "C. blue", "D. grey"), "question_type": "Camera perspective - Relative Direction"}),
    "vstar_bench": Made("lmms-lab-encoder/vstar-bench", "default", "test", {"question_id": "{i}", "image": IMG, "text": Q + "\n(A) red\n(B) green", "label": ("A", "B"), "category": ("direct_attributes", "relative_position")}),
    "embspatial": Made("FlagEval/EmbSpatial-Bench", "default", "test", {"question_id": "{i}", "image": IMG, "question": Q, "answer_options": LIST, "answer": (0, 1, 2, 3), "relation": ("left", "close"), "data_source": ("ai2thor", "mp3d")}),
    # Yes or no
    "pope": Made("lmms-lab-encoder/POPE", "default", "test", {"id": "{i}", "question_id": "{i}", "image": IMG, "question": "Is there a dog in part {i}?", "answer": YES_NO, "image_source": "made_up", "category": ("adversarial", "popular")}),
    "mme": Made("lmms-lab-encoder/MME", "default", "test", {"question_id": ("a/1.png", "a/1.png", "a/2.png", "a/2.png"), "image": IMG, "question": "Is it red in part {i}? Please answer yes or no.", "answer": ("Yes", "No", "Yes", "No"), "category": ("color", "color", "code_reasoning", "code_reasoning")}),
    "naturalbench": Made("BaiqiL/NaturalBench-lmms-eval", "default", "test", {"Index": "{i}", "Image": IMG, "Question": Q, "Question_Type": ("yes_no", "yes_no", "yes_no", "yes_no"), "Answer": ("Yes", "No", "No", "Yes"), "Source": "made up"}),
    # Open
    "chartqa": Made("lmms-lab-encoder/ChartQA", "default", "test", {"image": IMG, "question": Q, "answer": ("red", "12", "3.5", "40%"), "type": ("human_test", "augmented_test")}),
    "docvqa_val": Made("lmms-lab-encoder/DocVQA", "DocVQA", "validation", {"questionId": "{i}", "image": IMG, "question": Q, "answers": ["red {i}", "Red {i}"], "question_types": ["figure"], "docId": 7}),
    "infovqa_val": Made("lmms-lab-encoder/DocVQA", "InfographicVQA", "validation", {"questionId": "{i}", "image": IMG, "question": Q, "answers": ["blue {i}"]}),
    "ocrbench": Made("echo840/OCRBench", "default", "test", {"image": IMG, "question": Q, "answer": ["red {i}"], "dataset": ("IIIT5K", "HME100k"), "question_type": ("Regular Text Recognition", "Handwritten Mathematical Expression Recognition")}),
    "ok_vqa_val2014": Made("lmms-lab-encoder/OK-VQA", "default", "val2014", {"question_id": "{i}", "image": IMG, "question": Q, "answers": ["red"] * 6 + ["green"] * 4, "question_type": "one"}),
    "textvqa_val": Made("lmms-lab-encoder/textvqa", "default", "validation", {"question_id": (0, 1, 2, 3), "image": IMG, "question": Q, "answers": ["red"] * 7 + ["blue"] * 3, "ocr_tokens": ["red", "dog"]}),
    "vizwiz_vqa_val": Made("lmms-lab-encoder/VizWiz-VQA", "default", "val", {"question_id": "{i}", "image": IMG, "question": Q, "answers": ["unanswerable"] * 3 + ["red"] * 7, "category": "other"}),
    "vqav2_val": Made("lmms-lab-encoder/VQAv2", "default", "validation", {"question_id": (0, 1, 2, 3), "image": IMG, "question": Q, "answers": [{"answer": "red", "answer_confidence": "yes", "answer_id": 1}] * 10, "multiple_choice_answer": "red", "question_type": "what", "answer_type": ("other", "number")}),
    "countbench": Made("vikhyatk/CountBenchQA", "default", "test", {"image": IMG, "question": Q, "number": (2, 3, 4, 10), "text": Q}),
    "pixmo_count": Made("kcz358/pixmo-count", "default", "test", {"image": IMG, "question": Q, "count": (1, 2, 3, 4), "label": "dog", "answer": ("1", "2", "3", "4")}),
    "simplevqa": Made("m-a-p/SimpleVQA", "default", "test", {"image": IMG, "question": Q, "answer": "red {i}", "language": ("EN", "CN")}),
    "screenspot_v2": Made("HongxinLi/ScreenSpot_v2", "default", "test", {"image": IMG, "instruction": "press {i}", "bbox": [0.1, 0.2, 0.5, 0.6], "data_type": ("text", "icon"), "data_source": ("windows", "ios"), "file_name": "{i}.png"}),
    "vlms_are_biased": Made("anvo25/vlms-are-biased", "default", "main", {"ID": "{i}", "image": IMG, "prompt": Q, "ground_truth": ("3", "Yes"), "expected_bias": ("4", "No"), "topic": "Logos", "sub_topic": "cars"}),
    # With a judge
    "mmvet": Made("lmms-lab-encoder/MMVet", "default", "test", {"question_id": "v1_{i}", "image": IMG, "question": Q, "answer": "red {i}", "capability": ("ocr,math", "rec")}, judge=("0.5", "1.0", "0")),
    "llava_in_the_wild": Made("lmms-lab-encoder/llava-bench-in-the-wild", "default", "train", {"question_id": (0, 1, 2, 3), "image": IMG, "image_id": "{i}.jpg", "question": Q, "category": ("conv", "detail", "complex"), "gpt_answer": "red {i}", "caption": "part {i}"}, judge=("8 7\nBoth are fine.", "9 4\nThe first is better.")),
    "egothink_activity": Made("EgoLife-v1/Egothink", "Activity", "test", {"image": IMG, "question": Q, "answer": "red {i}"}, judge=("Rating: [[1]]", "Rating: [[0.5]]", "[[0]]")),
    "mathverse_testmini_vision_only": Made("CaraJ/MathVerse-lmmseval", "testmini_version_split", "vision_only", {"sample_index": "{i}", "problem_index": "{i}", "problem_version": "Vision Only", "question": "", "image": IMG, "answer": ABCD, "question_type": ("multi-choice", "free-form"), "metadata": {"split": "testmini", "source": "made up", "subject": "Plane Geometry", "subfield": "Angle"}, "query_wo": Q, "query_cot": Q, "question_for_eval": Q}, judge=("1", "0")),
    "mathvista_testmini_cot": Made("AI4Math/MathVista", "default", "testmini", {"pid": "{i}", "question": Q, "decoded_image": IMG, "image": "{i}.jpg", "choices": (LIST, None, LIST, None), "unit": None, "precision": (None, 1.0, None, 2.0), "answer": ("red", "7", "blue", "2.5"), "question_type": ("multi_choice", "free_form"), "answer_type": ("text", "integer", "text", "float"), "metadata": {"category": "general-vqa", "context": "chart", "grade": "daily life", "img_height": 9, "img_width": 9, "language": "english", "skills": ["statistical reasoning"], "source": "made up", "split": "testmini", "task": "figure question answering"}, "query": Q}, judge=("1", "0", "A")),
    "activitynetqa": Made("lmms-eval/ActivityNetQA", "default", "test", {"video_name": "clip{i}", "question": Q, "question_id": "{i}", "answer": "red", "type": "1"}, "activitynetqa/all_test/v_clip{i}.mp4", judge=("{{'pred': 'yes', 'score': 5}}", "{'pred': 'no', 'score': 2}", "{'pred': 'yes', 'score': 4}")),
    "moviechat_global": Made("Enxin/lmms_MovieChat_test", "default", "test", {"video_name": "clip{i}.mp4", "question": Q, "answer": "red", "time": 3}, "moviechat_1k_test/Test_Videos/clip{i}.mp4", judge=("{'pred': 'no', 'score': 2}", "{'pred': 'yes', 'score': 4}")),
    # Videos
    "videomme": Made("lmms-eval/Video-MME", "default", "test", {"video_id": "{i}", "duration": ("short", "medium", "long", "short"), "domain": "Knowledge", "sub_category": "Humanity & History", "videoID": "clip{i}", "question_id": "{i}-1", "task_type": "Counting Problem", "question": Q, "options": ["A. red", "B. green", "C. blue", "D. grey"], "answer": ABCD}, "videomme/data/clip{i}.mp4"),
    "mvbench_action_sequence": Made("OpenGVLab/MVBench", "action_sequence", "train", {"video": "clip{i}.mp4", "question": Q, "candidates": LIST, "answer": WORDS}, "mvbench_video/star/Charades_segment/clip{i}.mp4"),
    "egoschema_subset": Made("lmms-eval/egoschema", "Subset", "test", {"question_idx": "{i}", "video_idx": "clip{i}", "question": Q, "option": ["A. red", "B. green", "C. blue", "D. grey", "E. white"], "answer": ("0", "1", "2", "3")}, "egoschema/videos/clip{i}.mp4"),
    "nextqa_mc_test": Made("lmms-eval/NExTQA", "MC", "test", {"video": (0, 1, 2, 3), "question": Q, "answer": (0, 1, 2, 3), "qid": 1, "type": "CW", "a0": "red", "a1": "green", "a2": "blue", "a3": "grey", "a4": "white"}, "NExTVideo/{i}.mp4"),
    "tempcompass_multi_choice": Made("lmms-eval/TempCompass", "multi-choice", "test", {"video_id": "clip{i}", "question": Q + "\nA. red\nB. green", "answer": ("A. red", "B. green"), "dim": ("speed", "order", "action", "direction")}, "tempcompass/videos/clip{i}.mp4"),
    "tempcompass_yes_no": Made("lmms-eval/TempCompass", "yes_no", "test", {"video_id": "clip{i}", "question": Q, "answer": YES_NO, "dim": ("speed", "order", "action", "direction")}, "tempcompass/videos/clip{i}.mp4"),
    "tvbench_action_antonym": Made("FunAILab/TVBench", "action_antonym", "train", {"video": "clip{i}.mp4", "question": Q, "candidates": LIST, "options": LIST, "answer": WORDS}, "tvbench/clip{i}.mp4"),
    "temporalbench_short_qa": Made("microsoft/TemporalBench", "default", "test_short_qa", {"idx": "{i}", "video_name": "clip{i}.mp4", "question": Q + "\nA. red\nB. green", "GT": ("A", "B"), "answer": ("A", "B"), "dataset": "made up", "category": "Action Order"}, "temporalbench/clip{i}.mp4"),
    "timescope": Made("Apollo-LMMs/TimeScope", "default", "test", {"id": "{i}", "video": "clip{i}.mp4", "input": Q, "question": Q, "answer": ABCD, "type": ("QA", "OCR"), "length": (60, 120), "categories": "qa"}, "timescope/clip{i}.mp4"),
    "lvbench": Made("lmms-eval/LVBench", "default", "train", {"video_path": "clip{i}.mp4", "question": Q + "\n(A) red\n(B) green", "answer": ("A", "B"), "question_type": ["entity recognition"], "uid": "{i}", "type": "cartoon"}, "lvbench/clip{i}.mp4"),
    "mlvu_dev": Made("sy1998/MLVU_dev", "default", "test", {"video_name": "clip{i}.mp4", "duration": 3.0, "question": Q + "\n(A) red\n(B) green", "candidates": "['red', 'green']", "answer": ("A", "B"), "task_type": ("count", "ego", "plotQA", "order"), "question_id": "{i}"}, "mlvu/clip{i}.mp4"),
    "vsibench": Made("nyu-visionx/VSI-Bench", "full", "test", {"id": (0, 1, 2, 3), "dataset": "arkitscenes", "scene_name": "{i}", "question_type": ("object_rel_distance", "object_counting", "route_planning", "room_size_estimation"), "question": Q, "options": (["A. red", "B. green"], None, ["A. red", "B. green"], None), "ground_truth": ("A", "3", "B", "12.5"), "pruned": (False, False)}, "vsibench/arkitscenes/{i}.mp4"),
    # Sound
    "clotho_aqa_test": Made("lmms-lab-audio/ClothoAQA", "clotho_aqa", "clotho_aqa_test_filtered", {"audio": WAV, "question": Q, "answer": ("yes", "no", "dog", "two")}),
    "vocalsound_test": Made("lmms-lab-audio/vocalsound", "default", "test", {"audio": WAV, "answer": ("Laughter", "Cough", "Sneeze", "Sigh"), "age_group": "18-25", "spk_id": "f{i}", "gender": "female"}),
    "librispeech_test_clean": Made("lmms-lab-audio/librispeech", "librispeech_test_clean", "librispeech_test_clean", {"id": "{i}", "audio": WAV, "gt": ("a red dog", "two green birds"), "source": "librispeech", "task": "ASR"}),
    # Text
    "medqa": Made("lmms-lab-encoder/MEDQA", "default", "test", {"question": Q, "options": [{"key": "A", "value": "red"}, {"key": "B", "value": "green"}], "answer": ("red", "green"), "answer_idx": ("A", "B")}),
    "super_gpqa": Made("lmms-lab-encoder/SuperGPQA", "default", "test", {"uuid": "{i}", "question": Q, "options": LIST, "answer": WORDS, "answer_letter": ABCD, "discipline": "Science", "field": "Physics", "subfield": "Optics", "difficulty": "hard", "is_calculation": True}),
    "gsm8k": Made("gsm8k", "main", "test", {"question": Q, "answer": ("so it is\n#### 7", "#### 12", "#### 1,000", "#### 3")}),
    "ifeval": Made("wis-k/instruction-following-eval", "default", "train", {"key": (0, 1, 2, 3), "prompt": "Write without commas, {i}.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]}),
    # Several turns: the rows are files of lmms-eval itself
    "vending_bench2": Made("", "", "test", {}),
    "tau2_bench_telecom": Made("", "", "test", {}),
}


def fill(value: Any, row: int) -> Any:
    """The value of a cell in one row."""
    if isinstance(value, tuple):
        return fill(value[row % len(value)], row)
    if value == IMG:
        return draw_picture(row)
    if value == WAV:
        return {"array": draw_sound(row), "sampling_rate": 16000}
    if isinstance(value, list):
        return [fill(one, row + 10 * place if one == IMG else row) for place, one in enumerate(value)]
    if isinstance(value, dict):
        return {key: fill(one, row) for key, one in value.items()}
    return value.replace("{i}", str(row)) if isinstance(value, str) else value


def draw_picture(number: int) -> Any:
    from PIL import Image

    image = Image.new("RGB", (30 + number, 20), (40 + 9 * number, 90, 200 - 3 * number))
    image.paste((250, 20 * (number % 10), 9), (number % 9, 3, number % 9 + 8, 12))
    return image


def draw_sound(number: int) -> Any:
    import numpy

    return (numpy.sin(numpy.arange(800) * (0.05 + 0.01 * number)) * 0.5).astype("float32")


def write_video(path: Path, number: int) -> None:
    """Four frames in one plain file; the same bytes for the same number are not needed."""
    import av
    import numpy

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=2)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for frame in range(4):
            picture = numpy.full((32, 32, 3), 30 * frame + number, dtype=numpy.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def place(tasks: list[str], home: Path) -> None:
    """Put the rows of some tasks, and their videos, where they are when they have been fetched."""
    for task in tasks:
        if TASKS[task].videos:
            for row in range(ROWS):
                write_video(home / TASKS[task].videos.replace("{i}", str(row)), row)
    write_caches([TASKS[task] for task in tasks], home)


def write_caches(sets: list[Made], home: Path) -> None:
    """Put rows in the cache of the hub, as if they had been fetched."""
    grouped: dict[tuple[str, str], dict[str, Made]] = {}
    for made in sets:
        if made.path:
            grouped.setdefault((made.path, made.config), {})[made.split] = made
    for (path, config), splits in grouped.items():
        _write_cache(path, config, splits, home)


def _write_cache(path: str, config: str, splits: dict[str, Made], home: Path) -> None:
    import datasets
    from datasets.naming import camelcase_to_snakecase

    owner, _, name = path.rpartition("/")
    snake = camelcase_to_snakecase(name)
    digest = f"{zlib.crc32(f'{path}/{config}'.encode()):040x}"
    folder = home / "datasets" / (f"{owner}___{snake}" if owner else snake) / config / "0.0.0" / digest
    folder.mkdir(parents=True)
    infos = {}
    features = None
    for split, made in splits.items():
        rows = [fill(made.row, row) for row in range(ROWS)]
        data = datasets.Dataset.from_dict({key: [row[key] for row in rows] for key in rows[0]})
        for key, value in made.row.items():
            if value == WAV:
                data = data.cast_column(key, datasets.Audio(sampling_rate=16000))
        data.save_to_disk(folder / "saved", num_shards=1)
        shutil.move(folder / "saved" / "data-00000-of-00001.arrow", folder / f"{snake}-{split}.arrow")
        shutil.rmtree(folder / "saved")
        infos[split] = {"name": split, "num_bytes": 1, "num_examples": len(rows), "dataset_name": snake}
        features = data.features
    info = datasets.DatasetInfo(builder_name="parquet", dataset_name=snake, config_name=config, features=features)
    written = {**json.loads(json.dumps(datasets.info.asdict(info))), "splits": infos, "version": "0.0.0"}
    (folder / "dataset_info.json").write_text(json.dumps(written), "utf-8")
