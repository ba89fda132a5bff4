"""What is known of the machine: of control groups the one with the least room counts."""

import os

import pytest

from distnb.common.machine import NodeMemory, node_memory, runnable

GIB = 1 << 30
MEMINFO = f"""MemTotal:       {16 * GIB >> 10} kB
MemFree:         1024 kB
MemAvailable:   {12 * GIB >> 10} kB
HugePages_Total:       0
"""
V1 = "32 31 0:29 / /sys/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 {top} /sys/mem rw - cgroup cgroup rw,memory\n"
V2 = "30 24 0:27 {top} /sys/fs/cgroup\\040two rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.fixture
def tree(tmp_path):
    """Return what makes files of the system, by their paths."""

    def make(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    make(**{"proc/meminfo": MEMINFO})
    return make


def v2(folder, limit, used, high="max", inactive=0, active=0):
    """Return the files of a group of version 2."""
    at = f"sys/fs/cgroup two/{folder}".rstrip("/")
    return {
        f"{at}/memory.max": f"{limit}\n",
        f"{at}/memory.high": f"{high}\n",
        f"{at}/memory.current": f"{used}\n",
        f"{at}/memory.stat": f"anon 5\ninactive_file {inactive}\nactive_file {active}\n\n",
    }


def v1(folder, limit, used, inactive=0):
    """Return the files of a group of version 1."""
    at = f"sys/mem/{folder}".rstrip("/")
    return {
        f"{at}/memory.limit_in_bytes": f"{limit}\n",
        f"{at}/memory.usage_in_bytes": f"{used}\n",
        f"{at}/memory.stat": f"inactive_file 1\ntotal_inactive_file {inactive}\n",
    }


def process(groups, mounts):
    """Return the files that say in which groups a process is."""
    return {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts}


def test_without_groups_it_is_what_the_node_has(tree):
    assert node_memory(tree()) == NodeMemory(12 * GIB, 16 * GIB)


def test_nothing_is_known_where_there_are_no_files(tmp_path):
    assert node_memory(tmp_path) == NodeMemory(0, 0)


def test_a_limit_counts_without_what_is_given_back(tree):
    mine = v2("a/b", 4 * GIB, 3 * GIB, inactive=GIB)
    root = tree(**process("0::/a/b\n", V2.format(top="/")), **mine)
    assert node_memory(root) == NodeMemory(2 * GIB, 4 * GIB)


def test_files_that_were_read_twice_are_given_back_too(tree):
    mine = v2("a", 4 * GIB, 4 * GIB, inactive=GIB, active=2 * GIB)
    root = tree(**process("\n0::/a\n", "odd\n" + V2.format(top="/")), **mine)
    assert node_memory(root) == NodeMemory(3 * GIB, 4 * GIB)


def test_no_limit_is_none(tmp_path):
    for name, text in (
        process("3:memory:/a\n", V1.format(top="/")).items() | v1("a", 2**63 - 4096, 5).items()
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert node_memory(tmp_path) == NodeMemory(0, 0)


def test_the_node_counts_where_a_limit_is_wider(tree):
    root = tree(**process("0::/a\n", V2.format(top="/")), **v2("a", 40 * GIB, 0))
    assert node_memory(root) == NodeMemory(12 * GIB, 16 * GIB)


@pytest.mark.parametrize("narrow", ["", "job", "job/step"])
def test_the_least_room_of_all_groups_above_counts(tree, narrow):
    files = {}
    for folder in ("", "job", "job/step"):
        files |= v2(folder, 8 * GIB, GIB)
    files |= v2(narrow, 6 * GIB, 5 * GIB)
    root = tree(**process("0::/job/step\n", V2.format(top="/")), **files)
    assert node_memory(root) == NodeMemory(GIB, 6 * GIB)


def test_other_groups_do_not_count(tree):
    files = v2("mine", "max", GIB) | v2("yours", GIB, GIB) | v2("mine/below", GIB, GIB)
    root = tree(**process("0::/mine\n", V2.format(top="/")), **files)
    assert node_memory(root) == NodeMemory(12 * GIB, 16 * GIB)


def test_what_slows_down_before_the_limit_counts(tree):
    root = tree(**process("0::/a\n", V2.format(top="/")), **v2("a", 4 * GIB, GIB, high=3 * GIB))
    assert node_memory(root) == NodeMemory(2 * GIB, 3 * GIB)


def test_a_full_group_is_not_an_unknown_one(tree):
    root = tree(**process("0::/a\n", V2.format(top="/")), **v2("a", GIB, 2 * GIB))
    assert node_memory(root) == NodeMemory(1, GIB)


def test_groups_of_version_1(tree):
    groups = "4:memory:/job/step\n2:cpu:/elsewhere\n0::/\n"
    files = v1("", 2**63 - 4096, 9 * GIB) | v1("job", 3 * GIB, GIB, inactive=GIB // 2)
    files |= v1("job/step", 2**63 - 4096, GIB)
    root = tree(**process(groups, V1.format(top="/")), **files)
    assert node_memory(root) == NodeMemory(5 * GIB // 2, 3 * GIB)


@pytest.mark.parametrize(
    ("top", "path"),
    [
        ("/docker/1", "/docker/1"),  # the mount begins at the container's group
        ("/", "/"),  # so does the name space
        ("/docker/1", "/docker/2"),  # moved since: only what is mounted can be seen
        ("/..", "/../other"),
    ],
)
def test_a_container_sees_its_own_group(tree, top, path):
    root = tree(**process(f"4:memory:{path}\n", V1.format(top=top)), **v1("", 2 * GIB, GIB))
    assert node_memory(root) == NodeMemory(GIB, 2 * GIB)


def test_files_that_are_missing_say_nothing(tree):
    files = v2("a", 4 * GIB, GIB)
    del files["sys/fs/cgroup two/a/memory.high"], files["sys/fs/cgroup two/a/memory.stat"]
    root = tree(**process("0::/a/b\n", V2.format(top="/")), **files)
    assert node_memory(root) == NodeMemory(3 * GIB, 4 * GIB)
    (root / "sys/fs/cgroup two/a/memory.current").unlink()
    assert node_memory(root) == NodeMemory(12 * GIB, 16 * GIB)


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="needs Linux")
def test_this_machine_has_memory():
    found = node_memory()
    assert 0 < found.available <= found.total


def test_how_many_threads_want_a_core(tmp_path):
    assert runnable(tmp_path) == 0
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("0.20 0.18 0.12 3/80 11206\n")
    assert runnable(tmp_path) == 3
