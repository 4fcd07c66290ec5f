#pragma once
// Messages of each device one after the other (MessageOrder::in_order).

#include <vector>

#include "penstock/program/messages.hpp"
#include "tasks/task_list.hpp"

namespace penstock::sim {

/// Collects the transfers of a program, then chains those of each device.
class PostOrder {
 public:
  /// A transfer between two devices of the cluster.
  struct PostedTransfer {
    TaskId task;
    std::size_t sender, receiver;
  };

  explicit PostOrder(const program::Program& program) : program_(program) {}
  void add(const program::StageMessage& message, const PostedTransfer& posted);
  /// Adds the edges of all chains. The program must have no deadlock.
  void chain(TaskList& tasks) const;

 private:
  struct PostedMessage {
    std::size_t rank;       ///< of the sender
    std::int32_t position;  ///< of the instruction that makes the message
    std::size_t to_rank;
    std::int32_t awaited_at;  ///< position of the instruction that waits for it
    PostedTransfer posted;
  };

  const program::Program& program_;
  std::vector<PostedMessage> entries_;
};

}  // namespace penstock::sim
