"""The demonstration: the whole job in one process."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from carrier_enrich.dagster import run_demo
from carrier_enrich.errors import CarrierEnrichError
from carrier_enrich.files import read_table, write_table
from carrier_enrich.sandbox.crm_export import crm_export


def test_the_demo_enriches_a_given_file_and_tells_what_it_did(tmp_path, capfd):
    """Its figures agree with the file it wrote, and Dagster's log does not drown them."""
    source = tmp_path / "mine.csv"
    write_table(crm_export(300), source)
    told: list[str] = []
    result = run_demo(source=source, folder=tmp_path / "out", report=told.append)

    out = pq.read_table(result.file)
    given = read_table(source)
    assert out.num_rows == result.rows == 300
    assert out.select(given.column_names).equals(given)
    assert all(result.checks.values())
    assert sum(result.cells_by_status.values()) == 600
    assert result.charged == result.receipt["charged_micros"] > 0
    assert list(result.carriers.values()) == sorted(result.carriers.values(), reverse=True)
    assert len(told) == 1
    assert "mine.csv" in told[0]
    captured = capfd.readouterr()
    assert "STEP_START" not in captured.out + captured.err


def test_a_file_that_can_not_be_used_is_one_clear_error(tmp_path):
    """The demo raises what the asset has met, with the asset's name."""
    source = tmp_path / "other.csv"
    source.write_text("name,fax\nA,1\n")
    with pytest.raises(CarrierEnrichError, match=r"lookup_plan.*there is no column 'mobile'"):
        run_demo(source=source, folder=tmp_path / "out", report=lambda _: None)
