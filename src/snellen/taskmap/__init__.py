"""The task map of MMT-Bench (Sec. 5): tasks as vectors, their distances and clusters, and how they
relate to the scores of models.

Its plots are in `report.plots`, its tables in `report.documents.taskmap`, the LoRA training of one
vector in `models.hf.lora`.
"""
