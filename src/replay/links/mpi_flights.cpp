#include "links/mpi_flights.hpp"

#include <algorithm>
#include <memory>

namespace penstock::replay {
namespace {

struct MessageChunk {
  std::byte* data = nullptr;
  int size = 0;
};

/// Chunks of the pieces; at least one, which may be empty.
std::vector<MessageChunk> chunks(const Pieces& pieces) {
  std::vector<MessageChunk> out;
  for (const MemoryPiece& piece : pieces)
    for (std::size_t at = 0; at < piece.size; at += MpiFlights::kMostInOne)
      out.push_back({piece.data + at, static_cast<int>(std::min(MpiFlights::kMostInOne, piece.size - at))});
  if (out.empty()) out.emplace_back();
  return out;
}

/// Calls `landed` after as many calls as there are chunks; keeps the pieces until then.
std::function<void()> at_last(std::size_t chunks, const Pieces& pieces, std::function<void()> landed) {
  return [left = std::make_shared<std::size_t>(chunks), pieces, landed = std::move(landed)] {
    if (--*left == 0) landed();
  };
}

}  // namespace

MpiFlights::~MpiFlights() {
  if (!empty()) new auto(std::move(landed_));  // after an early end MPI may still write there
}

void MpiFlights::add(MPI_Request request, std::function<void()> landed) {
  requests_.push_back(request);
  landed_.push_back(std::move(landed));
}

bool MpiFlights::land() {
  if (empty()) return false;
  std::vector<int> which(requests_.size());
  int count = 0;
  check_mpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, which.data(),
                         MPI_STATUSES_IGNORE));
  if (count <= 0) return false;
  which.resize(static_cast<std::size_t>(count));
  std::sort(which.rbegin(), which.rend());
  std::vector<std::function<void()>> down;
  for (const int i : which) {
    down.push_back(std::move(landed_[static_cast<std::size_t>(i)]));
    landed_.erase(landed_.begin() + i);
    requests_.erase(requests_.begin() + i);
  }
  for (auto landed = down.rbegin(); landed != down.rend(); ++landed) (*landed)();
  return true;
}

void MpiFlights::send(MPI_Comm over, int to, int tag, const Pieces& pieces, std::function<void()> landed) {
  const auto list = chunks(pieces);
  const auto last = at_last(list.size(), pieces, std::move(landed));
  for (const MessageChunk& chunk : list) {
    MPI_Request request;
    check_mpi(MPI_Isend(chunk.data, chunk.size, MPI_BYTE, to, tag, over, &request));
    add(request, last);
  }
}

void MpiFlights::send(MPI_Comm over, int to, int tag, Blob bytes) {
  const auto owner = std::make_shared<Blob>(std::move(bytes));
  send(over, to, tag, {{owner, owner->data(), owner->size()}});
}

bool MpiFlights::called(MPI_Comm over, ArrivedMessage& caller) {
  int there = 0;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, over, &there, &caller.message, &status));
  if (!there) return false;
  caller.from = status.MPI_SOURCE;
  caller.tag = status.MPI_TAG;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &caller.bytes));
  return true;
}

void MpiFlights::receive(MPI_Comm over, ArrivedMessage caller, const Pieces& pieces,
                         std::function<void()> landed) {
  const auto list = chunks(pieces);
  const auto last = at_last(list.size(), pieces, std::move(landed));
  for (std::size_t i = 0; i < list.size(); ++i) {
    MPI_Request request;
    check_mpi(i == 0
                  ? MPI_Imrecv(list[i].data, list[i].size, MPI_BYTE, &caller.message, &request)
                  : MPI_Irecv(list[i].data, list[i].size, MPI_BYTE, caller.from, caller.tag, over, &request));
    add(request, last);
  }
}

void MpiFlights::receive(ArrivedMessage caller, std::function<void(Blob)> landed) {
  const auto room = std::make_shared<Blob>(static_cast<std::size_t>(caller.bytes));
  receive(MPI_COMM_NULL, caller, {{room, room->data(), room->size()}},
          [room, landed = std::move(landed)] { landed(std::move(*room)); });
}

Blob MpiFlights::take(ArrivedMessage caller) {
  Blob out(static_cast<std::size_t>(caller.bytes));
  check_mpi(MPI_Mrecv(out.data(), caller.bytes, MPI_BYTE, &caller.message, MPI_STATUS_IGNORE));
  return out;
}

}  // namespace penstock::replay
