"""What `snellen score` says of a file is what a hub says of it: every registered benchmark, its run
folder and each export, both ways.

The replies are ours; the rows are those of tests/benchmarks/layouts. A sample of the benchmarks is
in `make test`, all of them in `make test-release`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from snellen import evaluate, score
from snellen.api.hub_client import read_upload
from snellen.api.scored import Scored
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.secret import Secret
from snellen_hub import uploaded_replies
from snellen_hub.benchmark_data import NewBenchmark, Protocol, StoredData, scoring_file, store_data
from snellen_hub.config import SubmissionLimits
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.jobs.scoring_process import ScoringTask, _score
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import QuestionRows, Reply, check_replies, read_replies

LAYOUTS = Path(__file__).parents[3] / "tests" / "benchmarks" / "layouts"
FILES = sorted(path for path in LAYOUTS.iterdir() if path.suffix in (".tsv", ".jsonl") and ".roles" not in path.name)
SAMPLE = {"blink.tsv", "mmbench.tsv", "mmcr.tsv", "seedbench.tsv", "video-mme.tsv"}
REPLIES = ("A", "B", "Yes", "No", "The answer is C.", "42", "D")
EXPORTS = {"vlmevalkit-tsv": "v.tsv", "vlmevalkit-xlsx": "v.xlsx", "lmms-eval": "lmms-eval", "inspect": "inspect.json"}
WITHOUT_ANSWERS = {
    *("core-mm.tsv", "ifeval.tsv", "mega-bench.tsv", "mia-bench.tsv", "mllmguard.tsv", "mm-safetybench.tsv")
}
"""Some rows have no gold answer: a judge or a program grades them, and a hub refuses them."""
UNLIKE_QUESTIONS = {
    *("chartqapro.tsv", "cg-bench.tsv", "cord.jsonl", "omnidocbench.jsonl"),
    *("pixmo-points.jsonl", "refcoco.tsv", "robospatial-home.tsv"),
    *("vdc.tsv", "video-mmlu@part=captions.tsv", "vcr-wiki.tsv"),
}
"""All rows ask the same, so that `score` has only gold answers to match by, which these exports
have in the form in which they were compared, or the exports ask with the turns before; a hub goes
by its own ids."""


class Hosted(NamedTuple):
    spec: str
    data: Path
    stored: StoredData
    storage: Storage
    questions: list[QuestionRows]


def spec_of(path: Path) -> str:
    name, at, options = path.name.partition("@")
    return name.split(".")[0] + (f":{options.rsplit('.', 1)[0]}" if at else "")


def host(path: Path, folder: Path, spec: str | None = None, **settings: Any) -> Hosted:
    spec = spec_of(path) if spec is None else spec
    storage = Storage(str(folder / "storage"), Secret("a key"))
    new = NewBenchmark(name="b", title="b", data=path, spec=spec, **settings)
    stored = store_data(storage, new)
    questions = uploaded_replies.decode_questions(storage.get(stored.columns["ids"]))
    return Hosted(spec, path, stored, storage, questions)


def write_replies(hosted: Hosted, path: Path) -> Path:
    """Replies to every row, in a file of Snellen's own columns."""
    rows = [
        {"index": row, "prediction": REPLIES[(number * 7 + len(row)) % len(REPLIES)]}
        for number, question in enumerate(hosted.questions)
        for row in question.rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def written_files(hosted: Hosted, folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """Kind, name and content of what a submitter may have."""
    own = write_replies(hosted, folder / "own.jsonl")
    yield "own", own.name, own.read_bytes()
    variant = Variant(data=str(hosted.data))
    for model in (f"replay/{own}", "random"):
        # What is answered by ranking options, or turn by turn, has no recorded replies.
        runs = evaluate([model], [hosted.spec], out=folder / model[:6], html=False, variant=variant)
        if runs.runs and (upload := read_upload(runs.runs[0].path, "b", "m")).content:
            break
    (run,) = runs.runs
    yield "run folder", upload.file_name, upload.content
    for kind, name in EXPORTS.items():
        target = folder / name
        assert main(["export", "--to", kind, "-o", str(target), str(run.path)]) == 0
        found = next(target.rglob("*samples*")) if target.is_dir() else target
        yield kind, found.name, found.read_bytes()
    for path in run.path.glob("submission*"):
        yield "submission", path.name, path.read_bytes()


def numbers(scored: Scored) -> tuple[Any, ...]:
    headline = scored.summary.headline
    return (headline.value, headline.n, headline.interval, sorted((one.id, one.score or 0) for one in scored.records))


def by_score(hosted: Hosted, path: Path) -> tuple[Any, ...]:
    variant = Variant(failures="count-wrong")
    spec, data = (hosted.spec, str(hosted.data)) if hosted.spec else (str(hosted.data), None)
    return numbers(score(spec, path, data=data, variant=variant, judges=()))


def by_hub(hosted: Hosted, name: str, content: bytes, folder: Path) -> tuple[Any, ...]:
    """As the intake and a worker do it, in this process."""
    data = uploaded_replies.read_upload(msgspec.msgpack.encode((name, content, SubmissionLimits())))
    replies, problem = msgspec.msgpack.decode(data, type=uploaded_replies._Read)
    if problem:
        raise DataError(problem)
    check_replies(replies, hosted.questions)
    stored = scoring_file(hosted.storage, HostedBenchmark(**hosted.stored.columns), folder)
    lines = b"".join(msgspec.json.encode(reply) + b"\n" for reply in replies)
    (folder / "replies.jsonl").write_bytes(lines)
    task = ScoringTask(hosted.spec, Protocol(), stored.name, "replies.jsonl", "m")
    return numbers(_score(folder, task))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.name in SAMPLE else pytest.mark.release) for path in FILES],
)
def test_hub_and_score_agree_on_every_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.name in WITHOUT_ANSWERS:
        with pytest.raises(DataError, match="has no answer, so it could not be scored"):
            host(path, tmp_path)
        return
    hosted = host(path, tmp_path)
    kinds = 0
    for kind, name, content in written_files(hosted, tmp_path):
        folder = tmp_path / f"of {kind}"
        folder.mkdir()
        (folder / name).write_bytes(content)
        work = folder / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        kinds += 1
        if path.name == "mmcr.tsv" and kind != "own":
            # Its one question ends with its first wrong reply: no rotation is in the file.
            with pytest.raises(DataError, match=r"\(CircularEval\), and the file has one reply"):
                by_hub(hosted, name, content, work)
        elif path.name == "mmdu.tsv" and kind != "own":
            # A judge marks each turn of a dialogue, and a hub takes one reply to it.
            assert by_score(hosted, folder / name)[0] is None
            with pytest.raises(DataError, match="2 of 4 ids are not of this benchmark"):
                by_hub(hosted, name, content, work)
        elif path.name in UNLIKE_QUESTIONS and kind in ("lmms-eval", "inspect"):
            with pytest.raises(UsageError, match="do not say which row"):
                by_score(hosted, folder / name)
        else:
            assert by_hub(hosted, name, content, work) == by_score(hosted, folder / name), kind
    assert kinds >= 2 + len(EXPORTS)


def test_each_kind_of_file_is_read_in_the_limited_process(tmp_path: Path) -> None:
    hosted = host(LAYOUTS / "mmbench.tsv", tmp_path)
    for kind, name, content in written_files(hosted, tmp_path):
        replies = read_replies(name, content, SubmissionLimits())
        assert {reply.index for reply in replies} <= {row for question in hosted.questions for row in question.rows}, (
            kind
        )
        assert len(replies) >= len(hosted.questions), kind


def test_another_reply_gives_another_number(tmp_path: Path) -> None:
    """The control: the comparison above can fail."""
    hosted = host(LAYOUTS / "mme.tsv", tmp_path)
    replies = write_replies(hosted, tmp_path / "one.jsonl")
    other = tmp_path / "other.jsonl"
    rows = [Reply(row, "Yes") for question in hosted.questions for row in question.rows]
    other.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    assert by_score(hosted, replies) != by_score(hosted, other)
