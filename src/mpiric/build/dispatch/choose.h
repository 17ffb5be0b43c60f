/* The choice, as a pure function of the tables and the CPU: no memory, no environment, no system calls. */
#ifndef MPIRIC_FAT_CHOOSE_H
#define MPIRIC_FAT_CHOOSE_H

#include "dispatch.h"

enum { MPIRIC_NO_FEATURE = -1 };

/* Answers of CPUID, each asked once: in a virtual machine one costs microseconds. */
struct mpiric_asked {
  mpiric_u32 leaf, subleaf, out[4];
};
struct mpiric_answers {
  const struct mpiric_cpu *cpu;
  mpiric_u32 count;
  struct mpiric_asked asked[16];
};

static const mpiric_u32 *mpiric_ask(struct mpiric_answers *answers, mpiric_u32 leaf, mpiric_u32 subleaf) {
  mpiric_u32 i;
  struct mpiric_asked *slot;
  for (i = 0; i < answers->count; i++)
    if (answers->asked[i].leaf == leaf && answers->asked[i].subleaf == subleaf) return answers->asked[i].out;
  slot = &answers->asked[i < 16 ? i : 15];
  if (i < 16) answers->count = i + 1;
  slot->leaf = leaf;
  slot->subleaf = subleaf;
  answers->cpu->cpuid(leaf, subleaf, slot->out);
  return slot->out;
}

/* A leaf beyond the last one answers with the data of another leaf on some CPUs, so the last is asked first. */
static int mpiric_leaf_exists(struct mpiric_answers *answers, mpiric_u32 leaf, mpiric_u32 subleaf) {
  mpiric_u32 first = leaf & 0x80000000u;
  if (leaf > mpiric_ask(answers, first, 0)[0]) return 0;
  return leaf != 7 || subleaf == 0 || subleaf <= mpiric_ask(answers, 7, 0)[0];
}

static int mpiric_has(struct mpiric_answers *answers, const struct mpiric_feature *feature) {
  const mpiric_u32 osxsave = 1u << 27;
  if (feature->reg >= MPIRIC_HWCAP)
    return (int)(answers->cpu->hwcap[feature->reg - MPIRIC_HWCAP] >> feature->bit) & 1;
  if (!mpiric_leaf_exists(answers, feature->leaf, feature->subleaf)) return 0;
  if (!(mpiric_ask(answers, feature->leaf, feature->subleaf)[feature->reg] >> feature->bit & 1)) return 0;
  if (!feature->state) return 1;
  if (!(mpiric_ask(answers, 1, 0)[MPIRIC_ECX] & osxsave)) return 0;
  return (answers->cpu->enabled_state() & feature->state) == feature->state;
}

/* The first feature a variant needs and the CPU lacks, MPIRIC_NO_FEATURE when it can run. */
static int mpiric_lacks(struct mpiric_answers *answers, const struct mpiric_feature *features,
                        const struct mpiric_variant *variant) {
  mpiric_u32 i;
  for (i = 0; i < variant->need_count; i++)
    if (!mpiric_has(answers, &features[variant->needs[i]])) return variant->needs[i];
  return MPIRIC_NO_FEATURE;
}

/* How many of the features that a variant was made for this CPU has. */
static mpiric_u32 mpiric_known(struct mpiric_answers *answers, const struct mpiric_feature *features,
                               const struct mpiric_variant *variant) {
  mpiric_u32 i, known = 0;
  for (i = 0; i < variant->made_for_count; i++)
    if (mpiric_has(answers, &features[variant->made_for[i]])) known++;
  return known;
}

/* Of the variants that can run, the one made for the most of this CPU's features, then for the fewest that it
   lacks, then the first; -1 when not even the baseline can run. */
static int mpiric_choose(struct mpiric_answers *answers, const struct mpiric_feature *features,
                         const struct mpiric_variant *variants, int count) {
  int i, best = -1;
  mpiric_u32 known, best_known = 0;
  for (i = 0; i < count; i++) {
    if (mpiric_lacks(answers, features, &variants[i]) != MPIRIC_NO_FEATURE) continue;
    known = mpiric_known(answers, features, &variants[i]);
    if (best < 0 || known > best_known ||
        (known == best_known && variants[i].made_for_count < variants[best].made_for_count)) {
      best = i;
      best_known = known;
    }
  }
  return best;
}

#endif
