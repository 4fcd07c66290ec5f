#include "links/gathered.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "penstock/core/error.hpp"

namespace penstock::replay {
namespace {

/// Visits all records of process `rank`, in an order that is equal in all processes.
template <class Visit>
void each(const DevicePrograms& program, const MpiProcesses& processes, int rank, ReplayRecords& records,
          const Visit& visit) {
  const auto own = [&](core::DeviceId device) { return processes.host(device) == rank; };
  for (IterationRecord& record : records.iterations)
    for (std::size_t m = 0; m < program.messages.size(); ++m) {
      if (own(program.messages[m].sender)) visit(record.messages[m].start);
      if (own(program.messages[m].receiver)) visit(record.messages[m].end);
    }
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    if (!own(core::DeviceId(d))) continue;
    visit(records.peaks[d]);
    visit(records.losses[d]);
    for (IterationRecord& record : records.iterations)
      visit(record.instructions[d]), visit(record.held[d]), visit(record.collectives[d]),
          visit(record.reductions[d]);
  }
}

class ByteWriter {
 public:
  template <class T>
  void operator()(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), begin, begin + sizeof value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    (*this)(values.size());
    for (const T& value : values) (*this)(value);
  }
  Blob& out;
};

class ByteReader {
 public:
  template <class T>
  void operator()(T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    core::require(sizeof value <= in.size() - at, "a process notes as much as others read");
    std::memcpy(&value, in.data() + at, sizeof value);
    at += sizeof value;
  }
  template <class T>
  void operator()(std::vector<T>& values) const {
    std::size_t count = 0;
    (*this)(count);
    core::require(count <= in.size() - at, "a process notes as much as others read");
    values.resize(count);
    for (T& value : values) (*this)(value);
  }
  const Blob& in;
  std::size_t& at;
};

}  // namespace

void shift(IterationRecord& record, core::Seconds ahead) {
  const auto later = [&](TimeInterval& when) {
    if (when.start.value() >= 0) when.start = when.start + ahead;
    if (when.end.value() >= 0) when.end = when.end + ahead;
  };
  for (TimeInterval& when : record.messages) later(when);
  for (auto* table : {&record.instructions, &record.reductions})
    for (auto& row : *table)
      for (TimeInterval& when : row) later(when);
}

void gather(const DevicePrograms& program, const MpiProcesses& processes, ProcessLinks& links,
            ReplayRecords& records) {
  Blob own;
  each(program, processes, processes.rank(), records, ByteWriter{own});
  const std::vector<Blob> all = links.gather(std::move(own));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::size_t at = 0;
    each(program, processes, static_cast<int>(rank), records, ByteReader{all[rank], at});
    core::require(at == all[rank].size(), "a process notes as much as others read");
  }
  for (IterationRecord& record : records.iterations)
    for (TimeInterval& when : record.messages)
      when.start = std::min(when.start, when.end);  // clocks differ a little
}

}  // namespace penstock::replay
