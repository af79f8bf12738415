"""Model servers: vLLM as a process, and our own server.

Read `server.py` first: it opens the endpoint of a spec (`serving_spec.py`). `commands.py` has the command lines,
`process.py` and `supervisor.py` keep a server from outliving its starter. `cpu_server.py` is our server and `cpu/` its
inside: `cpu/model_engine.py` batches requests, `cpu/ragged.py` attends over rows of any length, `cpu/cache.py` keeps
conversations.

What must stay true: a seed gives one reply, alone and in any batch (`tests/tasks/serving/cpu/test_model_engine.py`); an
adapter is served as PEFT computes it (`cpu/test_models.py`).
"""
