"""A publication: what others load of it, what it keeps back, and that it can be made again."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pandas
import planted
import pyarrow.parquet
import pytest
from PIL import Image

from snellen import evaluate
from snellen.benchmarks.declaration.evidence import BenchmarkEvidence
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.data_sets.decisions import read_decisions
from snellen.data_sets.sealing import open_sealed, read_key
from snellen_curate.open_data import open_items
from snellen_curate.publish.options import PublishOptions
from snellen_curate.publish.publish import PublishResult, publish
from snellen_curate.publish.survey import name_some

OPTIONS = PublishOptions(
    name="Planted", title='Planted "questions": a | b', language=("en",), licence="CC-BY-4.0", hold_out=0.3
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def published(data: planted.Planted, tmp_path_factory: pytest.TempPathFactory) -> PublishResult:
    out = tmp_path_factory.mktemp("out")
    return publish(data.data, out / "public", replace(OPTIONS, seal_key=str(out / "key")))


def key_of(published: PublishResult):
    return read_key(Path(published.folder).parent / "key")


def rows(published: PublishResult, split: str) -> list[dict]:
    path = Path(published.folder) / "data" / f"{split}.parquet"
    return pyarrow.parquet.read_table(path).to_pylist()


def test_every_item_is_published_or_its_reason_is_recorded(data, published) -> None:
    public = {row["index"] for split in ("dev", "test") for row in rows(published, split)}
    dropped = data.ids_of("broken_picture", "lost_picture")
    assert public | dropped == set(data.ids)
    assert not public & dropped
    decisions = {each.item: each for each in read_decisions(Path(published.private))}
    assert set(decisions) == set(data.ids)
    assert {name for name, each in decisions.items() if each.action == "drop"} == dropped
    flagged = {name for name, each in decisions.items() if each.rule == "no_licence"}
    assert flagged == data.ids_of("missing_licence")


def test_the_answers_kept_back_are_those_of_the_test_split(data, published) -> None:
    sealed = open_sealed(published.sealed, key_of(published))
    gold = {item.id: item.sample.gold for item in open_items(data.data)}
    test = rows(published, "test")
    assert sealed.answers == {row["index"]: gold[row["index"]] for row in test}
    assert len(test) == 22
    file = Path(published.folder) / "data" / "test.parquet"
    assert sealed.header.questions == hashlib.sha256(file.read_bytes()).hexdigest()
    assert published.publication.sealed_sha256 == hashlib.sha256(Path(published.sealed).read_bytes()).hexdigest()


def test_no_public_file_has_an_answer_of_the_test_split(published) -> None:
    folder = Path(published.folder)
    assert all(row["answer"] is None for row in rows(published, "test"))
    assert "answer" not in pandas.read_csv(folder / "Planted_TEST.tsv", sep="\t").columns
    assert {row["answer"] for row in rows(published, "dev")} == {"A", "B", "C", "D"}
    # No other file speaks of single items.
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "README.md",
        "LICENCES.tsv",
        "ATTRIBUTION.tsv",
        "MD5SUMS",
        "SHA256SUMS",
        "publication.json",
        "evidence.json",
        "Planted.toml",
        "Planted-test.toml",
        "Planted_DEV.tsv",
        "Planted_TEST.tsv",
        "dev.parquet",
        "test.parquet",
    }
    held = {row["index"] for row in rows(published, "test")}
    dev = folder.joinpath("Planted_DEV.tsv").read_text()
    assert not held & {line.split("\t")[0] for line in dev.splitlines()}


def test_vlmevalkit_reads_every_cell(data, published) -> None:
    """By the conventions of its image_base.py: base64, or the index of the row that has it."""
    items = {item.id: item for item in open_items(data.data)}
    for name in ("Planted_DEV.tsv", "Planted_TEST.tsv"):
        frame = pandas.read_csv(Path(published.folder) / name, sep="\t")
        frame = frame[~pandas.isna(frame["image"])]
        cells = dict(zip(map(str, frame["index"]), frame["image"], strict=True))
        for index, cell in cells.items():
            if len(cell) <= 64:
                cell = cells[cell]
                assert len(cell) > 64
            image = base64.b64decode(cell)
            Image.open(io.BytesIO(image)).load()
            [ref] = items[index].sample.media
            assert hashlib.sha256(image).hexdigest() == ref.digest
        for _, row in frame.iterrows():
            item = items[str(row["index"])]
            options = {label: row[label] for label in "ABCD" if not pandas.isna(row[label])}
            assert options == item.sample.options
            assert row["question"] == item.sample.question
            if "answer" in row:
                assert (row["answer"],) == item.sample.gold


def test_repeated_images_are_stored_once_in_a_file(data, published) -> None:
    frame = pandas.concat(
        pandas.read_csv(Path(published.folder) / name, sep="\t", dtype=str)
        for name in ("Planted_DEV.tsv", "Planted_TEST.tsv")
    )
    references = frame[frame["image"].str.len() <= 64]
    assert len(references) >= len(data.planted["exact_duplicate"]) > 0


def test_checksums_are_those_of_the_files(published) -> None:
    folder = Path(published.folder)
    for name, algorithm in (("SHA256SUMS", "sha256"), ("MD5SUMS", "md5")):
        lines = (folder / name).read_text().splitlines()
        assert lines
        for line in lines:
            digest, _, file = line.partition("  ")
            assert hashlib.new(algorithm, (folder / file).read_bytes()).hexdigest() == digest
    summed = {line.partition("  ")[2] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert summed == files - {"SHA256SUMS"}


def test_datasets_loads_the_folder_with_decoded_images(published, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    loaded = datasets.load_dataset(published.folder, cache_dir=str(tmp_path))
    assert {split: len(rows) for split, rows in loaded.items()} == {"dev": 51, "test": 22}
    row = loaded["test"][0]
    assert row["image"].size == planted.SIZE
    assert row["answer"] is None
    assert loaded["dev"].info.splits["dev"].num_examples == 51


def test_the_card_says_what_the_hub_reads(published) -> None:
    import yaml

    text = (Path(published.folder) / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["license"] == ["cc-by-4.0", "unknown", "cc-by-nc-sa-4.0", "cc-by-sa-4.0", "cc0-1.0"]
    assert card["language"] == ["en"]
    assert card["pretty_name"] == OPTIONS.title
    assert card["task_categories"] == ["visual-question-answering", "multiple-choice"]
    assert card["size_categories"] == ["n<1K"]
    assert [each["split"] for each in card["configs"][0]["data_files"]] == ["dev", "test"]
    assert "| ScienceQA | CC-BY-NC-SA-4.0 |" in body
    assert "**unknown**" in body


def test_published_benchmark_opens_by_its_toml_file(published, tmp_path) -> None:
    [run] = evaluate("random", f"{published.folder}/Planted.toml", out=tmp_path)
    report = run.report()
    assert (report.run.benchmark, report.summary.n) == ("Planted", 51)
    code = main(
        [
            "run",
            "-m",
            "random",
            "-b",
            f"{published.folder}/Planted-test.toml",
            "--columns",
            "gold=",
            "--out",
            str(tmp_path),
            "--quiet",
        ]
    )
    assert code == 0


def test_the_evidence_entry_is_one(published) -> None:
    import msgspec

    text = (Path(published.folder) / "evidence.json").read_bytes()
    entries = msgspec.json.decode(text, type=dict[str, BenchmarkEvidence])
    assert entries["Planted"].summary() == "from the text: nothing was compared"


def test_the_same_input_gives_the_same_bytes(data, published, tmp_path) -> None:
    key = str(Path(published.folder).parent / "key")
    again = publish(data.data, tmp_path / "public", replace(OPTIONS, seal_key=key))
    assert again.files == published.files
    assert Path(again.sealed).read_bytes() == Path(published.sealed).read_bytes()
    decisions = (tmp_path / "public-private" / "decisions.jsonl").read_bytes()
    # A second start in the same place changes nothing either.
    publish(data.data, tmp_path / "public", replace(OPTIONS, seal_key=key))
    assert (tmp_path / "public-private" / "decisions.jsonl").read_bytes() == decisions
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "public-private"]


def test_a_translation_keeps_the_same_answers_back(data, published, tmp_path, capsys) -> None:
    like = PublishOptions(name="zh", split_like=published.folder)
    translated = publish(data.translated_well, tmp_path / "zh", like)
    ids = {row["index"] for row in rows(published, "test")}
    assert {row["index"] for row in rows(translated, "test")} == ids
    assert {row["answer"] for row in rows(translated, "test")} == {None}
    assert set(open_sealed(translated.sealed).answers) == ids
    for folder, sentence in (
        (str(tmp_path), "no publication is there"),
        (str(tmp_path / "open"), "it keeps no answers back"),
    ):
        publish(data.data, tmp_path / "open")
        out = str(tmp_path / "p")
        assert main(["curate", "publish", str(data.data), "--out", out, "--hold-out", folder]) == 2
        assert sentence in capsys.readouterr().err


def test_without_a_key_the_answers_are_plain_and_outside(data, tmp_path, capsys) -> None:
    main(["curate", "publish", str(data.data), "--out", str(tmp_path / "p"), "--hold-out", "0.3"])
    printed = capsys.readouterr().out
    assert "answers.jsonl: the answers kept back, not encrypted" in printed
    assert "flagged: 3 items have no licence: 119, 120, 121\n  first: 119: no licence is" in printed
    assert f"why each: {tmp_path / 'p-private' / 'decisions.jsonl'}\n" in printed
    path = tmp_path / "p-private" / "answers.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(open_sealed(path).answers) == 22


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--require-licence"], "3 items have no licence: 119, 120, 121"),
        (["--facts", "licence=CC BY 4.0"], "did you mean CC-BY-4.0"),
        (["--hold-out", "140%"], "is no share to hold out"),
        (["--hold-out", "0.1%"], "keeps none back"),
        (["--name", "my bench"], "expected letters, digits"),
        (["--facts", "language=English"], "is no language code"),
        (["--seal-key", "k"], "add --hold-out"),
        (["--licences", "none.toml"], "none.toml: there is no such file"),
    ],
)
def test_a_mistake_is_one_sentence(data, tmp_path, capsys, flags, sentence) -> None:
    try:
        code = main(["curate", "publish", str(data.data), "--out", str(tmp_path / "p"), *flags])
    except SystemExit as exit:
        code = exit.code
    assert code == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
    assert not (tmp_path / "p").exists()


def test_items_without_a_licence_can_be_left_out(data, tmp_path) -> None:
    published = publish(data.data, tmp_path / "p", PublishOptions(require_licence="drop"))
    assert set(published.dropped["no_licence"]) == data.ids_of("missing_licence")
    assert "" not in published.publication.licences


def test_each_image_has_its_licence_author_and_address(tmp_path) -> None:
    for place, name in enumerate(("a.png", "b.png")):
        Image.new("RGB", (8, 8), (place * 90, 0, 0)).save(tmp_path / name)
    by, nc = "https://creativecommons.org/licenses/by/2.0/", "CC-BY-NC-2.0"
    rows = [
        {
            "index": "one",
            "question": "What?",
            "answer": "x",
            "image_path": "a.png",
            "license": by,
            "author": "Ada",
            "picture_url": "https://example.org/a",
            "source": "web",
        },
        {
            "index": "both",
            "question": "Which?",
            "answer": "y",
            "image_path": ["a.png", "b.png"],
            "license": [by, nc],
            "author": ["Ada", "Bo"],
            "source": "web",
        },
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    published = publish(data, tmp_path / "p", PublishOptions(licence="CC0-1.0"))
    assert published.publication.licences == {"CC-BY-2.0": 1, "CC-BY-2.0 AND CC-BY-NC-2.0": 1}
    assert "no commercial use (1); attribution (2)" in published.publication.conditions
    lines = [line.split("\t") for line in (tmp_path / "p" / "ATTRIBUTION.tsv").read_text().splitlines()[1:]]
    assert sorted(line[2:6] + line[7:] for line in lines) == [
        ["Ada", "https://example.org/a", "CC-BY-2.0", by, "2"],
        ["Bo", "", nc, "https://creativecommons.org/licenses/by-nc/2.0/", "1"],
    ]
    names = {line[0] for line in lines}
    assert names == {f"{hashlib.sha256((tmp_path / each).read_bytes()).hexdigest()}.png" for each in ("a.png", "b.png")}
    card = (tmp_path / "p" / "README.md").read_text()
    assert card.startswith('---\nlicense: ["cc0-1.0", "cc-by-2.0", "cc-by-nc-2.0"]\n')
    assert published.publication.conditions in card


def test_items_that_cannot_be_asked_are_left_out_with_a_reason(tmp_path) -> None:
    rows = [
        {"index": "good", "question": "Which?", "A": "a", "B": "b", "answer": "A"},
        {"index": "none", "question": None, "A": "a", "B": "b", "answer": "A"},
        {"index": "object", "question": {"t": 1}, "A": "a", "B": "b", "answer": "A"},
        {"index": "equal", "question": "Which?", "A": "b ", "B": "b", "answer": "A"},
        {"index": "set", "question": "{1, 2} has how many members?", "answer": "2"},
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    published = publish(data, tmp_path / "p", PublishOptions(licence="CC0-1.0"))
    assert published.dropped == {"unusable_row": ["none", "object", "equal"]}
    decisions = {each.item: each for each in read_decisions(Path(published.private))}
    assert "no question" in decisions["none"].reason
    assert "no question" in decisions["object"].reason
    assert "options A and B are the same" in decisions["equal"].reason
    assert published.publication.licences == {"CC0-1.0": 2}
    assert name_some(["a\n  b", "c"]) == "a b, c"


@pytest.mark.parametrize("how", ["absolute", "parent", "link"])
def test_images_outside_the_folder_need_the_media_flag(tmp_path, capsys, how) -> None:
    secret, theirs = tmp_path / "secret", tmp_path / "theirs"
    secret.mkdir()
    theirs.mkdir()
    Image.new("RGB", (8, 8)).save(secret / "mine.png")
    (theirs / "link.png").symlink_to(secret / "mine.png")
    Image.new("RGB", (8, 8), "red").save(theirs / "own.png")
    path = {"absolute": str(secret / "mine.png"), "parent": "../secret/mine.png", "link": "link.png"}[how]
    data = theirs / "data.jsonl"
    rows = [
        {"index": name, "question": "What?", "answer": name, "image_path": image}
        for name, image in (("own", "own.png"), ("taken", path))
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # As it stands, and after a step that copied the picture.
    command = ["curate", "duplicates", str(data), "--out", str(tmp_path / "clean")]
    assert main(command) == 0
    for source in (data, tmp_path / "clean"):
        out = tmp_path / f"p-{source.stem}"
        assert main(["curate", "publish", str(source), "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert f"from 1 folder outside of the data's own: {secret}" in error
        assert not out.exists()
        told = ["--media", str(secret)]
        assert main(["curate", "publish", str(source), "--out", str(out), *told]) == 1  # no licence
    assert (
        main(["curate", "publish", str(theirs / "data.jsonl"), "--out", str(tmp_path / "q"), "--media", str(theirs)])
        == 2
    )


def test_a_folder_of_something_else_is_left_alone(data, tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds files that are no publication"):
        publish(data.data, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def write_tsv(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(line.replace("|", "\t") for line in lines) + "\n")
    return path


def test_another_split_replaces_the_publication_and_keeps_the_old_answers(data, tmp_path) -> None:
    for share, count in ((0.3, 22), (0.5, 36)):
        published = publish(data.data, tmp_path / "p", PublishOptions(hold_out=share))
        assert len(rows(published, "test")) == count
        assert len(open_sealed(published.sealed).answers) == count
    assert len(open_sealed(tmp_path / "p-private.before-1" / "answers.jsonl").answers) == 22


def test_several_kinds_make_a_file_each_with_numbers_for_index(tmp_path) -> None:
    table = write_tsv(
        tmp_path / "mixed.tsv",
        "index|question|A|B|answer|category",
        "x1|Which?|one|None|B|a",
        "x2|Is it?|||yes|a",
        'x3|What?|||["Paris", "paris"]|b',
    )
    published = publish(table, tmp_path / "p", PublishOptions(name="mixed"))
    files = {
        name: pandas.read_csv(tmp_path / "p" / name, sep="\t")
        for name in ("mixed_MCQ.tsv", "mixed_YN.tsv", "mixed_openended.tsv")
    }
    assert {name: [*frame["index"]] for name, frame in files.items()} == {
        "mixed_MCQ.tsv": [1],
        "mixed_YN.tsv": [2],
        "mixed_openended.tsv": [3],
    }
    assert [*files["mixed_openended.tsv"]["id"]] == ["x3"]
    assert "A" not in files["mixed_openended.tsv"]
    [note] = [note for note in published.notes if "'None'" in note]
    assert "takes the text 'None' for an empty cell (1)" in note
    gold = {item.id: item.sample.gold for item in open_items(published.specs["test"])}
    assert gold == {"x1": ("B",), "x2": ("Yes",), "x3": ("Paris", "paris")}


def test_columns_that_pandas_changes_are_named(tmp_path) -> None:
    table = write_tsv(tmp_path / "n.tsv", "index|question|A|B|C|answer", "1|Sum?|1|02|3|A", "2|Sum?|4|05||B")
    published = publish(table, tmp_path / "p")
    notes = [note for note in published.notes if "is a number" in note]
    assert len(notes) == 2
    assert "column B is a number" in notes[0]
    assert "makes 2 of 02" in notes[0]
    assert "makes 3.0 of 3" in notes[1]
    frame = pandas.read_csv(tmp_path / "p" / "p.tsv", sep="\t")
    assert f"{frame['B'][0]} {frame['C'][0]}" == "2 3.0"


def test_a_question_that_states_its_answer_is_not_held_out(tmp_path) -> None:
    lines = [f"{n}|Which?|one|two|A|The answer is A." for n in range(5)]
    lines += [f"{n}|Which?|one|two|A|" for n in range(5, 10)]
    table = write_tsv(tmp_path / "t.tsv", "index|question|A|B|answer|hint", *lines)
    published = publish(table, tmp_path / "p", PublishOptions(hold_out=0.5))
    assert {row["index"] for row in rows(published, "test")} == {"5", "6", "7", "8", "9"}
    assert published.flagged["states_its_answer"] == ["0", "1", "2", "3", "4"]
    assert len(published.flagged["no_licence"]) == 10


def test_several_images_and_kept_columns(tmp_path) -> None:
    for name in ("a", "b"):
        Image.new("RGB", (9, 7), "red" if name == "a" else "blue").save(tmp_path / f"{name}.png")
    table = tmp_path / "t.jsonl"
    images = [["a.png", "b.png"], ["b.png"]]
    table.write_text(
        "".join(
            json.dumps(
                {
                    "index": n,
                    "question": "Which?",
                    "A": "1",
                    "B": "2",
                    "answer": "A",
                    "image": names,
                    "caption": "secret",
                    "seed": "7",
                }
            )
            + "\n"
            for n, names in enumerate(images)
        )
    )
    published = publish(table, tmp_path / "p", PublishOptions(keep=("seed",)))
    [first, second] = rows(published, "test")
    assert [len(first["image"]), len(second["image"])] == [2, 1]
    assert first["seed"] == "7"
    assert "caption" not in first
    assert any("columns left out: caption" in note for note in published.notes)
    frame = pandas.read_csv(tmp_path / "p" / "p.tsv", sep="\t")
    assert [len(json.loads(frame["image"][0])), len(frame["image"][1]) > 64] == [2, True]
    loaded = [*open_items(published.specs["test"])]
    assert [[ref.digest for ref in item.sample.media] for item in loaded] == [
        [ref.digest for ref in item.sample.media] for item in open_items(table)
    ]
