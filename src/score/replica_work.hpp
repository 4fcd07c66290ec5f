#pragma once
// Private to the room: the model's work and memory on one replica, by micro-batch.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fluid_pipeline.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/score/uniform_bound.hpp"

namespace penstock::score {

/// Work of the model on one replica, one micro-batch.
struct ReplicaWork {
  double seconds = 0;                ///< all parts, everything saved
  double least_layer = 0;            ///< seconds of the quickest layer
  std::vector<LayerOption> options;  ///< of all layers that are like the one with most work
};

/// A model that replicas with one set of degrees run. Problem, row and space must outlive it. For one thread.
class ReplicaModel {
 public:
  /// `degrees` without ranks, replicas and micro-batch.
  ReplicaModel(const cost::Problem& problem, const plan::LayerRow& row, const UniformSpace& space,
               const UniformDegrees& degrees);

  /// True if operators of all parts can be divided so for this micro-batch.
  bool possible(std::int64_t micro_batch) const;
  const ReplicaWork& work(std::int64_t micro_batch);
  /// Weights, gradients and optimizer state on one device; of the layers, only those that work() lists. Known
  /// after work().
  struct StateBytes {
    double before, layers, behind;
  };
  StateBytes state(std::int64_t replicas) const;
  std::int64_t parts() const { return static_cast<std::int64_t>(parts_.size()); }

 private:
  plan::Stage stage(const std::vector<core::OpId>& operators, std::int64_t replicas,
                    std::int64_t micro_batch = 1) const;
  ReplicaWork measured(std::int64_t micro_batch);
  void choose_layers(const std::vector<double>& seconds);
  double state_of(const std::vector<core::OpId>& operators, std::int64_t replicas) const;
  double kept(const cost::StageLoad& load, bool recomputed, std::int64_t samples) const;

  const cost::Problem& problem_;
  const plan::LayerRow& row_;
  const UniformSpace& space_;
  UniformDegrees degrees_;
  std::vector<std::vector<core::OpId>> parts_;
  std::vector<core::OpId> operators_;
  plan::Stage whole_;  ///< the whole model as one stage
  std::optional<cost::ReplicaTimes> times_;
  std::map<std::int64_t, ReplicaWork> known_;  ///< by micro-batch

  /// A way to run the layers that are like the one with most work.
  struct LayerWay {
    plan::Stage whole;
    cost::StageLoad load;  ///< of one layer
    bool recomputed;
    std::optional<cost::ReplicaTimes> times;
  };
  std::size_t like_ = 0;  ///< the layer with most work of its kind
  double equal_ = 0;      ///< layers of that kind
  std::vector<std::unique_ptr<LayerWay>> ways_;
};

}  // namespace penstock::score
