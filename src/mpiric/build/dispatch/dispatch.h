/* What a fat executable's generated tables and its dispatcher share.  See docs/concepts/fat-executables.md. */
#ifndef MPIRIC_FAT_DISPATCH_H
#define MPIRIC_FAT_DISPATCH_H

typedef unsigned char mpiric_u8;
typedef unsigned short mpiric_u16;
typedef unsigned int mpiric_u32;
typedef unsigned long mpiric_u64;

enum mpiric_register { MPIRIC_EAX, MPIRIC_EBX, MPIRIC_ECX, MPIRIC_EDX, MPIRIC_HWCAP, MPIRIC_HWCAP2 };

/* One CPU feature: where the CPU reports it, and the register state the kernel must have enabled for it. */
struct mpiric_feature {
  const char *name;
  mpiric_u32 leaf, subleaf;
  mpiric_u8 reg, bit;
  mpiric_u64 state;
};

/* Data that shared libraries see under one address: filled from the chosen variant's initial value. */
struct mpiric_copy {
  void *to;
  const void *from;
  mpiric_u64 bytes;
  int read_only;
};

/* Constructors or destructors of one priority in one variant. */
struct mpiric_calls {
  void (*const *first)(int, char **, char **);
  mpiric_u64 count;
};

struct mpiric_variant {
  const char *name;
  const mpiric_u16 *needs; /* features its code cannot run without: indices into the table */
  mpiric_u32 need_count;
  const mpiric_u16 *made_for; /* features its target has */
  mpiric_u32 made_for_count;
  void *const *functions; /* what the trampolines jump to */
  const struct mpiric_copy *copies;
  mpiric_u32 copy_count;
  struct mpiric_calls preinit;
};

/* What the choice is made from: the real CPU, or a test's. */
struct mpiric_cpu {
  void (*cpuid)(mpiric_u32 leaf, mpiric_u32 subleaf, mpiric_u32 out[4]);
  mpiric_u64 (*enabled_state)(void);
  mpiric_u64 hwcap[2];
};

#endif
