"""python -m springload: the binary itself, with these arguments."""

from __future__ import annotations

import os
import sys

from springload import find_springload_bin


def main() -> None:
    """Becomes the binary, with its exit status."""
    try:
        program = find_springload_bin()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    sys.stdout.flush()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
