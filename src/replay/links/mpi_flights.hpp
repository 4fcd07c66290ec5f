#pragma once
// Messages that MPI is about to carry.

#include <functional>
#include <vector>

#include "links/links.hpp"
#include "links/mpi.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// Of one thread. What is still under way in the end is left to MPI, memory and all.
class Flights {
 public:
  Flights() = default;
  ~Flights();
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  void add(MPI_Request request, std::function<void()> landed);
  /// Calls `landed` of those that have; whether there were any.
  bool land();
  bool empty() const { return requests_.empty(); }

  void send(
      MPI_Comm over, int to, int tag, const Pieces& pieces, std::function<void()> landed = [] {});
  /// One message: kMostInOne at most.
  void send(MPI_Comm over, int to, int tag, Blob bytes);
  static constexpr std::size_t kMostInOne = std::size_t{1} << 30;  ///< bytes; MPI counts in int

  /// A message that has come, and is to be received.
  struct Caller {
    MPI_Message message;
    int from = 0, tag = 0, bytes = 0;
  };
  static bool called(MPI_Comm over, Caller& caller);
  /// Into pieces of the sender's sizes; `caller` is the first of their messages.
  void receive(MPI_Comm over, Caller caller, const Pieces& pieces, std::function<void()> landed);
  void receive(Caller caller, std::function<void(Blob)> landed);
  /// Of a few bytes, which have come with the call.
  static Blob take(Caller caller);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<std::function<void()>> landed_;  ///< [request]
};

}  // namespace penstock::replay
