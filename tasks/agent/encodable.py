"""Text from models and agent code, made fit for files and requests."""

from carryover.tasks.runtime.protocol import BlockResult


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def encodable_result(result: BlockResult) -> BlockResult:
    """Return the result with every text that a block can shape made encodable."""
    error = result.error
    return result._replace(
        output=encodable(result.output),
        result=None if result.result is None else encodable(result.result),
        error=None if error is None else error._replace(type=encodable(error.type), message=encodable(error.message)),
        tool_calls=tuple(
            call if call.error_message is None else call._replace(error_message=encodable(call.error_message))
            for call in result.tool_calls
        ),
    )
