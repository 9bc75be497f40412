#pragma once

#include <optional>
#include <string>
#include <vector>

#include "disk/qcow2/bitmap_directory.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/snapshot_table.h"
#include "disk/tool/common/open_image.h"

namespace skiff::tool {

// What `info` tells of one file of a chain.
struct InfoReport {
  std::string name;
  ImageFormat format = ImageFormat::kRaw;
  uint64_t virtual_size = 0;            // bytes
  uint64_t disk_size = 0;               // bytes that the host has allocated
  std::string full_backing_name;        // resolved against the overlay's folder; empty: none
  std::optional<qcow2::Header> header;  // of a qcow2 image
  std::vector<qcow2::Snapshot> snapshots;
  qcow2::BitmapDirectory bitmaps;
};

Result<InfoReport> ReadInfo(const ImageSource& source);

// In qemu-img's words, and in the order of its keys.
std::string AsText(const InfoReport& report);
std::string AsJson(const std::vector<InfoReport>& reports, bool as_list);
// The table of `snapshot -l`, which `info` shows too; empty if there are none.
std::string SnapshotList(const std::vector<qcow2::Snapshot>& snapshots);

}  // namespace skiff::tool
