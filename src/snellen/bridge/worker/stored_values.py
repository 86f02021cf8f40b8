"""Python values as JSON and back, the same value with the same types.

What a peer keeps of a sample for its aggregation is stored between runs. JSON alone would make lists
of tuples and texts of whole-number keys, and peers' formulas tell these apart.
"""

from __future__ import annotations

import base64
import datetime
import importlib
import math
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

_TAG = "__python__"


def encode_value(value: Any) -> Any:
    """The value as JSON. Raises TypeError, which names the type, for what cannot be stored."""
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
    if type(value) is list:
        return [encode_value(one) for one in value]
    if type(value) in (dict, defaultdict, OrderedDict):
        return _encode_mapping(value)
    if type(value) in (tuple, set, frozenset):
        members = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return {_TAG: type(value).__name__, "value": [encode_value(one) for one in members]}
    if isinstance(value, bytes):
        return {_TAG: "bytes", "value": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {_TAG: "datetime", "value": value.isoformat()}
    return _encode_of_library(value)


def _encode_mapping(value: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value) and _TAG not in value:
        return {key: encode_value(one) for key, one in value.items()}
    return {_TAG: "dict", "value": [[encode_value(key), encode_value(one)] for key, one in value.items()]}


def _encode_of_library(value: Any) -> Any:
    """Values of numpy, torch and PIL, of which none is imported for this."""
    numpy, torch, pil = sys.modules.get("numpy"), sys.modules.get("torch"), sys.modules.get("PIL.Image")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        if value.dtype.hasobject:
            raise TypeError("an array of numpy with objects cannot be stored")
        data = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
        scalar = isinstance(value, numpy.generic)
        return {_TAG: "numpy", "value": data, "dtype": str(value.dtype), "shape": list(value.shape), "scalar": scalar}
    if torch is not None and isinstance(value, torch.Tensor):
        return {_TAG: "torch", "value": encode_value(value.detach().cpu().numpy())}
    if pil is not None and isinstance(value, pil.Image):
        data = base64.b64encode(value.tobytes()).decode()
        palette = value.getpalette() if value.mode == "P" else None
        return {_TAG: "picture", "value": data, "mode": value.mode, "size": list(value.size), "palette": palette}
    for kind in (str, bool, int, float):
        # Subclasses of these, such as texts of a library: their value is what formulas use.
        if isinstance(value, kind):
            return encode_value(kind(value))
    raise TypeError(f"a value of the type {type(value).__module__}.{type(value).__qualname__} cannot be stored")


def decode_value(value: Any) -> Any:
    """The value that `encode_value` was given."""
    if isinstance(value, list):
        return [decode_value(one) for one in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: decode_value(one) for key, one in value.items()}
    return _DECODERS[value[_TAG]](value)


def _decode_numpy(value: dict[str, Any]) -> Any:
    numpy = importlib.import_module("numpy")
    array = numpy.frombuffer(base64.b64decode(value["value"]), dtype=value["dtype"]).reshape(value["shape"])
    return array[()] if value["scalar"] else array.copy()


def _decode_picture(value: dict[str, Any]) -> Any:
    image = importlib.import_module("PIL.Image").frombytes(
        value["mode"], tuple(value["size"]), base64.b64decode(value["value"])
    )
    if value["palette"] is not None:
        image.putpalette(value["palette"])
    return image


def _decode_members(value: dict[str, Any]) -> list[Any]:
    return [decode_value(one) for one in value["value"]]


_DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "float": lambda value: float(value["value"]),
    "tuple": lambda value: tuple(_decode_members(value)),
    "set": lambda value: set(_decode_members(value)),
    "frozenset": lambda value: frozenset(_decode_members(value)),
    "dict": lambda value: {decode_value(key): decode_value(one) for key, one in value["value"]},
    "bytes": lambda value: base64.b64decode(value["value"]),
    "datetime": lambda value: datetime.datetime.fromisoformat(value["value"]),
    "numpy": _decode_numpy,
    "torch": lambda value: importlib.import_module("torch").from_numpy(decode_value(value["value"])),
    "picture": _decode_picture,
}
