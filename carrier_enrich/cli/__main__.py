"""``python -m carrier_enrich.cli``: the command line, where its script is not on the path."""

from carrier_enrich.cli import main

main()
