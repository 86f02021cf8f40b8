"""Benchmarks whose questions several files or a data set of the hub hold, in made-up rows of the
published layouts."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from datasets import Dataset
from made_videos import write_video
from PIL import Image

import snellen.benchmarks.abilities.mme_realworld as mme_realworld
import snellen.benchmarks.videos.mvbench as mvbench
from snellen.benchmarks.declaration.family_file import FamilyData
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.registry import data_facts, list_benchmarks, open_benchmark
from snellen.core.errors import DataError
from snellen.core.sample import Sample, origin_of
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts

ADDRESSES = {
    "mlvu": "MLVU/MVLU/resolve/main/MLVU/json",
    "mlvu:part=open": "MLVU/MVLU/resolve/main/MLVU/json",
    "mmbench-video": "opencompass/MMBench-Video/resolve/main/MMBench-Video.tsv",
    "mme-realworld": "hf://yifanzhang114/MME-RealWorld-Lmms-eval?split=train",
    "mme-realworld:edition=cn": "hf://yifanzhang114/MME-RealWorld-CN-Lmms-eval?split=train",
    "mme-reasoning": "U4R/MME-Reasoning/resolve/main/MME_Reasoning.tsv",
    "mmgenbench": "lerogo/MMGenBench/resolve/main/MMGenBench-Test.tsv",
    "MMGenBench-Domain": "lerogo/MMGenBench/resolve/main/MMGenBench-Domain.tsv",
    "moviechat1k": "Enxin/VLMEval-MovieChat1k/resolve/main/MovieChat1k.tsv",
    "mvbench": "OpenGVLab/MVBench/resolve/main/json",
    "mvbench:edition=mp4": "OpenGVLab/MVBench/resolve/video/test.json",
    "omni3d-bench": "rohunagrawal/Omni3DBench-VLMEvalKit/resolve/main/omni3dbench.tsv",
    "tallyqa": "moondream/TallyQA-VLMEvalKit/resolve/main/tallyqa_data.tsv",
    "vdc": "Enxin/VLMEval-VDC/resolve/main/VDC.tsv",
    "video-mmlu": "Enxin/Video-MMLU/resolve/main/Video_MMLU_QA.tsv",
    "worldsense": "hf://lmms-lab/worldsense?split=test",
}
WITHOUT = {
    "core-mm": "no public address is known",
    "mega-bench": "VLMEvalKit makes it from the rows and the archive of TIGER-Lab/MEGA-Bench",
    "slake": "test.json of BoKelvin/SLAKE on the hub, with its imgs.zip unpacked in a folder beside it",
    "activitynet-captions": "a row for each sentence of the authors' val_2.json",
    "pixmo-points": "a row for each of allenai/pixmo-points-eval with its picture",
    "medq-bench": "no public address is known",
    "medq-deg": "no public address is known",
    "mvu-eval": "the JSON file of questions of MVU-Eval-Team/MVU-Eval-Data",
    "vpct": "index (its simId) and finalBucket of each",
    "gmai-mmbench:split=test": "its eleven parts stand behind a form",
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LMUData", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ADDRESSES)
def test_shows_the_address_of_published_data(name: str) -> None:
    facts = data_facts(name)
    assert ADDRESSES[name] in facts["data"]
    assert facts["here"] == f"no: snellen data pull {name}"


@pytest.mark.parametrize("name", WITHOUT)
def test_missing_address_is_explained_by_info_and_error(name: str) -> None:
    assert WITHOUT[name] in data_facts(name)["data"]
    with pytest.raises(DataError, match="no address is known") as error:
        open_benchmark(name).open()
    assert WITHOUT[name].removeprefix("no public address") in str(error.value)


def test_only_known_benchmarks_lack_an_address() -> None:
    every = [known.name for known in list_benchmarks() if not known.name.startswith("eyechart")]
    lacking = {name for name in every if "no public address" in data_facts(name).get("data", "")}
    assert lacking == {name for name in WITHOUT if ":" not in name}


def samples_of(name: str) -> dict[str, Sample]:
    made = open_benchmark(name)
    table = made.open()
    origin = origin_of(table)
    assert origin is not None
    assert (origin.kind, origin.note) == ("published", "")
    return {sample.id: sample for sample in made.samples(table)}


def part(folder: Path, name: str, content: object, cells: Mapping[str, str], **more) -> JsonPart:
    (folder / name).write_text(json.dumps(content))
    return JsonPart((folder / name).as_uri(), cells, **more)


def test_mvbench_is_made_of_its_json_files(place, monkeypatch) -> None:
    served = place / "served"
    served.mkdir()
    asked = {"question": "What next?", "candidates": ["sit", "run"], "answer": "run"}
    first = {**asked, "video": "a.mp4", "start": 1.0, "end": 2.0}
    parts = (
        part(
            served, "action_sequence.json", [first], {"task_type": "Action Sequence", "prefix": "star/Charades_v1_480"}
        ),
        part(
            served,
            "state_change.json",
            [{**asked, "video": "b.mp4"}],
            {"task_type": "State Change", "prefix": "perception/videos"},
        ),
    )
    table = JsonParts("MVBench.jsonl", "made up", parts)
    declared = mvbench.BENCHMARK.data.files["main",]
    monkeypatch.setitem(mvbench.BENCHMARK.data.files, ("main",), declared._replace(alternative=table))
    home = place / "cache" / "videos" / "mvbench"
    for name in ("star/Charades_v1_480/a.mp4", "perception/videos/b.mp4"):
        (home / name).parent.mkdir(parents=True)
        write_video(home / name)
    found = samples_of("mvbench")
    assert [one.groups["task_type"] for one in found.values()] == ["Action Sequence", "State Change"]
    assert found["0"].options == {"A": "sit", "B": "run"}
    assert found["1"].gold == ("B",)
    sources = [one.media[0].source for one in found.values()]
    assert [Path(one.path).name for one in sources] == ["a.mp4", "b.mp4"]
    assert (sources[0].start, sources[0].end) == (1.0, 2.0)


def test_mvbench_as_mp4_is_one_file_with_its_folders(place, monkeypatch) -> None:
    asked = {"question": "What next?", "candidates": ["sit", "run"], "answer": "sit"}
    document = {"root": {"State Change": "perception"}, "meta": {"State Change": [{**asked, "video": "b.mp4"}]}}
    one = part(place, "test.json", document, {}, records=mvbench._records_of_document)
    declared = mvbench.BENCHMARK.data.files["mp4",]
    table = JsonParts("MVBench_MP4.jsonl", "made up", (one,))
    monkeypatch.setitem(mvbench.BENCHMARK.data.files, ("mp4",), declared._replace(alternative=table))
    (sample,) = samples_of("mvbench:edition=mp4").values()
    assert sample.groups["task_type"] == "State Change"
    assert sample.gold == ("A",)


def test_parts_of_another_form_are_refused(place) -> None:
    one = part(place, "x.json", {"a": 1}, {})
    plain = Published({}, {(): PublishedFile("x.tsv", RemoteFile(urls=()), JsonParts("x.jsonl", "x", (one,)))})
    from snellen.core.benchmark import Variant

    with pytest.raises(DataError, match="not the published form of x"):
        plain.table(Variant())


def saved(folder: Path, rows: list[dict]) -> str:
    Dataset.from_list(rows).save_to_disk(str(folder))
    return str(folder)


def test_the_rows_of_mme_realworld_on_the_hub_are_read(place, monkeypatch) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(picture, "PNG")
    row = {
        "index": 0,
        "bytes": base64.b64encode(picture.getvalue()).decode(),
        "question": "Which colour?",
        "multi-choice options": ["(A) red", "(B) blue", "(C) green", "(D) grey", "(E) none"],
        "answer": "A",
        "category": "Perception/colour",
        "l2-category": "small",
    }
    declared = mme_realworld.BENCHMARK.data.files["en",]
    assert isinstance(declared.alternative, HubSplit)
    local = declared.alternative._replace(spec=saved(place / "rows", [row]))
    monkeypatch.setitem(mme_realworld.BENCHMARK.data.files, ("en",), declared._replace(alternative=local))
    (sample,) = samples_of("mme-realworld").values()
    assert sample.options["A"] == "red"
    assert sample.gold == ("A",)
    assert len(sample.media[0].source.read()) == len(picture.getvalue())
    assert sample.groups["task"] == "Perception"


def test_the_rows_of_worldsense_on_the_hub_are_read(place, monkeypatch) -> None:
    row = {
        "index": 0,
        "video": "abc",
        "video_path": "./videos/abc.mp4",
        "question": "Who sings?",
        "candidates": ["A. Ann", "B. Bob"],
        "answer": "B",
        "task_type": "singing",
        "task_domain": "music",
    }
    home = place / "cache" / "videos" / "worldsense" / "videos"
    home.mkdir(parents=True)
    write_video(home / "abc.mp4")
    monkeypatch.setattr(FamilyData, "declared_file", lambda self: HubSplit(saved(place / "ws", [row])))
    (sample,) = samples_of("worldsense").values()
    assert sample.options == {"A": "Ann", "B": "Bob"}
    assert sample.gold == ("B",)
    assert Path(sample.media[0].source.path) == home / "abc.mp4"


def test_mmgenbench_asks_for_a_prompt_where_the_file_has_no_question(place) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(picture, "PNG")
    data = base64.b64encode(picture.getvalue()).decode()
    (place / "mine.tsv").write_text(f"index\timage\n1\t{data}\n")
    made = open_benchmark("mmgenbench:file=mine.tsv")
    (sample,) = made.samples(made.open())
    assert "image generator" in sample.question
