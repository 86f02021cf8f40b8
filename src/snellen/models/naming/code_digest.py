"""A digest of a function or object that was handed over in code, for the identity of its replies.

It covers the source of the function, of the user's functions and classes that it calls, and the
values that they use: defaults, closures, arguments of a partial, globals, attributes of an
instance; of torch modules and arrays the content. What a library defines counts by its name. An
object whose content cannot be read, such as a connection, counts as itself: the digest is then
valid in this process only, so that another object of the same name never gets its replies.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import inspect
import itertools
import json
import logging
import re
import secrets
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from snellen.core.user_code import is_users_file

_PLAIN = (type(None), bool, int, float, complex, str, bytes, PurePath)
_PROCESS = secrets.token_hex(4)
_numbers = itertools.count(1)
_numbered: dict[int, tuple[weakref.ref[Any], int]] = {}
"""By id: an object that was counted as itself, and its number in this process."""


class CodeDigest(NamedTuple):
    """SHA-256 (hex) of code and values, and what among them counts as itself, by name and type."""

    digest: str
    opaque: tuple[str, ...]


def digest_code(value: object) -> CodeDigest:
    """The digest of a function, a partial, a bound method or an instance of the user's class."""
    reader = _Reader()
    digest = hashlib.sha256("\0".join(reader.read(value, "it")).encode())
    return CodeDigest(digest.hexdigest(), tuple(dict.fromkeys(reader.opaque)))


class _Reader:
    """Reads values as texts whose digest is stable across processes."""

    def __init__(self) -> None:
        self.opaque: list[str] = []
        self._seen: dict[int, object] = {}
        """Functions, classes and objects that were read, by id; kept alive meanwhile."""

    def read(self, value: object, name: str) -> Iterator[str]:
        """Texts that represent a value; `name` is its name in the code that uses it."""
        if isinstance(value, enum.Enum) or inspect.isclass(value) or isinstance(value, ModuleType):
            yield from self._read_definition(value)
        elif isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r}"
        elif isinstance(value, tuple | list):
            yield f"{type(value).__name__} {len(value)}"
            for item in value:
                yield from self.read(item, name)
        elif isinstance(value, set | frozenset):
            yield f"set {len(value)}"
            yield from sorted("\0".join(self.read(item, name)) for item in value)
        elif isinstance(value, dict):
            yield f"dict {len(value)}"
            yield from sorted(
                "\0".join([*self.read(key, name), *self.read(item, name)])
                # Of the dict itself: a class of the user may answer otherwise, or not at all.
                for key, item in dict.items(value)
            )
        elif id(value) in self._seen:
            yield f"again {type(value).__name__}"
        else:
            self._seen[id(value)] = value
            yield from self._read_object(value, name)

    def _read_object(self, value: Any, name: str) -> Iterator[str]:
        """Texts of a value that is not plain data: code, modules, instances, objects of libraries.
        An object of unknown content is represented by a number."""
        if isinstance(value, functools.partial):
            yield "partial"
            yield from self.read(value.func, name)
            yield from self.read(value.args, f"an argument of {name}")
            yield from self.read(dict(value.keywords), f"an argument of {name}")
        elif isinstance(value, MethodType):
            yield from self.read(value.__func__, name)
            yield from self.read(value.__self__, "self")
        elif isinstance(value, FunctionType):
            yield from self._read_function(value)
        elif isinstance(value, BuiltinFunctionType):
            yield f"builtin {value.__module__}.{value.__qualname__}"
        elif isinstance(value, re.Pattern):
            yield f"pattern {value.pattern!r} {value.flags}"
        elif isinstance(value, Struct):
            yield f"struct {type(value).__qualname__}"
            yield from self.read(asdict(value), name)
        elif isinstance(value, logging.Logger):
            yield "logger"
        elif isinstance(inner := inspect.getattr_static(value, "__wrapped__", None), FunctionType):
            # A decorator of a library, such as functools.cache.
            yield from self.read(inner, name)
        elif (content := content_of(value)) is not None:
            yield content
            if _is_users_class(type(value)):
                # A module defined by the user: its code, and its settings in addition to the
                # weights.
                yield from self._read_definition(type(value))
                yield from self.read(_plain_attributes(value), name)
        elif _is_users_class(type(value)):
            yield from self._read_definition(type(value))
            yield from self.read(_attributes(value), f"an attribute of {type(value).__name__}")
        else:
            kind = type(value)
            self.opaque.append(f"{name} ({kind.__module__}.{kind.__qualname__})")
            yield f"object {kind.__module__}.{kind.__qualname__} {_PROCESS}-{_number(value)}"

    def _read_definition(self, value: Any) -> Iterator[str]:
        """A class of the user by its methods and attributes; of a library, or a module, by name."""
        if isinstance(value, enum.Enum):
            yield f"enum {type(value).__qualname__}.{value.name} {value.value!r}"
        elif isinstance(value, ModuleType):
            yield f"module {value.__name__}"
        elif not _is_users_class(value) or id(value) in self._seen:
            yield f"class {value.__module__}.{value.__qualname__}"
        else:
            self._seen[id(value)] = value
            yield f"class {value.__qualname__}"
            for base in value.__bases__:
                yield from self._read_definition(base)
            for name, member in sorted(vars(value).items()):
                function = _function_of(member)
                if function is not None:
                    yield name
                    yield from self.read(function, name)
                elif not (name.startswith(("__", "_abc_")) or inspect.isdatadescriptor(member)):
                    yield name
                    yield from self.read(member, f"{value.__name__}.{name}")

    def _read_function(self, function: FunctionType) -> Iterator[str]:
        """Texts of a function: its source, and the defaults, closure and globals that it uses. A
        function of a library is represented by its name."""
        code = function.__code__
        if not is_users_file(code.co_filename):
            yield f"function {function.__module__}.{function.__qualname__}"
            return
        source = _source(function)
        # Several lambdas may share a line, and thus a source.
        is_lambda = function.__name__ == "<lambda>"
        yield source if source and not is_lambda else "\0".join([source, *_code_texts(code)])
        yield from self.read(function.__defaults__, f"a default of {function.__name__}")
        yield from self.read(function.__kwdefaults__, f"a default of {function.__name__}")
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            yield name
            try:
                yield from self.read(cell.cell_contents, name)
            except ValueError:  # not assigned yet
                yield "empty"
        for name in sorted(_names_used(code)):
            if name in function.__globals__:
                yield name
                yield from self.read(function.__globals__[name], name)


def _source(function: Callable[..., Any]) -> str:
    """The source text; "" where it cannot be read, as for code of `exec`."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def _code_texts(code: CodeType) -> Iterator[str]:
    """The byte code with its constants and names, and those of the functions inside it."""
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_texts(constant)
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant)))
        else:
            yield repr(constant)


def _names_used(code: CodeType) -> set[str]:
    """Names that the code reads from globals, also in functions inside it."""
    own = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return own.union(*map(_names_used, inner))


def _function_of(member: object) -> object:
    """The function of a method, property or descriptor in a class's namespace; None if none."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return member if isinstance(member, FunctionType) else None


def _attributes(value: object) -> dict[str, object]:
    """Attributes of an instance, those in slots included."""
    slots: Iterable[str] = itertools.chain.from_iterable(
        (names,) if isinstance(names, str) else names
        for kind in type(value).__mro__
        if (names := vars(kind).get("__slots__"))
    )
    in_slots = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    own = inspect.getattr_static(value, "__dict__", None)
    return {**in_slots, **(getattr(value, "__dict__", {}) if own is not None else {})}


def _plain_attributes(value: object) -> dict[str, object]:
    return {name: each for name, each in vars(value).items() if isinstance(each, _PLAIN) and not name.startswith("_")}


def _is_users_class(kind: type) -> bool:
    """Whether a class is defined in a file of the user: by its methods, since classes of notebook
    cells have no file of their own."""
    functions = (_function_of(member) for member in vars(kind).values())
    files = [f.__code__.co_filename for f in functions if isinstance(f, FunctionType)]
    if files:
        return any(map(is_users_file, files))
    try:
        return is_users_file(inspect.getfile(kind))
    except (OSError, TypeError):
        return kind.__module__ == "__main__"


def _number(value: object) -> int:
    """A number for an object that is unique in this process, also after the object is freed."""
    reference, number = _numbered.get(id(value), (None, 0))
    if reference is not None and reference() is value:
        return number
    number = next(_numbers)
    # Without weak references, the next object at this address could not be distinguished, so the
    # number is valid for this call only.
    with suppress(TypeError):
        _numbered[id(value)] = (weakref.ref(value), number)
    return number


def inherits(value: object, library: str, *names: str) -> bool:
    """Whether a class of the library with one of the names is among the bases of its class."""
    return any(base.__name__ in names and library_of(base) == library for base in type(value).__mro__)


def library_of(kind: type) -> str:
    """The top-level package that defines a class."""
    return kind.__module__.partition(".")[0]


def unwrap_module(value: Any) -> Any:
    """The module inside the wrappers of torch.compile and of distributed training."""
    while library_of(type(value)) == "torch":
        inner = getattr(value, "_orig_mod", None) or getattr(value, "module", None)
        if inner is None:
            break
        value = inner
    return value


def content_of(value: Any) -> str | None:
    """A text that stands for the content of an object, the same in every process; None if its
    content is unknown. Raises UsageError for weights that are not in this process."""
    if inherits(value, "torch", "Module"):
        from snellen.models.hf.weights_digest import combine_hashes, hash_weights

        # Its configuration, where it is a model of transformers: attributes may change replies too.
        settings = _settings_text(getattr(value, "config", None)) or ""
        return f"weights {combine_hashes(hash_weights(value))} {settings}"
    if inherits(value, "torch", "Tensor"):
        from snellen.models.hf.weights_digest import hash_tensors

        return f"tensor {hash_tensors([value])}"
    if inherits(value, "torch", "device", "dtype"):
        return str(value)
    if inherits(value, "transformers", "ProcessorMixin", "PreTrainedTokenizerBase"):
        from snellen.models.hf.processor import processor_digest

        return f"processor {processor_digest(value)}"
    if inherits(value, "numpy", "ndarray") and value.dtype.kind != "O":
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return f"array {value.dtype.str} {value.shape} {digest}"
    if inherits(value, "openai", "OpenAI", "AsyncOpenAI"):
        return f"client of {value.base_url}"
    return _settings_text(value) if library_of(type(value)) == "transformers" else None


def _settings_text(value: Any) -> str | None:
    """A configuration or image processor of transformers as JSON; None for anything else."""
    if not inherits(value, "transformers", "PushToHubMixin") or not hasattr(value, "to_dict"):
        return None
    settings = value.to_dict()
    return f"{type(value).__name__} {json.dumps(settings, sort_keys=True, default=str)}"
