"""Who counts as a process that still lives."""

import os
import subprocess
import sys

from ekiden_warden.identity import ProcessIdentity, lives, this_process

TELLS = (
    "from ekiden_warden.identity import this_process; print(*this_process(), flush=True); import sys; sys.stdin.read()"
)


def test_a_process_lives_until_it_ends_even_if_its_parent_does_not_look():
    with subprocess.Popen(
        [sys.executable, "-c", TELLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        pid, started, *boot = child.stdout.readline().split()
        process = ProcessIdentity(int(pid), started, " ".join(boot))
        assert process.pid == child.pid
        assert lives(process)
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken its status
        assert not lives(process)
    assert not lives(process)


def test_a_number_that_was_given_to_another_process_or_under_another_boot_is_not_the_same_one():
    own = this_process()
    assert lives(own)
    assert own == this_process()
    assert not lives(own._replace(started="1"))
    assert not lives(own._replace(boot="another"))
    assert not lives(own._replace(pid=2**22 + 1))
