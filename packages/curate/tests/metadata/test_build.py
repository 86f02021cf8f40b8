"""From records and templates to a data set folder that runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import msgspec
import pytest
from drawn_metadata import HEADER, SHAPES, SPACES, write_metadata
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import snellen
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.request import Generate
from snellen.data_sets.decisions import Decision, latest_decisions, read_decisions
from snellen_curate.metadata.build import MetadataQuestionOptions, build_questions
from snellen_curate.metadata.question_counts import QuestionCounts, RecordOutcome
from snellen_curate.metadata.records import (
    MetadataHeader,
    MetadataRecord,
    ObjectBox,
    SourceFacts,
    option_key,
    write_records,
)
from snellen_curate.metadata.templates import read_templates
from snellen_curate.open_data import open_items
from snellen_curate.step_options import StepOptions

LABELS = "ABCDEFGH"


class Made:
    """A data set folder that was made, with what is in it."""

    def __init__(self, out: Path, counts: QuestionCounts) -> None:
        self.out = out
        self.counts = counts
        lines = (out / "items.jsonl").read_text().splitlines()
        self.items: list[dict[str, Any]] = [json.loads(line) for line in lines]
        records = (out / "records.jsonl").read_bytes().splitlines()
        self.records = [msgspec.json.decode(line, type=RecordOutcome) for line in records]
        self.decisions = latest_decisions(read_decisions(out))

    def rules(self) -> dict[str, str]:
        return {each.record: each.rule for each in self.records}


def options_of(item: Mapping[str, Any]) -> list[str]:
    return [item[label] for label in LABELS if label in item]


def gold_of(item: Mapping[str, Any]) -> str:
    return str(item[item["answer"]])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_metadata(tmp_path_factory.mktemp("drawn"), 64)


Make = Callable[..., Made]


@pytest.fixture
def make(drawn: tuple[Path, Path], tmp_path: Path) -> Make:
    def build(name: str = "out", **options: Any) -> Made:
        counts = build_questions(*drawn, tmp_path / name, MetadataQuestionOptions(**options), asking=StepOptions())
        return Made(tmp_path / name, counts)

    return build


def test_twelve_subtasks(make: Make) -> None:
    made = make(per_subtask=16)
    by_subtask = Counter(item["category"] for item in made.items)
    assert len(by_subtask) == 12
    assert set(by_subtask.values()) == {16}
    for item in made.items:
        options = options_of(item)
        assert 2 <= len(options) <= 8
        assert item["answer"] in LABELS[: len(options)]
        assert len(set(map(option_key, options))) == len(options)
        assert all(options)
        images = item["image"] if isinstance(item["image"], list) else [item["image"]]
        assert all((made.out / image).is_file() for image in images)
        assert made.decisions[item["index"]].action == ("add" if "license" in item else "flag")
        assert item["source"].startswith("drawn-")


def test_right_options_are_right_and_wrong_ones_are_wrong(make: Make, drawn: tuple[Path, Path]) -> None:
    """Against the records, by rules of this test's own."""
    lines = drawn[0].read_bytes().splitlines()[1:]
    records = {record.id: record for record in (msgspec.json.decode(x, type=MetadataRecord) for x in lines)}
    checked: Counter[str] = Counter()
    for item in make(per_subtask=40).items:
        record, gold = records[item["record"]], gold_of(item)
        wrong = [text for text in options_of(item) if text != gold]
        true = {record.label, *(box.label for box in record.boxes)}
        match item["category"]:
            case "shape recognition":
                assert gold == record.label
                assert not true & set(wrong)
                assert set(wrong) <= set(SPACES["shapes"])
            case "colour recognition":
                assert gold == record.annotation["colour"]
            case "object counting":
                label = next(shape for shape in SHAPES if f"{shape}s" in item["question"])
                assert gold == str(sum(box.label == label for box in record.boxes))
                assert all(int(text) >= 0 for text in wrong)
            case "object detection":
                label = next(shape for shape in SHAPES if shape in item["question"])
                (box,) = [box for box in record.boxes if box.label == label]
                assert json.loads(gold) == list(box.corners)
            case "existence":
                label = item["question"].split()[3]
                assert gold == ("Yes" if label in true else "No")
            case "captioning":
                assert gold in record.captions
                assert not set(record.captions) & set(wrong)
            case "relation":
                assert gold == record.relations[0].predicate
            case "temporal ordering":
                assert gold == ", ".join(record.sequence)
                assert all(sorted(each.split(", ")) == sorted(record.sequence) for each in wrong)
            case "text reading" | "weighing":
                assert gold == (record.text if item["category"] == "text reading" else record.number)
            case "shape retrieval":
                number = LABELS.index(item["answer"]) + 1
                assert gold == f"Candidate {number}"
                assert len(item["image"]) == len(options_of(item)) + 1
                assert len(set(item["image"])) == len(item["image"])
            case _:
                continue
        checked[item["category"]] += 1
    assert len(checked) == 11


def test_candidates_show_the_right_image_at_its_place(make: Make, drawn: tuple[Path, Path]) -> None:
    made = make(per_subtask=12)
    retrieval = [item for item in made.items if item["category"] == "shape retrieval"]
    assert len(retrieval) == 12
    for item in retrieval:
        number = item["record"].split("-")[2]
        place = LABELS.index(item["answer"]) + 1
        query, right = (drawn[0].parent / f"{number}{end}.png" for end in ("", "-twin"))
        assert (made.out / item["image"][0]).read_bytes() == query.read_bytes()
        assert (made.out / item["image"][place]).read_bytes() == right.read_bytes()


def test_positions_are_balanced_exactly(make: Make) -> None:
    made = make(per_subtask=15)
    for group in (lambda item: 0, lambda item: item["category"]):
        places: dict[Any, Counter[str]] = {}
        for item in made.items:
            key = (group(item), len(options_of(item)))
            places.setdefault(key, Counter())[item["answer"]] += 1
        for (_, size), counts in places.items():
            by_label = [counts[label] for label in LABELS[:size]]
            assert max(by_label) - min(by_label) <= 1


def test_sources_give_evenly_and_the_cap_holds(make: Make) -> None:
    made = make(per_subtask=10)
    for subtask in made.counts.subtasks.values():
        assert subtask.items == 10
        assert sorted(subtask.sources.values()) == [3, 3, 4]
    # drawn-b and drawn-c have 16 records each, so that drawn-a fills up.
    wide = make("wide", per_subtask=44)
    assert wide.counts.subtasks["weighing"].sources == {"drawn-a": 14, "drawn-b": 15, "drawn-c": 15} or sorted(
        wide.counts.subtasks["weighing"].sources.values()
    ) == [14, 15, 15]
    everything = make("all", per_subtask=1000)
    assert everything.counts.subtasks["shape retrieval"].sources == {"drawn-a": 32, "drawn-b": 16, "drawn-c": 16}


def test_a_larger_cap_keeps_the_items(make: Make) -> None:
    """All of them, with their options; the answer's place of most."""
    few, many = (make(f"n{count}", per_subtask=count).items for count in (8, 20))
    later = {item["index"]: item for item in many}
    places_kept = 0
    for item in few:
        after = later[item["index"]]
        assert sorted(options_of(after)) == sorted(options_of(item))
        assert after["question"] == item["question"]
        places_kept += after["answer"] == item["answer"]
    assert places_kept >= 0.75 * len(few)


def test_the_seed_decides(make: Make) -> None:
    first, again, other = make("a", seed=1), make("b", seed=1), make("c", seed=2)
    texts = [(each.out / "items.jsonl").read_bytes() for each in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]
    decided = [[msgspec.structs.replace(each, at="") for each in made.decisions.values()] for made in (first, again)]
    assert decided[0] == decided[1]


def test_every_record_is_accounted_for(make: Make, drawn: tuple[Path, Path]) -> None:
    made = make(per_subtask=10)
    assert len(made.records) == made.counts.records == 128
    with_items = {name for each in made.records for name in each.items}
    assert with_items == {item["index"] for item in made.items}
    assert all(each.items or each.rule for each in made.records)
    assert sum(made.counts.unused.values()) == sum(not each.items for each in made.records)


def test_questions_run_as_a_benchmark_and_random_scores_chance(make: Make, tmp_path: Path) -> None:
    made = make(per_subtask=40)
    results = snellen.evaluate("random", made.out / "items.jsonl", out=tmp_path / "runs", html=False)
    (run,) = results.runs
    assert run.info.status == "complete"
    assert run.summary is not None
    assert run.summary.headline.value is not None
    assert made.counts.chance is not None
    # Four standard deviations of a share, in percent.
    margin = 400 * (0.25 / len(made.items)) ** 0.5
    assert abs(run.summary.headline.value - made.counts.chance) < margin


def test_the_protocol_of_mmt_bench_reads_it(make: Make, tmp_path: Path) -> None:
    """Accuracy per subtask, the mean of subtasks per meta-task, and the mean of all subtasks."""
    made = make(per_subtask=12)
    results = snellen.evaluate(
        "random",
        "mmt-bench",
        variant=snellen.Variant(data=str(made.out / "items.jsonl")),
        out=tmp_path / "runs",
        html=False,
    )
    summary = results.runs[0].summary
    assert summary is not None
    # Names that MMT-Bench has too are spelt as its files spell them.
    subtasks = {name.replace("_", " "): metric for name, metric in summary.groups["category"].items()}
    assert len(subtasks) == 12
    means = {label: metric.value for label, metric in summary.groups["l2-category"].items() if metric.value is not None}
    mean = [subtasks[name].value for name in ("shape recognition", "colour recognition", "relation")]
    assert means["VR"] == pytest.approx(sum(filter(None, mean)) / 3)
    assert summary.headline.value == pytest.approx(sum(metric.value or 0 for metric in subtasks.values()) / 12)


def test_nothing_can_be_guessed_without_looking(tmp_path: Path) -> None:
    """The text probe is at chance, and no rule is better than it."""
    records, templates = write_metadata(tmp_path / "many", 240, seed=3)
    counts = build_questions(records, templates, tmp_path / "out", MetadataQuestionOptions(per_subtask=120))
    checks = {name: one.guessing for name, one in counts.subtasks.items() if one.guessing}
    assert len(checks) == 12
    assert counts.items + sum(check.left_out for check in checks.values()) > 1300
    for name, check in checks.items():
        assert name == "shape retrieval" or check.right is not None
        assert check.right is None or check.low <= check.chance, name
    assert not counts.findings


def test_options_alike_in_length(drawn: tuple[Path, Path], tmp_path: Path) -> None:
    """Captions of very different lengths: without the choice the spread is larger."""
    spreads = {}
    for alike in (False, True):
        out = tmp_path / f"alike-{alike}"
        build_questions(*drawn, out, MetadataQuestionOptions(per_subtask=64, alike_length=alike))
        captions = [item for item in open_items(out) if item.label("category") == "captioning"]
        spreads[alike] = fmean(pstdev(len(text.split()) for text in item.sample.options.values()) for item in captions)
    assert spreads[True] <= spreads[False]


COUNTING = """
[[templates]]
subtask = "counting"
answer = "count"
questions = ["How many {label}s?"]
"""


def small(
    folder: Path, records: Sequence[MetadataRecord | str], templates: str = COUNTING, header: MetadataHeader = HEADER
) -> tuple[Path, Path]:
    """Files of these records (a text is a raw line), with one picture `p.png` of 40 x 30."""
    folder.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (40, 30), "red").save(folder / "p.png")
    path = folder / "records.jsonl"
    write_records(path, header, [record for record in records if isinstance(record, MetadataRecord)])
    with path.open("a") as file:
        for line in records:
            if isinstance(line, str):
                file.write(line + "\n")
    (folder / "templates.toml").write_text(templates)
    return path, folder / "templates.toml"


def counted(name: str, **fields: Any) -> MetadataRecord:
    given: dict[str, Any] = {"source": "drawn-a", "images": ("p.png",), "counts": {"dog": 3}}
    return MetadataRecord(id=name, **{**given, **fields})


BROKEN: list[tuple[str, MetadataRecord | str, str, str]] = [
    ("x", counted("x", images=()), "picture", 'has no picture; expected "images"'),
    ("x", counted("x", images=("lost.png",)), "picture", "there is no image file .*lost.png"),
    ("x", counted("x", images=("torn.png",)), "picture", "cannot be opened"),
    (
        "x",
        counted("x", boxes=(ObjectBox("dog", (30, 0, 50, 9)),), width=40, height=30),
        "box",
        r"\(dog\) \[30, 0, 50, 9\] is outside a picture of 40 x 30 pixels",
    ),
    ("x", counted("x", boxes=(ObjectBox("dog", (30, 0, 50, 9)),)), "box", "outside a picture"),
    ("x", counted("x", boxes=(ObjectBox("dog", (9, 9, 1, 12)),)), "box", "has no area"),
    (
        "x",
        counted("x", boxes=(ObjectBox("dog", (0, 0, 5, 5)),), width=80, height=60),
        "size",
        "for 80 x 60 pixels and the picture has 40 x 30",
    ),
    ("x", counted("x", counts={"dog": -1}), "count", "counts -1"),
    ("x", counted("x", space="animals"), "space", "not in the header"),
    ("x", counted("x", counts={}), "template", "nothing that a template asks for"),
    ("x", counted("x", subtask="ocr"), "template", "no template is of its subtask"),
    ("line 3", '{"id": "x', "json", "no JSON"),
    ("x", '{"id": "x", "source": "a", "imges": []}', "field", "unknown field `imges`"),
    ("x", '{"id": "x", "source": 3}', "field", "Expected `str`"),
    ("line 3", '{"source": "a", "images": ["p.png"]}', "field", "missing required field `id`"),
]


@pytest.mark.parametrize(("name", "record", "rule", "reason"), BROKEN)
def test_a_record_that_gives_no_item_says_why(
    name: str, record: MetadataRecord | str, rule: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    files = small(tmp_path / "data", [counted("good"), record])
    if isinstance(record, MetadataRecord):
        # The good one first, then the broken one.
        files = small(tmp_path / "data", [counted("good"), record])
    made = Made(tmp_path / "out", build_questions(*files, tmp_path / "out"))
    assert made.counts.items == 1
    (outcome,) = [each for each in made.records if not each.items]
    assert (outcome.record, outcome.rule) == (name, rule)
    import re

    assert re.search(reason, outcome.reason)
    if rule != "template":
        dropped = [each for each in made.decisions.values() if each.action == "drop"]
        assert [each.rule for each in dropped] == [rule]
        assert made.counts.problems


def test_a_licence_that_is_missing_is_flagged_or_refused(tmp_path: Path) -> None:
    records = [
        counted("free"),
        counted("own", source="drawn-c", license="CC-BY-4.0"),
        counted("none", source="drawn-c"),
        counted("unknown", source="elsewhere"),
    ]
    files = small(tmp_path / "data", records)
    made = Made(tmp_path / "flagged", build_questions(*files, tmp_path / "flagged"))
    assert made.counts.without_licence == 2
    assert {item["record"]: item.get("license", "") for item in made.items} == {
        "free": "CC0-1.0",
        "own": "CC-BY-4.0",
        "none": "",
        "unknown": "",
    }
    assert made.decisions["counting/none"].action == "flag"
    assert made.decisions["counting/none"].rule == "licence"
    strict = MetadataQuestionOptions(require_license=True)
    made = Made(tmp_path / "strict", build_questions(*files, tmp_path / "strict", strict))
    assert {item["record"] for item in made.items} == {"free", "own"}
    assert made.rules() == {"free": "", "own": "", "none": "licence", "unknown": "licence"}
    assert made.decisions["none"].action == "drop"


RETRIEVAL = """version = 1
[[templates]]
subtask = "retrieval"
answer = "picture"
questions = ["Which candidate shows the same?"]
options = 2
"""


def test_a_candidate_of_another_record_does_not_get_this_record_s_licence(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    records = []
    for number, name in enumerate(("one", "two", "three")):
        images = (f"{name}.png", f"{name}-twin.png")
        for twin, image in enumerate(images):
            Image.new("RGB", (40, 30), (80 * number, 120 * twin, 7)).save(folder / image)
        records.append(
            MetadataRecord(
                id=name, source="drawn-c", images=images, label=name, author=name, license=f"LicenseRef-{name}"
            )
        )
    made = Made(tmp_path / "made", build_questions(*small(folder, records, RETRIEVAL), tmp_path / "made"))
    assert len(made.items) == 3
    for item in made.items:
        right = " AB".index(item["answer"])
        for column, own in (("license", f"LicenseRef-{item['record']}"), ("author", item["record"])):
            values = json.loads(item[column])
            assert [bool(value) for value in values] == [place in (0, right) for place in range(3)]
            assert values[0] == values[right] == own


MISTAKES: list[tuple[str, str]] = [
    ("", "has no|missing required field"),
    ("[[templates]\n", "is no TOML"),
    ('[[templates]]\nsubtask = "a"\nanswer = "colour"\n', "answer = 'colour'; expected label"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\noptions = 9\n', "expected 2 to 8"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\noptions = [5, 3]\n', "expected 2 to 8"),
    ('[[templates]]\nsubtask = "a"\nanswer = "presence"\n', "set options = 2"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\nquestions = ["Is it {breed}?"]\n', "unknown placeholder {breed}"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\nspace = "dogs"\n', "category space"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\ncolour = 1\n', "unknown field `colour`"),
    ('version = 2\n[[templates]]\nsubtask = "a"\nanswer = "label"\n', "version 2"),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\ndistractors = ["nummbers"]\n', "did you mean numbers"),
    (
        '[[templates]]\nsubtask = "a"\nanswer = "label"\ndistractors = [{by="numbers", spred=1}]\n',
        "unknown field `spred`; its settings: spread, share, minimum",
    ),
    (
        '[[templates]]\nsubtask = "a"\nanswer = "box"\ndistractors = [{by="boxes", min_iou=0.6}]\n',
        "`min_iou`; its settings: max_iou",
    ),
    (
        '[[templates]]\nsubtask = "a"\nanswer = "keypoints"\ndistractors = [{by="keypoints", min_shift=0.6}]\n',
        "min_shift is not less than max_shift",
    ),
    (
        '[[templates]]\nsubtask = "a"\nanswer = "label"\ndistractors = [{by="categories", near="embedding"}]\n',
        "embedding",
    ),
    ('[[templates]]\nsubtask = "a"\nanswer = "label"\ndistractors = ["model"]\n', "-m"),
    (COUNTING + COUNTING, "two templates of this subtask"),
]


@pytest.mark.parametrize(("templates", "sentence"), MISTAKES)
def test_mistakes_in_templates_give_one_sentence(templates: str, sentence: str, tmp_path: Path) -> None:
    files = small(tmp_path / "data", [counted("good")], templates)
    with pytest.raises(UsageError, match=sentence):
        build_questions(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["{}", "[]"], "holds no metadata records"),
        ([], "holds no records"),
        (['{"metadata": 9}'], "metadata of version 9"),
        (['{"metadata": 1, "spaces": 3}'], "the header cannot be used"),
        (
            ['{"id": "a", "source": "s", "images": ["p.png"], "counts": {"dog": 1}}'] * 2,
            "records 1 and 2 have the same id 'a'",
        ),
    ],
)
def test_refuses_files_that_are_not_metadata(lines: list[str], sentence: str, tmp_path: Path) -> None:
    files = small(tmp_path / "data", [])
    files[0].write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=sentence):
        build_questions(*files, tmp_path / "out")
    # Once the file is put right, the same command makes the folder.
    assert not (tmp_path / "out").exists()


def test_other_true_labels_are_not_options(tmp_path: Path) -> None:
    """What the picture also shows, what the label implies, and what says the same."""
    header = MetadataHeader(
        spaces={
            "zoo": {
                "dog": "animal",
                "poodle": "animal/dog",
                "animal": "",
                "cat": "animal",
                "puppy": "animal",
                "cow": "animal",
                "car": "",
            }
        }
    )
    templates = """
same = [["dog", "puppy"]]
[[templates]]
subtask = "animals"
answer = "label"
questions = ["Which animal?"]
options = [2, 8]
"""
    records = [counted(f"d{n}", label="dog", labels=("cat",), space="zoo", counts={}) for n in range(6)]
    files = small(tmp_path / "data", records, templates, header)
    made = Made(tmp_path / "out", build_questions(*files, tmp_path / "out"))
    assert len(made.items) == 6
    for item in made.items:
        assert set(options_of(item)) == {"dog", "cow", "car"}


def test_an_unused_share_goes_to_the_other_sources(tmp_path: Path) -> None:
    """Records whose pictures are broken are replaced by others of their source, then of others."""
    records = [
        counted(f"{source}-{n}", source=source, images=("p.png" if n < good else "lost.png",))
        for source, good in (("drawn-a", 3), ("drawn-b", 40))
        for n in range(40)
    ]
    files = small(tmp_path / "data", records)
    options = MetadataQuestionOptions(per_subtask=20)
    counts = build_questions(*files, tmp_path / "out", options)
    assert counts.subtasks["counting"].sources == {"drawn-a": 3, "drawn-b": 17}
    assert counts.unused["picture"] == 37


def test_a_step_is_made_once(drawn: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = build_questions(*drawn, out, MetadataQuestionOptions(per_subtask=5))
    before = (out / "decisions.jsonl").read_bytes()
    (out / "items.jsonl").unlink()
    again = build_questions(*drawn, out, MetadataQuestionOptions(per_subtask=5))
    assert again == first
    assert not (out / "items.jsonl").exists()
    # As after a kill before its end: everything is there again, and nothing is decided twice.
    info = json.loads((out / "step.json").read_text())
    (out / "step.json").write_text(json.dumps({**info, "status": "running", "counts": {}}))
    assert build_questions(*drawn, out, MetadataQuestionOptions(per_subtask=5)) == first
    assert (out / "items.jsonl").exists()
    assert (out / "decisions.jsonl").read_bytes() == before
    with pytest.raises(UsageError, match="was made with per_subtask 5, now it is 6"):
        build_questions(*drawn, out, MetadataQuestionOptions(per_subtask=6))


WRITTEN = """
[[templates]]
subtask = "captioning"
answer = "caption"
questions = ["Which caption fits?"]
options = 4
distractors = [{ by = "model", picture = true, extra = 1 }]
[[templates.examples]]
question = "Which caption fits?"
answer = "a dog on a sofa"
options = ["a cat on a sofa", "a dog on a bed"]
"""


def captioned(folder: Path) -> tuple[Path, Path]:
    records = [counted(f"c{n}", captions=(f"a red field number {n}", "all is red"), counts={}) for n in range(4)]
    return small(folder, records, WRITTEN)


def test_a_model_writes_wrong_options(tmp_path: Path) -> None:
    asked: list[str] = []

    def write(request: Generate) -> str:
        asked.append(request.text())
        assert len(request.images()) == 1
        # One that says the same, one that is true, and three that can be used.
        return json.dumps({"options": ["All is red.", "a blue field", "A  blue field", "x", "y z"]})

    writer = snellen.wrap_model(write, "writer", revision="1")
    out = tmp_path / "out"
    made = Made(out, build_questions(*captioned(tmp_path / "data"), out, writer=writer))
    assert made.counts.items == 4
    for item in made.items:
        assert set(options_of(item)) == {gold_of(item), "a blue field", "x", "y z"}
        decision = made.decisions[item["index"]]
        assert item["distractors"] == "model"
        assert [each.model for each in decision.evidence] == ["writer"]
        assert decision.evidence[0].request
    # Examples and what else is true of the picture are in the context.
    assert "a cat on a sofa" in asked[0]
    assert "Also true of the picture" in asked[0]
    assert len(asked) == 4


def test_replies_that_cannot_be_used_and_requests_that_fail(tmp_path: Path) -> None:
    state = {"fails": True}

    def write(request: Generate) -> str:
        text = request.text()
        if "number 1" in text and state["fails"]:
            raise RuntimeError("the server is down")
        return "no JSON" if "number 2" in text else '{"options": ["u", "v", "w"]}'

    writer = snellen.wrap_model(write, "writer", revision="1")
    files, out = captioned(tmp_path / "data"), tmp_path / "out"
    # Captions are drawn by seed: the first caption of all four is asked for.
    seed = next(seed for seed in range(500) if _golds(files, tmp_path / f"seed{seed}", seed) == 4)
    options = MetadataQuestionOptions(seed=seed)
    made = Made(out, build_questions(*files, out, options, writer=writer))
    assert (made.counts.items, made.counts.failed) == (2, 1)
    rules = Counter(each.rule for each in made.decisions.values())
    assert rules["failed"] == rules["writer"] == 1
    assert json.loads((out / "step.json").read_text())["status"] == "waiting"
    # The next start asks only what failed.
    state["fails"] = False
    made = Made(out, build_questions(*files, out, options, writer=writer))
    assert (made.counts.items, made.counts.failed) == (3, 0)
    assert json.loads((out / "step.json").read_text())["status"] == "complete"


def _golds(files: tuple[Path, Path], out: Path, seed: int) -> int:
    """How many items of a seed ask for the caption with a number."""
    plain = files[1].with_name("plain.toml")
    plain.write_text(
        '[[templates]]\nsubtask = "captioning"\nanswer = "caption"\nquestions = ["?"]\n'
        'distractors = ["wrong_answers", "characters"]\n'
    )
    build_questions(files[0], plain, out, MetadataQuestionOptions(seed=seed))
    items = Made(out, QuestionCounts(0, 0)).items
    return sum("number" in gold_of(item) for item in items)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(
        st.dictionaries(st.sampled_from(["dog", "cat", "cow"]), st.integers(0, 300), min_size=1), min_size=1, max_size=6
    ),
    seed=st.integers(0, 5),
    limit=st.integers(1, 6),
    alike=st.booleans(),
)
def test_any_counts_give_items_that_hold_the_rules(
    counts: list[dict[str, int]], seed: int, limit: int, alike: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of fewer than 20 answers: of more, a plan may leave some out, or ask with fewer options."""
    folder = tmp_path_factory.mktemp("any")
    records = [counted(f"r{n}", counts=each) for n, each in enumerate(counts)]
    files = small(folder / "data", records, COUNTING + "per_record = 2\noptions = [2, 8]\n")
    options = MetadataQuestionOptions(per_subtask=limit, seed=seed, alike_length=alike)
    made = Made(folder / "out", build_questions(*files, folder / "out", options))
    assert len(made.items) == min(limit, sum(min(2, len(each)) for each in counts))
    assert len({item["index"] for item in made.items}) == len(made.items)
    for item in made.items:
        keys = [option_key(text) for text in options_of(item)]
        assert len(set(keys)) == len(keys) == 8
        label = item["question"].removeprefix("How many ").removesuffix("s?")
        assert gold_of(item) == str(counts[int(item["record"][1:])][label])


def test_decisions_are_those_of_the_frame(make: Make) -> None:
    made = make(per_subtask=3)
    assert all(isinstance(each, Decision) for each in made.decisions.values())
    assert len(list(open_items(made.out))) == made.counts.items
    assert {SourceFacts().license} == {""}


def test_unknown_space_of_a_template(tmp_path: Path) -> None:
    files = small(tmp_path / "d", [counted("a")], COUNTING + 'space = "colors"\n')
    with pytest.raises(UnknownName, match="category space of the subtask 'counting' 'colors'"):
        build_questions(*files, tmp_path / "out")
    assert read_templates(files[1]).templates[0].space == "colors"


def test_several_files_are_several_data_sets(tmp_path: Path) -> None:
    """Pictures of the same name in two folders stay apart, and each gives as many items."""
    files = []
    for name, colour in (("one", "red"), ("two", "blue")):
        header = MetadataHeader(sources={name: SourceFacts("CC0-1.0")})
        records = [counted(f"{name}-{n}", source=name) for n in range(30)]
        files.append(small(tmp_path / name, records, header=header))
        Image.new("RGB", (40, 30), colour).save(tmp_path / name / "p.png")
    with files[1][0].open("a") as lines:
        lines.write("no JSON\n")
    out = tmp_path / "out"
    options = MetadataQuestionOptions(per_subtask=9)
    made = Made(out, build_questions([each[0] for each in files], files[0][1], out, options))
    assert sorted(made.counts.subtasks["counting"].sources.values()) == [4, 5]
    assert made.counts.without_licence == 0
    assert made.rules()["records.jsonl line 32"] == "json"
    for item in made.items:
        image = (tmp_path / item["source"] / "p.png").read_bytes()
        assert (out / item["image"]).read_bytes() == image
    other = small(tmp_path / "other", [], header=MetadataHeader(sources={"one": SourceFacts("MIT")}))
    with pytest.raises(DataError, match="describes the source 'one' in another way"):
        build_questions([files[0][0], other[0]], files[0][1], tmp_path / "again", options)


def test_a_share_is_flagged_to_be_looked_at(make: Make) -> None:
    """Half of the items of each data set that states a licence, and no more than a hundred."""
    made = make(per_subtask=40, check_share=0.5)
    flags = Counter(
        (made.decisions[item["index"]].rule, item["source"])
        for item in made.items
        if made.decisions[item["index"]].action == "flag"
    )
    assert flags["sample check", "drawn-a"] == min(100, round(made.counts.sources["drawn-a"] / 2))
    assert flags["licence", "drawn-c"] == made.counts.sources["drawn-c"]
    assert not flags["sample check", "drawn-c"]


def test_too_many_failures_stop_and_the_next_start_resumes(tmp_path: Path) -> None:
    state = {"down": True, "asked": 0}

    def write(request: Generate) -> str:
        state["asked"] += 1
        if state["down"]:
            raise RuntimeError("the server is down")
        return '{"options": ["u", "v", "w"]}'

    writer = snellen.wrap_model(write, "writer", revision="1")
    files, out = captioned(tmp_path / "data"), tmp_path / "out"
    stopped = build_questions(*files, out, writer=writer, asking=StepOptions(max_failures="1"))
    assert stopped.stopped
    assert not (out / "items.jsonl").exists()
    assert json.loads((out / "step.json").read_text())["status"] == "waiting"
    state["down"] = False
    made = Made(out, build_questions(*files, out, writer=writer))
    assert (made.counts.items, made.counts.failed, made.counts.stopped) == (4, 0, "")
