#pragma once

#include <memory>
#include <string>

#include "disk/image.h"
#include "disk/posix_file.h"
#include "disk/probe.h"

namespace skiff {

// Opens the image in `file` and all that it stands on. `path`: its name as the user gave it;
// relative names of backing files count from the folder in it. `files`: how its files are opened;
// those below are opened read-only. An error is one line for the user.
//
// Refused: more than 200 files one over the other, and a file that stands on itself. A backing
// file whose format the overlay does not say is taken for what its content looks like, as QEMU
// does: no guest could write to it since the overlay was made.
Result<std::unique_ptr<Image>> OpenChain(const std::string& path, ImageFormat format,
                                         std::unique_ptr<File> file, const PosixFileOptions& files);

}  // namespace skiff
