"""Mail, out and in."""
