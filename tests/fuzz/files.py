"""Readers of files: tables, predictions, archives, label sheets."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from tests.data.hostile import archive
from tests.fuzz.target import Target

from snellen.analysis.parsing import unread_replies
from snellen.analysis.samples import error_samples
from snellen.benchmarks.declaration.registry import is_description
from snellen.core.errors import MediaError
from snellen.core.limits import Limits
from snellen.data.media.subtitles import read_subtitles
from snellen.data.predictions import read_predictions
from snellen.data.tables.open_table import open_table
from snellen.data.tables.seed_json import open_seed_json
from snellen.data.toml_files import read_toml
from snellen.settings import Settings

_MEMORY = Path("/dev/shm")
"""A disk would be waited for."""
_SMALL = Limits(row_mb=1, document_mb=1, member_mb=1, columns=5000, cells=100_000)


@contextmanager
def _folder() -> Iterator[Path]:
    home = str(_MEMORY) if _MEMORY.is_dir() else None
    path = Path(tempfile.mkdtemp(prefix="fuzz", dir=home))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _without_place(found: object, folder: Path) -> str:
    return repr(found).replace(str(folder), "FOLDER").replace(folder.name, "FOLDER")


def _table(name: str) -> Callable[[bytes], object]:
    """Opens a data file through the one door, and reads its rows and pictures."""

    def read(data: bytes) -> object:
        with _folder() as folder:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            spec = str(folder / "task" if path.suffix == ".txt" else path)
            try:
                table = open_table(spec, settings=Settings(cache=folder / "cache", limits=_SMALL))
                rows = [(row.cells, [_medium(ref) for ref in row.media]) for row in table]
                return _without_place((tuple(table.columns), len(table), rows), folder)
            except Exception as error:
                error.args = tuple(_without_place(one, folder) for one in error.args)
                raise

    return read


def _medium(ref: object) -> object:
    try:
        return len(ref.source.read())  # type: ignore[attr-defined]
    except MediaError as error:
        return str(error)


def _predictions(name: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        with _folder() as folder:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            spec = path.parent if path.parent != folder else path
            try:
                settings = Settings(cache=folder / "cache", limits=_SMALL)
                found = read_predictions(spec, settings=settings)
                return _without_place((found.rows, found.names(), found.replies()), folder)
            except Exception as error:
                error.args = tuple(_without_place(one, folder) for one in error.args)
                raise

    return read


def _file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def read_bytes(data: bytes) -> object:
        with _folder() as folder:
            path = folder / f"x{suffix}"
            path.write_bytes(data)
            try:
                return _without_place(read(path), folder)
            except Exception as error:
                error.args = tuple(_without_place(one, folder) for one in error.args)
                raise

    return read_bytes


def _seed_json(path: Path) -> object:
    table = open_seed_json(str(path), Settings(cache=path.parent / "cache", limits=_SMALL))
    return [(row.cells, [_medium(ref) for ref in row.media]) for row in table], table.columns


def _described(path: Path) -> object:
    return is_description(str(path)), read_toml(str(path))


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNg+M8AAAICAQCqKp4nAAAAAElFTkSuQmCC"
TSV = (
    "index\tquestion\tA\tB\tanswer\tcategory\timage\n"
    f'1\tWhich?\tred\t"two\nlines"\tA\tcolour\t{PICTURE}\n'
    f"2\tWhat?\t[1]\tblue\tB\tcolour\t1\n3\tHow?\ta\tb\tB\tc\t\"['{PICTURE}', 'x.png']\"\n"
).encode()
CSV = TSV.replace(b"\t", b",")
ROWS = [
    {"id": 1, "question": "Which?", "choices": ["a", "b"], "answer": 1, "image": PICTURE},
    {"id": "2", "question": "¿?", "options": {"A": "x", "B": "y"}, "meta": {"a": [1, {"b": 2.5}]}},
    {"id": 3.0, "prediction": "B", "answer": None, "video": "v.mp4", "start": "1", "nan": 1e400},
]
JSONL = "\n".join(json.dumps(row) for row in ROWS).encode() + b"\n"
DOCUMENTS = (
    json.dumps(ROWS).encode(),
    json.dumps({"1": "yes", "2": None, "3": 4}).encode(),
    json.dumps({"v.mp4": {"order": [{"question": "q", "prediction": "A"}]}}).encode(),
    json.dumps([{"video_id": "1", "questions": [{"question_id": "1-1", "response": "A"}]}]).encode(),
)
LMMS_EVAL = b"".join(
    json.dumps(row).encode() + b"\n"
    for row in (
        {"doc_id": 0, "target": "A", "resps": [["B"]], "filtered_resps": ["B"], "doc": {"id": 7}},
        {
            "doc_id": 1,
            "target": "answer",
            "resps": [[[-1.5, True]], [[-2, False]]],
            "filtered_resps": [[-1.5, "True"], [-2, "False"]],
            "arguments": [["What?"]],
            "mme_score": {"question_id": "a", "category": "c", "gt_answer": "Yes"},
        },
    )
)
SAMPLE = json.dumps(
    {
        "id": 1,
        "epoch": 1,
        "input": [{"role": "user", "content": [{"type": "text", "text": "?"}]}],
        "choices": ["a", "b"],
        "target": ["A"],
        "metadata": {"level": 1},
        "attachments": {"x": "long"},
        "output": {"choices": [{"message": {"content": "attachment://x"}, "stop_reason": "stop"}]},
    }
).encode()
INSPECT = json.dumps(
    {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [json.loads(SAMPLE)]}
).encode()
SEED = json.dumps(
    {
        "questions": [
            {
                "question_id": "1",
                "question": "Q <img>?",
                "choice_a": "x",
                "choice_b": "y",
                "data_id": ["a.png", "v.mp4"],
            }
        ],
        "question_type": {"Scene": 1},
    }
).encode()
MME = b"a.jpg\tIs it?\tYes\tyes\na.jpg\tIs it not?\tNo\tno\n"


def _workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("index", "question", "prediction", "A"), (1, "Which?", "A", 2.5), (2, "?", None, True)):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _parquet() -> bytes:
    rows = {
        "index": [1, 2],
        "question": ["a", "b"],
        "prediction": ["A", None],
        "image": [{"bytes": b"\x89PNG", "path": None}, {"bytes": None, "path": "x.png"}],
        "choices": [["x", "y"], []],
    }
    out = io.BytesIO()
    pq.write_table(pa.table(rows), out, compression="none")
    return out.getvalue()


XLSX, PARQUET = _workbook(), _parquet()
ARCHIVE = archive({"header.json": b"{}", "samples/1_epoch_1.json": SAMPLE}, 0)
PACKED = archive({"samples/1_epoch_1.json": SAMPLE})
SHEET = b"id,pass,question,options,reply,label\r\n1,0,Which?,A. x,\"'=1\",B\r\n'=2,1,?,,,\r\n"
ERROR_SHEET = b"run,model,sample,subtask,labels,note,labeller\r\nr,m,1,s,perception;reasoning,n,me\r\n"
SRT = b"1\n00:00:01,000 --> 00:00:02,500\nHello <b>there</b>\n\n2\n00:00:03,000 --> 00:00:04,000\n&amp;\n"
TOML = b'name = "x"\nversion = "1"\n[columns]\nid = "uid"\n[[more]]\na = [1, 2.5, 1979-05-27]\n'
_JSON = (b'"id":', b'"prediction":', b'"answer":', b'"questions":', b'"error":', b'"choices":', b"1e400")

TARGETS: tuple[Target, ...] = (
    Target("table-tsv", _table("x.tsv"), (TSV,), (b"data:image/png;base64,", b"image_path")),
    Target("table-csv", _table("x.csv"), (CSV,), (b"index", b"video")),
    Target("table-jsonl", _table("x.jsonl"), (JSONL,), _JSON),
    Target("table-json", _table("x.json"), DOCUMENTS, _JSON),
    Target("table-xlsx", _table("x.xlsx"), (XLSX,), (b"<c r=", b"</row>", b"PK\x01\x02")),
    Target("table-parquet", _table("x.parquet"), (PARQUET,), (b"PAR1",)),
    Target("table-gz", _table("x.tsv.gz"), (gzip.compress(TSV, mtime=0),), (b"\x1f\x8b\x08",)),
    Target("mme-folder", _table("task/questions_answers_YN/1.txt"), (b"Is it?\tYes\nNot?\tNo\n",)),
    Target("predictions-tsv", _predictions("x.tsv"), (TSV.replace(b"category", b"prediction"),)),
    Target("predictions-csv", _predictions("x.csv"), (CSV.replace(b"category", b"prediction"),)),
    Target("predictions-jsonl", _predictions("x.jsonl"), (JSONL,), _JSON),
    Target("predictions-json", _predictions("x.json"), (*DOCUMENTS, MME, JSONL), _JSON),
    Target("predictions-xlsx", _predictions("x.xlsx"), (XLSX,)),
    Target("predictions-parquet", _predictions("x.parquet"), (PARQUET,)),
    Target("predictions-gz", _predictions("x.jsonl.gz"), (gzip.compress(JSONL, mtime=0),)),
    Target("lmms-eval", _predictions("x.jsonl"), (LMMS_EVAL,), (b'"doc":', b'"resps":', *_JSON)),
    Target("inspect-archive", _predictions("x.eval"), (ARCHIVE, PACKED), (b"PK\x03\x04", b"\x5d\0")),
    Target("inspect-json", _predictions("x.json"), (INSPECT,), (b'"output":', b'"samples":', *_JSON)),
    Target("mme-results", _predictions("task/x.txt"), (MME,)),
    Target("seed-questions", _file(".json", _seed_json), (SEED,), (b'"data_id":', b'"choice_c":')),
    Target("toml", _file(".toml", _described), (TOML,), (b"[[", b"]]", b"=", b'"""')),
    Target("label-sheet", _file(".csv", unread_replies.read_labels), (SHEET,)),
    Target("error-sheet", _file(".csv", error_samples.read_error_labels), (ERROR_SHEET,)),
    Target("error-labels", _file(".json", error_samples.read_error_labels), (b"{}",)),
    Target("subtitles", _file(".srt", lambda path: read_subtitles(str(path))), (SRT,)),
)
