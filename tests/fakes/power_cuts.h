#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/fakes/crash_recorder.h"

namespace skiff::fakes {

// Walks along the log of a CrashRecorder, and tells at each place what a power cut there may leave
// of the file. What a completed sync covered is there. Of later events any part is, in any order,
// in sectors of 512 bytes: a sector has what was durable, or what it held after any of the later
// events. Sizes change in order, and a write may grow the file in part; what was cut off is gone
// once the smaller size is there. Growth that has no data reads as zeroes. A discarded range has
// undefined content. Used by one thread, when nobody writes any more.
class PowerCuts {
 public:
  static constexpr uint64_t kSector = 512;

  // One way to lose things.
  struct State {
    std::vector<uint32_t> kept;  // per sector with later events: which of them; 0: the durable one
    size_t size_steps;           // changes of the size that are there
    uint64_t size;
    const char* kind;
  };
  struct Limits {
    size_t exhaustive = 48;  // if there are no more states than this, all
    size_t singles = 32;     // alone, and all but it: each event and each sector, up to so many
    size_t random = 8;       // besides nothing, everything and the singles
  };

  explicit PowerCuts(const CrashRecorder& recorder);

  // One event further; false at the end of the log.
  bool Advance();
  size_t prefix() const { return prefix_; }  // events that have happened
  const std::vector<FileEvent>& log() const { return log_; }

  std::vector<State> States(const Limits& limits, std::mt19937_64& random) const;
  std::vector<std::byte> Bytes(const State& state) const;
  std::string Describe(const State& state) const;

 private:
  struct Version {
    size_t event;
    bool cut;  // the file ended before this sector
    std::array<std::byte, kSector> content;
  };
  struct SizeStep {
    size_t event;
    uint64_t size;
    bool gradual;  // any size on the way is possible
  };
  using Versions = std::vector<Version>;

  void Apply(const FileEvent& event);
  void ApplyResize(uint64_t size);
  void Cover(size_t events);
  void NoteSectors(uint64_t begin, uint64_t end, bool cut);
  void NoteSize(uint64_t size, bool gradual);

  size_t FirstPossible(const Versions& versions, size_t size_steps) const;
  size_t EndOfPossible(const Versions& versions, size_t size_steps) const;
  size_t Nearest(const Versions& versions, size_t size_steps, size_t wanted) const;
  bool AddAll(size_t most, std::vector<State>& states) const;
  void AddSingles(size_t most, std::mt19937_64& random, std::vector<State>& states) const;
  State Random(std::mt19937_64& random) const;
  State Uniform(bool everything, const char* kind) const;
  State Alone(size_t event, bool inverted) const;
  State AloneSector(size_t index, bool inverted) const;
  std::vector<size_t> PendingEvents() const;

  const std::vector<FileEvent> log_;
  size_t prefix_ = 0;
  std::vector<std::byte> durable_;
  std::vector<std::byte> now_;             // as a reader sees it
  std::map<uint64_t, Versions> versions_;  // by sector number; in order of events
  std::vector<SizeStep> size_steps_;
};

}  // namespace skiff::fakes
