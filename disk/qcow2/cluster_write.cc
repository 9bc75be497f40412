#include "disk/qcow2/cluster_write.h"

#include <algorithm>

#include "disk/qcow2/read_plan.h"

namespace skiff::qcow2 {
namespace {

DiskRange Between(uint64_t start, uint64_t end) {
  auto range = DiskRange::Make(DiskOffset(start), end - start);
  return range.ok() ? *range : DiskRange();  // start <= end, both inside a cluster
}

class Composer {
 public:
  Composer(const Core& core, const Entry& old, const ClusterWrite& write,
           std::vector<FillStep>* fills)
      : core_(core),
        old_(old),
        write_(write),
        fills_(fills),
        in_place_(old.has_host() && old.host() == write.host) {}

  ClusterChange Run() {
    change_.entry = old_;
    change_.entry.set_host(write_.host, /*copied=*/true);
    change_.ordered = !write_.fresh;
    for (uint32_t n = 0; n < core_.geometry.subclusters(); ++n) Visit(n);
    return change_;
  }

 private:
  void Visit(uint32_t subcluster) {
    const uint64_t size = core_.geometry.subcluster_size();
    const uint64_t start = write_.cluster.value() + subcluster * size;
    const uint64_t touched_start = std::max(start, write_.touched.start().value());
    const uint64_t touched_end = std::min(start + size, write_.touched.end().value());
    const Content content = old_.content(subcluster);
    if (touched_start >= touched_end) {
      if (content == Content::kData && !in_place_) Copy(content, Between(start, start + size));
      if (content == Content::kData) change_.entry.SetContent(uint32_t{1} << subcluster, content);
      return;
    }
    change_.entry.SetContent(uint32_t{1} << subcluster, Content::kData);
    if (content == Content::kData && in_place_) return;
    const bool zero =
        content == Content::kZero || (content == Content::kUnallocated && !core_.HasBacking(start));
    if (!zero) change_.ordered = true;
    Copy(content, Between(start, touched_start));
    Copy(content, Between(touched_end, start + size));
  }

  void Copy(Content content, DiskRange range) {
    if (range.empty()) return;
    const ReadStep source = StepFor(core_, old_, content, range);
    if (std::holds_alternative<ReadZeroes>(source) && write_.fresh) return;
    if (content == Content::kData) change_.ordered = true;
    if (fills_ == nullptr) return;
    const FileOffset target = write_.host + core_.geometry.InCluster(range.start());
    if (!fills_->empty()) {
      FillStep& last = fills_->back();
      const FileOffset end = last.target + LengthOf(last.source);
      if (end == target && Join(last.source, source)) return;
    }
    fills_->push_back({source, target});
  }

  const Core& core_;
  const Entry& old_;
  const ClusterWrite& write_;
  std::vector<FillStep>* const fills_;
  const bool in_place_;
  ClusterChange change_;
};

}  // namespace

ClusterChange Compose(const Core& core, const Entry& old, const ClusterWrite& write,
                      std::vector<FillStep>* fills) {
  return Composer(core, old, write, fills).Run();
}

}  // namespace skiff::qcow2
