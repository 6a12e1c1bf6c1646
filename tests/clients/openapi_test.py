"""Lets schemathesis look for requests that the API does not answer as its description says. Argument: the document's address.

The token comes in the environment variable TOKEN. Ends with an error, and says what was wrong, if there was anything.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import schemathesis
from schemathesis.cli import schemathesis as command

CONFIGURATION = Path(__file__).with_name("openapi.toml")


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """Text as it is; whatever is no text, such as a number, as something that is no line of JSON."""
    return value.encode() if isinstance(value, str) else b"\x00" + repr(value).encode()


def main(address):
    said = io.StringIO()
    # It keeps what it found between runs, and a test begins anew.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(said):
        try:
            command(["--no-color", "--config-file", str(CONFIGURATION), "run", address])
        except SystemExit as end:
            code = end.code
    if code:
        sys.exit(said.getvalue())


main(sys.argv[1])
