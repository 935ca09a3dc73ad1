# SPDX-License-Identifier: Apache-2.0
"""Waits for monitors: a real JVM whose threads wait for each other is recorded, and its own JDK counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.jfr_json import CONTENTION, parse_contention
from harness.measure.runner.snapshots import keep_contention
from harness.places.hosts.base import Command
from harness.places.hosts.local import LocalHost
from harness.places.launchers.arguments import recording_flags
from harness.tests.support.available import patient
from harness.tests.support.tools_here import reference_jdk

WAITING = """
public class Waiting {
  static final class Held {
  }

  public static void main(String[] args) throws Exception {
    Object free = new Object();
    Held held = new Held();
    Thread[] others = new Thread[3];
    synchronized (held) {
      for (int i = 0; i < others.length; i++) {
        others[i] = new Thread(() -> {
          synchronized (held) {
            synchronized (free) {
            }
          }
        });
        others[i].start();
      }
      Thread.sleep(300);
    }
    for (Thread other : others) {
      other.join();
    }
  }
}
"""


def recorded(folder: Path, program: str) -> str:
    jdk, host = reference_jdk(), LocalHost()
    (folder / "Waiting.java").write_text(program)
    flags = recording_flags(compilations=False, locks=True)
    argv = (str(jdk.home / "bin" / "java"), *flags, "Waiting.java")
    done = host.run(Command(argv=argv, folder=folder), patient(60.0))
    assert done.exit_code == 0, done.stderr
    assert keep_contention(host, jdk.home / "bin" / "jfr", folder, folder)
    return (folder / CONTENTION).read_text("utf-8")


def test_threads_that_waited_are_counted_by_the_class_of_the_lock(tmp_path: Path) -> None:
    found = {one.lock: one for one in parse_contention(recorded(tmp_path, WAITING))}
    held = found["Waiting$Held"]
    assert held.n >= 3
    assert held.mean_s > 0.05, "they slept while it was held for three tenths of a second"
    assert "java.lang.Object" not in found or found["java.lang.Object"].n <= 2


@pytest.mark.parametrize(
    "text", ["", "Usage: jfr view", "Contention by Lock Class\n\n----\nsomething else\n"]
)
def test_what_is_no_such_view_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_contention(text)


def test_without_a_recording_nothing_is_kept(tmp_path: Path) -> None:
    assert not keep_contention(LocalHost(), tmp_path / "no-such-program", tmp_path, tmp_path)
    assert not (tmp_path / CONTENTION).exists()
