#pragma once
// Reads a Perfetto trace like a viewer, by its own field numbers.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::support {

struct ReadSlice {
  std::uint64_t track = 0;
  std::string category, name;
  std::int64_t start = 0, end = 0;  ///< ns
  std::map<std::string, std::int64_t> notes;
  std::vector<std::uint64_t> flows, ending_flows;
};

struct ReadTrack {
  std::string name;
  std::uint64_t parent = 0, rank = 0;
  bool counter = false;
  std::string unit;
  std::vector<std::pair<std::int64_t, std::int64_t>> samples;  ///< (ns, value), as written
};

struct ReadTrace {
  std::map<std::uint64_t, ReadTrack> tracks;
  std::vector<ReadSlice> slices;  ///< in order of their end packets

  std::string path(std::uint64_t track) const;  ///< "device 0/compute", without the root
};

/// Throws std::runtime_error when a viewer would drop or misread something: an unknown field, or an event on
/// a track not declared before. Throws for an id not interned before or used without a declaration. Throws for
/// time going back on a track, an end without a begin or the other way round, and a slice inside another.
ReadTrace read_track_events(std::string_view bytes);

/// The trace as text, a line per track, slice and sample.
std::string to_text(const ReadTrace& trace);

}  // namespace penstock::support
