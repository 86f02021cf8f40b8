"""A recipe: what it may say, what is run again after a change, and where it waits for people."""

from __future__ import annotations

import json
from pathlib import Path

import planted
import pytest

from snellen.cli import main
from snellen.data_sets.decisions import read_decisions

RECIPE = """
data = "planted.tsv"

[[step]]
step = "statistics"
skip = "media"
limits = { probe = 0 }

[[step]]
step = "publish"
out = "public"
name = "Planted"
hold_out = "30%"
"""


@pytest.fixture
def data(tmp_path: Path) -> planted.Planted:
    return planted.build(tmp_path)


def write(folder: Path, text: str, name: str = "recipe.toml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def plan(recipe: str, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    capsys.readouterr()
    assert main(["curate", "run", recipe, "--plan", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)
    return {step["name"]: (step["todo"], step["reason"]) for step in steps}


def test_every_step_is_run_once_and_everything_is_accounted_for(data, capsys) -> None:
    recipe = write(data.folder, RECIPE)
    assert plan(recipe, capsys) == {"statistics": ("run", ""), "publish": ("run", "")}
    assert main(["curate", "run", recipe]) == 0
    printed = capsys.readouterr().out
    assert "[2/2] publish: complete" in printed
    assert "test: 22 questions, answers kept back" in printed
    made = data.folder / "recipe-made"
    assert "22 questions" in (made / "publish.txt").read_text()
    file = data.folder / "public-private" / "decisions.jsonl"
    assert f"every step is complete; what they decided: {file.relative_to(data.folder)}" in printed
    by_id = {each.item: each for each in read_decisions(file.parent)}
    assert set(by_id) == set(data.ids)
    assert by_id["113"].action == "drop"
    assert by_id["101"].rule in ("public", "held_out")
    assert plan(recipe, capsys) == {"statistics": ("done", ""), "publish": ("done", "")}


def test_a_changed_option_runs_its_step_and_those_after_it_again(data, capsys) -> None:
    recipe = write(data.folder, RECIPE)
    assert main(["curate", "run", recipe]) == 0
    write(data.folder, RECIPE.replace("30%", "40%"))
    assert plan(recipe, capsys) == {
        "statistics": ("done", ""),
        "publish": ("again", 'hold-out was "30%", and is "40%"'),
    }
    assert main(["curate", "run", recipe]) == 0
    printed = capsys.readouterr().out
    assert "[1/2] statistics: done" in printed
    assert "test: 29 questions" in printed
    # What an earlier start decided is kept aside.
    assert (data.folder / "public-private.before-1" / "decisions.jsonl").is_file()


def test_another_name_publishes_anew(data, capsys) -> None:
    recipe = write(data.folder, RECIPE)
    assert main(["curate", "run", recipe]) == 0
    write(data.folder, RECIPE.replace('"Planted"', '"Second"'))
    reason = 'name was "Planted", and is "Second"'
    assert plan(recipe, capsys) == {"statistics": ("done", ""), "publish": ("again", reason)}
    assert main(["curate", "run", recipe, "--plan"]) == 0
    assert "--name=Second" in capsys.readouterr().out
    assert main(["curate", "run", recipe]) == 0
    assert json.loads((data.folder / "public" / "publication.json").read_text())["name"] == "Second"


def test_changed_data_and_files_run_a_step_again(data, capsys) -> None:
    table = data.folder / "licences.toml"
    table.write_text('["*"]\nlicence = "CC0-1.0"\n')
    recipe = write(data.folder, RECIPE + 'licences = "licences.toml"\n')
    assert main(["curate", "run", recipe]) == 0
    table.write_text('["*"]\nlicence = "CC-BY-4.0"\n')
    assert plan(recipe, capsys)["publish"] == ("again", "the file licences.toml changed")
    assert plan(recipe, capsys)["statistics"] == ("done", "")
    data.data.write_text(data.data.read_text().replace("What colour", "Which colour"))
    todo, reason = plan(recipe, capsys)["statistics"]
    assert (todo, reason) == ("again", "its data changed")


def test_how_models_are_reached_changes_nothing(data, capsys) -> None:
    recipe = write(data.folder, RECIPE)
    assert main(["curate", "run", recipe]) == 0
    write(data.folder, "[options]\nrequests = { retries = 3 }\n" + RECIPE.replace('data = "planted.tsv"', ""))
    write(
        data.folder,
        'data = "planted.tsv"\n[options]\nrequests = { retries = 3 }\n' + RECIPE.replace('data = "planted.tsv"', ""),
    )
    assert plan(recipe, capsys) == {"statistics": ("done", ""), "publish": ("done", "")}


def test_a_folder_that_was_deleted_is_made_again(data, capsys) -> None:
    import shutil

    recipe = write(data.folder, RECIPE)
    assert main(["curate", "run", recipe]) == 0
    before = (data.folder / "public" / "SHA256SUMS").read_bytes()
    shutil.rmtree(data.folder / "public")
    assert plan(recipe, capsys)["publish"] == ("run", "its folder is gone")
    assert main(["curate", "run", recipe]) == 0
    assert (data.folder / "public" / "SHA256SUMS").read_bytes() == before


def test_paths_are_relative_to_the_recipe(data, capsys, tmp_path, monkeypatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recipe = write(data.folder, RECIPE)
    monkeypatch.chdir(elsewhere)
    assert main(["curate", "run", recipe]) == 0
    assert (data.folder / "public" / "README.md").is_file()
    assert not any(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no steps; write each as a table: [[step]]"),
        ("[[step]]\nname = 'x'\n", "step 1 does not say what it is"),
        ("[[step]]\nstep = 'publsh'\n", "'publsh'; did you mean publish?"),
        ("steps = 1\n", "'steps'; did you mean step?"),
        ("[[step]]\nstep = 'publish'\n", "does not say what the first step reads"),
        (
            "data = 'd'\n[[step]]\nstep = 'statistics'\n"
            "[[step]]\nstep = 'metadata'\nimporter = 'coco'\ndata = 'lost.json'\n",
            "step 2 (metadata) reads lost.json; there is no such file",
        ),
        (
            "data = 'd'\n[[step]]\nstep = 'publish'\nholdout = '3%'\n",
            "option of step 1 (publish) 'holdout'; did you mean hold-out?",
        ),
        (
            "data = 'd'\n[[step]]\nstep = 'publish'\nlicence = 'CC0-1.0'\n",
            "step 1 (publish) 'licence': the flag is now --facts licence=SPDX",
        ),
        (
            "data = 'd'\n[options]\nretries = 1\n[[step]]\nstep = 'filter'\n",
            "'retries': the flag is now --requests retries=N",
        ),
        (
            "data = 'd'\n[[step]]\nstep = 'publish'\nhold-out = '300%'\n",
            "step 1 (publish): argument --hold-out: '300%' is no share",
        ),
        ("data = 'd'\n[options]\nrequest = 1\n[[step]]\nstep = 'filter'\n", "'request'; did you mean requests"),
        (
            "data = 'd'\n[[step]]\nstep = 'publish'\nseed = 'x'\n",
            "step 1 (publish): argument --seed: got 'x'; expected a whole number",
        ),
        (
            "data = 'd'\n[[step]]\nstep = 'publish'\n[[step]]\nstep = 'publish'\nas = 'publish'\n",
            "another step is called 'publish' too",
        ),
        (
            "data = 'd'\n[[step]]\nstep='statistics'\ndata='publish'\n[[step]]\nstep='publish'\n",
            "step 1 (statistics) reads 'publish', which comes later",
        ),
        ("data = 'd'\n[[step]]\nstep = 'publish'\nkeep = [1.5, {a = 1}]\n", "list of texts"),
        ("data = 'd'\n[[step]]\nstep = ['publish']\n", "step is ['publish']; expected a text"),
        ("data =\n", "is no TOML"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_run(tmp_path, capsys, text, sentence) -> None:
    recipe = write(tmp_path, text)
    assert main(["curate", "run", recipe]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
    assert error.count("\n") <= 2


def test_a_recipe_runs_once_at_a_time(data, capsys) -> None:
    from filelock import FileLock

    recipe = write(data.folder, RECIPE)
    made = data.folder / "recipe-made"
    made.mkdir()
    with FileLock(made / ".lock"):
        assert main(["curate", "run", recipe]) == 2
    assert "is being run" in capsys.readouterr().err


def test_failed_step_is_named_and_the_recipe_resumes(data, capsys) -> None:
    recipe = write(data.folder, RECIPE.replace('hold_out = "30%"', "require-licence = true"))
    assert main(["curate", "run", recipe]) == 2
    assert "step 2 (publish): 3 items have no licence" in capsys.readouterr().err
    assert plan(recipe, capsys)["publish"] == ("resume", "it was stopped")
    write(data.folder, RECIPE)
    assert main(["curate", "run", recipe]) == 0


METADATA = """
data = "colours"

[[step]]
step = "metadata"
importer = "image-folder"
facts = { subtask = "colour recognition", licence = "CC0-1.0" }

[[step]]
step = "questions"
data = "metadata"
templates = "templates.toml"

[[step]]
step = "publish"
"""
TEMPLATES = """
version = 1

[[templates]]
subtask = "colour recognition"
task = "visual recognition"
answer = "label"
questions = ["Which colour fills the picture?"]
"""


def test_questions_from_metadata_are_steps_too(tmp_path, capsys) -> None:
    from PIL import Image

    for colour in ("red", "green", "blue", "orange", "purple"):
        (tmp_path / "colours" / colour).mkdir(parents=True)
        for number in range(4):
            path = tmp_path / "colours" / colour / f"{number}.png"
            Image.new("RGB", (40 + number, 40), colour).save(path)
    (tmp_path / "templates.toml").write_text(TEMPLATES)
    recipe = write(tmp_path, METADATA)
    assert main(["curate", "run", recipe]) == 0
    printed = capsys.readouterr().out
    assert "test: 20 questions" in printed
    assert (tmp_path / "recipe-made" / "metadata" / "metadata.jsonl").is_file()
    rows = (tmp_path / "recipe-made" / "questions" / "items.jsonl").read_text().splitlines()
    assert {json.loads(row)["license"] for row in rows} == {"CC0-1.0"}
    assert len(rows) == 20
    # Other templates make other questions; the records stay.
    (tmp_path / "templates.toml").write_text(TEMPLATES.replace("fills", "has"))
    todo = plan(recipe, capsys)
    assert todo["metadata"] == ("done", "")
    assert todo["questions"] == ("again", "the file templates.toml changed")


REVIEW = """
data = "planted.tsv"

[[step]]
step = "review"
limit = 2

[[step]]
step = "publish"
"""


def test_recipe_waits_for_people_and_resumes(data, capsys, monkeypatch) -> None:
    import shlex

    monkeypatch.chdir(data.folder)
    recipe = write(data.folder, REVIEW)
    assert main(["curate", "run", recipe]) == 1
    printed = capsys.readouterr().out
    assert "step 1 (review) waits for people: of 2 items, 2 without enough decisions" in printed
    assert f"then go on with: snellen curate run {recipe}" in printed
    queue = (data.folder / "recipe-made" / "review" / "queue.jsonl").read_text().splitlines()
    first, second = (json.loads(line)["item"] for line in queue)
    # The command that is printed, with decisions from a file instead of the page.
    [line] = [line for line in printed.splitlines() if line.startswith("review them with: ")]
    words = shlex.split(line.removeprefix("review them with: snellen "))
    decisions = data.folder / "ann.jsonl"
    decisions.write_text(json.dumps({"item": first, "by": "Ann", "action": "drop"}) + "\n")
    assert main([*words, "--import", "ann.jsonl"]) == 0
    assert main(["curate", "run", recipe]) == 1
    assert "1 without enough decisions" in capsys.readouterr().out
    # Further decisions that the recipe itself names are added to those that are there.
    decisions.write_text(json.dumps({"item": second, "by": "Bo", "action": "keep"}) + "\n")
    write(data.folder, REVIEW.replace("limit = 2", 'limit = 2\nimport = "ann.jsonl"'))
    assert main(["curate", "run", recipe]) == 0
    # The last step's decisions are those of all steps.
    decided = {(each.item, each.step): each for each in read_decisions(data.folder / "recipe-made" / "publish-private")}
    assert (decided[first, "review"].action, decided[first, "review"].by) == ("drop", "Ann")
    assert (first, "publish") not in decided
    assert decided[second, "review"].by == "Bo"
    assert not (data.folder / "recipe-made" / "review.before-1").exists()
