"""What axe-core finds wrong with a page: contrast, labels, and what else WCAG's levels A and AA ask."""

from axe_playwright_python.sync_playwright import Axe

_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def faults(page, *within):
    """Return what is wrong within some elements, each in a line: rule, element, reason."""
    context = {"include": [[selector] for selector in within]}
    options = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
    found = Axe().run(page, context, options).response
    assert found["testEngine"]["name"] == "axe-core"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
