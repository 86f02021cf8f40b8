"""The fourteen subtasks of MMT-Bench's visual referring (Appendix D.3), and what each needs to be
asked with clean pictures: the data sets that its pictures were taken from, by its authors' code
(github.com/KainingYing/data_process, commit 7bcdd852)."""

from __future__ import annotations

from typing import NamedTuple


class ReferringSubtask(NamedTuple):
    """What a subtask is made of."""

    name: str
    sources: tuple[tuple[str, str], ...]
    """Data sets, and the layout (`LAYOUTS`) in which each is read."""
    marks: str
    """What its published pictures have drawn in."""
    note: str = ""
    """What else there is to know, or why it cannot be converted."""


SUBTASKS: tuple[ReferringSubtask, ...] = (
    ReferringSubtask(
        "human_interaction_understanding",
        (("HICO-DET, pictures with one interaction of two people", "hico"), ("BIT-Interaction, its frames", "csv")),
        "both people, red",
    ),
    ReferringSubtask(
        "social_relation_recognition",
        (("Interpersonal Relation (Zhang et al. 2015), testing.txt", "faces"),),
        "both faces, green",
    ),
    ReferringSubtask(
        "human_object_interaction_recognition",
        (("HICO-DET, test_hico.json and test2015", "hico"),),
        "the person red, the object green",
    ),
    ReferringSubtask(
        "animal_keypoint_detection",
        (("AP-10K", "coco"), ("Animal Kingdom, pose estimation", "csv")),
        "the animal, red",
        "Animal Kingdom has points and no boxes: a CSV of the boxes around them",
    ),
    ReferringSubtask("vehicle_keypoint_detection", (("CarFusion, as in MP-100", "coco"),), "the vehicle, red"),
    ReferringSubtask(
        "human_keypoint_detection",
        (("COCO person keypoints, val2017", "coco"), ("MPII Human Pose", "csv")),
        "the person, red",
        "MPII has points and no boxes: a CSV of the boxes around them",
    ),
    ReferringSubtask(
        "clothes_keypoint_detection",
        (("DeepFashion, as in MP-100", "coco"), ("DeepFashion2, as in MP-100", "coco")),
        "the garment, red",
    ),
    ReferringSubtask(
        "scene_text_recognition",
        (("ICDAR 2013 focused scene text", "csv"),),
        "the word, red",
        "half of its questions (IIIT5K) are pictures of one word, without a mark",
    ),
    ReferringSubtask(
        "interactive_segmentation",
        (("not told: the authors' code of this subtask is empty", "csv"),),
        "a mark inside of the object",
        "needs a CSV of its own, linked by hand",
    ),
    ReferringSubtask(
        "instance_captioning",
        (("Visual Genome, regions", "visual-genome"), ("RefCOCOg, COCO train2014", "coco")),
        "the region, red",
    ),
    ReferringSubtask(
        "multiple_instance_captioning",
        (("Flickr30k Entities, final_flickr_mergedGT_val.json of MDETR", "coco"),),
        "the regions, red",
    ),
    ReferringSubtask(
        "one_shot_detection",
        (("FSS-1000", "csv"), ("PACO-Part, COCO val2017", "csv")),
        "the object of the support picture",
        "both have masks: a CSV of the boxes around them",
    ),
    ReferringSubtask(
        "single_object_tracking",
        (("YouTube-VIS 2019", "csv"), ("OVIS", "csv")),
        "nothing: the question has the corners in its text",
        "there is no mark to take out of the pictures; link the boxes by hand",
    ),
    ReferringSubtask(
        "counting_by_visual_prompting",
        (("FSC-147, annotation_FSC147_384.json and images_384_VarV2", "fsc147"),),
        "the example objects, green",
    ),
)
"""In the paper's order."""
