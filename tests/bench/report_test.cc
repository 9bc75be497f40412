#include "tests/bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

Sample MakeSample(uint64_t exits, double seconds, uint64_t dirty_kib,
                  std::chrono::nanoseconds cpu) {
  Sample sample;
  sample.run.exits = {{"exits", exits}};
  sample.run.exec_to_init = std::chrono::duration<double>(seconds);
  sample.run.idle.own_dirty_kib = dirty_kib;
  sample.cpu_to_first_run = cpu;
  return sample;
}

const Measured kMicrovm = {"microvm", {MakeSample(40000, 10, 30000, 90ms)}};
const Measured kQ35 = {"q35", {MakeSample(28000, 12, 30000, 60ms)}};

TEST(Median, OfOddAndEven) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7}), 7);
}

TEST(Table, AimsAtTheirBoundsAreMet) {
  const Measured skiff = {"skiff", {MakeSample(14000, 7.5, 2048, 20ms)}};
  EXPECT_THAT(Table({skiff, kMicrovm, kQ35}), Not(HasSubstr("MISSED")));
}

TEST(Table, EachAimBeyondItsBoundIsMissed) {
  const Sample good = MakeSample(14000, 7.5, 2048, 20ms);
  std::vector<Sample> bad(4, good);
  bad[0].run.exits["exits"] = 14001;
  bad[1].run.exec_to_init = std::chrono::duration<double>(7.51);
  bad[2].run.idle.own_dirty_kib = 2052;
  bad[3].cpu_to_first_run = 20100us;
  const std::vector<std::string> labels = {"VM exits", "exec to", "own private", "CPU before"};
  for (size_t i = 0; i < bad.size(); ++i)
    EXPECT_THAT(Table({{"skiff", {bad[i]}}, kMicrovm, kQ35}), HasSubstr("MISSED  " + labels[i]));
}

TEST(Table, FewerExitsThanBothPeersMeansBoth) {
  const Measured skiff = {"skiff", {MakeSample(9000, 7.5, 2048, 20ms)}};
  const Measured frugal = {"q35", {MakeSample(9000, 12, 30000, 60ms)}};
  EXPECT_THAT(Table({skiff, kMicrovm, frugal}), HasSubstr("MISSED  VM exits"));
}

TEST(Table, ShowsMediansAndTheRatioToTheBetterPeer) {
  const Measured skiff = {"skiff",
                          {MakeSample(90000, 7, 2048, 20ms), MakeSample(7000, 7, 2048, 20ms),
                           MakeSample(6000, 7, 2048, 20ms)}};
  EXPECT_THAT(Table({skiff, kMicrovm, kQ35}),
              HasSubstr("VM exits until /init                          7000       40000       28000"
                        "        0.25\n"));
}

TEST(Table, TakesTheTimersExitsOut) {
  Measured skiff = {"skiff", {MakeSample(1000, 7, 2048, 20ms)}};
  skiff.samples[0].run.exits.insert(
      {{"irq_exits", 300}, {"irq_window_exits", 70}, {"irq_injections", 200}, {"io_exits", 9}});
  EXPECT_THAT(Table({skiff, kMicrovm}), HasSubstr("timer's, about           430       40000"));
}

TEST(Json, HasEverySample) {
  const Measured skiff = {"skiff",
                          {MakeSample(9, 7.5, 2048, 20ms), MakeSample(8, 7.25, 2048, 20ms)}};
  const std::string json = Json({skiff, kQ35});
  EXPECT_THAT(json, HasSubstr("\"skiff\": {\n   \"exits\": [9, 8],"));
  EXPECT_THAT(json, HasSubstr("\"exec_to_init_s\": [7.5, 7.25]"));
  EXPECT_THAT(json, HasSubstr("\"q35\": {\n   \"exits\": [28000],"));
}

}  // namespace
}  // namespace skiff::bench
