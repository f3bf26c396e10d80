"""Spark Connect, on a machine without Java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

import carrier_enrich as ce
from carrier_enrich.sandbox.crm_export import crm_export

#: What the scripts that start Spark call.
TOOLS = (
    "basename bash cat chmod dirname env expr grep hostname id ls mkdir nice ps readlink rm sed sh "
    "sleep tr uname which"
)


def test_over_connect_without_a_java_on_the_machine(make_settings, sandbox, tmp_path):
    """A Connect session gives the answers of a table, on the Java that the extra brings."""
    source, target = tmp_path / "crm.parquet", tmp_path / "out.parquet"
    table = crm_export(600)
    pq.write_table(table, source)
    asked = {"phone": ["mobile", "office_phone"], "country_column": "country"}
    settings = make_settings("connect")
    wanted = ce.enrich(table, **asked, settings=settings)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS.split():
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    given = {
        **asked,
        "source": str(source),
        "target": str(target),
        "settings": {
            "base_url": sandbox.base_url,
            "api_key": sandbox.api_key,
            "ledger": settings.ledger,
        },
    }
    environ = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environ |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    script = Path(__file__).with_name("connected.py")
    ran = subprocess.run(
        [sys.executable, script, json.dumps(given)],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["session"].startswith("pyspark.sql.connect")
    assert (said["rows"], said["bought"], said["adds_up"]) == (600, 0, True)
    assert (tmp_path / "carrier-enrich" / "java" / "bin" / "java").exists()
    out = pq.read_table(target).sort_by("contact_id").to_pylist()
    assert out == wanted.sort_by("contact_id").to_pylist()
