"""The first hour on a GPU, in one resumable command: `make gpu MODEL=ORG/NAME`."""
