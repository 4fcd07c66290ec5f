#include "network/network.hpp"

#include "network/fair_network.hpp"
#include "network/fifo_network.hpp"

namespace penstock::sim {

std::unique_ptr<TransferNetwork> make_network(NetworkModel model, const TaskGraph& graph, EventAgenda& agenda,
                                              TaskRecorder& record) {
  if (model == NetworkModel::fair) return std::make_unique<FairNetwork>(graph, agenda, record);
  return std::make_unique<FifoNetwork>(graph, agenda, record);
}

}  // namespace penstock::sim
