"""What is asked of a store: counts, trees, pairs, samples, choices, comparisons, SQL."""
