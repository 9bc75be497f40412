#include "tests/bench/exit_counts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace skiff::bench {
namespace {

// A folder as KVM keeps it.
class ExitCountsTest : public testing::Test {
 protected:
  void Write(const std::string& folder, const std::string& name, const std::string& text) {
    mkdir((root_ + folder).c_str(), 0700);
    std::ofstream(root_ + folder + "/" + name) << text;
  }

  std::string MakeRoot() {
    std::string path = testing::TempDir() + "/kvm.XXXXXX";
    return std::string(mkdtemp(path.data())) + "/";
  }

  std::string root_ = MakeRoot();
};

TEST_F(ExitCountsTest, SumsTheMachinesOfTheseTasksOnly) {
  Write("10-5", "exits", "100\n");
  Write("10-9", "exits", "7\n");
  Write("12-5", "exits", "1000\n");
  Write("12-5", "io_exits", "30\n");
  Write("101-5", "exits", "50000\n");  // 101 only begins like 10
  const auto counts = ReadExitCounts(root_, {10, 12});
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->at("exits"), 1107u);
  EXPECT_EQ(counts->at("io_exits"), 30u);
}

TEST_F(ExitCountsTest, PassesOverWhatIsNoCounter) {
  Write("10-5", "exits", "1\n");
  Write("10-5", "mmu_hist", "Reverse-Map Lengths\n1 2 3\n");
  mkdir((root_ + "10-5/vcpu0").c_str(), 0700);
  Write("10-5/vcpu0", "tsc-offset", "5\n");
  const auto counts = ReadExitCounts(root_, {10});
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->size(), 1u);
}

TEST_F(ExitCountsTest, SaysThatThereIsNoMachine) {
  Write("10-5", "exits", "1\n");
  EXPECT_FALSE(ReadExitCounts(root_, {11}).ok());
  EXPECT_FALSE(ReadExitCounts(root_ + "missing", {10}).ok());
}

TEST(TasksOf, FindsThisThread) {
  const std::vector<int> tasks = TasksOf(getpid());
  EXPECT_EQ(std::count(tasks.begin(), tasks.end(), getpid()), 1);
}

}  // namespace
}  // namespace skiff::bench
