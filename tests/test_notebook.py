"""The notebook of the sample runs from a CSV to a chart, and costs nothing the second time."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "sample_data" / "enrich_crm.ipynb"


def test_the_notebook_runs_from_csv_to_chart():
    """Every cell runs afresh; plan and receipt come as tables, the chart as a picture."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert len(notebook.cells) <= 11
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": NOTEBOOK.parent}},
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count("text/html") >= 4
    assert "image/png" in kinds
    assert outputs[-1]["data"]["text/plain"] == "(0, {})"


def test_the_notebook_is_kept_with_its_outputs():
    """Whoever only looks sees plan, receipt and chart, and no path or address of a machine."""
    text = NOTEBOOK.read_text()
    assert "image/png" in text
    assert "127.0.0.1" not in text
    assert "/home/" not in text
