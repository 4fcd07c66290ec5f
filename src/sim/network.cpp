#include "network.hpp"

#include <array>
#include <string>

#include "fair_network.hpp"
#include "fifo_network.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::sim {

namespace {
constexpr std::array<std::string_view, 2> kModels = {"fifo", "fair"};
}

std::string_view name(NetworkModel model) {
  return kModels[static_cast<std::size_t>(model)];
}

NetworkModel network_model(std::string_view given) {
  for (std::size_t i = 0; i < kModels.size(); ++i)
    if (kModels[i] == given) return static_cast<NetworkModel>(i);
  throw core::BadInput("unknown network '" + std::string(given) + "'; " +
                       core::did_you_mean(given, {kModels.begin(), kModels.end()}));
}

std::unique_ptr<Network> make_network(NetworkModel model, const TaskGraph& graph, Agenda& agenda,
                                      Record& record) {
  if (model == NetworkModel::fair) return std::make_unique<FairNetwork>(graph, agenda, record);
  return std::make_unique<FifoNetwork>(graph, agenda, record);
}

}  // namespace penstock::sim
