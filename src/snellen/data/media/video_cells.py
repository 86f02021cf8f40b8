"""Videos as rows name them: a file, a part of one, its subtitles, or a folder of its frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import MediaError
from snellen.core.media import FileSource, digest_bytes
from snellen.core.sample import MediaRef
from snellen.data.columns import VIDEO_COLUMNS
from snellen.data.media.image_cells import NamedVideo
from snellen.data.media.image_files import FileDigests, MediaFolders, is_folder, is_there
from snellen.data.media.sources import BrokenSource

SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v", ".gif", ".mpg", ".mpeg", ".flv")
_FOLDERS = ("", "videos", "video", "data")
_SUBTITLES = (".srt", ".vtt")
_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
_VIDEO_NAME = re.compile(r"[^\n\t]{1,1024}")


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A video in a file of its own; `digest` is the SHA-256 of the file."""

    path: str
    digest: str
    start: float | None = None
    end: float | None = None
    subtitles: str | None = None
    """Path of the file with its subtitles."""

    def read(self) -> bytes:
        """The whole file, for models that take videos."""
        return FileSource(self.path).read()


@dataclass(frozen=True, slots=True)
class FrameFolder:
    """A video whose frames lie in a folder, in the order of their names."""

    path: str
    frames: tuple[MediaRef, ...]
    start: float | None = None
    end: float | None = None
    subtitles: str | None = None

    def read(self) -> bytes:
        raise MediaError(f"{self.path} is a folder of frames: there is no video file to be sent")


def video_in(cells: Mapping[str, str]) -> NamedVideo | None:
    """The video that a row names, with `prefix` (a folder), `start`, `end` and `subtitle_path`
    where these columns are there."""
    names = [cells[column].strip() for column in VIDEO_COLUMNS if cells.get(column)]
    names = [name for name in names if _VIDEO_NAME.fullmatch(name) and "://" not in name]
    if not names:
        return None
    prefix = cells.get("prefix", "").strip()
    both = [*(str(Path(prefix, name)) for name in names if prefix), *names]
    return NamedVideo(
        tuple(both),
        _seconds(cells.get("start")),
        _seconds(cells.get("end")),
        cells.get("subtitle_path", "").strip(),
    )


def locate_video(
    item: NamedVideo, folders: MediaFolders, files: FileDigests, where: str
) -> MediaRef:
    """The video, looked for in `folders` and in `video`, `videos` and `data` inside them, also
    without its suffix; a folder of that name holds its frames."""
    looked = [Path(folder, inner) for folder in folders.looked_in for inner in _FOLDERS]
    if item.subtitles and any(map(folders.problem, (one / item.subtitles for one in looked))):
        return _broken(item.subtitles, f"{where}: {folders.problem(looked[0] / item.subtitles)}")
    for name in item.names:
        for folder in looked:
            for path in (folder / name, *(folder / (name + suffix) for suffix in SUFFIXES)):
                if is_there(path):
                    if problem := folders.problem(path):
                        return _broken(name, f"{where}: {problem}")
                    return _file(path, item, looked, files, where)
            for path in (folder / name, _without_suffix(folder / name)):
                if is_folder(path) and (pictures := _pictures(path)):
                    if problem := folders.problem(path):
                        return _broken(name, f"{where}: {problem}")
                    return _folder(path, pictures, item, looked, files, where)
    shown = ", ".join(dict.fromkeys(folders.looked_in))
    problem = (
        f"{where}: there is no video {item.names[0]!r} (looked in {shown}, and in the folders "
        "video, videos and data there)"
    )
    return _broken(item.names[0], problem)


def _file(
    path: Path, item: NamedVideo, looked: Sequence[Path], files: FileDigests, where: str
) -> MediaRef:
    try:
        digest = files.digest(path)
    except OSError as error:
        return _broken(str(path), f"{where}: cannot read {path}: {error.strerror or error}")
    subtitles = _subtitles(path, item, looked)
    source = VideoFile(str(path), digest, item.start, item.end, subtitles)
    return MediaRef(_named(digest, item), source, "video")


def _folder(
    path: Path,
    pictures: Sequence[Path],
    item: NamedVideo,
    looked: Sequence[Path],
    files: FileDigests,
    where: str,
) -> MediaRef:
    try:
        frames = tuple(MediaRef(files.digest(one), FileSource(str(one))) for one in pictures)
    except OSError as error:
        return _broken(str(path), f"{where}: cannot read {path}: {error.strerror or error}")
    digest = digest_bytes("\n".join(frame.digest for frame in frames).encode())
    subtitles = _subtitles(path, item, looked)
    source = FrameFolder(str(path), frames, item.start, item.end, subtitles)
    return MediaRef(_named(digest, item), source, "video")


def _subtitles(path: Path, item: NamedVideo, looked: Sequence[Path]) -> str | None:
    """The file a column names, else one with the video's name beside it or in `subtitle`."""
    if item.subtitles:
        named = [folder / item.subtitles for folder in looked]
        return next((str(one) for one in named if is_there(one)), None)
    homes = [path.parent, *(path.parent.parent / name for name in ("subtitle", "subtitles"))]
    beside = [home / (path.stem + suffix) for home in homes for suffix in _SUBTITLES]
    return next((str(one) for one in beside if is_there(one)), None)


def _without_suffix(path: Path) -> Path:
    return path.with_name(path.stem) if path.name else path


def _named(digest: str, item: NamedVideo) -> str:
    """A whole video is named by its bytes; a part of one by these and its bounds."""
    if item.start is None and item.end is None:
        return digest
    return digest_bytes(f"{digest}:{item.start}:{item.end}".encode())


def _pictures(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if path.suffix.lower() in _PICTURES]
    return sorted(found, key=natural)


def natural(path: Path) -> list[tuple[bool, int, str]]:
    """Frame 10 after frame 9."""
    pieces = re.findall(r"\d+|\D+", path.name)
    return [(piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in pieces]


def _seconds(cell: str | None) -> float | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return None


def _broken(name: str, problem: str) -> MediaRef:
    return MediaRef(digest_bytes(name.encode()), BrokenSource(problem), "video")
