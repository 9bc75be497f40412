#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "arch/x86_64/boot/acpi/format.h"
#include "arch/x86_64/boot/acpi/tables.h"
#include "arch/x86_64/boot/low_memory.h"
#include "base/arith.h"

// Intel's compiler (package acpica-tools) as the judge: it must understand every table, complain of
// nothing, and make the same DSDT again out of what it understood.
namespace skiff::x86_64::acpi {
namespace {

using testing::HasSubstr;
using testing::Not;

GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

Platform FullPlatform() {
  Platform platform;
  platform.cpus = 300;
  platform.low_ram = At(0, 3 * kGiB);
  platform.high_ram = At(4 * kGiB, 2 * kGiB);
  platform.mmio_window = At(3 * kGiB, 512 * kMiB);
  platform.ecam = At(0xe0000000, kMiB);
  platform.mmio64_window = At(uint64_t{1} << 38, uint64_t{1} << 37);
  platform.io_window_start = 0x1000;
  platform.io_window_length = 0xf000;
  platform.has_serial = platform.has_rtc = platform.has_pvpanic = true;
  return platform;
}

struct CommandResult {
  int status;
  std::string output;
};

CommandResult Shell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Iasl : public testing::Test {
 protected:
  Iasl()
      : memory_(GuestMemory::Allocate(std::vector{At(0, kMiB)}).value()),
        directory_(testing::TempDir() + "iasl-test") {
    Shell("rm -rf '" + directory_ + "'; mkdir -p '" + directory_ + "'");
  }

  // One file per table, named by its signature.
  void Dump(GuestAddr table) {
    const auto header = memory_.Read<TableHeader>(table).value();
    std::vector<char> bytes(header.Length);
    const auto span = memory_.At(At(table.value(), bytes.size())).value();
    span.CopyTo(std::as_writable_bytes(std::span(bytes)));
    const std::string name(header.Signature.begin(), header.Signature.end());
    std::ofstream(Path(name + ".dat"), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void DumpAll(GuestAddr rsdp_address) {
    const auto rsdp = memory_.Read<Rsdp>(rsdp_address).value();
    const GuestAddr xsdt(rsdp.XsdtAddress);
    Dump(xsdt);
    const auto header = memory_.Read<TableHeader>(xsdt).value();
    for (uint64_t at = sizeof header; at < header.Length; at += sizeof(Le64)) {
      const GuestAddr table(memory_.Read<Le64>(xsdt + at).value());
      Dump(table);
      const auto signature = memory_.Read<TableHeader>(table)->Signature;
      if (std::string(signature.begin(), signature.end()) != "FACP") continue;
      Dump(GuestAddr(memory_.Read<FadtBody>(table + sizeof header)->X_DSDT));
    }
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  CommandResult Disassemble(const std::string& table) {
    return Shell("iasl -d '" + Path(table + ".dat") + "'");
  }
  std::string Disassembly(const std::string& table) {
    const auto text = ReadFile(Path(table + ".dsl"));
    return {text.begin(), text.end()};
  }

  GuestMemory memory_;
  const std::string directory_;
};

TEST_F(Iasl, UnderstandsEveryTable) {
  DumpAll(WriteTables(memory_, FullPlatform()).value());
  for (const char* table : {"XSDT", "FACP", "APIC", "MCFG", "DSDT"}) {
    SCOPED_TRACE(table);
    const CommandResult result = Disassemble(table);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_THAT(result.output, Not(HasSubstr("rror")));
    EXPECT_THAT(result.output, Not(HasSubstr("arning")));
    EXPECT_THAT(result.output, Not(HasSubstr("nvalid")));
    const std::string text = Disassembly(table);
    EXPECT_THAT(text, Not(HasSubstr("Invalid")));
    EXPECT_THAT(text, Not(HasSubstr("ncorrect")));
    EXPECT_THAT(text, Not(HasSubstr("Unknown")));
    EXPECT_THAT(text, Not(HasSubstr("rror")));
  }
}

TEST_F(Iasl, CompilesTheSameDsdtAgain) {
  DumpAll(WriteTables(memory_, FullPlatform()).value());
  ASSERT_EQ(Disassemble("DSDT").status, 0);
  const CommandResult result = Shell("iasl -p '" + Path("again") + "' '" + Path("DSDT.dsl") + "'");
  ASSERT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr(" 0 Errors, 0 Warnings"));

  auto ours = ReadFile(Path("DSDT.dat"));
  auto theirs = ReadFile(Path("again.aml"));
  ASSERT_EQ(ours.size(), theirs.size());
  // The headers differ: iasl names itself as the creator.
  EXPECT_TRUE(std::equal(ours.begin() + sizeof(TableHeader), ours.end(),
                         theirs.begin() + sizeof(TableHeader)));
}

TEST_F(Iasl, ReadsWhatWeMeant) {
  DumpAll(WriteTables(memory_, FullPlatform()).value());
  ASSERT_EQ(Disassemble("DSDT").status, 0);
  const std::string dsdt = Disassembly("DSDT");
  for (const char* part :
       {"EisaId (\"PNP0A08\")", "EisaId (\"PNP0C02\")", "EisaId (\"PNP0501\")",
        "EisaId (\"PNP0B00\")", "\"QEMU0001\"", "Memory32Fixed (ReadWrite,", "Name (_S5, Package",
        "0x0000004000000000", "IRQNoFlags ()", "0x001FFFFF"}) {
    EXPECT_TRUE(dsdt.find(part) != std::string::npos) << part;
  }
  ASSERT_EQ(Disassemble("FACP").status, 0);
  const std::string fadt = Disassembly("FACP");
  EXPECT_THAT(fadt, HasSubstr("Hardware Reduced (V5) : 1"));
  EXPECT_THAT(fadt, HasSubstr("Reset Register Supported (V2) : 1"));
  ASSERT_EQ(Disassemble("APIC").status, 0);
  EXPECT_THAT(Disassembly("APIC"), HasSubstr("Processor x2Apic ID : 0000012B"));
}

TEST_F(Iasl, AcceptsTheSmallestMachine) {
  Platform platform;
  platform.low_ram = At(0, 16 * kMiB);
  DumpAll(WriteTables(memory_, platform).value());
  ASSERT_EQ(Disassemble("DSDT").status, 0);
  const CommandResult result = Shell("iasl -p '" + Path("again") + "' '" + Path("DSDT.dsl") + "'");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_TRUE(Disassembly("DSDT").find("COM1") == std::string::npos);
}

}  // namespace
}  // namespace skiff::x86_64::acpi
