#pragma once
// How good a calibration is at predicting its own points.

#include "penstock/cost/calibration.hpp"

namespace penstock::cost {

/// Every measured point is predicted from the others: without its batch size (samples_*), and without all
/// points of its shape (shape_*). Folds are *_inside where the others enclose it, *_frontier where they do
/// not. Rows by kind and fold, all number formats and passes together; folds without a point are left out.
std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration, double cold_share);
/// Predictions use the share that cold_share fits.
std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration);

}  // namespace penstock::cost
