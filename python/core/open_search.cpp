#include "open_search.hpp"

#include <mutex>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::python {
namespace {

struct OpenSearches {
  std::mutex mutex;
  std::list<OpenSearch::Inputs> inputs;
};

OpenSearches& open() {
  static OpenSearches out;
  return out;
}

}  // namespace

OpenSearch::OpenSearch(Inputs inputs) {
  const std::lock_guard lock(open().mutex);
  place_ = open().inputs.insert(open().inputs.end(), std::move(inputs));
}

OpenSearch::~OpenSearch() {
  const std::lock_guard lock(open().mutex);
  open().inputs.erase(place_);
}

SearchInputs inputs_of(const graph::OpGraph& graph) {
  const std::lock_guard lock(open().mutex);
  for (const auto& inputs : open().inputs)
    if (auto found = inputs(graph)) return std::move(*found);
  throw core::Error(core::ExitCode::internal, "a planner is called by a search that is not open");
}

}  // namespace penstock::python
