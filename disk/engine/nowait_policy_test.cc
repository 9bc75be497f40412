#include "disk/engine/nowait_policy.h"

#include <gtest/gtest.h>

namespace skiff {
namespace {

// Of `count` chances, how many are taken when each try ends with `success`.
int Tries(NoWaitPolicy& policy, int count, bool success) {
  int tries = 0;
  for (int i = 0; i < count; ++i) {
    if (!policy.WorthTrying()) continue;
    ++tries;
    policy.Note(success);
  }
  return tries;
}

TEST(NoWaitPolicy, TriesAlwaysWhileItWorks) {
  NoWaitPolicy policy;
  EXPECT_EQ(Tries(policy, 1000, true), 1000);
}

TEST(NoWaitPolicy, HardlyTriesWhereItNeverWorks) {
  NoWaitPolicy policy;
  EXPECT_LE(Tries(policy, 10'000, false), 10'000 / 64 + 8);
}

TEST(NoWaitPolicy, ComesBackSoonOnceItWorks) {
  NoWaitPolicy policy;
  Tries(policy, 10'000, false);
  EXPECT_GE(Tries(policy, 200, true), 200 - 64);
}

TEST(NoWaitPolicy, OneMissAmongHitsCostsLittle) {
  NoWaitPolicy policy;
  Tries(policy, 100, true);
  policy.Note(false);
  EXPECT_GE(Tries(policy, 100, true), 99);
}

}  // namespace
}  // namespace skiff
