"""Caption metrics of the COCO evaluation.

BLEU, METEOR, ROUGE-L and CIDEr over one tokenisation; the benchmark that reports them is
`benchmarks.coco_caption`.
"""
