"""One grammar: every action of `snellen curate` over small data, its printed next command, its exit
codes, and that a flag means the same wherever it stands."""

from __future__ import annotations

import json
import re
import shlex
from argparse import Action
from importlib import import_module
from pathlib import Path

import planted
import pytest
from PIL import Image

from snellen.api.flags import SHARED_FLAGS
from snellen.cli import main
from snellen.cli.command_modules import add_arguments
from snellen.cli.parser import CommandLineParser
from snellen.core.errors import UsageError
from snellen_curate.commands import ACTIONS
from snellen_curate.commands._action import read_facts
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata


def parser_of(action: str) -> dict[str, Action]:
    parser = CommandLineParser(prog=action)
    add_arguments(import_module(f"snellen_curate.commands.{action}"), parser)
    return parser._option_string_actions


WRITING = [action for action in ACTIONS if "--out" in parser_of(action)]
DROPPING = [action for action in ACTIONS if "--drop" in parser_of(action)]
NEEDS_OUT = [action for action in WRITING if parser_of(action)["--out"].required]


def test_every_action_has_a_file_and_every_file_an_action() -> None:
    folder = Path(__import__("snellen_curate.commands", fromlist=["x"]).__file__).parent
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files == {*ACTIONS}


def test_a_flag_means_the_same_everywhere() -> None:
    """Help line, but for its keys and default, value and short form do not depend on the action."""
    forms: dict[str, set[tuple[object, ...]]] = {}
    for action in ACTIONS:
        for name, flag in parser_of(action).items():
            if name.startswith("--") and name != "--help":
                help = (flag.help or "").partition(";")[0].partition(" (default:")[0]
                value = None if name in ("--flag", "--facts") else flag.metavar
                forms.setdefault(name, set()).add((help, value, tuple(flag.option_strings)))
    assert {name: form for name, form in forms.items() if len(form) > 1} == {}
    assert len(forms.keys() - SHARED_FLAGS.keys()) <= 38
    for action in ACTIONS:
        assert {"--json", "-q", "-o"} <= {*parser_of(action)}, action
    assert {*ACTIONS} - {*WRITING} == {"statistics"}
    assert NEEDS_OUT == ["pictures", "metadata", "filter", "publish"]


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
            image = Image.effect_noise((160 + 8 * number, 120), 40).convert("RGB")
            tint = Image.new("RGB", image.size, colour)
            Image.blend(image, tint, 0.5).save(tmp_path / "colours" / colour / f"{number}.png")
    rows = [
        {
            "index": n,
            "question": f"What is {n} plus {n + 1}?",
            "A": 2 * n + 1,
            "B": 2 * n + 3,
            "answer": "A",
            "license": "CC0-1.0",
        }
        for n in range(6)
    ]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.toml").write_text(
        'data = "sums.jsonl"\n[[step]]\nstep = "statistics"\nlimits = { probe = 0 }\n'
        '[[step]]\nstep = "publish"\nfacts = { licence = "CC0-1.0" }\n'
    )
    return tmp_path


COMMANDS = {
    "clean": {
        "pictures": "pictures colours --out o",
        "metadata": "metadata image-folder colours --facts licence=CC0-1.0 --out o",
        "questions": "questions records --out o",
        "duplicates": "duplicates sums.jsonl --out o",
        "publish": "publish sums.jsonl --facts licence=CC0-1.0 --out o",
        "review": "review sums.jsonl --export queue --out o",
        "run": "run recipe.toml --out o",
    },
    "flagged": {
        "translate": "translate sums.jsonl --language zh --check sums.jsonl --out o",
        "pictures": "pictures broken --out o",
        "metadata": "metadata coco lost.json --media colours --out o",
        "duplicates": "duplicates planted.tsv --out o",
        "statistics": "statistics sums.jsonl --limits probe=0",
        "filter": "filter sums.jsonl --text-only random --circular off --flag text-all --out o",
        "publish": "publish planted.tsv --out o",
        "review": "review planted.tsv --items all --export queue --out o",
    },
}


@pytest.mark.parametrize(
    ("status", "command"), [(status, command) for status, each in COMMANDS.items() for command in each.values()]
)
def test_exit_code_and_next(status: str, command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken").mkdir()
    (folder / "broken/a.png").write_bytes(b"no picture")
    Image.effect_noise((90, 90), 60).save(folder / "broken/b.png")
    names = [*sorted(f"{path.parent.name}/{path.name}" for path in Path("colours").glob("*/*")), "lost.png"]
    colours = sorted({name.partition("/")[0] for name in names[:-1]})
    (folder / "lost.json").write_text(
        json.dumps(
            {
                "images": [{"id": n, "file_name": name, "width": 160, "height": 120} for n, name in enumerate(names)],
                "annotations": [
                    {
                        "id": n,
                        "image_id": n,
                        "bbox": [9 + n, 20, 40, 50 + n],
                        "area": 2000,
                        "category_id": colours.index(name.partition("/")[0]),
                    }
                    for n, name in enumerate(names[:-1])
                ],
                "categories": [{"id": n, "name": f"{name} car"} for n, name in enumerate(colours)],
            }
        )
    )
    request = ImportRequest(paths=("colours",), out=Path("records/metadata.jsonl"), license="CC0-1.0")
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
        words += ["--export", "queue"]  # Instead of a page that is served until Ctrl-C.
    assert main(words[1:]) in (0, 1), capsys.readouterr().err


@pytest.mark.parametrize("action", WRITING)
def test_mistakes_exit_with_2(action: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["image-folder", "lost"] if action == "metadata" else ["lost.toml"]
    words += ["--language", "zh"] if action == "translate" else []
    words += ["--out", "o"]
    assert main(["curate", action, *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("action", DROPPING)
def test_drop_names_its_kinds(action: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["curate", action, "sums.jsonl", "--out", "o", "--drop", "everything"])
    error = capsys.readouterr().err
    assert "unknown kind to --drop 'everything'; " in error
    assert "known: " in error or "did you mean" in error
    assert not Path("o").exists()


def test_out_is_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["curate", "metadata", "coco", "a.json", "--out", "train.jsonl"])
    assert "train.jsonl looks like a file; name a folder, such as train" in capsys.readouterr().err
    assert not Path("train.jsonl").exists()


def test_a_folder_of_results_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curate", "duplicates", "sums.jsonl", "-o", "clean"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("snellen: -o clean: expected a file that ends in .txt, ")
    assert error.endswith("; a folder is --out DIR\n")


def test_reports_images_outside_the_data_folder(tmp_path: Path, capsys) -> None:
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


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("licence=CC-BY-4.0,author=Smith, J.", {"licence": "CC-BY-4.0", "author": "Smith, J."}),
        ("author=a=b", {"author": "a=b"}),
        ("facts.toml", {"author": "A, licence=B", "licence": "CC0-1.0+MIT"}),
    ],
)
def test_facts_contain_commas_or_come_from_a_file(
    text: str, facts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facts.toml").write_text('author = "A, licence=B"\nlicence = ["CC0-1.0", "MIT"]\n')
    assert read_facts(("licence", "author"), text) == facts


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("licence=MIT,auhtor=x", "unknown fact 'auhtor'; did you mean author?"),
        ("lost.toml", "no such file"),
        ("=x", "is not of the form key=value"),
    ],
)
def test_facts_that_cannot_be_read(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        read_facts(("licence", "author"), text)


def test_drawing_settings_follow_the_model_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from snellen_curate.questions import drawn_questions

    made: list[drawn_questions.DrawnOptions] = []

    def make(captions: object, out: str, options: drawn_questions.DrawnOptions, *_: object, **__: object) -> None:
        made.append(options)
        raise UsageError("enough")

    monkeypatch.setattr(drawn_questions, "make_drawn_questions", make)
    monkeypatch.setattr(drawn_questions, "open_captions", Path)
    names = ("hf/o/n:dtype=half,size=64x32,guidance=5", "file:d.jsonl", "http://h:1/v1#m:steps=3,seed=1")
    for name in names:
        words = ["curate", "questions", "captions.jsonl", "-m", "random", "--draw", name]
        assert main([*words, "--seed", "4", "--out", str(tmp_path / "out")]) == 2
    assert [one.generator for one in made] == ["hf/o/n:dtype=half", "file:d.jsonl", "http://h:1/v1#m:seed=1"]
    drawings = [one.drawing for one in made]
    assert [(one.width, one.height, one.steps, one.guidance, one.seed) for one in drawings] == [
        (64, 32, None, 5.0, 4),
        (None, None, None, None, 4),
        (None, None, 3, None, 4),
    ]


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex", "html"])
@pytest.mark.parametrize(
    "words",
    [
        "pictures colours --out o",
        "metadata image-folder colours --out o",
        "duplicates planted.tsv",
        "publish sums.jsonl --out o",
        "review sums.jsonl --items all --export queue --out o",
        "translate sums.jsonl --language zh --check sums.jsonl",
        "run recipe.toml --plan",
        "questions --list",
        "statistics sums.jsonl --limits probe=0",
    ],
)
def test_every_format_is_printed_and_written(
    words: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curate", *shlex.split(words), "--format", form, "-q"]) in (0, 1)
    printed = capsys.readouterr().out
    assert len(printed) > 20
    assert "next: " not in printed
    if form == "json":
        json.loads(printed)
    suffix = {"markdown": "md", "latex": "tex"}.get(form, form)
    assert main(["curate", *shlex.split(words), "-o", f"written.{suffix}", "-q"]) in (0, 1)
    assert len(Path(f"written.{suffix}").read_text()) > 20
