"""Fault runs: what the server promises, while processes, disks and relays fail."""
