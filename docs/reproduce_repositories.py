"""Our numbers beside published ones, over predictions in public repositories.

    python docs/reproduce.py GOLDEN_FOLDER REPOSITORIES

`REPOSITORIES` holds bare copies, `OWNER+NAME/repo`. The predictions have licences of their own and
are not copied here: each entry names repository, commit and file, and is scored as anybody would
score the file with `snellen score`.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reproduction_entry import Entry

from snellen import score
from snellen.api.scored import Scored
from snellen.core.benchmark import Variant
from snellen.core.output import DRAWN, ParsedAnswer
from snellen.core.record import Record


class Repository(NamedTuple):
    """A bare copy of a public repository at a commit."""

    folder: Path
    name: str
    commit: str

    def file(self, path: str) -> bytes:
        home = self.folder / self.name.replace("/", "+") / "repo"
        shown = ["git", "-C", str(home), "cat-file", "blob", f"{self.commit}:{path}"]
        return subprocess.run(shown, check=True, capture_output=True).stdout

    def write(self, path: str, into: Path) -> Path:
        """The file below a folder, with its own name."""
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.file(path))
        return target

    def names(self, under: str) -> list[str]:
        home = self.folder / self.name.replace("/", "+") / "repo"
        listed = ["git", "-C", str(home), "ls-tree", "-r", "-z", "--name-only", self.commit, under]
        text = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
        return sorted(filter(None, text.split("\0")))

    @property
    def at(self) -> str:
        return f"{self.name}@{self.commit[:7]}"


class Sources(NamedTuple):
    """Copies of repositories, the golden folder (for its questions), and a folder for files."""

    repositories: Path
    golden: Path
    folder: Path

    def repository(self, name: str, commit: str) -> Repository:
        return Repository(self.repositories, name, commit)

    @property
    def llava(self) -> Repository:
        return self.repository("haotian-liu/LLaVA", "32cebc3809441cc40d8ac7b2855d148308741f2a")

    @property
    def composer(self) -> Repository:
        return self.repository("InternLM/InternLM-XComposer", "0f70c3e3911189de1869396b4017714c31821e3a")


OFFICIAL = Variant(rule="official")
_COMPOSER = "InternLM-XComposer-2.0/evaluation"
_MATHVISION = {
    "Gemini-Pro": "row 3013, where the stored verdict does not take 4/3 for the gold "
    "\\frac{4}{3}, as the authors' script does today"
}


_NESTED = (
    "validation_Accounting_29, whose options are a list within a list, of which the script makes "
    "one option, so that no reply is right; here they are three"
)


def published_numbers(golden: Path, repositories: Path) -> Iterator[Entry]:
    """All numbers, in the order of the page."""
    sets: tuple[Callable[[Sources], Iterator[Entry]], ...] = (
        _scienceqa,
        _mme,
        _seed,
        _mmstar,
        _mmmu,
        _mmmu_pro,
        _mm_vet,
        _llava_bench,
        _tablevqabench,
        _blink,
        _mathvista,
        _mathvision,
    )
    for numbers in sets:
        with tempfile.TemporaryDirectory() as folder:
            yield from numbers(Sources(repositories, golden, Path(folder)))


def _right(found: Scored) -> str:
    scores = [record.score for record in found.records if record.score is not None]
    return f"{int(sum(scores))}/{len(scores)}"


def is_drawn(record: Record) -> bool:
    """Whether the option was drawn, because the script could read none."""
    answer = record.passes[0].answer
    return isinstance(answer, ParsedAnswer) and answer.rule == DRAWN


def _score(found: Scored) -> float:
    assert found.score is not None
    return found.score


def _scienceqa(sources: Sources) -> Iterator[Entry]:
    title, llava, folder = "ScienceQA test", sources.llava, sources.folder
    file = llava.write("playground/data/eval/scienceqa/answers/llava-v1.5-13b_output.jsonl", folder)
    source = f"{llava.at}, `llava-v1.5-13b_output.jsonl`; pictures 71.6 in docs/MODEL_ZOO.md"
    found = score("scienceqa", file)
    pictures = score("scienceqa", file, where={"is_multimodal": "true"})
    yield Entry(title, "LLaVA-1.5-13B", "accuracy", _score(found), 100 * 3155 / 4241, 3, source, _right(found))
    yield Entry(title, "LLaVA-1.5-13B", "accuracy, pictures", _score(pictures), 71.6, 1, source, _right(pictures))
    data = folder / "problems.json"
    data.write_text(json.dumps(_problems(json.loads(file.read_bytes()))))
    others = (
        (
            "GPT-3 (CoT)",
            "lupantech/ScienceQA",
            "2cbf8318e07b9ece895bb2ae605e71e38d623264",
            "results/gpt3/final_test_QCM-ALE_2_seed_3.json",
        ),
        (
            "LLaVA-13B (LCS-558K)",
            "AdaCheng/EgoThink",
            "fbafe8fe4e963c8b30be62bafd5ce16f61bb0141",
            "models/llava/eval/table/results/test_sqa_llava_lcs_558k_sqa_12e_vicuna_v1_3_13b.json",
        ),
    )
    for system, name, commit, path in others:
        repository = sources.repository(name, commit)
        file = repository.write(path, folder)
        found = score("scienceqa", file, data=data)
        yield Entry(
            title,
            system,
            "accuracy",
            _score(found),
            json.loads(file.read_bytes())["acc"],
            3,
            f"{repository.at}, `acc` of `{file.name}`",
            _right(found),
        )


def _problems(verdicts: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Question, choices and answer of each problem, as in ScienceQA's problems.json, taken from the
    prompts of LLaVA's file of verdicts."""
    problems = {}
    for row in (row for rows in verdicts.values() for row in rows):
        prompt = row["question"].replace("<image>\n", "").rsplit("\nAnswer with the option", 1)[0]
        parts = re.split(r"\n([A-E])\. ", f"\n{prompt}")
        first = max(place for place in range(1, len(parts), 2) if parts[place] == "A")
        problems[row["question_id"]] = {
            "question": "".join(parts[:first]).strip(),
            "choices": parts[first + 1 :: 2],
            "answer": "ABCDE".index(row["ground_truth"]),
            "hint": "",
        }
    return problems


def _mme(sources: Sources) -> Iterator[Entry]:
    llava = sources.llava
    file = llava.write("playground/data/eval/MME/answers/llava-v1.5-13b.jsonl", sources.folder)
    data = sources.golden / "mme_lavin" / "predictions.csv"
    found = score("mme", file, data=data, variant=OFFICIAL)
    ours = found.summary.metrics["perception"].value
    assert ours is not None
    yield Entry("MME", "LLaVA-1.5-13B", "perception", ours, 1531.3, 1, f"{llava.at}, docs/MODEL_ZOO.md (1531.3)")


def _seed(sources: Sources) -> Iterator[Entry]:
    seed = sources.repository("AILab-CVC/SEED-Bench", "991e849be802b0de1cd4d45d929bf18e249f5b54")
    file = seed.write("evaluate_result/SEED-Bench-1/GPT-4V.json", sources.folder)
    rows = [json.loads(line.rstrip(",")) for line in file.read_text().splitlines()]
    right = sum(row["prediction"] == row["gt_answer"] for row in rows)
    found = score("seedbench:version=1", file)
    yield Entry(
        "SEED-Bench, questions about a picture",
        "GPT-4V",
        "accuracy, videos too",
        _score(found),
        100 * right / len(rows),
        3,
        f"{seed.at}, equality of letters counted over the file",
        _right(found),
    )


def _mmstar(sources: Sources) -> Iterator[Entry]:
    star = sources.repository("MMStar-Benchmark/MMStar", "88f243ab4a39cb339530085c33aecb22819881a1")
    file = star.write("eval/submits/llava_next_yi_34b_MMStar.xlsx", sources.folder)
    found = score("mmstar", file, variant=OFFICIAL)
    yield Entry(
        "MMStar",
        "LLaVA-NeXT-34B",
        "accuracy",
        _score(found),
        52.1,
        1,
        f"{star.at}, its evaluation over its own submission (`--rule official`)",
        _right(found),
    )


def _mmmu(sources: Sources) -> Iterator[Entry]:
    title = "MMMU validation"
    mmmu = sources.repository("MMMU-Benchmark/MMMU", "bb0b95a945998d91dfef37e969e07d49d1139438")
    key = mmmu.write("mmmu/answer_dict_val.json", sources.folder)
    for system, official in (("llava1.5_13b", 36.7), ("qwen_vl", 36.1)):
        file = mmmu.write(f"mmmu/example_outputs/{system}/total_val_output.json", sources.folder)
        found = score("mmmu", file, data=key)
        yield Entry(
            title,
            f"{system}, letters read by the authors",
            "accuracy",
            _score(found),
            official,
            1,
            f"{mmmu.at}, main_eval_only.py over total_val_output.json",
            _right(found),
        )
    composer = sources.composer
    file = composer.write(f"{_COMPOSER}/MMMU/MMMU_val_InternLM_XComposer_VL.json", sources.folder)
    found = score("mmmu", file, data=key)
    yield Entry(
        title,
        "InternLM-XComposer2",
        "accuracy",
        _score(found),
        42.0,
        1,
        f"{composer.at}, evaluation/README.md (42.0)",
        _right(found),
    )


def _mmmu_pro(sources: Sources) -> Iterator[Entry]:
    """Of GPT-4o's four files the replies in which the authors' script finds an option. For the
    others it draws one, without a seed, so that its number differs from run to run."""
    pro = sources.repository("MMMU-Benchmark/MMMU", "bb0b95a945998d91dfef37e969e07d49d1139438")
    lot = {
        "standard(10 options)_cot": "55.03 in every run, as nothing is drawn",
        "standard(10 options)_direct": "40.12 in the file, 40.12 to 40.29 in 60 runs",
        "vision_cot": "50.06 in the file, 50.06 to 50.17 in 60 runs",
        "vision_direct": "42.43 in the file, 41.97 to 42.60 in 60 runs",
    }
    for name, numbers in lot.items():
        vision = name.startswith("vision")
        file = pro.write(f"mmmu-pro/output/gpt-4o_{name}.jsonl", sources.folder)
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        found = score(f"mmmu-pro{':setting=vision' if vision else ''}", file, variant=OFFICIAL)
        drawn = {record.id for record in found.records if is_drawn(record)}
        read = sum(one.score == 1.0 for one in found.records if one.id not in drawn)
        right = sum(row["if_right"] for row in rows if row["id"] not in drawn)
        yield Entry(
            "MMMU-Pro, options drawn by lot counted as wrong",
            f"GPT-4o, {name.replace('_', ', ')}",
            "accuracy",
            100 * read / len(rows),
            100 * right / len(rows),
            3,
            f"{pro.at}, the verdicts in the files of mmmu-pro/output (`--rule official`)",
            f"{read}/{len(rows)}",
            f"{_NESTED}; with the lot, {numbers}" if vision else "",
        )


def _mm_vet(sources: Sources) -> Iterator[Entry]:
    composer = sources.composer
    file = composer.write(f"{_COMPOSER}/Output/MMVet_InternLM_XComposer_VL_gpt-4-0613-grade-1runs.json", sources.folder)
    data = sources.golden / "mmvet_llava15" / "llava-v1.5-13b.jsonl"
    found = score("mm-vet", file, data=data)
    source = f"{composer.at}, the grader's table beside its grades"
    yield Entry("MM-Vet", "InternLM-XComposer2", "score", _score(found), 51.2, 1, source)
    table = {"rec": 50.8, "ocr": 50.5, "know": 35.0, "gen": 38.5, "spat": 52.8, "math": 41.9}
    for ability, official in table.items():
        value = found.summary.groups["capability"][ability].value
        assert value is not None
        yield Entry("MM-Vet", "InternLM-XComposer2", ability, value, official, 1, source)


def _llava_bench(sources: Sources) -> Iterator[Entry]:
    title, composer = "LLaVA-Bench (In-the-Wild)", sources.composer
    file = composer.write(f"{_COMPOSER}/LLaVA_Wild/LLaVA_wild_Eval_InternLM_XComposer_VL.jsonl", sources.folder)
    found = score("llava-bench", file)
    source = f"{composer.at}, evaluation/README.md, over GPT-4's reviews"
    yield Entry(title, "InternLM-XComposer2", "relative score", _score(found), 81.8, 1, source)
    for category, official in {"complex": 92.3, "conv": 67.6, "detail": 78.8}.items():
        value = found.summary.groups["category"][category].value
        assert value is not None
        yield Entry(title, "InternLM-XComposer2", category, value, official, 1, source)


def _tablevqabench(sources: Sources) -> Iterator[Entry]:
    tables = sources.repository("naver-ai/tablevqabench", "87d38e7907e268ea18c7d9c318e95e3a43009cea")
    for part in ("vwtq", "vwtq_syn", "vtabfact", "fintabnetqa"):
        tables.write(f"outputs/gpt4v/{part}.json", sources.folder)
    found = score("tablevqabench", sources.folder / "outputs" / "gpt4v", variant=OFFICIAL)
    for part, metric in found.summary.groups["split"].items():
        verdicts = json.loads(tables.file(f"outputs/gpt4v_evaluated/{part}.json"))
        assert metric.value is not None
        yield Entry(
            "TableVQA-Bench",
            "GPT-4V",
            part,
            metric.value,
            verdicts["evaluation_meta"]["average_scores"][0],
            3,
            f"{tables.at}, outputs/gpt4v_evaluated (`--rule official`)",
        )


def _blink(sources: Sources) -> Iterator[Entry]:
    blink = sources.repository("zeyofu/BLINK_Benchmark", "2d6a779be4aa1ad0d38d7aa539bcb43b6dd81592")
    for system, name, official in (("GPT4V", "GPT-4V", 51.1), ("instructblip_7b", "InstructBLIP-7B", 39.7)):
        for path in blink.names(f"eval/saved_outputs/{system}/"):
            blink.write(path, sources.folder)
        folder = sources.folder / "eval" / "saved_outputs" / system
        found = score("blink", folder, variant=OFFICIAL)
        yield Entry(
            "BLINK validation, mean of the tasks",
            name,
            "14 tasks, as published files",
            _score(found),
            official,
            1,
            f"{blink.at}, README.md, over the folder of saved outputs",
            _right(found),
        )


def _mathvista(sources: Sources) -> Iterator[Entry]:
    vista = sources.repository("lupantech/MathVista", "53d525874bdde205128e6b160b7357a88277d479")
    systems = {
        "bard": "bard",
        "chatgpt_2shot_code": "chatgpt",
        "chatgpt_2shot_code_use_ocr": "chatgpt",
        "chatgpt_2shot_solution": "chatgpt",
        "chatgpt_2shot_solution_use_ocr": "chatgpt",
        "claude_2shot_solution": "claude",
        "claude_2shot_solution_use_ocr": "claude",
        "gpt4": "gpt4",
        "gpt4_2shot_code_use_ocr": "gpt4",
        "gpt4_2shot_solution_use_ocr": "gpt4",
        "idefics_9b_instruct": "idefics",
        "llava_llama_2_13b": "llava",
        "minigpt4_llama2": "minigpt4",
        "mplugowl_7b_ft": "mplugowl",
    }
    for system, model in systems.items():
        file = vista.write(f"results/{model}/output_{system}.json", sources.folder)
        official = json.loads(vista.file(f"results/{model}/scores_{system}.json"))
        found = score("mathvista", file, variant=OFFICIAL)
        yield Entry(
            "MathVista testmini",
            system,
            "accuracy",
            _score(found),
            float(official["average"]["accuracy"]),
            1,
            f"{vista.at}, the scores beside each file (`--rule official`)",
            _right(found),
        )


def _mathvision(sources: Sources) -> Iterator[Entry]:
    vision = sources.repository("mathllm/MATH-V", "a1f5cc3add200c0cd080fad463e500f44ef1fb41")
    data = vision.write("data/test.jsonl", sources.folder)
    for path in (
        "open-source/LLavA/LLaVA-v1.5-7B",
        "open-source/ShereGPT4V/ShareGPT4V-13B",
        "open-source/Sphinx/SPHINX-v2",
        "closed-source/Qwen/Qwen-VL-Plus",
        "closed-source/GPT/ChatGPT3.5-CoT (Text+Image Caption)",
        "closed-source/Gemini/Gemini-Pro",
        "closed-source/Gemini/Gemini-Pro-CoT",
    ):
        file = vision.write(f"outputs/{path}.jsonl", sources.folder)
        verdict = json.loads(vision.file(f"outputs/{path}_result.json"))["-all"]
        right, total = map(int, verdict.partition("=")[0].split("/"))
        found = score("mathvision", file, data=data, variant=OFFICIAL)
        yield Entry(
            "MATH-Vision test",
            Path(path).name,
            "accuracy",
            _score(found),
            100 * right / total,
            3,
            f"{vision.at}, the verdicts beside each file (`--rule official`)",
            _right(found),
            _MATHVISION.get(Path(path).name, ""),
        )
