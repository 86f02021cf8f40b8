"""Names of papers and other tools: each opens a model, or says in one sentence what it is and how it could be asked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from list_names_elsewhere import MODEL_COLUMNS, MODELS, model_here

from snellen.benchmarks.declaration.other_tools import advice_on_name
from snellen.benchmarks.declaration.registry import builtin_suites, open_benchmark
from snellen.cli.main import main
from snellen.core.errors import NotHere
from snellen.models.naming.catalog import catalog, find_entry, find_other_name, letters_of, other_names
from snellen.models.naming.registry import is_provider, open_model

TABLES = Path(__file__).parents[2] / "packages" / "hub" / "src" / "snellen_hub" / "reported_numbers" / "tables"
BENCHMARKS_OF_THE_REPORT = """
MMBench, CCBench, MME, SEEDBench, SEEDBench2, SEEDBench2-Plus, MMT-Bench, MMMU, MMStar, MathVista, COCO Caption,
OCRBench, TextVQA, AI2D, ChartQA, DocVQA, InfoVQA, RealWorldQA, HallusionBench, POPE, MMBench-Video, OCRVQA,
MLLMGuard, AesBench, MMVet, MM-Vet, LLaVABench, MME-RealWorld, TableVQA-Bench, MathVision, MathVerse, DynaMath,
WeMath, LogicVista, ScienceQA-IMG, Q-Bench, A-Bench, DUDE, MMLongBench-Doc, SlideVQA, BLINK, MuirBench, MMDU, MMMB,
MT-VQA, GMAI-MMBench, TaskMeAnything ImageQA, A-OKVQA, VCR-wiki, Video-MME, MVBench, MLVU, TempCompass, MMBench-CN,
MMBench V1.1, MMBench_DEV_KO
"""
"""Spellings of VLMEvalKit's report, its Table 1 and Appendix A, and of its data."""


def names_of_papers() -> list[str]:
    """The models of the papers' tables, as printed."""
    names = set()
    for path in sorted(TABLES.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            names |= {row["model"] for row in csv.DictReader(file) if row.get("model")}
    return sorted(names)


def rows_elsewhere() -> list[list[str]]:
    with MODELS.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert tuple(header) == MODEL_COLUMNS
    return rows


def test_every_name_of_the_papers_opens_a_model_or_says_why_not() -> None:
    names = names_of_papers()
    assert len(names) > 100
    assert [name for name in names if not model_here(name)] == []


def test_every_name_of_the_tools_means_what_the_table_says() -> None:
    rows = rows_elsewhere()
    assert {tool: sum(row[0] == tool for row in rows) for tool in ("VLMEvalKit", "lmms-eval")} == {
        "VLMEvalKit": 551,
        "lmms-eval": 127,
    }
    assert [name for _, name, here in rows if not here] == []
    assert [name for _, name, here in rows if model_here(name) != here] == []


def test_a_name_that_nobody_has_is_unknown() -> None:
    assert model_here("CongRong-v9") == ""
    assert advice_on_name("MMStar_FR") == ""


@pytest.mark.parametrize("name", ["SROIE", "funsd"])
def test_sets_that_are_parts_of_a_benchmark_say_how_they_are_run(name: str) -> None:
    advice = advice_on_name(name)
    assert advice.startswith(f"{name} is ")
    spec = advice.rpartition("run -b ")[2]
    assert open_benchmark(spec).name == "cc-ocr"


@pytest.mark.parametrize(
    ("typed", "spec"),
    [
        ("GPT-4o-20240806", "openai/gpt-4o-2024-08-06"),
        ("GPT-4.1-20250414", "openai/gpt-4.1-2025-04-14"),
        ("Claude-3.7-sonnet-20250219", "anthropic/claude-3-7-sonnet-20250219"),
        ("qwen2.5_vl 7b instruct", "hf/Qwen/Qwen2.5-VL-7B-Instruct"),
        ("CongRong-v2.0", "cloudwalk/cw-congrong-v2.0"),
        ("SenseNova-V6-Pro", "sensenova/SenseNova-V6-Pro"),
        ("Emu3-Gen", "hf/BAAI/Emu3-Gen"),
        ("InstructBLIP Vicuna", "hf/Salesforce/instructblip-vicuna-7b"),
    ],
)
def test_spelling_makes_no_difference(typed: str, spec: str) -> None:
    entry = find_entry(typed)
    assert entry is not None
    assert entry.spec == spec


def test_letters_that_mean_two_models_mean_none() -> None:
    by_letters = dict[str, set[str]]()
    for entry in catalog():
        for name in (entry.name, *entry.aliases):
            by_letters.setdefault(letters_of(name), set()).add(entry.name)
    several = [letters for letters, names in by_letters.items() if len(names) > 1]
    assert "gpt4o" in several
    assert find_entry("gpt 4o") is None
    assert find_entry("gpt-4o") is not None


def test_every_advice_names_models_that_are_here_and_no_name_that_is_one() -> None:
    for entry in other_names():
        assert entry.choose or entry.how or entry.way, entry.names
        for name in entry.choose:
            assert find_entry(name) is not None or is_provider(name), name
        for name in entry.names:
            assert find_entry(name) is None, name
            assert find_other_name(name) is entry


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("MiniGPT-4-v2", "is made of several files that only its authors' code puts together"),
        ("InstructBLIP", "name one: -m instructblip-flan-t5-xl or -m instructblip_7b or -m instructblip_13b"),
        ("Random Guess", "is a baseline; name it: -m random"),
    ],
)
def test_a_name_without_a_model_is_a_sentence_everywhere(
    name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotHere, match=f"^{name} "):
        open_model(name)
    assert main(["info", name]) == 0
    assert sentence in " ".join(capsys.readouterr().out.split())
    for command in ("run", "plan"):
        assert main([command, "-m", name, "-b", "eyechart", "--limit", "1"]) == 2
        said = capsys.readouterr()
        assert sentence in " ".join((said.out + said.err).split())


def test_benchmarks_of_the_report_are_found_by_its_spellings() -> None:
    for name in " ".join(BENCHMARKS_OF_THE_REPORT.split()).split(", "):
        assert open_benchmark(name).name


@pytest.mark.parametrize("name", ["AI2D_MINI", "mmstar_ko", "GMAI_mm_bench_TEST_part_11", "tdbench_cs_zoom"])
def test_a_table_that_is_fetched_by_hand_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name.lower() not in builtin_suites()
    assert main(["plan", "-m", "random", "-b", name]) == 2
    assert f"{name} is " in capsys.readouterr().err
    assert main(["info", name]) == 0
    assert "nothing: " in capsys.readouterr().out
