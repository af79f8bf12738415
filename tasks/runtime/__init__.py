"""The execution contract: interpreters of one episode, in a sandbox, with a lifetime of bindings."""
