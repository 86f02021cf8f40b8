"""Stand-ins for packages of a tool that are not installed.

They let the tool be imported, and nothing else: once it is, a call that uses one raises `Needs`, and
`watch` raises it again where the tool has caught that. So no number comes out of a stand-in.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .main import Needs


class _Absent:
    """Any name of a package that is not installed. While the tool is imported it may be subclassed
    and decorate; once a call uses it, the call ends with `Needs`."""

    package = ""

    def __new__(cls, *given: object, **named: object) -> Any:
        if STAND_INS.is_sealed:
            STAND_INS.used.add(cls.package)
            raise Needs(f"the package {cls.package!r} is not installed, and this task uses it")
        if len(given) == 1 and not named and isinstance(given[0], type | types.FunctionType):
            return given[0]
        return object.__new__(cls)

    def __init__(self, *given: object, **named: object) -> None:
        pass

    def __call__(self, *given: object, **named: object) -> Any:
        return type(self)(*given, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(name, self.package)


def _absent(name: str, package: str) -> Any:
    return type(name, (_Absent,), {"package": package})


class _AbsentModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = {} if self.__name__ in STAND_INS.tables else _absent(name, self.__name__.partition(".")[0])
        setattr(self, name, made)
        return made


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes packages importable that are not there, so that data sets without a need of them can be
    used. Only packages whose absence ends the tool's import get one."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.tables: set[str] = set()
        """Modules whose names are empty tables."""
        self.used: set[str] = set()
        self.is_sealed = False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if any(fullname == name or fullname.startswith(f"{name}.") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


STAND_INS = StandIns()


def import_tool(title: str, modules: Sequence[str], package: str, models: Iterable[str]) -> None:
    """Import modules of a tool. What their import lacks gets stand-ins, and so do parts of the tool
    that load `models` of its own, whose tables of names are empty. Raises Needs."""
    STAND_INS.tables = set(models)
    STAND_INS.names = set(models)
    sys.meta_path.insert(0, STAND_INS)
    while True:
        try:
            for module in modules:
                importlib.import_module(module)
            break
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing in {"", package} | STAND_INS.names:
                raise Needs(f"{title} cannot be imported: {error}") from error
            STAND_INS.names.add(missing)
    STAND_INS.is_sealed = True


def absent_packages() -> list[str]:
    """Packages that have a stand-in."""
    return sorted(STAND_INS.names - STAND_INS.tables)


@contextlib.contextmanager
def watch() -> Iterator[None]:
    """Raise Needs if what ran used a package that is not there, even if the tool caught that."""
    STAND_INS.used.clear()
    yield
    if STAND_INS.used:
        names = ", ".join(sorted(STAND_INS.used))
        raise Needs(f"the package {names} is not installed, and this task uses it")
