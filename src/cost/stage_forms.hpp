#pragma once
// Private to the room: identity of a stage, except for the numbers of equal operators and devices.

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Numbers of a stage's lists of operators and devices. Two stages share them where one becomes the other by
/// renumbering operators and devices in order: layers that repeat, and nodes that do. Costs look only at an
/// operator's own attributes, those of its operands and readers, who shares its layer, and if it is the
/// model's first input. They look only at a device's type, node and links. So all costs of two such stages
/// are equal, numbers of operators and devices apart. Three things are never shared: operators whose times
/// only their name decides, operators that share parameters with others, and networks with routes of their
/// own.
class StageForms {
 public:
  /// The problem must outlive it. Forgets lists when it holds more bytes of them than it may: they get new
  /// numbers then.
  explicit StageForms(const Problem& problem, std::size_t most_bytes = std::size_t{16} << 20);
  struct ListForm {
    std::uint32_t number;
    bool by_place;  ///< operators go by their places in the list; else by their own numbers
  };
  /// Safe to call from any thread, which may decide who gets which number.
  ListForm operators(std::span<const core::OpId> operators);
  ListForm devices(std::span<const core::DeviceId> devices);

 private:
  /// Forms of lists that were met, and numbers of the forms.
  struct KnownForms {
    std::mutex mutex;
    std::unordered_map<std::string, ListForm> lists;
    std::unordered_map<std::string, std::uint32_t> forms;
    std::uint32_t next = 0;
    std::size_t bytes = 0;  ///< about
  };
  template <class Id, class Name>
  ListForm form(KnownForms& known, std::span<const Id> list, bool by_place, const Name& name);
  bool has_name(std::span<const core::OpId> operators) const;
  std::string name(std::span<const core::OpId> operators) const;
  std::string name(std::span<const core::DeviceId> devices) const;
  void number_operators();
  void number_layers();
  void number_nodes();

  const Problem& problem_;
  std::size_t most_bytes_;
  bool operators_alike_ = false;        ///< where they are: times do not go by name
  std::vector<std::uint32_t> kind_of_;  ///< [operator] equal ones have one number
  std::vector<char> tied_;              ///< [operator] its parameters are not its own
  std::vector<std::vector<std::uint32_t>>
      layers_;  ///< [operator] of the layers around it, the innermost first
  bool nodes_alike_ = false;
  std::vector<std::uint32_t> kind_of_node_;  ///< [node] those that can change places have one number
  std::vector<std::uint32_t> place_;         ///< [device] in its node
  KnownForms operators_, devices_;
};

}  // namespace penstock::cost
