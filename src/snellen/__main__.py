"""`python -m snellen`."""

import sys

from snellen.cli import main

sys.exit(main())
