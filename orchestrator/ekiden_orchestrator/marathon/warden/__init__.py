"""The warden: a small process of its own that starts a solver, confines it, and outlives it.

It uses the standard library alone and starts in a few hundredths of a second. Whatever happens to the runner, the
warden notices (its standard input closes) and leaves no process behind.
"""
