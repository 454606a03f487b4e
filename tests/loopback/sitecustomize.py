"""Refuse connections that leave this machine; Python imports this in every process that a test starts."""

import sys

HERE = ("localhost", "::1", "::", "0.0.0.0", "")


def refuse(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        connection, address = arguments
        if not isinstance(address, tuple):  # a socket that is a file
            return
        # Nothing is sent when a datagram socket is connected; Dask learns its own address in this way.
        if event == "socket.connect" and connection.type.name == "SOCK_DGRAM":
            return
        host = address[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host is not None and host not in HERE and not host.startswith("127."):
        raise RuntimeError(
            f"A test tried to reach {host!r}, and tests stay on this machine. Use data that are bundled, or mark the "
            "test with pytest.mark.mirror and the names of the data sets that it needs."
        )


sys.addaudithook(refuse)
