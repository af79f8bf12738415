# pyright: reportMissingImports=false
"""A small server of the `mcp` package: `stdio`, or `http PORT`."""

import os
import sys
from typing import Literal

try:
    from mcp.server.mcpserver import Image, MCPServer
except ImportError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp import Image

TRANSPORT, *PORT = sys.argv[1:]
IS_FIRST = not hasattr(MCPServer, "session_manager") or MCPServer.__name__ == "FastMCP"
server = MCPServer("shop", **({"port": int(PORT[0])} if PORT and IS_FIRST else {}))
STOCK = {"tea": 3, "lamp": 12}


@server.tool()
def read_stock() -> dict[str, int]:
    """Return the pieces in stock by product."""
    return STOCK


@server.tool(name="restock-product")
def restock(product: Literal["tea", "lamp"], count: int = 1) -> int:
    """Add pieces to the stock; returns the pieces after it."""
    STOCK[product] += count
    return STOCK[product]


@server.tool()
def greet(name: str) -> str:
    """Return a greeting."""
    return f"Hello {name}"


@server.tool()
def mean(numbers: list[float]) -> float:
    """Return the mean of numbers."""
    return sum(numbers) / len(numbers)


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def leave() -> str:
    """End the server's process."""
    os._exit(3)


if TRANSPORT == "stdio":
    server.run("stdio")
elif IS_FIRST:
    server.run("streamable-http")
else:
    server.run("streamable-http", port=int(PORT[0]))
