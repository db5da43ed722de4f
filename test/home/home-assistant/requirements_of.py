"""Prints what Home Assistant would install at its start for the integrations named, one requirement a line.

It follows dependencies and after_dependencies of the manifests, as Home Assistant does.
"""

import json
import pathlib
import sys

import homeassistant
from homeassistant.bootstrap import DEFAULT_INTEGRATIONS

COMPONENTS = pathlib.Path(homeassistant.__file__).parent / "components"
# The one-time passwords of its login, which no manifest names.
FOUND = {"pyotp==2.10.0", "PyQRCode==1.2.1"}
SEEN = set()


def walk(domain):
    manifest = COMPONENTS / domain / "manifest.json"
    if domain in SEEN or not manifest.exists():
        return
    SEEN.add(domain)
    content = json.loads(manifest.read_text())
    FOUND.update(content.get("requirements", []))
    for other in content.get("dependencies", []) + content.get("after_dependencies", []):
        walk(other)


for name in sorted(DEFAULT_INTEGRATIONS) + sys.argv[1:]:
    walk(name)
print("\n".join(sorted(FOUND)))
