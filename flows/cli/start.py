"""Entry point of the `carryover` command.

An interrupt while it loads is one line too.
"""

import sys


def run() -> None:
    """Run the command and exit."""
    try:
        from carryover.flows.cli.main import app

        app(prog_name="carryover")
    except KeyboardInterrupt:
        print("carryover: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
