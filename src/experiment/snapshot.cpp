#include "penstock/experiment/snapshot.hpp"

#include <filesystem>
#include <map>
#include <mutex>

#include "penstock/cluster/catalogue.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;

/// Values by key, each computed once.
template <class Key, class Value>
class MemoTable {
 public:
  template <class Make>
  const Value& get(const Key& key, Make&& make) {
    const std::lock_guard lock(mutex_);
    auto at = values_.find(key);
    if (at == values_.end()) at = values_.emplace(key, make()).first;
    return at->second;
  }
  std::map<Key, Value> all() {
    const std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Value> values_;
};

struct FileContent {
  std::string text, digest;
  fs::file_time_type written;
};

fs::file_time_type time_written(const std::string& path) {
  std::error_code fault;  // a pipe whose other end is closed
  return fs::last_write_time(path, fault);
}

FileContent read(const std::string& path) {
  const auto written = time_written(path);
  std::string text = core::read_file(path);
  const std::string digest = core::digest(text);
  return {std::move(text), digest, written};
}

}  // namespace

bool is_order_file(const std::string& schedule) {
  return schedule.ends_with(".csv");
}

std::shared_ptr<const cost::CostModel> parse_costs(const std::string& text, const std::string& path) {
  if (cost::is_calibration(text))
    return std::make_shared<cost::CalibratedCosts>(cost::parse_calibration(text, path));
  if (cost::is_kernel_tables(text))
    return std::make_shared<cost::TableCosts>(cost::parse_kernel_tables(text, path));
  return std::make_shared<cost::ProfileCosts>(cost::parse_profile(text, path));
}

struct InputSnapshot::Memory {
  using ModelKey = std::pair<std::string, std::map<std::string, std::string>>;
  MemoTable<std::string, FileContent> files;
  MemoTable<ModelKey, graph::OpGraph> models;
  MemoTable<ModelKey, std::string> digests;
  using ClusterKey = std::tuple<std::string, int, std::string, std::int64_t>;  ///< -1: no other reserve
  MemoTable<ClusterKey, cluster::Cluster> clusters;
  MemoTable<std::string, std::shared_ptr<const cost::CostModel>> costs;

  const FileContent& file(const std::string& path) {
    return files.get(path, [&] { return read(path); });
  }
  const FileContent& cluster_file(const std::string& name) {
    if (cluster::is_file_name(name)) return file(name);
    return files.get("built in: " + name, [&] {
      const std::string text = cluster::cluster_text(name);
      return FileContent{text, core::digest(text), {}};
    });
  }
};

InputSnapshot::InputSnapshot() : memory_(std::make_unique<Memory>()) {}
InputSnapshot::InputSnapshot(const Texts& texts) : InputSnapshot() {
  for (const auto& [path, text] : texts)
    memory_->files.get(path, [&text = text] { return FileContent{text, core::digest(text), {}}; });
}
InputSnapshot::~InputSnapshot() = default;

InputSnapshot::Texts InputSnapshot::texts() const {
  Texts out;
  for (auto& [path, file] : memory_->files.all()) out.emplace(path, std::move(file.text));
  return out;
}

plan::ModelRef InputSnapshot::resolved(const plan::ModelRef& ref) const {
  return is_model_file(ref.name) ? frameworks::named_by(memory_->file(ref.name).text, ref.name, ref)
                                 : with_family(ref);
}

const graph::OpGraph& InputSnapshot::model(const plan::ModelRef& ref) const {
  return memory_->models.get({ref.name, ref.parameters}, [&] {
    if (!is_model_file(ref.name) || !ref.parameters.empty()) return load_model(ref);
    return graph::parse_graph(memory_->file(ref.name).text, ref.name);
  });
}

const cluster::Cluster& InputSnapshot::cluster(const plan::ClusterRef& ref) const {
  constexpr std::int64_t kAsStated = -1;
  const auto& all = memory_->clusters.get({ref.name, 0, "", kAsStated}, [&] {
    return cluster::parse_cluster(memory_->cluster_file(ref.name).text, ref.name);
  });
  if (ref.devices == 0 && ref.runtime.empty() && !ref.reserved) return all;
  const std::int64_t reserved = ref.reserved ? ref.reserved->value() : kAsStated;
  return memory_->clusters.get({ref.name, ref.devices, ref.runtime, reserved}, [&] {
    cluster::Cluster part = ref.devices == 0 ? all : all.first(ref.devices);
    if (!ref.runtime.empty()) part = part.run_by(cluster::runtime(ref.runtime));
    return ref.reserved ? part.reserving(*ref.reserved) : part;
  });
}

std::shared_ptr<const cost::CostModel> InputSnapshot::costs(const std::optional<std::string>& path) const {
  if (!is_costs_file(path)) return load_costs(path);
  return memory_->costs.get(*path, [&] { return parse_costs(memory_->file(*path).text, *path); });
}

sim::Perturbation InputSnapshot::perturbation(const std::string& path, const plan::ClusterRef& ref) const {
  return sim::parse_perturbation(memory_->file(path).text, path, cluster(ref));
}

std::string InputSnapshot::digest(const std::string& path) const {
  return memory_->file(path).digest;
}

std::string InputSnapshot::digest(const plan::ModelRef& ref) const {
  if (is_model_file(ref.name)) return digest(ref.name);
  return memory_->digests.get({ref.name, ref.parameters},
                              [&] { return core::digest(graph::to_json(model(ref))); });
}

std::string InputSnapshot::digest(const plan::ClusterRef& ref) const {
  return memory_->cluster_file(ref.name).digest;
}

bool InputSnapshot::unchanged(const std::string& path) const {
  const FileContent& known = memory_->file(path);
  return time_written(path) == known.written && core::digest(core::read_file(path)) == known.digest;
}

}  // namespace penstock::experiment
