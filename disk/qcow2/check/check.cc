#include "disk/qcow2/check/check.h"

#include <algorithm>

#include "disk/qcow2/check/compare_counts.h"
#include "disk/qcow2/check/copied_flags.h"
#include "disk/qcow2/check/rebuild_counts.h"
#include "disk/qcow2/check/reference_walk.h"
#include "disk/qcow2/open_mark.h"

namespace skiff::qcow2 {
namespace {

uint64_t MostReferences(const Geometry& geometry) {
  return ~uint64_t{0} >> (64 - geometry.refcount_bits());
}

class Check {
 public:
  Check(File& file, Header header, Repair repair, const SayLine& say)
      : file_(file), header_(std::move(header)), repair_(repair), say_(say) {
    findings_.say = say;
  }

  Result<CheckReport> Run() {
    StoredCounts stored(file_, header_);
    TRY(stored.LoadTable());
    ReferenceCounts counts(MostReferences(header_.geometry));
    ReferenceWalk walk(file_, header_, repair_, findings_, counts);
    TRY(walk.VisitTables());
    walk.VisitCounts(stored);
    Comparison comparison = CompareCounts(file_, stored, counts, header_.geometry, findings_);
    if (findings_.must_rebuild && repair_ == Repair::kAll) return RebuildAll(stored, comparison);
    if (findings_.must_rebuild && repair_ == Repair::kLeaks) {
      TRY(Settle(stored, comparison.differences, Repair::kNothing));
      say_("ERROR need to rebuild refcount structures");
      return Corrupt("the reference counts must be rebuilt; repair with -r all");
    }
    TRY(Settle(stored, comparison.differences, repair_));
    if (repair_ != Repair::kNothing) {
      Findings silent;
      silent.say = [](const std::string&) {};
      comparison = CompareCounts(file_, stored, counts, header_.geometry, silent);
    }
    TRY(CheckCopiedFlags(file_, header_, walk, counts, stored, comparison, RepairsFlags(),
                         findings_));
    return Finish(comparison.end);
  }

 private:
  // Clusters that an open image has reserved are no leaks: the next one to open it gives them back.
  Result<void> Settle(StoredCounts& stored, std::vector<Difference> differences, Repair repair) {
    const auto reserved = [](const Difference& one) {
      return one.stored == 1 && one.references == 0;
    };
    if (repair == Repair::kNothing && HasOpenMark(header_))
      differences.erase(std::remove_if(differences.begin(), differences.end(), reserved),
                        differences.end());
    return SettleCounts(file_, stored, header_.geometry, differences, repair, findings_);
  }

  // Only where it is safe: the counts are right.
  bool RepairsFlags() const {
    const CheckReport& report = findings_.report;
    if (repair_ == Repair::kAll) return true;
    return repair_ == Repair::kLeaks && report.check_errors == 0 && report.corruptions == 0 &&
           report.leaks == 0;
  }

  // Counts what was wrong with the old structure as fixed, as far as it is right in the new one.
  Result<CheckReport> RebuildAll(StoredCounts& old, const Comparison& before) {
    TRY(Settle(old, before.differences, Repair::kNothing));
    const CheckReport wrong = findings_.report;
    say_("Rebuilding refcount structure");
    ReferenceCounts counts(MostReferences(header_.geometry));
    Findings again;
    again.say = [](const std::string&) {};
    ReferenceWalk walk(file_, header_, Repair::kNothing, again, counts);
    TRY(walk.VisitTables());
    TRY(RebuildCounts(file_, header_, old, counts));
    StoredCounts stored(file_, header_);
    TRY(stored.LoadTable());
    const Comparison after = CompareCounts(file_, stored, counts, header_.geometry, again);
    CheckReport& report = findings_.report;
    report.corruptions = again.report.corruptions;
    report.leaks = again.report.leaks;
    report.corruptions_fixed += wrong.corruptions - std::min(wrong.corruptions, report.corruptions);
    report.leaks_fixed += wrong.leaks - std::min(wrong.leaks, report.leaks);
    TRY(CheckCopiedFlags(file_, header_, walk, counts, stored, after, /*repair=*/true, findings_));
    return Finish(after.end);
  }

  Result<CheckReport> Finish(uint64_t end_cluster) {
    CheckReport& report = findings_.report;
    const Geometry& geometry = header_.geometry;
    report.total_clusters = geometry.ClustersFor(header_.size);
    report.image_end_offset = end_cluster << geometry.cluster_bits();
    const bool right = report.corruptions == 0 && report.check_errors == 0;
    if (repair_ != Repair::kNothing && right) TRY(ClearMarks());
    return report;
  }

  Result<void> ClearMarks() {
    TRY(ClearOpenMark(file_, header_));
    if (!header_.Has(kIncompatDirty | kIncompatCorrupt)) return {};
    TRY(file_.Sync());
    header_.incompatible_features &= ~(kIncompatDirty | kIncompatCorrupt);
    const Be64 features(header_.incompatible_features);
    TRY(WriteBytes(file_, FileOffset(offsetof(HeaderV3, incompatible_features)),
                   std::as_bytes(std::span(&features, 1))));
    return file_.Sync();
  }

  File& file_;
  Header header_;
  const Repair repair_;
  const SayLine& say_;
  Findings findings_;
};

}  // namespace

Result<CheckReport> CheckImage(File& file, Repair repair, const SayLine& say) {
  Header header = TRY(Header::Read(file));
  return Check(file, std::move(header), repair, say).Run();
}

Result<void> RecoverImage(File& file) {
  const Header header = TRY(Header::Read(file));
  const SayLine silent = [](const std::string&) {};
  if (header.Has(kIncompatCorrupt)) return {};
  if (header.Has(kIncompatDirty)) {
    const CheckReport report = TRY(CheckImage(file, Repair::kAll, silent));
    if (report.corruptions == 0 && report.check_errors == 0) return {};
    return Corrupt("it was not closed, and its reference counts cannot be put right");
  }
  if (!HasOpenMark(header)) return {};
  // Only in a sound image: else what looks like a leak may be what somebody wants to rescue.
  const CheckReport report = TRY(CheckImage(file, Repair::kNothing, silent));
  if (report.corruptions != report.missing_flags || report.check_errors != 0) return {};
  TRY(CheckImage(file, Repair::kLeaks, silent));
  return {};
}

}  // namespace skiff::qcow2
