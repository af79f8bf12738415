"""The one HTML page of the viewer, with its front end."""

from collections.abc import Iterable

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Carryover</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
<div id="viewer"><p class="waiting">Loading</p></div>
{body}
</body>
</html>
"""


def page(head: Iterable[str] = (), body: Iterable[str] = ()) -> str:
    """Return the page; by default it loads the built files."""
    heads = list(head) or ['<link rel="stylesheet" href="viewer.css">']
    bodies = list(body) or ['<script src="viewer.js"></script>']
    return _PAGE.format(head="\n".join(heads), body="\n".join(bodies))
