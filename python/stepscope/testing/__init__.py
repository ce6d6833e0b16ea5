"""Measures blocks of tests and compares them with saved runs, for the pytest plugin.

Nothing here imports pytest, and the engine is imported only for a comparison.
"""
