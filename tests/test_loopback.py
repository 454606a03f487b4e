"""Tests cannot leave this machine, and what they start cannot either."""

import socket
import subprocess
import sys

import pytest

FAR = ("192.0.2.1", 80)  # an address that documents use and nobody has
STAYS = "tests stay on this machine"


def test_no_connection_leaves_this_machine():
    with pytest.raises(RuntimeError, match=STAYS):
        socket.create_connection(FAR, timeout=1)
    with pytest.raises(RuntimeError, match=f"'example.org', and {STAYS}"):
        socket.getaddrinfo("example.org", 443)
    with socket.socket(type=socket.SOCK_DGRAM) as letter, pytest.raises(RuntimeError, match=STAYS):
        letter.sendto(b"", FAR)


def test_no_connection_of_another_process_leaves_this_machine():
    code = f"import socket; socket.create_connection({FAR}, timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and STAYS in done.stderr


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX"])
def test_connections_on_this_machine_are_allowed(family, tmp_path):
    address = ("localhost", 0) if family == "AF_INET" else str(tmp_path / "socket")
    with socket.socket(getattr(socket, family)) as server, socket.socket(getattr(socket, family)) as client:
        server.bind(address)
        server.listen()
        client.connect(server.getsockname())
