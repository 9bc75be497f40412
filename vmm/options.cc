// CLI11 throws; this file is compiled with exceptions and lets none out.
#include "vmm/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <sstream>

#include "base/version.h"

namespace skiff {
namespace {

constexpr const char* kAbout =
    "skiff boots Linux guests under KVM.\n"
    "\n"
    "Examples:\n"
    "  skiff run -d debian.raw                      boot a disk with the host's newest kernel\n"
    "  skiff run -k vmlinuz -i initrd.img -d debian.raw -m 2G -c 4\n"
    "  skiff run -k vmlinuz -i initrd.img -p 'quiet' --console=file:log --timeout 120";

constexpr const char* kRunAbout =
    "Boot a guest and stay with it until it ends. Ctrl-A x leaves, Ctrl-A ? helps.\n"
    "\n"
    "Exit status:\n"
    "  0    the guest powered off, halted or rebooted\n"
    "  123  the guest crashed (kernel panic, triple fault)\n"
    "  124  --timeout ran out\n"
    "  125  skiff failed: wrong options, no kernel, no /dev/kvm, a host error\n"
    "  128+N  signal N ended skiff\n"
    "The reason always goes to stderr.";

constexpr const char* kDiskHelp =
    "A virtio-blk disk, /dev/vda first; repeat for more. Options: readonly=on, "
    "format=raw|qcow2, cache=writeback|none|writethrough|directsync|unsafe, serial=ID";

// The words as they were written; what they mean is config.h's business.
struct RunWords {
  std::string kernel;
  std::string initrd;
  std::vector<std::string> append;
  std::vector<std::string> disks;
  uint32_t cpus = 1;
  std::string memory = "512M";
  std::string name;
  std::string timeout;
  std::string console = "stdio";
  std::string on_reboot = "exit";
  std::string log_level = "warning";
};

void DescribeRun(CLI::App& run, RunWords& words) {
  run.add_option("-k,--kernel", words.kernel,
                 "Linux kernel, bzImage or vmlinux (default: the host's newest in /boot, "
                 "with its initrd)")
      ->type_name("PATH");
  run.add_option("-i,--initrd", words.initrd, "Initial RAM disk")->type_name("PATH");
  run.add_option("-p,--append,--params", words.append,
                 "Words for the kernel command line, after ours; repeat for more")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  run.add_option("-d,--disk", words.disks, kDiskHelp)
      ->type_name("PATH[,OPTION...]")
      ->allow_extra_args(false);
  run.add_option("-c,--cpus", words.cpus, "Number of vCPUs")->capture_default_str();
  run.add_option("-m,--memory,--mem", words.memory, "Guest memory: 512M, 2G; MiB without a suffix")
      ->type_name("SIZE")
      ->capture_default_str();
  run.add_option("--name", words.name, "Name of the guest, for messages and process lists");
  run.add_option("--timeout", words.timeout, "End after this time: 90, 90s, 2m (status 124)")
      ->type_name("TIME");
  run.add_option("--console", words.console, "Serial console: stdio, off or file:PATH")
      ->type_name("WHERE")
      ->capture_default_str();
  run.add_option("--on-reboot", words.on_reboot, "What a guest reboot does: exit or restart")
      ->type_name("ACTION")
      ->capture_default_str();
  run.add_option("--log-level", words.log_level, "error, warning, info or debug")
      ->type_name("LEVEL")
      ->capture_default_str();
}

std::string Join(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

template <typename T>
Result<T> For(const char* option, Result<T> parsed) {
  if (!parsed.ok()) return std::move(parsed).error().While(option);
  return parsed;
}

Result<void> ChooseKernel(const RunWords& words, Config& config) {
  if (!words.initrd.empty()) config.initrd = words.initrd;
  if (!words.kernel.empty()) {
    config.kernel = words.kernel;
    return {};
  }
  KernelAndInitrd host = TRY(NewestKernelIn("/boot"));
  config.kernel = std::move(host.kernel);
  if (!config.initrd) config.initrd = std::move(host.initrd);
  return {};
}

Result<Config> ToConfig(const RunWords& words) {
  Config config;
  config.append = Join(words.append);
  config.memory_bytes = TRY(For("--memory", ParseMemorySize(words.memory)));
  if (words.cpus == 0) return Invalid("--cpus: a guest has at least one vCPU");
  config.cpus = words.cpus;
  for (const std::string& text : words.disks)
    config.disks.push_back(TRY(For(("--disk " + text).c_str(), ParseDisk(text))));
  if (!words.name.empty()) config.name = TRY(For("--name", ParseName(words.name)));
  if (!words.timeout.empty()) config.timeout = TRY(For("--timeout", ParseDuration(words.timeout)));
  config.console = TRY(For("--console", ParseConsole(words.console)));
  if (words.on_reboot == "restart") {
    config.on_reboot = OnReboot::kRestart;
  } else if (words.on_reboot != "exit") {
    return Invalid("--on-reboot: '" + words.on_reboot + "' is neither exit nor restart");
  }
  const auto level = ParseLogLevel(words.log_level);
  if (!level)
    return Invalid("--log-level: '" + words.log_level +
                   "' is unknown; say error, warning, info or debug");
  config.log_level = *level;
  TRY(ChooseKernel(words, config));
  return config;
}

std::string VersionText() { return std::string("skiff ") + kVersion + "\n"; }

Error UsageError(const CLI::App& app, const CLI::ParseError& error) {
  const bool in_run = app.got_subcommand("run");
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return Invalid(message + "; see skiff " + (in_run ? "run " : "") + "--help");
}

}  // namespace

Result<Command> ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app(kAbout, "skiff");
  app.set_version_flag("--version", VersionText());
  app.require_subcommand(0, 1);
  RunWords words;
  CLI::App* const run = app.add_subcommand("run", "Boot a guest");
  run->description(kRunAbout);
  DescribeRun(*run, words);
  CLI::App* const version = app.add_subcommand("version", "Print the version");
  CLI::App* const help = app.add_subcommand("help", "Print this help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Command(PrintText{run->parsed() ? run->help("skiff") : app.help()});
  } catch (const CLI::CallForVersion&) {
    return Command(PrintText{VersionText()});
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error);
  }
  if (version->parsed()) return Command(PrintText{VersionText()});
  if (help->parsed()) return Command(PrintText{app.help()});
  if (!run->parsed()) return Invalid("say what to do: skiff run …; see skiff --help");
  return Command(TRY(ToConfig(words)));
}

}  // namespace skiff
