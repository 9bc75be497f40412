#pragma once

#include "disk/file.h"
#include "disk/qcow2/check/findings.h"

namespace skiff::qcow2 {

// Checks all metadata of the image in `file`, which nobody else uses meanwhile, and repairs what
// `repair` asks for. An error if the image can't be checked at all; what is wrong with it is in the
// report. Needs a byte of memory for each cluster in use, and one table at a time.
//
// A repair can be cut off at any moment: what it has not put right is as wrong as it was. When all
// is right after it, the dirty and the corrupt bit are cleared.
Result<CheckReport> CheckImage(File& file, Repair repair, const SayLine& say);

// Before an image is opened for writing: if the last one who wrote to it could not close it, counts
// that are out of date are made anew (the dirty bit), and clusters that it had reserved are given
// back and COPIED flags set that a change had to leave off (open_mark.h). An image that is sound is
// not touched. kCorrupt if counts can't be put right.
Result<void> RecoverImage(File& file);

}  // namespace skiff::qcow2
