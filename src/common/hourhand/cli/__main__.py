"""``python -m hourhand.cli``: the command, where its script is not on the path."""

from hourhand.cli.entry import run

if __name__ == "__main__":
    run()
