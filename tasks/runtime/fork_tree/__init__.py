"""The default backend: a tree of forked interpreters, one root per episode, grown from an exec'd zygote."""
