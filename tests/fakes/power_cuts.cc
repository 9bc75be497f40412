#include "tests/fakes/power_cuts.h"

#include <algorithm>
#include <set>

#include "base/arith.h"

namespace skiff::fakes {
namespace {

std::span<std::byte> Part(std::vector<std::byte>& bytes, uint64_t begin, uint64_t end) {
  begin = std::min<uint64_t>(begin, bytes.size());
  end = std::min<uint64_t>(std::max(begin, end), bytes.size());
  return std::span(bytes).subspan(begin, end - begin);
}

}  // namespace

PowerCuts::PowerCuts(const CrashRecorder& recorder)
    : log_(recorder.Log()), durable_(recorder.initial()), now_(recorder.initial()) {}

bool PowerCuts::Advance() {
  if (prefix_ == log_.size()) return false;
  const FileEvent& event = log_[prefix_];
  if (event.op == FileOp::kSync) {
    Cover(event.count);
  } else {
    Apply(event);
  }
  ++prefix_;
  return true;
}

void PowerCuts::Apply(const FileEvent& event) {
  const uint64_t end = event.at + event.count;
  if (event.op == FileOp::kResize) return ApplyResize(event.count);
  if (event.op == FileOp::kWrite) {
    if (end > now_.size()) {
      now_.resize(end);
      NoteSize(end, /*gradual=*/true);
    }
    std::copy(event.data.begin(), event.data.end(), Part(now_, event.at, end).begin());
  } else {
    const std::byte fill = event.op == FileOp::kZero ? std::byte{0} : std::byte{0xdd};
    std::ranges::fill(Part(now_, event.at, end), fill);
  }
  NoteSectors(event.at, end, /*cut=*/false);
}

void PowerCuts::ApplyResize(uint64_t size) {
  const uint64_t old_size = now_.size();
  now_.resize(size);
  NoteSize(size, /*gradual=*/false);
  if (size < old_size) NoteSectors(size, old_size, /*cut=*/true);
}

void PowerCuts::NoteSize(uint64_t size, bool gradual) {
  size_steps_.push_back({prefix_, size, gradual});
}

// All sectors of the range have a new version: what they hold now.
void PowerCuts::NoteSectors(uint64_t begin, uint64_t end, bool cut) {
  for (uint64_t sector = begin / kSector; sector * kSector < end; ++sector) {
    Version version{prefix_, cut, {}};
    std::ranges::copy(Part(now_, sector * kSector, (sector + 1) * kSector),
                      version.content.begin());
    versions_[sector].push_back(version);
  }
}

void PowerCuts::Cover(size_t events) {
  const auto covered = [&](const auto& one) { return one.event < events; };
  const auto sizes_end = std::ranges::find_if_not(size_steps_, covered);
  for (auto it = size_steps_.begin(); it != sizes_end; ++it) durable_.resize(it->size);
  size_steps_.erase(size_steps_.begin(), sizes_end);
  for (auto it = versions_.begin(); it != versions_.end();) {
    auto& [sector, versions] = *it;
    const auto end = std::ranges::find_if_not(versions, covered);
    if (end != versions.begin()) {
      const auto target = Part(durable_, sector * kSector, (sector + 1) * kSector);
      std::copy_n(std::prev(end)->content.begin(), target.size(), target.begin());
    }
    versions.erase(versions.begin(), end);
    it = versions.empty() ? versions_.erase(it) : std::next(it);
  }
}

// Versions are counted from 1; 0 is the durable one. What came before a cut that is there is gone,
size_t PowerCuts::FirstPossible(const Versions& versions, size_t size_steps) const {
  for (size_t n = versions.size(); n > 0; --n) {
    const Version& version = versions[n - 1];
    if (version.cut && size_steps > 0 && version.event <= size_steps_[size_steps - 1].event)
      return n;
  }
  return 0;
}

// and what came after one that is not there cannot be.
size_t PowerCuts::EndOfPossible(const Versions& versions, size_t size_steps) const {
  for (size_t n = 1; n <= versions.size(); ++n) {
    const Version& version = versions[n - 1];
    if (version.cut && (size_steps == 0 || version.event > size_steps_[size_steps - 1].event))
      return n;
  }
  return versions.size() + 1;
}

size_t PowerCuts::Nearest(const Versions& versions, size_t size_steps, size_t wanted) const {
  return std::clamp(wanted, FirstPossible(versions, size_steps),
                    EndOfPossible(versions, size_steps) - 1);
}

PowerCuts::State PowerCuts::Uniform(bool everything, const char* kind) const {
  State state{{}, everything ? size_steps_.size() : 0, 0, kind};
  state.size = everything ? now_.size() : durable_.size();
  for (const auto& [sector, versions] : versions_)
    state.kept.push_back(static_cast<uint32_t>(
        Nearest(versions, state.size_steps, everything ? versions.size() : 0)));
  return state;
}

// Only what one event did, in a file of its size at the cut; or everything else.
PowerCuts::State PowerCuts::Alone(size_t event, bool inverted) const {
  State state = Uniform(true, inverted ? "all but one event" : "one event alone");
  size_t index = 0;
  for (const auto& [sector, versions] : versions_) {
    const auto of_event = [&](const Version& version) { return version.event == event; };
    const auto it = std::ranges::find_if(versions, of_event);
    const auto n = static_cast<size_t>(it - versions.begin()) + 1;
    size_t wanted = inverted ? versions.size() : 0;
    if (it != versions.end()) wanted = inverted && n < versions.size() ? wanted : n - inverted;
    state.kept[index++] = static_cast<uint32_t>(Nearest(versions, state.size_steps, wanted));
  }
  return state;
}

PowerCuts::State PowerCuts::AloneSector(size_t index, bool inverted) const {
  State state = Uniform(true, inverted ? "all but one sector" : "one sector alone");
  size_t at = 0;
  for (const auto& [sector, versions] : versions_) {
    const size_t wanted = (at == index) != inverted ? versions.size() : 0;
    state.kept[at++] = static_cast<uint32_t>(Nearest(versions, state.size_steps, wanted));
  }
  return state;
}

std::vector<size_t> PowerCuts::PendingEvents() const {
  std::set<size_t> events;
  for (const auto& [sector, versions] : versions_) {
    for (const Version& version : versions) events.insert(version.event);
  }
  return {events.begin(), events.end()};
}

// Each alone and each missing if `most` allows, else a random choice of them.
void PowerCuts::AddSingles(size_t most, std::mt19937_64& random, std::vector<State>& states) const {
  std::vector<size_t> events = PendingEvents();
  std::ranges::shuffle(events, random);
  events.resize(std::min(events.size(), most));
  for (const size_t event : events) {
    states.push_back(Alone(event, false));
    states.push_back(Alone(event, true));
  }
  std::vector<size_t> sectors(versions_.size());
  for (size_t i = 0; i < sectors.size(); ++i) sectors[i] = i;
  std::ranges::shuffle(sectors, random);
  sectors.resize(std::min(sectors.size(), most));
  for (const size_t sector : sectors) {
    states.push_back(AloneSector(sector, false));
    states.push_back(AloneSector(sector, true));
  }
}

// False, and nothing added, if there are too many.
bool PowerCuts::AddAll(size_t most, std::vector<State>& states) const {
  std::vector<State> all;
  for (size_t steps = 0; steps <= size_steps_.size(); ++steps) {
    State first{{}, steps, steps == 0 ? durable_.size() : size_steps_[steps - 1].size, "of all"};
    std::vector<State> product = {first};
    for (const auto& [sector, versions] : versions_) {
      std::vector<State> longer;
      for (const State& state : product) {
        for (size_t n = FirstPossible(versions, steps); n < EndOfPossible(versions, steps); ++n) {
          longer.push_back(state);
          longer.back().kept.push_back(static_cast<uint32_t>(n));
        }
      }
      product = std::move(longer);
      if (all.size() + product.size() > most) return false;
    }
    all.insert(all.end(), product.begin(), product.end());
  }
  if (all.size() > most) return false;
  states.insert(states.end(), all.begin(), all.end());
  return true;
}

// Some events whole, some missing, some torn.
PowerCuts::State PowerCuts::Random(std::mt19937_64& random) const {
  const auto below = [&](uint64_t end) { return random() % end; };
  State state{{}, below(size_steps_.size() + 1), 0, "random"};
  if (below(2) == 0) state.size_steps = size_steps_.size();  // growth is synced early, mostly
  state.size = state.size_steps == 0 ? durable_.size() : size_steps_[state.size_steps - 1].size;
  if (state.size_steps < size_steps_.size() && size_steps_[state.size_steps].gradual) {
    const uint64_t growth = size_steps_[state.size_steps].size - state.size;
    state.size = std::max(state.size, AlignDown(state.size + below(growth), kSector));
  }
  enum { kMissing, kWhole, kTorn };
  std::map<size_t, uint64_t> fates;
  const uint64_t missing = below(100);
  const uint64_t torn = below(50);
  for (const size_t event : PendingEvents())
    fates[event] = below(100) < torn ? kTorn : below(100) < missing ? kMissing : kWhole;
  for (const auto& [sector, versions] : versions_) {
    size_t wanted = 0;
    for (size_t n = 1; n <= versions.size(); ++n) {
      const uint64_t fate = fates[versions[n - 1].event];
      if (fate == kWhole || (fate == kTorn && below(2) != 0)) wanted = n;
    }
    state.kept.push_back(static_cast<uint32_t>(Nearest(versions, state.size_steps, wanted)));
  }
  return state;
}

std::vector<PowerCuts::State> PowerCuts::States(const Limits& limits,
                                                std::mt19937_64& random) const {
  std::vector<State> states;
  if (AddAll(limits.exhaustive, states)) return states;
  states.push_back(Uniform(false, "nothing"));
  states.push_back(Uniform(true, "everything"));
  AddSingles(limits.singles, random, states);
  for (size_t n = 0; n < limits.random; ++n) states.push_back(Random(random));
  return states;
}

std::vector<std::byte> PowerCuts::Bytes(const State& state) const {
  std::vector<std::byte> bytes = durable_;
  bytes.resize(state.size);
  size_t index = 0;
  for (const auto& [sector, versions] : versions_) {
    const uint32_t kept = state.kept[index++];
    if (kept == 0) continue;
    const auto target = Part(bytes, sector * kSector, (sector + 1) * kSector);
    std::copy_n(versions[kept - 1].content.begin(), target.size(), target.begin());
  }
  return bytes;
}

std::string PowerCuts::Describe(const State& state) const {
  std::string text = std::string(state.kind) + ": cut after " + std::to_string(prefix_) +
                     " events; size " + std::to_string(state.size) + " of " +
                     std::to_string(now_.size()) + "; durable " + std::to_string(durable_.size()) +
                     "; sectors with unsynced events:\n";
  size_t index = 0;
  for (const auto& [sector, versions] : versions_) {
    const uint32_t kept = state.kept[index++];
    text += "  " + std::to_string(sector * kSector) + ": ";
    text += kept == 0 ? "durable" : "as after event " + std::to_string(versions[kept - 1].event);
    text += ", of";
    for (const Version& version : versions) text += " " + std::to_string(version.event);
    text += "\n";
  }
  return text;
}

}  // namespace skiff::fakes
