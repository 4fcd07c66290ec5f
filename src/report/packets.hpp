#pragma once
// Perfetto's packets: the messages and field numbers that our traces need. Private to the room. Source:
// protos/perfetto/trace/*.proto of google/perfetto, v59.

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "penstock/core/units.hpp"
#include "penstock/report/track_event.hpp"
#include "protobuf.hpp"

namespace penstock::report {

using TrackId = std::uint64_t;  ///< positive; unique in the file
inline constexpr TrackId kNoTrack = 0;

enum class CounterUnit : std::uint8_t { none, bytes, bytes_per_second };

/// A row of the viewer, shown below its parent in order of `rank`; a counter if it has a unit.
struct ViewerTrack {
  std::string_view name;
  TrackId parent = kNoTrack;
  std::uint64_t rank = 0;
  CounterUnit unit = CounterUnit::none;
};

struct SliceAnnotation {
  std::string_view name;
  std::int64_t value;
};

struct TrackSlice {
  TrackId track;
  std::string_view name;
  std::string_view category;
  core::Picoseconds start, end;
  std::span<const SliceAnnotation> annotations;
  std::span<const std::uint64_t> flows;         ///< flows that pass through or begin
  std::span<const std::uint64_t> ending_flows;  ///< flows that end here
};

/// Strings of one kind, each sent once and then named by its id.
class StringInterner {
 public:
  explicit StringInterner(unsigned kind) : kind_(kind) {}
  /// Returns the string's id; adds a new one to the packet's interned data.
  std::uint64_t id(std::string_view text, ProtobufMessage& interned);

 private:
  unsigned kind_;  ///< field of the interned data
  std::unordered_map<std::string, std::uint64_t> ids_;
};

/// One packet sequence. Slices of a track come in order of time.
class PacketWriter {
 public:
  explicit PacketWriter(ByteSink sink);
  TrackId add_track(const ViewerTrack& track);
  void add_slice(const TrackSlice& slice);
  void add_sample(TrackId counter, core::Picoseconds time, std::int64_t value);
  void flush();  ///< passes remaining data to the sink; required at the end

 private:
  enum class EventType : std::uint8_t { begin = 1, end = 2, counter = 4 };
  ProtobufMessage& event(EventType type, TrackId track);
  void packet(core::Picoseconds time);
  void send();

  ByteSink sink_;
  StringInterner categories_, event_names_, annotation_names_;
  TrackId tracks_ = 0;
  ProtobufMessage packet_, event_, inner_, interned_;  ///< reused, to keep their memory
  ProtobufMessage block_;                              ///< packets not yet passed to the sink
};

}  // namespace penstock::report
