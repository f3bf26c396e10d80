"""Carrier, line type and region beside every phone number, paid for once."""
