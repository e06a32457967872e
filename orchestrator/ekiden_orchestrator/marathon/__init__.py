"""The marathon: run a solver over a batch of problems under limits, judge its answers, report.

This file stays empty of imports: the warden starts from this package with the standard library alone.
"""
