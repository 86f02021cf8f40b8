"""Clean pictures and boxes for questions whose published pictures have the boxes drawn in."""
