"""Files of any size, enriched in two passes with a bounded part of them in memory.

The first pass reads the phone columns only, and keeps the number of each cell in an unnamed
temporary file (8 bytes a cell). Between the passes the distinct numbers are looked up. The second
pass reads everything, puts the answers beside the rows, and writes.
"""

from carrier_enrich.streams.reading import Reading, reading
from carrier_enrich.streams.writing import Written, write

__all__ = ["Reading", "Written", "reading", "write"]
