#include "disk/transfer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace skiff {
namespace {

constexpr std::string_view kContent = "abcdefghijklmnopqrstuvwxyz";

// A host whose calls move at most as much as told, call by call; negative: fail with that errno.
class FakeHost {
 public:
  explicit FakeHost(std::deque<ssize_t> script) : script_(std::move(script)) {}

  ssize_t operator()(const iovec* buffers, int count, uint64_t done) {
    ++calls_;
    ssize_t limit = 1'000'000;
    if (!script_.empty()) {
      limit = script_.front();
      script_.pop_front();
    }
    if (limit < 0) {
      errno = static_cast<int>(-limit);
      return -1;
    }
    if (count > IOV_MAX) {
      errno = EINVAL;
      return -1;
    }
    ssize_t moved = 0;
    for (int i = 0; i < count && moved < limit; ++i) {
      for (size_t k = 0; k < buffers[i].iov_len && moved < limit; ++k, ++moved) {
        const uint64_t at = done + static_cast<uint64_t>(moved);
        if (at >= kContent.size()) return moved;
        static_cast<char*>(buffers[i].iov_base)[k] = kContent[at];
      }
    }
    return moved;
  }
  int calls() const { return calls_; }

 private:
  std::deque<ssize_t> script_;
  int calls_ = 0;
};

struct Outcome {
  Result<uint64_t> moved;
  std::string text;
};

Outcome Read(FakeHost& host, std::vector<size_t> lengths, uint32_t block = 1) {
  std::string text(100, '.');
  std::vector<iovec> buffers;
  size_t at = 0;
  for (const size_t length : lengths) {
    buffers.push_back({text.data() + at, length});
    at += length;
  }
  Result<uint64_t> moved = TransferAll(buffers, block, "read", std::ref(host));
  text.resize(at);
  return {std::move(moved), text};
}

TEST(TransferAll, GoesOnAfterShortTransfersAndInterruptions) {
  FakeHost host({3, -EINTR, 1, -EINTR, 4, 2});
  const Outcome outcome = Read(host, {2, 5, 0, 1, 7});
  ASSERT_TRUE(outcome.moved.ok());
  EXPECT_EQ(outcome.moved.value(), 15u);
  EXPECT_EQ(outcome.text, kContent.substr(0, 15));
}

TEST(TransferAll, OneCallIsEnoughWhenTheHostMovesAll) {
  FakeHost host({});
  EXPECT_EQ(Read(host, {10, 10}).moved.value(), 20u);
  EXPECT_EQ(host.calls(), 1);
}

TEST(TransferAll, StopsAtTheEndOfTheFile) {
  FakeHost host({});
  const Outcome outcome = Read(host, {20, 20});
  EXPECT_EQ(outcome.moved.value(), kContent.size());
  EXPECT_EQ(outcome.text.substr(0, 26), kContent);
}

TEST(TransferAll, TakesPartOfABlockForTheEndOfTheFile) {
  FakeHost host({8, 5});  // direct I/O must not go on at byte 13
  EXPECT_EQ(Read(host, {16, 8}, /*block=*/8).moved.value(), 13u);
  EXPECT_EQ(host.calls(), 2);
}

TEST(TransferAll, ReportsAFailureInTheMiddle) {
  FakeHost host({4, -ENOSPC});
  const Outcome outcome = Read(host, {10});
  ASSERT_FALSE(outcome.moved.ok());
  EXPECT_EQ(outcome.moved.error().code(), ErrorCode::kNoSpace);
}

TEST(TransferAll, SplitsListsThatAreTooLongForOneCall) {
  std::string text(IOV_MAX + 1, '.');
  std::vector<iovec> buffers;
  for (char& byte : text) buffers.push_back({&byte, 1});
  FakeHost host({});
  const Result<uint64_t> moved = TransferAll(buffers, 1, "read", std::ref(host));
  ASSERT_TRUE(moved.ok()) << moved.error().message();
  EXPECT_EQ(text.substr(0, kContent.size()), kContent);
}

TEST(TransferAll, NothingToMoveIsNoCall) {
  FakeHost host({});
  EXPECT_EQ(Read(host, {0, 0}).moved.value(), 0u);
  EXPECT_EQ(host.calls(), 0);
}

}  // namespace
}  // namespace skiff
