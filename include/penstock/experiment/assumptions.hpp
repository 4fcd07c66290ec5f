#pragma once
// What an answer rests on: what the user stated, and what was assumed instead.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

struct Assumption {
  std::string key;      ///< in JSON: "precision"
  std::string words;    ///< "mixed_bf16", "4096 tokens per sample"
  std::string option;   ///< changes it on the command line: "--precision"; "": none does
  std::string keyword;  ///< changes it in Python: "precision="; "": none does
  bool assumed = true;  ///< false: the user, a plan file or a cluster file states it
};

/// Precision, optimizer, tokens of a sample, mini-batch, reserved memory, runtime, costs: in this order.
using Assumptions = std::vector<Assumption>;

/// "assumed: mixed_bf16 (--precision), adam (--optimizer); given: mini-batch 64".
std::string in_words(const Assumptions& assumptions);
/// Its JSON: an object with `value`, `assumed` and `option` by key.
std::string json_text(const Assumptions& assumptions);
/// The same with Python's keywords.
std::string in_python_words(const Assumptions& assumptions);

/// What a user states of a training.
struct StatedTraining {
  std::optional<plan::Optimizer> optimizer{};
  std::optional<std::string> precision{};  ///< of plan::mixed_precision
  bool reserved = false;                   ///< plan::ClusterRef::reserved
};

/// A training and a cluster with defaults filled in.
struct ChosenTraining {
  plan::Optimizer optimizer = plan::Optimizer::sgd;
  std::optional<plan::MixedPrecision> precision{};  ///< none: the model's own numbers
  std::optional<core::Bytes> reserved{};            ///< as plan::ClusterRef
  std::string precision_note{};                     ///< why it is not what the model's file states
};

/// A language model (models::is_language_model) gets adam, the precision that its file states or else
/// mixed_bf16, and on GPUs the usual reserve (cluster::takes_usual_reserve). Where some device has no rate
/// for 16-bit numbers of that kind, the other kind is used, or fp32. Any other model gets sgd, its own
/// numbers and no reserve. Own numbers also go to a model whose parameter element_bytes is given.
ChosenTraining choose_training(const frameworks::NamedModel& model, const cluster::Cluster& cluster,
                               const StatedTraining& stated);

/// The usual reserve for a search near a plan of a language model: none where the plan or the cluster's file
/// states one, and where the plan needs that memory itself. The plan is complete.
std::optional<core::Bytes> usual_reserve(const cost::Problem& problem, const plan::Plan& plan);

/// Who stated what, of a problem that is known.
struct StatedParts {
  bool precision = false, optimizer = false, tokens = false, mini_batch = true, reserved = false,
       runtime = false, costs = false;
  std::string precision_note{};
};
/// All that a plan states. `cluster` is what `ref` names, whose file may state a reserve.
StatedParts stated_by_plan(const plan::ClusterRef& ref, const cluster::Cluster& cluster, bool costs);

Assumptions assumptions(const cost::Problem& problem, const plan::ModelRef& model, const StatedParts& stated);

}  // namespace penstock::experiment
