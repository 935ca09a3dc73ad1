# SPDX-License-Identifier: Apache-2.0
"""`papermill notebooks/run_all.ipynb`: completed on a terminal, redirected, and with a pipe; left alone elsewhere."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from harness.papermill_engine import UNDER_PAPERMILL, _in_one_line, completed
from harness.pipeline.execute import Progress
from harness.pipeline.stage import StageTable
from harness.tests.pipeline.test_execute import notebook_of

ROOT = Path(__file__).resolve().parents[2]
RUN_ALL = "notebooks/run_all.ipynb"
STATUS = "import sys; print('measuring: 3 of 5 trials', file=sys.stderr)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one tiny run_all, its entry point visible to papermill as after an installation."""
    root = tmp_path / "project"
    (root / "harness" / "model").mkdir(parents=True)
    (root / "notebooks").mkdir()
    (root / "pyproject.toml").touch()
    (root / RUN_ALL).write_text(notebook_of(STATUS))
    info = tmp_path / "site" / "rematch-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rematch\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(
        "[papermill.engine]\nrematch = harness.papermill_engine:RematchEngine\n"
    )
    # a grammar that jsonschema would make at every start, which takes longer than all else of it: no notebook has an IRI
    (info.parent / "rfc3987_syntax.py").write_text("raise ImportError")
    path = os.pathsep.join([str(info.parent), str(ROOT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.chdir(root)
    return root


def ran(project: Path) -> bool:
    """Tell whether the executed copy is there, with what its cell displayed."""
    output = json.loads((project / "results/run_all.ipynb").read_text())
    return bool(output["cells"][0]["outputs"])


PAPERMILL = [sys.executable, "-m", "papermill"]


def test_on_a_terminal_the_one_argument_form_runs_and_says_where_the_output_goes(project: Path) -> None:
    before = (project / RUN_ALL).read_bytes()
    leader, follower = pty.openpty()
    script = Path(sys.executable).with_name("papermill")
    child = subprocess.Popen([str(script), RUN_ALL], stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:  # the terminal is closed once nobody holds its other end
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert child.wait() == 0, said.decode()
    assert ran(project)
    assert said.decode().count("the executed notebook is written to results/run_all.ipynb") == 1
    assert "measuring: 3 of 5 trials" in said.decode().splitlines()
    assert (project / RUN_ALL).read_bytes() == before


def test_only_new_text_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for value, in_kernel, printed in (("", True, False), ("1", True, True), ("", False, True)):
        monkeypatch.setenv(UNDER_PAPERMILL, value)
        Progress(in_kernel=in_kernel).show(StageTable(), "measuring: 3 of 5 trials")
        assert capsys.readouterr().err == "measuring: 3 of 5 trials\n" * printed


def test_importing_the_entry_point_from_the_api_touches_no_arguments(project: Path) -> None:
    code = (
        "import sys; import papermill; from papermill.engines import papermill_engines as e; "
        "e.get_engine('rematch'); print(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, RUN_ALL], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str([RUN_ALL])
    assert done.stderr == ""
    assert not (project / "results").exists()


ADDED = ["--engine", "rematch", "--log-output", "results/run_all.ipynb"]


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([RUN_ALL], ADDED),
        ([RUN_ALL, "-p", "profile", "smoke"], ADDED),
        ([RUN_ALL, "--log-level", "INFO"], ADDED),
        ([RUN_ALL, "out.ipynb"], []),
        ([RUN_ALL, "-p", "profile", "smoke", "out.ipynb"], []),
        ([RUN_ALL, "out"], []),
        (["--help"], []),
        (["-", "out.ipynb"], []),
        (["missing.ipynb"], []),
        ([], []),
    ],
)
def test_arguments_are_completed_for_its_notebooks(project: Path, given: list[str], added: list[str]) -> None:
    assert project.is_dir()
    assert completed(given) == given + added


def test_foreign_notebooks_stay(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.ipynb").write_text(notebook_of("print(6 * 7)"))
    assert completed(["../other.ipynb"]) == ["../other.ipynb"]
    assert not (project / "results").exists()
    monkeypatch.chdir(project / "notebooks")
    assert completed(["run_all.ipynb"])[-1] == "../results/run_all.ipynb"


def test_a_dead_kernel_starts_again(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    starts, folder = tmp_path / "starts", tmp_path / "jupyter/kernels/python3"
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import runpy, sys\n"
        f"with open({str(starts)!r}, 'a+') as stream:\n"
        "    stream.write('x')\n"
        "    stream.seek(0)\n"
        f"    if len(stream.read()) <= 2:\n"
        "        sys.exit('Address already in use')\n"
        "runpy.run_module('ipykernel_launcher', run_name='__main__')\n"
    )
    folder.mkdir(parents=True)
    specification = {
        "argv": [sys.executable, str(kernel), "-f", "{connection_file}"], "display_name": "Python 3",
        "language": "python", "metadata": {"supported_encryption": "curve"},
    }  # fmt: skip
    (folder / "kernel.json").write_text(json.dumps(specification))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    done = subprocess.run([*PAPERMILL, RUN_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert starts.read_text() == "x" * 3
    assert ran(project)


def test_with_a_pipe_for_stdin_the_notebook_stays_and_an_error_on_purpose_is_one_line(project: Path) -> None:
    check = (
        "from harness.analysis.evidence.parameters import StageParameters, check_parameters\n"
        "settings = check_parameters(StageParameters, globals())"
    )
    (project / RUN_ALL).write_text(notebook_of('# Parameters\nexperiments = "gc-peaks"', check))
    before = (project / RUN_ALL).read_bytes()
    words = [*PAPERMILL, RUN_ALL, "--no-progress-bar", "--log-level", "ERROR", "-p", "experiments", "nosuch"]
    failed = subprocess.run(words, input="", capture_output=True, text=True, check=False)
    assert failed.returncode != 0 and failed.stdout == "" and "Traceback" not in failed.stderr
    assert failed.stderr.splitlines()[-1] == (
        "rematch: experiments: this notebook reads no such experiment; found 'nosuch'; allowed: gc-peaks"
    )
    assert (project / RUN_ALL).read_bytes() == before
    executed = json.loads((project / "results/run_all.ipynb").read_text())
    outputs = [output for cell in executed["cells"] for output in cell.get("outputs", ())]
    (error,) = [output for output in outputs if output["output_type"] == "error"]
    assert error["ename"] == "InputError" and len(error["traceback"]) == 1


def test_every_other_error_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError as error:
        _in_one_line(type(error), error, error.__traceback__)
    assert capsys.readouterr().err.startswith("Traceback")
