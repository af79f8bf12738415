"""CaveAgent (arXiv 2601.01569): an agent whose memory is its interpreter, with objects in and objects out."""
