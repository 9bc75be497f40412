#pragma once

#include "disk/qcow2/header.h"

namespace skiff::qcow2 {

// A mark in the header that says: clusters are reserved here, with a count and no reference. It is
// there from the first reservation until the image is closed. Whoever opens an image that has it
// gives such clusters back (a crash leaves nothing to repair); others do not know it and pass it
// by.
//
// It is a header extension behind the others. Setting and clearing it changes what fits into one
// sector, or what nothing looks at yet, so that a cut in between leaves a sound header.

// Whether the image was open when its writer ended.
bool HasOpenMark(const Header& header);
// False: there is no room, and the image goes without.
Result<bool> SetOpenMark(File& file, Header& header);
Result<void> ClearOpenMark(File& file, Header& header);

}  // namespace skiff::qcow2
