// Snapshots and resizing between random requests, with a model and qemu-img as judges.

#include <gtest/gtest.h>

#include "tests/qcow2/random_work.h"

namespace skiff::test {
namespace {

class Changes : public testing::TestWithParam<Kind> {};

TEST_P(Changes, KeepTheDiskAndItsSnapshots) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + GetParam().options);
  RandomWork work(GetParam(), seed);
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    work.Run(1, 15);
    work.Change();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Changes,
                         testing::Values(Kind{"cluster_size=64k", 8 << 20},
                                         Kind{"cluster_size=512", 1 << 18},
                                         Kind{"cluster_size=4k,refcount_bits=8", 4 << 20},
                                         Kind{"cluster_size=512,refcount_bits=64", 1 << 18},
                                         Kind{"cluster_size=2M", 16 << 20},
                                         Kind{"cluster_size=64k,extended_l2=on", 8 << 20},
                                         Kind{"cluster_size=16k,extended_l2=on", 4 << 20, "qcow2"},
                                         Kind{"cluster_size=64k", 8 << 20, "qcow2"},
                                         Kind{"cluster_size=4k,preallocation=metadata", 4 << 20}));

TEST(Changes, ManySnapshotsWithNarrowCountsAreRefusedInTime) {
  RandomWork work({"cluster_size=4k,refcount_bits=1", 1 << 20}, 1);
  work.Run(1, 20);
  work.ExpectNoRoomForASnapshot();
  work.Run(1, 20);
}

TEST(Changes, CompressedClustersInSnapshots) {
  for (const char* options :
       {"cluster_size=512", "cluster_size=64k", "cluster_size=16k,extended_l2=on"}) {
    const uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + options);
    RandomWork work({options, 1 << 20}, seed);
    work.StartCompressed();
    for (int round = 0; round < 6 && !HasFailure(); ++round) {
      work.Change();
      work.Run(1, 8);
    }
  }
}

}  // namespace
}  // namespace skiff::test
