"""Answers that `snellen curate publish` kept back, joined to the questions that it published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from snellen.core.errors import DataError, UsageError
from snellen.data_sets.items import ItemTable, item_record, open_items
from snellen.data_sets.sealing import DATA_FOLDER, HELD_OUT, PUBLICATION_FILE, SealedAnswers, open_sealed, read_key
from snellen_hub.samples.media import named_media

_EXAMPLES = 3


def find_held_out(data: Path) -> Path:
    """The held-out questions of a publication, if `data` is its folder; else `data` itself.

    Raises UsageError for another folder.
    """
    if not data.is_dir():
        return data
    file = data / DATA_FOLDER / f"{HELD_OUT}.parquet"
    if (data / PUBLICATION_FILE).is_file() and file.is_file():
        return file
    raise UsageError(
        f"{data} is no publication with held-out questions; give the folder that snellen curate "
        f"publish wrote, or its file {DATA_FOLDER}/{HELD_OUT}.parquet"
    )


def join_answers(questions: Path, answers: Path, key_file: Path | None) -> bytes:
    """The complete data as JSON Lines with the names of their pictures: published questions with
    the answers kept back. The key is that of `key_file`, else of the environment.

    Raises UsageError without the key, DataError if the answers are not those of these questions.
    """
    sealed = open_sealed(answers, read_key(key_file))
    table = open_items(questions)
    _check_match(table, questions, sealed, answers)
    return b"".join(_encode(record) + b"\n" for record in _join_records(table, sealed))


def _join_records(table: ItemTable, sealed: SealedAnswers) -> Iterator[dict[str, object]]:
    for item in table:
        sample = msgspec.structs.replace(item.sample, gold=sealed.answers[item.id])
        yield item_record(msgspec.structs.replace(item, sample=sample)) | named_media(sample.media)


def _check_match(table: ItemTable, questions: Path, sealed: SealedAnswers, answers: Path) -> None:
    """Raises DataError if questions and answers do not belong together."""
    items = list(table)
    named = next((item.id for item in items if item.sample.gold), None)
    if named is not None:
        raise DataError(
            f"{questions}: item {named} has an answer, so these are not the questions whose answers {answers} holds"
        )
    ids = {item.id for item in items}
    missing = sorted(ids - sealed.answers.keys()) or sorted(sealed.answers.keys() - ids)
    if missing:
        raise DataError(
            f"{answers} is not of these questions: {len(ids):,} questions and "
            f"{len(sealed.answers):,} answers, and the ids differ, such as "
            f"{', '.join(map(repr, missing[:_EXAMPLES]))}; give the file "
            f"{DATA_FOLDER}/{HELD_OUT}.parquet of {sealed.header.benchmark}, release "
            f"{sealed.header.release}"
        )
    if questions.suffix == ".parquet":
        with questions.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sealed.header.questions:
            raise DataError(
                f"{questions} was changed after its answers were sealed: its SHA-256 is "
                f"{digest[:16]}..., expected {sealed.header.questions[:16]}..."
            )


_encode = msgspec.json.Encoder().encode
