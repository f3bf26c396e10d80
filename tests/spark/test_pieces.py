"""The pieces that need no Spark: keys, packed rows, the spool, and the machine's Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from carrier_enrich.spark import executors
from carrier_enrich.spark.spool import Spool


def test_a_key_is_a_number_or_why_there_is_none():
    """Cells become their number, or 0 where empty, or -1 where they can't be a number."""
    cells = pa.array(["+1 415 555 0123", None, " ", "junk", "020 7946 0018"])
    homes = pa.array([None, "GB", "GB", "GB", "United Kingdom"])
    keys = executors.keys_of(cells, homes, None)
    assert keys.tolist() == [14155550123, 0, 0, -1, 442079460018]
    assert executors.keys_of(cells, None, "US").tolist()[-1] != 442079460018


@pytest.mark.parametrize("sizes", [[], [3], [200_000, 1, 100_000, 400_000]])
def test_packed_numbers_come_out_again(sizes):
    """Keys packed from batches of any size are all there, once, ascending in each row."""
    chance = np.random.default_rng(5)
    keys = chance.permutation(sum(sizes)).astype(np.int64)
    parts = np.split(keys, np.cumsum(sizes)[:-1]) if sizes else []
    batches = [pa.record_batch({"number": part, "cells": part + 1}) for part in parts]
    found = []
    for batch in executors.pack_keys(batches):
        for row in batch.to_pylist():
            numbers, cells = (np.frombuffer(row[name], "<i8") for name in ("numbers", "cells"))
            assert (np.diff(numbers) > 0).all()
            assert (cells == numbers + 1).all()
            found.append(numbers)
    assert np.array_equal(np.sort(np.concatenate([keys[:0], *found])), np.sort(keys))


def test_packed_answers_become_rows():
    """Rows of packed numbers and codes come out as one row for each number."""
    numbers, codes = np.array([3, 5, 9]), np.array([1, 0, 1], np.int32)
    packed = executors.packed(numbers=numbers, codes=codes)
    (batch,) = executors.unpack_answers([packed])
    assert batch.to_pydict() == {"number": [3, 5, 9], "code": [1, 0, 1]}


def test_the_spool_gives_back_what_it_got(tmp_path):
    """Slices come back in their order, as often as they are asked for."""
    slices = [(np.arange(n), np.arange(n) * 2) for n in (4, 0, 1_000)]
    with Spool(tmp_path) as spool:
        for keys, cells in slices:
            spool.add(keys, cells)
        for _ in range(2):
            for (keys, cells), (own_keys, own_cells) in zip(spool, slices, strict=True):
                assert np.array_equal(keys, own_keys)
                assert np.array_equal(cells, own_cells)


def test_what_is_set_stays(tmp_path):
    """A JAVA_HOME and a Python that the user chose are not touched."""
    code = (
        "import os; from carrier_enrich.spark import set_up_local; set_up_local(); "
        "print(os.environ['JAVA_HOME'], os.environ['PYSPARK_PYTHON'])"
    )
    chosen = {**os.environ, "JAVA_HOME": str(tmp_path), "PYSPARK_PYTHON": "python3.99"}
    said = subprocess.run([sys.executable, "-c", code], env=chosen, capture_output=True, check=True)
    assert said.stdout.decode().split() == [str(tmp_path), "python3.99"]


def test_a_path_without_a_shell_is_completed(tmp_path):
    """Spark's scripts need bash: a path that lacks it keeps its folders, first, and gains bash."""
    code = (
        "import os, shutil; from carrier_enrich.spark import set_up_local; set_up_local(); "
        "print(os.environ['PATH'], shutil.which('bash'))"
    )
    chosen = {**os.environ, "PATH": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=chosen, capture_output=True, check=True)
    path, shell = said.stdout.decode().split()
    assert path.startswith(f"{tmp_path}{os.pathsep}")
    assert Path(shell).name == "bash"


def test_nothing_here_needs_a_spark_context():
    """Spark Connect has neither a context nor RDDs nor a JVM to reach into."""
    package = Path(executors.__file__).parent
    for path in package.glob("*.py"):
        text = path.read_text()
        assert not any(name in text for name in ("sparkContext", ".rdd", "_jvm", "_jdf")), path
