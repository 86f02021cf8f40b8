"""Benchmarks of lmms-eval: its TaskManager loads a task, its ConfigurableMessagesTask makes the
messages that its chat models are sent, and its filters, `process_results` and aggregations score.

Checked with commit 75571cfe and release 0.7.3. What the evaluator of lmms-eval (`evaluate`) does
between these is done here in its order; a group of tasks is one benchmark, whose samples are those
of its tasks one after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .http_judge import HttpJudge
from .lmms_eval_parts import read_messages
from .local_data import choose_home, data_errors, use_local_copies
from .main import AskJudge, DataMissing, Fault, Needs, UsageProblem, as_correct, nearest, read_commit, use_checkout
from .message_parts import label_options, row_cells
from .stored_values import decode_value, encode_value

_NEEDS = {
    "multiple_choice": "the log-likelihood of each option, which the exchange does not carry",
    "loglikelihood": "the log-likelihood of a text, which the exchange does not carry",
    "generate_visual_cot": "a model that draws pictures",
}
_JUDGE_SIGNS = re.compile(r"get_server\(|openai\.|OpenAI\(|requests\.post\(|chat/completions|genai\.Client")


def open_peer(ask_judge: AskJudge, settings: Mapping[str, Any]) -> LmmsEval:
    """lmms-eval of the checkout named in `settings`, else of this environment."""
    if settings.get("checkout"):
        use_checkout("lmms-eval", Path(settings["checkout"]), "lmms_eval/tasks")
        # A few tasks name files of the checkout from its root.
        os.chdir(settings["checkout"])
    use_local_copies(choose_home(settings))
    os.environ["API_TYPE"] = "openai"
    judge = HttpJudge(ask_judge)
    judge.install()
    return LmmsEval(judge, settings.get("checkout"))


class LmmsEval:
    """The peer."""

    def __init__(self, judge: HttpJudge, checkout: str | None) -> None:
        self._judge, self._checkout = judge, checkout
        self._tasks = importlib.import_module("lmms_eval.tasks")
        _stop_retries()
        self._manager = self._tasks.TaskManager()

    def facts(self) -> dict[str, Any]:
        version = importlib.metadata.version("lmms_eval") if not self._checkout else _read_version(self._checkout)
        return {"peer": "lmms-eval", "version": version, "commit": read_commit(self._checkout)}

    def tasks(self) -> list[dict[str, Any]]:
        return [self._describe(name) for name in self._manager.all_tasks]

    def open(self, task: str, options: Mapping[str, str], folder: Path) -> LmmsTask:
        # `judge` says whether a run has one; lmms-eval's code asks it where it needs it.
        unknown = sorted(set(options) - {"judge"})
        if unknown:
            raise UsageProblem(f"tasks of lmms-eval have no options: got {', '.join(unknown)}")
        if task not in self._manager.all_tasks:
            raise UsageProblem(f"lmms-eval has no task {task!r}{nearest(task, self._manager.all_tasks)}")
        self._judge.folder = folder
        with data_errors("lmms-eval", task):
            loaded = self._tasks.get_task_dict([task], self._manager, "chat")
        members = list(_members(loaded))
        for member in members:
            if member.task.OUTPUT_TYPE in _NEEDS:
                raise Needs(f"{member.name} of lmms-eval needs {_NEEDS[member.task.OUTPUT_TYPE]}")
            _prepare_task(member.task, folder)
        return LmmsTask(task, loaded, members, folder, self.facts())

    def _describe(self, name: str) -> dict[str, Any]:
        """What the files and functions of a task say of it; no data are loaded."""
        entry = self._manager.task_index[name]
        if entry["yaml_path"] == -1:
            return {"name": name, "title": f"tasks with the tag {name}"}
        described: dict[str, Any] = {"name": name}
        try:
            with data_errors("lmms-eval", name):
                config = self._manager._get_config(name)
        except DataMissing:
            # Its modules read data when they are imported.
            return described
        except ModuleNotFoundError as error:
            return {**described, "needs": [f"the package {error.name}"]}
        except Exception as error:  # noqa: BLE001 - whatever the task's code has
            said = " ".join(str(error).split()).replace(f"{self._checkout}/", "")
            return {**described, "broken": f"{type(error).__name__}: {said[:200]}"}
        if isinstance(config.get("task"), list):
            return {**described, "title": f"group of {len(config['task'])} tasks"}
        source = "\n".join(
            one.read_text("utf-8", "replace") for one in sorted(Path(entry["yaml_path"]).parent.glob("*.py"))
        )
        return {
            **described,
            "needs": [_NEEDS[config["output_type"]]] if config.get("output_type") in _NEEDS else [],
            "data": "/".join(str(config[key]) for key in ("dataset_path", "dataset_name") if config.get(key)),
            "split": str(config.get("test_split") or config.get("validation_split") or ""),
            "judged": bool(_JUDGE_SIGNS.search(source)),
            "modality": _modality(config),
        }


class MemberTask(NamedTuple):
    """One task of those that are open."""

    name: str
    task: Any
    split: str
    size: int


class LmmsTask:
    """One task or group of lmms-eval, loaded."""

    def __init__(
        self, name: str, loaded: dict[Any, Any], members: Sequence[MemberTask], folder: Path, peer: Mapping[str, Any]
    ) -> None:
        self._name, self._loaded, self._members = name, loaded, members
        self._folder, self._peer = folder, peer
        self._judged = any(_asks_judge(member.task) for member in members)

    def facts(self) -> dict[str, Any]:
        metrics = list(dict.fromkeys(metric for member in self._members for metric in member.task.aggregation()))
        first = self._members[0].task
        return {
            "task": self._name,
            "count": sum(member.size for member in self._members),
            "modality": self._modality(),
            "metrics": metrics,
            "headline": self._find_lead(first) if len(self._members) == 1 or len(metrics) == 1 else None,
            "judged": self._judged,
            "digest": self._digest(),
            "generation": _read_generation(first.config.generation_kwargs),
            "notes": self._notes(),
            "multi_turn": any(member.task.OUTPUT_TYPE != "generate_until" for member in self._members),
        }

    def sample(self, index: int) -> dict[str, Any]:
        member, doc_id = self._find(index)
        with data_errors("lmms-eval", member.name):
            described = self._describe_doc(member, doc_id)
            described["messages"] = self._messages(member, doc_id)
        described["id"] = str(doc_id) if len(self._members) == 1 else f"{member.name}/{doc_id}"
        if len(self._members) > 1:
            described["groups"] = {"task": member.name}
            described["generation"] = _read_generation(member.task.config.generation_kwargs)
        return described

    def next_turn(self, index: int, replies: Sequence[str]) -> dict[str, Any]:
        member, doc_id = self._find(index)
        if member.task.OUTPUT_TYPE == "generate_until_agentic":
            asked, _ = self._run_agent(member, doc_id, replies)
        elif member.task.OUTPUT_TYPE == "generate_until_multi_round":
            asked = self._next_round(member, doc_id, replies)
        else:
            asked = None
        return {"done": True} if asked is None else {"messages": read_messages(asked, self._folder)}

    def score(self, index: int, replies: Sequence[str]) -> dict[str, Any]:
        member, doc_id = self._find(index)
        task = member.task
        reply: Any = replies[0]
        if task.OUTPUT_TYPE == "generate_until_multi_round":
            reply = list(replies)
        elif task.OUTPUT_TYPE == "generate_until_agentic":
            _, reply = self._run_agent(member, doc_id, replies)
        instance = _instance(task, doc_id, member.split)
        instance.resps = [reply]
        doc = task.eval_docs_no_media[doc_id]
        result: dict[str, Any] = {"values": {}, "state": []}
        for (metric, key), value in _process_reply(task, instance, doc).items():
            try:
                result["state"].append([metric, key, encode_value(value)])
            except TypeError as error:
                raise Fault(f"{metric} of {member.name}: {error}") from error
            number = _number(value, task.config.score_key)
            if number is not None:
                result["values"][_metric_name(metric, key)] = number
        lead = self._find_lead(task)
        if lead is not None and task.higher_is_better().get(lead) is not False:
            result["correct"] = as_correct(result["values"].get(lead), [lead], self._judged)
        answers = [text for text in instance.filtered_resps.values() if isinstance(text, str) and text != reply]
        if answers:
            result["answer"] = answers[0]
        return result

    def aggregate(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        helpers = importlib.import_module("lmms_eval.evaluator_utils")
        by_task: dict[str, list[Any]] = {}
        for record in sorted(records, key=lambda one: one["index"]):
            by_task.setdefault(self._find(record["index"])[0].name, []).append(record["state"])
        kept = _keep_members(self._loaded, by_task)
        outputs = helpers.get_task_list(kept)
        for output in outputs:
            for metric, key, value in (one for state in by_task[output.task_name] for one in state):
                output.sample_metrics[(metric, key)].append(decode_value(value))
            output.calculate_aggregate_metric(bootstrap_iters=0)
        results, _, _, versions, *_ = helpers.consolidate_results(outputs)
        results, *_ = helpers.consolidate_group_results(results, versions, kept)
        return self._present(results, list(by_task))

    # Parts ---------------------------------------------------------------------------------------

    def _find(self, index: int) -> tuple[MemberTask, int]:
        rest = index
        for member in self._members:
            if 0 <= rest < member.size:
                return member, rest
            rest -= member.size
        raise UsageProblem(f"{self._name} has no sample {index}")

    def _find_lead(self, task: Any) -> str | None:
        """The metric that leads: the only one, or the first of a task that is alone."""
        metrics = list(task.aggregation())
        return metrics[0] if len(metrics) == 1 or (metrics and len(self._members) == 1) else None

    def _modality(self) -> list[str]:
        """The kinds of media of the first sample of each task, `text` where it has none."""
        kinds = set()
        for member in self._members:
            if member.size:
                with data_errors("lmms-eval", member.name):
                    messages = self._messages(member, 0)
                kinds |= {part["type"] for message in messages for part in message["parts"]} - {"text"}
        return sorted(kinds) or ["text"]

    def _messages(self, member: MemberTask, doc_id: int) -> list[dict[str, Any]]:
        if member.task.OUTPUT_TYPE == "generate_until_agentic":
            asked, _ = self._run_agent(member, doc_id, [])
        else:
            asked = member.task.doc_to_messages(member.task.dataset[member.split][doc_id])
        if asked is None:
            raise Fault(f"{member.name} of lmms-eval asks nothing of its sample {doc_id}")
        try:
            return read_messages(asked, self._folder)
        except Needs as error:
            raise Needs(f"sample {doc_id} of {member.name} needs {error}") from error

    def _describe_doc(self, member: MemberTask, doc_id: int) -> dict[str, Any]:
        """Gold, options and row of a sample, where the task says them."""
        task, doc = member.task, member.task.eval_docs_no_media[doc_id]
        options = task.doc_to_choice(doc) if task.config.doc_to_choice is not None else None
        described: dict[str, Any] = {"row": row_cells(doc), **label_options(options)}
        # Only shown: what it raises concerns no prompt and no score.
        try:
            gold = task.doc_to_target(doc) if task.config.doc_to_target is not None else None
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            gold = None
        if isinstance(gold, int) and isinstance(options, list) and 0 <= gold < len(options):
            gold = options[gold]
        golds = gold if isinstance(gold, list) else [gold]
        texts = [str(one) for one in golds if isinstance(one, str | int | float) and str(one)]
        return {**described, "gold": texts} if texts else described

    def _next_round(self, member: MemberTask, doc_id: int, replies: Sequence[str]) -> Any:
        """The messages after some replies, None at the end, as `generate_until_multi_round` of
        lmms-eval's chat models asks for them."""
        known = None
        doc = member.task.dataset[member.split][doc_id]
        messages = None
        for turn in range(1, len(replies) + 1):
            payload = member.task.doc_to_messages(
                doc, round_idx=turn, previous_output=list(replies[:turn]), previous_round_info=known
            )
            if not (isinstance(payload, tuple) and len(payload) == 4):
                return None
            messages, ended, _, known = payload
            if ended:
                return None
        return messages

    def _run_agent(self, member: MemberTask, doc_id: int, replies: Sequence[str]) -> tuple[Any, Any]:
        """The next messages and None, or None and the end of lmms-eval's own loop over steps."""
        evaluator = importlib.import_module("lmms_eval.evaluator")
        model = _Repeater({member.task.config.task: member.task.dataset}, replies)
        instance = _instance(member.task, doc_id, member.split, asks=True)
        try:
            return None, evaluator._run_generate_until_agentic(model, [instance])[0]
        except _ReplyWanted as asked:
            return asked.messages, None

    def _present(self, results: Mapping[str, Mapping[str, Any]], tasks: Sequence[str]) -> dict[str, Any]:
        """Numbers of the peer's table. Those of the tasks of a group are under `groups`; if the
        group has none of its own, they are named by their task."""
        metrics: dict[str, float] = {}
        groups: dict[str, dict[str, float]] = {}
        notes: list[str] = []
        whole = self._name if self._name in results else (tasks[0] if len(self._members) == 1 else None)
        for name, row in results.items():
            for metric, value in _flat_numbers(row, notes, name):
                if name == whole:
                    metrics[metric] = value
                else:
                    groups.setdefault(metric, {})[name] = value
        if not metrics:
            metrics = {f"{name}/{metric}": value for metric, row in groups.items() for name, value in row.items()}
        lead = self._find_lead(self._members[0].task) if len(self._members) == 1 else None
        headline = next(iter(metrics)) if len(metrics) == 1 else lead if lead in metrics else None
        return {"metrics": metrics, "headline": headline, "groups": groups, "notes": notes}

    def _notes(self) -> list[str]:
        notes = []
        stops = {
            text
            for member in self._members
            for text in (member.task.config.generation_kwargs or {}).get("until") or []
            if text.strip()
        }
        if stops:
            notes.append(f"lmms-eval's chat models do not stop at {', '.join(map(repr, sorted(stops)))}")
        if len(self._members) == 1 and len(self._members[0].task.aggregation()) > 1:
            notes.append("lmms-eval names no metric that leads: the first of the task does")
        repeated = sorted({member.name for member in self._members if (member.task.config.repeats or 1) > 1})
        if repeated:
            notes.append(f"lmms-eval asks each question of {', '.join(repeated)} several times; here it is asked once")
        if any(member.task.config.num_fewshot for member in self._members):
            notes.append("lmms-eval's chat models are not shown its few-shot examples")
        return notes

    def _digest(self) -> str:
        digest = hashlib.sha256(json.dumps([self._name, self._peer], sort_keys=True).encode())
        for member in self._members:
            for key, value in sorted(vars(member.task.config).items()):
                digest.update(f"{key}={_stable_text(value)}\n".encode())
            docs = member.task.dataset[member.split]
            digest.update(f"{member.name} {member.size} {getattr(docs, '_fingerprint', '')}\n".encode())
        return digest.hexdigest()


class _ReplyWanted(Exception):
    """The peer's loop wants a reply that there is not yet."""

    def __init__(self, messages: Any) -> None:
        super().__init__("a reply is wanted")
        self.messages = messages


class _Repeater:
    """A chat model of lmms-eval that says what it is given, one reply after the other."""

    is_simple = False

    def __init__(self, task_dict: Mapping[str, Any], replies: Sequence[str]) -> None:
        self.task_dict, self._replies = task_dict, list(replies)

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        _, to_messages, _, doc_id, task, split = requests[0].args
        if not self._replies:
            raise _ReplyWanted(to_messages(self.task_dict[task][split][doc_id]))
        return [self._replies.pop(0)]


def _members(loaded: Mapping[Any, Any]) -> Iterator[MemberTask]:
    """The tasks of a task, group or tag in the order of lmms-eval."""
    for name, task in loaded.items():
        if isinstance(task, dict):
            yield from _members(task)
        else:
            split = task.config.test_split if task.has_test_docs() else task.config.validation_split
            yield MemberTask(name, task, split, len(task.eval_docs))


def _keep_members(loaded: Mapping[Any, Any], names: Mapping[str, Any]) -> dict[Any, Any]:
    """Without the tasks of which there is no record: lmms-eval aggregates no empty task."""
    kept = {}
    for name, task in loaded.items():
        if isinstance(task, dict):
            inner = _keep_members(task, names)
            if inner:
                kept[name] = inner
        elif name in names:
            kept[name] = task
    return kept


def _prepare_task(task: Any, folder: Path) -> None:
    """What `simple_evaluate` does to a task before it is asked."""
    if task.get_config("num_fewshot") is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=1234)
    task.args = argparse.Namespace(output_path=str(folder), process_with_media=False)
    tags = importlib.import_module("lmms_eval.api.reasoning").parse_reasoning_tags_config(
        task_value=task.config.reasoning_tags
    )
    if getattr(task.config, "auto_strip_thinking", False) and tags is None:
        filters = importlib.import_module("lmms_eval.filters.transformation")
        for ensemble in task._filters:
            ensemble.filters.insert(0, filters.StripThinkingFilter())


def _instance(task: Any, doc_id: int, split: str, asks: bool = False) -> Any:
    """The request of one document, as `build_all_requests` makes it."""
    metadata = {"task": task.config["task"], "doc_id": doc_id, "repeats": 1, "split": split}
    if isinstance(task.config.metadata, dict):
        metadata.update(task.config.metadata)
    if asks:
        context = task.fewshot_context(task.eval_docs_no_media[doc_id], task.config.num_fewshot or 0)
        return task.construct_requests(doc_id=doc_id, ctx=context, metadata=metadata)
    instance = importlib.import_module("lmms_eval.api.instance").Instance
    return instance(request_type=task.OUTPUT_TYPE, arguments=(), idx=0, metadata=metadata)


def _process_reply(task: Any, instance: Any, doc: Any) -> dict[tuple[str, str], Any]:
    """What `process_results` makes of a reply, by metric and filter."""
    reasoning = importlib.import_module("lmms_eval.api.reasoning")
    tags = reasoning.parse_reasoning_tags_config(task_value=task.config.reasoning_tags)
    for ensemble in task._filters:
        ensemble.apply([instance], [doc])
    found = {}
    for key, reply in instance.filtered_resps.items():
        if tags is not None and isinstance(reply, str):
            reply = reasoning.strip_reasoning_tags(reply, tags)
        elif tags is not None and isinstance(reply, list):
            reply = [reasoning.strip_reasoning_tags(one, tags) if isinstance(one, str) else one for one in reply]
        for metric, value in task.process_results(doc, [reply]).items():
            found[(metric, key)] = value
    return found


def _metric_name(metric: str, key: str) -> str:
    return metric if key == "none" else f"{metric},{key}"


def _number(value: Any, score_key: str) -> float | bool | None:
    """A value of `process_results` as a number, where it is one or has one under `score_key`."""
    if isinstance(value, dict):
        value = value.get(score_key)
    if hasattr(value, "item") and getattr(value, "size", 0) == 1:
        value = value.item()
    return value if isinstance(value, bool | int | float) and value == value else None


def _flat_numbers(row: Mapping[str, Any], notes: list[str], name: str) -> Iterator[tuple[str, float]]:
    """The numbers of one line of lmms-eval's results; a metric with several is named `metric/part`."""
    for column, value in row.items():
        metric, _, key = column.rpartition(",")
        if not metric or "_stderr" in metric:
            continue
        metric = _metric_name(metric, key)
        for part, number in value.items() if isinstance(value, dict) else [("", value)]:
            found = _number(number, "score")
            if found is not None:
                yield (f"{metric}/{part}" if part else metric), float(found)
            elif not part:
                notes.append(f"{name}: {metric} is no number: {str(value)[:200]}")


def _read_generation(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """`generation_kwargs` of a task by the names of the exchange. `until` is left out, as by
    lmms-eval's chat models: its default, a blank line, would end most replies."""
    known = dict(arguments or {})
    found = {key: known[key] for key in ("max_new_tokens", "top_p", "top_k") if known.get(key) is not None}
    return {**found, "temperature": float(known.get("temperature") or 0)}


def _modality(config: Mapping[str, Any]) -> list[str]:
    """What a task shows, by the code that reads its media."""
    visual = config.get("doc_to_visual") or config.get("doc_to_messages")
    if visual is None:
        return ["text"]
    source = _stable_text(visual)
    for sign, kind in (("audio", "audio"), ("video", "video"), (".mp4", "video")):
        if sign in source.lower():
            return [kind]
    return ["image"]


def _asks_judge(task: Any) -> bool:
    """Whether the module with the task's scoring has code that asks a model."""
    functions = [task.config.process_results, *task.aggregation().values()]
    for function in functions:
        module = sys.modules.get(getattr(function, "__module__", "") or "")
        with contextlib.suppress(OSError, TypeError):
            if module is not None and "tasks" in module.__name__ and _JUDGE_SIGNS.search(inspect.getsource(module)):
                return True
    return False


def _stable_text(value: Any) -> str:
    """A value of a task's configuration as the same text in each process."""
    if isinstance(value, functools.partial):
        return f"partial({_stable_text(value.func)}, {_stable_text(value.keywords)})"
    if callable(value):
        try:
            return inspect.getsource(value)
        except (OSError, TypeError):
            return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, dict):
        return str({key: _stable_text(one) for key, one in value.items()})
    if isinstance(value, list):
        return str([_stable_text(one) for one in value])
    return repr(value)


def _stop_retries() -> None:
    """One try each: without a network a second one finds nothing new, and scoring is repeatable."""
    tenacity = importlib.import_module("tenacity")
    base = importlib.import_module("lmms_eval.api.task").ConfigurableTask
    for function in (base.download, base.process_results):
        function.retry.stop, function.retry.reraise = tenacity.stop_after_attempt(1), True


def _read_version(checkout: str) -> str:
    found = re.search(r'^version = "([^"]+)"', (Path(checkout) / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"
