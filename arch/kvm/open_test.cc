#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "arch/kvm/kvm.h"

namespace skiff::kvm {
namespace {

bool Mentions(const Error& error, const char* text) {
  return error.message().find(text) != std::string::npos;
}

TEST(KvmOpen, SaysWhatToDoWithoutTheDevice) {
  const auto kvm = Kvm::Open({}, "/dev/no-such-kvm");
  ASSERT_FALSE(kvm.ok());
  EXPECT_EQ(kvm.error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(Mentions(kvm.error(), "/dev/no-such-kvm")) << kvm.error().message();
  EXPECT_TRUE(Mentions(kvm.error(), "kvm_intel")) << kvm.error().message();
  EXPECT_TRUE(Mentions(kvm.error(), "tests/lab/run")) << kvm.error().message();
  EXPECT_FALSE(Mentions(kvm.error(), "\n"));
}

TEST(KvmOpen, RefusesADeviceThatIsNotKvm) {
  const auto kvm = Kvm::Open({}, "/dev/null");
  ASSERT_FALSE(kvm.ok());
  EXPECT_EQ(kvm.error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(Mentions(kvm.error(), "not the KVM device")) << kvm.error().message();
}

TEST(KvmOpen, NamesTheGroupWithoutPermission) {
  char path[] = "/tmp/skiff-kvm-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  ASSERT_EQ(chmod(path, 0), 0);
  // Root may open everything, so the test gives that up in a child.
  EXPECT_EXIT(
      {
        if (setuid(65534) != 0) _exit(2);
        const auto kvm = Kvm::Open({}, path);
        std::fputs(kvm.ok() ? "opened" : kvm.error().message().c_str(), stderr);
        _exit(0);
      },
      testing::ExitedWithCode(0), "group kvm.*EACCES|group kvm.*[Pp]ermission denied");
  unlink(path);
}

}  // namespace
}  // namespace skiff::kvm
