#pragma once

#include <string>
#include <vector>

#include "tests/boot/skiff_process.h"

namespace skiff::boot {

// Debian 12's kernels, as guest-images/fetch-kernel names them.
inline const std::vector<std::string> kFlavours = {"6.1-amd64", "6.1-cloud-amd64", "6.12-amd64",
                                                   "6.12-cloud-amd64"};
inline constexpr const char* kDefaultFlavour = "6.1-cloud-amd64";

// Paths that boot_test.sh prepared; a missing one fails the test that asks.
std::string Skiff();
std::string Vmlinuz(const std::string& flavour = kDefaultFlavour);  // bzImage
std::string Vmlinux(const std::string& flavour = kDefaultFlavour);  // ELF with a PVH note
std::string TinyInitrd(const std::string& flavour = kDefaultFlavour);
std::string PaddedInitrd(const std::string& megabytes);  // tiny with /pad and /pad.sha256
std::string DebianDisk(const std::string& kind);         // "raw", "partitioned", "qcow2"
std::string DebianVmlinuz();                             // what Debian installed
std::string DebianInitrd();                              // what Debian made

// A file in this test's own folder that costs no space until written.
std::string SparseFile(const std::string& name, uint64_t size);

// One run of `skiff run` with the tiny guest, which runs `script` (words for its shell, at most
// about 25) and powers off.
struct Guest {
  std::string kernel = Vmlinuz();
  std::string initrd = TinyInitrd();
  std::string append = "quiet";
  std::string script = "true";
  std::vector<std::string> options = {"-m", "256M"};
  Launch launch = {};  // its arguments are filled in
};
Finished Boot(Guest guest);

// The value of the line "NAME: value" or "NAME=value" that the script printed; empty if none.
std::string Line(const Finished& finished, const std::string& name);

// Expects a run that ended by itself with `status`, the tiny guest's script having succeeded.
void ExpectGoodRun(const Finished& finished);

// Expects `status`, and each of `words` in stderr.
void ExpectEnd(const Finished& finished, int status, const std::vector<std::string>& words);

}  // namespace skiff::boot
