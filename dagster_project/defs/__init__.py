"""What the project consists of."""
