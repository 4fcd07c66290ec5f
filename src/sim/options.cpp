#include "penstock/sim/options.hpp"

#include <array>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::sim {
namespace {

constexpr std::array<std::string_view, 2> kModels = {"fair", "fifo"};
constexpr std::array<std::string_view, 6> kCollectives = {"closed_form",      "automatic",   "ring", "tree",
                                                          "halving_doubling", "hierarchical"};

template <class Enum, std::size_t N>
Enum named(std::string_view given, const std::array<std::string_view, N>& names, const char* what) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == given) return static_cast<Enum>(i);
  throw core::BadInput("unknown " + std::string(what) + " '" + std::string(given) + "'; " +
                       core::did_you_mean(given, {names.begin(), names.end()}));
}

}  // namespace

std::string_view name(NetworkModel model) { return kModels[static_cast<std::size_t>(model)]; }
NetworkModel network_model(std::string_view given) { return named<NetworkModel>(given, kModels, "network"); }
std::string_view name(Collective collective) { return kCollectives[static_cast<std::size_t>(collective)]; }
Collective collective(std::string_view given) { return named<Collective>(given, kCollectives, "collective"); }

}  // namespace penstock::sim
