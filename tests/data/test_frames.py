"""Frames in the cache, and the rows that name videos."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from made_videos import number_of, write_video
from PIL import Image

from snellen.benchmarks.declaration.rows import kind_of_rows
from snellen.core.errors import MediaError
from snellen.core.media import decode_image, digest_bytes
from snellen.core.sample import MediaRef
from snellen.data.media import frames
from snellen.data.media.frame_sampling import FrameSampling
from snellen.data.media.frames import extract_frames, trim_cache
from snellen.data.media.subtitles import Cue, cues_at, parse_subtitles
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data.tables.info import table_info, verify_images
from snellen.data.tables.open_table import open_table
from snellen.settings import Settings


def ref_of(path: Path, **part: float) -> MediaRef:
    digest = digest_bytes(path.read_bytes())
    return MediaRef(digest, VideoFile(str(path), digest, **part), "video")


def shown(ref: MediaRef, sampling: FrameSampling, cache: Path) -> list[int]:
    return [number_of(decode_image(frame.ref.source.read())) for frame in extract_frames(ref, sampling, cache)]


@pytest.mark.parametrize(
    ("sampling", "part", "expected"),
    [
        (FrameSampling(count=5), {}, [5, 15, 25, 35, 45]),
        (FrameSampling(count=2), {"start": 1.0, "end": 3.0}, [15, 25]),
        (FrameSampling(count=9, fps=1), {}, [0, 10, 20, 30, 40]),
        (FrameSampling(count=3, rule="lmms-eval"), {}, [0, 24, 49]),
        (FrameSampling(count=3, rule="vlmevalkit"), {}, [12, 25, 37]),
        (FrameSampling(count=3, rule="lmms-eval"), {"start": 1.0, "end": 2.0}, [10, 14, 19]),
    ],
)
def test_the_frames_of_a_rule(
    tmp_path: Path, sampling: FrameSampling, part: dict[str, float], expected: list[int]
) -> None:
    path = write_video(tmp_path / "v.mp4")
    assert shown(ref_of(path, **part), sampling, tmp_path / "cache") == expected


def test_times_are_those_of_the_frames(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    found = extract_frames(ref_of(path), FrameSampling(count=2), tmp_path)
    assert [frame.time for frame in found] == pytest.approx([1.2, 3.7])


def test_an_entry_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "v.mp4")
    first = extract_frames(ref_of(path), FrameSampling(), tmp_path)
    monkeypatch.setattr(frames, "frames_at", None)
    assert extract_frames(ref_of(path), FrameSampling(), tmp_path) == first


def test_a_frame_that_is_gone_or_damaged_is_made_again(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    (frame,) = extract_frames(ref_of(path), FrameSampling(count=1), tmp_path)
    data = frame.ref.source.read()
    (kept,) = tmp_path.glob("frames/*/*/*.jpg")
    kept.write_bytes(b"not it")
    assert frame.ref.source.read() == data
    kept.unlink()
    assert frame.ref.source.read() == data
    assert trim_cache(tmp_path, 0) == 1
    assert frame.ref.source.read() == data


def test_a_smaller_edge_is_another_entry(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    sizes = []
    for edge in (None, 32):
        (frame,) = extract_frames(ref_of(path), FrameSampling(count=1, edge=edge), tmp_path)
        sizes.append(decode_image(frame.ref.source.read()).size)
    assert sizes == [(64, 48), (32, 24)]
    assert len(list(tmp_path.glob("frames/*/*"))) == 2


def digests(path: Path, cache: Path) -> list[str]:
    return [frame.ref.digest for frame in extract_frames(ref_of(path), FrameSampling(), cache)]


def entries(cache: Path) -> list[str]:
    """What lies in the folder of frames: an entry's first two letters, and nothing unfinished."""
    return [entry.name for entry in (cache / "frames").iterdir()]


def test_threads_may_make_the_same_entry_at_once(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(digests, [path] * 12, [tmp_path / "cache"] * 12))
    assert all(one == found[0] for one in found)
    assert [len(name) for name in entries(tmp_path / "cache")] == [2]


MAKING = """
import sys
from pathlib import Path
from snellen.core.sample import MediaRef
from snellen.data.media.video_cells import VideoFile
from snellen.data.media.frames import extract_frames
from snellen.data.media.frame_sampling import FrameSampling
ref = MediaRef("a" * 64, VideoFile(sys.argv[1], "a" * 64), "video")
print([frame.ref.digest for frame in extract_frames(ref, FrameSampling(), Path(sys.argv[2]))])
"""


def test_processes_may_make_the_same_entry_at_once(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    command = [sys.executable, "-c", MAKING, str(path), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert len(set(said)) == 1
    assert [len(name) for name in entries(tmp_path / "cache")] == [2]


def test_evicts_least_recently_used_frames(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    for count in (1, 2, 3):
        extract_frames(ref_of(path), FrameSampling(count=count), tmp_path)
    lists = sorted(tmp_path.glob("frames/*/*/frames.json"), key=lambda one: one.stat().st_size)
    for age, listing in enumerate(reversed(lists)):
        os.utime(listing, (1000 + age, 1000 + age))
    one = sum(file.stat().st_size for file in lists[0].parent.iterdir())
    assert trim_cache(tmp_path, one) == 2
    assert lists[0].exists()
    assert not lists[2].exists()


def test_a_part_that_begins_after_the_end_is_refused(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4")
    with pytest.raises(MediaError, match=r"v\.mp4: the part begins at 7 s"):
        extract_frames(ref_of(path, start=7.0), FrameSampling(), tmp_path)


ROWS = [
    {"id": "a", "video": "v", "question": "Which?", "answer": "x"},
    {"id": "b", "video_path": "clips/w.mp4", "video": "?", "question": "Which?", "answer": "x"},
    {"id": "c", "prefix": "clips", "video": "w.mp4", "start": "1", "end": "2", "question": "?"},
    {"id": "d", "video": "stills", "question": "Which?", "answer": "x"},
    {"id": "e", "video": "lost.mp4", "question": "Which?", "answer": "x"},
]


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "json", "parquet"])
def test_rows_name_videos_in_every_format(tmp_path: Path, form: str) -> None:
    table = open_table(str(written(tmp_path, form)), settings=Settings(cache=tmp_path / "cache"))
    media = [row.media for row in table]
    assert [len(one) for one in media] == [1] * 5
    assert {one[0].kind for one in media} == {"video"}
    sources = [one[0].source for one in media]
    assert Path(sources[0].path) == tmp_path / "videos" / "v.mp4"
    assert Path(sources[1].path) == tmp_path / "clips" / "w.mp4"
    assert (sources[2].start, sources[2].end) == (1.0, 2.0)
    assert media[1][0].digest != media[2][0].digest
    assert isinstance(sources[3], FrameFolder)
    assert sources[0].subtitles == str(tmp_path / "videos" / "v.srt")
    with pytest.raises(MediaError, match=r"row 5: there is no video 'lost\.mp4'"):
        sources[4].read()
    found = verify_images(table)
    assert [(one.row, one.id) for one in found.broken] == [(5, "e")]
    assert table_info(table, kind_of_rows(table)).lost_pictures == 1


def written(folder: Path, form: str) -> Path:
    (folder / "videos").mkdir()
    (folder / "clips").mkdir()
    (folder / "stills").mkdir()
    write_video(folder / "videos" / "v.mp4")
    (folder / "videos" / "v.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello\n")
    write_video(folder / "clips" / "w.mp4", 30)
    for number in (1, 2, 10):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / "stills" / f"{number}.png")
    path = folder / f"rows.{form}"
    columns = list(dict.fromkeys(name for row in ROWS for name in row))
    if form in ("tsv", "csv"):
        mark = "\t" if form == "tsv" else ","
        lines = [mark.join(columns)]
        lines += [mark.join(row.get(name, "") for name in columns) for row in ROWS]
        path.write_text("\n".join(lines) + "\n")
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif form == "json":
        path.write_text(json.dumps(ROWS))
    else:
        import pyarrow
        from pyarrow import parquet

        rows = [{name: row.get(name) for name in columns} for row in ROWS]
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize(("column", "kinds"), [("video", ["image"]), ("video_path", ["image", "video"])])
def test_beside_a_picture_only_a_path_is_a_video(tmp_path: Path, column: str, kinds: list[str]) -> None:
    write_video(tmp_path / "v.mp4", 3)
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    path = tmp_path / "rows.csv"
    path.write_text(f"question,answer,image_path,{column}\nWhich?,x,p.png,v.mp4\n")
    (row,) = open_table(str(path), settings=Settings(cache=tmp_path / "cache"))
    assert [ref.kind for ref in row.media] == kinds


def test_a_video_inside_a_parquet_file(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    data = write_video(tmp_path / "v.mp4").read_bytes()
    rows = [{"question": "Which?", "answer": "x", "video": {"bytes": data, "path": "v.mp4"}}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (row,) = open_table(str(tmp_path / "rows.parquet"), settings=Settings(cache=tmp_path / "c"))
    (ref,) = row.media
    assert ref.kind == "video"
    assert shown(ref, FrameSampling(count=5), tmp_path / "c") == [5, 15, 25, 35, 45]


SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello</i>
there &amp; here

2
01:02:03,004 --> 01:02:04,000
Last
"""
VTT = """WEBVTT

NOTE a remark

intro
00:01.000 --> 00:02.500 align:start
<v Ann>Hello</v>
there &amp; here

01:02:03.004 --> 01:02:04.000
Last
"""


@pytest.mark.parametrize("text", [SRT, SRT.replace("\n", "\r\n"), VTT])
def test_subtitles_of_both_formats(text: str) -> None:
    cues = parse_subtitles(text)
    assert cues == [Cue(1.0, 2.5, "Hello there & here"), Cue(3723.004, 3724.0, "Last")]
    assert [cue.text for cue in cues_at(cues, [0.5, 2.0, 2.4])] == ["Hello there & here"]
