"""Model servers: vLLM as a managed process, and a CPU server of our own."""
