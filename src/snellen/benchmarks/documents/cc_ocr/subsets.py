"""The 39 subsets of CC-OCR with their files, and other tools' names of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.benchmarks.declaration.published import HubSplit, PublishedFile, published_tsv
from snellen.data.download import RemoteFile

ALL = "all"
PART = "part"
TRACK = "category"
TASK = "l2-category"
SUBSET = "subset"
SCENE, LANGUAGES, DOCUMENTS, FIELDS = "multi_scene_ocr", "multi_lan_ocr", "doc_parsing", "kie"
TRACKS = (SCENE, LANGUAGES, DOCUMENTS, FIELDS)
SUBSET_COUNT = 39

_HOSTS = (
    "https://huggingface.co/datasets/wulipc/CC-OCR/resolve/main/",
    "https://www.modelscope.cn/datasets/Qwen/CC-OCR/resolve/master/",
)


class SubsetFile(NamedTuple):
    """One of the files. The value of `part` is its path without the number of pictures."""

    part: str
    pictures: int
    name: str
    """In VLMEvalKit, without the prefix."""
    md5: str


_SUBSETS = (
    SubsetFile("doc_parsing/doc/doc_photo_chn", 75, "DocParsing_DocPhotoChn", "9039dcbb31830d413261a95cfa29d97f"),
    SubsetFile("doc_parsing/doc/doc_photo_eng", 75, "DocParsing_DocPhotoEng", "2ca0824881e1d7317626f2a19d902989"),
    SubsetFile("doc_parsing/doc/doc_scan_chn", 75, "DocParsing_DocScanChn", "9e265c8aa760ebdf5c3bf9e892d55492"),
    SubsetFile("doc_parsing/doc/doc_scan_eng", 75, "DocParsing_DocScanEng", "77d04637be3def86dbc2ce37ba64a704"),
    SubsetFile("doc_parsing/table/table_photo_chn", 75, "DocParsing_TablePhotoChn", "c4dc85252ddad2b43a03a67b1d1ae983"),
    SubsetFile("doc_parsing/table/table_photo_eng", 75, "DocParsing_TablePhotoEng", "02ab75d6169da0cd2ece9ce0ae14a479"),
    SubsetFile("doc_parsing/table/table_scan_chn", 75, "DocParsing_TableScanChn", "f1f79959fdd01127df7377c9d46722f2"),
    SubsetFile("doc_parsing/table/table_scan_eng", 75, "DocParsing_TableScanEng", "794903c7acf52bfe956eefba2166d14b"),
    SubsetFile(
        "doc_parsing/molecular/molecular_handwriting",
        100,
        "DocParsing_MolecularHandwriting",
        "30b7f7679b713ce000a939eca7b4078f",
    ),
    SubsetFile(
        "doc_parsing/formula/formula_handwriting",
        100,
        "DocParsing_FormulaHandwriting",
        "e03047776ce5e79a61ae1c057e2a348e",
    ),
    SubsetFile("kie/constrained_category/sroie2019_word", 347, "Kie_Sroie2019Word", "3287d99a8e86a99b74171fa5a70f9acb"),
    SubsetFile("kie/constrained_category/CORD", 100, "Kie_Cord", "ab297cadcbc7158884a301c366f3330a"),
    SubsetFile("kie/constrained_category/EPHOIE_SCUT", 311, "Kie_EphoieScut", "bb8fa3ba7ea91cbf17be0904956ad3f3"),
    SubsetFile("kie/constrained_category/POIE", 250, "Kie_Poie", "882b64317989ecbfed6518051cdffb14"),
    SubsetFile("kie/open_category/COLD_SIBR", 400, "Kie_ColdSibr", "109d5dad8b7081fb6a2f088e963196d4"),
    SubsetFile("kie/open_category/COLD_CELL", 600, "Kie_ColdCell", "7b44c45b4d7d768d1dbdc08872fe7d3a"),
    *(
        SubsetFile(f"multi_lan_ocr/{language}/{language}", 150, f"MultiLanOcr_{language}", md5)
        for language, md5 in (
            ("Arabic", "e9a3f2bb9298d0b882ebc7a98980c3f3"),
            ("French", "729407ed2036c22e602eff645eddd40c"),
            ("German", "96fc2edae747f0ec95b0a6f9bf723022"),
            ("Italian", "29a508fa5d5a5e767497dd69e2430ebb"),
            ("Japanese", "bbcca96ccf25fff63597c2ab4f3ebb1f"),
            ("Korean", "0f55dbd24eba5edc189c91e124411641"),
            ("Portuguese", "a6fcf8831775a61aa631c0cf1c422ae7"),
            ("Russian", "19d2f84062a1699d3e9333912bd6b303"),
            ("Spanish", "f5a0cfa9f2ae4115c91c7b362034e591"),
            ("Vietnamese", "bf1cd4e83d91767f4906f81550cec8b9"),
        )
    ),
    SubsetFile("multi_scene_ocr/document_text/CORD", 100, "MultiSceneOcr_Cord", "92943f0ccb4c5a196c574222e76759a0"),
    SubsetFile("multi_scene_ocr/document_text/FUNSD", 50, "MultiSceneOcr_Funsd", "229cc38d193edd00f4383610e98ee873"),
    SubsetFile("multi_scene_ocr/document_text/IAM", 50, "MultiSceneOcr_Iam", "d897a6d6c3880c65e752ec11b211204c"),
    SubsetFile("multi_scene_ocr/document_text/zh_doc", 100, "MultiSceneOcr_ZhDoc", "303682cc16c8bb51b2b896f8ceb8bd38"),
    SubsetFile(
        "multi_scene_ocr/document_text/zh_handwriting",
        50,
        "MultiSceneOcr_ZhHandwriting",
        "faa298d366bc05e5cfb39e334afb8eff",
    ),
    SubsetFile(
        "multi_scene_ocr/scene_text/Hieragent", 100, "MultiSceneOcr_Hieragent", "6f132cdd0473d7cc145c3e3a08957dd6"
    ),
    SubsetFile("multi_scene_ocr/scene_text/IC15", 500, "MultiSceneOcr_Ic15", "3d94869f312a41d53d0578a06a2fb1f2"),
    SubsetFile(
        "multi_scene_ocr/scene_text/InverseText", 500, "MultiSceneOcr_Inversetext", "e141d424a0c4cf9579064428a270f13d"
    ),
    SubsetFile(
        "multi_scene_ocr/scene_text/TotalText", 300, "MultiSceneOcr_Totaltext", "ca1daf81d49eeb57ef844b72a23c2e62"
    ),
    SubsetFile("multi_scene_ocr/scene_text/zh_scene", 450, "MultiSceneOcr_ZhScene", "9295152a66e6f117db8bfbb20a9013e6"),
    SubsetFile("multi_scene_ocr/ugc_text/ugc_laion", 400, "MultiSceneOcr_UgcLaion", "8e9ea1fbf9d56532157e807eabf39b21"),
    SubsetFile("multi_scene_ocr/ugc_text/zh_dense", 50, "MultiSceneOcr_ZhDense", "de8f48ee0c8a2cf8ed7f2b3a81e6322d"),
    SubsetFile(
        "multi_scene_ocr/ugc_text/zh_vertical", 100, "MultiSceneOcr_ZhVertical", "4892b4aec6e7fd11e39aaea23712709b"
    ),
)

PARTS = (ALL, *TRACKS, *(subset.part for subset in _SUBSETS))
"""Values of the option: all subsets in one file, the data set of a track, or a subset's file."""


def subset_files() -> dict[tuple[str, ...], PublishedFile | HubSplit]:
    """The file or data set of each value of `part`."""
    everything = published_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/CCOCR.tsv", "f8927b76510ffe04e59d45e3f8e8b620"
    )
    return {
        (ALL,): everything,
        **{(track,): HubSplit(f"hf://wulipc/CC-OCR?config={track}&split=test") for track in TRACKS},
        **{(subset.part,): _file(subset) for subset in _SUBSETS},
    }


def _file(subset: SubsetFile) -> PublishedFile:
    path = f"{subset.part}_{subset.pictures}.tsv"
    # Two subsets have a file CORD_100.tsv, so files have VLMEvalKit's names here, as in its folder.
    urls = tuple(f"{host}{path}" for host in _HOSTS)
    return PublishedFile(f"CCOCR_{subset.name}.tsv", RemoteFile(urls=urls, md5=subset.md5))


def names_elsewhere() -> dict[str, Mapping[str, str]]:
    """VLMEvalKit's and lmms-eval's names, each with the options that it means."""
    return {
        "CCOCR": {PART: ALL},
        "cc_ocr": {PART: ALL},
        **{f"cc_ocr_{track}": {PART: track} for track in TRACKS},
        **{f"CCOCR_{subset.name}": {PART: subset.part} for subset in _SUBSETS},
    }
