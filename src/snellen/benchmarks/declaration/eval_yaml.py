"""`eval.yaml`: the file in which a data set of the Hugging Face hub describes itself as a
benchmark.

The fields are those of https://huggingface.co/docs/hub/eval-results, and of Inspect's tasks from
the hub, which add solvers (how a question is put) and scorers (how a reply counts):

    name: Signs
    evaluation_framework: inspect-ai
    tasks:
      - id: signs
        config: default
        split: test
        field_spec: {input: question, target: answer, choices: options, input_image: photo}
        solvers: [{name: multiple_choice}]
        scorers: [{name: choice}]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, MissingExtra, UnknownName

LITERAL = "literal:"
"""Prefix of a target that is the same text for every row."""
DEFAULT_SPLIT = "test"
_MAX_DEPTH = 20


class NamedStep(Struct, frozen=True):
    """A solver or a scorer with its arguments."""

    name: str
    args: dict[str, Any] = {}


class FieldSpec(Struct, frozen=True):
    """Columns of the data set."""

    input: str
    target: str
    choices: str | list[str] | None = None
    """A column that holds a list, or a column for each option."""
    input_image: str | None = None
    metadata: list[str] = []


class HubTask(Struct, frozen=True):
    id: str = ""
    config: str | None = None
    split: str = DEFAULT_SPLIT
    field_spec: FieldSpec | None = None
    """None if the framework of the benchmark does not define it; columns are then inferred."""
    shuffle_choices: bool | None = None
    epochs: int = 1
    solvers: list[NamedStep] = []
    scorers: list[NamedStep] = []


class HubBenchmark(Struct, frozen=True):
    tasks: list[HubTask]
    name: str = ""
    description: str = ""
    evaluation_framework: str = ""


def read_eval_yaml(data: bytes, where: str) -> HubBenchmark:
    """Decode an `eval.yaml`; `where` names it in messages. Raises DataError, MissingExtra."""
    value = _load_yaml(data, where)
    try:
        benchmark = msgspec.convert(value, HubBenchmark)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{where}: {error}; expected name, evaluation_framework and tasks, as in "
            "https://huggingface.co/docs/hub/eval-results"
        ) from error
    if not benchmark.tasks:
        raise DataError(f"{where}: it has no tasks")
    return benchmark


def select_task(benchmark: HubBenchmark, task: str | None, where: str, spec: str) -> HubTask:
    """The named task, or the only one. Raises UnknownName, and DataError if there are several to
    choose from."""
    names = [one.id for one in benchmark.tasks]
    if task is not None:
        for one in benchmark.tasks:
            if one.id == task:
                return one
        raise UnknownName("task", task, names)
    if len(names) > 1:
        raise DataError(f"{where} has the tasks {', '.join(names)}; choose one, as in {spec}?task={names[0]}")
    return benchmark.tasks[0]


class PromptPlan(Struct, frozen=True):
    """The prompt that the solvers define."""

    system: str
    frame: str
    """`PromptTemplate.frame`; "{question}" if there is no text around it."""
    thinks: bool
    """Whether the reply may contain more than the answer."""
    own_choices: bool
    """Whether the options are asked by Snellen's own prompt for choices."""


def plan_prompt(solvers: Sequence[NamedStep], where: str) -> PromptPlan:
    """The prompt that the solvers make, in their order. Raises DataError for a solver that asks
    more than one question."""
    systems: list[str] = []
    frame, thinks, own_choices = "{question}", False, False
    for solver in solvers:
        template = _template(solver)
        if solver.name == "system_message" and template:
            systems.append(template)
            thinks = True
        elif solver.name == "prompt_template" and template:
            frame, thinks = _put_around(template, frame), True
        elif solver.name == "user_message" and template:
            frame, thinks = f"{frame}\n{template}", True
        elif solver.name == "chain_of_thought":
            frame, thinks = _put_around(template or _THINK, frame), True
        elif solver.name == "multiple_choice" and not solver.args.get("multiple_correct"):
            thinks = thinks or bool(solver.args.get("cot"))
            own_choices = not template
            own = _CHOICES + (_CHOOSE_THINKING if solver.args.get("cot") else _CHOOSE)
            frame = _put_around(template or own, frame)
        elif solver.name != "generate":
            raise DataError(
                f"{where}: the solver {solver.name} "
                f"{'with several right answers ' if solver.name == 'multiple_choice' else ''}"
                "is not implemented; ask the plain questions by naming a split in place of a task"
            )
    return PromptPlan("\n\n".join(systems), frame, thinks, own_choices)


_THINK = '{question}\n\nThink step by step. End with a line that holds the answer alone, in the form "ANSWER: ...".'
_CHOICES = "{question}\nOptions:\n{choices}\n"
_CHOOSE = "Please select the correct answer from the options above."
_CHOOSE_THINKING = 'Think step by step. End with a line in the form "ANSWER: X", where X is one of {letters}.'


def _template(solver: NamedStep) -> str:
    """The template of a solver with its other arguments filled in."""
    template = str(solver.args.get("template") or "").strip()
    for name, value in solver.args.items():
        if name != "template":
            template = template.replace(f"{{{name}}}", str(value))
    return template


def _put_around(template: str, frame: str) -> str:
    """Wrap a template around the prompt so far, which it names `{prompt}` or `{question}`."""
    return re.sub(r"\{(?:prompt|question)\}", lambda _: frame, template)


def _load_yaml(data: bytes, where: str) -> object:
    """Load YAML without aliases and of limited depth, as files of the hub are not trusted. Raises
    DataError, and MissingExtra without pyyaml."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("reading an eval.yaml", "hf", "pyyaml") from error
    try:
        text = data.decode()
        # Aliases let a short file expand to a very large value.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise DataError(f"{where}: aliases (*name) are not read; write the value out")
            opens = isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent)
            closes = isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent)
            depth += opens - closes
            if depth > _MAX_DEPTH:
                raise DataError(f"{where}: nested more than {_MAX_DEPTH} deep")
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not YAML: {reason}") from error
