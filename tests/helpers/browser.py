"""Headless Chromium: what it makes of a page, what it says, and what it asks the network for."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WITHOUT = "there is no Chromium here: bash .ci/site installs it"


class Opened(NamedTuple):
    """The document after its programs have run, what stood on the console, addresses asked for."""

    document: str
    messages: str
    addresses: set[str]


def opened(url: str, folder: Path, *options: str, timeout: float = 120) -> Opened:
    """Open a page, with a profile of its own in `folder`."""
    folder.mkdir()
    log = folder / "net.json"
    done = subprocess.run(
        [
            *[str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"],
            *["--disable-background-networking", "--disable-component-update", "--no-first-run"],
            *["--enable-logging=stderr", f"--log-net-log={log}"],
            *[f"--user-data-dir={folder / 'user'}", *options, url],
        ],
        capture_output=True, text=True, timeout=timeout, check=True,
    )  # fmt: skip
    return Opened(
        done.stdout, done.stderr, set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text()))
    )


def strangers(found: Opened, blank: Opened) -> set[str]:
    """Hosts that a page made the browser ask, beyond those that it asks by itself."""
    hosts = {url.split("/")[2] for url in found.addresses - blank.addresses}
    own = re.compile(r"((google|googleapis|gvt1)\.com|127\.0\.0\.1:\d+|localhost:\d+)$")
    return {host for host in hosts if not own.search(host)}
