#include "vmm/options.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/arith.h"

namespace skiff {
namespace {

Result<Command> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "skiff");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

Config RunWords(std::vector<const char*> words) {
  words.insert(words.begin(), "run");
  auto command = Parse(words);
  if (!command.ok()) {
    ADD_FAILURE() << command.error().message();
    return {};
  }
  return std::get<Config>(*command);
}

TEST(Options, KvmtoolsShortOptions) {
  const Config config = RunWords({"-k", "vmlinuz", "-i", "initrd", "-p", "quiet splash", "-d",
                                  "a.raw", "-d", "b.raw,readonly=on", "-c", "4", "-m", "1024"});
  EXPECT_EQ(config.kernel, "vmlinuz");
  EXPECT_EQ(config.initrd, "initrd");
  EXPECT_EQ(config.append, "quiet splash");
  ASSERT_EQ(config.disks.size(), 2u);
  EXPECT_TRUE(config.disks[1].open.read_only);
  EXPECT_EQ(config.cpus, 4u);
  EXPECT_EQ(config.memory_bytes, kGiB);
}

TEST(Options, LongOptionsAndTheirSynonyms) {
  const Config config = RunWords({"--kernel=k", "--params", "a=1", "--append=-- sh -c true",
                                  "--mem", "2G", "--name", "vm1", "--timeout=90", "--console",
                                  "file:log", "--on-reboot=restart", "--log-level=debug"});
  EXPECT_EQ(config.append, "a=1 -- sh -c true");
  EXPECT_EQ(config.memory_bytes, 2 * kGiB);
  EXPECT_EQ(config.name, "vm1");
  EXPECT_EQ(config.timeout, std::chrono::seconds(90));
  EXPECT_EQ(config.console.path, "log");
  EXPECT_EQ(config.on_reboot, OnReboot::kRestart);
  EXPECT_EQ(config.log_level, LogLevel::kDebug);
}

TEST(Options, HelpAndVersionNeedNoHost) {
  for (const std::vector<const char*>& words : {std::vector<const char*>{"--help"},
                                                {"run", "--help"},
                                                {"run", "-h"},
                                                {"version"},
                                                {"help"},
                                                {"--version"}}) {
    const auto command = Parse(words);
    ASSERT_TRUE(command.ok()) << words[0];
    EXPECT_TRUE(std::holds_alternative<PrintText>(*command));
  }
  const auto help = Parse({"run", "--help"});
  const std::string& text = std::get<PrintText>(*help).text;
  for (const char* word : {"--kernel", "--initrd", "--append", "--disk", "--cpus", "--memory",
                           "--timeout", "--console", "123", "Ctrl-A x"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(Options, MistakesAreOneLineThatSaysWhatToDo) {
  for (const std::vector<const char*>& words : {std::vector<const char*>{},
                                                {"fly"},
                                                {"run", "--frob"},
                                                {"run", "-k", "k", "-m", "lots"},
                                                {"run", "-k", "k", "-c", "0"},
                                                {"run", "-k", "k", "-c", "many"},
                                                {"run", "-k", "k", "-c", "-1"},
                                                {"run", "-k", "k", "--console=tv"},
                                                {"run", "-k", "k", "--on-reboot=maybe"},
                                                {"run", "-k", "k", "-d", ""},
                                                {"run", "-k", "k", "extra"},
                                                {"run", "-k"},
                                                {"run", "-k", "k", "--timeout=never"},
                                                {"run", "-k", "k", "--log-level=loud"}}) {
    const auto command = Parse(words);
    ASSERT_FALSE(command.ok()) << (words.empty() ? "nothing" : words.back());
    EXPECT_EQ(command.error().message().find('\n'), std::string::npos) << command.error().message();
    EXPECT_GT(command.error().message().size(), 8u);
  }
}

}  // namespace
}  // namespace skiff
