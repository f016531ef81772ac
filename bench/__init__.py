"""Benchmarks: what the server costs, beside a peer or a bar, with the results checked."""
