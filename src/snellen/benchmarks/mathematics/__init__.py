"""Mathematics and logic in pictures."""
