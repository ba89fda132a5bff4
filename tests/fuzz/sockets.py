"""What comes by sockets: of those who have been let in, and of strangers."""

import contextlib
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import zmq

from distnb.client.recovery import keeper
from distnb.client.transport.monitor import MonitorClient
from distnb.engines.server.monitor import MonitorServer
from distnb.engines.server.peer_auth import PeerAuthentication
from distnb.wire.channel import LARGEST, SMALL, Channel
from distnb.wire.stream import Stream
from tests.fuzz.mutation import mutated

#: Seconds after which no answer is a fault.
_PATIENCE = 60


def _packed(head, *arrays):
    """Return a message as it goes through a local socket."""
    sizes = b"".join(struct.pack("<Q", len(a)) for a in arrays)
    return struct.pack("<QQ", len(head), len(arrays)) + sizes + head + b"".join(arrays)


def _whole(data, at=0):
    """Yield the messages that are whole in some bytes."""
    while at + 16 <= len(data):
        length, count = struct.unpack_from("<QQ", data, at)
        if at + 16 + 8 * count + length > len(data):
            return
        sizes = struct.unpack_from(f"<{count}Q", data, at + 16)
        at += 16 + 8 * count
        head, at = data[at : at + length], at + length
        if max(sizes, default=0) > LARGEST or at + sum(sizes) > len(data):
            return
        arrays = []
        for size in sizes:
            arrays.append(data[at : at + size])
            at += size
        yield head, arrays


@contextmanager
def local():
    """Messages through a local socket: those that are whole arrive, and nothing else."""
    messages = [(b"7 abc\n" + b"x" * 40,), (b"", b"1234", b""), (b"y" * 300, b"z" * 9, b"w" * 200)]
    real = [_packed(*m) for m in messages]
    real += [real[0] + real[1], real[1] + real[2] + real[0]]

    def one(chance):
        data = mutated(chance, chance.choice(real), real)
        ours, theirs = socket.socketpair()
        with ours:
            stream = Stream(theirs)
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            found = []
            while not stream.closed:
                try:
                    message = stream.receive()
                except MemoryError:  # for a head that did not come
                    stream.close()
                    break
                if message is not None:
                    found.append((message[0], [a.tobytes() for a in message[1]]))
        stream.close()
        assert found == list(_whole(data)), data
        return f"{len(found)} messages"

    yield one


@contextmanager
def between_hosts():
    """Messages through ZeroMQ: what is none is dropped, and the next one is as it was sent."""
    context = zmq.Context()
    ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    ours.bind("inproc://fuzz")
    theirs.connect("inproc://fuzz")
    here, there = Channel(ours), Channel(theirs)
    sizes = [(), (3,), (SMALL + 1,), (0, SMALL + 5, 2)]
    real = [(b"head", b"".join(struct.pack("<q", n) for n in s)) for s in sizes]
    bodies = [[b"x" * n for n in s] for s in sizes]

    def one(chance):
        k = chance.randrange(len(real))
        frames = [*real[k], *(b for b in bodies[k] if len(b) <= SMALL)]
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(frames))
            frames[at : at + 1] = [mutated(chance, frames[at], real[k])] * chance.randrange(3)
        ours.send_multipart(frames or [b""])
        for body in bodies[k]:
            if len(body) > SMALL:
                ours.send(body[: chance.randrange(len(body) + 1)])
        last = chance.randbytes(chance.choice((0, 5, SMALL + 9)))
        here.send(b"the last", [np.frombuffer(last, np.uint8)])
        before = 0
        while True:
            found = there.receive()
            if found is None:
                assert there.ready(1000 * _PATIENCE)
            elif found[0] == b"the last" and len(found[1]) == 1:
                break
            else:
                before += 1
        assert found[1][0].tobytes() == last
        return f"{before} messages"

    yield one
    assert context.destroy(linger=0) is None


class _Loop(dict):
    """As the loop of asyncio: calls what waits for descriptors."""

    def add_reader(self, end, call, *args):
        self[end if isinstance(end, int) else end.fileno()] = call, args

    def remove_reader(self, end):
        del self[end if isinstance(end, int) else end.fileno()]

    def turn(self):
        poll = select.poll()
        for descriptor in self:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(0):  # what was sent is there at once
            call, args = self.get(descriptor, (lambda: None, ()))
            call(*args)


@contextmanager
def strangers():
    """Who comes to an engine's local socket without the token: he is not let in."""
    loop, admitted = _Loop(), []
    door = PeerAuthentication(loop, admitted.append)
    wrong = "".join("0" if c == "1" else "1" for c in door.token)
    real = [
        _packed(wrong.encode()),
        _packed(wrong.encode(), b"abc"),
        _packed(b"7 abc\n" + b"x" * 9),
    ]

    def one(chance):
        data = mutated(chance, chance.choice(real), real)
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(door.address)
            end.sendall(data)
            loop.turn()  # he is met,
            loop.turn()  # and asked
            waits = bool(door._strangers)
        if waits:
            loop.turn()
            if door._strangers:
                loop.turn()
        assert not admitted, data
        assert not door._strangers, data
        return "is waited for" if waits else "is refused"

    yield one
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(door.address)
        end.sendall(_packed(door.token.encode()))
        loop.turn()
        loop.turn()
    assert len(admitted) == 1
    admitted[0].close()


@contextmanager
def keepers():
    """What a keeper is asked: it hands over the memory to who asks for it, and to nobody else."""
    memory = os.memfd_create("distnb")
    script, prefix = str(keeper.__file__), "distnb-fuzz-"
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", script, prefix, str(memory), "100000"],
        stdout=subprocess.PIPE,
        pass_fds=(memory,),
        text=True,
    )
    folder = Path(process.stdout.readline().strip())
    door = str(folder / keeper.SOCKET)
    real = [keeper.HOLD, keeper.LOOK, keeper.END, keeper.HOLD + keeper.LOOK]

    def asked(data):
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(_PATIENCE)
            end.connect(door)
            end.sendall(data)
            end.shutdown(socket.SHUT_WR)
            try:
                text, fds, *_ = socket.recv_fds(end, 4096, 4)
            except ConnectionResetError:  # not all that was said was read
                text, fds = b"", []
        for fd in fds:
            os.close(fd)
        assert bool(fds) == (data[:4] in (keeper.HOLD, keeper.LOOK)), data
        assert not fds or "busy" in json.loads(text)
        return "is given" if fds else "is refused"

    def one(chance):
        data = mutated(chance, chance.choice(real), real)
        return "left out" if data[:8] == keeper.HOLD + keeper.END else asked(data)

    try:
        yield one
        assert asked(keeper.LOOK) == "is given"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(memory)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def questions():
    """What the monitor of an engine is asked by its client: there is an answer to all."""
    with _monitor() as (server, public, keys, _):
        context = zmq.Context()
        end = _line(context, server.place, public, keys)
        real = [b"1 0 session", b"22 7 other"]

        def one(chance):
            frames = [mutated(chance, chance.choice(real), real) for _ in range(3)]
            end.send_multipart(frames[: chance.choice((1, 1, 2, 3))])
            assert end.poll(1000 * _PATIENCE), frames
            return "an answer" if end.recv_multipart() else ""

        yield one
        context.destroy(linger=0)


@contextmanager
def encrypted():
    """Whoever comes without a key, with what one with the key has said before: nobody hears him."""
    with _monitor() as (server, public, keys, heard):
        host, port = server.place.removeprefix("tcp://").rsplit(":", 1)
        real = [_recorded(host, int(port), public, k) for k in (keys, zmq.curve_keypair())]
        assert heard == ["a"]
        heard.clear()

        def one(chance):
            data = chance.choice(real)
            data = data if chance.random() < 0.05 else mutated(chance, data, real)
            with socket.socket() as end:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.settimeout(_PATIENCE)
                end.connect((host, int(port)))
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with contextlib.suppress(OSError):  # it hangs up as soon as it is none
                    for at in range(0, len(data), 64):
                        end.sendall(data[at : at + 64])
                    if chance.random() < 0.05:
                        end.shutdown(socket.SHUT_WR)
                        while end.recv(4096):
                            pass
            assert not heard, data
            return "nobody heard"

        yield one
        with zmq.Context() as context:
            client = MonitorClient(context, [(server.place, public.decode())], keys)
            assert client.ask("a", 1, _PATIENCE) == [("at a", 0.0)]
            client.close()
        assert heard == ["a"]


@contextmanager
def _monitor():
    """An engine's monitor, its public key, its client's keys, and what it hears."""
    heard, keys = [], zmq.curve_keypair()
    public, secret = zmq.curve_keypair()

    def answer(session, stop):
        heard.append(session)
        return f"at {session}"

    server = MonitorServer(answer, keys[0].decode(), "", secret)
    try:
        yield server, public, keys, heard
    finally:
        server.close()


def _line(context, place, public, keys):
    end = context.socket(zmq.DEALER)
    end.curve_serverkey = public
    end.curve_publickey, end.curve_secretkey = keys
    end.connect(place)
    return end


def _recorded(host, port, public, keys):
    """Return what a client with some keys sends when it asks something."""
    said, context = bytearray(), zmq.Context()
    with socket.create_server(("127.0.0.1", 0)) as between:
        end = _line(context, "tcp://{}:{}".format(*between.getsockname()), public, keys)
        end.send(b"1 0 a")
        ours, _ = between.accept()
    with ours, socket.create_connection((host, port)) as theirs:
        back = threading.Thread(target=_passed, args=(theirs, ours, bytearray()))
        forth = threading.Thread(target=_passed, args=(ours, theirs, said))
        back.start()
        forth.start()
        end.poll(1000)
        context.destroy(linger=0)
        forth.join()
        back.join()
    return bytes(said)


def _passed(here, there, said):
    """Hand over what comes until it ends, and note it."""
    with contextlib.suppress(OSError):
        while some := here.recv(4096):
            said += some
            there.sendall(some)
    with contextlib.suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)
