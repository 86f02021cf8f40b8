"""Videos that rows name: a file, a clip of one, its subtitles, or a folder of frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import MediaError
from snellen.core.media import FileSource, digest_bytes
from snellen.core.sample import MediaRef
from snellen.data.columns import VIDEO_COLUMNS
from snellen.data.media.image_cells import NamedVideo, parse_seconds
from snellen.data.media.image_files import FileDigests, MediaFolders, is_file, is_folder
from snellen.data.media.sources import broken_medium

VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v", ".gif", ".mpg", ".mpeg", ".flv")
_INNER_FOLDERS = ("", "videos", "video", "data")
_SUBTITLE_SUFFIXES = (".srt", ".vtt")
_IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
_YOUTUBE_NAME = re.compile(r"[\w-]{11}")
_VIDEO_NAME = re.compile(r"[^\n\t]{1,1024}")


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A video file; `digest` is its SHA-256."""

    path: str
    digest: str
    start: float | None = None
    end: float | None = None
    subtitles: str | None = None
    """Path of the subtitle file."""
    parts: tuple[tuple[float, float], ...] = ()
    """Beginnings and ends in seconds of the parts that are shown one after the other; empty: the
    video from `start` to `end`."""

    def read(self) -> bytes:
        """The complete file, for models that take videos."""
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


def parse_video(cells: Mapping[str, str]) -> NamedVideo | None:
    """The video that a row names, or None.

    The columns `prefix` (a folder), `start`, `end` and `subtitle_path` are used if they exist.
    """
    names = [cells[column].strip() for column in VIDEO_COLUMNS if cells.get(column)]
    names = [name for name in names if _VIDEO_NAME.fullmatch(name) and "://" not in name]
    if not names:
        return None
    prefix = cells.get("prefix", "").strip()
    candidates = [*(str(Path(prefix, name)) for name in names if prefix), *names]
    # ActivityNet's files are called v_ and the name that its data give.
    candidates += [f"v_{name}" for name in names if _YOUTUBE_NAME.fullmatch(name)]
    return NamedVideo(
        tuple(candidates),
        parse_seconds(cells.get("start")),
        parse_seconds(cells.get("end")),
        cells.get("subtitle_path", "").strip(),
    )


def locate_video(item: NamedVideo, folders: MediaFolders, files: FileDigests, where: str) -> MediaRef:
    """Find the video in `folders` and their subfolders `video`, `videos` and `data`.

    The name is also tried with each video suffix; a folder of that name holds the frames.
    """
    search_folders = [Path(folder, inner) for folder in folders.search_folders for inner in _INNER_FOLDERS]
    if item.subtitles and any(map(folders.problem, (folder / item.subtitles for folder in search_folders))):
        problem = folders.problem(search_folders[0] / item.subtitles)
        return broken_medium(item.subtitles, f"{where}: {problem}", "video")
    for name in item.names:
        for folder in search_folders:
            path, images = _video_path(folder, name)
            if path is None:
                continue
            if problem := folders.problem(path):
                return broken_medium(name, f"{where}: {problem}", "video")
            try:
                return _video_ref(path, images, item, search_folders, files)
            except OSError as error:
                problem = f"{where}: cannot read {path}: {error.strerror or error}"
                return broken_medium(str(path), problem, "video")
    folder_names = ", ".join(dict.fromkeys(folders.search_folders))
    problem = (
        f"{where}: there is no video {item.names[0]!r} (looked in {folder_names}, and in the "
        "folders video, videos and data there)"
    )
    return broken_medium(item.names[0], problem, "video")


def _video_path(folder: Path, name: str) -> tuple[Path | None, Sequence[Path]]:
    """The file of this name in a folder, or the folder of frames with these; None if there is
    neither."""
    for path in (folder / name, *(folder / (name + suffix) for suffix in VIDEO_SUFFIXES)):
        if is_file(path):
            return path, ()
    for path in (folder / name, _without_suffix(folder / name)):
        if is_folder(path) and (images := _frame_files(path)):
            return path, images
    return None, ()


def _video_ref(
    path: Path, images: Sequence[Path], item: NamedVideo, search_folders: Sequence[Path], files: FileDigests
) -> MediaRef:
    """A video file, or the folder of these frames. Raises OSError."""
    frames = tuple(MediaRef(files.digest(image), FileSource(str(image))) for image in images)
    digest = digest_bytes("\n".join(frame.digest for frame in frames).encode()) if images else files.digest(path)
    subtitles = _find_subtitles(path, item, search_folders)
    source: VideoFile | FrameFolder = VideoFile(str(path), digest, item.start, item.end, subtitles)
    if images:
        source = FrameFolder(str(path), frames, item.start, item.end, subtitles)
    return MediaRef(_part_digest(digest, item), source, "video")


def _find_subtitles(path: Path, item: NamedVideo, search_folders: Sequence[Path]) -> str | None:
    """The file that a column names, else a file with the video's name next to it or in
    `subtitle(s)`."""
    if item.subtitles:
        candidates = [folder / item.subtitles for folder in search_folders]
        return next((str(candidate) for candidate in candidates if is_file(candidate)), None)
    folders = [path.parent, *(path.parent.parent / name for name in ("subtitle", "subtitles"))]
    siblings = [home / (path.stem + suffix) for home in folders for suffix in _SUBTITLE_SUFFIXES]
    return next((str(candidate) for candidate in siblings if is_file(candidate)), None)


def _without_suffix(path: Path) -> Path:
    return path.with_name(path.stem) if path.name else path


def _part_digest(digest: str, item: NamedVideo) -> str:
    """Digest of a video: its bytes' digest, for a clip combined with the bounds."""
    if item.start is None and item.end is None:
        return digest
    return digest_bytes(f"{digest}:{item.start}:{item.end}".encode())


def _frame_files(folder: Path) -> list[Path]:
    files = [path for path in folder.iterdir() if path.suffix.lower() in _IMAGE_SUFFIXES]
    return sorted(files, key=natural_order)


def natural_order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort key for file names: frame 10 after frame 9."""
    pieces = re.findall(r"\d+|\D+", path.name)
    return [(piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in pieces]
