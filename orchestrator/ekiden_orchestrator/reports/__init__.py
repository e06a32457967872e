"""Reports: figures as pages and pictures."""
