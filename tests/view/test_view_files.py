"""Pages as files: what is written where, and what is refused."""

import json

import pytest
from synthetic import picture
from viewing import made_run

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.core.media import digest_bytes
from snellen.view.files import CHUNK, write_pages
from snellen.view.run_view import RunLibrary


def value(path):
    """What a file hands to the page, and under which name."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("snellen.put(")
    inside = text.removeprefix("snellen.put(").removesuffix(")\n")
    return json.loads(f"[{inside}]")


def test_the_command_writes_samples_in_chunks_and_pictures_once(tmp_path, capsys):
    root, out = tmp_path / "runs", tmp_path / "pages"
    runs = [made_run(root, model, count=CHUNK + 7) for model in ("one", "two")]
    assert main(["export", str(root), "--to", "pages", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out / 'index.html'}\n"
    for run in runs:
        data = out / "data" / run.name
        name, columns = value(data / "columns.js")
        assert name == f"{run.name}/columns"
        assert columns["rows"] == CHUNK + 7
        chunks = [value(data / f"samples-{at}.js")[1] for at in range(2)]
        assert [len(chunk) for chunk in chunks] == [CHUNK, 7]
        assert [one["id"] for chunk in chunks for one in chunk] == columns["ids"]
        assert "picture 3?" in value(data / "texts-0.js")[1][3]
    digest = digest_bytes(picture(0))
    assert (out / "media" / digest[:2] / f"{digest}.jpg").is_file()
    pairs = value(out / "data" / "pairs.js")[1]
    assert set(pairs) == {
        json.dumps([one.name, other.name], separators=(",", ":")) for one in runs for other in runs if one is not other
    }
    assert digest in (out / "index.html").read_text()
    assert not list(root.rglob("*.js"))


def test_pages_can_be_written_again_but_not_over_something_else(tmp_path):
    shelf = RunLibrary([made_run(tmp_path / "runs", count=5).path])
    out = tmp_path / "pages"
    assert write_pages(shelf, out) == write_pages(shelf, out)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds no such pages; name another folder"):
        write_pages(shelf, other)
    with pytest.raises(UsageError, match="holds no such pages"):
        write_pages(shelf, other / "thesis.txt")
    assert [each.name for each in other.iterdir()] == ["thesis.txt"]


def test_pages_need_a_folder(tmp_path, capsys):
    run = made_run(tmp_path, count=5)
    assert main(["export", str(run.path), "--to", "pages"]) == 2
    assert capsys.readouterr().err == "snellen: pages are a folder of files: name it with -o DIR\n"
