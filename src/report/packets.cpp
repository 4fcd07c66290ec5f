#include "packets.hpp"

#include <zlib.h>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

constexpr std::size_t kBlock = 256 * 1024;  ///< bytes compressed at a time
constexpr int kEffort = 1;                  ///< minimum of zlib: a quarter of the size, at 150 MB/s
constexpr std::uint64_t kSequence = 1;      ///< the only writer of the file

namespace trace_field {
constexpr unsigned packet = 1;
}
namespace packet_field {
constexpr unsigned timestamp = 8, sequence = 10, event = 11, interned = 12, flags = 13, compressed = 50,
                   track = 60;
}
namespace sequence_flag {
constexpr std::uint64_t cleared = 1, needs_interned = 2;
}
namespace interned_field {
constexpr unsigned categories = 1, event_names = 2, annotation_names = 3;
constexpr unsigned id = 1, name = 2;  ///< of each entry
}  // namespace interned_field
namespace event_field {
constexpr unsigned category = 3, annotation = 4, type = 9, name = 10, track = 11, counter_value = 30,
                   flow = 47, ending_flow = 48;
}
namespace annotation_field {
constexpr unsigned name = 1, integer = 4;
}
namespace track_field {
constexpr unsigned id = 1, name = 2, parent = 5, counter = 8, child_order = 11, rank = 12;
constexpr std::uint64_t explicit_order = 3;
}  // namespace track_field
namespace counter_field {
constexpr unsigned unit = 3, unit_name = 6;
constexpr std::uint64_t size_bytes = 3;
}  // namespace counter_field

}  // namespace

std::uint64_t StringInterner::id(std::string_view text, ProtobufMessage& interned) {
  const auto [known, is_new] = ids_.try_emplace(std::string(text), ids_.size() + 1);  // zero is not an id
  if (is_new) {
    ProtobufMessage entry;
    entry.number(interned_field::id, known->second).text(interned_field::name, text);
    interned.message(kind_, entry);
  }
  return known->second;
}

/// The first packet declares that ids start over; packets that use ids declare it, for readers that missed
/// the start.
PacketWriter::PacketWriter(ByteSink sink)
    : sink_(std::move(sink)),
      categories_(interned_field::categories),
      event_names_(interned_field::event_names),
      annotation_names_(interned_field::annotation_names) {
  packet_.number(packet_field::sequence, kSequence).number(packet_field::flags, sequence_flag::cleared);
  send();
}

TrackId PacketWriter::add_track(const ViewerTrack& track) {
  ProtobufMessage out;
  out.number(track_field::id, ++tracks_).text(track_field::name, track.name);
  if (track.parent != kNoTrack) out.number(track_field::parent, track.parent);
  out.number(track_field::rank, track.rank);
  ProtobufMessage counter;
  if (track.unit == CounterUnit::bytes) counter.number(counter_field::unit, counter_field::size_bytes);
  if (track.unit == CounterUnit::bytes_per_second) counter.text(counter_field::unit_name, "bytes/s");
  if (track.unit != CounterUnit::none) out.message(track_field::counter, counter);
  if (track.unit == CounterUnit::none) out.number(track_field::child_order, track_field::explicit_order);
  packet_.number(packet_field::sequence, kSequence).message(packet_field::track, out);
  send();
  return tracks_;
}

void PacketWriter::add_slice(const TrackSlice& slice) {
  interned_.clear();
  event(EventType::begin, slice.track)
      .number(event_field::category, categories_.id(slice.category, interned_))
      .number(event_field::name, event_names_.id(slice.name, interned_));
  for (const SliceAnnotation& annotation : slice.annotations) {
    inner_.clear();
    inner_.number(annotation_field::name, annotation_names_.id(annotation.name, interned_))
        .number(annotation_field::integer, static_cast<std::uint64_t>(annotation.value));
    event_.message(event_field::annotation, inner_);
  }
  for (const std::uint64_t flow : slice.flows) event_.fixed(event_field::flow, flow);
  for (const std::uint64_t flow : slice.ending_flows) event_.fixed(event_field::ending_flow, flow);
  packet_.number(packet_field::flags, sequence_flag::needs_interned);
  if (!interned_.empty()) packet_.message(packet_field::interned, interned_);
  packet(slice.start);
  event(EventType::end, slice.track);
  packet(slice.end);
}

void PacketWriter::add_sample(TrackId counter, core::Picoseconds time, std::int64_t value) {
  event(EventType::counter, counter).number(event_field::counter_value, static_cast<std::uint64_t>(value));
  packet(time);
}

/// Writes a block, which is itself a packet: its packets in zlib's form (RFC 1950).
void PacketWriter::flush() {
  const auto* bytes = reinterpret_cast<const Bytef*>(block_.bytes().data());
  std::string deflated(compressBound(block_.size()), '\0');
  uLongf size = deflated.size();
  const int fault =
      compress2(reinterpret_cast<Bytef*>(deflated.data()), &size, bytes, block_.size(), kEffort);
  core::require(fault == Z_OK, "a buffer of compressBound() bytes is large enough");
  deflated.resize(size);
  ProtobufMessage trace;
  trace.message(trace_field::packet, packet_.text(packet_field::compressed, deflated));
  sink_(trace.bytes());
  packet_.clear(), block_.clear();
}

ProtobufMessage& PacketWriter::event(EventType type, TrackId track) {
  event_.clear();
  return event_.number(event_field::type, static_cast<std::uint64_t>(type)).number(event_field::track, track);
}

void PacketWriter::packet(core::Picoseconds time) {
  packet_.number(packet_field::timestamp, static_cast<std::uint64_t>(time.value() / 1000))
      .number(packet_field::sequence, kSequence)
      .message(packet_field::event, event_);
  send();
}

void PacketWriter::send() {
  block_.message(trace_field::packet, packet_);
  packet_.clear();
  if (block_.size() >= kBlock) flush();
}

}  // namespace penstock::report
