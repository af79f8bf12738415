"""The host's side of a sandbox process: messages, watching, and its end."""
