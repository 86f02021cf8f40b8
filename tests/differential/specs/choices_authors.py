"""Multiple-choice benchmarks, scored by what their authors publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.specs import choices_video as video
from tests.differential.specs.choices import choice_cases, table_row
from tests.differential.specs.choices_own import spatial457_cases
from tests.differential.specs.circular import circular_cases
from tests.differential.styles_choice import Choice


def repository(name: str, commit: str, licence: str = "none stated", checkout: str = "") -> Oracle:
    return Oracle("authors_choice", name, commit, licence, checkout or name.split("/")[1])


BLINK = repository("zeyofu/BLINK_Benchmark", "2d6a779be4aa1ad0d38d7aa539bcb43b6dd81592", "Apache-2.0")
LLAVA = repository("haotian-liu/LLaVA", "c121f0432da27facab705978f83c4ada465e46fd", "Apache-2.0")
REALWORLD = repository("MME-Benchmarks/MME-RealWorld", "bee58edb82c883843ae93be61c2ae3b452c781d1")
VIDEO_MME = repository("BradyFU/Video-MME", "4e7566d36f63121fc72f040654d6f38f83f30125")
TEMPCOMPASS = repository("llyx97/TempCompass", "e1b463166400633e6061962d890a9ae85db29f70", "CC BY-NC 4.0")
MMMU = repository("MMMU-Benchmark/MMMU", "bb0b95a945998d91dfef37e969e07d49d1139438", "Apache-2.0")
LMMS_EVAL = repository("EvolvingLMMs-Lab/lmms-eval", "75571cfe0fa36ca5ec2e6aa2bb268f9d38295af3", "Apache-2.0 and MIT")
VISULOGIC = repository("VisuLogic-Benchmark/VisuLogic-Eval", "00fba6ddafdc0d6805a4b9455c8df36502aeda2a")
CMMMU = repository("CMMMU-Benchmark/CMMMU", "e1ba883284c61e5f6bbf552addb87f6e48de87bc")
HOLMES = repository("TencentARC/Video-Holmes", "52ef8da286ccad03036a65e7b67c160bc3a24fb9", "Apache-2.0")
MLVU = repository("JUNJIE99/MLVU", "fd060c10a43ea48a35100a22688a927b8e531199")
ASK_ANYTHING = repository("OpenGVLab/Ask-Anything", "4dd8210b030374bb0c510a57dfbe916f70d3ef71", "MIT")
MMSI = repository("InternRobotics/MMSI-Bench", "5de2f3d2eb0159dbcc76790074029aa400143603")
CAMBRIAN = repository("cambrian-mllm/cambrian", "539ffc3254bba004e5d012b65c0ad6cb308897c5", "Apache-2.0")
HR_BENCH = repository("DreamMr/HR-Bench", "b17b1998fa2c1b71a737c126155826a94149ed13")
MMT_BENCH = repository("OpenGVLab/MMT-Bench", "84012c95e31c2986521ea5b7c16a88e36e9958c2")
MEDXPERTQA = repository("TsinghuaC3I/MedXpertQA", "f21247d3ccf3b14826ff2aa7fa06e1a46d64058c", "MIT")
VLMEVALKIT = repository("open-compass/VLMEvalKit", "e8e78f05f3080fe28154f2130321f17951c3be94", "Apache-2.0")
"""Functions of it that its classes call with a setting or a judge."""
MMSTAR = repository("MMStar-Benchmark/MMStar", "88f243ab4a39cb339530085c33aecb22819881a1")


def authors_set(
    benchmark: str,
    scorer: str,
    oracle: Oracle,
    where: str,
    cases: Callable[[], Iterable[Case]],
    metrics: Mapping[str, str] | None = None,
    apart: str = "",
    headline: str = "",
    **arguments: Any,
) -> Spec:
    """A set that the authors' scorer judges, for `--rule official`."""
    return Spec(
        name=f"{benchmark.replace(':', '@')}.authors",
        benchmark=benchmark,
        rule="official",
        oracle=oracle,
        path=where,
        cases=cases,
        arguments={"scorer": scorer, **arguments},
        metrics=metrics or {},
        headline=headline,
        apart=apart,
    )


def _named(cases: Callable[[], Iterator[Case]], write: Callable[[Case], str]) -> Callable[[], Iterator[Case]]:
    """The same cases under the ids of the authors' file."""

    def named() -> Iterator[Case]:
        for case in cases():
            yield Case(write(case), case.cells, case.style, case.reply)

    return named


_BLINK = choice_cases(table_row(category=("Counting", "Jigsaw", "Relative_Depth"), split="val"), pools.PERCEPTION)


def _mmmu_cases() -> Iterator[Case]:
    """Choices of up to five options, and the open questions of `_OPEN`."""
    subjects = ("Accounting", "Art", "Math")
    row = table_row(split="validation", category=subjects)
    yield from choice_cases(row, pools.EXPERT)()
    number = 408
    for turn, (question, gold, texts) in enumerate(_OPEN):
        for position, (style, write) in enumerate(styles_choice.styles()):
            right, wrong = texts if (position + turn) % 3 else texts[::-1]
            cells = {
                "question": question,
                "answer": gold,
                "split": "validation",
                "category": subjects[position % 3],
                "question_type": "open",
            }
            yield Case(str(number), cells, f"open, {style}", write(right, right, wrong, wrong))
            number += 1


_OPEN = (
    ("What is the net income?", "12,500", ("12500", "1250")),
    ("Name the cell.", "['neuron', 'nerve cell']", ("a Nerve cell", "a blood cell")),
    ("What is x?", "0.5", ("0.50", "5")),
)
TEMPCOMPASS_VIDEO = "1034419625"


def _tempcompass_choices() -> Iterator[Case]:
    for case in choice_cases(table_row(), video.four(pools.GENERATOR + pools.KNOWLEDGE))():
        cells = dict(case.cells)
        options = [f"{label}. {cells[label]}" for label in "ABCD"]
        yield Case(
            case.id,
            {
                "video_id": TEMPCOMPASS_VIDEO,
                "dim": ("action", "direction", "order")[int(case.id) % 3],
                "task_type": "multi-choice",
                "question": "\n".join((cells["question"], *options)),
                "answer": f"{cells['answer']}. {cells[cells['answer']]}",
            },
            case.style,
            case.reply,
        )


_SENTENCES = (
    ("Sentence", "A", "B", "A car goes left.", "A car goes right."),
    ("Caption", "A", "B", "The man sits down.", "The man stands up."),
    ("Option", "1", "2", "He sits and then stands.", "He stands and then sits."),
)


def _tempcompass_matching() -> Iterator[Case]:
    """The names of sentences stand where others have letters; a reply may also give the name's
    last word alone, or the whole line."""
    number = 0
    for kind, first, second, one, two in _SENTENCES:
        lines = (f"{kind} {first}: {one}", f"{kind} {second}: {two}")
        for position, (style, write) in enumerate(styles_choice.styles()):
            label, text, other, rest = (first, one, second, two) if position % 3 else (second, two, first, one)
            named = f"{kind} {label}" if position % 2 else label
            yield Case(
                str(number),
                {
                    "video_id": TEMPCOMPASS_VIDEO,
                    "dim": "direction",
                    "task_type": "caption_matching",
                    "question": "\n".join(("Which fits the video better?", *lines)),
                    "answer": lines[0],
                },
                style,
                write(named, text, other, rest),
            )
            number += 1


def _pro_cases(*, vision: bool) -> Callable[[], Iterator[Case]]:
    """MMMU-Pro. In the vision setting the options stand in the picture, for the authors' script in
    the column `options`."""

    def cells(question: Choice, number: int) -> Mapping[str, Any]:
        row: dict[str, Any] = dict(table_row(category=("History", "Art"))(question, number))
        if vision:
            texts = [row.pop(label) for label in question.options]
            del row["question"]
            row |= {"options": str(texts)}
        return row

    def cases() -> Iterator[Case]:
        """A third of the replies names no option, and has one drawn by lot: so the plain styles
        come in further wrappers too."""
        wrappers = list(styles_choice.WRAPPERS.items())
        count = len(list(styles_choice.styles()))
        for case in choice_cases(cells, pools.TEN, turns=5)():
            turn, position = divmod(int(case.id), count)
            if turn < 3 or case.style not in styles_choice.BASES:
                yield case
                continue
            name, wrap = wrappers[(position + 5 * turn) % len(wrappers)]
            yield Case(case.id, case.cells, f"{case.style} in {name}", wrap(case.reply))

    return cases


def _logicvista_cases() -> Iterator[Case]:
    """A judge reads every reply: it is scripted, and says the letters in several ways. Golds are a
    letter, or two."""
    skills = ("['inductive']", "['deductive']", "['numerical']", "['spatial']", "['mechanical']")
    number = 0
    for turn in range(3):
        for style, write in styles_choice.styles():
            gold, other = (("B", "D"), ("B, D", "A"), ("C", "B"))[(number + turn) % 3]
            right = (number + turn) % 4 != 0
            label = (gold if right else other).replace(", ", " and ")
            said = gold.replace(", ", "") if right else other
            verdict = (said, said, said[::-1], "Z" if not right else said)[number % 4]
            cells = {
                "question": "Which of the boxes comes next?",
                "answer": gold,
                "skill": skills[number % len(skills)],
            }
            yield Case(str(number), cells, style, write(label, "the box", other, "the ball"), verdict)
            number += 1


def _phyx_open_cases() -> Iterator[Case]:
    number = 0
    for turn in range(3):
        for position, (style, write) in enumerate(styles_choice.styles()):
            gold, right, wrong = _MEASURES[(position + turn) % len(_MEASURES)]
            said, other = (right, wrong) if (position + turn) % 3 else (wrong, right)
            cells = {"question": "How long is it?", "answer": gold, "category": "Optics", "subfield": "Mirrors"}
            yield Case(str(number), cells, style, write(said, said, other, other))
            number += 1


_MEASURES = (
    ("5 m", "5 m", "15 cm"),
    ("3.14", r"\pi", "2"),
    (r"\frac{1}{2}", r"\dfrac{1}{2}", r"\frac{1}{3}"),
    ("Up", "up", "down"),
    ("46.3 kN", "46.3 kN", "46300 N"),
)
"""Gold, and what a reply says when it is right and when it is wrong."""


def _earlier(benchmark: str, month: str, oracle: Oracle, pool: tuple[Choice, ...], path: list[str]) -> Spec:
    """The copy of VLMEvalKit that the authors publish beside their benchmark: how it read then."""
    return Spec(
        name=f"{benchmark}.authors",
        benchmark=benchmark,
        rule=f"vlmevalkit@{month}",
        oracle=oracle,
        path="/".join(path[1:]),
        cases=choice_cases(table_row(category="one"), pool),
        arguments={"scorer": "can_infer", "path": path},
    )


_EVAL = "evaluation/eval_your_results.py"
SPECS = (
    authors_set(
        "blink",
        "blink",
        BLINK,
        "eval/evaluate.py, eval_prediction",
        _named(_BLINK, lambda case: f"val_{case.cells['category']}_{case.id}"),
        {"task_mean": "Total", "accuracy": "mean"},
    ),
    authors_set(
        "scienceqa",
        "scienceqa",
        LLAVA,
        "llava/eval/eval_science_qa.py",
        choice_cases(table_row(category=("biology", "physics"), split="test"), pools.SCIENCE),
        {"accuracy": "acc"},
        missing=True,
    ),
    authors_set("mme-realworld", "mme-realworld", REALWORLD, _EVAL, video.realworld_cases, {"accuracy": "mean"}),
    authors_set(
        "video-mme",
        "video-mme",
        VIDEO_MME,
        f"{_EVAL}, extract_characters_regex",
        choice_cases(video.VIDEO_MME, video.SHORT),
        {"accuracy": "mean"},
    ),
    authors_set(
        "tempcompass:task=multi-choice",
        "tempcompass",
        TEMPCOMPASS,
        "eval_multi-choice.py",
        _tempcompass_choices,
        {"accuracy_by_rules": "mean"},
        task="multi-choice",
    ),
    authors_set(
        "tempcompass:task=caption_matching",
        "tempcompass",
        TEMPCOMPASS,
        "eval_caption_matching.py",
        _tempcompass_matching,
        {"accuracy_by_rules": "mean"},
        task="caption_matching",
    ),
    authors_set("mmmu", "mmmu", MMMU, "mmmu/utils/eval_utils.py", _mmmu_cases, {"accuracy": "mean"}),
    authors_set(
        "mmmu-pro",
        "mmmu-pro",
        MMMU,
        "mmmu-pro/evaluate.py, mmmu_process_results",
        _pro_cases(vision=False),
        {"accuracy": "mean"},
    ),
    authors_set(
        "mmmu-pro:setting=vision",
        "mmmu-pro",
        MMMU,
        "mmmu-pro/evaluate.py, mmmu_process_results",
        _pro_cases(vision=True),
        {"accuracy": "mean"},
    ),
    authors_set(
        "mmbench",
        "mmbench",
        LMMS_EVAL,
        "lmms_eval/tasks/mmbench/mmbench_evals.py, prefetch_answer",
        circular_cases(table_row(split="dev"), pools.ABILITIES),
        {"circular": "mean"},
    ),
    authors_set(
        "ccbench",
        "mmbench",
        LMMS_EVAL,
        "lmms_eval/tasks/mmbench/mmbench_evals.py, prefetch_answer",
        circular_cases(table_row(), pools.CHINESE),
        {"circular": "mean"},
    ),
    authors_set(
        "mlvu",
        "check_ans",
        MLVU,
        "evaluation/multiple_choice_evaluation/choice_bench.py, check_ans",
        choice_cases(video.MLVU, pools.GENERATOR),
        {"accuracy": "mean"},
        headline="Avg",
        path=["MLVU", "evaluation", "multiple_choice_evaluation", "choice_bench.py"],
    ),
    authors_set(
        "mvbench",
        "check_ans",
        ASK_ANYTHING,
        "video_chat2/mvbench.ipynb, check_ans",
        choice_cases(video.MVBENCH, pools.ABILITIES),
        {"accuracy": "mean"},
        path=["Ask-Anything", "video_chat2", "mvbench.ipynb"],
    ),
    authors_set(
        "mmsi-bench",
        "mmsi",
        MMSI,
        "vlmeval/dataset/mmsi_bench.py, extract_single_choice_with_word_boundary",
        choice_cases(table_row(category=("MSR", "Attr-Meas")), video.SHORT),
        {"accuracy": "mean"},
    ),
    authors_set(
        "medxpertqa",
        "medxpertqa",
        MEDXPERTQA,
        "eval/utils.py, answer_cleansing",
        choice_cases(table_row(category=("Diagnosis", "Treatment")), pools.MEDICINE),
        {"accuracy": "mean"},
    ),
    Spec(
        name="phyx.vlmevalkit",
        benchmark="phyx",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/utils/phyx.py, PhyX_process_line_MC",
        cases=choice_cases(table_row(category="Optics", subfield="Mirrors"), video.SHORT),
        arguments={"scorer": "phyx"},
        metrics={"accuracy": "mean"},
    ),
    Spec(
        name="phyx@edition=mini-oe.vlmevalkit",
        benchmark="phyx:edition=mini-oe",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/utils/phyx.py, PhyX_process_line",
        cases=_phyx_open_cases,
        arguments={"scorer": "phyx", "function": "PhyX_process_line"},
        metrics={"accuracy": "mean"},
    ),
    Spec(
        name="spatial457.vlmevalkit",
        benchmark="spatial457",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/spatial457.py, Spatial457.evaluate",
        cases=spatial457_cases,
        arguments={"scorer": "spatial457"},
        metrics={"accuracy": "score", "category/L1_single": "L1_single_score"},
    ),
    Spec(
        name="logicvista.vlmevalkit",
        benchmark="logicvista",
        rule="official",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/utils/logicvista.py, LogicVista_auxeval",
        cases=_logicvista_cases,
        arguments={"scorer": "logicvista"},
        metrics={"accuracy": "mean"},
    ),
    authors_set(
        "cvbench",
        "cvbench",
        CAMBRIAN,
        "eval/eval/{ade,coco,omni}/*_test.py",
        choice_cases(
            table_row(split=("2D", "2D", "3D"), task=("Count", "Count", "Depth"), source=("ADE20K", "COCO", "Omni3D")),
            pools.SPACE,
        ),
        {"accuracy": "mean"},
        headline="average",
    ),
    _earlier(
        "hrbench", "2024-09", HR_BENCH, pools.DETAILS, ["HR-Bench", "hrbench", "vlmeval", "utils", "matching_util.py"]
    ),
    _earlier(
        "mmt-bench",
        "2024-07",
        MMT_BENCH,
        pools.TASKS,
        ["MMT-Bench", "VLMEvalKit-main", "vlmeval", "utils", "matching_util.py"],
    ),
    authors_set(
        "mmstar",
        "mmstar",
        MMSTAR,
        "eval/vlmeval/evaluate/mmstar.py, MMStar_eval",
        choice_cases(table_row(category=("colour", "shape"), l2_category="scenes"), pools.EXPERT),
        {"accuracy": "mean"},
        missing=True,
    ),
)
