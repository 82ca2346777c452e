"""Headless Chromium: documents, console messages and network requests of pages."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WITHOUT = "there is no Chromium here: bash .ci/site installs it"


class Opened(NamedTuple):
    """The document after its scripts have run, console messages, and requested addresses."""

    document: str
    messages: str
    addresses: set[str]


def command(url: str, folder: Path, *options: str) -> list[str]:
    """Command that opens a page in the browser, with a new profile and log in `folder`."""
    return [
        *[str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"],
        *["--disable-background-networking", "--disable-component-update", "--no-first-run"],
        *["--enable-logging=stderr", f"--log-net-log={folder / 'net.json'}"],
        *[f"--user-data-dir={folder / 'user'}", *options, url],
    ]


def requested(folder: Path) -> set[str]:
    return set(re.findall(r'"url":"(https?://[^"]+)"', (folder / "net.json").read_text()))


def opened(url: str, folder: Path, *options: str) -> Opened:
    folder.mkdir()
    done = subprocess.run(
        command(url, folder, "--dump-dom", *options),
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return Opened(done.stdout, done.stderr, requested(folder))


def other_hosts(found: Opened, blank: Opened) -> set[str]:
    """Hosts from which a page requested something, without those of the browser itself."""
    hosts = {url.split("/")[2] for url in found.addresses - blank.addresses}
    own = re.compile(r"((google|googleapis|gvt1)\.com|127\.0\.0\.1:\d+|localhost:\d+)$")
    return {host for host in hosts if not own.search(host)}
