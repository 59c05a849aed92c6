"""The browser SDK, under its own path and under the paths of other services."""

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.http.static_files import StaticFiles, read_file, serve_found


async def read_sdk(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read the browser SDK; with `?compat=`, the SDK with the API of another service."""
    # Packages that append their own query send `?compat=recaptcha?render=explicit`.
    is_compat = b"compat=" in call.request.query_string
    return await (read_drop_in if is_compat else read_file)(call, static)


async def read_drop_in(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read the SDK with the API of another service, under that service's path."""
    return serve_found(call, static.find("/sdk/v1/drop-in.js"))


async def read_language(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read the SDK's strings in one language."""
    return await read_file(call, static)
