"""Benchmarks of inspect_evals, run by inspect_ai.

A task's own solver asks and its own scorers score, in `inspect_ai.eval` of one sample with a model
that says what it is given. Where it is asked once more than it has replies, that is the next request
of the sample. So a chain of any length runs as it is, and what needs tools or a sandbox is named.
Models that scorers ask are the judge. Checked with inspect_ai 0.3.285 and inspect_evals 0.26.0.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .http_judge import HttpJudge
from .local_data import choose_home, data_errors, use_local_copies
from .main import SEED, AskJudge, Fault, JudgePending, JudgeStopped, Needs, UsageProblem, as_correct, nearest
from .message_parts import ROLES, find_fixed, label_options, linked_part, row_cells, text_part
from .stored_values import decode_value, encode_value

_SCORES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What inspect_ai's metrics make of a letter (`value_to_float`)."""
_SPREADS = frozenset({"stderr", "bootstrap_stderr", "std", "var"})
"""Its metrics that say how far scores spread."""
_ASKING_SOLVERS = {"generate", "multiple_choice"}
_PLAIN_SOLVERS = _ASKING_SOLVERS | {"system_message", "user_message", "prompt_template", "chain_of_thought"}
"""A chain of these asks once; of any other the next request is looked for."""
_OFF: dict[str, Any] = {"display": "none", "log_realtime": False, "log_images": False, "score_display": False}


def open_peer(ask_judge: AskJudge, settings: Mapping[str, Any]) -> InspectEvals:
    """inspect_evals of this environment."""
    home = choose_home(settings)
    if settings.get("data"):
        os.environ["XDG_CACHE_HOME"] = str(home / "inspect_cache")
    os.environ["INSPECT_TELEMETRY_DISABLED"] = "1"
    # Tasks whose scorers ask a model name it while they are made.
    os.environ.setdefault("INSPECT_EVAL_MODEL", "snellen/model")
    # Tasks shuffle options by generators without a seed: the same order each time, or nothing repeats.
    random.Random = _SeededRandom  # type: ignore[misc,assignment]
    judge = HttpJudge(ask_judge)
    judge.install()
    use_local_copies(home)
    return InspectEvals(judge)


class _SeededRandom(random.Random):
    """A generator whose seed is SEED where none is given."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(SEED if seed is None else seed)


class InspectEvals:
    """The peer."""

    def __init__(self, judge: HttpJudge) -> None:
        self._judge = judge
        self._session = EvalSession(judge)
        spec = importlib.util.find_spec("inspect_evals")
        if spec is None or spec.origin is None:
            raise Needs("the package 'inspect_evals' is not installed")
        self._folder = Path(spec.origin).parent
        self._modules = _read_registry(self._folder / "_registry.py")

    def facts(self) -> dict[str, Any]:
        versions = [f"{name} {importlib.metadata.version(name)}" for name in ("inspect_ai", "inspect_evals")]
        return {"peer": "inspect", "version": ", ".join(versions), "commit": None}

    def tasks(self) -> list[dict[str, Any]]:
        return [_describe(name, self._folder, module) for name, module in sorted(self._modules.items())]

    def open(self, task: str, options: Mapping[str, str], folder: Path) -> InspectTask:
        if task not in self._modules:
            raise UsageProblem(f"inspect_evals has no task {task!r}{nearest(task, self._modules)}")
        self._judge.folder = folder
        _stop_retries()
        self._session.install()
        make = getattr(importlib.import_module(self._modules[task]), task)
        arguments = _read_options(task, make, options)
        # Rows are shuffled by a seed that datasets takes from NumPy.
        importlib.import_module("numpy").random.seed(SEED)
        with data_errors("inspect_evals", task):
            made = make(**arguments)
        return InspectTask(task, made, self._session, self.facts(), arguments)


class EvalSession:
    """What the models of the run do at the moment: they are the one that is measured, or the judge."""

    def __init__(self, judge: HttpJudge) -> None:
        self._judge = judge
        self.replies: list[str] = []
        self.asked: tuple[list[Any], Any] | None = None
        self.scoring = False
        self.ended: BaseException | None = None
        """Why nothing more is to come: it cannot pass through the tasks of an event loop."""
        self._installed = False

    def begin(self, replies: Sequence[str]) -> None:
        self.replies, self.asked, self.scoring, self.ended = list(replies), None, False, None

    def reply(self, messages: list[Any], tools: Sequence[Any], config: Any, is_judge: bool) -> str:
        """The text of a model. Raises where there is none yet."""
        if tools:
            return self._end(Needs("tools that a model calls, which the exchange does not carry"))
        if self.scoring:
            return self._grade(messages, config)
        if is_judge:
            return self._end(Needs("another model while the sample is asked, which the exchange does not carry"))
        if not self.replies:
            self.asked = (list(messages), config)
            return self._end(_RequestFound())
        return self.replies.pop(0)

    def _grade(self, messages: list[Any], config: Any) -> str:
        try:
            return self._judge.ask(self.read(messages), _read_generation(config))
        except (JudgeStopped, JudgePending, Fault) as error:
            return self._end(error)

    def read(self, messages: Sequence[Any]) -> list[dict[str, Any]]:
        """Messages as those of the exchange. Raises Needs for what no message can hold."""
        return [read_message(message, self._judge.folder) for message in messages]

    def _end(self, error: BaseException) -> str:
        self.ended = self.ended or error
        raise RuntimeError(f"the sample ends here: {error}")

    def install(self) -> None:
        """Register the models: the one that is measured, and the judge in place of every provider."""
        if self._installed:
            return
        self._installed = True
        model = importlib.import_module("inspect_ai.model")
        registry = importlib.import_module("inspect_ai._util.registry")
        importlib.import_module("inspect_ai.model._providers.providers")
        session = self

        def provider(is_judge: bool) -> Any:
            class Speaker(model.ModelAPI):  # type: ignore[name-defined,misc]
                def __init__(self, model_name: str, *arguments: Any, config: Any = None, **named: Any) -> None:
                    super().__init__(model_name, config=config or model.GenerateConfig())

                async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
                    text = session.reply(input, tools, config, is_judge)
                    return model.ModelOutput.from_content(self.model_name, text)

            return Speaker

        for known in registry.registry_find(lambda info: info.type == "modelapi"):
            name = registry.registry_info(known).name
            # A class each: it is marked with the name, which its models are asked for.
            registry.registry_add(provider(is_judge=True), registry.RegistryInfo(type="modelapi", name=name))
        model.modelapi(name="snellen")(provider(is_judge=False))


class _RequestFound(Exception):
    """The sample's next request: there is no reply to it yet."""


class InspectTask:
    """One task of inspect_evals, loaded."""

    def __init__(
        self, name: str, task: Any, session: EvalSession, peer: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> None:
        self._name, self._task, self._session = name, task, session
        self._peer, self._arguments = peer, arguments
        self._samples = list(task.dataset)
        self._scorers = list(task.scorer or [])
        for place, sample in enumerate(self._samples):
            if sample.id is None:
                sample.id = place + 1
        self._check_needs()
        self._solver = task.solver
        self._solver_names = [name.rpartition("/")[2] for name in _solver_names(task.solver)]
        self._metrics = list(dict.fromkeys(_metric_names(task, self._scorers)))
        self._judged = _asks_judge(self._scorers)

    def facts(self) -> dict[str, Any]:
        notes = []
        if (self._task.epochs or 1) > 1:
            notes.append(f"{self._name} asks each question {self._task.epochs} times; here it is asked once")
        solvers = self._solver_names
        kind = "choice" if "multiple_choice" in solvers else None
        return {
            "task": self._name,
            "count": len(self._samples),
            "modality": sorted({kind for sample in self._samples for kind in _modality(sample)}),
            "kind": kind,
            "metrics": self._metrics,
            "headline": None,
            "judged": self._judged,
            "digest": self._digest(),
            # Of the first request, since solvers have settings of their own.
            "generation": _read_generation((self._samples and self._ask(0, [])[1]) or self._task.config),
            "notes": notes,
            "multi_turn": not set(solvers) <= _PLAIN_SOLVERS or sum(name in _ASKING_SOLVERS for name in solvers) != 1,
        }

    def sample(self, index: int, order: Sequence[int] = ()) -> dict[str, Any]:
        sample = self._find(index)
        messages, config = self._ask(index, [], order)
        if messages is None:
            raise Fault(f"{self._name} asks nothing of its sample {sample.id}")
        target = sample.target if isinstance(sample.target, list) else [sample.target]
        described = {
            "id": str(sample.id),
            "messages": self._session.read(messages),
            "row": {**row_cells(sample.metadata), "target": ", ".join(target)},
            "generation": _read_generation(config),
            **label_options(sample.choices),
        }
        if any(target):
            described["gold"] = [text for text in target if text]
        if self._states_options(sample):
            described["kind"] = "choice"
        if order:
            shown, own = described["messages"], self._session.read(self._ask(index, [])[0] or [])
            described["fixed"] = "" if "kind" in described else "its answer is not one letter of its options"
            described["fixed"] = described["fixed"] or find_fixed(own, shown)
        return described

    def _states_options(self, sample: Any) -> bool:
        """Whether it is put by `multiple_choice` and its answer is one letter."""
        letters = [chr(ord("A") + place) for place in range(len(sample.choices or ()))]
        return "multiple_choice" in self._solver_names and sample.target in letters[:26]

    def refuse_order(self) -> str:
        """Why options cannot be shown in another order; "" if the prompt and the score of the first sample that has
        some follow them."""
        if "multiple_choice" not in self._solver_names:
            return f"{self._name} does not put its questions by inspect_ai's multiple_choice"
        for index, sample in enumerate(self._samples):
            if self._states_options(sample) and len(set(sample.choices)) == len(sample.choices) > 1:
                order = [*range(1, len(sample.choices)), 0]
                return str(self.sample(index, order)["fixed"]) or self._refuse_score(index, order)
        return "no sample has several choices and one letter as its target"

    def _refuse_score(self, index: int, order: Sequence[int]) -> str:
        target = _reorder(self._find(index), order).target
        for place in range(len(order)):
            label = chr(ord("A") + place)
            if self.score(index, [f"ANSWER: {label}"], order).get("correct") != float(label == target):
                return f"the scorer of {self._name} does not read the answer {label} against the letters of the prompt"
        return ""

    def next_turn(self, index: int, replies: Sequence[str]) -> dict[str, Any]:
        messages, _ = self._ask(index, replies)
        return {"done": True} if messages is None else {"messages": self._session.read(messages)}

    def score(self, index: int, replies: Sequence[str], order: Sequence[int] = ()) -> dict[str, Any]:
        log = self._run(index, replies, order, scored=True)
        if self._session.asked is not None:
            raise UsageProblem(f"sample {index} has {len(replies)} replies and asks for one more")
        found = log.samples[0] if log.samples else None
        if found is None or found.error is not None or not found.scores:
            raise Fault(f"{self._name} scores sample {index} not: {_log_error(log)}")
        values: dict[str, Any] = {}
        state = []
        for name, score in found.scores.items():
            stored = score.model_dump(exclude={"history"})
            # The judge's messages have ids that differ each time; no metric reads them.
            stored["metadata"] = {
                key: one for key, one in (stored["metadata"] or {}).items() if key != "grading"
            } or None
            state.append([name, encode_value(stored)])
            values.update(_numbers(name, score.value, len(found.scores) == 1))
        result: dict[str, Any] = {"values": values, "state": {"scores": state, "metadata": _metadata(found)}}
        if len(values) == 1:
            (worth,) = values.values()
            is_verdict = all(isinstance(score.value, str | bool) for score in found.scores.values())
            result["correct"] = as_correct(worth, self._metrics, self._judged and not is_verdict)
        answer = next((score.answer for score in found.scores.values() if score.answer), None)
        return {**result, "answer": answer} if answer else result

    def aggregate(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        results = importlib.import_module("inspect_ai._eval.task.results")
        metric = importlib.import_module("inspect_ai.scorer._metric")
        registry = importlib.import_module("inspect_ai._util.registry")
        scorers = dict(zip(self._scorer_names(), self._scorers, strict=True))
        scores = []
        for record in sorted(records, key=lambda one: one["index"]):
            sample, state = self._find(record["index"]), record["state"]
            scores.append(
                {
                    name: metric.SampleScore(
                        score=metric.Score(**decode_value(score)),
                        sample_id=sample.id,
                        sample_metadata=sample.metadata
                        if name in scorers
                        else decode_value(record["state"]["metadata"]),
                        scorer=registry.registry_unqualified_name(scorers[name]) if name in scorers else None,
                    )
                    for name, score in state["scores"]
                }
            )
        found, _ = results.eval_results(
            samples=len(scores),
            scores=scores,
            reducers=self._task.epochs_reducer,
            scorers=self._scorers,
            metrics=self._task.metrics,
            scorer_names=self._scorer_names(),
            completed_samples=len(scores),
            headline_metric=self._task.headline_metric,
        )
        return _present(found)

    # Parts ---------------------------------------------------------------------------------------

    def _find(self, index: int) -> Any:
        if not 0 <= index < len(self._samples):
            raise UsageProblem(f"{self._name} has no sample {index}")
        return self._samples[index]

    def _check_needs(self) -> None:
        if self._task.sandbox or any(sample.sandbox or sample.files for sample in self._samples):
            raise Needs(f"{self._name} of inspect_evals needs a sandbox, in which programs run")
        if not self._scorers:
            raise Needs(f"{self._name} of inspect_evals has no scorer that is known before it runs")

    def _scorer_names(self) -> list[str]:
        results = importlib.import_module("inspect_ai._eval.task.results")
        return list(results._unique_scorer_names([results.ScorerInfo.from_scorer(one) for one in self._scorers]))

    def _ask(self, index: int, replies: Sequence[str], order: Sequence[int] = ()) -> tuple[list[Any] | None, Any]:
        """The messages and settings of the request after some replies; None at the end."""
        log = self._run(index, replies, order, scored=False)
        if self._session.asked is not None:
            return self._session.asked
        if log.samples and log.samples[0].error is not None:
            raise Fault(f"{self._name} cannot ask its sample {index}: {_log_error(log)}")
        return None, None

    def _run(self, index: int, replies: Sequence[str], order: Sequence[int], scored: bool) -> Any:
        """One sample through `inspect_ai.eval`."""
        inspect_ai = importlib.import_module("inspect_ai")
        model, dataset = importlib.import_module("inspect_ai.model"), importlib.import_module("inspect_ai.dataset")
        session, folder = self._session, tempfile.mkdtemp(prefix="inspect-")
        session.begin(replies)
        single = inspect_ai.task_with(
            self._task,
            dataset=dataset.MemoryDataset([_reorder(self._find(index), order)]),
            solver=_with_end(self._solver, session),
        )
        try:
            with data_errors("inspect_evals", self._name):
                (log,) = inspect_ai.eval(
                    single,
                    model=model.get_model("snellen/model", memoize=False),
                    model_roles={name: model.get_model("snellen/judge") for name in ("grader",)},
                    log_dir=folder,
                    # Not of the task, whose scores it would have reduced to numbers.
                    epochs=1,
                    log_header_only=False,
                    score=scored,
                    fail_on_error=False,
                    retry_on_error=0,
                    **_OFF,
                )
            # Read while the log is there: `eval` returns what reads it later.
            log.samples = list(log.samples or [])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(session.ended, Needs):
            raise Needs(f"{self._name} of inspect_evals needs {session.ended}")
        if session.ended is not None and not isinstance(session.ended, _RequestFound):
            raise session.ended
        if session.asked is None and log.status == "error" and not log.samples:
            raise Fault(f"{self._name}: {_log_error(log)}")
        return log

    def _digest(self) -> str:
        digest = hashlib.sha256(json.dumps([self._name, self._peer, self._arguments], sort_keys=True).encode())
        for sample in self._samples:
            digest.update(sample.model_dump_json(exclude_none=True).encode())
        return digest.hexdigest()


def read_message(message: Any, folder: Path) -> dict[str, Any]:
    """A `ChatMessage`, or a text as scorers send it. Raises Needs for what no message can hold."""
    if isinstance(message, str):
        return {"role": "user", "parts": [text_part(message)]}
    if message.role not in ROLES:
        raise Needs(f"a message of the role {message.role!r}, which the exchange does not carry")
    content = message.content
    parts = [text_part(content)] if isinstance(content, str) else [_part(one, folder) for one in content]
    return {"role": message.role, "parts": parts}


def _part(content: Any, folder: Path) -> dict[str, Any]:
    if content.type == "text":
        return text_part(content.text)
    if content.type not in ("image", "audio", "video"):
        raise Needs(f"a part of the kind {content.type!r}, which the exchange does not carry")
    return linked_part(folder, content.type, getattr(content, content.type))


def _with_end(solve: Any, session: EvalSession) -> Any:
    """A solver that tells the session when it ended: what models are asked after it, scorers ask."""
    solver = importlib.import_module("inspect_ai.solver")

    @solver.solver(name="snellen")  # type: ignore[untyped-decorator]
    def until_end() -> Any:
        async def run(state: Any, generate: Any) -> Any:
            state = await solve(state, generate)
            session.scoring = True
            return state

        return run

    return until_end()


def _stop_retries() -> None:
    """Without a network a second try finds nothing new, and would come minutes later."""
    importlib.import_module("inspect_evals.utils.huggingface").should_retry = lambda error: False  # type: ignore[attr-defined]
    importlib.import_module("inspect_ai.dataset._sources.hf")._call_with_hf_retry = lambda load: load()  # type: ignore[attr-defined]


def _read_registry(path: Path) -> dict[str, str]:
    """The module of each task, from the file that imports them all, which is not run: 14 seconds."""
    return {
        name.name: node.module
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }


def _describe(name: str, folder: Path, module: str) -> dict[str, Any]:
    """What the files of a task say of it, and whether they can be imported; no data are loaded."""
    home = folder.joinpath(*module.split(".")[1:])
    home = home if home.is_dir() else home.parent
    described: dict[str, Any] = {"name": name}
    card = home / "eval.yaml"
    if card.is_file():
        told = importlib.import_module("yaml").safe_load(card.read_text("utf-8"))
        described["title"] = told.get("title")
        if "Multimodal" in (told.get("tags") or []) + [told.get("group")]:
            described["modality"] = ["image"]
        assets = told.get("external_assets") or []
        described["data"] = ", ".join(str(asset.get("source")) for asset in assets)
        if (told.get("metadata") or {}).get("sandbox"):
            described["needs"] = ["a sandbox, in which programs run"]
    source = "\n".join(one.read_text("utf-8", "replace") for one in sorted(home.glob("*.py")))
    described["judged"] = bool(re.search(r"model_graded|get_model\(", source))
    if re.search(r"sandbox=|use_tools\(|basic_agent\(|react\(", source):
        described.setdefault("needs", ["tools or a sandbox"])
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        described.setdefault("needs", [f"the package {error.name}"])
    except Exception as error:  # noqa: BLE001 - whatever the task's code has
        described["broken"] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return described


def _read_options(task: str, make: Any, options: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of a task from texts: JSON where it is that, else the text."""
    known = inspect.signature(make).parameters
    found = {}
    for name, text in options.items():
        if name == "judge":
            # Says whether a run has one; scorers ask it where they need it.
            continue
        if name not in known:
            raise UsageProblem(f"{task} of inspect_evals has no option {name!r}; it has {', '.join(known) or 'none'}")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def _reorder(sample: Any, order: Sequence[int]) -> Any:
    """The sample with its choices in another order, as inspect_ai's `shuffle_choices` does it."""
    if not order:
        return sample
    target = chr(ord("A") + list(order).index(ord(sample.target) - ord("A")))
    return sample.model_copy(update={"choices": [sample.choices[place] for place in order], "target": target})


def _solver_names(solve: Any) -> list[str]:
    """The names of the solvers of a chain."""
    registry = importlib.import_module("inspect_ai._util.registry")
    parts = getattr(solve, "_solvers", None)
    if parts is not None:
        return [name for part in parts for name in _solver_names(part)]
    return [registry.registry_info(solve).name] if registry.is_registry_object(solve) else []


def _modality(sample: Any) -> list[str]:
    """The kinds of media of a sample, `text` where it has none."""
    contents = [] if isinstance(sample.input, str) else [message.content for message in sample.input]
    kinds = {part.type for content in contents if isinstance(content, list) for part in content}
    return sorted(kinds & {"image", "audio", "video"}) or ["text"]


def _metric_names(task: Any, scorers: Sequence[Any]) -> list[str]:
    registry = importlib.import_module("inspect_ai._util.registry")
    metrics = importlib.import_module("inspect_ai.scorer._scorer").scorer_metrics

    def names(given: Any) -> list[str]:
        if isinstance(given, dict):
            return [name for one in given.values() for name in names(one)]
        if isinstance(given, list):
            return [name for one in given for name in names(one)]
        return [registry.registry_unqualified_name(given)] if registry.is_registry_object(given) else []

    return [name for scorer in scorers for name in names(task.metrics or metrics(scorer))]


def _asks_judge(scorers: Sequence[Any]) -> bool:
    """Whether the code of a scorer asks a model."""
    for scorer in scorers:
        try:
            source = inspect.getsource(inspect.getmodule(scorer) or scorer)
        except (OSError, TypeError):
            continue
        if "get_model(" in source or "model_graded" in source:
            return True
    return False


def _read_generation(config: Any) -> dict[str, Any]:
    names = {"max_new_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "stop": "stop_seqs"}
    found = {name: getattr(config, field, None) for name, field in names.items()}
    return {name: value for name, value in found.items() if value is not None}


def _numbers(name: str, value: Any, alone: bool) -> dict[str, float]:
    """A score's value as numbers by name: `scorer`, or `scorer/part` where it has parts."""
    if isinstance(value, Mapping):
        parts = {part: _as_number(one) for part, one in value.items()}
        return {part if alone else f"{name}/{part}": one for part, one in parts.items() if one is not None}
    number = _as_number(value)
    return {} if number is None else {name: number}


def _as_number(value: Any) -> float | None:
    if isinstance(value, str):
        return _SCORES.get(value)
    return float(value) if isinstance(value, bool | int | float) and value == value else None


def _metadata(sample: Any) -> Any:
    """What a sample's metadata are after its run, where it can be stored: metrics that group by them
    use it for scores that the solver itself made."""
    try:
        return encode_value(sample.metadata)
    except TypeError:
        return {}


def _present(results: Any) -> dict[str, Any]:
    """Numbers of `EvalResults`: `metric`, or `score/metric` where there are several scores. The first
    leads where the task names none; a standard error never does."""
    alone = len(results.scores) == 1
    metrics: dict[str, float] = {}
    headline = None
    reference = results.headline
    for score in results.scores:
        for name, metric in score.metrics.items():
            shown = name if alone else f"{score.name}/{name}"
            metrics[shown] = metric.value
            if reference and (reference.score or score.name) == score.name and reference.metric == name:
                headline = headline or shown
    means = [name for name in metrics if name.rpartition("/")[2] not in _SPREADS]
    if headline not in means:
        headline = next(iter(means), None)
    return {"metrics": metrics, "headline": headline}


def _log_error(log: Any) -> str:
    for error in [sample.error for sample in log.samples or []] + [log.error]:
        if error is not None:
            return " ".join(str(error.message).split())[:400]
    return "no score and no error"
