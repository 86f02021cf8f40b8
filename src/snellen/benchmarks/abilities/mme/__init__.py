"""MME. The benchmark, its subtasks, its scores and its 16 leaderboards."""
