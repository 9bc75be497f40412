// boot_bench --skiff PATH --kernel PATH --initrd PATH --disk PATH [--qemu PATH] [--runs N]
//            [--json FILE]
//
// Boots one guest with skiff and with QEMU in turn, N rounds, and prints what each boot cost.
// tools/bench prepares the files and runs it in the lab. Ends with 1 if something could not be
// measured; an aim that is missed is a result.
#include <fmt/format.h>
#include <getopt.h>
#include <sys/utsname.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/log.h"
#include "tests/bench/first_kvm_run.h"
#include "tests/bench/guest_run.h"
#include "tests/bench/monitors.h"
#include "tests/bench/report.h"

namespace skiff::bench {
namespace {

// A busy machine takes minutes for a boot.
constexpr std::chrono::seconds kLimit{300};

struct Options {
  std::string skiff;
  std::string qemu = "qemu-system-x86_64";
  GuestFiles files;
  std::string json;
  int runs = 5;
};

Result<int> ParseRuns(const char* text) {
  int runs = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, runs);
  if (parsed.ec != std::errc() || parsed.ptr != end || runs < 1 || runs > 1000)
    return Invalid(fmt::format("--runs {}: say a number from 1 to 1000", text));
  return runs;
}

Result<Options> ParseOptions(int count, char** arguments) {
  constexpr std::array<option, 8> kLong = {{{"skiff", required_argument, nullptr, 's'},
                                            {"qemu", required_argument, nullptr, 'q'},
                                            {"kernel", required_argument, nullptr, 'k'},
                                            {"initrd", required_argument, nullptr, 'i'},
                                            {"disk", required_argument, nullptr, 'd'},
                                            {"json", required_argument, nullptr, 'j'},
                                            {"runs", required_argument, nullptr, 'n'},
                                            {}}};
  Options options;
  for (int which; (which = getopt_long(count, arguments, "", kLong.data(), nullptr)) != -1;) {
    switch (which) {
      case 's':
        options.skiff = optarg;
        break;
      case 'q':
        options.qemu = optarg;
        break;
      case 'k':
        options.files.kernel = optarg;
        break;
      case 'i':
        options.files.initrd = optarg;
        break;
      case 'd':
        options.files.disk = optarg;
        break;
      case 'j':
        options.json = optarg;
        break;
      case 'n':
        options.runs = TRY(ParseRuns(optarg));
        break;
      default:
        return Invalid("see the head of tests/bench/boot_bench.cc");
    }
  }
  if (options.skiff.empty() || options.files.kernel.empty() || options.files.initrd.empty() ||
      options.files.disk.empty())
    return Invalid("--skiff, --kernel, --initrd and --disk are needed");
  return options;
}

Result<Sample> Measure(const Monitor& monitor) {
  Sample sample;
  auto cpu = CpuTimeToFirstKvmRun(monitor.command, kLimit);
  if (!cpu.ok()) return std::move(cpu).error().While(monitor.name);
  sample.cpu_to_first_run = cpu.value();
  sample.run = TRY(RunGuest(monitor, kLimit));
  const std::string expected = fmt::format("{} -- {}", kKernelLine, kGuestScript);
  if (sample.run.kernel_line != expected)
    return Invalid(fmt::format("{}: the kernel's command line is \"{}\", not \"{}\"", monitor.name,
                               sample.run.kernel_line, expected));
  return sample;
}

void ShowProgress(int round, const Monitor& monitor, const Sample& sample) {
  const auto exits = sample.run.exits.find("exits");
  std::fprintf(
      stderr, "round %d: %-8s %8llu exits, %6.2f s\n", round, monitor.name.c_str(),
      exits == sample.run.exits.end() ? 0ULL : static_cast<unsigned long long>(exits->second),
      sample.run.exec_to_init.count());
}

// In each round every monitor has its turn, so that a load that comes and goes meets all.
Result<std::vector<Measured>> MeasureAll(const std::vector<Monitor>& monitors, int runs) {
  std::vector<Measured> all;
  for (const Monitor& monitor : monitors) {
    all.push_back({monitor.name, {}});
    // Brings the programs and their libraries into memory.
    TRY(CpuTimeToFirstKvmRun(monitor.command, kLimit));
  }
  for (int round = 1; round <= runs; ++round) {
    for (size_t i = 0; i < monitors.size(); ++i) {
      all[i].samples.push_back(TRY(Measure(monitors[i])));
      ShowProgress(round, monitors[i], all[i].samples.back());
    }
  }
  return all;
}

void PrintHead(const std::vector<Monitor>& monitors) {
  utsname host{};
  uname(&host);
  std::printf("host kernel:  %s\nguest kernel: %s\n", host.release, kKernelLine);
  for (const Monitor& monitor : monitors)
    std::printf("%-8s      %s\n", monitor.name.c_str(),
                fmt::format("{}", fmt::join(monitor.command, " ")).c_str());
  std::printf("\n");
  std::fflush(stdout);
}

Result<void> Run(int count, char** arguments) {
  const Options options = TRY(ParseOptions(count, arguments));
  const std::vector<Monitor> monitors = Monitors(options.skiff, options.qemu, options.files);
  PrintHead(monitors);
  const std::vector<Measured> all = TRY(MeasureAll(monitors, options.runs));
  std::fputs(Table(all).c_str(), stdout);
  if (!options.json.empty() && !(std::ofstream(options.json) << Json(all)).flush())
    return Error::FromErrno("writing " + options.json);
  return {};
}

}  // namespace
}  // namespace skiff::bench

int main(int count, char** arguments) {
  const auto done = skiff::bench::Run(count, arguments);
  if (done.ok()) return 0;
  skiff::LogError(done.error().message());
  return 1;
}
