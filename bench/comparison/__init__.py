"""Measures Stepscope beside other tools (`bench/compare`), and draws what was measured (`bench/draw`)."""
