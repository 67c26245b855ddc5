"""``python -m dcmaes.cli``, where the script is not on the path."""

from dcmaes.cli import main

if __name__ == "__main__":
    main(prog_name="dcmaes")
