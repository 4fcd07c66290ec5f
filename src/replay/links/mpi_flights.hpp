#pragma once
// Messages that MPI is carrying.

#include <functional>
#include <vector>

#include "links/links.hpp"
#include "links/mpi.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// Used by one thread. Messages that are still running at the end are left to MPI, including their memory.
class MpiFlights {
 public:
  MpiFlights() = default;
  ~MpiFlights();
  MpiFlights(const MpiFlights&) = delete;
  MpiFlights& operator=(const MpiFlights&) = delete;

  void add(MPI_Request request, std::function<void()> landed);
  /// Calls `landed` of finished messages; returns true if there were any.
  bool land();
  bool empty() const { return requests_.empty(); }

  void send(
      MPI_Comm over, int to, int tag, const Pieces& pieces, std::function<void()> landed = [] {});
  /// Sends one message: at most kMostInOne.
  void send(MPI_Comm over, int to, int tag, Blob bytes);
  static constexpr std::size_t kMostInOne = std::size_t{1} << 30;  ///< bytes; MPI counts with int

  /// A message that has arrived and can be received.
  struct ArrivedMessage {
    MPI_Message message;
    int from = 0, tag = 0, bytes = 0;
  };
  static bool called(MPI_Comm over, ArrivedMessage& caller);
  /// Receives into pieces of the sender's sizes; `caller` is the first of their messages.
  void receive(MPI_Comm over, ArrivedMessage caller, const Pieces& pieces, std::function<void()> landed);
  void receive(ArrivedMessage caller, std::function<void(Blob)> landed);
  /// Receives a few bytes that arrived with the call.
  static Blob take(ArrivedMessage caller);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<std::function<void()>> landed_;  ///< [request]
};

}  // namespace penstock::replay
