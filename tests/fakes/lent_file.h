#pragma once

#include "tests/fakes/forwarding_file.h"

namespace skiff::fakes {

// Passes everything on: for lending a file, which goes on when its user is gone.
class LentFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

 private:
  Result<void> Before(FileOp /*op*/) override { return {}; }
};

}  // namespace skiff::fakes
