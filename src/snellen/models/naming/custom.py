"""The user's models and benchmarks, from a Python file (`--load my_model.py`).

A model is a class or object with `answer(self, request)`, or a function of one argument called
`request`; it returns the reply's text or an `Output` and may be `async`. `identity` (a name or an
`Identity`) and `capabilities` are optional. An object or class with `answer_batch` gets batches.
A benchmark is a `Declaration`, a `Benchmark`, or a function of one argument called `variant` that
makes one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from snellen.core.benchmark import Benchmark, BenchmarkFactory
from snellen.core.errors import UsageError
from snellen.core.model import BatchModel, Capabilities, Identity, Model, ModelDefaults

_ANSWER_METHODS = ("answer", "answer_batch")


class LoadedFile(NamedTuple):
    """Models and benchmarks of a file, by name."""

    models: dict[str, Model]
    benchmarks: dict[str, Benchmark | BenchmarkFactory]


class UserModel(ModelDefaults):
    """A model from a user's `answer`, which may be async."""

    def __init__(self, answer: Any, identity: Identity, capabilities: Capabilities) -> None:
        self.answer = answer
        self.identity = identity
        self.capabilities = capabilities
        self.concurrency = getattr(getattr(answer, "__self__", None), "concurrency", 8)


class UserBatchModel(ModelDefaults):
    """A model from a user's `answer_batch`."""

    def __init__(self, owner: Any, identity: Identity, capabilities: Capabilities) -> None:
        self.answer_batch = owner.answer_batch
        self.identity = identity
        self.capabilities = capabilities
        self.batch_size: int = getattr(owner, "batch_size", 8)


def load_files(paths: Iterable[str | Path]) -> LoadedFile:
    """Load files; for duplicate names, the later file wins. Raises as `load_file`."""
    loaded = LoadedFile({}, {})
    for path in paths:
        offered = load_file(path)
        loaded.models.update(offered.models)
        loaded.benchmarks.update(offered.benchmarks)
    return loaded


def load_file(path: str | Path) -> LoadedFile:
    """Import a file and collect its models and benchmarks.

    Raises UsageError: no such file, an error while importing it (with its line), a class that
    cannot be made without arguments, duplicate names, or no model and no benchmark.
    """
    file = Path(path).expanduser()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error
    digest = hashlib.sha256(source).hexdigest()
    module = _import(file, digest)
    loaded = LoadedFile({}, {})
    for name, value in _public(module):
        if isinstance(value, Benchmark) or _is_declaration(value):
            _add(loaded.benchmarks, value.name, value, file)
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            arguments = list(inspect.signature(value).parameters)
            if arguments == ["request"]:
                _add(loaded.models, name, wrap(value, name, digest), file)
            elif arguments == ["variant"]:
                _add(loaded.benchmarks, name, value, file)
        elif not inspect.isclass(value) and answers_requests(value):
            _add(loaded.models, name, wrap(value, name, digest), file)
    instance_types = {type(value) for _, value in _public(module)}
    for name, value in _public(module):
        own = inspect.isclass(value) and value.__module__ == module.__name__
        if own and value not in instance_types and answers_requests(value):
            _add(loaded.models, name, wrap(_instantiate(value, file), name, digest), file)
    if not loaded.models and not loaded.benchmarks:
        raise UsageError(
            f"{file} offers nothing; expected a class with answer(self, request), a function of "
            "one argument `request`, a Declaration or a Benchmark"
        )
    return loaded


def _is_declaration(value: Any) -> bool:
    """Whether it is a named object that makes a benchmark of a variant."""
    if inspect.isfunction(value) or inspect.isclass(value) or not callable(value):
        return False
    return hasattr(value, "name") and list(inspect.signature(value).parameters) == ["variant"]


def wrap(value: Any, name: str, digest: str) -> Model:
    """A model from a user's function or object; without an identity, name and file are used."""
    identity = getattr(value, "identity", name)
    capabilities = getattr(value, "capabilities", None) or Capabilities()
    if not isinstance(identity, Identity):
        identity = Identity("custom", str(identity), {"revision": f"sha256:{digest}"})
    if isinstance(value, BatchModel):
        return value
    if hasattr(value, "answer_batch"):
        return UserBatchModel(value, identity, capabilities)
    return UserModel(getattr(value, "answer", value), identity, capabilities)


def _import(file: Path, digest: str) -> ModuleType:
    """Import a file under a name of its own, with its folder importable. Raises UsageError."""
    name = f"snellen_loaded_{file.stem}_{digest[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file; expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    sys.modules[name] = module
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        where = _line_clause(error, file)
        raise UsageError(
            f"{file}{where} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(folder)
    return module


def _line_clause(error: BaseException, file: Path) -> str:
    """`, line N,` for the last line of the file in the traceback; "" if there is none."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}," if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    here = file.resolve()
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == here]
    return f", line {lines[-1]}," if lines else ""


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in vars(module).items() if not name.startswith("_"))


def answers_requests(value: object) -> bool:
    """Whether an object, or the instances of a class, answer requests."""
    return any(callable(getattr(value, method, None)) for method in _ANSWER_METHODS)


def _instantiate(kind: type, file: Path) -> object:
    try:
        return kind()
    except TypeError as error:
        raise UsageError(
            f"{file}: the class {kind.__name__} cannot be made without arguments ({error}); give "
            "its arguments defaults, or put an object of it into the file"
        ) from error


def _add(registered: dict[str, Any], name: str, value: object, file: Path) -> None:
    if name in registered:
        raise UsageError(f"{file} offers two things called {name!r}; rename one of them")
    registered[name] = value
