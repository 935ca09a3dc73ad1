# SPDX-License-Identifier: Apache-2.0
"""What is made or had here and used over there: JMeter as it stands, forms of Java programs, AOT caches."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from harness.measure.runner import Limits
from harness.measure.runner.start_up import wait_first_response
from harness.measure.session import measure, prepare
from harness.measure.session.remote_hosts import words_there
from harness.model import Outcome, RuntimeSettings, Variant
from harness.places.hosts.base import run_words
from harness.places.hosts.local import LocalHost
from harness.places.hosts.ssh.host import SshHost
from harness.places.launchers.base import LaunchSpec
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Elsewhere, Tools
from harness.tests.contracts.launcher import HELLO
from harness.tests.support.available import only_in_ci, patient
from harness.tests.support.remote_sessions import remote_assembly
from harness.tests.support.sessions import make_session_project
from harness.tests.support.synthetic import ROOT
from harness.tests.support.tools_here import QUICK_JVM, QuickJMeter, make_java_project, scripted_compiler
from harness.toolchains import Jdk, Surroundings, find_tool


@only_in_ci("JMeter that is sent to a far host")
def test_jmeter_is_sent_over_once_and_offers_from_there(far: SshHost, jdk: Jdk, tmp_path: Path) -> None:
    jar = find_tool("jmeter", Surroundings(project=ROOT)).require()
    home = jar.parent.parent
    root = make_session_project(tmp_path / "project")
    tiny = root / "harness" / "experiments" / "tiny.toml"
    text = tiny.read_text().replace('"locust"', '"jmeter"')
    tiny.write_text(text.replace("blocks = 1", 'blocks = 1\nvariants = ["calm"]'))
    paths = {"jmeter": jar}
    assembly = dataclasses.replace(
        remote_assembly(root, far),
        generators={"jmeter": lambda: QuickJMeter(home=home, java=jdk.java, heap="128m")},
        load_words=lambda generator: words_there(far, generator, paths, jdk.java),
    )
    prepared = prepare(assembly, "tiny", profile="smoke", host="bighost", seed=1)
    folder = measure(assembly, prepared, limits=Limits(ready_s=20.0))
    for record in folder.records():
        assert record.outcome == Outcome.OK, record.reason
        assert record.load is not None and record.load.n_requests == 10
        assert record.generator is not None
        assert not [word for word in record.generator.argv if str(home) in word]
        assert "load/samples.jtl" in {name.removesuffix(".gz").removesuffix(".zst") for name in record.files}
    there = far.install(home)
    assert str(there).startswith(str(far.agent.base / "artifacts"))
    assert run_words(far, "test", "-f", str(there / "bin" / jar.name)).exit_code == 0


ANSWERS = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Hello(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "13")
        self.end_headers()
        self.wfile.write(b'{"v":"HELLO"}')
    do_GET = do_POST
HTTPServer((sys.argv[-2], int(sys.argv[-1])), Hello).serve_forever()
"""


def test_forms_are_sent_over_and_aot_caches_made_there(far: SshHost, jdk: Jdk, tmp_path: Path) -> None:
    implementation = make_java_project(tmp_path, jdk)
    elsewhere = Elsewhere(builds_on=LocalHost(), jdks=(jdk,), python=sys.executable)
    (tmp_path / "answers").write_text(f"#!{sys.executable}\n{ANSWERS}")
    copied = f'while [ "$1" != -o ]; do shift; done; cp {tmp_path}/answers "$2"; chmod 755 "$2"\n'
    compiler = scripted_compiler(tmp_path, copied)
    launcher = ProcessLauncher(far, tmp_path, Tools(jdks=(jdk,), native_image=compiler), elsewhere=elsewhere)
    cached = RuntimeSettings(aot_cache=True, gc="serial", heap_max="64m", jvm_flags=("-Xlog:aot", QUICK_JVM))
    said: dict[str, str] = {}
    for name, runtime in {"aot": cached, "native": RuntimeSettings(form="native")}.items():
        variant = Variant(implementation="tiny", runtime=runtime)
        assert launcher.unavailable(implementation, variant) is None
        build = launcher.build(implementation, variant)
        (ours := tmp_path / name).mkdir()
        there = far.open_folder(ours)
        spec = LaunchSpec(implementation=implementation, variant=variant, build=build, folder=there)
        instance = launcher.launch(spec)
        try:
            wait_first_response(instance, HELLO, patient(60), host=far, stderr=instance.stderr_file)
        finally:
            record = instance.stop()
            far.close_folder(ours)
        said[name] = (ours / "service.stdout.txt").read_text() + " ".join(record.argv)
        if build.form is not None:
            assert record.runtime_bytes == 0 and record.runtime_version == "native-image 0.0 (for tests)"
            assert record.argv[0].startswith(str(far.agent.base / "artifacts"))
        else:
            assert build.aot_cache_bytes is not None and build.aot_cache_bytes > 100_000
    assert "Opened AOT cache" in said["aot"]
    assert f"-XX:AOTCache={far.agent.base}/artifacts/" in said["aot"]
    assert not list((tmp_path / ".cache" / "builds").glob("*/aot-*"))
    sent = run_words(far, "ls", "-R", str(far.agent.base / "artifacts")).stdout.splitlines()
    assert not any(name.startswith("native-") for name in sent)  # a build goes without what was made of it


def test_what_is_compiled_here_is_refused_on_other_machines(far: SshHost, jdk: Jdk, tmp_path: Path) -> None:
    elsewhere = Elsewhere(builds_on=LocalHost(), architecture="sparc64")
    launcher = ProcessLauncher(far, tmp_path, Tools(), elsewhere=elsewhere)
    java = make_java_project(tmp_path, jdk)
    implementation = java.model_copy(update={"runtime": "go", "build": ("true",)})
    reason = launcher.unavailable(implementation, Variant(implementation="tiny"))
    assert reason is not None and reason.endswith("and bighost is sparc64")
