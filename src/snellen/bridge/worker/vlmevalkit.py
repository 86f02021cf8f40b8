"""VLMEvalKit's data sets, prompts and scorers (Duan et al. 2024, https://arxiv.org/abs/2407.11691).

A task is a name that its `run.py --data` takes. Prompts are those of a data set's `build_prompt`, as
its inference loop asks a model without a prompt of its own. A reply is scored by the data set's
`evaluate` on a file of that row alone, written as the inference loop writes it; the numbers of the
whole by `evaluate` on the file of all rows. The judge that `build_judge` would make is replaced by
one that asks Snellen's.

Data are looked for where it looks itself, in the folder that `LMUData` names.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .absent import absent_packages, import_tool, watch
from .main import AskJudge, DataMissing, Fault, JudgeFailed, UsageProblem, nearest, read_commit, use_checkout
from .message_parts import find_fixed
from .vlmevalkit_messages import judge_class, judge_key, messages_of
from .vlmevalkit_needs import asks_judge, find_broken, find_needs
from .vlmevalkit_verdicts import Evaluated, EvaluateFailed, as_number, find_correct, read_evaluated, read_verdicts

MODELS = ("vlmeval.vlm", "vlmeval.config")
"""Parts of the tool that load models of its own, which no benchmark needs."""
NO_JUDGE = "exact_matching"
"""What its `--judge` calls scoring without a judge, where a data set has that."""
ROTATION = 1_000_000
"""MMBench's files hold rotation r of question i as row i + r * 1,000,000."""
DOCUMENTS = frozenset({"MMLongBench_DOC", "DUDE", "DUDE_MINI", "SLIDEVQA", "SLIDEVQA_MINI"})
"""Tasks that ask for the name of the model, of the few for which they say how its pages are joined."""
PAGES_AS_FOR = "GPT4o"
"""The one that is named: each page is a picture."""
_KINDS = {"MCQ": "choice", "MCQ_MMMU_Pro": "choice", "Y/N": "yes_no", "VQA": "open", "Caption": "open"}
_LABELS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_GROUPS = ("category", "l2-category", "l2_category", "split", "task", "type", "task_type", "domain", "subset", "level")
_MOST_TEXT = 20_000


def open_peer(ask_judge: AskJudge, settings: Mapping[str, Any]) -> VLMEvalKit:
    """The tool of a checkout (`settings["checkout"]`), or the installed one."""
    return VLMEvalKit(ask_judge, settings)


# The tool ----------------------------------------------------------------------------------------


class VLMEvalKit:
    """The tool, imported once."""

    def __init__(self, ask_judge: AskJudge, settings: Mapping[str, Any]) -> None:
        self._ask_judge = ask_judge
        self._checkout = Path(settings["checkout"]).resolve() if settings.get("checkout") else None
        self._network = bool(settings.get("network"))
        if self._checkout is not None:
            use_checkout("VLMEvalKit", self._checkout, "vlmeval/dataset")
        _keep_env_files_closed()
        modules = ("vlmeval.dataset", "vlmeval.dataset.video_dataset_config")
        import_tool("VLMEvalKit", modules, "vlmeval", MODELS)
        self.root = Path(importlib.import_module("vlmeval.smp").LMUDataRoot())
        if not self._network:
            _patch("download_file", self._refuse_download)

    def facts(self) -> dict[str, Any]:
        """Name, version and commit."""
        import vlmeval

        return {
            "peer": "vlmevalkit",
            "version": str(getattr(vlmeval, "__version__", "")),
            "commit": read_commit(self._checkout),
            "data": str(self.root),
            "absent": absent_packages(),
        }

    def tasks(self) -> list[dict[str, Any]]:
        """Every name that `--data` takes, without loading data."""
        return [_task_facts(name, cls) for name, cls in self._classes().items()]

    def _classes(self) -> dict[str, Any]:
        from vlmeval.dataset import DATASET_CLASSES
        from vlmeval.dataset.video_dataset_config import supported_video_datasets

        listed: dict[str, Any] = {}
        for cls in DATASET_CLASSES:
            is_video = getattr(cls, "MODALITY", "") == "VIDEO"
            for name in () if is_video else cls.supported_datasets():
                if name:
                    listed.setdefault(name, cls)
        for name, build in supported_video_datasets.items():
            listed.setdefault(name, build.func if isinstance(build, partial) else build)
        return listed

    def open(self, task: str, options: Mapping[str, str], folder: Path) -> VLMEvalKitTask:
        """Load a data set. Options: `judge` (`yes` or `no`), `video` (`frames` or `file`), and
        `checksum` (`off` takes files that are not the published ones).
        Raises UsageProblem, DataMissing."""
        names = set(self._classes())
        if task not in names:
            raise UsageProblem(f"VLMEvalKit has no task {task!r}{nearest(task, names)}")
        unknown = sorted(set(options) - {"judge", "video", "checksum"})
        if unknown:
            raise UsageProblem(f"a task of VLMEvalKit has no option {unknown[0]!r}; it has judge, video and checksum")
        if options.get("checksum") == "off":
            checksum = importlib.import_module("vlmeval.smp").md5
            _patch("md5", lambda text: _AnyChecksum(checksum(text)))
        return VLMEvalKitTask(task, self._load(task), options, folder, self)

    def _load(self, task: str) -> Any:
        from vlmeval.dataset import build_dataset

        try:
            with watch():
                dataset = build_dataset(task, **({"model": PAGES_AS_FOR} if task in DOCUMENTS else {}))
        except Fault:
            raise
        except Exception as error:
            if _is_about_data(error):
                said = " ".join(str(error).split())[:300]
                raise DataMissing(
                    f"the data of {task} are not complete under {self.root}: {type(error).__name__}: {said}"
                ) from error
            raise
        if dataset is None:
            raise DataMissing(f"VLMEvalKit builds no data set {task!r} from {self.root}")
        return dataset

    def _refuse_download(self, url: str, filename: str | None = None, **_: Any) -> str:
        wanted = Path(filename).name if filename else url.rpartition("/")[2]
        if filename and Path(filename).is_file():
            raise DataMissing(
                f"{filename} is not the published file (its MD5 differs), and VLMEvalKit would fetch that from {url}; "
                "put it there, or take this one with checksum=off"
            )
        source = f", or allow its download from {url}" if "://" in url else ""
        raise DataMissing(
            f"{wanted} is not in {Path(filename).parent if filename else self.root}: put it there{source}"
        )

    def judge(self, known: dict[str, str]) -> Callable[..., Any]:
        """A `build_judge` whose models ask Snellen's judge; `known` has the answers by digest, and
        takes those that come."""

        def build(**named: Any) -> Any:
            # Imported with the first judge: the package of all its clients takes seconds.
            base = importlib.import_module("vlmeval.api.base").BaseAPI
            named.pop("nproc", None)
            return judge_class(base, _STATE.folder)(partial(self._answer, known), **named)

        return build

    def _answer(self, known: dict[str, str], messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
        """Raises JudgeFailed."""
        key = judge_key(messages, settings)
        if key not in known:
            known[key] = self._ask_judge(messages, settings)
        _STATE.asked[key] = known[key]
        return known[key]


class _Shared:
    """What the judge needs of the task that is being scored."""

    def __init__(self) -> None:
        self.folder = Path()
        self.asked: dict[str, str] = {}


_STATE = _Shared()


class _Silence(dict[str, str]):
    """Empty answers of a judge, to whatever it is asked."""

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> str:
        return ""


class _AnyChecksum(str):
    """A checksum that equals every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class VLMEvalKitTask:
    """One data set, loaded."""

    def __init__(self, task: str, dataset: Any, options: Mapping[str, str], folder: Path, tool: VLMEvalKit) -> None:
        self.name, self.dataset, self._tool, self._folder = task, dataset, tool, folder
        self._published = dataset.data
        self._data = dataset.data.reset_index(drop=True)
        self._type = str(getattr(dataset, "TYPE", "")) or None
        self._is_video = getattr(dataset, "MODALITY", "") == "VIDEO"
        self._shows_files = options.get("video") == "file"
        self._takes_any_file = options.get("checksum") == "off"
        self._has_judge = options.get("judge") == "yes"
        self._judge_name = _judge_name(task, dataset, tool) if self._has_judge else NO_JUDGE
        indexes = [str(one) for one in self._data["index"]]
        self._ids = indexes if len(set(indexes)) == len(indexes) else [f"{i}:{one}" for i, one in enumerate(indexes)]
        self._rotates = any(one.isdecimal() and int(one) >= ROTATION for one in indexes) and self._type == "MCQ"

    def facts(self) -> dict[str, Any]:
        """What is known of it before anything is asked."""
        modality = {"IMAGE": "image", "VIDEO": "video", "TEXT": "text"}.get(getattr(self.dataset, "MODALITY", ""))
        notes = ["its files are not checked for being the published ones"] if self._takes_any_file else []
        if self._rotates:
            notes.append("the file holds rotations of its questions, which VLMEvalKit counts together")
        if self.name in DOCUMENTS:
            notes.append(f"pages are shown as VLMEvalKit shows them to {PAGES_AS_FOR}, each as a picture")
        if getattr(self.dataset, "force_use_dataset_prompt", False):
            notes.append("VLMEvalKit asks every model in these words")
        return {
            "task": self.name,
            "count": len(self._data),
            "modality": [modality] if modality else [],
            "kind": _KINDS.get(self._type or ""),
            "metrics": [],
            "headline": self._try_headline(),
            "judged": self._has_judge,
            "digest": _digest(self._data),
            "generation": {},
            "notes": notes,
            "multi_turn": self._type == "MT",
        }

    def _try_headline(self) -> str | None:
        """What its number is called, by scoring the first row with its gold answer; a judge that is
        asked says nothing."""
        if not len(self._data) or self._type == "MT":
            return None
        gold = self._data.iloc[0].get("answer")
        try:
            table = self._answer_table([0], [[str(gold)]], {})
            if self._rotates:
                table["index"] = [int(one) % ROTATION for one in table["index"]]
            return self._evaluate(table, _Silence()).headline
        except Exception:  # noqa: BLE001 - whatever the tool's code does with a reply of ours
            return None

    def describe(self, index: int) -> dict[str, Any]:
        """What its row says of a question."""
        cells = {str(name): value for name, value in self._row(index).items() if _is_cell(name, value)}
        return {"id": self._ids[index], **self._describe_row(cells), "row": cells}

    def sample(self, index: int, order: Sequence[int] = ()) -> dict[str, Any]:
        """Its question as VLMEvalKit puts it, and what its row says of it; with its options in another order, the
        prompt of the row in which they stand so."""
        messages = self._messages(index)
        if not order:
            return {**self.describe(index), "messages": messages}
        if list(self.describe(index).get("options", ())) != list(_LABELS[: len(order)]):
            return {"id": self._ids[index], "fixed": "its row has no options in columns A, B, ... and their letters"}
        shown = self._messages(index, order)
        return {"id": self._ids[index], "messages": shown, "fixed": find_fixed(messages, shown)}

    def _messages(self, index: int, order: Sequence[int] = ()) -> list[dict[str, Any]]:
        with watch():
            struct = self._build_prompt(index, order)
        if struct is None:
            raise Fault(f"VLMEvalKit builds no prompt for row {self._ids[index]} of {self.name}")
        return messages_of(struct[0]["content"] if self._type == "MT" else struct, self._folder)

    def refuse_order(self) -> str:
        """Why options cannot be shown in another order; "" if the prompt and the verdict of the first row that has
        some follow them."""
        if self._rotates:
            return "its file holds rotations of the questions, which VLMEvalKit counts together"
        if self._is_video or self._type != "MCQ":
            return "VLMEvalKit makes its prompts of more than a row with options"
        for index in range(len(self._data)):
            options = self.describe(index).get("options", {})
            if len(set(options.values())) == len(options) > 1:
                order = [*range(1, len(options)), 0]
                return str(self.sample(index, order)["fixed"]) or self._refuse_verdict(index, order)
        return "no row has several options in columns A, B, ... and one of these letters as its answer"

    def _refuse_verdict(self, index: int, order: Sequence[int]) -> str:
        row = self._row(index, order)
        for label in _LABELS[: len(order)]:
            try:
                evaluated = self._evaluate(self._answer_table([index], [[label]], {index: order}), _Silence())
                correct = find_correct(evaluated, next(iter(evaluated.verdicts.values()), None))
            except EvaluateFailed as failed:
                correct = next(iter(failed.left.verdicts.values()), None)
            if correct != float(label == row["answer"]):
                return f"VLMEvalKit's code does not read the answer {label} against the letters of the row"
        return ""

    def next_turn(self, index: int, replies: Sequence[str]) -> dict[str, Any]:
        """The conversation after these replies."""
        struct = self._build_prompt(index) if self._type == "MT" else []
        if len(replies) >= len(struct) // 2:
            return {"done": True}
        messages: list[dict[str, Any]] = []
        for turn, reply in enumerate(replies):
            messages += messages_of(struct[2 * turn]["content"], self._folder)
            messages.append({"role": "assistant", "parts": [{"type": "text", "text": reply}]})
        return {"messages": [*messages, *messages_of(struct[2 * len(replies)]["content"], self._folder)]}

    def score(self, index: int, replies: Sequence[str], order: Sequence[int] = ()) -> dict[str, Any]:
        """The verdict of `evaluate` on this row alone; nothing but what the judge said where only the
        file of all rows can be counted."""
        evaluated = self._evaluate_alone(index, replies, order)
        if evaluated is None:
            return {"values": {}, "state": {"judged": sorted(_STATE.asked.items())}}
        values = dict(evaluated.metrics)
        verdict = next(iter(evaluated.verdicts.values()), None)
        result: dict[str, Any] = {"values": values, "state": {"judged": sorted(_STATE.asked.items())}}
        if verdict is not None:
            values[evaluated.column] = verdict
        correct = find_correct(evaluated, verdict)
        if correct is not None:
            result["correct"] = correct
        if evaluated.answer is not None:
            result["answer"] = evaluated.answer
        if evaluated.headline is not None:
            result["headline"] = evaluated.headline
        return result

    def _evaluate_alone(self, index: int, replies: Sequence[str], order: Sequence[int]) -> Evaluated | None:
        """`evaluate` on one row. Where it fails: the verdict that it wrote before that; None if it
        fails with the row's gold answer too, since it then counts rows together."""
        table = self._answer_table([index], [replies], {index: order})
        if self._rotates:
            # Alone, a rotation is a question of its own.
            table["index"] = [int(one) % ROTATION for one in table["index"]]
        try:
            return self._evaluate(table, {})
        except EvaluateFailed as failed:
            if failed.left.verdicts:
                return failed.left
            gold = table.copy()
            gold["prediction"] = (
                [str(self._row(index, order).get("answer"))] if self._type != "MT" else table["prediction"]
            )
            asked = _STATE.asked
            try:
                self._evaluate(gold, _Silence())
            except EvaluateFailed:
                _STATE.asked = asked
                return None
            raise failed.error from failed

    def aggregate(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The numbers of `evaluate` on all rows that have replies, and its verdict of each."""
        records = sorted(records, key=lambda one: one["index"])
        known = {str(key): str(text) for one in records for key, text in (one.get("state") or {}).get("judged", ())}
        indexes = [one["index"] for one in records]
        try:
            orders = {one["index"]: one.get("order", ()) for one in records}
            table = self._answer_table(indexes, [one["replies"] for one in records], orders)
            evaluated = self._evaluate(table, known)
        except EvaluateFailed as failed:
            raise failed.error from failed
        places = {str(self._data["index"][index]): index for index in indexes}
        values = [
            {
                "index": places[name],
                "values": {evaluated.column: verdict},
                "correct": verdict if evaluated.is_right_or_wrong(verdict) else None,
            }
            for name, verdict in evaluated.verdicts.items()
            if name in places
        ]
        return {"metrics": evaluated.metrics, "headline": evaluated.headline, "groups": {}, "values": values}

    def _row(self, index: int, order: Sequence[int] = ()) -> Any:
        if not 0 <= index < len(self._data):
            raise UsageProblem(f"{self.name} has rows 0 to {len(self._data) - 1}; got {index}")
        row = self._data.iloc[index]
        if order:
            row, labels = row.copy(), _LABELS[: len(order)]
            texts = [row[label] for label in labels]
            row["answer"] = labels[list(order).index(labels.index(str(row["answer"]).strip()))]
            for label, place in zip(labels, order, strict=True):
                row[label] = texts[place]
        return row

    def _build_prompt(self, index: int, order: Sequence[int] = ()) -> Any:
        """As `infer_data` and its siblings call it for a model without prompts of its own."""
        if self._is_video:
            return self.dataset.build_prompt(index, video_llm=self._shows_files)
        return self.dataset.build_prompt(self._row(index, order))

    def _describe_row(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """Gold, options, kind and groups, as far as the columns of the file say them."""
        told: dict[str, Any] = {}
        kind = _KINDS.get(self._type or "")
        options = {label: str(cells[label]) for label in _LABELS if label in cells} if kind == "choice" else {}
        answer = cells.get("answer")
        if kind == "choice" and len(options) > 1 and str(answer).strip() in options:
            told |= {"kind": "choice", "options": options, "gold": [str(answer).strip()]}
        elif kind == "yes_no" and str(answer).strip().lower() in {"yes", "no"}:
            told |= {"kind": "yes_no", "gold": [str(answer).strip().title()]}
        elif answer is not None:
            told |= {"kind": "open", "gold": [str(answer)]}
        if "question" in cells:
            told["question"] = str(cells["question"])
        groups = {name: str(cells[name]) for name in _GROUPS if name in cells}
        if groups:
            told["groups"] = groups
        return told

    def _answer_table(
        self, indexes: Sequence[int], replies: Sequence[Sequence[str]], orders: Mapping[int, Sequence[int]]
    ) -> Any:
        """The table that the inference loop writes: the rows with `prediction`, without pictures. `evaluate`
        finds rows whose options stand in another order in its data set too."""
        moved = {index: self._row(index, orders[index]) for index in indexes if orders.get(index)}
        data = self._data.astype(object) if moved else self._data
        for index, row in moved.items():
            data.iloc[index] = row
        self.dataset.data = data if moved else self._published
        table = data.iloc[list(indexes)].copy()
        said = [list(one) if self._type == "MT" else str(one[0]) for one in replies]
        table["prediction"] = said
        return table.drop(columns=["image"]) if "image" in table else table

    def _evaluate(self, table: Any, known: dict[str, str]) -> Evaluated:
        """Call `evaluate` on a file of its own. Raises EvaluateFailed."""
        from vlmeval.smp import dump, get_pred_file_path

        _STATE.folder, _STATE.asked = self._folder, {}
        _patch("build_judge", self._tool.judge(known))
        kwargs = {"model": self._judge_name, "nproc": 4, "verbose": False, "retry": 1, "timeout": 600}
        folder = Path(tempfile.mkdtemp(prefix="evaluate-", dir=self._folder))
        try:
            file = get_pred_file_path(str(folder), "snellen", self.name, use_env_format=True)
            dump(table, file)
            before = set(folder.rglob("*"))
            try:
                with watch():
                    returned = self.dataset.evaluate(file, **kwargs)
            except (Fault, JudgeFailed, ModuleNotFoundError, MemoryError):
                raise
            except Exception as error:
                left = Evaluated({}, None)
                read_verdicts(left, folder, before)
                raise EvaluateFailed(error, left) from error
            return read_evaluated(self.dataset, returned, folder, before)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


# Facts -------------------------------------------------------------------------------------------


def _task_facts(name: str, cls: Any) -> dict[str, Any]:
    modality = {"IMAGE": ["image"], "VIDEO": ["video"], "TEXT": ["text"]}.get(getattr(cls, "MODALITY", ""), [])
    kind = _KINDS.get(str(getattr(cls, "TYPE", "")))
    urls = getattr(cls, "DATASET_URL", None)
    url = urls.get(name, "") if isinstance(urls, Mapping) else ""
    where = url if isinstance(url, str) and url else f"{name}.tsv" if "video" not in modality else ""
    sums = getattr(cls, "DATASET_MD5", None)
    checksum = str(sums.get(name) or "") if isinstance(sums, Mapping) else ""
    facts: dict[str, Any] = {"name": name, "modality": modality, "kind": kind, "data": where}
    facts |= {"needs": find_needs(cls), "judged": asks_judge(cls), "broken": find_broken(cls)}
    return {**facts, "checksum": checksum} if checksum else facts


def _judge_name(task: str, dataset: Any, tool: VLMEvalKit) -> str:
    """The judge that `run.py` would name, which decides what files are called and which prompts
    some data sets take."""
    named = getattr(type(dataset), "DEFAULT_JUDGE", "gpt-4o-mini")
    return str(named if isinstance(named, str) else next(iter(named), "gpt-4o-mini"))


def _digest(data: Any) -> str:
    """SHA-256 of every cell, pictures included."""
    digest = hashlib.sha256()
    for name in data.columns:
        digest.update(f"\0{name}\0".encode())
        for cell in data[name]:
            digest.update(f"{cell}\1".encode(errors="surrogatepass"))
    return digest.hexdigest()


def _is_cell(name: Any, value: Any) -> bool:
    if str(name) in {"image", "image_path"}:
        return False
    if isinstance(value, str):
        return len(value) <= _MOST_TEXT
    return value is not None and not isinstance(value, list | dict | tuple) and as_number(value) is not None


def _is_about_data(error: BaseException) -> bool:
    """Whether an error means that files are not there, or that no network is to fetch them."""
    words = ("Failed to download", "offline", "Offline", "LocalEntryNotFound", "ConnectionError", "resolve host")
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, FileNotFoundError | ConnectionError | DataMissing):
            return True
        if any(word in f"{type(seen).__name__} {seen}" for word in words):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _keep_env_files_closed() -> None:
    """The tool reads keys from a file `.env` beside its package: it finds none."""
    with contextlib.suppress(ImportError):
        dotenv: Any = importlib.import_module("dotenv")
        dotenv.dotenv_values = lambda *given, **named: {}


def _patch(name: str, value: Any) -> None:
    """Replace a function of the tool in every module of it that has imported it by name."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("vlmeval") and name in getattr(module, "__dict__", {}):
            setattr(module, name, value)
