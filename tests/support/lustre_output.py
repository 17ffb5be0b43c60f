"""Output of `lfs`, transcribed from Lustre's operations manual and lfs-getstripe(1)."""

OSTS = "OBDS:\n" + "".join(f"{i}: scratch-OST{i:04x}_UUID ACTIVE\n" for i in range(8))
ONE_AWAY = OSTS.replace("OST0003_UUID ACTIVE", "OST0003_UUID INACTIVE")
MDTS = "MDTS:\n0: scratch-MDT0000_UUID ACTIVE\n1: scratch-MDT0001_UUID ACTIVE\n"
PLAIN = "stripe_count:  4 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n"
PROGRESSIVE = """  lcm_layout_gen:    0
  lcm_mirror_count:  1
  lcm_entry_count:   3
    lcme_id:             N/A
    lcme_mirror_id:      N/A
    lcme_flags:          0
    lcme_extent.e_start: 0
    lcme_extent.e_end:   131072
      stripe_count:  0       stripe_size:   131072       pattern:       mdt       stripe_offset: -1

    lcme_id:             N/A
    lcme_mirror_id:      N/A
    lcme_flags:          0
    lcme_extent.e_start: 131072
    lcme_extent.e_end:   8589934592
      stripe_count:  1       stripe_size:   1048576       pattern:       raid0       stripe_offset: -1

    lcme_id:             N/A
    lcme_mirror_id:      N/A
    lcme_flags:          0
    lcme_extent.e_start: 8589934592
    lcme_extent.e_end:   EOF
      stripe_count:  -1       stripe_size:   4194304       pattern:       raid0 stripe_offset: -1 pool: fast
"""
FILE = """/scratch/out.dat
lmm_stripe_count:  2
lmm_stripe_size:   4194304
lmm_pattern:       raid0,overstriped
lmm_layout_gen:    0
lmm_stripe_offset: 1
\tobdidx\t\t objid\t\t objid\t\t group
\t     1\t             2\t          0x2\t             0
\t     1\t             3\t          0x3\t             0
"""
QUOTA = "   /scratch  1048576       0 5242880       -      12       0       0       -\n"
