"""Videos: the right frame for a moment, whatever the container, with bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from made_videos import number_of, write_video

from snellen.core.errors import MediaError, MissingExtra
from snellen.data.media.frame_sampling import FrameSampling, frame_count, sample_frames, sample_indices, sample_times
from snellen.data.media.video import frame_times, frames_at, video_facts

MOMENTS = [0.0, 0.05, 0.31, 1.0, 1.5, 2.05, 4.9, 4.99]
SHOWN = [0, 0, 3, 10, 15, 20, 49, 49]


def shown(path: Path, wanted: list[float]) -> list[int]:
    return [number_of(shot.image) for shot in frames_at(str(path), wanted, path.name)]


@pytest.mark.parametrize(
    ("suffix", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("webm", "libvpx"), ("avi", "mpeg4")]
)
@pytest.mark.parametrize("key_every", [1, 12, 100])
def test_a_moment_shows_the_last_frame_whose_time_has_come(
    tmp_path: Path, suffix: str, codec: str, key_every: int
) -> None:
    path = write_video(tmp_path / f"v.{suffix}", codec=codec, key_every=key_every)
    assert shown(path, MOMENTS) == SHOWN
    facts = video_facts(str(path), "v")
    assert facts.duration == pytest.approx(5.0, abs=0.01)
    assert (facts.width, facts.height) == (64, 48)


def test_an_animated_picture_is_a_video(tmp_path: Path) -> None:
    from PIL import Image

    pictures = [Image.new("RGB", (8, 8), (shade, shade, shade)) for shade in (0, 100, 200)]
    path = tmp_path / "v.gif"
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=500)
    shots = frames_at(str(path), [0.2, 0.7, 1.2], "v.gif")
    assert [round(shot.image.getpixel((4, 4))[0], -2) for shot in shots] == [0, 100, 200]


def test_bytes_are_read_like_a_file(tmp_path: Path) -> None:
    data = write_video(tmp_path / "v.mp4").read_bytes()
    assert [number_of(shot.image) for shot in frames_at(data, MOMENTS, "v")] == SHOWN


def test_variable_frame_rate_goes_by_time(tmp_path: Path) -> None:
    times = [0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 5.0, 5.5, 9.0]
    path = write_video(tmp_path / "v.mp4", len(times), times=times)
    assert shown(path, [0.25, 1.9, 2.05, 4.99, 5.0, 8.9, 9.0]) == [2, 3, 4, 5, 6, 7, 8]
    assert frame_times(str(path), "v") == pytest.approx(times, abs=1e-3)


def test_a_rotated_video_is_upright(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", 4, rotation=90)
    (shot,) = frames_at(str(path), [0.0], "v")
    assert shot.image.size == (48, 64)
    red = [(x, y) for x in (4, 43) for y in (4, 59) if is_red(shot.image.getpixel((x, y)))]
    assert red == [(4, 59)]  # top left, a quarter turn counter-clockwise


def is_red(pixel: tuple[int, int, int]) -> bool:
    return pixel[0] > 150 and pixel[1] < 100 and pixel[2] < 100


def test_sound_that_outlasts_the_pictures_does_not_matter(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", audio_seconds=9.0)
    assert video_facts(str(path), "v").duration == pytest.approx(5.0, abs=0.05)
    assert shown(path, [4.95]) == [49]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.mp4", b"", "cannot be decoded"),
        ("words.mp4", b"this is no video at all, only words" * 40, "cannot be decoded"),
    ],
)
def test_refuses_file_that_is_not_a_video(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(MediaError, match=f"^{name}: .*{reason}"):
        list(frames_at(str(tmp_path / name), [0.0], name))


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "v.mp4", 2)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"snellen\[video\]"):
        video_facts(str(path), "v.mp4")


def test_reports_missing_video_file(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"v\.mp4: there is no such video file"):
        video_facts(str(tmp_path / "v.mp4"), "v.mp4")


@pytest.mark.parametrize(("suffix", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("webm", "libvpx")])
def test_truncated_video_is_refused(tmp_path: Path, suffix: str, codec: str) -> None:
    path = write_video(tmp_path / f"v.{suffix}", 200, codec=codec, fast_start=suffix == "mp4")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MediaError, match=rf"v\.{suffix}: .*cut short"):
        list(frames_at(str(path), [0.5, 19.0], path.name))


def test_refuses_audio_without_video(tmp_path: Path) -> None:
    import av

    with av.open(str(tmp_path / "a.wav"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        silence = numpy.zeros((1, 800), numpy.int16)
        frame = av.AudioFrame.from_ndarray(silence, format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
    with pytest.raises(MediaError, match="holds no video"):
        video_facts(str(tmp_path / "a.wav"), "a.wav")


PEAK = """
import resource, sys
from snellen.data.media.video import frames_at, video_facts
facts = video_facts(sys.argv[1], "v")
moments = [(place + 0.5) * facts.duration / 16 for place in range(16)]
assert sum(1 for shot in frames_at(sys.argv[1], moments, "v")) == 16
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.release
def test_two_hours_need_no_more_memory_than_two_minutes(tmp_path: Path) -> None:
    """All frames of the long video would be 1.3 GB."""
    size = (192, 160)
    peaks = {}
    for name, frames in (("short", 240), ("long", 14400)):
        path = tmp_path / f"{name}.mp4"
        write_video(path, frames, fps=2, size=size, codec="mpeg4", key_every=40)
        done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
        peaks[name] = int(done.stdout)
    assert peaks["long"] < 1.25 * peaks["short"]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (FrameSampling(count=4), [1.0, 3.0, 5.0, 7.0]),
        (FrameSampling(count=1), [4.0]),
        (FrameSampling(count=64, fps=0.5), [0.0, 2.0, 4.0, 6.0]),
        (FrameSampling(count=2, fps=0.5), [2.0, 6.0]),
        (FrameSampling(times=(0.5, 3.0)), [0.5, 3.0]),
    ],
)
def test_moments_by_rule(sampling: FrameSampling, expected: list[float]) -> None:
    assert sample_times(sampling, 0.0, 8.0) == pytest.approx(expected)
    assert sample_times(sampling, 10.0, 18.0) == pytest.approx([10 + moment for moment in expected])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("lmms-eval", [0, 33, 66, 99]), ("vlmevalkit", [20, 40, 60, 80]), ("centre", [12, 37, 62, 87])],
)
def test_frame_numbers_by_rule(rule: str, expected: list[int]) -> None:
    assert sample_indices(FrameSampling(count=4, rule=rule), 100) == expected


def test_a_second_more_is_a_frame_more() -> None:
    assert [frame_count(length, 1.0) for length in (0.0, 1.0, 1.5, 2.0)] == [1, 1, 2, 2]


def test_frames_of_a_folder_are_thinned_by_the_same_rules() -> None:
    items = [str(number) for number in range(100)]
    assert sample_frames(FrameSampling(count=4), items) == ["12", "37", "62", "87"]
    assert sample_frames(FrameSampling(count=4), items[:3]) == ["0", "1", "2"]
