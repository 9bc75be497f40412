// How a run ends: exit status and the line on stderr (K-08, C-01, C-04).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/boot/guest.h"

namespace skiff::boot {
namespace {

TEST(End, PowerOffIsZero) { ExpectEnd(Boot({.script = "poweroff -f"}), 0, {"powered off"}); }

TEST(End, RebootIsZeroWhateverWayTheKernelTakes) {
  for (const char* way : {"", "reboot=k", "reboot=a", "reboot=p"})
    ExpectEnd(Boot({.append = "quiet " + std::string(way), .script = "reboot -f"}), 0,
              {"rebooted"});
}

TEST(End, RebootRestartsWhenAsked) {
  const std::string disk = SparseFile("count", 1 << 20);
  const Finished finished =
      Boot({.script = "dd if=/dev/vda bs=1 count=1 of=/tmp/c; grep -q x /tmp/c && poweroff -f; "
                      "echo x | dd of=/dev/vda conv=fsync; reboot -f",
            .options = {"-m", "256M", "-d", disk, "--on-reboot=restart"}});
  ExpectEnd(finished, 0, {"powered off"});
  const size_t first = finished.out.find("skiff-tiny: init");
  ASSERT_NE(first, std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("skiff-tiny: init", first + 1), std::string::npos) << finished.out;
}

TEST(End, HaltIsNoticed) {
  ExpectEnd(Boot({.script = "halt -f", .options = {"-m", "256M", "-c", "2"}}), 0, {"halted"});
}

TEST(End, AnIdleGuestIsNotTakenForAHaltedOne) {
  const Finished finished = Boot({.script = "sleep 12; echo awake=1"});
  ExpectGoodRun(finished);
  EXPECT_EQ(Line(finished, "awake"), "1");
}

TEST(End, TripleFaultIsACrash) {
  ExpectEnd(Boot({.append = "quiet reboot=t", .script = "reboot -f"}), 123, {"triple fault"});
}

TEST(End, PanicReportedByPvpanic) {
  const Finished finished = Boot({.script = "echo c >/proc/sysrq-trigger"});
  ExpectEnd(finished, 123, {"panicked"});
  EXPECT_NE(finished.out.find("Kernel panic - not syncing"), std::string::npos) << finished.out;
}

TEST(End, PanicWithoutPvpanicToo) {
  ExpectEnd(Boot({.script = "rmmod pvpanic-mmio; rmmod pvpanic; echo c >/proc/sysrq-trigger"}), 123,
            {"panicked"});
}

TEST(End, PanicBecauseInitIsMissing) {
  ExpectEnd(Boot({.append = "quiet rdinit=/nothing", .script = ""}), 123, {"panicked"});
}

TEST(End, LastLinesOfAPanicAreShownWhenTheConsoleIsNot) {
  const Finished finished =
      Boot({.script = "echo c >/proc/sysrq-trigger", .options = {"-m", "256M", "--console=off"}});
  ExpectEnd(finished, 123, {"panicked", "Kernel panic - not syncing"});
  EXPECT_TRUE(finished.out.empty()) << finished.out;
}

TEST(End, ConsoleToAFile) {
  const std::string log = testing::TempDir() + "/console.log";
  const Finished finished =
      Boot({.script = "echo marker", .options = {"-m", "256M", "--console=file:" + log}});
  ExpectEnd(finished, 0, {"powered off"});
  std::ifstream file(log);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(content.find("marker"), std::string::npos) << content;
}

TEST(End, Timeout) {
  const Finished finished =
      Boot({.script = "sleep 1000", .options = {"-m", "256M", "--timeout", "8"}});
  ExpectEnd(finished, 124, {"--timeout"});
}

TEST(End, Signals) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Guest guest{.script = "echo up=1; sleep 1000"};
    guest.launch.on_output = [signal](const std::string& out, int pid) {
      if (out.find("up=1") != std::string::npos) kill(pid, signal);
    };
    ExpectEnd(Boot(guest), 128 + signal, {"signal"});
  }
}

// K-07: nobody reads our stdout; the guest finishes all the
// same and the loss is reported.
TEST(Console, ThatNobodyReadsDoesNotHoldTheGuestUp) {
  const std::string disk = SparseFile("done", 1 << 20);
  Guest guest{.script =
                  "yes 0123456789012345678901234567890 | head -c 20000; "
                  "echo done | dd of=/dev/vda conv=fsync",
              .options = {"-m", "256M", "-d", disk}};
  guest.launch.read_stdout = false;
  ExpectEnd(Boot(guest), 0, {"powered off", "lost"});
  std::ifstream file(disk);
  std::string word;
  file >> word;
  EXPECT_EQ(word, "done");
}

TEST(Console, AFloodArrivesWhole) {
  const Finished finished = Boot({.script = "seq 1 1500; echo end=1"});
  ExpectGoodRun(finished);
  size_t at = 0;
  for (int i = 1; i <= 1500; ++i) {
    at = finished.out.find("\n" + std::to_string(i) + "\r", at);
    ASSERT_NE(at, std::string::npos) << "line " << i << " is missing";
  }
}

TEST(Host, NoPermissionOnKvm) {
  Guest guest;
  guest.launch.user_id = 65534;
  chmod("/dev/kvm", 0600);
  ExpectEnd(Boot(guest), 125, {"/dev/kvm", "ermission"});
}

}  // namespace
}  // namespace skiff::boot
