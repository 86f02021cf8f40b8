"""The names that VLMEvalKit and lmms-eval have for benchmarks, and what each means there:

    python tests/benchmarks/list_names_elsewhere.py VLMEVALKIT_CHECKOUT LMMS_EVAL_CHECKOUT

writes `names_elsewhere.tsv` beside this file. The checkouts are read, never run: names stand in
class bodies and in YAML files. Columns: the tool, the name, how the question is asked there (the
type of question and `ranking` or `generation`), the split or data, and the benchmark that
the name means here with its options (empty where there is none).
"""

from __future__ import annotations

import ast
import csv
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.errors import UsageError

TARGET = Path(__file__).with_name("names_elsewhere.tsv")
COLUMNS = ("tool", "name", "asks", "data", "here")
_TABLES = ("DATASET_URL", "DATASET_URL_MODELSCOPE", "DATASET_SETS", "DATASET_FILES")


class Elsewhere(NamedTuple):
    tool: str
    name: str
    asks: str
    data: str


def of_vlmevalkit(checkout: Path) -> Iterator[Elsewhere]:
    """Keys of the tables of addresses, what `supported_datasets` lists, and the configurations of
    videos."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((checkout / "vlmeval" / "dataset").rglob("*.py"))
    }
    for tree in trees.values():
        for body in (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)):
            yield from _of_class(body)
        for node in tree.body:
            if _assigned(node).endswith("_URLS"):
                yield from _of_table(node, _assigned(node).removesuffix("_URLS"))
    config = checkout / "vlmeval" / "dataset" / "video_dataset_config.py"
    for node in ast.walk(trees[config]):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                    how = ", ".join(map(ast.unparse, value.keywords))
                    yield Elsewhere("VLMEvalKit", str(key.value), "generation: video", how)


def _of_class(body: ast.ClassDef) -> Iterator[Elsewhere]:
    kind, found = "", dict[str, str]()
    for node in body.body:
        named = _assigned(node)
        if named == "TYPE" and isinstance(getattr(node, "value", None), ast.Constant):
            kind = str(node.value.value)  # type: ignore[attr-defined]
        elif named in _TABLES and isinstance(getattr(node, "value", None), ast.Dict):
            table: ast.Dict = node.value  # type: ignore[attr-defined]
            for key, value in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant):
                    address = value.value if isinstance(value, ast.Constant) else ""
                    found[str(key.value)] = str(address).rsplit("/", 1)[-1]
        elif isinstance(node, ast.FunctionDef) and node.name == "supported_datasets":
            last = node.body[-1]
            if isinstance(last, ast.Return) and isinstance(last.value, ast.List):
                for item in last.value.elts:
                    if isinstance(item, ast.Constant):
                        found.setdefault(str(item.value), "")
    for name, data in found.items():
        yield Elsewhere("VLMEvalKit", name, f"generation: {kind or body.name}", data)


def _of_table(node: ast.stmt, kind: str) -> Iterator[Elsewhere]:
    """Names in a table of addresses that no class body holds."""
    table = getattr(node, "value", None)
    if isinstance(table, ast.Dict):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                data = str(value.value).rsplit("/", 1)[-1]
                yield Elsewhere("VLMEvalKit", str(key.value), f"generation: {kind}", data)


def _assigned(node: ast.stmt) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return next((one.id for one in targets if isinstance(one, ast.Name)), "")


def of_lmms_eval(checkout: Path) -> Iterator[Elsewhere]:
    """Tasks and groups of the YAML files, what these include among them."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Leaves out what the tags would run."""

    Loader.add_multi_constructor("!", lambda loader, suffix, node: None)

    def load(path: Path) -> Mapping[str, Any]:
        read = yaml.load(path.read_text(encoding="utf-8"), Loader)
        if not isinstance(read, dict):
            return {}
        included = load(path.parent / read["include"]) if read.get("include") else {}
        return {**included, **read}

    for path in sorted((checkout / "lmms_eval" / "tasks").rglob("*.y*ml")):
        read = load(path)
        if isinstance(read.get("task"), str):
            ranked = read.get("output_type") in ("multiple_choice", "loglikelihood")
            split = read.get("test_split") or read.get("validation_split") or ""
            where = [str(read.get(key) or "") for key in ("dataset_path", "dataset_name")]
            data = " ".join(filter(None, (*where, str(split))))
            yield Elsewhere("lmms-eval", read["task"], "ranking" if ranked else "generation", data)
        if isinstance(read.get("group"), str):
            tasks = read.get("task") or ()
            every = [tasks] if isinstance(tasks, str) else tasks
            members = [str(one) for one in every if not isinstance(one, dict)]
            told = ", ".join(members[:12]) + (" ..." if len(members) > 12 else "")
            yield Elsewhere("lmms-eval", read["group"], "group", told)


opened = functools.cache(open_benchmark)


def here(name: str) -> str:
    """The benchmark that a name means here, with the options that the name sets."""
    try:
        made = opened(name)
    except UsageError as error:
        return "" if "unknown" in str(error) else f"error: {error}"
    plain = opened(made.name).parameters
    told = {key: value for key, value in made.parameters.items() if plain.get(key) != value}
    kept = ",".join(f"{key}={told[key]}" for key in sorted(told) if not key.endswith("_digest"))
    return f"{made.name}:{kept}" if kept else made.name


def main(vlmevalkit: str, lmms_eval: str) -> None:
    rows = dict[tuple[str, str], Elsewhere]()
    for one in (*of_vlmevalkit(Path(vlmevalkit)), *of_lmms_eval(Path(lmms_eval))):
        known = rows.setdefault((one.tool, one.name), one)
        if not known.data and one.data:
            rows[one.tool, one.name] = one
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for key in sorted(rows):
            writer.writerow((*rows[key], here(rows[key].name)))


if __name__ == "__main__":
    main(*sys.argv[1:3])
