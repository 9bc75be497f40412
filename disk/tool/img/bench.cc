// skiff-img bench

#include <chrono>
#include <cstdio>

#include "disk/tool/common/program.h"
#include "disk/tool/common/size_text.h"
#include "disk/tool/img/bench_run.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"
#include "disk/tool/img/one_image.h"

namespace skiff::tool {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'},
    {"c", true},
    {"d", true},
    {"f", true},
    {"flush-interval", true},
    {"i", true},
    {"n", false},
    {"native", false},
    {"no-drain", false},
    {"o", true},
    {"pattern", true},
    {"q", false},
    {"s", true},
    {"S", true},
    {"t", true},
    {"w", false},
    {"image-opts", false},
    {"force-share", false, 'U'},
};

Result<uint64_t> Number(const Arguments& arguments, const char* option, uint64_t otherwise,
                        const char* what, uint64_t most = INT32_MAX) {
  if (!arguments.Has(option)) return otherwise;
  const Result<uint64_t> value = ParseSize(arguments.Value(option));
  if (value.ok() && *value <= most) return value;
  return Invalid(std::string("Invalid ") + what + " specified");
}

Result<BenchPlan> PlanOf(const Arguments& arguments) {
  BenchPlan plan;
  plan.count = TRY(Number(arguments, "c", plan.count, "request count"));
  plan.depth = static_cast<uint32_t>(TRY(Number(arguments, "d", plan.depth, "queue depth", 65536)));
  plan.offset = TRY(Number(arguments, "o", 0, "offset", INT64_MAX));
  plan.buffer_size = TRY(Number(arguments, "s", plan.buffer_size, "buffer size"));
  plan.step = TRY(Number(arguments, "S", plan.buffer_size, "step size"));
  plan.flush_interval = TRY(Number(arguments, "flush-interval", 0, "flush interval"));
  plan.pattern = static_cast<uint8_t>(TRY(Number(arguments, "pattern", 0, "pattern byte", 255)));
  plan.write = arguments.Has("w");
  plan.drain = !arguments.Has("no-drain");
  if (plan.depth == 0) return Invalid("Invalid queue depth specified");
  if (plan.buffer_size == 0 || plan.buffer_size % 512 != 0)
    return Invalid("The buffer size must be a multiple of 512 and not 0");
  if (!plan.write && plan.flush_interval != 0)
    return Invalid("--flush-interval is only available in write tests");
  if (plan.flush_interval != 0 && plan.flush_interval < plan.depth)
    return Invalid("Flush interval can't be smaller than depth");
  return plan;
}

Result<void> CheckEngine(const std::string& name) {
  // All of them are served by the one engine there is, so that scripts go on working.
  if (name.empty() || name == "threads" || name == "native" || name == "io_uring") return {};
  return Invalid("Invalid aio option: " + name);
}

void Announce(const BenchPlan& plan) {
  std::printf(
      "Sending %llu %s requests, %llu bytes each, %u in parallel (starting at offset %llu, step "
      "size %llu)\n",
      static_cast<unsigned long long>(plan.count), plan.write ? "write" : "read",
      static_cast<unsigned long long>(plan.buffer_size), plan.depth,
      static_cast<unsigned long long>(plan.offset), static_cast<unsigned long long>(plan.step));
  if (plan.flush_interval != 0)
    std::printf("Sending flush every %llu requests\n",
                static_cast<unsigned long long>(plan.flush_interval));
}

Result<void> RunCommand(const Arguments& arguments) {
  const BenchPlan plan = TRY(PlanOf(arguments));
  TRY(CheckEngine(arguments.Value("i")));
  ImageSource source = TRY(SourceOf(arguments));
  source.writable = plan.write;
  const std::unique_ptr<BlockBackend> disk = TRY(OpenBackend(source));
  if (disk->limits().size < plan.buffer_size)
    return Invalid("the disk is smaller than one request");
  Announce(plan);  // -q is for what other subcommands print
  const auto start = std::chrono::steady_clock::now();
  Result<void> run = RunBench(*disk, plan);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!run.ok()) return std::move(run).error().While("Failed request");
  std::printf("Run completed in %.3f seconds.\n", took.count());
  return {};
}

}  // namespace

int BenchCommand(int argc, char** argv) {
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  if (arguments->names().size() != 1) return FailUsage("Expecting one image file name");
  const Result<void> done = RunCommand(*arguments);
  return done.ok() ? 0 : Fail(done.error().message());
}

}  // namespace skiff::tool
