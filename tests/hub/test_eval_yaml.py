"""A data set of the hub that describes itself as a benchmark in its `eval.yaml`."""

from __future__ import annotations

import json

import pytest
import yaml
from hub_command import Command

from snellen.benchmarks.declaration.eval_yaml import NamedStep, plan_prompt, read_eval_yaml, select_task
from snellen.core.errors import DataError, UsageError
from snellen.store.runs import RunFolder, find_runs

WHERE = "eval.yaml of hf://acme/x"
QUIET = ("-q", "--no-html")


def run(snellen: Command, spec: str, *words: str, model: str = "random") -> tuple[RunFolder, str]:
    out = snellen.home / f"signs-{len(list(snellen.home.iterdir()))}"
    done = snellen("run", "-m", model, "-b", spec, "--out", out.name, *QUIET, *words)
    assert done.returncode in (0, 1), done.stderr
    (folder,) = find_runs(out)
    return folder, done.stdout + done.stderr


def test_columns_prompt_and_scorer_of_a_choice(snellen: Command) -> None:
    folder, _ = run(snellen, "hf://acme/signs?task=signs_choice")
    records = sorted(folder.records(), key=lambda record: int(record.id))
    assert [record.gold for record in records] == [("A",), ("B",), ("A",), ("B",)]
    assert all(record.options == {"A": "stop", "B": "go"} for record in records)
    assert [record.groups["city"] for record in records] == ["Rome", "Rome", "Oslo", "Oslo"]
    assert all(len(record.media) == 1 for record in records)
    system, asked = records[0].passes[0].prompt
    assert (system.role, system.text()) == ("system", "Look closely. Braces stay: {your answer}")
    assert asked.text() == "What does sign 0 say?\n\nA) stop\nB) go\n\nOne of A,B."
    info = folder.info
    assert info.benchmark == "signs_choice"
    assert info.title == "Signs in the street (signs_choice)"
    assert info.config.parameters["task"] == "signs_choice"
    flags = ("--to", "hf-eval-results")
    done = snellen("export", str(folder.path), *flags)
    (entry,) = yaml.safe_load(done.stdout)
    assert entry["dataset"] == {"id": "acme/signs", "task_id": "signs_choice"}


def test_an_open_task_counts_by_its_scorer(snellen: Command) -> None:
    replies = snellen.home / "signs.jsonl"
    texts = ("It says stop, I think.", "Go!", "go", "nothing")
    lines = [{"index": number, "prediction": text} for number, text in enumerate(texts)]
    replies.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder, said = run(snellen, "hf://acme/signs?task=acme/signs_open", model=f"replay/{replies}")
    scores = {record.id: record.score for record in folder.records()}
    assert scores == {"0": 1.0, "1": 1.0, "2": 0.0, "3": 0.0}
    record = next(iter(folder.records()))
    assert record.passes[0].prompt[0].text().startswith("Read this. What does sign ")
    notices = " ".join(folder.report().summary.notices)
    assert "the first counts, and not f1" in notices
    assert "--repeats 2" in notices
    assert "50.0" in said


@pytest.mark.release
def test_a_graded_task_wants_a_judge(snellen: Command) -> None:
    folder, said = run(snellen, "hf://acme/signs?task=signs_graded")
    assert "openai/o3-mini" in " ".join(folder.report().summary.notices)
    assert all(record.gold == ("a sign",) for record in folder.records())
    assert "judge" in said


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("hf://acme/signs", "has the tasks signs_choice, acme/signs_open, signs_graded; choose"),
        ("hf://acme/signs?task=signs_chioce", "did you mean signs_choice"),
        ("hf://acme/questions?task=any", "hf://acme/questions has no eval.yaml"),
    ],
)
def test_a_task_that_is_not_there(snellen: Command, spec: str, sentence: str) -> None:
    done = snellen("run", "-m", "random", "-b", spec)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr


def test_a_split_without_a_task_is_a_plain_table(snellen: Command) -> None:
    done = snellen("run", "-m", "random", "-b", "hf://acme/signs?split=test", *QUIET)
    assert done.returncode == 2
    assert "no question to ask; got the columns" in done.stderr


@pytest.mark.release
def test_offline_the_cache_serves(snellen: Command) -> None:
    online, _ = run(snellen, "hf://acme/signs?task=signs_choice")
    offline, _ = run(snellen, "hf://acme/signs?task=signs_choice", "--limit", "4")
    assert offline.info.data == online.info.data
    words = ("run", "-m", "random", "-b", "hf://acme/signs?task=signs_choice", "--out", "off")
    done = snellen(*words, *QUIET, HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stderr) == (0, "")


LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\ntasks: [{id: t, args: *b}]\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tasks: [", "not YAML"),
        ("name: x\n", "missing required field `tasks`"),
        ("tasks: []\n", "it has no tasks"),
        ("- a\n- b\n", "Expected `object`, got `array`"),
        ("tasks: [{id: t, field_spec: {input: q}}]", "missing required field `target`"),
        (LAUGHS, "aliases"),
        ("tasks: " + "[" * 500, "nested more than 20 deep"),
        ("tasks: !!python/object/apply:os.system ['true']", "not YAML"),
        ("tasks: \x00", "not YAML"),
    ],
)
def test_refuses_invalid_eval_yaml(text: str, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        read_eval_yaml(text.encode(), WHERE)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(WHERE)


def test_the_only_task_need_not_be_named() -> None:
    benchmark = read_eval_yaml(b"tasks: [{id: t, split: dev}]", WHERE)
    assert select_task(benchmark, None, WHERE, "hf://acme/x").split == "dev"


@pytest.mark.parametrize(
    ("solvers", "frame"),
    [
        ([], "{question}"),
        (["generate"], "{question}"),
        ([("prompt_template", {"template": "A {prompt} B"})], "A {question} B"),
        ([("prompt_template", {"template": "A {prompt}"}), ("user_message", {"template": "C"})], "A {question}\nC"),
        (
            [
                ("prompt_template", {"template": "A {prompt}"}),
                ("multiple_choice", {"template": "{letters}: {question} {choices}"}),
            ],
            "{letters}: A {question} {choices}",
        ),
        ([("prompt_template", {"template": "{x} {prompt} {y}", "x": 1})], "1 {question} {y}"),
    ],
)
def test_solvers_make_one_prompt(solvers, frame: str) -> None:
    steps = [NamedStep(one) if isinstance(one, str) else NamedStep(*one) for one in solvers]
    assert plan_prompt(steps, WHERE).frame == frame


@pytest.mark.parametrize(
    "step",
    [NamedStep("self_critique"), NamedStep("use_tools"), NamedStep("multiple_choice", {"multiple_correct": True})],
)
def test_a_solver_that_asks_more_is_refused(step: NamedStep) -> None:
    with pytest.raises(UsageError, match=step.name):
        plan_prompt([step], WHERE)


def test_the_example_of_the_docs_is_read() -> None:
    """The extended example of https://huggingface.co/docs/hub/eval-results, shortened."""
    text = """\
name: Humanity's Last Exam
evaluation_framework: "inspect-ai"
tasks:
  - id: hle
    config: default
    split: test
    field_spec: {input: question, input_image: image, target: answer}
    solvers:
      - name: system_message
        args:
          template: |
            Answer: {your chosen answer}
      - name: generate
    scorers: [{name: model_graded_fact, args: {model: openai/o3-mini}}]
"""
    benchmark = read_eval_yaml(text.encode(), WHERE)
    (task,) = benchmark.tasks
    assert task.field_spec is not None
    assert task.field_spec.input_image == "image"
    plan = plan_prompt(task.solvers, WHERE)
    assert (plan.system, plan.frame) == ("Answer: {your chosen answer}", "{question}")
    assert plan.thinks
