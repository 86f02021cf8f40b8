"""One grammar: every action of `snellen curate` over small data, its printed next command, its exit
codes, and that a flag means the same wherever it stands."""

from __future__ import annotations

import json
import shlex
from argparse import Action
from pathlib import Path

import planted
import pytest
from PIL import Image

from snellen.cli import main
from snellen.cli.lazy_parser import complete_all
from snellen.cli.parser import CommandLineParser
from snellen_curate.commands._table import read_actions
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata

ACTIONS, SHARED = read_actions()


def parser_of(action: str) -> dict[str, Action]:
    from snellen_curate.commands._table import add_arguments

    parser = CommandLineParser(prog=action)
    add_arguments(action, parser)
    complete_all(parser)
    return parser._option_string_actions


def test_every_action_has_a_file_and_every_file_an_action() -> None:
    folder = Path(__import__("snellen_curate.commands", fromlist=["x"]).__file__).parent
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files == {*ACTIONS}


def test_a_flag_takes_the_same_everywhere() -> None:
    """The value of a flag, whether it is a list, and its short form do not depend on the action."""
    forms: dict[str, set[tuple[object, ...]]] = {}
    different_words = {"--keep", "--columns", "--format", "--rule", "--flag"}
    for action in ACTIONS:
        for name, flag in parser_of(action).items():
            if name.startswith("--") and name not in different_words:
                form = (flag.metavar, flag.nargs, tuple(flag.option_strings))
                forms.setdefault(name, set()).add(form)
    assert {name: form for name, form in forms.items() if len(form) > 1} == {}
    assert len(forms) > 90
    for action, entry in ACTIONS.items():
        assert ("--out" in parser_of(action)) == bool(entry.out), action
        assert ("--drop" in parser_of(action)) == bool(entry.drop), action
        assert {"--json", "-q"} <= {*parser_of(action)}, action


def test_no_flag_has_a_synonym() -> None:
    for action in ACTIONS:
        for flag in parser_of(action).values():
            assert sum(name.startswith("--") for name in flag.option_strings) < 2, flag


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Planted items, pictures with labels, and where commands are typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    planted.build(tmp_path)
    for colour in ("red", "green", "blue", "orange", "purple"):
        (tmp_path / "colours" / colour).mkdir(parents=True)
        for number in range(3):
            picture = Image.effect_noise((160 + 8 * number, 120), 40).convert("RGB")
            tint = Image.new("RGB", picture.size, colour)
            Image.blend(picture, tint, 0.5).save(tmp_path / "colours" / colour / f"{number}.png")
    rows = [{"index": n, "question": f"What is {n} plus {n + 1}?", "A": 2 * n + 1, "B": 2 * n + 3,
             "answer": "A", "license": "CC0-1.0"} for n in range(6)]  # fmt: skip
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.toml").write_text(
        'data = "sums.jsonl"\n[[step]]\nstep = "statistics"\nprobe = 0\n'
        '[[step]]\nstep = "publish"\nlicence = "CC0-1.0"\n'
    )
    return tmp_path


COMMANDS = {
    "clean": {
        "pictures": "pictures colours --out o",
        "metadata": "metadata image-folder colours --licence CC0-1.0 --out o",
        "questions": "questions records --out o",
        "duplicates": "duplicates sums.jsonl --out o",
        "publish": "publish sums.jsonl --licence CC0-1.0 --out o",
        "diff": "diff sums.jsonl sums.jsonl",
        "review": "review sums.jsonl --queue-only --out o",
        "run": "run recipe.toml --out o",
    },
    "flagged": {
        "translate": "translate sums.jsonl --to zh --check sums.jsonl --out o",
        "pictures": "pictures broken --out o",
        "metadata": "metadata coco lost.json --pictures colours --out o",
        "duplicates": "duplicates planted.tsv --out o",
        "statistics": "statistics sums.jsonl --probe 0",
        "filter": "filter sums.jsonl --text-only random --circular off --rule text-all --out o",
        "publish": "publish planted.tsv --out o",
        "diff": "diff sums.jsonl planted.tsv",
        "review": "review planted.tsv --all --queue-only --out o",
    },
}


@pytest.mark.parametrize(
    ("status", "command"),
    [(status, command) for status, each in COMMANDS.items() for command in each.values()],
)
def test_exit_code_and_next(
    status: str, command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken").mkdir()
    (folder / "broken/a.png").write_bytes(b"no picture")
    Image.effect_noise((90, 90), 60).save(folder / "broken/b.png")
    names = [*sorted(f"{path.parent.name}/{path.name}" for path in Path("colours").glob("*/*")),
             "lost.png"]  # fmt: skip
    colours = sorted({name.partition("/")[0] for name in names[:-1]})
    (folder / "lost.json").write_text(json.dumps({
        "images": [{"id": n, "file_name": name, "width": 160, "height": 120}
                   for n, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, "bbox": [9 + n, 20, 40, 50 + n], "area": 2000,
                         "category_id": colours.index(name.partition("/")[0])}
                        for n, name in enumerate(names[:-1])],
        "categories": [{"id": n, "name": f"{name} car"} for n, name in enumerate(colours)],
    }))  # fmt: skip
    request = ImportRequest(paths=("colours",), out=Path("records/metadata.jsonl"),
                            license="CC0-1.0")  # fmt: skip
    import_metadata("image-folder", request)
    capsys.readouterr()
    code = main(["curate", *shlex.split(command)])
    printed = capsys.readouterr()
    assert code == (status == "flagged"), printed.out + printed.err
    commands = [line for line in printed.out.splitlines() if line.startswith("next: ")]
    assert len(commands) <= 1
    if command.startswith("run"):
        return
    [line] = commands
    words = shlex.split(line.removeprefix("next: "))
    assert words[0] == "snellen"
    if words[1:3] == ["curate", "review"] and "--finish" not in words:
        words.append("--queue-only")  # Instead of a page that is served until Ctrl-C.
    assert main(words[1:]) in (0, 1), capsys.readouterr().err


@pytest.mark.parametrize("action", [name for name in ACTIONS if ACTIONS[name].out])
def test_a_mistake_is_2(action: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["image-folder", "lost"] if action == "metadata" else ["lost.toml"]
    words += ["--to", "zh"] if action == "translate" else []
    words += ["--out", "o"] if not ACTIONS[action].out_default else []
    assert main(["curate", action, *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("action", [name for name in ACTIONS if ACTIONS[name].drop])
def test_drop_names_its_kinds(
    action: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curate", action, "sums.jsonl", "--out", "o", "--drop", "everything"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("snellen: unknown kind to --drop 'everything'; ")
    assert any(kind in error for kind in ACTIONS[action].drop)
    assert not Path("o").exists()


def test_out_is_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["curate", "metadata", "coco", "a.json", "-o", "train.jsonl"])
    assert "train.jsonl looks like a file; name a folder, such as train" in capsys.readouterr().err
    assert not Path("train.jsonl").exists()


def test_pictures_that_the_data_name_elsewhere_are_said(tmp_path: Path, capsys) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for each in (folder, elsewhere):
        each.mkdir()
        Image.new("RGB", (80, 80), "white").save(each / "a.png")
    (folder / "link.png").symlink_to(elsewhere / "a.png")
    for name, said in (("a.png", 0), ("link.png", 1), ("../elsewhere/a.png", 1)):
        row = {"index": 1, "image_path": name, "question": "Which?", "A": "x", "B": "y"}
        (folder / "d.jsonl").write_text(json.dumps({**row, "answer": "A"}) + "\n")
        out = tmp_path / f"out-{Path(name).stem}-{len(name)}"
        main(["curate", "duplicates", str(folder / "d.jsonl"), "--out", str(out)])
        printed = "".join(capsys.readouterr().out.split())
        assert printed.count("note:thedatanamepicturesoutsideoftheirownfolder") == said
        assert (str(elsewhere) in printed) == bool(said)
