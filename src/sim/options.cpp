#include "penstock/sim/options.hpp"

#include <array>
#include <string>

#include "penstock/core/spelling.hpp"

namespace penstock::sim {
namespace {

constexpr std::array<std::string_view, 2> kModels = {"fair", "fifo"};
constexpr std::array<std::string_view, 6> kCollectives = {"closed_form", "automatic",        "ring",
                                                          "tree",        "halving_doubling", "hierarchical"};

}  // namespace

std::string_view name(NetworkModel model) {
  return kModels[static_cast<std::size_t>(model)];
}
NetworkModel network_model(std::string_view given) {
  return static_cast<NetworkModel>(core::index_of(given, kModels, "network"));
}
std::string_view name(Collective collective) {
  return kCollectives[static_cast<std::size_t>(collective)];
}
Collective collective(std::string_view given) {
  return static_cast<Collective>(core::index_of(given, kCollectives, "collective"));
}

}  // namespace penstock::sim
