#include "arch/x86_64/cpuid.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

// Leaves and fields: Intel SDM vol. 2A, "CPUID", and AMD APM vol. 3, appendix E.

namespace skiff::x86_64 {

namespace {

constexpr uint32_t kBasicInfo = 0;
constexpr uint32_t kFeatures = 1;
constexpr uint32_t kIntelCaches = 4;
constexpr uint32_t kExtendedTopology = 0xB;
constexpr uint32_t kExtendedTopologyV2 = 0x1F;
constexpr uint32_t kAmdFeatures = 0x80000001;
constexpr uint32_t kAddressSizes = 0x80000008;
constexpr uint32_t kAmdCaches = 0x8000001D;
constexpr uint32_t kAmdTopology = 0x8000001E;
constexpr uint32_t kAmdExtendedTopology = 0x80000026;

// Leaf 1.
constexpr uint32_t kEcxX2apic = 1u << 21;
constexpr uint32_t kEcxTscDeadline = 1u << 24;
constexpr uint32_t kEcxHypervisor = 1u << 31;
constexpr uint32_t kEdxMultiThreading = 1u << 28;  // more than one APIC id in the package
// Leaf 0x80000001, AMD.
constexpr uint32_t kEcxCmpLegacy = 1u << 1;  // more than one core in the package
constexpr uint32_t kEcxTopologyExtensions = 1u << 22;
// Leaves 0xB and 0x1F.
constexpr uint32_t kLevelThread = 1;
constexpr uint32_t kLevelCore = 2;

uint32_t SetField(uint32_t word, uint32_t high, uint32_t low, uint32_t value) {
  const uint32_t ones = static_cast<uint32_t>((uint64_t{1} << (high - low + 1)) - 1);
  return (word & ~(ones << low)) | (std::min(value, ones) << low);
}

const kvm_cpuid_entry2* Find(std::span<const kvm_cpuid_entry2> table, uint32_t leaf) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.function == leaf; });
  return found == table.end() ? nullptr : &*found;
}

bool IsAmd(std::span<const kvm_cpuid_entry2> table) {
  const kvm_cpuid_entry2* info = Find(table, kBasicInfo);
  if (info == nullptr) return false;
  char vendor[12];
  std::memcpy(vendor, &info->ebx, 4);
  std::memcpy(vendor + 4, &info->edx, 4);
  std::memcpy(vendor + 8, &info->ecx, 4);
  return std::memcmp(vendor, "AuthenticAMD", 12) == 0 ||
         std::memcmp(vendor, "HygonGenuine", 12) == 0;
}

struct Cpu {
  uint32_t index;      // and APIC id
  uint32_t count;      // in the package
  uint32_t core_bits;  // of the APIC id that name the core
  bool is_amd;
  bool tsc_deadline_timer;
};

void EditFeatures(kvm_cpuid_entry2& entry, const Cpu& cpu) {
  entry.ebx = SetField(entry.ebx, 31, 24, cpu.index);            // initial APIC id
  entry.ebx = SetField(entry.ebx, 23, 16, 1u << cpu.core_bits);  // APIC ids of the package
  entry.ecx |= kEcxHypervisor | kEcxX2apic;                      // KVM emulates the x2APIC
  if (cpu.tsc_deadline_timer) entry.ecx |= kEcxTscDeadline;
  entry.edx &= ~kEdxMultiThreading;
  if (cpu.count > 1) entry.edx |= kEdxMultiThreading;
}

// Which CPUs share a cache: leaf 4 and AMD's 0x8000001D have the same fields.
void EditCache(kvm_cpuid_entry2& entry, const Cpu& cpu) {
  const uint32_t type = entry.eax & 0x1F;
  if (type == 0) return;  // no more caches
  const uint32_t level = (entry.eax >> 5) & 7;
  const uint32_t package_ids = 1u << cpu.core_bits;
  entry.eax = SetField(entry.eax, 25, 14, level >= 3 ? package_ids - 1 : 0);
  if (entry.function == kIntelCaches) entry.eax = SetField(entry.eax, 31, 26, package_ids - 1);
}

void EditAmd(kvm_cpuid_entry2& entry, const Cpu& cpu, bool has_topology_leaf) {
  switch (entry.function) {
    case kAmdFeatures:
      entry.ecx &= ~(kEcxCmpLegacy | kEcxTopologyExtensions);
      if (cpu.count > 1) entry.ecx |= kEcxCmpLegacy;
      if (has_topology_leaf) entry.ecx |= kEcxTopologyExtensions;
      break;
    case kAddressSizes:
      entry.ecx = SetField(entry.ecx, 7, 0, cpu.count - 1);
      entry.ecx = SetField(entry.ecx, 15, 12, cpu.core_bits);
      break;
    case kAmdTopology:
      entry.eax = cpu.index;                     // APIC id
      entry.ebx = SetField(0, 7, 0, cpu.index);  // core; one thread in each
      entry.ecx = 0;                             // node 0 of one
      entry.edx = 0;
      break;
    default:
      break;
  }
}

void Edit(kvm_cpuid_entry2& entry, const Cpu& cpu, bool has_amd_topology) {
  if (entry.function == kFeatures) EditFeatures(entry, cpu);
  if (entry.function == kIntelCaches || entry.function == kAmdCaches) EditCache(entry, cpu);
  if (cpu.is_amd) EditAmd(entry, cpu, has_amd_topology);
}

kvm_cpuid_entry2 TopologyLevel(uint32_t leaf, uint32_t level, uint32_t type, const Cpu& cpu) {
  kvm_cpuid_entry2 entry{};
  entry.function = leaf;
  entry.index = level;
  entry.flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX;
  entry.ecx = level | type << 8;
  entry.edx = cpu.index;  // x2APIC id
  if (type == kLevelThread) entry.ebx = 1;
  if (type == kLevelCore) {
    entry.eax = cpu.core_bits;
    entry.ebx = cpu.count;
  }
  return entry;
}

void AppendTopology(CpuidTable& table, uint32_t leaf, const Cpu& cpu) {
  table.push_back(TopologyLevel(leaf, 0, kLevelThread, cpu));
  table.push_back(TopologyLevel(leaf, 1, kLevelCore, cpu));
  table.push_back(TopologyLevel(leaf, 2, 0, cpu));
}

// kvm_cpuid2 followed by its entries, as the ioctls want it.
std::vector<std::byte> Cpuid2(const CpuidTable& table) {
  const size_t table_bytes = table.size() * sizeof(kvm_cpuid_entry2);
  std::vector<std::byte> argument(sizeof(kvm_cpuid2) + table_bytes);
  kvm_cpuid2 header{};
  header.nent = static_cast<uint32_t>(table.size());
  std::memcpy(argument.data(), &header, sizeof(header));
  std::memcpy(argument.data() + sizeof(header), table.data(), table_bytes);
  return argument;
}

// Leaves that describe the host's topology and are written anew or left out.
bool IsReplaced(const kvm_cpuid_entry2& entry) {
  return entry.function == kExtendedTopology || entry.function == kExtendedTopologyV2 ||
         entry.function == kAmdExtendedTopology;
}

}  // namespace

Result<CpuidTable> SupportedCpuid(const kvm::Kvm& kvm) {
  for (size_t room = 256; room <= 4096; room *= 2) {
    std::vector<std::byte> argument = Cpuid2(CpuidTable(room));
    auto done =
        kvm::Call(kvm.fd(), KVM_GET_SUPPORTED_CPUID, "KVM_GET_SUPPORTED_CPUID", argument.data());
    if (!done.ok() && done.error().os_error() == E2BIG) continue;
    if (!done.ok()) return std::move(done).error();

    kvm_cpuid2 header{};
    std::memcpy(&header, argument.data(), sizeof(header));
    CpuidTable table(header.nent);
    std::memcpy(table.data(), argument.data() + sizeof(header),
                table.size() * sizeof(kvm_cpuid_entry2));
    return table;
  }
  return Unsupported("KVM_GET_SUPPORTED_CPUID: the host reports more than 4096 leaves");
}

Result<void> SetCpuid(const kvm::Vcpu& vcpu, const CpuidTable& table) {
  const std::vector<std::byte> argument = Cpuid2(table);
  TRY(kvm::Call(vcpu.fd(), KVM_SET_CPUID2, "KVM_SET_CPUID2", argument.data()));
  return {};
}

CpuidTable GuestCpuid(std::span<const kvm_cpuid_entry2> supported, const CpuidOptions& options,
                      uint32_t index) {
  const Cpu cpu{.index = index,
                .count = options.cpus,
                .core_bits = static_cast<uint32_t>(std::bit_width(options.cpus - 1)),
                .is_amd = IsAmd(supported),
                .tsc_deadline_timer = options.tsc_deadline_timer};
  const bool has_amd_topology = Find(supported, kAmdTopology) != nullptr;

  CpuidTable table;
  for (const kvm_cpuid_entry2& entry : supported) {
    if (IsReplaced(entry)) continue;
    table.push_back(entry);
    Edit(table.back(), cpu, has_amd_topology);
  }
  const kvm_cpuid_entry2* info = Find(supported, kBasicInfo);
  const uint32_t last_leaf = info == nullptr ? 0 : info->eax;
  if (last_leaf >= kExtendedTopology) AppendTopology(table, kExtendedTopology, cpu);
  if (last_leaf >= kExtendedTopologyV2) AppendTopology(table, kExtendedTopologyV2, cpu);
  return table;
}

uint32_t PhysicalAddressBits(std::span<const kvm_cpuid_entry2> table) {
  const kvm_cpuid_entry2* sizes = Find(table, kAddressSizes);
  return sizes == nullptr ? 36 : sizes->eax & 0xFF;
}

}  // namespace skiff::x86_64
