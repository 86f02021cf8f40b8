"""Data sets of ModelScope: fetched, kept, found offline, refused in one sentence."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from modelscope_server import ModelScope
from PIL import Image

from snellen.cli.main import main
from snellen.core.errors import DataError, UsageError
from snellen.data import modelscope
from snellen.data.download import RemoteFile
from snellen.data.modelscope import RepositoryFile, fetch_dataset, list_files, with_modelscope
from snellen.data.tables import hub
from snellen.data.tables.open_table import open_table
from snellen.settings import Settings

NOBODY = "http://127.0.0.1:9"
"""Port 9 (discard): nothing listens there."""
COLOURS = ("red", "blue", "green")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set as its authors publish it: Parquet by split, pictures inside."""
    from datasets import Dataset, Features, Value
    from datasets import Image as ImageFeature

    folder = tmp_path_factory.mktemp("colours")
    names = ("index", "question", "A", "B", "answer")
    features = Features({name: Value("string") for name in names} | {"image": ImageFeature()})
    (folder / "data").mkdir()
    for split, count in (("train", 1), ("test", 3)):
        rows = []
        for number in range(count):
            out = io.BytesIO()
            Image.new("RGB", (8, 8), COLOURS[number]).save(out, "PNG")
            cells = (f"{split}-{number}", "Which colour?", COLOURS[number], "pink", "A")
            image = {"bytes": out.getvalue(), "path": None}
            rows.append(dict(zip(names, cells, strict=True)) | {"image": image})
        path = folder / "data" / f"{split}-00000-of-00001.parquet"
        Dataset.from_list(rows, features=features).to_parquet(path)
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\nColours.\n")
    (folder / "pictures.zip").write_bytes(b"not a table")
    return folder


@pytest.fixture
def server(published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelScope]:
    with ModelScope({"acme/colours": published}) as running:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", running.url)
        monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        yield running
    for kept in (hub.open_arrow, hub.with_split, hub.read_description, hub._modelscope_folder):
        kept.cache_clear()


def test_a_data_set_is_opened_with_its_pictures(server: ModelScope) -> None:
    table = open_table("modelscope://acme/colours?split=test")
    rows = list(table)
    assert [row.cells["index"] for row in rows] == ["test-0", "test-1", "test-2"]
    pictures = [Image.open(io.BytesIO(row.media[0].source.read())) for row in rows]
    assert [picture.getpixel((0, 0)) for picture in pictures] == [(255, 0, 0), (0, 0, 255), (0, 128, 0)]
    assert not any("zip" in path for path in server.asked)


def test_the_hub_is_replaced_by_a_setting(
    server: ModelScope, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hf://` names lead to ModelScope, and the digest of the data is the same."""
    monkeypatch.setenv("SNELLEN_USE_MODELSCOPE", "1")
    table = open_table("hf://acme/colours?split=test")
    assert table.digest == open_table("modelscope://acme/colours?split=test").digest
    assert main(["data", "pull", "hf://acme/colours?split=test"]) == 0
    assert "3 rows" in capsys.readouterr().out
    assert main(["run", "-m", "random", "-b", "hf://acme/colours?split=test", "-q", "--no-html"]) == 0


def test_fetched_data_set_is_reused_and_works_offline(server: ModelScope, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_environment()
    folder = fetch_dataset("acme/colours", None, settings)
    first = len(server.asked)
    assert first == 1 + 3, "a page of the list, two tables and the card"
    assert fetch_dataset("acme/colours", "main", settings) == folder
    assert len(server.asked) == first + 1, "the list alone"
    for name, value in (("MODELSCOPE_ENDPOINT", NOBODY), ("HF_HUB_OFFLINE", "1")):
        monkeypatch.setenv(name, value)
        assert fetch_dataset("acme/colours", None, Settings.from_environment()) == folder
    assert len(server.asked) == first + 1


def test_a_changed_file_is_fetched_anew(server: ModelScope, tmp_path: Path) -> None:
    table = tmp_path / "mine" / "rows.jsonl"
    table.parent.mkdir()
    server.data["acme/rows"] = table.parent
    settings = Settings.from_environment()
    for content in ('{"a": 1}\n', '{"a": 2}\n'):
        table.write_text(content)
        assert (fetch_dataset("acme/rows", None, settings) / "rows.jsonl").read_text() == content


def test_long_lists_come_by_pages(server: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelscope, "_PAGE", 2)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.csv").write_text("a\n1\n")
    server.data["acme/many"] = folder
    files = list_files("acme/many", None, Settings.from_environment())
    assert [file.path for file in files] == [f"{number}.csv" for number in range(5)]
    assert files[0] == RepositoryFile("0.csv", hashlib.sha256(b"a\n1\n").hexdigest())


def test_files_of_the_hub_have_a_second_address(server: ModelScope) -> None:
    """The checksum is that of the published file, wherever it comes from."""
    remote = RemoteFile(urls=("https://huggingface.co/datasets/acme/colours/resolve/main/data/x.tsv",), md5="0" * 32)
    off = Settings.from_environment({"SNELLEN_CACHE": "/x"})
    assert with_modelscope(remote, off) == remote
    on = Settings.from_environment({"SNELLEN_CACHE": "/x", "SNELLEN_USE_MODELSCOPE": "1"})
    first, second = with_modelscope(remote, on).urls
    address = "https://www.modelscope.cn/api/v1/datasets/acme/colours/repo"
    assert first == f"{address}?Revision=master&FilePath=data%2Fx.tsv"
    assert second == remote.urls[0]


LISTINGS = {
    "outside": ({"Data": {"Files": [{"Path": "../../x.csv", "Type": "blob"}]}}, "is no path of"),
    "absolute": ({"Data": {"Files": [{"Path": "/etc/x.csv", "Type": "blob"}]}}, "is no path of"),
    "refused": ({"Success": False, "Message": "gone"}, "ModelScope says 'gone'"),
    "no list": ({"Data": 7}, "its list of files is none that ModelScope documents"),
    "no tables": ({"Data": {"Files": [{"Path": "a.zip", "Type": "blob"}]}}, "holds no tables"),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listings_that_cannot_be_used_are_a_sentence(name: str, server: ModelScope) -> None:
    server.listing, sentence = LISTINGS[name]
    with pytest.raises(DataError, match=sentence):
        fetch_dataset("acme/colours", None, Settings.from_environment())


MISTAKES = {
    "unknown": ("modelscope://acme/nothing", {}, "there is no data set acme/nothing on ModelScope"),
    "split": ("modelscope://acme/colours?split=dev", {}, "unknown split 'dev'"),
    "dead": ("modelscope://acme/colours", {"MODELSCOPE_ENDPOINT": NOBODY}, "cannot be fetched"),
    "offline": ("modelscope://acme/colours", {"HF_HUB_OFFLINE": "1"}, "nothing is fetched"),
    "several": ("modelscope://acme/colours", {}, r"modelscope://acme/colours\?split=test"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_give_one_sentence(name: str, server: ModelScope, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, environment, sentence = MISTAKES[name]
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=sentence) as caught:
        open_table(spec)
    assert "\n" not in str(caught.value)


def test_a_file_that_differs_from_the_list_is_refused(server: ModelScope, published: Path) -> None:
    entry = {"Path": "README.md", "Type": "blob", "Sha256": "0" * 64}
    table = {"Path": "data/test-00000-of-00001.parquet", "Type": "blob", "Sha256": "1" * 64}
    server.listing = json.loads(json.dumps({"Data": {"Files": [entry, table]}}))
    with pytest.raises(DataError, match="was expected; it was not kept"):
        fetch_dataset("acme/colours", None, Settings.from_environment())
