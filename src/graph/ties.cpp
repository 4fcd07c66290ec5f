#include "penstock/graph/ties.hpp"

namespace penstock::graph {

using core::OpId;

std::map<OpId, std::vector<OpId>> borrowed(const OpGraph& graph, std::span<const OpId> operators) {
  std::map<OpId, std::vector<OpId>> users;
  for (const OpId id : operators)
    if (const OpId owner = graph.owner(id); owner != id) users[owner].push_back(id);
  for (const OpId id : operators) users.erase(id);
  return users;
}

}  // namespace penstock::graph
