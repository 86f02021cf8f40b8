"""Import a checkout whose heavy dependencies are not installed.

Evaluation code of a toolkit often sits in packages that import torch, decord or cloud clients at
the top. `install` makes the missing ones among the named packages importable as empty stand-ins, so
that pure scoring functions run without them. After `seal`, a scoring function that really uses a
stand-in fails loudly.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

_loading = True


class _Unusable:
    """Stands for any name of a missing package. While modules load it may be called, decorate and
    be subclassed; after `seal` a call raises, so that no verdict can come out of a stand-in."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        if not _loading:
            raise RuntimeError(f"{cls.__name__} belongs to a package that is not installed")
        if len(args) == 1 and not kwargs and isinstance(args[0], type | types.FunctionType):
            return args[0]
        return object.__new__(cls)

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return type(self)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Unusable,), {})()


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (_Unusable,), {})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not any(fullname == name or fullname.startswith(f"{name}.") for name in self.names):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


def install(*names: str) -> None:
    """Replace packages by stand-ins: top-level ones that are not installed, and dotted ones (a part
    of the checkout itself that scoring does not need) in any case."""
    replaced = frozenset(name for name in names if "." in name or importlib.util.find_spec(name) is None)
    sys.meta_path.insert(0, _Finder(replaced))


def seal() -> None:
    """From now on calling a stand-in raises RuntimeError."""
    global _loading
    _loading = False
