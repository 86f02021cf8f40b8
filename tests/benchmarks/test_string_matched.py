"""Benchmarks graded by the texts of answers: what their files hold, and how replies count.

The files are those of the folder `layouts`: made up, in the column layouts of the real ones.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.core.output import Generated
from snellen.core.record import run_flow
from snellen.core.request import Generate, Media, Text
from snellen.core.sample import Sample
from snellen.prompts.pdf_pages import MAX_PAGES, render_pages, with_pages

LAYOUTS = Path(__file__).parent / "layouts"
FILES = {
    "textvqa": "textvqa.tsv",
    "ok-vqa": "ok-vqa.jsonl",
    "vizwiz": "vizwiz.jsonl",
    "gqa": "gqa.tsv",
    "ocrvqa": "ocrvqa.tsv",
    "docvqa": "docvqa.tsv",
    "infovqa": "infovqa.tsv",
    "chartqa": "chartqa.tsv",
    "mtvqa": "mtvqa.tsv",
    "ocrbench": "ocrbench.tsv",
    "tablevqabench": "tablevqabench.tsv",
    "vcr-wiki": "vcr-wiki.tsv",
    "dude": "dude.tsv",
    "slidevqa": "slidevqa.tsv",
    "mmlongbench-doc": "mmlongbench-doc.tsv",
    "coco-caption": "coco-caption.tsv",
}


def samples_of(name: str, **options: str) -> list[Sample]:
    benchmark = open_benchmark(name, Variant(data=str(LAYOUTS / FILES[name]), options=options))
    return list(benchmark.samples(benchmark.open()))


def scored(name: str, tmp_path: Path, replies: dict[str, str], rule: str | None = None):
    file = tmp_path / "replies.jsonl"
    lines = (json.dumps({"id": key, "prediction": text}) for key, text in replies.items())
    file.write_text("\n".join(lines) + "\n")
    return score(name, file, data=LAYOUTS / FILES[name], variant=Variant(rule=rule))


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_one_open_question_with_a_gold_and_a_picture(name: str) -> None:
    for sample in samples_of(name):
        assert sample.kind == "open"
        assert sample.question
        assert sample.gold
        assert sample.media
        assert sample.unit


@pytest.mark.parametrize("name", FILES)
def test_predictions_that_hold_the_gold_need_no_data_and_no_pictures(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`snellen score <name> --predictions FILE`, the columns being those of the data."""
    from snellen.data.tables.open_table import open_table

    rows = []
    for row in open_table(str(LAYOUTS / FILES[name])):
        gold = samples_of(name)[row.index].gold[0]
        rows.append({**row.cells, "prediction": gold})
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = main(["score", name, "--predictions", str(file), "--json"])
    card = json.loads(capsys.readouterr().out)
    assert code == 0
    benchmark = open_benchmark(name)
    assert card["metrics"][benchmark.headline] == pytest.approx(benchmark.oracle)


@pytest.mark.parametrize("name", FILES)
def test_a_run_ends_with_a_report(name: str, tmp_path: Path) -> None:
    variant = Variant(data=str(LAYOUTS / FILES[name]))
    (run,) = evaluate(["random"], [name], out=tmp_path, variant=variant).runs
    report = run.report()
    assert run.info.status == "complete"
    assert report.summary.headline.name == open_benchmark(name).headline
    assert report.summary.headline.value is not None
    assert (run.path / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "closing"),
    [
        ("textvqa", "Answer the question using a single word or phrase."),
        ("vizwiz", "insufficient, respond with 'Unanswerable'.\nAnswer the question using a single word or phrase."),
        ("ocrbench", "what is written in the image?"),
        ("mtvqa", "Answer the question using a word or phrase in the language of the question."),
        ("tablevqabench", "Question: which teams won?\nAnswer:"),
        ("coco-caption", 'do not include prefix like "This image depicts". '),
    ],
)
def test_prompts_end_as_the_fact_sheets_say(name: str, closing: str) -> None:
    benchmark = open_benchmark(name, Variant(data=str(LAYOUTS / FILES[name])))
    request = next(benchmark.flow(samples_of(name)[0]))
    assert isinstance(request, Generate)
    first, last = request.messages[0].parts[0], request.messages[0].parts[-1]
    assert isinstance(first, Media)
    assert isinstance(last, Text)
    assert last.text.endswith(closing)


def test_golds_that_look_like_labels_or_yes_are_texts() -> None:
    textvqa = samples_of("textvqa")
    assert textvqa[1].gold[0] == "b"
    assert textvqa[2].gold == ("no", "no", "unanswerable", *["no"] * 7)
    assert textvqa[0].unit == textvqa[1].unit != textvqa[2].unit


def test_a_wordy_reply_is_read_by_our_rule_alone(tmp_path: Path) -> None:
    replies = {"0": "The answer is 47.", "1": "red", "2": "0.13", "3": "0"}
    assert scored("chartqa", tmp_path, replies).summary.headline.value == 100.0
    official = scored("chartqa", tmp_path, replies, "official").summary
    assert official.headline.value == 75.0
    assert official.metrics["exact_match"].value == 50.0


def test_gqa_counts_case_and_dot_by_three_rules(tmp_path: Path) -> None:
    replies = {"201": "No.", "202": "Light blue", "203": "girl"}
    values = [
        scored("gqa", tmp_path, replies, rule).summary.headline.value for rule in ("snellen", "vlmevalkit", "official")
    ]
    assert values == [pytest.approx(100 * part / 3) for part in (3, 2, 3)]


def test_tables_are_averaged_over_their_parts(tmp_path: Path) -> None:
    replies = {"0": "Feyenoord||Ajax", "1": "13", "2": "Answer: True", "3": "3.5"}
    summary = scored("tablevqabench", tmp_path, replies).summary
    assert summary.headline.value == 75.0
    assert summary.metrics["exact_amount"].value == 50.0
    (tmp_path / "part").mkdir()
    two = {"0": "Ajax|Feyenoord", "1": "12"}
    without = scored("tablevqabench", tmp_path / "part", two).summary
    assert without.headline.value is None


def test_a_part_of_the_tables_alone_has_its_own_headline(tmp_path: Path) -> None:
    header, *rows = (LAYOUTS / FILES["tablevqabench"]).read_text().splitlines()
    fields = rows[3].split("\t")
    more = ["4", "fin-2", *fields[2:]]
    data = tmp_path / "fintabnetqa.tsv"
    data.write_text("\n".join([header, rows[3], "\t".join(more)]) + "\n")
    replies = tmp_path / "replies.csv"
    # The second is right but for its unit, which counts by the part's metric.
    replies.write_text("id,prediction\n3,1\n4,$3.5\n")
    summary = score("tablevqabench", replies, data=data).summary
    assert (summary.headline.name, summary.headline.value) == ("accuracy", 50.0)
    assert summary.metrics["exact_amount"].value == 0.0
    assert any("of the part fintabnetqa" in notice for notice in summary.notices)


def test_covered_texts_weigh_the_same_not_pictures(tmp_path: Path) -> None:
    replies = {"0": "of the largest cities, since 1998", "1": "was an old town in"}
    summary = scored("vcr-wiki", tmp_path, replies).summary
    assert summary.headline.value == pytest.approx(100 / 3)
    assert summary.metrics["jaccard"].value == pytest.approx(100 * (1 + 2 / 6 + 4 / 6) / 3)
    assert summary.headline.n == 2


def test_documents_without_an_answer_and_with_lists(tmp_path: Path) -> None:
    golds = [sample.gold for sample in samples_of("dude")]
    assert golds[0] == ("Not answerable",)
    replies = {"0": "It cannot be determined.", "1": "B. Somebod", "2": '["green"]'}
    scores = {one.id: one.score for one in scored("dude", tmp_path, replies).records}
    assert scores == {"0": 1.0, "1": pytest.approx(10 / 11), "2": 0.5}


def test_f1_of_long_documents(tmp_path: Path) -> None:
    replies = {"0": "3", "1": "1", "2": "Not answerable", "3": "red", "4": "B. Somebody"}
    summary = scored("mmlongbench-doc", tmp_path, replies).summary
    precision, recall = 2 / 4, 2 / 4
    assert summary.headline.value == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    assert summary.metrics["accuracy"].value == pytest.approx(40.0)
    pages_cells = {name: cell.value for name, cell in summary.groups["pages"].items()}
    assert pages_cells["unanswerable"] == 0.0
    assert summary.groups["evidence"]["Table"].n == 1


def test_slides_have_exact_match_and_anls_beside_f1(tmp_path: Path) -> None:
    summary = scored("slidevqa", tmp_path, {"0": "25%", "1": "red team leads"}).summary
    assert summary.headline.value == pytest.approx(100 * (1 + 0.8) / 2)
    assert summary.metrics["exact_match"].value == 50.0
    assert summary.beside == ("exact_match", "anls")


def test_pages_of_a_pdf_are_shown_as_pictures() -> None:
    from snellen.core.media import decode_image

    dude = open_benchmark("dude", Variant(data=str(LAYOUTS / FILES["dude"])))
    first, second, third = samples_of("dude")
    assert dude.prepare is not None
    shown = dude.prepare(first)
    assert [len(one.media) for one in (shown, dude.prepare(third))] == [2, 1]
    assert decode_image(shown.media[0].source.read()).size == (80, 60)
    assert shown.media == dude.prepare(second).media
    record = run_flow(dude.flow(shown), lambda request: Generated("Not answerable"))
    assert (record.score, len(record.media)) == (1.0, 2)


def test_a_broken_pdf_fails_its_sample_alone() -> None:
    from snellen.core.errors import MediaError
    from snellen.core.media import InlineSource, digest_bytes
    from snellen.core.sample import MediaRef

    data = b"%PDF-1.7 and nothing more"
    sample = Sample("1", "open", "?", media=(MediaRef(digest_bytes(data), InlineSource(data)),))
    (broken,) = with_pages(sample).media
    with pytest.raises(MediaError, match="PDF document cannot be drawn"):
        broken.source.read()


def test_only_the_first_pages_of_a_long_document_are_shown() -> None:
    import io

    import pypdfium2

    document = pypdfium2.PdfDocument.new()
    for _ in range(MAX_PAGES + 3):
        document.new_page(8, 8)
    buffer = io.BytesIO()
    document.save(buffer)
    assert len(render_pages(buffer.getvalue())) == MAX_PAGES


def test_captions_are_scored_as_a_set(tmp_path: Path) -> None:
    samples = samples_of("coco-caption")
    replies = {sample.id: sample.gold[0] for sample in samples}
    best = scored("coco-caption", tmp_path, replies).summary
    assert best.headline.value == pytest.approx(1000.0)
    assert best.metrics["bleu_4"].value == pytest.approx(100.0)
    replies["1"] = "two old men in a park"
    less = scored("coco-caption", tmp_path, replies).summary
    assert less.headline.unit == "points"
    assert 600 < (less.headline.value or 0) < 1000
    shouted = {key: text.upper() for key, text in replies.items()}
    again = scored("coco-caption", tmp_path, shouted).summary
    assert again.headline.value == pytest.approx(less.headline.value)
    raw = scored("coco-caption", tmp_path, shouted, "vlmevalkit").summary
    assert (raw.headline.value or 0) < 20  # but for "A" no word is the same


def test_reports_hidden_answers() -> None:
    for name in ("docvqa", "infovqa"):
        made = open_benchmark(f"{name}:split=test")
        assert made.oracle is None
        assert "withheld" in made.unscorable


def test_karpathys_captions_can_be_scored_and_are_not_asked_blind(tmp_path: Path) -> None:
    data = tmp_path / "karpathy.jsonl"
    sentences = ["A red boat lies on the quiet water.", "A boat on a lake."]
    other = ["Two old men play chess in a park.", "Men sit at a chess board."]
    rows = [
        {"filename": f"COCO_val2014_{number}.jpg", "sentences": one, "cocoid": number, "url": "x"}
        for number, one in enumerate([sentences, other])
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / "replies.csv"
    file.write_text("id,prediction\n0,A blue boat on a lake.\n1,Two men at a chess board.\n")
    found = score("coco-caption:data=karpathy", file, data=data)
    assert [record.gold for record in found.records] == [tuple(sentences), tuple(other)]
    assert found.summary.metrics["bleu_1"].value == pytest.approx(100 * 11 / 12, abs=1e-6)
    (run,) = evaluate(["random"], ["coco-caption"], out=tmp_path, variant=Variant(data=str(data))).runs
    assert run.report().summary.outcomes["unsupported"] == 2


def test_splits_of_the_hub_are_opened_like_files(tmp_path: Path) -> None:
    from snellen.benchmarks.declaration.published import HubSplit, Published

    (tmp_path / "val.jsonl").write_text((LAYOUTS / "vizwiz.jsonl").read_text())
    (tmp_path / "test.jsonl").write_text((LAYOUTS / "ok-vqa.jsonl").read_text())
    published = Published(
        {"split": ("val", "test")}, {(split,): HubSplit(f"{tmp_path}?split={split}") for split in ("val", "test")}
    )
    assert [row.cells["question_id"] for row in published.table(Variant())] == ["VizWiz_val_a.jpg", "VizWiz_val_b.jpg"]
    other = published.table(Variant(options={"split": "test"}))
    assert next(iter(other)).cells["question_type"] == "four"
    assert published.fetch(Variant()) is not None


NOT_FULL = {("slidevqa", "vlmevalkit"): 70.0}
"""VLMEvalKit joins the lines of SlideVQA's golds without a blank: one in two lines loses words."""


@pytest.mark.parametrize("rule", ["snellen", "vlmevalkit", "official"])
@pytest.mark.parametrize("name", FILES)
def test_gold_answers_are_full_marks_by_every_rule(name: str, rule: str, tmp_path: Path) -> None:
    replies = {sample.id: sample.gold[0] for sample in samples_of(name)}
    found = scored(name, tmp_path, replies, rule)
    full = NOT_FULL.get((name, rule), found.benchmark.oracle)
    assert found.summary.headline.value == pytest.approx(full)
    assert found.summary.headline.n == len(replies)


@pytest.mark.parametrize("policy", ["exclude", "count-wrong", "withhold"])
@pytest.mark.parametrize("name", ["vcr-wiki", "mmlongbench-doc", "coco-caption", "docvqa"])
def test_missing_replies_follow_the_policy(name: str, policy: str, tmp_path: Path) -> None:
    _, *rest = samples_of(name)
    file = tmp_path / "replies.jsonl"
    lines = (json.dumps({"id": one.id, "prediction": one.gold[0]}) for one in rest)
    file.write_text("\n".join(lines) + "\n")
    variant = Variant(failures=policy)
    headline = score(name, file, data=LAYOUTS / FILES[name], variant=variant).summary.headline
    oracle = open_benchmark(name).oracle
    assert oracle is not None
    if policy == "withhold":
        assert headline.value is None
    elif policy == "exclude":
        assert headline.value == pytest.approx(oracle)
    else:
        assert headline.value is not None
        assert headline.value < oracle
