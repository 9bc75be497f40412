#include "vmm/console/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "vmm/console/input_reader.h"
#include "vmm/console/output_buffer.h"
#include "vmm/console/recent_output.h"
#include "vmm/console/terminal.h"

namespace skiff {
namespace {

constexpr std::string_view kHelp =
    "\r\nskiff: Ctrl-A x  leave, the guest ends at once"
    "\r\n       Ctrl-A Ctrl-A  send one Ctrl-A to the guest"
    "\r\n       Ctrl-A ?  this help\r\n";

class HostConsole final : public Console, public CharacterPort {
 public:
  explicit HostConsole(std::function<void()> quit) : quit_(std::move(quit)) {}
  ~HostConsole() override { Finish(); }

  Result<void> OpenStdio();
  Result<void> OpenFile(const std::string& path);

  CharacterPort& port() override { return *this; }
  void Finish() override;
  uint64_t lost_bytes() const override { return output_ ? output_->lost_bytes() : 0; }
  std::string LastLines() const override { return recent_.Text(); }

  void Send(std::span<const std::byte> bytes) override {
    recent_.Append(bytes);
    if (output_) output_->Append(bytes);
  }
  size_t Receive(std::span<std::byte> bytes) override {
    return input_ ? input_->Receive(bytes) : 0;
  }
  void OnReadable(std::function<void()> callback) override {
    if (input_) input_->OnReadable(std::move(callback));
  }
  void RequestCallback() override {
    if (input_) input_->RequestCallback();
  }

 private:
  void OnCommand(EscapeCommand command) {
    if (command == EscapeCommand::kQuit) quit_();
    if (command == EscapeCommand::kHelp) output_->Append(std::as_bytes(std::span(kHelp)));
  }

  const std::function<void()> quit_;
  RecentOutput recent_;
  UniqueFd file_;
  // Set while the console is opened and never replaced, so that other threads may use them.
  std::unique_ptr<OutputBuffer> output_;
  std::unique_ptr<Terminal> terminal_;
  std::unique_ptr<InputReader> input_;
};

Result<void> HostConsole::OpenStdio() {
  terminal_ = Terminal::Open(STDIN_FILENO);  // before there are threads
  output_ = TRY(OutputBuffer::Start(STDOUT_FILENO));
  input_ = TRY(InputReader::Start(STDIN_FILENO, terminal_.get(),
                                  [this](EscapeCommand command) { OnCommand(command); }));
  return {};
}

Result<void> HostConsole::OpenFile(const std::string& path) {
  // O_NONBLOCK while opening only: a FIFO without a reader is an error, not a reason to hang.
  file_ = UniqueFd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (!file_.valid()) return Error::FromErrno("open").While("console file " + path);
  const int flags = fcntl(file_.get(), F_GETFL);
  if (flags < 0 || fcntl(file_.get(), F_SETFL, flags & ~O_NONBLOCK) < 0)
    return Error::FromErrno("fcntl").While("console file " + path);
  output_ = TRY(OutputBuffer::Start(file_.get()));
  return {};
}

void HostConsole::Finish() {
  if (input_) input_->Stop();
  if (output_) output_->Finish();
  terminal_.reset();
}

}  // namespace

Result<std::unique_ptr<Console>> Console::Open(const ConsoleConfig& config,
                                               std::function<void()> quit) {
  auto console = std::make_unique<HostConsole>(std::move(quit));
  if (config.mode == ConsoleMode::kStdio) TRY(console->OpenStdio());
  if (config.mode == ConsoleMode::kFile) TRY(console->OpenFile(config.path));
  return std::unique_ptr<Console>(std::move(console));
}

}  // namespace skiff
