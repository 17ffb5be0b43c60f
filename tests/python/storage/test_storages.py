import pytest
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed
from mpiric.model.storage import FileLayout, LayoutLimits, Mount, StorageFacts, Stripes
from mpiric.storage import read_mounts, read_storage, recognise, served_by, storages

MIB = 1 << 20
# A mount as each of them shows in the mount table, and one more way where it has one.
MOUNTS = {
    "beegfs": [Mount("/m", "beegfs", "beegfs_nodev")],
    "cephfs": [Mount("/m", "ceph", "10.0.0.1:6789:/"), Mount("/m", "fuse.ceph-fuse", "ceph-fuse")],
    "gpfs": [Mount("/m", "gpfs", "/dev/fs1")],
    "local": [Mount("/m", "ext4", "/dev/sda1"), Mount("/m", "tmpfs", "tmpfs"), Mount("/m", "fuse.sshfs")],
    "lustre": [Mount("/m", "lustre", "10.0.0.1@o2ib:/work"), Mount("/m", "fuse.lustre", "lab@tcp:/lab")],
    "moosefs": [Mount("/m", "fuse", "mfs#10.0.0.2:9421")],
    "nfs": [Mount("/m", "nfs4", "nas:/home"), Mount("/m", "nfs", "nas:/home")],
}
SET_ON_A_DIRECTORY = {
    "beegfs": [("beegfs-ctl", "--setpattern", "--numtargets=4", "--chunksize=1048576", "/d")],
    "cephfs": [
        ("setfattr", "-n", "ceph.dir.layout.object_size", "-v", "4194304", "/d"),
        ("setfattr", "-n", "ceph.dir.layout.stripe_unit", "-v", "1048576", "/d"),
        ("setfattr", "-n", "ceph.dir.layout.stripe_count", "-v", "4", "/d"),
    ],
    "lustre": [("lfs", "setstripe", "-c", "4", "-S", "1048576", "/d")],
}


def host_with(mounts="", commands=None, **recorded):
    answers = {command_key(argv, None): Completed(0, out, "") for argv, out in (commands or {}).items()}
    return ReplayHost(Recording(files={"/proc/self/mounts": mounts}, commands=answers, **recorded))


@pytest.mark.parametrize("name", storages())
def test_every_file_system_is_recognised_by_its_mounts(name):
    assert {recognise(mount) for mount in MOUNTS[name]} == {name}


@pytest.mark.parametrize("name", storages())
def test_every_layout_is_set_by_the_file_system_s_own_commands(name):
    render = storages()[name].render
    four = FileLayout((Stripes(4, MIB),))
    assert [*(render(four, "/d") if render else ())] == SET_ON_A_DIRECTORY.get(name, [])
    assert (storages()[name].check(four, StorageFacts(targets=8)) == "") == (render is not None)


def test_the_magic_number_of_a_fuse_mount_without_a_type_is_read():
    mounts = "cluster /gpfs fuse rw 0 0\n"
    host = host_with(mounts, {("stat", "-f", "-c", "%t", "/gpfs/x"): "47504653\n"})
    assert read_storage(host, "/gpfs/x", read_mounts(host)).kind == "gpfs"


def test_a_local_file_system_is_called_by_its_type():
    host = host_with("/dev/sda1 / xfs ro,noatime 0 0\n")
    storage = read_storage(host, "/x", read_mounts(host))
    assert (storage.kind, storage.is_network, storage.is_writable, storage.reads_change_times) == (
        "xfs",
        False,
        False,
        False,
    )


def test_blanks_and_newlines_in_a_mount_point_are_understood():
    host = host_with("s /a\\040b\\012c lustre rw 0 0\n")
    assert read_storage(host, "/a b\nc/d", read_mounts(host)).kind == "lustre"


def test_a_path_outside_every_mount_is_on_nothing():
    assert read_storage(host_with(), "/x", ()) is None


def test_locks_of_nfs_hold_between_nodes_unless_the_mount_keeps_them():
    read = storages()["nfs"].read
    for options, locks in (
        (("rw",), "all nodes"),
        (("nolock",), "this node"),
        (("local_lock=all",), "this node"),
    ):
        assert read(host_with(), Mount("/m", "nfs4", "nas:/", options), "/m").locks == locks


def test_beegfs_tells_its_pattern_and_targets():
    info = (
        "Stripe pattern details:\n+ Type: RAID0\n+ Chunksize: 512K\n+ Number of storage targets: desired: 4\n"
    )
    targets = "TargetID   NodeID\n========   ======\n       1        1\n       2        1\n"
    host = host_with(
        commands={
            ("beegfs-ctl", "--getentryinfo", "/m/d"): info,
            ("beegfs-ctl", "--listtargets", "--nodetype=storage", "--mount=/m"): targets,
        },
        which={"beegfs-ctl": "/usr/bin/beegfs-ctl"},
    )
    facts = storages()["beegfs"].read(host, Mount("/m", "beegfs"), "/m/d")
    assert (facts.targets, facts.metadata_servers) == (2, None)
    assert facts.default_layout == FileLayout((Stripes(4, 512 << 10),))
    assert facts.limits == LayoutLimits(64 << 10, 2)


def test_beegfs_wants_powers_of_two():
    assert "power of two" in storages()["beegfs"].check(FileLayout((Stripes(2, 3 * MIB),)), StorageFacts())


def test_a_directory_of_cephfs_has_the_built_in_layout_until_one_is_set():
    read, mount = storages()["cephfs"].read, Mount("/c", "ceph")
    assert read(host_with(), mount, "/c/d").default_layout == FileLayout((Stripes(1, 4 * MIB),))
    text = b"stripe_unit=1048576 stripe_count=8 object_size=4194304 pool=data"
    values = {"ceph.dir.layout": text, "ceph.quota.max_bytes": b"1000", "ceph.dir.rbytes": b"400"}
    host = host_with(attributes={f"/c/d\0{name}": value.hex() for name, value in values.items()})
    facts = read(host, mount, "/c/d")
    assert facts.default_layout == FileLayout((Stripes(8, MIB, pool="data"),))
    assert facts.quota_free_bytes == 600


def test_disks_and_quota_of_gpfs_are_read_from_colon_separated_tables():
    disks = (
        "mmlsdisk::HEADER:version:reserved:reserved:nsdName:metadata:data:status:\n"
        "mmlsdisk::0:1:::d1:yes:yes:ready:\nmmlsdisk::0:1:::d2:yes:no:ready:\nmmlsdisk::0:1:::d3:no:yes:ready:\n"
    )
    quota = (
        "mmlsquota::HEADER:version:reserved:reserved:quotaType:blockUsage:blockQuota:blockLimit:\n"
        "mmlsquota::0:1:::USR:100:0:0:\nmmlsquota::0:1:::GRP:100:0:356:\n"
    )
    commands = {
        ("/usr/lpp/mmfs/bin/mmlsdisk", "fs1", "-Y"): disks,
        ("/usr/lpp/mmfs/bin/mmlsquota", "-Y", "fs1"): quota,
    }
    facts = storages()["gpfs"].read(host_with(commands=commands), Mount("/g", "gpfs", "/dev/fs1"), "/g")
    assert (facts.targets, facts.quota_free_bytes) == (2, 256 << 10)


def test_moosefs_has_servers_and_no_layout():
    text = "chunk servers|10.0.0.3|9422|1\nchunk servers|10.0.0.4|9422|2\n"
    argv = ("mfscli", "-ns|", "-H", "master", "-P", "9421", "-SCS")
    facts = storages()["moosefs"].read(
        host_with(commands={argv: text}), Mount("/m", "fuse", "mfs#master:9421"), "/m"
    )
    assert (facts.targets, facts.default_layout) == (2, None)


def test_a_library_without_the_driver_serves_by_the_general_one():
    assert served_by("lustre", ("ufs", "nfs", "lustre")) == "lustre"
    assert served_by("lustre", ("ufs", "nfs")) == "ufs"
    assert served_by("xfs", ("ufs", "nfs")) == "ufs"
    assert served_by("lustre", ()) is None
