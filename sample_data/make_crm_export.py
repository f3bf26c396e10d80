"""Write the sample CRM exports beside this file, or into the folder given.

    python sample_data/make_crm_export.py [FOLDER]

`crm_export.parquet` has 6,000 rows, `crm_export_small.csv` 200. Running it again changes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from carrier_enrich.files import write_table
from carrier_enrich.sandbox.crm_export import crm_export

ROWS = {"crm_export.parquet": 6_000, "crm_export_small.csv": 200}


def main(folder: Path) -> None:
    """Write every sample into a folder."""
    for name, rows in ROWS.items():
        write_table(crm_export(rows), folder / name)
        print(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
