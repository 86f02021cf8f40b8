"""What one does from Python: `evaluate` models, `plan` it, `score` recorded predictions, compare
two backends, explain and report runs. No formula and no request is here: `analysis`, `engine` and
`report` have those, and `cli` only reads arguments and calls these functions. `snellen` itself
exports what users need.
"""
