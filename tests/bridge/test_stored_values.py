"""Values that a peer keeps of a sample come back as they were."""

import json
import math
from collections import defaultdict
from typing import Any

import numpy
import pytest
from PIL import Image

from snellen.bridge.worker.stored_values import decode_value, encode_value


def through_json(value: Any) -> Any:
    return decode_value(json.loads(json.dumps(encode_value(value), allow_nan=False)))


@pytest.mark.parametrize(
    "value",
    [
        {"score": 1, "pred": ("A", "B"), "by": {1: "x", (2, 3): None}},
        [{"a", "b"}, frozenset({1}), b"\x00\xff"],
        {"__python__": "a key of this name"},
        defaultdict(list, {"x": [1.5, True, None]}),
        [math.inf, -math.inf],
    ],
)
def test_it_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    assert through_json(value) == value
    assert repr(through_json(value)) == repr(dict(value) if isinstance(value, defaultdict) else value)


def test_json_alone_would_change_it() -> None:
    value = {1: ("A",)}
    assert json.loads(json.dumps(value)) != value
    assert through_json(value) == value


def test_nan_comes_back() -> None:
    assert math.isnan(through_json(math.nan))


def test_values_of_numpy_keep_type_and_shape() -> None:
    back = through_json({"array": numpy.arange(6, dtype="int16").reshape(2, 3), "scalar": numpy.float32(0.1)})
    assert back["array"].dtype == numpy.int16
    assert back["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert type(back["scalar"]) is numpy.float32
    assert back["scalar"] == numpy.float32(0.1)


def test_pictures_keep_their_pixels() -> None:
    image = Image.new("RGBA", (3, 2), (1, 2, 3, 4))
    back = through_json(image)
    assert (back.mode, back.size, back.tobytes()) == (image.mode, image.size, image.tobytes())


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(TypeError, match=r"builtins\.object"):
        encode_value({"x": object()})
