"""Values of the knobs `layout` and `mpi-io`: accepted forms, and errors."""

import pytest

from mpiric.model.storage import (
    ALL_TARGETS,
    FileLayout,
    HintRule,
    LayoutRule,
    Stripes,
    parse_hints,
    parse_layouts,
    write_layouts,
)

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("4x1MiB", [LayoutRule(".", FileLayout((Stripes(4, MIB),)))]),
        (
            "out/run/:allx4MiB;*.log:1x64KiB",
            [
                LayoutRule("out/run", FileLayout((Stripes(ALL_TARGETS, 4 * MIB),))),
                LayoutRule("*.log", FileLayout((Stripes(1, 64 << 10),)), is_pattern=True),
            ],
        ),
        (
            "1x1MiB@4MiB,allx4MiB",
            [LayoutRule(".", FileLayout((Stripes(1, MIB, 4 * MIB), Stripes(ALL_TARGETS, 4 * MIB))))],
        ),
        ("16x1MiB+over", [LayoutRule(".", FileLayout((Stripes(16, MIB),), overstriped=True))]),
        ("1x1MiB+dirs2", [LayoutRule(".", FileLayout((Stripes(1, MIB),), directory_stripes=2))]),
    ],
)
def test_a_layout_is_read_as_it_is_written(text, rules):
    assert list(parse_layouts(text)) == rules
    assert write_layouts(rules) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "4", "x1MiB", "4x1", "4x1MiB;", "fourx1MiB", "4x1MiB@", "4x1MiB@4MiB", "4x1MiB,2x1MiB"),
        *(
            "1x1MiB@8MiB,2x1MiB@4MiB,4x1MiB",
            "/scratch/:4x1MiB",
            "../out/:4x1MiB",
            "out/../x/:4x1MiB",
            "a b:4x1MiB",
        ),
        *("$(date):4x1MiB", "out/:4x1MiB\n", "*.h5:4x1MiB+dirs2", "4x1MiB+dirs", "4x1MiB+under"),
    ],
)
def test_an_invalid_layout_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_layouts(text)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("cb_nodes=4,romio_cb_write=enable", [HintRule("*", {"cb_nodes": "4", "romio_cb_write": "enable"})]),
        ("cb_config_list=*:1", [HintRule("*", {"cb_config_list": "*:1"})]),
        (
            "*.h5:cb_nodes=4;x?:cb_nodes=1",
            [HintRule("*.h5", {"cb_nodes": "4"}), HintRule("x?", {"cb_nodes": "1"})],
        ),
    ],
)
def test_hints_are_read(text, rules):
    assert list(parse_hints(text)) == rules


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "cb_nodes",
            "cb_nodes=",
            "cb_nodes=4 5",
            "cb_nodes=4\ncb_nodes=5",
            "LD_PRELOAD=x",
            "cb_nodes=4;",
        ),
        *("a/b:cb_nodes=4", "romio_lock=no", "cb_nodes=$(date)"),
    ],
)
def test_an_invalid_hint_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_hints(text)
