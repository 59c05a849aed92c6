"""The command `agentgate mcp`."""

import sys
from typing import Annotated

import typer

from agentgate.server.cli.mcp.console_api import ConsoleApi
from agentgate.server.cli.mcp.server import McpServer


def mcp(
    url: Annotated[str, typer.Option("--url", help="AgentGate's public listener.")] = "http://127.0.0.1:8080",
    token: Annotated[
        str, typer.Option(envvar="AGENTGATE_API_TOKEN", help="An API token of the console; better in the environment.")
    ] = "",
) -> None:
    """Serve the console API to an MCP client over standard input and output: read traffic, draft and backtest rules.

    Nothing is changed without a yes of the person before the client.
    """
    McpServer(ConsoleApi(url, token), sys.stdin, sys.stdout).serve()
