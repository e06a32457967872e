"""The marathon: run a solver over a batch of problems under limits, judge its answers, report."""
