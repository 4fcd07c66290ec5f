#include "penstock/sim/options.hpp"

#include <array>
#include <string>

#include "penstock/core/spelling.hpp"

namespace penstock::sim {
namespace {

constexpr std::array<std::string_view, 2> kModels = {"fair", "fifo"};
constexpr std::array<std::string_view, 2> kMessageOrders = {"free", "in_order"};
constexpr std::array<std::string_view, 2> kPassCollectives = {"closed_form", "links"};

}  // namespace

std::string_view name(NetworkModel model) {
  return kModels[static_cast<std::size_t>(model)];
}
NetworkModel network_model(std::string_view given) {
  return static_cast<NetworkModel>(core::index_of(given, kModels, "network"));
}

std::string_view name(MessageOrder order) {
  return kMessageOrders[static_cast<std::size_t>(order)];
}
MessageOrder message_order(std::string_view given) {
  return static_cast<MessageOrder>(core::index_of(given, kMessageOrders, "communication"));
}

std::string_view name(PassCollectives collectives) {
  return kPassCollectives[static_cast<std::size_t>(collectives)];
}
PassCollectives pass_collectives(std::string_view given) {
  return static_cast<PassCollectives>(core::index_of(given, kPassCollectives, "collectives within passes"));
}

const std::vector<std::string_view>& collective_names() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> out = {"closed_form", "automatic"};
    for (const collective::Algorithm& each : collective::algorithms()) out.push_back(each.name);
    return out;
  }();
  return all;
}
std::string_view name(ReductionMethod collective) {
  return collective.algorithm != nullptr ? collective.algorithm->name
                                         : collective_names()[static_cast<std::size_t>(collective.by)];
}
ReductionMethod collective(std::string_view given) {
  const std::size_t found = core::index_of(given, collective_names(), "collective");
  if (found < 2) return {static_cast<ReductionMethod::MethodKind>(found)};
  return {ReductionMethod::MethodKind::algorithm, &collective::algorithms()[found - 2]};
}

}  // namespace penstock::sim
