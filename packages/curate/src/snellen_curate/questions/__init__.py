"""Questions from images and videos, as SEED-Bench was made (SEED-Bench-H, Sec. 3.3 and 3.4):
extract what is to be seen as text, have a language model write questions of it, check them."""
