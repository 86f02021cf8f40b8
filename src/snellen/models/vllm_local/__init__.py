"""`vllm-local/<hub id or folder>`: checkpoints answered by vLLM's engine inside this process."""
