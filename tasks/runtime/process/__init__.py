"""The host's side of one process of the sandbox: talking to it, watching it, ending it."""
