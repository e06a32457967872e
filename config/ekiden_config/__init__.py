"""Settings: what can be configured, from where it is read, and in which order."""
