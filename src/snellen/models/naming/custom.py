"""The user's models and benchmarks, from a Python file (`--load my_model.py`).

A model is a class or object with `answer(self, request)`, or a function of one argument called
`request`; it returns the reply's text or an `Output` and may be `async`. `identity` (a name or an
`Identity`) and `capabilities` are optional. An object or class with `answer_batch` gets batches.
A class is made when it is asked, with the options behind its name. A benchmark is a `Declaration`,
a `Benchmark`, or a function of one argument called `variant` that makes one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from snellen.core.benchmark import COORDINATES, Benchmark, BenchmarkFactory
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.models.naming.consent import allow, parse_code
from snellen.models.naming.spec import split_options


class _Offer(NamedTuple):
    """A class, object or function of a file that answers requests."""

    value: Any
    file: Path
    digest: str


class LoadedModels(Mapping[str, Model]):
    """Models of loaded files. A key is a name, or a class's name with options: `Mine:size=8`.

    A class is made when it is first asked for, and once for the same options; iterating over the
    names makes none. `models[spec]` raises UsageError for options that the class does not take.
    """

    def __init__(self) -> None:
        self._offers: dict[str, _Offer] = {}
        self._made: dict[str, Model] = {}

    def add(self, name: str, offer: _Offer) -> None:
        """Add an offer under a name, in place of one from an earlier file."""
        self._offers[name] = offer

    def update(self, other: LoadedModels) -> None:
        self._offers.update(other._offers)

    def has_option(self, name: str, option: str) -> bool:
        """Whether a class of this name takes an option of its own."""
        from snellen.models.naming.class_options import option_parameters

        offer = self._offers.get(name)
        return (
            offer is not None
            and inspect.isclass(offer.value)
            and option in {parameter.name for parameter in option_parameters(offer.value)}
        )

    def __contains__(self, spec: object) -> bool:
        return bool(self._offers) and isinstance(spec, str) and _name_of(spec) in self._offers

    def __iter__(self) -> Iterator[str]:
        return iter(self._offers)

    def __len__(self) -> int:
        return len(self._offers)

    def __getitem__(self, spec: str) -> Model:
        name = _name_of(spec)
        offer = self._offers[name]
        if spec not in self._made:
            from snellen.models.naming.coordinates import declare_space, pop_space

            options = split_options(spec)[1]
            space = ""
            if not self.has_option(name, COORDINATES):
                options, space = pop_space(options)
            self._made[spec] = declare_space(_make(offer, name, options), space)
        return self._made[spec]


class LoadedFile(NamedTuple):
    """Models and benchmarks of a file, by name."""

    models: LoadedModels
    benchmarks: dict[str, Benchmark | BenchmarkFactory]


def load_files(paths: Iterable[str | Path]) -> LoadedFile:
    """Load files; for duplicate names, the later file wins. `ORG/NAME@COMMIT` is no file, but code
    that may run (`consent`). Raises as `load_file`."""
    loaded = LoadedFile(LoadedModels(), {})
    for path in paths:
        if (code := parse_code(str(path))) is not None:
            allow(code)
            continue
        offered = load_file(path)
        loaded.models.update(offered.models)
        loaded.benchmarks.update(offered.benchmarks)
    return loaded


def load_file(path: str | Path) -> LoadedFile:
    """Import a file and collect its models and benchmarks. No class is made yet.

    Raises UsageError: no such file, an error while importing it (with its line), duplicate names,
    or no model and no benchmark.
    """
    from snellen.models.naming.user_model import answers_requests

    file = Path(path).expanduser()
    try:
        source = file.read_bytes()
    except OSError as error:
        advice = "; consent to code names the commit by its 40 digits" if "@" in str(path) else ""
        raise UsageError(f"cannot read {file}: {error.strerror or error}{advice}") from error
    digest = hashlib.sha256(source).hexdigest()
    module = _import(file, digest)
    loaded = LoadedFile(LoadedModels(), {})
    for name, value in _public(module):
        if isinstance(value, Benchmark) or _is_declaration(value):
            if value.name in loaded.benchmarks:
                raise UsageError(f"{file} offers two benchmarks {value.name!r}; rename one of them")
            loaded.benchmarks[value.name] = value
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            arguments = list(inspect.signature(value).parameters)
            if arguments == ["request"]:
                loaded.models.add(name, _Offer(value, file, digest))
            elif arguments == ["variant"]:
                loaded.benchmarks[name] = value
        elif answers_requests(value) and _is_own(value, module):
            loaded.models.add(name, _Offer(value, file, digest))
    if not loaded.models and not loaded.benchmarks:
        raise UsageError(
            f"{file} offers nothing; expected a class with answer(self, request), a function of "
            "one argument `request`, a Declaration or a Benchmark"
        )
    return loaded


def _make(offer: _Offer, name: str, options: Mapping[str, str]) -> Model:
    """The model of an offer; a class is made with its options. Raises UsageError."""
    from snellen.models.naming.class_options import instantiate
    from snellen.models.naming.user_model import user_model

    value, where = offer.value, f"{name} of {offer.file.name}"
    facts = {"revision": f"sha256:{offer.digest}"}
    if inspect.isclass(value):
        return user_model(instantiate(value, where, options), name, facts, options)
    if options:
        kind = "a function" if inspect.isfunction(value) else "an object"
        raise UsageError(
            f"{where} is {kind} and takes no options; got {', '.join(options)}; a class takes those of its __init__"
        )
    return user_model(value, name, facts)


def _name_of(spec: str) -> str:
    return split_options(spec)[0]


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether it is an object, or a class that the file itself defines rather than imports."""
    return not inspect.isclass(value) or value.__module__ == module.__name__


def _is_declaration(value: Any) -> bool:
    """Whether it is a named object that makes a benchmark of a variant."""
    if inspect.isfunction(value) or inspect.isclass(value) or not callable(value):
        return False
    return hasattr(value, "name") and list(inspect.signature(value).parameters) == ["variant"]


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
        raise UsageError(f"{file}{where} cannot be imported: {type(error).__name__}: {error}") from error
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
