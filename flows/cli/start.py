"""The `carryover` command from its first moment on: what interrupts it, also while it loads, is told in one line."""

import sys

INTERRUPTED = 130
"""Exit code of a command that was interrupted from the keyboard."""


def run() -> None:
    """Run the command."""
    try:
        from carryover.flows.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(_say_stopped())
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # Typer turns an interrupt into an exit code
            _say_stopped()
        raise


def _say_stopped() -> int:
    print("carryover: stopped", file=sys.stderr)
    return INTERRUPTED


if __name__ == "__main__":
    run()
