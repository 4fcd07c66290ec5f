#include "cuda/product.hpp"

#include <fmt/format.h>

#include <memory>

#include "cuda/libraries.hpp"

namespace penstock::kernels::cuda {
namespace {

using Layout = LibraryObject<cublasLtMatrixLayout_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy>;
using Operation = LibraryObject<cublasLtMatmulDesc_t, cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy>;
using Preference = LibraryObject<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceCreate,
                                 cublasLtMatmulPreferenceDestroy>;

cudaDataType type_of(Precision precision) {
  switch (storage(precision)) {
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::fp16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

template <class Value>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t what, Value value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), what, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
}

template <class Value>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t what, Value value) {
  check(cublasLtMatmulDescSetAttribute(operation.get(), what, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t what, Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), what, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

/// A stack of matrices.
std::unique_ptr<Layout> stack(Precision precision, const BlasArguments::BlasMatrix& m, std::int64_t batch) {
  auto layout = std::make_unique<Layout>("cublasLtMatrixLayoutCreate", type_of(precision),
                                         static_cast<std::uint64_t>(m.rows),
                                         static_cast<std::uint64_t>(m.columns), m.rows);
  set(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.rows * m.columns);
  return layout;
}

/// Descriptors for the library, and the kernel it chose.
struct ProductPlan {
  ProductPlan(Precision precision, const ProductSizes& s, const BlasArguments& asked, int multiprocessors);
  void choose(cublasLtHandle_t library);
  std::string algorithm() const;

  ProductSizes sizes;
  Operation operation;
  std::unique_ptr<Layout> first, second, result;
  cublasLtMatmulHeuristicResult_t chosen{};
};

cublasLtEpilogue_t epilogue(const ProductSizes& s) {
  if (s.bias) return s.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return s.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

ProductPlan::ProductPlan(Precision precision, const ProductSizes& s, const BlasArguments& asked,
                         int multiprocessors)
    : sizes(s),
      operation("cublasLtMatmulDescCreate",
                precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
      first(stack(precision, asked.first, s.batch)),
      second(stack(precision, asked.second, s.batch)),
      result(stack(precision, asked.result, s.batch)) {
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, asked.first.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, asked.second.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(s));
  set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(multiprocessors));
  if (s.bias)  // only its alignment matters for the choice of a kernel
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, std::uintptr_t{256});
}

void ProductPlan::choose(cublasLtHandle_t library) {
  const Preference preference("cublasLtMatmulPreferenceCreate");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kMostWorkspace));
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library, operation.get(), first->get(), second->get(), result->get(),
                                     result->get(), preference.get(), 1, &chosen, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
      (status == CUBLAS_STATUS_SUCCESS && (found == 0 || chosen.state != CUBLAS_STATUS_SUCCESS)))
    throw core::BadInput(fmt::format("cuBLASLt has no kernel for {} products of {} x {} x {}", sizes.batch,
                                     sizes.rows, sizes.inner, sizes.columns));
  check(status, "cublasLtMatmulAlgoGetHeuristic");
}

/// Numbers by which the library identifies its kernels.
std::string ProductPlan::algorithm() const {
  const auto read = [this](cublasLtMatmulAlgoConfigAttributes_t what) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&chosen.algo, what, &value, sizeof value, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
  };
  return fmt::format("cublasLt:{}:tile{}:stages{}:split{}", read(CUBLASLT_ALGO_CONFIG_ID),
                     read(CUBLASLT_ALGO_CONFIG_TILE_ID), read(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

}  // namespace

void multiply(KernelProgram& program, LibraryHandles& libraries, Precision precision,
              const ProductSizes& sizes, ProductFactor a, ProductFactor b, TensorLocation c,
              TensorLocation bias) {
  core::require(sizes.batch == 1 || !sizes.bias, "only a single product has a bias");
  if (sizes.batch > INT32_MAX) throw core::BadInput(fmt::format("cuBLASLt has no batch of {}", sizes.batch));
  const auto plan = std::make_shared<ProductPlan>(precision, sizes, asked(sizes, a.transposed, b.transposed),
                                                  libraries.multiprocessors);
  plan->choose(libraries.blas);
  const std::size_t bytes = plan->chosen.workspaceSize;
  const TensorLocation workspace = program.scratch(static_cast<std::int64_t>(bytes));
  program.call(plan->algorithm(), [=, library = libraries.blas](const KernelProgram::StepContext& run) {
    if (plan->sizes.bias)
      set(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(run.at(bias)));
    const float alpha = plan->sizes.factor, beta = 0;
    void* result = run.at(c);
    check(cublasLtMatmul(library, plan->operation.get(), &alpha, run.at(b.where), plan->first->get(),
                         run.at(a.where), plan->second->get(), &beta, result, plan->result->get(), result,
                         plan->result->get(), &plan->chosen.algo, run.at(workspace), bytes, run.queue.stream),
          "cublasLtMatmul");
  });
}

}  // namespace penstock::kernels::cuda
