"""Stored prompt templates, recipes, examples before a question, and thinking first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.abilities.mmbench import BENCHMARK as mmbench
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import apply_recipe, open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Generated, ParsedAnswer, Truncated
from snellen.core.record import run_flow
from snellen.core.request import Generate, Request, Text
from snellen.core.sample import Sample
from snellen.prompts.choice import prompt
from snellen.prompts.recipes import find_recipe, load_setups
from snellen.prompts.stored import load_template

CHOICE = Sample("1", "choice", "Which?", ("A",), {"A": "red", "B": "blue"}, hint="Look left.")
CHINESE = Sample("1", "choice", "哪个?", ("A",), {"A": "red", "B": "blue"})
YES_NO = Sample("1", "yes_no", "Is it red?", ("Yes",))
OPEN = Sample("1", "open", "What is it?", ("red",))


def text(sample: Sample, name: str) -> str:
    (message,) = prompt(sample, template=load_template(name).template)
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


@pytest.mark.parametrize(
    ("name", "sample", "expected"),
    [
        (
            "paper-mmbench",
            CHOICE,
            "Hint: Look left.\nQuestion: Which?\nA. red\nB. blue\nPlease "
            "select the correct answer from the options above.",
        ),
        (
            "vlmevalkit",
            CHOICE,
            "Hint: Look left.\nQuestion: Which?\nOptions:\nA. red\nB. blue\n"
            "Please select the correct answer from the options above. \n",
        ),
        ("vlmevalkit", YES_NO, "Is it red?"),
        (
            "llava",
            CHOICE,
            "Look left.\nWhich?\nA. red\nB. blue\nAnswer with the option's letter from the given choices directly.",
        ),
        ("llava", CHINESE, "哪个?\nA. red\nB. blue\n请直接回答选项字母。"),
        ("llava", YES_NO, "Is it red?\nAnswer the question using a single word or phrase."),
        ("llava", OPEN, "What is it?\nAnswer the question using a single word or phrase."),
        ("qwen2-vl", CHINESE, "Question: 哪个?\nOptions:\nA. red\nB. blue\n请直接回答选项字母。"),
        ("qwen2-vl", YES_NO, "Is it red? Please answer yes or no."),
        ("qwen2-vl", OPEN, "What is it?\nPlease try to answer the question with short words or phrases if possible."),
    ],
)
def test_stored_templates_word_for_word(name: str, sample: Sample, expected: str) -> None:
    assert text(sample, name) == expected


def test_every_stored_wording_has_a_source_and_the_digest_of_its_file() -> None:
    import snellen.prompts.stored as stored

    folder = Path(stored.__file__).parent / "templates"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    assert "paper-mmbench" in names
    for name in names:
        found = load_template(name)
        assert found.source
        assert found.read_on
        assert found.digest == hashlib.sha256((folder / f"{name}.toml").read_bytes()).hexdigest()


def test_mmbench_uses_the_prompt_of_its_paper_by_default() -> None:
    plain, theirs = mmbench(Variant()), mmbench(Variant(options={"prompt": "vlmevalkit"}))
    assert plain.parameters["prompt"] == "paper"
    assert plain.parameters["prompt_digest"] == load_template("paper-mmbench").short_digest
    assert plain.parameters["prompt_digest"] != theirs.parameters["prompt_digest"]
    assert "prompt" not in mmbench(Variant(options={"prompt": "snellen"})).parameters


def test_every_recipe_names_its_source_and_a_wording_there_is() -> None:
    for setup in load_setups():
        for row in (setup, *setup.by_benchmark):
            source = row.source or setup.source
            assert source.startswith("https://"), setup.name
            assert row.read or setup.read, setup.name
            assert not row.prompt or load_template(row.prompt).template


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("hf/llava-hf/llava-1.5-7b-hf:dtype=float16", "llava-1.5"),
        ("hf/llava-hf/llava-v1.6-mistral-7b-hf", "llava-next"),
        ("hf/Qwen/Qwen2-VL-7B-Instruct", "qwen2-vl"),
        ("hf/Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl"),
        ("vllm/Qwen/Qwen2-VL-7B-Instruct:max_model_len=4096", "qwen2-vl"),
        ("http://localhost:8000/v1#Qwen/Qwen2-VL-7B-Instruct:concurrency=4", "qwen2-vl"),
        ("openrouter/qwen/qwen2.5-vl-72b-instruct", "qwen2.5-vl"),
        ("hf//models/Qwen/Qwen2-VL-7B-Instruct", None),
        ("hf/microsoft/Phi-3.5-vision-instruct", "phi-3-vision"),
        ("hf/microsoft/Florence-2-large", None),
        ("snellen/tiny", None),
    ],
)
def test_recipes_by_model(model: str, name: str | None) -> None:
    recipe = find_recipe(model, "mmbench")
    assert (recipe.name if recipe else None) == name


def test_a_recipe_gives_way_to_a_prompt_asked_for_by_name(tmp_path: Path) -> None:
    data, model = str(table(tmp_path)), "hf/llava-hf/llava-1.5-7b-hf"
    plain = data_file_declaration(data)(Variant())
    changed = apply_recipe(model, data, plain, Variant())
    assert changed.parameters["recipe"] == "llava-1.5"
    assert changed.parameters["prompt"] == "llava"
    assert "given choices" in asked(changed)[0].messages[0].text()
    chosen = Variant(options={"prompt": "vlmevalkit"})
    for spec, variant in ((f"{data}:prompt=snellen", Variant()), (data, chosen)):
        own = apply_recipe(model, spec, plain, variant)
        assert own.parameters.get("prompt") != "llava"
    assert apply_recipe("random", data, plain, Variant()) is plain


def test_the_plain_set_up_is_a_flag(tmp_path: Path, capsys) -> None:
    data = table(tmp_path)
    argv = ["run", "-m", "random", "-b", str(data), "--out", str(tmp_path / "o"), "--setup", "plain"]
    assert main([*argv, "--no-html", "-q"]) == 0


HEADER = "index\tquestion\tA\tB\tanswer"
ROWS = [f"{n}\tWhich is {n}?\tred{n}\tblue{n}\t{'AB'[n % 2]}" for n in range(6)]


def table(folder: Path, *more: str) -> Path:
    path = folder / "q.tsv"
    path.write_text("\n".join([HEADER, *ROWS, *more]) + "\n")
    return path


def requests(benchmark: Benchmark, reply: str = "A") -> Iterator[list[Generate]]:
    """What is asked about each sample."""
    for sample in benchmark.samples(benchmark.open()):
        seen: list[Generate] = []

        def answer(request: Generate, seen: list[Generate] = seen) -> Generated:
            seen.append(request)
            return Generated(reply)

        run_flow(benchmark.flow(sample), answer)
        yield seen


def asked(benchmark: Benchmark, reply: str = "A") -> list[Generate]:
    return [request for seen in requests(benchmark, reply) for request in seen]


def own(path: Path, **options: str) -> Benchmark:
    return open_benchmark(str(path), Variant(options=options))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It is not B. Option B is blue. So red it is.\nAnswer: A", "A"),
        ("First I thought Answer: B, but no.\n**Answer:** A", "A"),
        ("Steps.\nFinal answer: (A).", "A"),
        ("Answer: B\n\nAnswer:", "B"),
        ("B", "B"),
    ],
)
def test_answer_is_read_from_the_conclusion(tmp_path: Path, reply: str, value: str) -> None:
    answers = set()
    benchmark = own(table(tmp_path), cot="on")
    for sample in benchmark.samples(benchmark.open()):
        record = run_flow(benchmark.flow(sample), lambda request: Generated(reply))
        answers.add(record.answer)
        (one,) = record.passes
        assert isinstance(one.answer, ParsedAnswer)
        begin, end = one.answer.span or (0, 0)
        assert value in reply[begin:end]
    assert answers == {value}


def test_thinking_cut_off_before_its_conclusion_is_truncated(tmp_path: Path) -> None:
    benchmark = own(table(tmp_path), cot="on")
    sample = next(iter(benchmark.samples(benchmark.open())))
    record = run_flow(benchmark.flow(sample), lambda request: Generated("It is B, or", "length"))
    assert record.passes[0].answer == Truncated()
    assert benchmark.max_new_tokens > own(table(tmp_path)).max_new_tokens
    assert benchmark.parameters["cot"] == "on"


def test_thinking_is_asked_for_with_yes_no_and_examples_too(tmp_path: Path) -> None:
    path = table(
        tmp_path, "7\tIs it red? Please answer yes or no.\t\t\tYes", "8\tIs it blue? Please answer yes or no.\t\t\tNo"
    )
    *_, request = asked(own(path, cot="on", shots="1"), "Steps.\nAnswer: yes")
    shown, answer, question = request.messages
    red = "Is it red?" in shown.text()
    assert answer.text() == ("Answer: Yes" if red else "Answer: No")
    assert question.text().endswith('"Answer: Yes" or "Answer: No".')
    assert "Think step by step" in shown.text()


@pytest.mark.parametrize("name", ["mme", "pope"])
def test_yes_no_benchmarks_think_and_show_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / "yes.tsv"
    rows = [f"{n}\texistence\t{n // 2}.jpg\tIs there a {n}?\t{'No' if n % 2 else 'Yes'}" for n in range(4)]
    path.write_text("\n".join(["index\tcategory\timage_path\tquestion\tanswer", *rows]) + "\n")
    thinking = open_benchmark(f"{name}:cot=on,shots=1", Variant(data=str(path)))
    sample = next(iter(thinking.samples(thinking.open())))
    shown: list[int] = []

    def answer(request: Request) -> Generated:
        shown.append(len(request.messages))
        return Generated("no no\nAnswer: yes")

    record = run_flow(thinking.flow(sample), answer)
    assert (record.answer, record.score) == ("Yes", 1.0)
    assert record.values["official"] == 1.0
    assert shown == [3]
    assert {"shots", "cot"} <= set(thinking.parameters)
    plain = open_benchmark(name, Variant(data=str(path)))
    assert plain.max_new_tokens < thinking.max_new_tokens
    assert not {"shots", "cot"} & set(plain.parameters)


def test_an_explicit_length_wins_over_that_of_thinking(tmp_path: Path) -> None:
    variant = Variant(options={"cot": "on"}, max_new_tokens=9)
    assert data_file_declaration(str(table(tmp_path)))(variant).max_new_tokens == 9


def test_a_run_records_how_it_asked_and_is_another_run(tmp_path: Path) -> None:
    path = table(tmp_path)
    specs: Iterable[str] = (str(path), f"{path}:shots=2", f"{path}:prompt=llava,cot=on")
    found = evaluate(["random"], list(specs), out=tmp_path / "o", html=False).runs
    assert len({run.path for run in found}) == 3
    assert found[2].info.config.parameters["prompt_digest"] == load_template("llava").short_digest


def test_scoring_needs_no_examples(tmp_path: Path) -> None:
    path = table(tmp_path)
    replies = tmp_path / "p.csv"
    replies.write_text("index,prediction\n" + "".join(f"{n},{'AB'[n % 2]}\n" for n in range(6)))
    assert score(f"{path}:cot=on", replies).summary.headline.value == 100.0
