#pragma once
// Private to the room: what tells a stage apart, but for the numbers of operators and devices that are alike.

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Numbers of a stage's lists of operators and devices, that two stages share where one becomes the other by
/// renumbering operators and devices in order: layers that repeat, and nodes that do. Costs look at no more
/// of an operator than its own attributes, those of its operands and readers, who shares its layer, and
/// whether it is the model's first input; of a
/// device than its type, node and links. So all that they say of two such stages is the same, numbers of
/// operators and devices apart. Of operators whose times are known by name alone, or that share parameters
/// with others, and of networks with routes of their own, every one is told apart.
class StageForms {
 public:
  /// The problem must outlive it. Forgets lists when it holds more bytes of them than it may: they get new
  /// numbers then.
  explicit StageForms(const Problem& problem, std::size_t most_bytes = std::size_t{16} << 20);
  struct Form {
    std::uint32_t number;
    bool by_place;  ///< operators go by their places in the list; else by their own numbers
  };
  /// Safe to call from any thread, which may decide who gets which number.
  Form operators(std::span<const core::OpId> operators);
  Form devices(std::span<const core::DeviceId> devices);

 private:
  /// Forms of lists that were met, and numbers of what tells forms apart.
  struct Known {
    std::mutex mutex;
    std::unordered_map<std::string, Form> lists;
    std::unordered_map<std::string, std::uint32_t> forms;
    std::uint32_t next = 0;
    std::size_t bytes = 0;  ///< about
  };
  template <class Id, class Name>
  Form form(Known& known, std::span<const Id> list, bool by_place, const Name& name);
  bool has_name(std::span<const core::OpId> operators) const;
  std::string name(std::span<const core::OpId> operators) const;
  std::string name(std::span<const core::DeviceId> devices) const;
  void number_operators();
  void number_layers();
  void number_nodes();

  const Problem& problem_;
  std::size_t most_bytes_;
  bool operators_alike_ = false;        ///< where they are: times do not go by name
  std::vector<std::uint32_t> kind_of_;  ///< [operator] alike ones have one number
  std::vector<char> tied_;              ///< [operator] its parameters are not its own
  std::vector<std::vector<std::uint32_t>>
      layers_;  ///< [operator] of the layers around it, the innermost first
  bool nodes_alike_ = false;
  std::vector<std::uint32_t> kind_of_node_;  ///< [node] those that can change places have one number
  std::vector<std::uint32_t> place_;         ///< [device] in its node
  Known operators_, devices_;
};

}  // namespace penstock::cost
