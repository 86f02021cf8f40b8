"""Our numbers beside official ones, over the same recorded replies.

    python docs/reproduce.py GOLDEN_FOLDER REPOSITORIES   counts all: docs/data/reproduction.json
    python docs/generate.py                               writes docs/reproduction.md from that file

The golden folder holds published predictions with their official scores; it is not part of the
repository, because its sets have licences of their own. REPOSITORIES holds bare copies of public
repositories, `OWNER+NAME/repo`, whose predictions are scored where they lie
(reproduce_repositories.py). The page is made from the counts alone.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import json as msgjson
from reproduction_entry import Entry

from snellen import score
from snellen.api.scored import Scored
from snellen.core.benchmark import Variant
from snellen.core.record import Record
from snellen.core.summary import Summary

FOLDER = Path(__file__).parent
COUNTS = FOLDER / "data" / "reproduction.json"
NOTE = "<!-- Written by docs/generate.py from docs/data/reproduction.json, which docs/reproduce.py counts. -->"
_LAVIN = "MME's evaluation tool (branch Evaluation, tools/eval_tool.zip), LaVIN"
_ZOO = "LLaVA, docs/MODEL_ZOO.md"


def counted(golden: Path) -> list[Entry]:
    """Every entry, from the recorded replies of the golden folder."""
    sets: tuple[Callable[[Path], Iterable[Entry]], ...] = (
        _scienceqa,
        _mmbench,
        _seed,
        _blink,
        _mme,
        _pope,
        _mmmu,
        _chartqa,
        _anls,
        _vizwiz,
        _captions,
        _mathvista,
        _mathvision,
        _logicvista,
        _mm_vet,
        _llava_bench,
        _tempcompass,
    )
    return [entry for entries in sets for entry in entries(golden)]


def counted_in_repositories(golden: Path, repositories: Path) -> list[Entry]:
    """Every entry, from predictions in copies of public repositories; the questions of some are
    those of the golden folder."""
    from reproduce_repositories import published_numbers

    return list(published_numbers(golden, repositories))


def read_counts() -> list[Entry]:
    return msgjson.decode(COUNTS.read_bytes(), type=list[Entry])


def page() -> str:
    """docs/reproduction.md."""
    entries = read_counts()
    agreeing = sum(entry.agrees for entry in entries)
    named = sum(bool(entry.because) for entry in entries)
    lines = [
        "# Numbers reproduced",
        "",
        NOTE,
        "",
        "Published predictions of real models, scored by Snellen, beside the number their authors "
        "or the official script give for the same predictions. Ours are rounded to the digits of "
        f"the official number; {agreeing} of {len(entries)} agree, and {named} differ for a reason "
        "that is named.",
        "",
    ]
    for benchmark in dict.fromkeys(entry.benchmark for entry in entries):
        of_it = [entry for entry in entries if entry.benchmark == benchmark]
        lines += [f"## {benchmark}", "", *_rows(of_it), ""]
        lines += [f"Official numbers: {text}." for text in dict.fromkeys(e.source for e in of_it)]
        lines += [f"{e.system}: {e.because}." for e in of_it if e.because]
        lines.append("")
    lines.append("What stands behind every benchmark, these numbers among it: [Evidence](evidence.md).")
    return "\n".join(lines)


SETS = {
    "ScienceQA, 211 questions with a picture": "scienceqa",
    "MMBench dev (2023-07-12)": "mmbench",
    "SEED-Bench, questions about a picture": "seedbench",
    "BLINK validation, mean of the tasks": "blink",
    "MME": "mme",
    "POPE (COCO)": "pope",
    "MMMU validation": "mmmu",
    "MMMU-Pro, options drawn by lot counted as wrong": "mmmu-pro",
    "ChartQA test": "chartqa",
    "FUNSD-QA, as DocVQA": "docvqa",
    "VizWiz validation, a subset": "vizwiz",
    "Captions": "coco-caption",
    "MathVista testmini": "mathvista",
    "MATH-Vision test": "mathvision",
    "LogicVista": "logicvista",
    "MM-Vet": "mm-vet",
    "LLaVA-Bench (In-the-Wild)": "llava-bench",
    "TempCompass": "tempcompass",
    "ScienceQA test": "scienceqa",
    "MMStar": "mmstar",
    "TableVQA-Bench": "tablevqabench",
}
"""Titles of the sets to the benchmarks they are evidence for."""
FORMULAS = {
    "mmbench": ("overall scores from the abilities, Tables 3 and 10 to 13 of the paper", 142, 142),
    "mme": ("Figure 2 from Tables 1 and 2 of the paper", 1, 1),
    "seedbench": ("levels, parts and ranks of Tables 2 and 3 of the paper", 2, 2),
}
"""Rows or tables of papers that follow from the formulas, as tests of record hold
(`tests/benchmarks/test_*_tables.py`, `test_mme_boards.py`): what, how many of how many."""
_MATHVISTA = {
    "llavar": "this file alone was scored by the script of today, which cuts 1.0 and 1.5 to the "
    "whole number 1 (pid 770 and 917); by the scores of the others such a reply is no whole number"
}


def _rows(entries: Sequence[Entry]) -> Iterator[str]:
    yield "| predictions | number | Snellen | official | |"
    yield "| --- | --- | ---: | ---: | --- |"
    for one in entries:
        ours, official = (f"{value:.{one.digits}f}" for value in (one.ours, one.official))
        count = f" ({one.count})" if one.count else ""
        sign = "=" if one.agrees else "differs, see below" if one.because else "**differs**"
        yield f"| {one.system} | {one.number} | {ours}{count} | {official} | {sign} |"


def _scored(
    golden: Path, benchmark: str, file: str, rule: str | None = None, **columns: str
) -> tuple[Summary, Sequence[Record]]:
    found = score(benchmark, golden / file, variant=Variant(rule=rule), columns=columns or None)
    return found.summary, found.records


def _value(summary: Summary, name: str) -> float:
    value = summary.metrics[name].value
    assert value is not None, f"{name} has no value"
    return value


def _official(golden: Path, folder: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((golden / folder / "official_scores.json").read_bytes())
    return found


def _right(records: Iterable[Record]) -> str:
    scores = [record.score for record in records if record.score is not None]
    return f"{int(sum(scores))}/{len(scores)}"


def _scienceqa(golden: Path) -> Iterator[Entry]:
    summary, records = _scored(golden, "scienceqa", "scienceqa_img_tsv/predictions_llava15_13b.csv")
    yield Entry(
        "ScienceQA, 211 questions with a picture",
        "LLaVA-1.5-13B",
        "accuracy",
        _value(summary, "accuracy"),
        100 * 101 / 211,
        3,
        "LLaVA's own verdicts on these questions, 101 of 211 right",
        _right(records),
    )


def _mmbench(golden: Path) -> Iterator[Entry]:
    summary, records = _scored(golden, "mmbench", "mmbench_dev_llava15_13b/predictions.csv")
    first = [record.values["vanilla"] for record in records if "vanilla" in record.values]
    name, system = "MMBench dev (2023-07-12)", "LLaVA-1.5-13B"
    circular, count = _value(summary, "circular"), _right(records)
    source = f"{_ZOO} (67.7); CircularEval and VanillaEval counted over the uploaded file"
    yield Entry(name, system, "CircularEval", circular, 67.7, 1, source, count)
    yield Entry(name, system, "CircularEval, three decimals", circular, 67.687, 3, source, count)
    vanilla = f"{int(sum(first))}/{len(first)}"
    yield Entry(name, system, "VanillaEval", _value(summary, "vanilla"), 75.425, 3, source, vanilla)


def _seed(golden: Path) -> Iterator[Entry]:
    file = "seedbench_llava15_13b/predictions.csv"
    summary, records = _scored(golden, "seedbench:version=1,protocol=generate", file, "official")
    pictures = [record for record in records if record.groups.get("media") == "image"]
    name, system = "SEED-Bench, questions about a picture", "LLaVA-1.5-13B"
    ours, count = _value(summary, "image"), _right(pictures)
    exact = _official(golden, "seedbench_llava15_13b")["image"]
    assert isinstance(exact, float)
    source = f"{_ZOO} (68.2, 14,233 questions); equality of letters counted over the uploaded file"
    yield Entry(name, system, "accuracy", ours, 68.2, 1, source, count)
    yield Entry(name, system, "accuracy, three decimals", ours, exact, 3, source, count)


def _blink(golden: Path) -> Iterator[Entry]:
    for system, found in sorted(_official(golden, "blink_val").items()):
        assert isinstance(found, dict)
        file = f"blink_val/{system.replace('* ', '_').replace(' ', '_')}.jsonl.gz"
        summary, records = _scored(golden, "blink", file, "official")
        yield Entry(
            "BLINK validation, mean of the tasks",
            system,
            f"{found['tasks']} tasks",
            _value(summary, "task_mean"),
            float(found["average_over_tasks"]),
            4,
            "BLINK's eval/evaluate.py over the authors' saved outputs (`--rule official`)",
            _right(records),
        )


def _mme(golden: Path) -> Iterator[Entry]:
    summary, _ = _scored(golden, "mme", "mme_lavin/predictions.csv", "official")
    sums = {"perception": 963.6114, "cognition": 249.6429}
    for name, official in sums.items():
        yield Entry("MME", "LaVIN-13B", name, _value(summary, name), official, 4, _LAVIN)
    found = _official(golden, "mme_lavin")["per_category"]
    assert isinstance(found, dict)
    subtasks = summary.groups["category"]
    for name, scores in found.items():
        ours = subtasks[name].value
        assert ours is not None
        yield Entry("MME", "LaVIN-13B", name, ours, float(scores["score"]), 2, _LAVIN)


def _pope(golden: Path) -> Iterator[Entry]:
    file, name, system = "pope_llava15_13b/predictions.csv", "POPE (COCO)", "LLaVA-1.5-13B"
    summary, _ = _scored(golden, "pope", file, "official", id="split+question_id")
    official = _official(golden, "pope_llava15_13b")
    source = f"LLaVA's eval_pope.py over these predictions; mean F1 in {_ZOO} (85.9)"
    yield Entry(name, system, "mean F1", _value(summary, "f1"), 85.9, 1, source)
    for track, metric in summary.groups["category"].items():
        told = official[track]
        assert isinstance(told, dict)
        assert metric.value is not None
        f1 = 100 * float(told["f1"])
        yield Entry(name, system, f"F1, {track}", metric.value, f1, 4, source)


def _mmmu(golden: Path) -> Iterator[Entry]:
    from reproduce_repositories import is_drawn

    source = (
        "MMMU's eval script over LLaVA's and Qwen-VL's outputs, without options drawn at random (`--rule official`)"
    )
    for system, right in (("llava1.5_13b", 329), ("qwen_vl", 309)):
        _, records = _scored(golden, "mmmu", f"mmmu_val/{system}.jsonl", "official")
        read = sum(record.score == 1.0 and not is_drawn(record) for record in records)
        ours, official = 100 * read / len(records), 100 * right / 900
        count = f"{read}/{len(records)}"
        yield Entry("MMMU validation", system, "accuracy", ours, official, 4, source, count)


def _chartqa(golden: Path) -> Iterator[Entry]:
    summary, records = _scored(golden, "chartqa", "chartqa_chartast/predictions.csv")
    source = "ChartAst's published outputs and verdicts"
    name, system = "ChartQA test", "ChartAst"
    ours, count = summary.headline.value or 0.0, _right(records)
    yield Entry(name, system, "relaxed accuracy", ours, 79.88, 2, source, count)
    for split, official in (("human", 66.24), ("augment", 93.52)):
        part = summary.groups["split"][split].value or 0.0
        yield Entry(name, system, f"relaxed accuracy, {split}", part, official, 2, source)


def _anls(golden: Path) -> Iterator[Entry]:
    source = "standard ANLS over LayTextLLM's published outputs (`--rule vlmevalkit`)"
    for which, official in (("zero", 69.3033), ("all", 79.6092)):
        file = f"funsd_qa_anls_laytextllm/laytextllm_{which}.jsonl"
        summary, _ = _scored(golden, "docvqa", file, "vlmevalkit")
        ours = summary.headline.value or 0.0
        yield Entry("FUNSD-QA, as DocVQA", f"LayTextLLM {which}", "ANLS", ours, official, 4, source)


def _vizwiz(golden: Path) -> Iterator[Entry]:
    rows = list(_lines(golden / "vizwiz_val_subset" / "vizwiz_val_subset.jsonl"))
    source = "the official VQA evaluation over published replies"
    for system, official in (("base", 33.773), ("fusion", 53.270), ("skill", 41.792)):
        replies = [
            {
                "id": row["image"],
                "question": row["question"],
                "answers": row["answers"],
                "prediction": row["preds"][system],
            }
            for row in rows
            if system in row["preds"]
        ]
        ours = _replayed("vizwiz", replies).summary.headline.value or 0.0
        name = "VizWiz validation, a subset"
        count = f"n = {len(replies)}"
        yield Entry(name, system, "VQA accuracy", ours, official, 3, source, count)


def _captions(golden: Path) -> Iterator[Entry]:
    official = _official(golden, "captions_magic")
    source = "the COCO caption tools over MAGIC's published captions"
    numbers = {f"BLEU-{n}": (f"bleu_{n}", f"Bleu_{n}") for n in range(1, 5)}
    numbers |= {"METEOR": ("meteor", "METEOR"), "ROUGE-L": ("rouge_l", "ROUGE_L"), "CIDEr": ("cider", "CIDEr")}
    for which in ("flickr30k/magic", "mscoco/magic"):
        file = golden / "captions_magic" / f"{which.replace('/', '_')}.jsonl.gz"
        replies = [
            {"id": row["image"], "answers": row["refs"], "prediction": row["prediction"]} for row in _lines(file)
        ]
        metrics = _replayed("coco-caption:meteor=on", replies).summary.metrics
        told = official[which]
        assert isinstance(told, dict)
        for number, (ours, theirs) in numbers.items():
            value = metrics[ours].value or 0.0
            yield Entry("Captions", which, number, value, 100 * float(told[theirs]), 4, source)


def _mathvista(golden: Path) -> Iterator[Entry]:
    home = golden / "mathvista_testmini"
    right = {
        "chatgpt": 235,
        "claude": 264,
        "frequent_guess": 263,
        "gpt4_2shot_code": 260,
        "gpt4_2shot_solution": 292,
        "instruct_blip2_vicuna_13b": 253,
        "llama_adapter_v2": 239,
        "llavar": 252,
    }
    source = "MathVista's published extractions and verdicts (`--rule official`)"
    for system, count in right.items():
        data = home / "problems_testmini.jsonl.gz"
        found = _judged("mathvista", home / f"{system}.jsonl.gz", data, {"prediction": "extraction"})
        ours = found.summary.headline.value or 0.0
        yield Entry(
            "MathVista testmini",
            system,
            "accuracy",
            ours,
            count / 10,
            1,
            source,
            _right(found.records),
            _MATHVISTA.get(system, ""),
        )


def _mathvision(golden: Path) -> Iterator[Entry]:
    home = golden / "mathvision_test"
    source = "MATH-Vision's published replies and verdicts (`--rule official`)"
    for file in sorted(home.glob("*.jsonl.gz")):
        system = file.name.removesuffix(".jsonl.gz")
        if system.startswith("problems"):
            continue
        official = [row["correct"] is True for row in _lines(file)]
        found = _judged("mathvision", file, home / "problems_test.jsonl.gz", {"prediction": "response"})
        ours, theirs = found.summary.headline.value or 0.0, 100 * sum(official) / len(official)
        yield Entry("MATH-Vision test", system, "accuracy", ours, theirs, 3, source, _right(found.records))


def _logicvista(golden: Path) -> Iterator[Entry]:
    home = golden / "logicvista"
    source = (
        "LogicVista's published verdicts, GPT-4's letters replayed as a judge's; the row without "
        "an answer is not scored here and wrong there, so right answers are compared"
    )
    for model, told in _official(golden, "logicvista").items():
        assert isinstance(told, dict)
        found = score(
            "logicvista",
            home / "model_answers.jsonl.gz",
            data=home / "questions.jsonl.gz",
            columns={"prediction": "raw"},
            where={"model": model},
            judges=["column:extracted"],
            variant=Variant(rule="official"),
        )
        ours = sum(record.score or 0.0 for record in found.records)
        yield Entry("LogicVista", model, "right answers", ours, float(told["correct"]), 0, source)


def _mm_vet(golden: Path) -> Iterator[Entry]:
    source = "MM-Vet's grader over LLaVA's outputs, its grades replayed"
    for size, official in (("13b", 36.1), ("7b", 31.2)):
        file = golden / "mmvet_llava15" / f"llava-v1.5-{size}.jsonl"
        summary = score("mm-vet", file, judges=["column:grade_1run"]).summary
        ours = summary.headline.value or 0.0
        yield Entry("MM-Vet", f"LLaVA-1.5-{size}", "score", ours, official, 1, source)


def _llava_bench(golden: Path) -> Iterator[Entry]:
    told = _official(golden, "llavabench_wild_reviews")
    source = (
        "LLaVA's published GPT-4 reviews replayed; the authors' script rounds two means to three "
        "places before it divides them, and the three runs are averaged"
    )
    for size in ("13b", "7b"):
        rows = [
            {**row, **{f"review_{n}": one["content"] for n, one in enumerate(row["reviews"], 1)}}
            for row in _lines(golden / "llavabench_wild_reviews" / f"llava-v1.5-{size}.jsonl")
        ]
        ratios = []
        for n in (1, 2, 3):
            found = _replayed("llava-bench", rows, own=True, judges=[f"column:review_{n}"])
            model, reference = (
                round(sum(10 * one.values[name] for one in found.records) / len(rows), 3)
                for name in ("model_score", "reference_score")
            )
            ratios.append(round(100 * model / reference, 1))
        official = told[f"{size}-mean-all"]
        assert isinstance(official, float)
        yield Entry(
            "LLaVA-Bench (In-the-Wild)", f"LLaVA-1.5-{size}", "relative score", sum(ratios) / 3, official, 2, source
        )


def _tempcompass(golden: Path) -> Iterator[Entry]:
    source = "TempCompass's published replies and ChatGPT ratings replayed (`--rule official`)"
    for run, told in _official(golden, "tempcompass").items():
        assert isinstance(told, dict)
        model, task = run.split("/")
        file = golden / "tempcompass" / f"{model}_{task}.jsonl.gz"
        if not file.exists():
            continue  # its replies are not part of the set
        found = score(
            "tempcompass", file, variant=Variant(rule="official", options={"task": task}), judges=["column:rating"]
        )
        ours = found.summary.headline.value or 0.0
        theirs = 100 * float(told["total_rating"]) / int(told["n"])
        yield Entry("TempCompass", model, task, ours, theirs, 4, source, _right(found.records))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    return map(json.loads, (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines())


def _judged(benchmark: str, file: Path, data: Path, columns: dict[str, str]) -> Scored:
    return score(benchmark, file, data=data, columns=columns, variant=Variant(rule="official"))


def _replayed(
    benchmark: str, rows: Iterable[dict[str, Any]], *, own: bool = False, judges: Sequence[str] = ()
) -> Scored:
    """Rows scored from a file of their own, which is the data as well where they are complete."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "replies.jsonl")
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return score(benchmark, file, data=file if own else None, judges=judges)


def main(argv: Sequence[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    golden, repositories = map(Path, argv)
    entries = [*counted(golden), *counted_in_repositories(golden, repositories)]
    COUNTS.parent.mkdir(exist_ok=True)
    COUNTS.write_bytes(msgjson.format(msgjson.encode(entries), indent=1) + b"\n")
    for entry in entries:
        if not entry.agrees:
            print(f"{entry.benchmark}, {entry.system}, {entry.number}: {entry.ours} is not {entry.official}")
    print(f"{len(entries)} numbers, {sum(entry.agrees for entry in entries)} agree")
    return 0 if all(entry.agrees or entry.because for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
