from tests.support import lustre_output
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed
from mpiric.model.storage import ALL_TARGETS, FileLayout, LayoutLimits, Mount, StorageFacts, Stripes
from mpiric.storage import _lov, storages
from mpiric.storage.lustre import parse, quota

LUSTRE = storages()["lustre"]
MIB = 1 << 20


def facts_of(answers, options=("rw", "flock"), **recorded):
    commands = {
        command_key(["lfs", *arguments], None): Completed(0, out, "") for arguments, out in answers.items()
    }
    host = ReplayHost(Recording(commands=commands, environ={"USER": "me"}, **recorded))
    return LUSTRE.read(host, Mount("/scratch", "lustre", "mgs:/scratch", options), "/scratch/run")


def test_targets_and_servers_are_those_that_are_up():
    facts = facts_of({("osts", "/scratch"): lustre_output.ONE_AWAY, ("mdts", "/scratch"): lustre_output.MDTS})
    assert (facts.targets, facts.metadata_servers) == (7, 2)


def test_without_lfs_nothing_is_made_up():
    assert facts_of({}) == StorageFacts(limits=LayoutLimits(64 << 10, 2000), locks="all nodes")


def test_without_lfs_the_attribute_tells_the_layout():
    raw = _lov.pack(FileLayout((Stripes(4, MIB),)))
    assert facts_of({}, attributes={"/scratch/run\0lustre.lov": raw.hex()}).default_layout.count == 4


def test_a_directory_without_a_layout_has_its_file_system_s():
    facts = facts_of({("getstripe", "-d", "/scratch"): lustre_output.PLAIN})
    assert facts.default_layout == FileLayout((Stripes(4, MIB),))


def test_a_progressive_layout_has_an_extent_per_component_with_data_on_targets():
    assert parse(lustre_output.PROGRESSIVE) == FileLayout(
        (Stripes(1, MIB, 8 << 30), Stripes(ALL_TARGETS, 4 * MIB, pool="fast"))
    )


def test_a_file_s_layout_names_overstriping():
    assert parse(lustre_output.FILE) == FileLayout((Stripes(2, 4 * MIB),), overstriped=True)


def test_quota_is_the_rest_up_to_the_hard_limit():
    assert quota(lustre_output.QUOTA) == 4 << 30
    assert quota(lustre_output.QUOTA.replace("1048576 ", "6242880*")) == 0
    assert quota(lustre_output.QUOTA.replace("5242880", "0")) is None
    assert quota("") is None


def test_locks_follow_the_mount_options():
    assert [facts_of({}, (word,)).locks for word in ("noflock", "localflock", "rw")] == [
        "none",
        "this node",
        "",
    ]


def test_a_packed_attribute_is_read_back():
    for layout in (
        FileLayout((Stripes(8, MIB),)),
        FileLayout((Stripes(ALL_TARGETS, MIB, pool="fast"),)),
        FileLayout((Stripes(16, MIB),), overstriped=True),
        FileLayout((Stripes(1, MIB, 4 * MIB), Stripes(4, 4 * MIB, 64 * MIB), Stripes(-1, 4 * MIB))),
    ):
        assert _lov.parse(_lov.pack(layout)) == layout


def test_a_truncated_or_foreign_attribute_is_not_a_layout():
    attribute = _lov.pack(FileLayout((Stripes(1, MIB, 4 * MIB), Stripes(4, MIB))))
    assert [_lov.parse(attribute[:length]) for length in range(len(attribute))] == [None] * len(attribute)
    assert _lov.parse(b"\xff" * 64) is None


def test_a_layout_that_lustre_refuses_is_recognised():
    facts = StorageFacts(targets=8, metadata_servers=1)
    assert LUSTRE.check(FileLayout((Stripes(8, MIB),)), facts) == ""
    assert "multiple of 65536" in LUSTRE.check(FileLayout((Stripes(8, 1000),)), facts)
    assert "only 8 targets exist" in LUSTRE.check(FileLayout((Stripes(9, MIB),)), facts)
    assert LUSTRE.check(FileLayout((Stripes(9, MIB),), overstriped=True), facts) == ""
    assert "metadata servers" in LUSTRE.check(FileLayout((), directory_stripes=2), facts)


def test_a_layout_is_set_by_lfs():
    progressive = FileLayout((Stripes(1, MIB, 4 * MIB), Stripes(ALL_TARGETS, 4 * MIB)), directory_stripes=2)
    assert LUSTRE.render(progressive, "/scratch/a\nb") == (
        (*tuple("lfs setstripe -E 4194304 -c 1 -S 1048576 -E -1 -c -1 -S 4194304".split()), "/scratch/a\nb"),
        ("lfs", "setdirstripe", "-D", "-c", "2", "/scratch/a\nb"),
    )
