#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace skiff::io {

// QEMU's options of a block device by their dotted names: {"driver": "qcow2", "file.filename": …}.
// On/off values are the words "on" and "off".
using BlockOptions = std::map<std::string, std::string>;

// "driver=qcow2,file.filename=x"; a comma inside a value is written twice, a name alone means on.
BlockOptions ParseOptionString(std::string_view text);

// What the name of an image says: a path, also with "file:" before it, or "json:{…}" with the
// options themselves. Errors are QEMU's.
Result<BlockOptions> ParseImageName(std::string_view name);

}  // namespace skiff::io
