"""Experiment trackers that runs and curves are logged to: TensorBoard, Weights & Biases, MLflow."""
