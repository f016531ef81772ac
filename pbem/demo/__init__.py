"""The demo: a mailbox of its own beside the server, so that a game can be tried at once."""
