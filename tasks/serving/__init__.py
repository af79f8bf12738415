"""Model servers: vLLM as a process, and our CPU server."""
