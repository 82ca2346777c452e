"""Headless Chromium: what it makes of a page, what it says, and what it asks the network for."""

import re
import shutil
import subprocess
from pathlib import Path
from threading import Event
from typing import NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WITHOUT = "there is no Chromium here: bash .ci/site installs it"


class Opened(NamedTuple):
    """The document after its programs have run, what stood on the console, addresses asked for."""

    document: str
    messages: str
    addresses: set[str]


def command(url: str, folder: Path, *options: str) -> list[str]:
    """What starts the browser on a page, with a profile and a log of its own in `folder`."""
    return [
        *[str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"],
        *["--disable-background-networking", "--disable-component-update", "--no-first-run"],
        *["--enable-logging=stderr", f"--log-net-log={folder / 'net.json'}"],
        *[f"--user-data-dir={folder / 'user'}", *options, url],
    ]


def asked(folder: Path) -> set[str]:
    """Addresses that a browser asked for, by its log."""
    return set(re.findall(r'"url":"(https?://[^"]+)"', (folder / "net.json").read_text()))


def opened(url: str, folder: Path, *options: str) -> Opened:
    """Open a page until its programs have run, in a new folder."""
    folder.mkdir()
    done = subprocess.run(
        command(url, folder, "--dump-dom", *options),
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return Opened(done.stdout, done.stderr, asked(folder))


def reported(url: str, folder: Path, report: Event, timeout: float) -> Opened:
    """Open a page in a new folder until it has sent its report, or time is up."""
    folder.mkdir()
    with (folder / "stderr").open("w") as messages:
        browser = subprocess.Popen(command(url, folder, "--window-size=1600,1000"), stderr=messages)
        try:
            assert report.wait(timeout), "the page sent no report"
        finally:
            browser.terminate()
            browser.wait(30)
    return Opened("", (folder / "stderr").read_text(errors="replace"), asked(folder))


def strangers(found: Opened, blank: Opened) -> set[str]:
    """Hosts that a page made the browser ask, beyond those that it asks by itself."""
    hosts = {url.split("/")[2] for url in found.addresses - blank.addresses}
    own = re.compile(r"((google|googleapis|gvt1)\.com|127\.0\.0\.1:\d+|localhost:\d+)$")
    return {host for host in hosts if not own.search(host)}
