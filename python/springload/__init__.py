"""springload, a benchmark and load tester for CouchDB and other databases.

The program itself is the binary that this package installs beside Python's own; here is only how
to find it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

__all__ = ["find_springload_bin"]


def find_springload_bin() -> str:
    """The path of the binary: the one that SPRINGLOAD_BIN names, or the one installed with this.

    Raises FileNotFoundError where there is none.
    """
    named = os.environ.get("SPRINGLOAD_BIN")
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"SPRINGLOAD_BIN names {named}, which is no file")
        return named
    name = "springload" + (sysconfig.get_config_var("EXE") or "")
    # pip install --target puts programs into a folder `bin` beside the package.
    beside = Path(__file__).resolve().parent.parent
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", vars={"base": sys.base_prefix}),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
        str(beside / "bin"),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    tried = ", ".join(dict.fromkeys(folders))
    raise FileNotFoundError(
        f"no program {name} in {tried}: install the package, pip install . in springload's folder, "
        "or name the program in SPRINGLOAD_BIN"
    )
