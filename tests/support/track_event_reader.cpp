#include "support/track_event_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <stdexcept>

#include "support/wire.hpp"

namespace penstock::support {
namespace {

using Fields = std::vector<WireField>;

void demand(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

Fields fields(std::string_view bytes) {
  return WireReader(bytes).fields();
}

[[noreturn]] void unknown(const char* message, const WireField& field) {
  throw std::runtime_error(fmt::format("{} has no field {}", message, field.number));
}

class TrackReader {
 public:
  ReadTrace read(std::string_view bytes) {
    packets(bytes);
    for (const auto& [track, slice] : open_) demand(false, "a slice has no end: " + slice.name);
    return std::move(out_);
  }

 private:
  using Names = std::map<std::uint64_t, std::string>;

  void packets(std::string_view bytes) {
    for (const WireField& field : fields(bytes)) {
      demand(field.number == 1, "a trace holds packets only");
      packet(fields(field.bytes));
    }
  }

  void block(std::string_view deflated) {
    std::string bytes(1 << 20, '\0');  // ample for one block
    uLongf size = bytes.size();
    const auto* source = reinterpret_cast<const Bytef*>(deflated.data());
    demand(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, source, deflated.size()) == Z_OK,
           "a block can be inflated");
    packets(std::string_view(bytes).substr(0, size));
  }

  void packet(const Fields& packet) {
    std::uint64_t time = 0, sequence = 0;
    std::string_view event, track, interned, deflated;
    flags_ = 0;
    for (const WireField& field : packet) switch (field.number) {
        case 8:
          time = field.value;
          break;
        case 10:
          sequence = field.value;
          break;
        case 11:
          event = field.bytes;
          break;
        case 12:
          interned = field.bytes;
          break;
        case 13:
          flags_ = field.value;
          break;
        case 50:
          deflated = field.bytes;
          break;
        case 60:
          track = field.bytes;
          break;
        default:
          unknown("a packet", field);
      }
    if (!deflated.empty()) return block(deflated);
    demand(sequence != 0, "a packet belongs to a sequence");
    if (flags_ & 1) cleared_ = true, events_.clear(), categories_.clear(), notes_.clear();
    intern(interned);
    if (!track.empty()) add_track(fields(track));
    if (!event.empty()) add_event(static_cast<std::int64_t>(time), fields(event));
  }

  void intern(std::string_view interned) {
    for (const WireField& kind : fields(interned)) {
      demand(kind.number >= 1 && kind.number <= 3,
             "categories, event names and annotation names are interned");
      Names& names = kind.number == 1 ? categories_ : kind.number == 2 ? events_ : notes_;
      const Fields entry = fields(kind.bytes);
      demand(entry.size() == 2 && entry[0].number == 1 && entry[1].number == 2,
             "an entry is an id and a name");
      demand(entry[0].value != 0 && names.emplace(entry[0].value, entry[1].bytes).second,
             "an id is new and not zero");
    }
  }

  void add_track(const Fields& descriptor) {
    std::uint64_t id = 0;
    ReadTrack track;
    for (const WireField& field : descriptor) switch (field.number) {
        case 1:
          id = field.value;
          break;
        case 2:
          track.name = field.bytes;
          break;
        case 5:
          track.parent = field.value;
          break;
        case 8:
          track.counter = true, track.unit = unit(fields(field.bytes));
          break;
        case 11:
          demand(field.value == 3, "children are in explicit order");
          break;
        case 12:
          track.rank = field.value;
          break;
        default:
          unknown("a track", field);
      }
    demand(id != 0 && !out_.tracks.contains(id), "a track's id is its own");
    demand(track.parent == 0 || out_.tracks.contains(track.parent), "a parent comes first");
    out_.tracks[id] = track;
  }

  static std::string unit(const Fields& counter) {
    demand(counter.size() == 1, "a counter has a unit");
    if (counter[0].number == 6) return std::string(counter[0].bytes);
    demand(counter[0].number == 3 && counter[0].value == 3, "the unit is bytes");
    return "bytes";
  }

  const std::string& look_up(const Names& names, std::uint64_t id) const {
    demand(cleared_ && (flags_ & 2), "a packet that uses interned names says so");
    demand(names.contains(id), "an id is interned before it is used");
    return names.at(id);
  }

  void add_event(std::int64_t time, const Fields& event) {
    std::uint64_t type = 0;
    std::int64_t value = 0;
    ReadSlice slice;
    slice.start = time;
    for (const WireField& field : event) switch (field.number) {
        case 3:
          slice.category = look_up(categories_, field.value);
          break;
        case 4:
          annotate(slice, fields(field.bytes));
          break;
        case 9:
          type = field.value;
          break;
        case 10:
          slice.name = look_up(events_, field.value);
          break;
        case 11:
          slice.track = field.value;
          break;
        case 30:
          value = static_cast<std::int64_t>(field.value);
          break;
        case 47:
          slice.flows.push_back(field.value);
          break;
        case 48:
          slice.ending_flows.push_back(field.value);
          break;
        default:
          unknown("an event", field);
      }
    demand(out_.tracks.contains(slice.track), "a track is declared before its events");
    demand(out_.tracks[slice.track].counter == (type == 4), "counters count, others do not");
    demand(last_[slice.track] <= time, "time does not go back on a track");
    last_[slice.track] = time;
    if (type == 1) return begin(slice);
    if (type == 2) return end(slice.track, time);
    demand(type == 4, "an event begins, ends or counts");
    out_.tracks[slice.track].samples.emplace_back(time, value);
  }

  void annotate(ReadSlice& slice, const Fields& note) const {
    demand(note.size() == 2 && note[0].number == 1 && note[1].number == 4,
           "an annotation is a name and an integer");
    slice.notes[look_up(notes_, note[0].value)] = static_cast<std::int64_t>(note[1].value);
  }

  void begin(const ReadSlice& slice) {
    demand(open_.emplace(slice.track, slice).second, "slices of a track do not overlap: " + slice.name);
  }

  void end(std::uint64_t track, std::int64_t time) {
    demand(open_.contains(track), "an end follows a begin");
    ReadSlice slice = open_.extract(track).mapped();
    slice.end = time;
    out_.slices.push_back(std::move(slice));
  }

  ReadTrace out_;
  Names categories_, events_, notes_;
  std::map<std::uint64_t, ReadSlice> open_;     ///< by track
  std::map<std::uint64_t, std::int64_t> last_;  ///< by track
  std::uint64_t flags_ = 0;
  bool cleared_ = false;
};

}  // namespace

std::string ReadTrace::path(std::uint64_t track) const {
  const ReadTrack& own = tracks.at(track);
  const bool top = own.parent == 0 || tracks.at(own.parent).parent == 0;
  return top ? own.name : path(own.parent) + "/" + own.name;
}

ReadTrace read_track_events(std::string_view bytes) {
  return TrackReader().read(bytes);
}

std::string to_text(const ReadTrace& trace) {
  std::string out;
  for (const auto& [id, track] : trace.tracks) {
    out += fmt::format("{} \"{}\" in {} at {} {}\n", id, track.name, track.parent, track.rank, track.unit);
    for (const auto& [time, value] : track.samples) out += fmt::format("  {} ns: {}\n", time, value);
    for (const ReadSlice& slice : trace.slices) {
      if (slice.track != id) continue;
      out += fmt::format("  {}..{} ns: {} ({})", slice.start, slice.end, slice.name, slice.category);
      for (const auto& [name, value] : slice.notes) out += fmt::format(", {} {}", name, value);
      out += fmt::format("; flows {} ending {}\n", slice.flows, slice.ending_flows);
    }
  }
  return out;
}

}  // namespace penstock::support
