#include "tests/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace skiff::bench {
namespace {

// Something measured, as a column of numbers.
struct Quantity {
  std::string key;    // in JSON
  std::string label;  // in the table, with its unit
  int decimals;
  std::function<double(const Sample&)> of;
};

// skiff's aims: at most `limit`, and at most `ratio` times the better peer.
struct Aim {
  std::string key;
  std::string text;
  double limit;
  double ratio;
};

constexpr double kNoLimit = 1e300;

const std::vector<Aim>& Aims() {
  static const std::vector<Aim> aims = {
      {"exits", "at most 14000, and fewer than both peers", 14000, 0.9999},
      {"exec_to_init_s", "at most 0.75 x the better peer", kNoLimit, 0.75},
      {"idle_private_dirty_mib", "at most 2", 2, kNoLimit},
      {"cpu_to_first_kvm_run_ms", "at most 1/3 of the better peer", kNoLimit, 1.0 / 3},
  };
  return aims;
}

Quantity Counter(const char* name, const char* label) {
  return {name, label, 0, [name = std::string(name)](const Sample& sample) {
            const auto found = sample.run.exits.find(name);
            return found == sample.run.exits.end() ? 0 : static_cast<double>(found->second);
          }};
}

// The guest's timer costs exits by the time that the boot takes, which on a busy machine says
// little: the interrupt, waiting for a moment to inject it, and setting the next (as many as were
// injected, since other interrupts are few).
double ExitsWithoutTimer(const Sample& sample) {
  double exits = 0;
  for (const auto& [name, count] : sample.run.exits) {
    if (name == "exits") exits += static_cast<double>(count);
    if (name == "irq_exits" || name == "irq_window_exits" || name == "irq_injections")
      exits -= static_cast<double>(count);
  }
  return exits;
}

Quantity Mebibytes(const char* key, const char* label, uint64_t MemoryUse::*field) {
  return {key, label, 2, [field](const Sample& sample) {
            return static_cast<double>(sample.run.idle.*field) / 1024;
          }};
}

const std::vector<Quantity>& Quantities() {
  static const std::vector<Quantity> quantities = {
      Counter("exits", "VM exits until /init"),
      {"exits_without_timer", "  without the guest's timer's, about", 0, ExitsWithoutTimer},
      Counter("io_exits", "  port accesses"),
      Counter("mmio_exits", "  MMIO accesses"),
      Counter("irq_exits", "  interrupts of the host"),
      Counter("irq_window_exits", "  interrupt windows"),
      Counter("halt_exits", "  HLT"),
      Counter("signal_exits", "  signals"),
      Counter("pf_taken", "page faults of guest memory"),
      Counter("insn_emulation", "instructions emulated"),
      Counter("irq_injections", "interrupts injected"),
      {"exec_to_init_s", "exec to /init, s", 2,
       [](const Sample& sample) { return sample.run.exec_to_init.count(); }},
      {"cpu_to_first_kvm_run_ms", "CPU before the first KVM_RUN, ms", 1,
       [](const Sample& sample) {
         return static_cast<double>(sample.cpu_to_first_run.count()) / 1e6;
       }},
      Mebibytes("idle_private_dirty_mib", "own private dirty memory, MiB",
                &MemoryUse::own_dirty_kib),
      Mebibytes("idle_rss_mib", "own resident memory, MiB", &MemoryUse::own_rss_kib),
      Mebibytes("idle_guest_rss_mib", "guest memory resident, MiB", &MemoryUse::guest_rss_kib),
  };
  return quantities;
}

std::vector<double> Values(const Quantity& quantity, const Measured& measured) {
  std::vector<double> values;
  for (const Sample& sample : measured.samples) values.push_back(quantity.of(sample));
  return values;
}

std::vector<double> Medians(const Quantity& quantity, const std::vector<Measured>& all) {
  std::vector<double> medians;
  for (const Measured& measured : all) medians.push_back(Median(Values(quantity, measured)));
  return medians;
}

// skiff's median over the smallest of its peers'; none if that is zero.
std::optional<double> RatioToBest(const std::vector<double>& medians) {
  const double best = *std::min_element(medians.begin() + 1, medians.end());
  if (best <= 0) return std::nullopt;
  return medians.front() / best;
}

std::string Row(const Quantity& quantity, const std::vector<Measured>& all) {
  const std::vector<double> medians = Medians(quantity, all);
  std::string row = fmt::format("{:<38}", quantity.label);
  for (const double median : medians) row += fmt::format("{:>12.{}f}", median, quantity.decimals);
  const auto ratio = RatioToBest(medians);
  return row + (ratio ? fmt::format("{:>12.2f}\n", *ratio) : fmt::format("{:>12}\n", "-"));
}

std::string AimLine(const Aim& aim, const std::vector<Measured>& all) {
  const auto quantity = std::find_if(Quantities().begin(), Quantities().end(),
                                     [&](const Quantity& q) { return q.key == aim.key; });
  const std::vector<double> medians = Medians(*quantity, all);
  const double ratio = RatioToBest(medians).value_or(0);
  const bool met = medians.front() <= aim.limit && ratio <= aim.ratio;
  return fmt::format("{:<8}{}: {:.{}f} ({:.2f} x the better peer); aim: {}\n",
                     met ? "met" : "MISSED", quantity->label, medians.front(), quantity->decimals,
                     ratio, aim.text);
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

std::string Table(const std::vector<Measured>& all) {
  std::string table = fmt::format("{:<38}", fmt::format("medians of {}", all[0].samples.size()));
  for (const Measured& measured : all) table += fmt::format("{:>12}", measured.name);
  table += fmt::format("{:>12}\n", "to better");
  for (const Quantity& quantity : Quantities()) table += Row(quantity, all);
  table += "\n";
  for (const Aim& aim : Aims()) table += AimLine(aim, all);
  return table;
}

std::string Json(const std::vector<Measured>& all) {
  std::string json = fmt::format("{{\"kernel_line\": \"{}\",\n \"monitors\": {{", kKernelLine);
  const char* monitor_comma = "";
  for (const Measured& measured : all) {
    json += fmt::format("{}\n  \"{}\": {{", monitor_comma, measured.name);
    const char* comma = "";
    for (const Quantity& quantity : Quantities()) {
      const std::vector<double> values = Values(quantity, measured);
      json += fmt::format("{}\n   \"{}\": [{}]", comma, quantity.key, fmt::join(values, ", "));
      comma = ",";
    }
    json += "}";
    monitor_comma = ",";
  }
  return json + "}}\n";
}

}  // namespace skiff::bench
