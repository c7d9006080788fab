"""Runs the Dockerfile's start command as a container would: its user, its environment, a read-only root, /tmp in memory."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.dockerfile import ROOT, environment, start_command

READ = "dac_read_search"
"""The interpreter of a test machine may lie in a home that user 1000 cannot read; the image's does not. Reading only."""


def can_contain() -> bool:
    """Whether this machine lets a test make a mount namespace, and the project does not lie in the /tmp that is covered."""
    if os.geteuid() != 0 or str(ROOT).startswith("/tmp/") or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    return subprocess.run(["unshare", "-m", "mount", "-o", "remount,ro,bind", "/"], capture_output=True, timeout=30).returncode == 0


class Container:
    """The running start command. Where no namespace can be made it runs as the present user, its caches in ``scratch``."""

    def __init__(self, port: int, scratch: Path, **more: str) -> None:
        self.port, self.url, self.log = port, f"http://127.0.0.1:{port}", scratch / "container.log"
        self.contained = can_contain()
        line = start_command()[-1].replace("7860", str(port))
        names = environment() | more
        if not self.contained:
            names = {name: value.replace("/tmp/poolscope", str(scratch)) for name, value in names.items()}
        binaries = "/tmp/bin" if self.contained else str(scratch / "bin")
        # What pip's script does in the image; here the command lies in this checkout.
        script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m app.cli.run "$@"\n'
        steps = [f"mkdir -p {binaries}", f"printf %s {shlex.quote(script)} > {binaries}/poolscope", f"chmod 755 {binaries}/poolscope"]
        start = [
            "env",
            "-i",
            f"PATH={binaries}:/usr/local/bin:/usr/bin:/bin",
            f"PYTHONPATH={ROOT}",
            *(f"{name}={value}" for name, value in names.items()),
            "sh",
            "-c",
            line,
        ]
        if self.contained:
            steps = ["mount -o remount,ro,bind /", "mount -t tmpfs -o mode=1777 tmpfs /tmp", *steps]
            start = [
                "setpriv",
                "--reuid=1000",
                "--regid=1000",
                "--clear-groups",
                f"--inh-caps=-all,+{READ}",
                f"--ambient-caps=-all,+{READ}",
                f"--bounding-set=-all,+{READ}",
                *start,
            ]
        shell = ["sh", "-ec", "; ".join([*steps, f"cd {shlex.quote(str(ROOT))}", f"exec {shlex.join(start)}"])]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*(["unshare", "-m"] if self.contained else []), *shell], stdout=log, stderr=log)
        self.until("/_stcore/health")

    def until(self, path: str, seconds: float = 60) -> None:
        """Waits for an answer of 200."""
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=5):
                    return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < end, f"{path} in vain: {self.log.read_text()}"
                time.sleep(0.1)

    def user(self) -> tuple[int, int]:
        """User of the server's process, and its effective capabilities."""
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines() if ":\t" in line
        )
        return int(status["Uid"].split()[0]), int(status["CapEff"], 16)

    def children(self) -> list[int]:
        """Processes that the server started."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, rest = stat.read_text().split(" ", 1)
            except OSError:
                continue
            state, parent = rest.rsplit(")", 1)[1].split()[:2]
            if int(parent) == self.process.pid and state != "Z":
                found.append(int(pid))
        return found

    def stop(self) -> float:
        """Ends it as a host does; gives the seconds it took."""
        start = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        return time.monotonic() - start
