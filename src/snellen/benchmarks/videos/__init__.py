"""Questions about videos, and descriptions of them."""
