"""The single questions of public splits: how they are stored and searched, what each submission
replied, what changed between versions, and what readers hold to be wrong."""
