#pragma once
// Sums along the columns of a matrix, in two steps of fixed order: identical bits on every run.

#include "cuda/launch.hpp"
#include "cuda/program.hpp"

namespace penstock::kernels::cuda {

/// rows x columns, cut into `pieces` of `length` rows, each summed by one thread per column.
struct ColumnPieces {
  std::int64_t rows, columns;

  static constexpr std::int64_t kPieceRows = 64, kMostPieces = 1024;
  PENSTOCK_BOTH std::int64_t length() const {
    const std::int64_t least = (rows + kMostPieces - 1) / kMostPieces;
    return least > kPieceRows ? least : kPieceRows;
  }
  PENSTOCK_BOTH std::int64_t pieces() const { return (rows + length() - 1) / length(); }
};

/// Memory that column_sums needs.
TensorLocation columns_scratch(KernelProgram& program, const ColumnPieces& c);

/// finish(column, sum over rows of term(row, column)); `partial` is columns_scratch.
template <class Term, class Finish>
void column_sums(const LaunchQueue& queue, const ColumnPieces& c, float* partial, const Term& term,
                 const Finish& finish) {
  each(queue, c.pieces() * c.columns, [=] PENSTOCK_DEVICE(std::int64_t i) {
    const std::int64_t column = i % c.columns, begin = i / c.columns * c.length();
    const std::int64_t end = begin + c.length() < c.rows ? begin + c.length() : c.rows;
    float sum = 0;
    for (std::int64_t row = begin; row < end; ++row) sum += term(row, column);
    partial[i] = sum;
  });
  each_by_team(queue, c.columns, [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t column) {
    float sum = 0;
    for (std::int64_t piece = team.rank(); piece < c.pieces(); piece += team.size())
      sum += partial[piece * c.columns + column];
    sum = team.sum(sum);
    if (team.rank() == 0) finish(column, sum);
  });
}

}  // namespace penstock::kernels::cuda
