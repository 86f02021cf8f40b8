"""Write a data set as a benchmark that others can use: files, card, licences, checksums, splits.

The same data and options give the same bytes, with the same version of pyarrow.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from snellen import __version__
from snellen.benchmarks.declaration.evidence import BenchmarkEvidence
from snellen.core.atomic_write import save
from snellen.core.errors import StorageError, UsageError
from snellen.core.secret import Secret
from snellen.data_sets import sealing
from snellen.data_sets.decisions import Decision
from snellen.data_sets.items import Item, ItemTable
from snellen.data_sets.step import STEP_FILE, Step, describe_source, media_suffix, open_step, read_step, set_aside
from snellen.store.runs import write_json
from snellen_curate.attribution import licence_url
from snellen_curate.open_data import open_items
from snellen_curate.publish.card import Publication, write_card
from snellen_curate.publish.licences import LicenceTable, check_licence, read_licence_table, strictest_conditions
from snellen_curate.publish.options import PublishOptions, check_publish_options
from snellen_curate.publish.survey import Survey, name_some, read_held_out_ids, survey_items
from snellen_curate.publish.table_files import SplitWriter, TsvWriter, public_cells, tsv_line

STEP = "publish"
VIDEO_FOLDER = "videos"
PUBLIC = "dev"
"""Names of the two splits if answers are kept back; else all questions are `test`."""
_KIND_ENDINGS = {
    "choice": "MCQ",
    "yes_no": "YN",
    "multi": "MULTI",
    "open": "openended",
    "place": "PLACE",
    "fields": "JSON",
    "page": "PAGE",
}
"""Endings of the TSV files of a benchmark of several kinds: VLMEvalKit evaluates one kind per file,
and knows open questions by `openended` in the name."""


class PublishResult(Struct, frozen=True, kw_only=True):
    """The outcome of `publish`."""

    publication: Publication
    folder: str
    private: str
    specs: dict[str, str]
    """The TOML file of each split, by which Snellen knows it."""
    sealed: str
    """File of the answers kept back; "" if all are published."""
    is_encrypted: bool
    dropped: dict[str, list[str]]
    """Ids of items that were left out, by rule."""
    flagged: dict[str, list[str]]
    """Ids of items that someone should look at, by rule."""
    reasons: dict[str, str]
    """By rule: the first of these items, and why it was found."""
    notes: list[str]
    files: dict[str, str]
    """SHA-256 by path relative to the folder."""


def publish(
    data: str | Path,
    out: Path | str,
    options: PublishOptions = PublishOptions(),  # noqa: B008 - frozen
    columns: Mapping[str, str] | None = None,
) -> PublishResult:
    """Publish a data set folder, data file or benchmark in the folder `out`.

    The folder appears when it is complete, and replaces an earlier publication there. Raises
    UsageError subclasses: a name or licence that cannot be used, an item without a licence if they
    are required, a folder that holds something else.
    """
    target = Path(out).expanduser().absolute()
    options = replace(options, name=options.name or target.name)
    check_publish_options(options)
    if options.licence:
        options = replace(options, licence=check_licence(options.licence, "--facts licence"))
    licences = read_licence_table(options.licences) if options.licences else LicenceTable()
    key = None
    if options.keeps_back:
        key = sealing.read_key(Path(options.seal_key) if options.seal_key else None, create=True)
    _check_target(target)
    private = Path(options.private) if options.private else _sibling(_with_name(out), "-private")
    table = open_items(data, columns)
    settings = _settings(options, licences)
    _set_aside_earlier(private, settings, table)
    with open_step(private, STEP, settings, table) as step:
        survey = survey_items(table, options, licences)
        with _new_folder(target) as part:
            published = _Writer(part, table, survey, options, licences, key).write(step)
        counts = {name: sum(each.values()) for name, each in published.publication.splits.items()}
        findings = {**published.dropped, **published.flagged}
        step.finish(counts | {rule: len(ids) for rule, ids in findings.items()})
    specs = {split: str(Path(out) / spec) for split, spec in published.specs.items()}
    return msgspec.structs.replace(published, folder=str(out), specs=specs)


def _set_aside_earlier(private: Path, settings: dict[str, Any], table: ItemTable) -> None:
    """Rename the private folder of an earlier publication with other options or of other data: its
    answers may have been given out. Raises StorageError."""
    if not (private / STEP_FILE).is_file():
        return
    info = read_step(private)
    is_same = info.settings == settings and info.sources == (describe_source(table),)
    if info.step == STEP and not is_same:
        set_aside(private)


def _settings(options: PublishOptions, licences: LicenceTable) -> dict[str, Any]:
    """What decides the split, the licences and what is left out."""
    return {
        "name": options.name,
        "hold_out": options.hold_out,
        "split_like": sorted(read_held_out_ids(Path(options.split_like))) if options.split_like else [],
        "seed": options.seed,
        "ability": options.ability,
        "require_licence": options.require_licence,
        "licences": {source: msgspec.to_builtins(entry) for source, entry in sorted(licences.items())},
    }


@dataclass(slots=True)
class _Writer:
    """The second pass: writes every file of the publication into a new folder."""

    folder: Path
    table: ItemTable
    survey: Survey
    options: PublishOptions
    licences: LicenceTable
    key: Secret | None
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The answers kept back."""
    _names: dict[str, str] = field(default_factory=dict)
    """Names of the published images and videos, by digest."""

    @property
    def public_split(self) -> str:
        return sealing.HELD_OUT if not self.options.keeps_back else PUBLIC

    def write(self, step: Step) -> PublishResult:
        """Write the folder, the private files and the decisions."""
        (self.folder / sealing.DATA_FOLDER).mkdir(parents=True)
        splits = [self.public_split, *([sealing.HELD_OUT] if self.options.keeps_back else [])]
        parquet = {split: f"{sealing.DATA_FOLDER}/{split}.parquet" for split in splits}
        tables = self._write_rows(parquet, step)
        sealed = self._write_answers(step.folder, parquet)
        publication = self._publication(splits, sealed)
        specs = self._write_specs(parquet)
        write_json(self.folder / sealing.PUBLICATION_FILE, publication)
        write_json(self.folder / "evidence.json", {self.options.name: BenchmarkEvidence("from the text")})
        lines = list(self._licence_rows())
        self._save_rows("LICENCES.tsv", [["source", "licence", "questions", "url", "attribution"], *lines])
        self._save_rows("ATTRIBUTION.tsv", self._attribution_rows())
        md5 = self._save_sums("MD5SUMS", "md5", sorted(self.folder / name for name in tables))
        sizes = {split: (path, (self.folder / path).stat().st_size) for split, path in parquet.items()}
        card = write_card(publication, self.options, self.survey, sizes, md5, lines, specs)
        save(self.folder / "README.md", card)
        files = self._save_sums("SHA256SUMS", "sha256", sorted(filter(Path.is_file, self.folder.rglob("*"))))
        return PublishResult(
            publication=publication,
            folder=str(self.folder),
            private=str(step.folder),
            specs=specs,
            sealed=str(sealed) if sealed else "",
            is_encrypted=sealed is not None and self.key is not None,
            dropped=self.survey.by_rule("drop"),
            flagged=self.survey.by_rule("flag"),
            reasons=self.survey.first_reasons(),
            notes=list(self._notes(tables)),
            files=files,
        )

    def _write_rows(self, parquet: Mapping[str, str], step: Step) -> dict[str, TsvWriter]:
        """Write Parquet and TSV files, and decide about every item."""
        layout = self.survey.layout
        tables: dict[str, TsvWriter] = {}
        with ExitStack() as opened:
            splits = {
                split: opened.enter_context(closing(SplitWriter(self.folder / path, layout)))
                for split, path in parquet.items()
            }
            for item, split in self._items_by_split():
                entry = self.survey.entries[item.id]
                cells = public_cells(item, entry.licence, split, self.options.keep, held_out=entry.is_held_out)
                images = [(ref.digest, ref.source.read()) for ref in item.sample.media if ref.kind == "image"]
                video = self._copy_video(item)
                self._names |= {digest: f"{digest}{media_suffix(data, 'image')}" for digest, data in images}
                named = [(self._names[digest], data) for digest, data in images]
                splits[split].write(cells, named, video)
                file = self._tsv_name(split, entry.kind)
                if file not in tables:
                    tables[file] = opened.enter_context(closing(self._open_tsv(file, entry.kind, split)))
                number = self.survey.numbers.get(item.id)
                row = cells if number is None else {**cells, "index": number, "id": item.id}
                tables[file].write(row, images, f"{sealing.DATA_FOLDER}/{video}" if video else "")
                self._decide(step, item.id, split)
        for name, [finding, *_] in self.survey.findings.items():
            if finding.action == "drop" and name not in step.decisions:
                step.decide(Decision(name, "drop", STEP, finding.rule, finding.reason))
        return tables

    def _items_by_split(self) -> Iterator[tuple[Item, str]]:
        """The items with their splits: those held out last, and not in the order of the data, which
        may be sorted by answer. Notes their answers."""
        held: dict[str, Item] = {}
        for item in self.table:
            entry = self.survey.entries.get(item.id)
            if entry is None:
                continue
            if entry.is_held_out:
                held[item.id] = item
                self.answers[item.id] = item.sample.gold
            else:
                yield item, self.public_split
        for name in self.survey.ids_without_answers(self.options.seed):
            yield held[name], sealing.HELD_OUT

    def _copy_video(self, item: Item) -> str:
        """Copy the video of an item; returns its path relative to the Parquet files."""
        ref = next((ref for ref in item.sample.media if ref.kind == "video"), None)
        if ref is None:
            return ""
        if ref.digest not in self._names:
            data = ref.source.read()
            name = f"{VIDEO_FOLDER}/{hashlib.sha256(data).hexdigest()}{media_suffix(data, 'video')}"
            path = self.folder / sealing.DATA_FOLDER / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            self._names[ref.digest] = name
        return self._names[ref.digest]

    def _tsv_name(self, split: str, kind: str) -> str:
        parts = [self.options.name]
        if self.options.keeps_back:
            parts.append(split.upper())
        if len(self.survey.kinds()) > 1:
            parts.append(_KIND_ENDINGS[kind])
        return "_".join(parts) + ".tsv"

    def _open_tsv(self, file: str, kind: str, split: str) -> TsvWriter:
        layout = self.survey.layout
        has_options = kind in ("choice", "multi")
        is_held_out = self.options.keeps_back and split == sealing.HELD_OUT
        columns = [
            name
            for name in layout.text_columns
            if (has_options or len(name) > 1 or len(self.survey.kinds()) == 1)
            and not (is_held_out and name in ("answer", *self.options.keep))
        ]
        if self.survey.numbers:
            columns.insert(1, "id")
        return TsvWriter(self.folder / file, columns, images=bool(layout.max_images), videos=layout.has_videos)

    def _decide(self, step: Step, name: str, split: str) -> None:
        if name in step.decisions:
            return
        is_held_out = self.survey.entries[name].is_held_out
        where = f"published in the split {split}{', its answer kept back' if is_held_out else ''}"
        findings = self.survey.findings.get(name, [])
        if findings:
            reason = "; ".join([*(finding.reason for finding in findings), where])
            step.decide(Decision(name, "flag", STEP, findings[0].rule, reason))
        else:
            step.decide(Decision(name, "keep", STEP, "held_out" if is_held_out else "public", where))

    def _write_answers(self, private: Path, parquet: Mapping[str, str]) -> Path | None:
        """Write the answers kept back, encrypted if there is a key."""
        if not self.options.keeps_back:
            return None
        questions = _digest(self.folder / parquet[sealing.HELD_OUT], "sha256")
        header = sealing.SealedHeader(
            benchmark=self.options.name,
            release=self.options.release,
            split=sealing.HELD_OUT,
            questions=questions,
            items=len(self.answers),
        )
        content = sealing.encode_answers(header, self.answers)
        path = private / ("answers.sealed" if self.key else "answers.jsonl")
        if self.key is not None:
            content = sealing.seal(content, self.key)
        save(path, content)
        path.chmod(0o600)
        return path

    def _publication(self, splits: Sequence[str], sealed: Path | None) -> Publication:
        counts = {self.public_split: self.survey.ability_counts(held_out=False)}
        if sealed is not None:
            counts[sealing.HELD_OUT] = self.survey.ability_counts(held_out=True)
        licences = Counter(entry.licence for entry in self.survey.entries.values())
        credits = Counter(credit.licence for credit in self.survey.credits.values())
        options = self.options
        return Publication(
            name=options.name,
            title=options.title or options.name,
            release=options.release,
            snellen=__version__,
            source=self.table.digest,
            splits={split: counts[split] for split in splits},
            licences=dict(sorted(licences.items())),
            conditions=strictest_conditions(credits) if credits else "",
            held_out=sealing.HELD_OUT if sealed else "",
            share=options.hold_out,
            seed=options.seed if options.hold_out is not None else None,
            sealed_sha256=_digest(sealed, "sha256") if sealed and self.key else "",
        )

    def _write_specs(self, parquet: Mapping[str, str]) -> dict[str, str]:
        """Write the TOML descriptions; returns their names by split."""
        specs = {}
        for split, path in parquet.items():
            is_held_out = self.options.keeps_back and split == sealing.HELD_OUT
            name = f"{self.options.name}-{split}" if is_held_out else self.options.name
            title = self.options.title or self.options.name
            entries = {
                "name": name,
                "title": f"{title}, held-out questions" if is_held_out else title,
                "data": path,
                "paper": self.options.paper,
                "source": self.options.homepage,
            }
            # A basic string of TOML has the escapes of JSON.
            texts = {key: msgspec.json.encode(value).decode() for key, value in entries.items() if value}
            save(self.folder / f"{name}.toml", "".join(f"{key} = {text}\n" for key, text in texts.items()))
            specs[split] = f"{name}.toml"
        return specs

    def _licence_rows(self) -> Iterator[list[str]]:
        """Source, licence, questions, address and attribution of the published items."""
        counts = Counter((entry.source, entry.licence) for entry in self.survey.entries.values())
        for (source, licence), count in sorted(counts.items()):
            entry = self.licences.entry(source)
            yield [source, licence, str(count), entry.url or licence_url(licence), entry.attribution]

    def _attribution_rows(self) -> Iterator[list[str]]:
        """A line for each image and video, in the order of their names, which says nothing."""
        yield ["picture", "source", "author", "url", "licence", "licence_url", "attribution", "questions"]
        for digest, name in sorted(self._names.items(), key=lambda named: named[1]):
            one = self.survey.credits[digest]
            whose = [name, one.source, one.author, one.url, one.licence, licence_url(one.licence)]
            yield [*whose, self.licences.entry(one.source).attribution, str(one.items)]

    def _notes(self, tables: Mapping[str, TsvWriter]) -> Iterator[str]:
        """What the user should know about the items, the columns and the TSV files."""
        if self.survey.still_flagged:
            yield (
                f"{self.survey.still_flagged} items are still flagged by an earlier step; "
                "`snellen curate review` settles them"
            )
        if left_out := sorted(self.survey.layout.left_out):
            yield f"columns left out: {name_some(left_out)}; --columns keep=NAME publishes one"
        if not self.options.language:
            yield "the card states no language; --facts language=en adds it"
        if self.survey.numbers:
            yield (
                "the ids are no numbers below a million, which VLMEvalKit needs: its files have "
                "row numbers in `index`, and the ids in `id`"
            )
        for name, table in tables.items():
            yield from table.reading.sentences(name)
            if table.without_image:
                yield f"{name}: VLMEvalKit leaves out {table.without_image} rows without an image"

    def _save_rows(self, name: str, rows: Iterable[Sequence[str]]) -> None:
        save(self.folder / name, b"".join(map(tsv_line, rows)))

    def _save_sums(self, name: str, algorithm: str, paths: Iterable[Path]) -> dict[str, str]:
        """Write the digests of files as `sha256sum` and `md5sum` write and check them; returns them
        by path."""
        digests = {path.relative_to(self.folder).as_posix(): _digest(path, algorithm) for path in paths}
        save(self.folder / name, "".join(f"{digest}  {path}\n" for path, digest in digests.items()))
        return digests


def _check_target(target: Path) -> None:
    """Raises UsageError if a folder holds something that is no publication."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; name a folder with --out")
    if target.is_dir() and any(target.iterdir()) and not (target / sealing.PUBLICATION_FILE).is_file():
        raise UsageError(f"{target} holds files that are no publication; name a new folder with --out")


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that takes the place of an earlier one once it is complete. Raises StorageError."""
    part, old = _sibling(target, ".part"), _sibling(target, ".old")
    try:
        shutil.rmtree(part, ignore_errors=True)
        yield part
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        part.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _with_name(out: Path | str) -> Path:
    """The folder as the user wrote it, if that ends with a name."""
    path = Path(out).expanduser()
    return path if path.name not in ("", "..") else path.resolve()


def _sibling(target: Path, ending: str) -> Path:
    """A path next to the folder, on the same disk; one whose ending begins with a dot is hidden."""
    dot = "." if ending.startswith(".") else ""
    return target.with_name(f"{dot}{target.name}{ending}")


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
