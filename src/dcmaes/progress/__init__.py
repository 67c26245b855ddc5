"""How far a run is, in a line, in a terminal or in a notebook."""
