"""The command line, the run log, the marathon and its reports."""
