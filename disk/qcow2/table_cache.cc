#include "disk/qcow2/table_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/endian.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kLargestSlice = 4096;
constexpr uint64_t kFewestSlices = 4;
constexpr size_t kSpareBuffers = 16;

}  // namespace

uint64_t Slice::Be64At(size_t offset) const {
  Be64 value;
  std::memcpy(&value, bytes_.data() + offset, sizeof(value));
  return value;
}

TableCache::TableCache(uint64_t cluster_size, uint64_t max_bytes)
    : slice_size_(static_cast<uint32_t>(std::min(cluster_size, kLargestSlice))),
      max_slices_(std::max(max_bytes / slice_size_, kFewestSlices)) {}

Slice* TableCache::Find(FileOffset slice) {
  const auto found = by_place_.find(slice.value());
  if (found == by_place_.end()) return nullptr;
  slices_.splice(slices_.begin(), slices_, found->second);
  return &*found->second;
}

std::vector<std::byte> TableCache::StartLoad(FileOffset slice) {
  loading_.emplace(slice.value(), false);
  if (spare_.empty()) return std::vector<std::byte>(slice_size_);
  std::vector<std::byte> buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void TableCache::EndLoad(FileOffset slice, std::vector<std::byte> bytes) {
  const auto load = loading_.find(slice.value());
  const bool dropped = load == loading_.end() || load->second;
  if (load != loading_.end()) loading_.erase(load);
  if (!dropped && !bytes.empty() && !by_place_.contains(slice.value()))
    Insert(slice, std::move(bytes));
}

Slice& TableCache::InsertZeroes(FileOffset slice) {
  return Insert(slice, std::vector<std::byte>(slice_size_));
}

Slice& TableCache::Insert(FileOffset slice, std::vector<std::byte> bytes) {
  Evict();
  slices_.emplace_front(slice, std::move(bytes));
  by_place_[slice.value()] = slices_.begin();
  return slices_.front();
}

void TableCache::Erase(List::iterator slice) {
  if (spare_.size() < kSpareBuffers) spare_.push_back(std::move(slice->bytes_));
  by_place_.erase(slice->at_.value());
  slices_.erase(slice);
}

// Makes room for one more, if that takes only clean slices.
void TableCache::Evict() {
  auto candidate = slices_.end();
  while (slices_.size() >= max_slices_ && candidate != slices_.begin()) {
    --candidate;
    if (candidate->dirty() || candidate->being_written_) continue;
    const auto victim = candidate++;
    Erase(victim);
  }
}

void TableCache::Clear() {
  slices_.clear();
  by_place_.clear();
  dirty_.clear();
}

void TableCache::Drop(FileRange range) {
  for (FileOffset at = SliceOf(range.start()); at < range.end(); at = at + slice_size_) {
    const auto found = by_place_.find(at.value());
    if (found != by_place_.end()) Erase(found->second);
    const auto load = loading_.find(at.value());
    if (load != loading_.end()) load->second = true;
  }
}

void TableCache::SetBe64(Slice& slice, size_t offset, uint64_t value, uint64_t barrier) {
  const Be64 stored(value);
  std::memcpy(&Modify(slice, offset, sizeof(stored), barrier)[offset], &stored, sizeof(stored));
}

std::span<std::byte> TableCache::Modify(Slice& slice, size_t offset, size_t length,
                                        uint64_t barrier) {
  const size_t first = offset / kSectorSize;
  const size_t last = (offset + length - 1) / kSectorSize;
  MarkDirty(slice, (~uint32_t{0} << first) & (~uint32_t{0} >> (31 - last)), barrier);
  return slice.bytes_;
}

void TableCache::MarkDirty(Slice& slice, uint32_t sectors, uint64_t barrier) {
  if (!slice.dirty()) dirty_.push_back(slice.at_.value());
  slice.dirty_ |= sectors;
  slice.barrier_ = std::max(slice.barrier_, barrier);
}

void TableCache::AppendRuns(const Slice& slice, std::vector<MetadataWrite>& writes) {
  uint32_t left = slice.dirty_;
  while (left != 0) {
    const auto first = static_cast<size_t>(std::countr_zero(left));
    const auto count = static_cast<size_t>(std::countr_one(left >> first));
    const auto run = slice.bytes().subspan(first * kSectorSize, count * kSectorSize);
    writes.push_back({slice.at_ + first * kSectorSize, {run.begin(), run.end()}, slice.barrier_});
    left &= count + first >= 32 ? 0 : ~uint32_t{0} << (first + count);
  }
}

void TableCache::TakeDirty(std::vector<MetadataWrite>& writes) {
  for (const uint64_t place : dirty_) {
    const auto found = by_place_.find(place);
    if (found == by_place_.end() || !found->second->dirty()) continue;  // dropped meanwhile
    Slice& slice = *found->second;
    AppendRuns(slice, writes);
    taken_.push_back({place, slice.dirty_, slice.barrier_});
    slice.being_written_ = true;
    slice.dirty_ = 0;
    slice.barrier_ = 0;
  }
  dirty_.clear();
}

void TableCache::EndWrite(bool success) {
  for (const Taken& taken : taken_) {
    const auto found = by_place_.find(taken.place);
    if (found == by_place_.end()) continue;
    found->second->being_written_ = false;
    if (!success) MarkDirty(*found->second, taken.sectors, taken.barrier);
  }
  taken_.clear();
}

}  // namespace skiff::qcow2
