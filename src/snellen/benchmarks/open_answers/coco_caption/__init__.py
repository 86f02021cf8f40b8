"""COCO Caption. The benchmark, and the metrics of a whole set of captions."""
