"""Rows of plain values as Arrow tables: images in structs {bytes, path}, as Hugging Face data sets
have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snellen.core.errors import DataError
from snellen.data.columns import column_name, is_image_column
from snellen.data.documents import cell_text, replace_surrogates

Record = dict[str, Any]


def inferred_table(records: Sequence[Record]) -> Any:
    """An Arrow table of rows whose columns may differ. A column of values of several types becomes
    one of texts, which is what cells are read as."""
    import pyarrow as pa

    columns = dict.fromkeys(name for record in records for name in record)
    arrays = {name: _inferred_array([record.get(name) for record in records]) for name in columns}
    return pa.table(arrays)


def _inferred_array(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if any(map(_has_bytes, present)):
        are_lists = any(isinstance(value, list) for value in present)
        kind = pa.list_(image_type()) if are_lists else image_type()
        return pa.array([_as_images(value, are_lists) for value in values], kind)
    if len({type(value) for value in present}) <= 1:
        try:
            array = pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            array = None
        # Arrow fills missing keys of dicts with null, which are not cells either.
        if array is not None and (
            all(isinstance(value, dict) for value in present) or array.to_pylist() == list(values)
        ):
            return array
    texts = [None if value is None else replace_surrogates(cell_text(value)) for value in values]
    return pa.array(texts, pa.string())


def _has_bytes(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_bytes, value))
    return isinstance(value, bytes)


def _as_images(value: Any, is_list: bool) -> Any:
    if not is_list:
        return None if value is None else _image(value)
    items = value if isinstance(value, list) else [value]
    return None if value is None else [_image(item) for item in items if item is not None]


def _image(value: Any) -> dict[str, Any]:
    if isinstance(value, bytes):
        return {"bytes": value, "path": None}
    return {"bytes": None, "path": cell_text(value)}


def image_type() -> Any:
    """The Arrow type of an image: its bytes, or the name or address of a file."""
    import pyarrow as pa

    return pa.struct({"bytes": pa.binary(), "path": pa.string()})


def name_labels(record: Record, labels: Mapping[str, Sequence[str]]) -> Record:
    """The record with the names of its numbered labels, by column."""
    named = {
        column: None if (number := record[column]) is None or number < 0 else names[number]
        for column, names in labels.items()
    }
    return {**record, **named}


class KeptColumns:
    """Converts the columns of an Arrow schema to the types that are stored, batch by batch."""

    def __init__(self, schema: Any, labels: Mapping[str, Sequence[str]], our_name: Callable[[str], str]) -> None:
        """`labels` are the names of numbered labels, by column; `our_name` is what the user's map
        makes of a column."""
        import pyarrow as pa

        self._types = {
            field.name: pa.string()
            if field.name in labels
            else _kept_type(field.type, is_image_column(our_name(column_name(field.name, 0))))
            for field in schema
        }

    def table(self, records: Sequence[Record]) -> Any:
        """An Arrow table of plain records. Raises DataError if a value does not fit its column."""
        import pyarrow as pa

        arrays = {}
        for name, kind in self._types.items():
            values = [record.get(name) for record in records]
            if _holds_images(kind):
                is_list = pa.types.is_list(kind)
                values = [_as_images(value, is_list) for value in values]
            elif pa.types.is_string(kind):
                values = [None if value is None else cell_text(value) for value in values]
            try:
                arrays[name] = pa.array(values, kind)
            except pa.ArrowException as error:
                raise DataError(f"the column {name} cannot be kept: {error}") from error
        return pa.table(arrays)


def _holds_images(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_list(kind) else kind
    return bool(inner == image_type())


def _kept_type(kind: Any, is_image: bool) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _kept_type(kind.value_type, is_image)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_kept_type(kind.value_type, is_image))
    is_struct_of_image = types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    if is_struct_of_image or is_binary or (is_image and is_text):
        return image_type()
    if is_text or types.is_temporal(kind) or types.is_decimal(kind):
        return pa.string()
    return kind
