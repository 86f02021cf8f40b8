"""What a picture shows: objects, places, quality, and what is not there."""
