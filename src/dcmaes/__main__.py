"""``python -m dcmaes`` does what the command ``dcmaes`` does."""

from dcmaes.cli import main

if __name__ == "__main__":
    main(prog_name="dcmaes")
