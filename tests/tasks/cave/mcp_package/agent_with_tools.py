"""An agent calls a server's tools; prints what it saw as JSON. Arguments: the server's command or address."""

import json
import sys

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.mcp_server import McpServer
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.runtime.session import session
from carryover.tasks.services.errors import UserError

target = sys.argv[1] if len(sys.argv) == 2 else sys.argv[1:]
code = r"""
stock = read_stock()
for product, count in stock.items():
    if count < 10:
        stock[product] = restock_product(product, count=10 - count)
try:
    restock_product('rug')
except Exception as error:
    refusal = f"{type(error).__name__}: {error}"
greeting = greet(name='Ana')
average = mean([1, 2.5])
shown = picture()
"""
seen = {}
with McpServer(target) as server, Agent(scripted(block(code), "Restocked.")) as agent:
    seen["functions"] = list(server.functions)
    server.inject(agent)
    agent.ask("Bring every product up to ten.")
    for name in ("stock", "greeting", "average"):
        seen[name] = agent.retrieve(name)
    seen["refusal"] = agent.retrieve("refusal")[:300]
    seen["shown"] = list(agent.retrieve("shown"))
    seen["prompt"] = agent.text.messages()[0].content
    with session("stateless") as other:
        server.inject(other, only=["greet"], prefix="shop_")
        seen["stateless"] = other.run("shop_greet('Bo')").result
    if isinstance(target, list):
        with session() as other:
            server.inject(other)
            for name, call in (("after the server's end", "leave()"), ("once more", "greet('Bo')")):
                error = other.run(call).error
                assert error is not None
                seen[name] = error.message[-300:]
try:
    McpServer([sys.executable, "-c", "print('no server')"], timeout_seconds=20)
except UserError as error:
    seen["no server"] = str(error)
print(json.dumps(seen))
