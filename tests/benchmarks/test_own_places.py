"""Tables of the user's own that ask for places, and TOML files that say what they ask."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path

import pytest
from PIL import Image
from tests.data.made_videos import write_video

from snellen import Data, evaluate, score
from snellen.benchmarks.declaration.family_file import read_family
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant, final_summary
from snellen.core.errors import DataError, UsageError
from snellen.core.output import Generated
from snellen.core.place import Box, Point, load_places
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.engine.offline.gold_check import answer_samples, check_golds, gold_reply

Rows = list[dict[str, object]]
BOXES: Rows = [
    {"id": "a", "question": "Where is the cat?", "bbox": "[10, 20, 60, 70]", "width": 100, "height": 200},
    {"id": "b", "question": "Where is the dog?", "bbox": "[0, 0, 50, 100]", "width": 100, "height": 200},
]


def written(path: Path, rows: Rows) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def described(folder: Path, place: str, rows: Rows = BOXES, more: str = "") -> str:
    written(folder / "rows.csv", rows)
    file = folder / "places.toml"
    file.write_text(f'data = "rows.csv"\nkind = "place"\n{more}\n[place]\n{place}\n')
    return str(file)


def samples_of(benchmark: Benchmark) -> list[Sample]:
    return list(benchmark.samples(benchmark.open()))


def answered(benchmark: Benchmark, *replies: str) -> list[Record]:
    samples = samples_of(benchmark)
    said = dict(zip((sample.id for sample in samples), replies, strict=True))
    return answer_samples(benchmark, samples, lambda sample, _: Generated(said[sample.id]))


def test_a_column_of_boxes_is_asked_for_and_scored(tmp_path: Path) -> None:
    benchmark = open_benchmark(written(tmp_path / "boxes.csv", BOXES))
    assert benchmark.headline == "iou@0.5"
    one, _ = samples_of(benchmark)
    assert (one.kind, one.extent, one.space) == ("place", (100, 200), "fractions")
    assert load_places(one.gold[0]).boxes == (Box(10, 20, 60, 70),)
    records = answered(benchmark, "[0.1, 0.1, 0.6, 0.35]", "[300, 300, 500, 500]")
    assert [(record.score, record.outcome) for record in records] == [(1, "answered"), (0, "other_space")]
    summary = final_summary(benchmark, records)
    assert summary.headline.value == 50
    assert summary.metrics["whole_picture"].value == 0
    assert summary.metrics["centre_place"].value == 0
    assert summary.outcomes["other_space"] == 1


def test_the_option_coordinates_decides_how_replies_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "boxes.csv", BOXES)
    benchmark = open_benchmark(path, Variant(options={"coordinates": "thousandths-yx"}))
    assert benchmark.parameters["coordinates"] == "thousandths-yx"
    (one,) = answered(benchmark, "[100, 100, 350, 600]", "")[:1]
    assert one.score == 1
    with pytest.raises(UsageError, match="'metres' is no coordinate space; expected one of pixels, sent-pixels"):
        open_benchmark(path, Variant(options={"coordinates": "metres"}))


@pytest.mark.parametrize(
    "space",
    ["fractions", "pixels", "percent", "thousandths", "bins", "sent-pixels", "pixels-corner-size", "percent-yx"],
)
def test_the_gold_answer_scores_full_in_every_space(tmp_path: Path, space: str) -> None:
    path = written(tmp_path / "boxes.csv", BOXES)
    benchmark = open_benchmark(path, Variant(options={"coordinates": space}))
    records = answer_samples(benchmark, samples_of(benchmark), gold_reply)
    assert [record.score for record in records] == [1, 1]
    check_golds(benchmark, benchmark.open())


def test_points_are_asked_for_in_boxes_beside_other_questions(tmp_path: Path) -> None:
    rows: Rows = [
        {"question": "Where is the cat?", "type": "point", "bbox": "[10, 20, 60, 70]", "width": 100, "height": 200},
        {"question": "Which?", "A": "cat", "B": "dog", "answer": "B"},
    ]
    benchmark = open_benchmark(written(tmp_path / "mixed.csv", rows))
    assert benchmark.headline == "score"
    assert [sample.kind for sample in samples_of(benchmark)] == ["place", "choice"]
    records = answered(benchmark, "(0.6, 0.1)", "A")
    assert [record.score for record in records] == [1, 0]
    summary = final_summary(benchmark, records)
    assert summary.headline.value == 50
    assert "centre_place" not in summary.metrics


def test_examples_are_written_in_the_space_and_form_that_is_asked_for(tmp_path: Path) -> None:
    rows: Rows = [{**row, "type": "point"} for row in BOXES]
    path = written(tmp_path / "points.csv", rows)
    options = {"coordinates": "thousandths-yx", "shots": "1", "shots_from": "aside"}
    benchmark = open_benchmark(path, Variant(options=options))
    (asked,) = samples_of(benchmark)
    request = next(benchmark.flow(asked))
    example = request.messages[1].text()
    assert example == {"a": "[250,250]", "b": "[225,350]"}[asked.id]
    assert "as [y, x]; x and y run from 0 to 1000" in request.text()


def test_the_size_that_counts_is_that_of_the_own_picture_behind_examples(tmp_path: Path) -> None:
    rows: Rows = []
    for number, side in enumerate((100, 200)):
        (tmp_path / f"{number}.jpg").write_bytes(picture((side, side)))
        rows.append({"question": "Where?", "bbox": "[10, 20, 60, 70]", "image_path": f"{number}.jpg"})
    options = {"coordinates": "sent-pixels", "shots": "1", "shots_from": "aside"}
    benchmark = open_benchmark(written(tmp_path / "boxes.csv", rows), Variant(options=options))
    (asked,) = samples_of(benchmark)
    side = asked.extent[0]
    own, example = (int(side) // 2,) * 2, (10, 10)
    (record,) = answer_samples(benchmark, [asked], lambda *_: Generated("[5, 10, 30, 35]", image_sizes=(example, own)))
    assert record.score == 1


def test_a_table_with_an_empty_list_asks_for_any_number_of_places(tmp_path: Path) -> None:
    benchmark = open_benchmark(written(tmp_path / "boxes.csv", [BOXES[0], {**BOXES[1], "bbox": "[]"}]))
    assert benchmark.headline == "f1@0.5"
    assert [record.score for record in answered(benchmark, "[[0.1, 0.1, 0.6, 0.35]]", "[]")] == [1, 1]


@pytest.mark.parametrize("cell", ["[[0, 0, 1, 1], [5, 5, 9, 9]]", "[]"])
def test_several_places_behind_the_rows_that_are_looked_at_are_refused(tmp_path: Path, cell: str) -> None:
    rows: Rows = [{**BOXES[0], "id": number} for number in range(1000)]
    benchmark = open_benchmark(written(tmp_path / "boxes.csv", [*rows, {**BOXES[1], "bbox": cell}]))
    with pytest.raises(DataError, match=r"row 1001: it has \d gold places"):
        samples_of(benchmark)


def test_a_mask_of_another_size_than_the_picture_is_refused(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Where?", "mask": '{"size": [4, 4], "counts": [8, 8]}', "width": 8, "height": 4}]
    benchmark = open_benchmark(described(tmp_path, 'shape = "point"\ngold_shape = "mask"', rows))
    with pytest.raises(DataError, match="a mask of 4x4 pixels is of no picture of 8x4 pixels"):
        samples_of(benchmark)


def test_a_conclusion_is_read_behind_the_steps(tmp_path: Path) -> None:
    path = written(tmp_path / "boxes.csv", BOXES[:1])
    benchmark = open_benchmark(path, Variant(options={"cot": "on"}))
    reply = "The cat sits at [0.5, 0.5, 0.9, 0.9]?\nAnswer: [0.1, 0.1, 0.6, 0.35]"
    assert [record.score for record in answered(benchmark, reply)] == [1]
    assert "Think step by step" in next(benchmark.flow(samples_of(benchmark)[0])).text()


def test_a_bare_point_is_graded_by_its_closeness(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Where?", "point": "[30, 40]", "width": 30, "height": 40}]
    benchmark = open_benchmark(written(tmp_path / "points.csv", rows))
    assert benchmark.headline == "closeness"
    assert answered(benchmark, "[0.4, 0.4]")[0].score == pytest.approx(0.4)


def test_spans_are_in_seconds_and_have_no_space(tmp_path: Path) -> None:
    rows: Rows = [{"question": "When?", "span": "[5, 10]", "duration": 20}]
    benchmark = open_benchmark(written(tmp_path / "spans.csv", rows))
    assert "coordinates" not in benchmark.options
    records = answered(benchmark, "From 5 to 15 seconds.")
    assert records[0].score == 0.5
    summary = final_summary(benchmark, records)
    assert summary.metrics["whole_video"].value == 25
    assert summary.metrics["middle_span"].value == 50


def test_several_labelled_boxes_are_paired(tmp_path: Path) -> None:
    rows: Rows = [
        {
            "question": "Find all animals.",
            "bbox": "[[0, 0, 10, 10], [50, 50, 60, 60]]",
            "labels": '["cat", "dog"]',
            "width": 100,
            "height": 100,
        }
    ]
    benchmark = open_benchmark(written(tmp_path / "many.csv", rows), Variant(options={"coordinates": "pixels"}))
    assert benchmark.headline == "f1@0.5"
    reply = '[{"bbox_2d": [50, 50, 60, 60], "label": "dog"}, {"bbox_2d": [0, 0, 10, 10], "label": "fox"}]'
    assert answered(benchmark, reply)[0].score == 0.5


def picture(size: tuple[int, int], turned: bool = False) -> bytes:
    buffer = io.BytesIO()
    exif = Image.Exif()
    if turned:
        exif[0x0112] = 6
    Image.new("RGB", size).save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


@pytest.mark.parametrize(("turned", "extent"), [(False, (40, 30)), (True, (30, 40))])
def test_without_columns_the_size_is_that_of_the_upright_picture(
    tmp_path: Path, turned: bool, extent: tuple[int, int]
) -> None:
    (tmp_path / "p.jpg").write_bytes(picture((40, 30), turned))
    rows: Rows = [{"question": "Where?", "bbox": "[1, 1, 20, 20]", "image_path": "p.jpg"}]
    (sample,) = samples_of(open_benchmark(written(tmp_path / "boxes.csv", rows)))
    assert sample.extent == extent


@pytest.mark.parametrize(
    ("place", "cell", "expected"),
    [
        ('gold_space = "pixels-corner-size"', "[10, 20, 30, 40]", Box(10, 20, 40, 60)),
        ('gold_space = "fractions"', "[0.1, 0.1, 0.5, 0.5]", Box(10, 20, 50, 100)),
        ('gold_space = "thousandths-yx"', "[100, 0, 500, 1000]", Box(0, 20, 100, 100)),
        ("", '{"bbox": [1, 2, 3, 4], "label": "cat"}', Box(1, 2, 3, 4)),
    ],
)
def test_gold_boxes_in_their_own_space(tmp_path: Path, place: str, cell: str, expected: Box) -> None:
    rows: Rows = [{**BOXES[0], "bbox": cell}]
    (sample,) = samples_of(open_benchmark(described(tmp_path, place, rows)))
    assert load_places(sample.gold[0]).boxes == (expected,)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("[1, 2, 3]", r"rows\.csv, row 1: column bbox: '\[1, 2, 3\]' is no box; expected \[x1, y1, x2, y2\]"),
        ("[1, 2, 3, NaN]", "is no box"),
        ("cat", "is no box"),
        ("[60, 60, 50, 40]", "ends before it begins; say what the numbers are with gold_space"),
        ("[60, 60, 150, 140]", "not in the picture of 100x200 pixels"),
        ("[0.1, 0.2, 0.6, 0.9]", "lies within the first one; say what the numbers are .* or fractions"),
    ],
)
def test_a_broken_gold_place_is_named_with_row_and_column(tmp_path: Path, cell: str, message: str) -> None:
    rows: Rows = [{**BOXES[0], "bbox": cell}]
    with pytest.raises(DataError, match=message):
        samples_of(open_benchmark(described(tmp_path, "", rows)))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ('metric = "accuracy"', "metric of places"),
        ('coordinates = "metres"', "no coordinate space"),
        ('gold_space = "sent-pixels"', "data know no model"),
        ("count = -1", "count is -1"),
        ('nothing = { kind = "none" }', "count asks for 1; expected 0"),
        ('shape = "point"\ngold_shape = "point"\nmetric = "inside"', "inside needs gold boxes"),
        ('parse = { snellen = "x.y" }', "for the rules of other tools"),
        ("colour = 1", "unknown field"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path: Path, place: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_benchmark(described(tmp_path, place))


@pytest.mark.parametrize("place", ['gold = "boxx"', 'extent = ["w", "height"]', 'shape_column = "what"'])
def test_a_column_that_the_data_do_not_have_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError, match=r"unknown column of .place. '(boxx|w|what)'"):
        open_benchmark(described(tmp_path, place))


def test_columns_that_the_question_does_not_need_are_kept(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "segmentation": "[[1, 2]]", "duration": 3, "labels": "cat"}]
    (sample,) = samples_of(open_benchmark(described(tmp_path, "", rows)))
    assert sample.metadata == {"segmentation": "[[1, 2]]", "duration": "3", "labels": "cat"}


def test_a_picture_that_is_lost_fails_its_own_question(tmp_path: Path) -> None:
    Image.new("RGB", (100, 200)).save(tmp_path / "here.png")
    asked = {"question": "Where?", "bbox": "[10, 20, 60, 70]"}
    rows: Rows = [{**asked, "image_path": "here.png"}, {**asked, "image_path": "lost.png"}]
    (run,) = evaluate("random", written(tmp_path / "p.csv", rows), html=False, out=tmp_path / "runs").runs
    assert (run.info.counts.samples, run.summary.outcomes["failed"]) == (2, 1)


def test_without_a_picture_and_its_size_nothing_is_asked(tmp_path: Path) -> None:
    data = written(tmp_path / "p.csv", [{"id": "a", "question": "Where?", "bbox": "[10, 20, 60, 70]"}])
    with pytest.raises(DataError, match=r"sample a: coordinates in fractions need .* or the columns width and height"):
        evaluate("random", data, html=False, out=tmp_path / "runs")


def test_a_table_of_places_needs_the_kind(tmp_path: Path) -> None:
    written(tmp_path / "rows.csv", BOXES)
    (tmp_path / "x.toml").write_text('data = "rows.csv"\n[place]\nshape = "box"\n')
    with pytest.raises(DataError, match='kind = "place" and a table'):
        open_benchmark(str(tmp_path / "x.toml"))


def test_a_mask_is_a_column_or_the_last_picture(tmp_path: Path) -> None:
    mask = Image.new("L", (4, 4))
    mask.paste(255, (2, 0, 4, 4))
    buffer = io.BytesIO()
    mask.save(buffer, "PNG")
    png = base64.b64encode(buffer.getvalue()).decode()
    runs = json.dumps({"size": [4, 4], "counts": [8, 8]})
    for cell in (png, runs):
        rows: Rows = [{"question": "Where?", "mask": cell, "width": 4, "height": 4}]
        benchmark = open_benchmark(described(tmp_path, 'shape = "point"\ngold_shape = "mask"', rows))
        assert benchmark.headline == "inside"
        records = answered(benchmark, "[0.75, 0.5]")
        assert records[0].score == 1
        assert final_summary(benchmark, records).metrics["chance"].value == 50
    for name in ("seen.png", "mask.png"):
        (tmp_path / name).write_bytes(buffer.getvalue())
    rows = [{"question": "Where?", "image_1": png, "image_2": png}]
    benchmark = open_benchmark(described(tmp_path, 'shape = "point"\ngold_shape = "mask"\ngold = "medium"', rows))
    (sample,) = samples_of(benchmark)
    assert len(sample.media) == 1
    assert load_places(sample.gold[0]).masks[0].runs == (8, 8)


def test_average_precision_is_the_headline_of_a_run(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "labels": "cat"}, {**BOXES[1], "labels": "dog"}]
    place = 'count = 0\nlabelled = true\nmetric = "map"\nbeside = ["map_micro", "iou"]\ncoordinates = "pixels"'
    benchmark = open_benchmark(described(tmp_path, place, rows))
    replies = ['[{"bbox_2d": [10, 20, 60, 70], "label": "cat"}]', '[{"bbox_2d": [0, 0, 5, 5], "label": "dog"}]']
    records = answered(benchmark, *replies)
    assert [record.score for record in records] == [1, 0]
    summary = final_summary(benchmark, records)
    assert summary.headline.name == "map"
    assert summary.headline.value == pytest.approx(50)
    assert summary.metrics["f1@0.5"].value == 50
    assert summary.metrics["map_micro"].value == pytest.approx(100 * 51 / 101)
    assert {"f1@0.5", "map_micro", "iou"} <= set(summary.beside)
    assert benchmark.headline_sums is not None
    sums = benchmark.headline_sums(records)
    assert sums is not None
    assert sums.of_all() == pytest.approx(50)


def test_a_family_file_declares_places(tmp_path: Path) -> None:
    file = tmp_path / "made.toml"
    file.write_text(
        'version = "1"\ntitle = "Made"\nsource = "made"\ncoverage = "exact"\nkind = "place"\n'
        'files = [{ url = "https://example.org/made.csv" }]\ngroups = ["kind"]\n'
        '[place]\nshape = "box"\ngold_space = "pixels-corner-size"\nbeside = ["iou"]\n'
        '[place.grade]\nofficial = "benchmarks.declaration.open_questions.is_gold"\n'
    )
    path = written(tmp_path / "made.csv", [{**row, "kind": "animal"} for row in BOXES])
    declaration = read_family(file)
    benchmark = declaration(Variant(data=path, options={"coordinates": "pixels"}))
    assert benchmark.rules == ("snellen", "official")
    records = answered(benchmark, "[10, 20, 70, 90]", "[0, 0, 50, 100]")
    assert [record.score for record in records] == [1, 1]
    assert [record.values["iou"] for record in records] == [1, 1]
    by_authors = declaration(Variant(data=path, options={"coordinates": "pixels"}, rule="official"))
    assert [record.score for record in answered(by_authors, "[10, 20, 70, 90]", "[0, 0, 5, 5]")] == [1, 0]


def test_baselines_answer_in_the_space_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "boxes.csv", [{**row, "id": f"{row['id']}{n}"} for row in BOXES for n in range(20)])
    for model in ("random", "frequent"):
        for space in ("fractions", "thousandths-yx"):
            (result,) = evaluate(model, f"{path}:coordinates={space}", out=tmp_path / "runs", store=tmp_path / "store")
            assert result.summary.outcomes["answered"] == 40
    # The median of equally many boxes of two kinds lies between them, and overlaps with both.
    assert result.summary.headline.value == 100
    assert result.summary.metrics["whole_picture"].value == 0


@pytest.mark.parametrize("control", ["blind", "black", "wrong-image", "shuffled-options"])
def test_controls_leave_gold_and_size_as_they_are(tmp_path: Path, control: str) -> None:
    rows: Rows = []
    for number, size in enumerate([(40, 30), (80, 60), (100, 50)]):
        (tmp_path / f"{number}.jpg").write_bytes(picture(size))
        rows.append({"id": number, "question": "Where?", "bbox": "[0, 0, 20, 15]", "image_path": f"{number}.jpg"})
    path = written(tmp_path / "boxes.csv", rows)
    variant = Variant(control=control)
    (result,) = evaluate("random", path, out=tmp_path / "runs", store=tmp_path / "store", variant=variant)
    assert result.summary.outcomes["answered"] == 3
    extents = [load_places(gold).extent for sample in result.samples() for gold in sample.record.gold]
    assert extents == [(40, 30), (80, 60), (100, 50)]
    prompts = [sample.record.passes[0].prompt for sample in result.samples()]
    pictures = [sum(len(message.media()) for message in prompt) for prompt in prompts]
    assert pictures == [0 if control == "blind" else 1] * 3


def test_rows_in_memory_name_what_they_ask_for(tmp_path: Path) -> None:
    rows = [{"question": "Where?", "answer": [1, 2, 30, 40], "width": 100, "height": 100}]
    (result,) = evaluate("frequent", Data(rows, "mine", kind="box"), out=tmp_path, store=tmp_path / "store")
    assert (result.summary.headline.name, result.summary.headline.value) == ("iou@0.5", 100)
    with pytest.raises(
        UsageError,
        match="expected one of 'choice', 'yes_no', 'open', 'fields', 'page', 'box', 'point', 'polygon', 'mask', 'span'",
    ):
        Data(rows, "mine", kind="circle")  # type: ignore[arg-type]


def test_columns_of_places_may_have_other_names(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Where?", "rect": "[1, 2, 30, 40]", "w": 100, "h": 50}]
    columns = {"bbox": "rect", "width": "w", "height": "h"}
    (sample,) = samples_of(open_benchmark(written(tmp_path / "x.csv", rows), Variant(columns=columns)))
    assert (sample.kind, sample.extent, dict(sample.metadata)) == ("place", (100, 50), {})


def test_boxes_are_not_asked_for_as_texts(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", [{"question": "Where?", "box": "[1, 2, 30, 40]", "width": 100, "height": 50}])
    with pytest.raises(UsageError, match=r"gold=box would ask for .* for places: --columns bbox=box, or a column"):
        open_benchmark(path, Variant(columns={"gold": "box"}))
    assert open_benchmark(path, Variant(columns={"bbox": "box"})).headline == "iou@0.5"
    written(tmp_path / "x.csv", [{"question": "Where?", "box": "[1, 2]", "type": "point", "width": 9, "height": 9}])
    assert open_benchmark(path, Variant(columns={"gold": "box"})).headline == "closeness"


def test_rows_of_two_shapes_are_refused(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "type": "box"}, {**BOXES[1], "type": "point"}]
    with pytest.raises(DataError, match=r"row 2: it asks for a point, and rows before it for a box"):
        samples_of(open_benchmark(written(tmp_path / "two.csv", rows)))


def test_units_of_places_have_no_chance(tmp_path: Path) -> None:
    path = written(tmp_path / "units.csv", [{**row, "scene": "s"} for row in BOXES])
    options = {"coordinates": "pixels"}
    benchmark = open_benchmark(path, Variant(columns={"unit": "scene"}, options=options))
    summary = final_summary(benchmark, answered(benchmark, "[10, 20, 60, 70]", "[0, 0, 50, 100]"))
    assert (summary.headline.name, summary.headline.value) == ("unit_accuracy", 100)
    assert "chance" not in summary.metrics


def test_predictions_of_places_are_scored(tmp_path: Path) -> None:
    data = written(tmp_path / "boxes.csv", BOXES)
    replies: Rows = [{"id": "a", "prediction": "[0.1, 0.1, 0.6, 0.35]"}, {"id": "b", "prediction": "no idea"}]
    predictions = written(tmp_path / "replies.csv", replies)
    assert score(data, predictions).summary.headline.value == 50
    alone = written(tmp_path / "alone.csv", [{**row, **reply} for row, reply in zip(BOXES, replies, strict=True)])
    assert score(alone, alone).summary.headline.value == 50


def test_predictions_beside_their_pictures_are_scored(tmp_path: Path) -> None:
    Image.new("RGB", (100, 200)).save(tmp_path / "here.png")
    row = {"id": "a", "question": "Where?", "bbox": "[10, 20, 60, 70]", "image_path": "here.png"}
    alone = written(tmp_path / "alone.csv", [{**row, "prediction": "[0.1, 0.1, 0.6, 0.35]"}])
    assert score(alone).summary.headline.value == 100


def test_points_are_asked_for_in_polygons(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Where?", "type": "point", "polygon": "[0,0, 50,0, 50,50]", "width": 100, "height": 100}]
    benchmark = open_benchmark(written(tmp_path / "p.csv", rows))
    assert benchmark.headline == "inside"
    (sample,) = samples_of(benchmark)
    assert load_places(sample.gold[0]).polygons == ((Point(0, 0), Point(50, 0), Point(50, 50)),)
    assert [record.score for record in answered(benchmark, "[0.4, 0.1]")] == [1]
    check_golds(benchmark, benchmark.open())


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ("x1,y1,x2,y2", (10, 20, 60, 70)),
        ("xmin,ymin,xmax,ymax", (10, 20, 60, 70)),
        ("left,top,right,bottom", (10, 20, 60, 70)),
        ("x,y,w,h", (10, 20, 50, 50)),
        ("X_Min,Y_Min,X_Max,Y_Max", (10, 20, 60, 70)),
    ],
)
def test_four_columns_are_a_box(tmp_path: Path, names: str, numbers: tuple[int, ...]) -> None:
    rows: Rows = [
        {"question": "Where?", "width": 100, "height": 200, **dict(zip(names.split(","), numbers, strict=True))}
    ]
    benchmark = open_benchmark(written(tmp_path / "x.csv", rows))
    (sample,) = samples_of(benchmark)
    assert load_places(sample.gold[0]).boxes == (Box(10, 20, 60, 70),)
    assert (benchmark.headline, sample.extent, sample.metadata) == ("iou@0.5", (100, 200), {})


def test_width_and_height_beside_x_and_y_are_those_of_the_box(tmp_path: Path) -> None:
    Image.new("RGB", (100, 200)).save(tmp_path / "p.png")
    rows: Rows = [{"question": "Where?", "image_path": "p.png", "x": 10, "y": 20, "width": 50, "height": 50}]
    (sample,) = samples_of(open_benchmark(written(tmp_path / "x.csv", rows)))
    assert (load_places(sample.gold[0]).boxes, sample.extent) == ((Box(10, 20, 60, 70),), (100, 200))


def test_four_columns_beside_an_answer_are_kept(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Which?", "A": "cat", "B": "dog", "answer": "A", "x": 1, "y": 2, "w": 3, "h": 4}]
    (sample,) = samples_of(open_benchmark(written(tmp_path / "x.csv", rows)))
    assert (sample.kind, sample.metadata) == ("choice", {"x": "1", "y": "2", "w": "3", "h": "4"})


def test_a_column_without_a_number_of_the_box_is_named(tmp_path: Path) -> None:
    rows: Rows = [{"question": "Where?", "x": 1, "y": 2, "w": "wide", "h": 4, "width": 9, "height": 9}]
    with pytest.raises(DataError, match=r"x '1', y '2', w 'wide', h '4'\" is no box"):
        samples_of(open_benchmark(written(tmp_path / "x.csv", rows)))


def test_a_label_beside_a_box_is_named_with_it(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "label": "cat"}, {**BOXES[1], "bbox": "[[0, 0, 50, 100], [0, 0, 9, 9]]", "label": "dog"}]
    benchmark = open_benchmark(written(tmp_path / "x.csv", rows), Variant(options={"coordinates": "pixels"}))
    one, two = samples_of(benchmark)
    assert (one.kind, load_places(one.gold[0]).labels) == ("place", ("cat",))
    assert load_places(two.gold[0]).labels == ("dog", "dog")
    records = answered(benchmark, '[{"bbox_2d": [10, 20, 60, 70], "label": "fox"}]', '{"dog": [0, 0, 50, 100]}')
    assert [record.score for record in records] == [0, pytest.approx(2 / 3)]
    # As the gold answer it is named so.
    named = open_benchmark(written(tmp_path / "y.csv", rows), Variant(columns={"gold": "label"}))
    assert samples_of(named)[0].kind == "open"
    choice: Rows = [{**BOXES[0], "label": "A", "A": "cat", "B": "dog"}]
    assert samples_of(open_benchmark(written(tmp_path / "z.csv", choice)))[0].kind == "choice"


def test_labels_that_are_no_list_are_refused(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "labels": "[cat"}]
    with pytest.raises(DataError, match=r"row 1: column bbox: '\[cat' in labels is no list of labels"):
        samples_of(open_benchmark(written(tmp_path / "x.csv", rows)))


def test_options_stand_behind_the_file_that_holds_the_replies(tmp_path: Path) -> None:
    rows: Rows = [{**BOXES[0], "prediction": "[100, 100, 600, 350]"}, {**BOXES[1], "prediction": "[0, 0, 500, 500]"}]
    path = written(tmp_path / "replies.csv", rows)
    scored = score(f"{path}:coordinates=thousandths")
    assert (scored.run.model, scored.summary.headline.value) == ("replies.csv", 100)
    assert score(f"{path}:coordinates=thousandths", path).summary.headline.value == 100
    assert score(path).summary.headline.value == 0
    with pytest.raises(UsageError, match="replies has no option 'colour'"):
        score(f"{path}:colour=red")


def test_data_without_places_are_refused_in_place_of_published_ones(tmp_path: Path) -> None:
    path = written(tmp_path / "boxes.csv", [{**row, "prediction": "[0, 0, 1, 1]"} for row in BOXES])
    for ask in (
        lambda: evaluate("random", "refcoco", variant=Variant(data=path), html=False, out=tmp_path / "runs"),
        lambda: score("refcoco", path, data=path),
    ):
        with pytest.raises(DataError, match=r"no row has a gold place where refcoco reads it \(its columns are id,"):
            ask()
    asked = evaluate(
        "random", "refcoco", variant=Variant(data=path), html=False, out=tmp_path / "runs", require_answers=False
    )
    assert asked.runs[0].summary.headline.value is None


@pytest.mark.parametrize("shape", ["polygon", "mask"])
def test_polygons_and_masks_are_asked_for(tmp_path: Path, shape: str) -> None:
    runs = '{"size": [4, 8], "counts": [16, 16]}'
    gold = {"mask": runs} if shape == "mask" else {"polygon": "[4,0, 8,0, 8,4, 4,4]"}
    rows: Rows = [{"question": "Where?", "type": shape, **gold, "width": 8, "height": 4}]
    benchmark = open_benchmark(written(tmp_path / "p.csv", rows), Variant(options={"coordinates": "pixels"}))
    assert benchmark.headline == "iou"
    (sample,) = samples_of(benchmark)
    prompt = next(benchmark.flow(sample)).text()
    assert "as [[x1, y1], [x2, y2], [x3, y3], ...]" in prompt or "as COCO's run lengths" in prompt
    for reply, expected in (
        (runs, 1),
        ("[[4, 0], [8, 0], [8, 4], [4, 4]]", 1),
        ("[[0, 0], [8, 0], [8, 4], [0, 4]]", 0.5),
    ):
        assert [record.score for record in answered(benchmark, reply)] == [expected]
    (record,) = answered(benchmark, "[4, 0, 8, 4]")
    assert record.outcome == "malformed_place"
    check_golds(benchmark, benchmark.open())
    for model in ("random", "frequent"):
        (result,) = evaluate(model, str(tmp_path / "p.csv"), html=False, out=tmp_path / model).runs
        assert result.summary.outcomes.get("answered") == 1, (model, result.summary.outcomes)
        assert result.summary.metrics["whole_picture"].value == 50


def test_the_iou_of_all_pixels_together(tmp_path: Path) -> None:
    rows: Rows = [
        {"question": "Where?", "mask": '{"size": [4, 8], "counts": [16, 16]}', "width": 8, "height": 4},
        {"question": "Where?", "mask": '{"size": [2, 2], "counts": [0, 4]}', "width": 2, "height": 2},
    ]
    place = 'shape = "mask"\ncoordinates = "pixels"\nbeside = ["iou_micro"]'
    benchmark = open_benchmark(described(tmp_path, place, rows))
    summary = final_summary(benchmark, answered(benchmark, "[[0,0],[8,0],[8,4],[0,4]]", "[[9,9],[9,9],[9,9]]"))
    assert (summary.headline.value, summary.metrics["iou_micro"].value) == (25, pytest.approx(100 * 16 / 36))


SPAN: Rows = [{"question": "When?", "span": "[5, 10]", "duration": 20, "fps": 29.97}]


@pytest.mark.parametrize(
    ("unit", "reply", "line"),
    [
        ("seconds", "5 to 10 s", "times are in seconds"),
        ("frames", "frames 149.85 to 299.7", "times are in frames of the video, counted from 0"),
        ("percent", "[25, 50]", "times are in percent of the video's length"),
    ],
)
def test_spans_in_units_of_time(tmp_path: Path, unit: str, reply: str, line: str) -> None:
    path = written(tmp_path / "spans.csv", SPAN)
    benchmark = open_benchmark(path, Variant(options={"time_unit": unit}))
    assert benchmark.parameters.get("time_unit", "seconds") == unit
    (sample,) = samples_of(benchmark)
    assert line in next(benchmark.flow(sample)).text()
    assert [record.score for record in answered(benchmark, reply)] == [1]
    # The way back is exact.
    (record,) = answered(benchmark, sample.written_gold(sample.gold[0]))
    assert load_places(record.answer or "").spans[0] == pytest.approx((5, 10), abs=1e-9)
    check_golds(benchmark, benchmark.open())
    for model in ("random", "frequent"):
        (run,) = evaluate(model, f"{path}:time_unit={unit}", html=False, out=tmp_path / model).runs
        assert run.summary.outcomes.get("answered") == 1
        assert run.summary.metrics["whole_video"].value == 25


@pytest.mark.parametrize(
    ("unit", "reply", "problem"),
    [
        ("seconds", "frames 5 to 10", "other_space"),
        ("frames", "5 to 10 seconds", "other_space"),
        ("frames", "0:05 to 0:10", "other_space"),
        ("percent", "5 to 10 seconds", "other_space"),
        ("frames", "[300, 150]", "malformed_place"),
        ("frames", "[150, 900]", "outside"),
        ("percent", "[25, 150]", "outside"),
    ],
)
def test_spans_in_another_unit_are_named(tmp_path: Path, unit: str, reply: str, problem: str) -> None:
    benchmark = open_benchmark(written(tmp_path / "spans.csv", SPAN), Variant(options={"time_unit": unit}))
    assert [record.outcome for record in answered(benchmark, reply)] == [problem]


def test_frames_without_a_rate_and_percent_without_a_length_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "spans.csv", [{"question": "When?", "span": "[5, 10]"}])
    for unit, lacks in (("frames", "a column fps, or the video's file"), ("percent", "a column duration in seconds")):
        with pytest.raises(DataError, match=lacks):
            evaluate("random", f"{path}:time_unit={unit}", html=False, out=tmp_path / unit)


def test_the_rate_of_frames_is_that_of_the_file(tmp_path: Path) -> None:
    write_video(tmp_path / "v.mp4", frames=50, fps=25)
    rows: Rows = [{"question": "When?", "span": "[0.4, 1.2]", "duration": 2, "video": "v.mp4"}]
    benchmark = open_benchmark(written(tmp_path / "spans.csv", rows), Variant(options={"time_unit": "frames"}))
    (sample,) = samples_of(benchmark)
    assert sample.fps == 25
    assert [record.score for record in answered(benchmark, "[10, 30]")] == [1]


def test_average_precision_says_what_stands_for_confidences(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", [{**row, "label": "cat"} for row in BOXES])
    benchmark = open_benchmark(path, Variant(options={"coordinates": "pixels"}))
    bare = '{"bbox_2d": [10, 20, 60, 70], "label": "cat"}'
    summary = final_summary(benchmark, answered(benchmark, bare, "[]"))
    (notice,) = (notice for notice in summary.notices if "confidence" in notice)
    assert notice.startswith("map, ap@0.5: 1 of 1 replies state no confidence of each box; their boxes have 1")
    sure = '{"bbox_2d": [10, 20, 60, 70], "label": "cat", "score": 0.9}'
    assert not any(
        "confidence" in notice for notice in final_summary(benchmark, answered(benchmark, sure, "[]")).notices
    )
