"""The names that VLMEvalKit and lmms-eval have for benchmarks and models, and what each means there and here:

    python tests/benchmarks/list_names_elsewhere.py VLMEVALKIT_CHECKOUT LMMS_EVAL_CHECKOUT

prints the names that are unknown here, and writes three files: `names_elsewhere.tsv` beside this one,
`tests/models/names_elsewhere.tsv`, and `docs/data/known_elsewhere.json`, from which docs/generate.py makes
docs/known-elsewhere.md. The checkouts are read, never run: names stand in class bodies and in YAML files.

Columns of benchmarks: the tool, the name, how the question is asked there (the type of question and `ranking` or
`generation`), the split or data, and the benchmark that the name means here with its options: empty where there is
none, `none: ` and the reason for a table that is fetched by hand, `bridge: ` and the names by which the tool's own
code is run. Of models: the tool, the name, and the model that it
opens here, or `none: ` and the reason.
"""

from __future__ import annotations

import ast
import csv
import datetime
import functools
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snellen.benchmarks.declaration.peers import known_elsewhere
from snellen.benchmarks.declaration.registry import builtin_suites, open_benchmark
from snellen.core.errors import NotHere, UsageError
from snellen.models.naming.catalog import find_entry, find_other_name
from snellen.models.naming.registry import is_provider

TARGET = Path(__file__).with_name("names_elsewhere.tsv")
MODELS = Path(__file__).parents[1] / "models" / "names_elsewhere.tsv"
PAGE_DATA = Path(__file__).parents[2] / "docs" / "data" / "known_elsewhere.json"
COLUMNS = ("tool", "name", "asks", "data", "here")
MODEL_COLUMNS = ("tool", "name", "here")
NONE, SUITE, BRIDGE = "none: ", "suite ", "bridge: "
_TABLES = ("DATASET_URL", "DATASET_URL_MODELSCOPE", "DATASET_SETS", "DATASET_FILES")


class Elsewhere(NamedTuple):
    tool: str
    name: str
    asks: str
    data: str
    family: str = ""
    """The class or folder that has it there."""


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
                    dataset = next((ast.unparse(one.value) for one in value.keywords if one.arg == "dataset"), "")
                    family = dataset.strip("'") or ast.unparse(value.args[0] if value.args else value.func)
                    yield Elsewhere("VLMEvalKit", str(key.value), "generation: video", how, family)


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
        yield Elsewhere("VLMEvalKit", name, f"generation: {kind or body.name}", data, _family(name, body.name))


def _of_table(node: ast.stmt, kind: str) -> Iterator[Elsewhere]:
    """Names in a table of addresses that no class body holds."""
    table = getattr(node, "value", None)
    if isinstance(table, ast.Dict):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                data = str(value.value).rsplit("/", 1)[-1]
                yield Elsewhere("VLMEvalKit", str(key.value), f"generation: {kind}", data, _family(str(key.value), ""))


_SHARED_CLASSES = ("ImageMCQDataset", "ImageYORNDataset", "ImageVQADataset", "TextMCQDataset", "VideoMCQDataset", "")


def _family(name: str, owner: str) -> str:
    """The benchmark of a name: the class, or for classes of many benchmarks the name without its split."""
    if owner not in _SHARED_CLASSES:
        return owner
    return name.split("_")[0].removesuffix("-mini")


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

    tasks_folder = checkout / "lmms_eval" / "tasks"
    for path in sorted(tasks_folder.rglob("*.y*ml")):
        read, family = load(path), path.relative_to(tasks_folder).parts[0]
        if isinstance(read.get("task"), str):
            ranked = read.get("output_type") in ("multiple_choice", "loglikelihood")
            split = read.get("test_split") or read.get("validation_split") or ""
            where = [str(read.get(key) or "") for key in ("dataset_path", "dataset_name")]
            data = " ".join(filter(None, (*where, str(split))))
            yield Elsewhere("lmms-eval", read["task"], "ranking" if ranked else "generation", data, family)
        if isinstance(read.get("group"), str):
            tasks = read.get("task") or ()
            every = [tasks] if isinstance(tasks, str) else tasks
            members = [str(one) for one in every if not isinstance(one, dict)]
            told = ", ".join(members[:12]) + (" ..." if len(members) > 12 else "")
            yield Elsewhere("lmms-eval", read["group"], "group", told, family)


opened = functools.cache(open_benchmark)


def here(name: str) -> str:
    """The benchmark that a name means here, with the options that the name sets."""
    if name.lower() in builtin_suites():
        return f"{SUITE}{name.lower()}"
    try:
        made = opened(name)
    except NotHere as error:
        return f"{NONE}{error}"
    except UsageError as error:
        tasks = " or ".join(f"{peer}/{task}" for peer, task in known_elsewhere(name).items())
        if not tasks and "unknown" not in str(error):
            raise
        return f"{BRIDGE}{tasks}" if tasks else ""
    plain = opened(made.name).parameters
    told = {key: value for key, value in made.parameters.items() if plain.get(key) != value}
    kept = ",".join(f"{key}={told[key]}" for key in sorted(told) if not key.endswith("_digest"))
    return f"{made.name}:{kept}" if kept else made.name


def models_of_vlmevalkit(checkout: Path) -> Iterator[str]:
    """The keys of the tables in its configuration whose values make a model."""
    tree = ast.parse((checkout / "vlmeval" / "config.py").read_text(encoding="utf-8"))
    for table in _tables(tree):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Call):
                yield str(key.value)


def models_of_lmms_eval(checkout: Path) -> Iterator[str]:
    """Its types of models, and their other names."""
    tree = ast.parse((checkout / "lmms_eval" / "models" / "__init__.py").read_text(encoding="utf-8"))
    for table in _tables(tree):
        for key, value in zip(table.keys, table.values, strict=True):
            yield str(getattr(key, "value", ""))
            if isinstance(value, ast.Tuple):
                yield from (str(one.value) for one in value.elts if isinstance(one, ast.Constant))


def _tables(tree: ast.Module) -> Iterator[ast.Dict]:
    """The dictionaries that are assigned at the top of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            yield node.value


def model_here(name: str) -> str:
    """The model that a name opens here, or `none: ` and the reason; empty for an unknown name."""
    entry, other = find_entry(name), find_other_name(name)
    if entry is not None:
        return entry.spec
    if is_provider(name):
        return f"{name}/<model>"
    return f"{NONE}{other.sentence(name)}" if other is not None else ""


def summary(checkout: Path, rows: Iterable[tuple[Elsewhere, str]], models: Mapping[str, str]) -> dict[str, Any]:
    """What the page says of one tool: how many names are known here, and which are not."""
    families = dict[str, list[int]]()
    for row, meant in rows:
        kind = 1 if meant.startswith(BRIDGE) else 2 if not meant or meant.startswith(NONE) else 0
        families.setdefault(row.family or row.name, [0, 0, 0])[kind] += 1
    show = ["git", "-C", str(checkout), "show", "-s", "--format=%H %cs"]
    commit, date = subprocess.run(show, check=True, capture_output=True, text=True).stdout.split()
    return {
        "commit": commit,
        "commit_date": date,
        # Names of Snellen's own, names over the bridge alone, and unknown ones, by benchmark.
        "benchmarks": {name: " ".join(map(str, families[name])) for name in sorted(families, key=str.lower)},
        "models": len(models),
        "models_without_reason": sorted(name for name, meant in models.items() if not meant),
        "models_with_reason": {
            name: meant.removeprefix(NONE) for name, meant in models.items() if meant.startswith(NONE)
        },
    }


def write_table(target: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def main(vlmevalkit: str, lmms_eval: str) -> None:
    checkouts = {"VLMEvalKit": Path(vlmevalkit), "lmms-eval": Path(lmms_eval)}
    rows = dict[tuple[str, str], Elsewhere]()
    for one in (*of_vlmevalkit(Path(vlmevalkit)), *of_lmms_eval(Path(lmms_eval))):
        known = rows.setdefault((one.tool, one.name), one)
        if not known.data and one.data:
            rows[one.tool, one.name] = one
    meant = {key: here(rows[key].name) for key in sorted(rows)}
    write_table(TARGET, COLUMNS, [(*rows[key][:4], meant[key]) for key in meant])
    models = {
        "VLMEvalKit": {name: model_here(name) for name in sorted(models_of_vlmevalkit(Path(vlmevalkit)))},
        "lmms-eval": {name: model_here(name) for name in sorted(models_of_lmms_eval(Path(lmms_eval)))},
    }
    write_table(MODELS, MODEL_COLUMNS, [(tool, *row) for tool, named in models.items() for row in named.items()])
    told = {
        tool: summary(path, [(rows[key], meant[key]) for key in meant if key[0] == tool], models[tool])
        for tool, path in checkouts.items()
    }
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    PAGE_DATA.write_text(json.dumps({"read": day, "tools": told}, indent=1) + "\n", encoding="utf-8")
    for tool, read in told.items():
        names = [name for (of, name), here_ in meant.items() if of == tool and not here_]
        print(f"{tool} {read['commit'][:8]}: {len(names)} names of benchmarks are unknown here: {', '.join(names)}")
        print(f"{tool}: names of models that are unknown here: {', '.join(read['models_without_reason']) or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
